package main

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/doubletake-dev/doubletake/analysis"
	"github.com/doubletake-dev/doubletake/replay"
)

// TestForecastHolds plays nights and counts: none asks for more than was said before it.
func TestForecastHolds(t *testing.T) {
	for name, args := range map[string][]string{
		"a night":    {"nightly", "--fixture", "too-long-migration", "--fixture", "draft-taken-for-approval"},
		"replicates": {"nightly", "--fixture", "quiet-afternoon", "--replicates", "2", "--rubric"},
		"step":       {"compare", "keep-ends", "summarize", "--fixture", "wrong-database", "--mode", "step"},
		"control":    {"nightly", "--fixture", "wrong-database", "-c", "control.yaml"},
	} {
		t.Run(name, func(t *testing.T) {
			if name != "step" {
				inFull(t)
			}
			dir := t.TempDir()
			for i, arg := range args {
				if arg == "control.yaml" {
					args[i] = writeFile(t, dir, arg, "nightly: { control: true, confirm: 2 }\n")
				}
			}
			args = append(args, "--cache", "off", "--json")
			out, err := doubletake(t, append(args, "--dry-run")...).Output()
			if err != nil {
				t.Fatal(err)
			}
			var said nightForecast
			if err := json.Unmarshal(out, &said); err != nil {
				t.Fatal(err)
			}
			night := filepath.Join(dir, "night")
			_ = doubletake(t, append(args, "--out", night)...).Run() // whatever the verdict
			found, err := analysis.Load(night)
			if err != nil {
				t.Fatal(err)
			}
			usage := found.Report.Usage
			if usage.Requests == 0 || usage.Requests > said.Total.Most.Calls {
				t.Errorf("%d answers were asked for, at most %d were said", usage.Requests, said.Total.Most.Calls)
			}
			if usage.PromptTokens > said.Total.Most.PromptTokens {
				t.Errorf("%d prompt tokens, at most %d were said", usage.PromptTokens, said.Total.Most.PromptTokens)
			}
			if name != "step" {
				return
			}
			// Step by step the agent is asked for each recorded turn, no more and no less.
			asked := 0
			for _, e := range found.Record.Episodes {
				if e.Replicate > 0 {
					continue // played again to confirm
				}
				for _, x := range e.Exchanges {
					if x.For == "agent" {
						asked++
					}
				}
			}
			for _, p := range said.Asked {
				if p.For == "agent" && p.Expected.Calls != asked {
					t.Errorf("%d turns were asked for, %d were said", asked, p.Expected.Calls)
				}
			}
		})
	}
}

// TestForecastMoney holds the sum to the price list.
func TestForecastMoney(t *testing.T) {
	n := &night{config: &config{}}
	asked := []purpose{{"agent", "m", replay.Outlook{
		Expected: replay.Demand{Calls: 1, PromptTokens: 1_000_000, AnswerTokens: 500_000},
		Most:     replay.Demand{Calls: 2, PromptTokens: 3_000_000, AnswerTokens: 1_000_000},
	}}}
	if cost, why := n.expense(asked); cost != nil || why == "" {
		t.Errorf("a cost without a price: %v, %q", cost, why)
	}
	cfg := writeFile(t, t.TempDir(), configFile, "prices: { m: { input: 2, output: 8 } }\n")
	var err error
	if n.config, err = loadConfig(cfg); err != nil {
		t.Fatal(err)
	}
	// 1 million at 2 and half a million at 8; three times 2 and once 8.
	if cost, _ := n.expense(asked); cost == nil || cost.Expected != 6 || cost.Most != 14 {
		t.Errorf("%+v, want 6 and 14", cost)
	}
}
