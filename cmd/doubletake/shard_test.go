package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

func TestAShardHasItsShareOfTheLimits(t *testing.T) {
	for _, tt := range []struct {
		name     string
		of       int
		in, want limitsConfig
	}{
		{"no limits", 8, limitsConfig{}, limitsConfig{}},
		{"even", 4, limitsConfig{RequestsPerMinute: 400, TokensPerMinute: 8000, RequestsInFlight: 16, MaxTokens: 100, MaxCostUSD: 20},
			limitsConfig{RequestsPerMinute: 100, TokensPerMinute: 2000, RequestsInFlight: 4, MaxTokens: 25, MaxCostUSD: 5}},
		{"rounded down", 3, limitsConfig{RequestsPerMinute: 500, TokensPerMinute: 200000}, limitsConfig{RequestsPerMinute: 166, TokensPerMinute: 66666}},
		{"at least 1", 8, limitsConfig{RequestsPerMinute: 5, RequestsInFlight: 2}, limitsConfig{RequestsPerMinute: 1, RequestsInFlight: 1}},
		{"the machine's own", 8, limitsConfig{Concurrency: 32, Tries: 3}, limitsConfig{Concurrency: 32, Tries: 3}},
	} {
		if got := tt.in.shared(tt.of); got != tt.want {
			t.Errorf("%s: %+v, want %+v", tt.name, got, tt.want)
		}
	}
}

// TestMergedShardsMakeTheSameReport compares a night on one machine with the same in
// shards, each with a cold cache of its own: report.json is the same to the byte, what
// the answers cost included.
func TestMergedShardsMakeTheSameReport(t *testing.T) {
	const everything = `{nightly: {control: true, confirm: 1, replicates: 2}, judge: {controls: 4}}`
	for _, tt := range []struct {
		name   string
		shards int
		long   bool
		config string
		args   []string
	}{
		{"the shipped set", 4, true, "{}", []string{"nightly"}},
		{"with controls, replicates, confirmation and rubric", 3, true, everything, []string{"nightly", "--rubric", "--fixture", "forbidden-directory", "--fixture", "quiet-afternoon", "--fixture", "wrong-database", "--fixture", "superseded-path"}},
		{"step mode", 2, false, "{}", []string{"compare", "ledger", "summarize", "--mode", "step", "--fixture", "forbidden-directory", "--fixture", "too-long-migration", "--fixture", "quiet-afternoon"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.long {
				inFull(t)
			}
			dir := t.TempDir()
			config := filepath.Join(dir, "config.yaml")
			if err := os.WriteFile(config, []byte(tt.config), 0o600); err != nil {
				t.Fatal(err)
			}
			play := func(want int, out string, args ...string) {
				t.Helper()
				args = append(args, "--out", filepath.Join(dir, out))
				cmd := doubletake(t, args...)
				if text, err := cmd.CombinedOutput(); cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != want {
					t.Fatalf("doubletake %q: %v\n%s", args, err, text)
				}
			}
			merge := []string{"merge"}
			for i := range tt.shards {
				out := fmt.Sprintf("s%d", i+1)
				play(exitOK, out, append(tt.args, "-c", config, "--cache-dir", filepath.Join(dir, "cache-"+out), "--shard", fmt.Sprintf("%d/%d", i+1, tt.shards))...)
				merge = append(merge, filepath.Join(dir, out))
			}
			play(exitBlocked, "one", append(tt.args, "-c", config, "--cache-dir", filepath.Join(dir, "cache-one"))...)
			play(exitBlocked, "night", merge...)
			one, night := reportOf(t, filepath.Join(dir, "one")), reportOf(t, filepath.Join(dir, "night"))
			if !bytes.Equal(one, night) {
				t.Errorf("one machine:\n%.2000s\nshards:\n%.2000s", one, night)
			}
		})
	}
}

// reportOf is a run's report.json.
func reportOf(t *testing.T, dir string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "report.json"))
	if err != nil {
		t.Fatal(err)
	}
	return data
}
