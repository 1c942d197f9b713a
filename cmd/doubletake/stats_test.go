package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/doubletake-dev/doubletake/analysis/stats"
)

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
	dir := t.TempDir()
	rapid.Check(t, func(r *rapid.T) {
		count := func(name string) string {
			return strconv.Itoa(rapid.OneOf(rapid.IntRange(0, 3), rapid.IntRange(0, 3000)).Draw(r, name))
		}
		a, b, c, d := count("a"), count("b"), count("c"), count("d")
		conf := strconv.FormatFloat(rapid.Float64Range(0.01, 0.9999).Draw(r, "conf"), 'g', -1, 64)
		margin := strconv.FormatFloat(rapid.Float64Range(0.01, 0.99).Draw(r, "margin"), 'g', -1, 64)
		table, fleiss := strings.Join([]string{a, b, c, d}, ","), strings.Join([]string{a, b + ";" + b, a}, ",")
		path := filepath.Join(dir, "clusters.csv")
		if err := os.WriteFile(path, []byte("cluster,a,b,c,d\ns1,"+table+"\ns2,1,0,1,0\ns3,"+strings.Join([]string{d, c, b, a}, ",")+"\n"), 0o644); err != nil {
			r.Fatal(err)
		}
		for _, args := range [][]string{
			{"mcnemar", b, c, "--conf", conf}, {"mcnemar", "--matrix", table}, {"oddsratio", b, c, "--conf", conf},
			{"diff", a, b, c, d, "--conf", conf}, {"noninferior", b, c, sumOf(a, b, c, d), "--margin", margin},
			{"wilson", b, sumOf(b, c), "--conf", conf},
			{"kappa", "--matrix", table}, {"fleiss", "--matrix", fleiss}, {"alpha", "--matrix", "x,,y;" + table},
			{"cluster", "--csv", path},
		} {
			if args[0] == "cluster" && sumOf(a, b, c, d) == "0" {
				continue // a cluster without a pair is refused
			}
			got := program(t, append(append([]string{"stats"}, args...), "--json")...)
			for name, value := range got {
				if reason, _ := got[name+"_reason"].(string); value == nil && (reason == "" || got["reason"] == nil) {
					r.Fatalf("stats %v: %s is null without a reason", args, name)
				}
			}
			unbounded := (args[0] == "mcnemar" || args[0] == "oddsratio") && c == "0" && b != "0"
			if (got["upper_unbounded"] == true) != unbounded {
				r.Fatalf("stats %v: upper_unbounded is %v", args, got["upper_unbounded"])
			}
		}
		// Swapping the arms swaps worse and better and mirrors the interval.
		one, two := program(t, "stats", "mcnemar", b, c, "--json"), program(t, "stats", "mcnemar", c, b, "--json")
		if one["p_exact_two"] != two["p_exact_two"] || one["pmf"] != two["pmf"] || one["p_exact_worse"] != two["p_exact_better"] {
			r.Fatalf("%s/%s is no mirror of %s/%s", b, c, c, b)
		}
	})
}

func sumOf(counts ...string) string {
	sum := 0
	for _, count := range counts {
		n, err := strconv.Atoi(count)
		if err != nil {
			return err.Error()
		}
		sum += n
	}
	return strconv.Itoa(sum)
}

// A hundred thousand sessions are no matter of minutes. Half of them lose what the
// others gain, so that p follows from symmetry.
func TestStatsManyClusters(t *testing.T) {
	var text strings.Builder
	text.WriteString("cluster,a,b,c,d\n")
	for i := range 100_000 {
		cells := []string{"5,1,0,2", "9,2,0,0", "5,0,1,2", "9,0,2,0"}
		fmt.Fprintf(&text, "s%d,%s\n", i, cells[i%4])
	}
	path := filepath.Join(t.TempDir(), "many.csv")
	if err := os.WriteFile(path, []byte(text.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	got := program(t, "stats", "cluster", "--csv", path, "--json")
	worse, better := got["signflip_p_worse"].(float64), got["signflip_p_better"].(float64)
	if got["K"] != 100_000.0 || got["signflip_p_two"] != 1.0 || worse != better || worse <= 0.5 || worse > 0.502 {
		t.Errorf("K %v, p worse %v, better %v, two %v", got["K"], worse, better, got["signflip_p_two"])
	}
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
