package main

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/doubletake-dev/doubletake/analysis/stats"
)

// goldLine is a line of a gold file: values computed elsewhere, in 50 digits.
type goldLine map[string]string

// goldLines skips the test where the files aren't: they live beside the repository.
func goldLines(t *testing.T, name string) []goldLine {
	t.Helper()
	dir := os.Getenv("DOUBLETAKE_SHARED")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared")
	}
	file, err := os.Open(filepath.Join(dir, "gold", name))
	if errors.Is(err, fs.ErrNotExist) {
		t.Skipf("no gold values: %v (set DOUBLETAKE_SHARED to the folder that holds gold/)", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	records, err := csv.NewReader(file).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var lines []goldLine
	for _, record := range records[1:] {
		line := goldLine{}
		for i, column := range records[0] {
			line[column] = record[i]
		}
		lines = append(lines, line)
	}
	if len(lines) == 0 {
		t.Fatalf("%s has no lines", name)
	}
	return lines
}

// program runs the program and decodes what it prints.
func program(t *testing.T, args ...string) map[string]any {
	t.Helper()
	var stdout, stderr bytes.Buffer
	if code := run(context.Background(), append([]string{"doubletake"}, args...), &stdout, &stderr); code != exitOK {
		t.Fatalf("doubletake %s: exit code %d: %s", strings.Join(args, " "), code, &stderr)
	}
	var got map[string]any
	if err := json.Unmarshal(stdout.Bytes(), &got); err != nil {
		t.Fatalf("doubletake %s: %v\n%s", strings.Join(args, " "), err, &stdout)
	}
	return got
}

// sameFigures compares the named columns. NA and Inf in the file are null with a
// reason; what the file has and we withhold, with a reason, is named in withheld.
func sameFigures(t *testing.T, what string, want goldLine, got map[string]any, tolerance float64, withheld []string, columns ...string) {
	t.Helper()
	for _, column := range columns {
		text, ok := want[column]
		if !ok {
			t.Fatalf("%s: the file has no column %q", what, column)
		}
		value, ok := got[column]
		if !ok {
			t.Errorf("%s: no key %q", what, column)
			continue
		}
		if value == nil {
			if reason, _ := got[column+"_reason"].(string); reason == "" {
				t.Errorf("%s: %s is null without a reason", what, column)
			}
			if text != "NA" && text != "Inf" && !slices.Contains(withheld, column) {
				t.Errorf("%s: %s is null (%v), want %s", what, column, got[column+"_reason"], text)
			}
			continue
		}
		x, isNumber := value.(float64)
		if s, isText := value.(string); isText {
			var err error
			x, err = strconv.ParseFloat(s, 64)
			isNumber = err == nil
		}
		y, err := strconv.ParseFloat(text, 64)
		if errors.Is(err, strconv.ErrRange) {
			err = nil // what underflows is 0
		}
		if !isNumber || err != nil {
			t.Errorf("%s: %s is %v, want %s", what, column, value, text)
			continue
		}
		const normal = 0x1p-1022
		if math.Abs(y) < normal && math.Abs(x) < 2*normal {
			continue
		}
		// Relative, and for what is near 0 by cancellation absolute.
		if math.Abs(x-y) > tolerance*math.Abs(y) && math.Abs(x-y) > tolerance*1e-3 {
			t.Errorf("%s: %s is %.17g, want %s (off by %.2g)", what, column, x, text, x/y-1)
		}
	}
}

func TestStatsMcNemarGold(t *testing.T) {
	for _, want := range goldLines(t, "mcnemar.csv") {
		got := program(t, "stats", "mcnemar", want["b"], want["c"], "--json")
		sameFigures(t, want["b"]+"/"+want["c"], want, got, 1e-12, nil,
			"n", "pmf", "p_exact_two", "p_exact_worse", "p_exact_better", "p_midp_two", "p_midp_worse", "p_midp_two_doubled",
			"chi2", "p_chi2", "chi2_cc", "p_chi2_cc", "log10_p_exact_two")
	}
	for _, want := range goldLines(t, "clopper_pearson_or.csv") {
		got := program(t, "stats", "mcnemar", want["b"], want["c"], "--conf", want["conf"], "--json")
		sameFigures(t, want["b"]+"/"+want["c"], want, got, 1e-11, nil,
			"conf", "p_hat", "or_hat", "cp_p_lo", "cp_p_hi", "cp_or_lo", "cp_or_hi", "midp_p_lo", "midp_p_hi", "midp_or_lo", "midp_or_hi")
	}
}

func TestStatsDiffGold(t *testing.T) {
	for _, want := range goldLines(t, "paired_diff.csv") {
		got := program(t, "stats", "diff", want["a"], want["b"], want["c"], want["d"], "--conf", want["conf"], "--json")
		sameFigures(t, strings.Join([]string{want["a"], want["b"], want["c"], want["d"]}, "/"), want, got, 1e-9, nil,
			"n", "conf", "delta", "wald_lo", "wald_hi", "agresti_min_lo", "agresti_min_hi", "bonett_price_lo", "bonett_price_hi",
			"newcombe8_lo", "newcombe8_hi", "newcombe10_lo", "newcombe10_hi", "phi10", "tango_lo", "tango_hi",
			"ni_z_m02", "ni_p_m02", "ni_z_m05", "ni_p_m05", "ni_z_m10", "ni_p_m10")
	}
}

func TestStatsWilsonGold(t *testing.T) {
	for _, want := range goldLines(t, "wilson.csv") {
		got := program(t, "stats", "wilson", want["x"], want["n"], "--conf", want["conf"], "--json")
		columns := []string{"x", "n", "conf", "estimate", "wilson_lo", "wilson_hi", "wilson_cc_lo", "wilson_cc_hi", "cp_lo", "cp_hi"}
		if want["cp_lo"] == "NA" { // the file leaves a million out
			columns = columns[:8]
		}
		sameFigures(t, want["x"]+"/"+want["n"], want, got, 1e-9, nil, columns...)
	}
}

func TestStatsKappaGold(t *testing.T) {
	for _, want := range goldLines(t, "kappa.csv") {
		got := program(t, "stats", "kappa", "--matrix", strings.ReplaceAll(want["matrix_rowmajor"], " ", ","), "--json")
		var withheld []string
		if want["se_nonnull"] == "0" {
			withheld = []string{"ci95_lo", "ci95_hi"} // an interval without width is none
		}
		sameFigures(t, want["id"], want, got, 1e-12, withheld, "k", "n", "p_o", "p_e", "kappa", "se_nonnull", "se_null0",
			"ci95_lo", "ci95_hi", "z_null", "kappa_linear", "kappa_quadratic", "pabak")
	}
}

func TestStatsClusterGold(t *testing.T) {
	files := map[string]*strings.Builder{}
	for _, line := range goldLines(t, "clustered.csv") {
		file, ok := files[line["dataset"]]
		if !ok {
			file = new(strings.Builder)
			file.WriteString("cluster,a,b,c,d\n")
			files[line["dataset"]] = file
		}
		file.WriteString(strings.Join([]string{line["cluster"], line["a"], line["b"], line["c"], line["d"]}, ",") + "\n")
	}
	checked := 0
	for _, want := range goldLines(t, "clustered_stats.csv") {
		file, ok := files[want["dataset"]]
		if !ok {
			continue
		}
		path := filepath.Join(t.TempDir(), "clusters.csv")
		if err := os.WriteFile(path, []byte(file.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		got := program(t, "stats", "cluster", "--csv", path, "--json")
		sameFigures(t, want["dataset"], want, got, 1e-12, nil, "K", "N", "mcnemar_chi2", "obuchowski_chi2", "durkalski_chi2", "yang_chi2",
			"eliasziw_chi2", "p_obuchowski", "p_durkalski", "p_yang", "sumD", "sumD2", "sumD2_centred",
			"signflip_p_worse", "signflip_p_two", "mcnemar_exact_two", "diff", "se_diff_cluster")
		checked++
	}
	if checked < 3 {
		t.Errorf("only %d data sets checked", checked)
	}
}

func TestStatsEProcessGold(t *testing.T) {
	var ids []string
	sequences := map[string][]goldLine{}
	for _, line := range goldLines(t, "eprocess.csv") {
		id := line["sequence_id"]
		if sequences[id] == nil {
			ids = append(ids, id)
		}
		sequences[id] = append(sequences[id], line)
	}
	for _, id := range ids {
		sequence := ""
		for _, line := range sequences[id] {
			sequence += map[string]string{"b": "L", "c": "G"}[line["arrival"]]
		}
		steps := program(t, "stats", "eprocess", sequence, "--json")["steps"].([]any)
		if len(steps) != len(sequences[id]) {
			t.Fatalf("%s: %d steps, want %d", id, len(steps), len(sequences[id]))
		}
		for i, want := range sequences[id] {
			sameFigures(t, id+" step "+want["step"], want, steps[i].(map[string]any), 1e-12, nil, "step", "e_num", "e_den",
				"e_two_sided", "log_e_two_sided", "e_worse_one_sided", "running_max_two", "anytime_p_two", "running_max_worse", "anytime_p_worse")
		}
	}
}

func TestStatsPowerGold(t *testing.T) {
	for _, want := range goldLines(t, "power.csv") {
		got := program(t, "stats", "power", "--pairs", want["N"], "--loss", want["p_loss"], "--gain", want["p_gain"], "--alpha", want["alpha"], "--json")
		sameFigures(t, want["N"]+" "+want["p_loss"]+" "+want["p_gain"], want, got, 1e-8, nil, "N", "p_loss", "p_gain", "alpha",
			"pow_exact_worse", "pow_exact_two", "pow_midp_worse", "pow_midp_two", "ni_pow_m02", "ni_pow_m05", "ni_pow_m10")
	}
	for _, want := range goldLines(t, "samplesize.csv") {
		got := program(t, "stats", "power", "--pairs", "1", "--loss", want["p_loss"], "--gain", want["p_gain"], "--alpha", want["alpha"],
			"--sided", want["sided"], "--power", want["power"], "--json")
		sameFigures(t, want["p_loss"]+" "+want["p_gain"], want, got, 1e-12, nil, "n_connor", "n_miettinen")
		sameFigures(t, want["p_loss"]+" "+want["p_gain"], want, got, 1e-6, nil, "n_discordants_needed_theta") // six digits
	}
}

func TestStatsAdjustGold(t *testing.T) {
	lines := goldLines(t, "multiplicity.csv")
	args := []string{"stats", "adjust", "--json"}
	for _, line := range lines {
		args = append(args, line["p"])
	}
	tests := program(t, args...)["tests"].([]any)
	for i, want := range lines {
		sameFigures(t, "test "+want["index"], want, tests[i].(map[string]any), 1e-13, nil, "index", "p", "holm", "bh", "by", "bonferroni")
	}
}

// The published values that statistics packages got wrong, through the program.
func TestStatsPublished(t *testing.T) {
	for _, tt := range []struct {
		args string
		want map[string]float64
		null map[string]string // key, reason
	}{
		// Fagerland, Lydersen, Laake 2013, airway hyper-responsiveness: 1 and 7.
		{"mcnemar 1 7", map[string]float64{"p_exact_two": 0.0703, "p_midp_two": 0.0391, "p_chi2": 0.0339, "p_chi2_cc": 0.0771}, nil},
		{"mcnemar 0 0", map[string]float64{"p_exact_two": 1, "p_midp_two": 1, "p_midp_worse": 1},
			map[string]string{"chi2": stats.ReasonNoDiscordant, "p_chi2_cc": stats.ReasonNoDiscordant, "or_hat": stats.ReasonNoDiscordant, "cp_or_hi": stats.ReasonNoDiscordant}},
		{"mcnemar 5 5", map[string]float64{"p_exact_two": 1, "chi2_cc": 0, "p_chi2_cc": 1}, nil},
		{"mcnemar 5 0", map[string]float64{"p_exact_worse": 0.03125, "cp_p_lo": 0.478, "cp_or_lo": 0.9164}, map[string]string{"or_hat": "unbounded", "cp_or_hi": "unbounded"}},
		{"mcnemar 1074 0", map[string]float64{"log10_p_exact_two": -323.0052}, nil},
		// Newcombe 1998: method 10 of 59/6/16/80.
		{"diff 59 6 16 80", map[string]float64{"newcombe10_lo": -0.1186, "newcombe10_hi": -0.0046, "tango_lo": -0.1240, "tango_hi": -0.0054}, nil},
		{"diff 197 3 0 0", map[string]float64{"tango_lo": -0.0041, "tango_hi": 0.0432, "ni_p_m05": 0.0116, "ni_p_m02": 0.307}, nil},
		{"diff 0 0 0 0", nil, map[string]string{"delta": stats.ReasonNoPairs, "tango_lo": stats.ReasonNoPairs, "ni_p_m05": stats.ReasonNoPairs}},
		{"wilson 0 40", map[string]float64{"wilson_lo": 0, "wilson_hi": 0.0876}, nil},
		{"wilson 38 38", map[string]float64{"wilson_hi": 1, "wilson_cc_hi": 1, "cp_hi": 1}, nil},
		{"wilson 0 0", nil, map[string]string{"estimate": stats.ReasonNoPairs, "cp_hi": stats.ReasonNoPairs}},
		{"kappa --matrix 20,5,10,15", map[string]float64{"kappa": 0.4}, nil},
		{"kappa --matrix 118,5,2,0", map[string]float64{"p_o": 0.944, "kappa": -0.0234}, nil},
		{"kappa --matrix 40,0,0,0", map[string]float64{"pabak": 1}, map[string]string{"kappa": stats.ReasonConstantLabels, "kappa_linear": stats.ReasonConstantLabels}},
		{"kappa --matrix 60,29,0,0", map[string]float64{"kappa": 0, "se_nonnull": 0}, map[string]string{"ci95_lo": stats.ReasonZeroSE}},
		{"power --pairs 40 --loss 0.05 --gain 0.05", map[string]float64{"pow_exact_worse": 0.008, "pow_midp_worse": 0.025}, map[string]string{"n_connor": "loss_rate_not_above_gain_rate"}},
	} {
		got := program(t, append(append([]string{"stats"}, strings.Fields(tt.args)...), "--json")...)
		for name, want := range tt.want {
			if x, ok := got[name].(float64); !ok || math.Abs(x-want) > 6e-4 {
				t.Errorf("stats %s: %s is %v, want %v", tt.args, name, got[name], want)
			}
		}
		for name, want := range tt.null {
			value, ok := got[name]
			if !ok || value != nil || got[name+"_reason"] != want {
				t.Errorf("stats %s: %s is %v (%v), want null (%s)", tt.args, name, value, got[name+"_reason"], want)
			}
		}
	}
}

// Whatever the counts, the output is JSON, and null has a reason.
func TestStatsAlwaysJSON(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		count := func(name string) string {
			return strconv.Itoa(rapid.OneOf(rapid.IntRange(0, 3), rapid.IntRange(0, 3000)).Draw(r, name))
		}
		a, b, c, d := count("a"), count("b"), count("c"), count("d")
		conf := strconv.FormatFloat(rapid.Float64Range(0.01, 0.9999).Draw(r, "conf"), 'g', -1, 64)
		for _, args := range [][]string{
			{"mcnemar", b, c, "--conf", conf}, {"diff", a, b, c, d, "--conf", conf}, {"kappa", "--matrix", strings.Join([]string{a, b, c, d}, ",")},
		} {
			got := program(t, append(append([]string{"stats"}, args...), "--json")...)
			for name, value := range got {
				if reason, _ := got[name+"_reason"].(string); value == nil && reason == "" {
					r.Fatalf("stats %v: %s is null without a reason", args, name)
				}
			}
		}
		// Swapping the arms swaps worse and better and mirrors the interval.
		one, two := program(t, "stats", "mcnemar", b, c, "--json"), program(t, "stats", "mcnemar", c, b, "--json")
		if one["p_exact_two"] != two["p_exact_two"] || one["pmf"] != two["pmf"] || one["p_exact_worse"] != two["p_exact_better"] {
			r.Fatalf("%s/%s is no mirror of %s/%s", b, c, c, b)
		}
	})
}

// One that is beyond float64 is null, with its logarithm beside it.
func TestStatsEProcessBeyondFloat(t *testing.T) {
	steps := program(t, "stats", "eprocess", strings.Repeat("L", 1100), "--json")["steps"].([]any)
	last := steps[len(steps)-1].(map[string]any)
	if last["e_worse_one_sided"] != nil || last["e_worse_one_sided_reason"] != "outside_float64" {
		t.Errorf("e is %v (%v)", last["e_worse_one_sided"], last["e_worse_one_sided_reason"])
	}
	if log, ok := last["log_e_worse_one_sided"].(float64); !ok || log < 700 {
		t.Errorf("log e is %v", last["log_e_worse_one_sided"])
	}
}
