package main

import (
	"encoding/csv"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
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

// tolerance is how far a value may be from the one in the file: relative, or absolute
// whatever its size.
type tolerance struct {
	relative, absolute float64
}

// tolerances are by the kind of number, which its column's name tells.
func tolerances(column string) tolerance {
	is := func(endings ...string) bool {
		return slices.ContainsFunc(endings, func(e string) bool { return strings.HasSuffix(column, e) })
	}
	switch {
	case strings.HasPrefix(column, "pow_"), strings.HasPrefix(column, "ni_pow_"):
		return tolerance{absolute: 1e-11}
	case column == "n_discordants_needed_theta": // six digits in the file
		return tolerance{relative: 1e-6}
	case is("_or_lo", "_or_hi"): // not bounded as shares are
		return tolerance{relative: 1e-12, absolute: 1e-12}
	case is("_lo", "_hi"):
		return tolerance{absolute: 1e-12}
	case strings.HasPrefix(column, "ni_z"), column == "z_null": // differences may cancel
		return tolerance{relative: 1e-13, absolute: 1e-13}
	case strings.HasPrefix(column, "log"):
		return tolerance{relative: 1e-12, absolute: 1e-14}
	case column == "p_hat", column == "p_o", column == "p_e": // no p values
		return tolerance{relative: 1e-13}
	case strings.HasPrefix(column, "p_"), strings.HasPrefix(column, "ni_p"), strings.HasPrefix(column, "e_"),
		strings.HasPrefix(column, "running_"), strings.HasPrefix(column, "anytime_"), strings.Contains(column, "signflip"),
		strings.HasPrefix(column, "mcnemar_exact"), column == "pmf":
		return tolerance{relative: 1e-12}
	}
	return tolerance{relative: 1e-13}
}

// goldNames are the keys of what the file calls otherwise, since b and c are swapped
// too easily.
func goldNames(column string) string {
	names := map[string]string{"a": "both_pass", "b": "losses", "c": "gains", "d": "both_fail"}
	if name, ok := names[column]; ok {
		return name
	}
	return column
}

// sameFigures compares every column of a line but the other ones. NA and Inf in the
// file are null with a reason; where we withhold what the file has, withheld says so.
func sameFigures(t *testing.T, what string, want goldLine, got map[string]any, withheld func(column string) bool, other ...string) {
	t.Helper()
	for column, text := range want {
		if slices.Contains(other, column) {
			continue
		}
		name := goldNames(column)
		value, ok := got[name]
		switch {
		case !ok:
			t.Errorf("%s: no key %q", what, name)
		case value == nil:
			if reason, _ := got[name+"_reason"].(string); reason == "" || got["reason"] == "" {
				t.Errorf("%s: %s is null without a reason", what, name)
			}
			if text == "Inf" && got["upper_unbounded"] != true {
				t.Errorf("%s: %s has no upper end, and upper_unbounded is %v", what, name, got["upper_unbounded"])
			}
			if text != "NA" && text != "Inf" && (withheld == nil || !withheld(column)) {
				t.Errorf("%s: %s is null (%v), want %s", what, name, got[name+"_reason"], text)
			}
		case text == "NA":
			t.Errorf("%s: %s is %v, want nothing", what, name, value)
		default:
			sameFigure(t, what+": "+name, text, value, tolerances(column))
		}
	}
}

func sameFigure(t *testing.T, what, text string, value any, near tolerance) {
	t.Helper()
	if s, isText := value.(string); isText && s == text {
		return
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
		t.Errorf("%s is %v, want %s", what, value, text)
		return
	}
	const normal = 0x1p-1022
	if math.Abs(y) < normal && math.Abs(x) < 2*normal {
		return
	}
	off := math.Abs(x - y)
	if near.relative > 0 && math.Abs(y) < 1e-100 && y > 0 && x > 0 {
		// The float64 nearest to the exponent is all that a tiny p value can have.
		off, y, near = math.Abs(math.Log10(x)-math.Log10(y)), math.Log10(y), tolerance{relative: 1e-13}
	}
	if off > max(near.absolute, near.relative*math.Abs(y)) {
		t.Errorf("%s is %.17g, want %s (off by %.2g)", what, x, text, off)
	}
}

// clusterFiles writes the data sets of clustered.csv into a file each.
func clusterFiles(t *testing.T) map[string]string {
	t.Helper()
	text := map[string]string{}
	for _, line := range goldLines(t, "clustered.csv") {
		text[line["dataset"]] += strings.Join([]string{line["cluster"], line["a"], line["b"], line["c"], line["d"]}, ",") + "\n"
	}
	files, dir := map[string]string{}, t.TempDir()
	for name, lines := range text {
		files[name] = filepath.Join(dir, strconv.Itoa(len(files))+".csv")
		if err := os.WriteFile(files[name], []byte("cluster,a,b,c,d\n"+lines), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return files
}

// Every column of every line of every gold file, through the program.
func TestStatsGold(t *testing.T) {
	for file, tt := range map[string]struct {
		// args are the command for a line, nil where it can't be computed.
		args     func(goldLine) []string
		withheld func(want goldLine, column string) bool
		other    []string // columns that say something else, or nothing that we compute
	}{
		"mcnemar.csv": {args: func(w goldLine) []string { return []string{"mcnemar", w["b"], w["c"]} }},
		"clopper_pearson_or.csv": {args: func(w goldLine) []string {
			return []string{"oddsratio", w["b"], w["c"], "--conf", w["conf"]}
		}},
		"paired_diff.csv": {other: []string{"note"}, args: func(w goldLine) []string {
			return []string{"diff", w["a"], w["b"], w["c"], w["d"], "--conf", w["conf"]}
		}},
		"wilson.csv": {args: func(w goldLine) []string {
			return []string{"wilson", w["x"], w["n"], "--conf", w["conf"]}
		}},
		"kappa.csv": {
			other: []string{"id", "matrix_rowmajor"},
			args:  func(w goldLine) []string { return []string{"kappa", "--matrix", w["matrix_rowmajor"]} },
			withheld: func(w goldLine, column string) bool { // an interval without width is none
				return w["se_nonnull"] == "0" && strings.HasPrefix(column, "ci95_")
			},
		},
		"fleiss_krippendorff.csv": {other: []string{"id", "data"}, args: func(w goldLine) []string {
			command := map[string]string{"fleiss_kappa": "fleiss", "krippendorff_alpha_nominal": "alpha"}[w["statistic"]]
			return []string{command, "--matrix", w["data"]}
		}},
		"power.csv": {args: func(w goldLine) []string {
			return []string{"power", "--pairs", w["N"], "--loss", w["p_loss"], "--gain", w["p_gain"], "--alpha", w["alpha"]}
		}},
		"samplesize.csv": {args: func(w goldLine) []string {
			return []string{"samplesize", "--loss", w["p_loss"], "--gain", w["p_gain"], "--alpha", w["alpha"], "--sided", w["sided"], "--power", w["power"]}
		}},
	} {
		t.Run(file, func(t *testing.T) {
			for i, want := range goldLines(t, file) {
				args := append(append([]string{"stats"}, tt.args(want)...), "--json")
				withheld := func(column string) bool { return tt.withheld != nil && tt.withheld(want, column) }
				other := slices.Clone(tt.other)
				if file == "wilson.csv" && want["cp_lo"] == "NA" { // the file leaves a million out, we don't
					other = append(other, "cp_lo", "cp_hi")
				}
				sameFigures(t, "line "+strconv.Itoa(i+2), want, program(t, args...), withheld, other...)
			}
		})
	}
}

func TestStatsClusterGold(t *testing.T) {
	files, checked := clusterFiles(t), 0
	for _, want := range goldLines(t, "clustered_stats.csv") {
		path, ok := files[want["dataset"]]
		if !ok { // its clusters are not in the file
			continue
		}
		got := program(t, "stats", "cluster", "--csv", path, "--json")
		sameFigures(t, want["dataset"], want, got, nil, "dataset", "note")
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
			sameFigures(t, id+" step "+want["step"], want, steps[i].(map[string]any), nil, "sequence_id", "arrival")
		}
	}
}

func TestStatsAdjustGold(t *testing.T) {
	sets := map[string][]goldLine{}
	for _, line := range goldLines(t, "multiplicity.csv") {
		sets[line["set"]] = append(sets[line["set"]], line)
	}
	for set, lines := range sets {
		args := []string{"stats", "adjust", "--json"}
		for _, line := range lines {
			args = append(args, line["p"])
		}
		tests := program(t, args...)["tests"].([]any)
		for i, want := range lines {
			sameFigures(t, "set "+set+" test "+want["index"], want, tests[i].(map[string]any), nil, "set")
		}
	}
}
