package main

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/doubletake-dev/doubletake/analysis"
	"github.com/doubletake-dev/doubletake/pairing"
)

// old are what earlier versions wrote: a set, a config, and the run directory of a night
// on which one verdict was given. A version is added, and none is ever changed.
const old = "testdata/old"

// oldVersions copies what each version wrote to a folder of its own.
func oldVersions(t *testing.T, do func(t *testing.T, dir string)) {
	t.Helper()
	versions, err := os.ReadDir(old)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range versions {
		t.Run(v.Name(), func(t *testing.T) {
			dir := t.TempDir()
			if err := os.CopyFS(dir, os.DirFS(filepath.Join(old, v.Name()))); err != nil {
				t.Fatal(err)
			}
			do(t, dir)
		})
	}
}

func TestOldRunsLoad(t *testing.T) {
	oldVersions(t, func(t *testing.T, dir string) {
		run := filepath.Join(dir, "run")
		found, err := analysis.Load(run)
		if err != nil {
			t.Fatal(err)
		}
		r := found.Report
		// By hand: the summary of the candidate leaves out all four items, which the ledger
		// keeps, so that the one pair is a loss and every class falls below its floor.
		if r.Verdict != analysis.Regressed || r.Pairs.Losses != 1 || r.Pairs.Total != 1 || len(found.Queue) != 1 {
			t.Errorf("verdict %s, %d losses of %d pairs, %d in the queue", r.Verdict, r.Pairs.Losses, r.Pairs.Total, len(found.Queue))
		}
		absent := 0
		for _, counts := range r.Items {
			absent += counts.Absent
		}
		if absent != 4 || r.Contradictions != 0 {
			t.Errorf("%d items absent, %d contradicted; want 4 and 0", absent, r.Contradictions)
		}
		verdicts, err := pairing.ReadVerdicts(run)
		if err != nil || len(verdicts) != 1 || verdicts[0].Ruling != pairing.CandidateWorse {
			t.Errorf("verdicts %v, %v", verdicts, err)
		}
		if r.Reviewed == nil {
			t.Error("the verdict of a person does not count any more")
		}
		for _, command := range []struct {
			args []string
			code int
			says string
		}{
			{[]string{"report", run}, exitBlocked, "REGRESSED  candidate against reference"},
			{[]string{"gate", run}, exitBlocked, "gate: FAIL"},
			{[]string{"review", "list", run, "--open"}, exitOK, "tide-tables"},
			{[]string{"review", "show", run, "tide-tables", "--open"}, exitOK, "make check"},
		} {
			out, err := doubletake(t, command.args...).Output()
			code := 0
			var exit *exec.ExitError
			if errors.As(err, &exit) {
				code = exit.ExitCode()
			} else if err != nil {
				t.Fatal(err)
			}
			if code != command.code || !strings.Contains(string(out), command.says) {
				t.Errorf("%s: exit code %d, want %d; it prints\n%.600s", command.args[0], code, command.code, out)
			}
		}
	})
}

func TestOldConfigsAndSetsLoad(t *testing.T) {
	oldVersions(t, func(t *testing.T, dir string) {
		cfg, err := loadConfig(filepath.Join(dir, configFile))
		if err != nil {
			t.Fatal(err)
		}
		set, err := loadSet(cfg.path(cfg.Set))
		if err != nil {
			t.Fatal(err)
		}
		if len(set.Fixtures) != 1 || set.Version != "2026.1" {
			t.Errorf("%d fixtures of version %s", len(set.Fixtures), set.Version)
		}
		if out, err := doubletake(t, "nightly", "-c", filepath.Join(dir, configFile), "--dry-run").CombinedOutput(); err != nil {
			t.Errorf("a night with the old config: %v\n%s", err, out)
		}
	})
}

// TestOldFilesFitTheSchemas: what an earlier version wrote is still of the form of today.
func TestOldFilesFitTheSchemas(t *testing.T) {
	oldVersions(t, func(t *testing.T, dir string) {
		for name, kind := range runSchemas() {
			data, err := os.ReadFile(filepath.Join(dir, "run", name))
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			if filepath.Ext(name) == ".jsonl" {
				fitLines(t, resolved(t, kind), name, data)
			} else if err := fits(t, resolved(t, kind), data); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		var report map[string]json.RawMessage
		data, err := os.ReadFile(filepath.Join(dir, "run", "report.json"))
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(data, &report); err != nil || report["verdict"] == nil {
			t.Errorf("report.json: %v", err)
		}
	})
}
