package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/doubletake-dev/doubletake/analysis"
	"github.com/doubletake-dev/doubletake/cmd/doubletake/starter"
	"github.com/doubletake-dev/doubletake/replay"
	"github.com/doubletake-dev/doubletake/replay/compact"
	"github.com/doubletake-dev/doubletake/replay/compact/compacttest"
)

func writeFile(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestStarterCompactors runs what every compactor has to keep to over the two that init
// writes; DOUBLETAKE_LONG=1 runs all of it over both.
func TestStarterCompactors(t *testing.T) {
	for name, program := range map[string]string{"compact.py": "python3", "compact.sh": "sh"} {
		t.Run(name, func(t *testing.T) {
			if _, err := exec.LookPath(program); err != nil {
				t.Skipf("no %s on this machine: %v", program, err)
			}
			source, err := starter.Read(name)
			if err != nil {
				t.Fatal(err)
			}
			path := writeFile(t, t.TempDir(), name, string(source))
			made, err := compact.NewExec(compact.ExecOptions{Command: []string{program, path}})
			if err != nil {
				t.Fatal(err)
			}
			if name == "compact.sh" || os.Getenv("DOUBLETAKE_LONG") != "" {
				compacttest.TestCompactor(t, func(*testing.T) replay.Compactor { return made })
				return
			}
			// Python takes its time to start: a few, unless there is time.
			for _, c := range compacttest.Conversations()[:4] {
				req := c.Request
				req.BudgetTokens = 150
				if out, err := made.Compact(t.Context(), &req); err != nil || out.Status == replay.Failed {
					t.Errorf("%s: %+v, %v", c.Name, out, err)
				}
			}
		})
	}
}

// TestInitFromRealSessions makes suites of public sessions, one of each of several tools,
// and plays them at once.
func TestInitFromRealSessions(t *testing.T) {
	shared := os.Getenv("DOUBLETAKE_SHARED")
	if shared == "" {
		shared = filepath.Join("..", "..", "..", "shared")
	}
	shared, err := filepath.Abs(filepath.Join(shared, "recordings"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(shared, "MANIFEST.tsv")); err != nil {
		t.Skipf("no real recordings here: set DOUBLETAKE_SHARED to the folder that holds recordings/MANIFEST.tsv (%v)", err)
	}
	for _, name := range []string{
		"claude-code/cc-2.1.14-small-compaction-microcompact.jsonl", "codex/agent-sessions-small.jsonl", "gemini-cli/gemini-59KB.json",
		"openhands/llm-completion-1.json",
	} {
		t.Run(name, func(t *testing.T) {
			if name != "openhands/llm-completion-1.json" {
				inFull(t)
			}
			file := filepath.Join(shared, filepath.FromSlash(name))
			if _, err := os.Stat(file); err != nil {
				t.Skip(err)
			}
			dir := filepath.Join(t.TempDir(), "suite")
			if out, err := doubletake(t, "init", dir, "--from", file, "--yes").CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			night := doubletake(t, "nightly", "--out", "night", "--cache", "off")
			night.Dir = dir
			out, err := night.CombinedOutput()
			var exit *exec.ExitError
			if errors.As(err, &exit) && exit.ExitCode() > exitIncomplete || err != nil && exit == nil {
				t.Fatalf("%v\n%s", err, out)
			}
			found, err := analysis.Load(filepath.Join(dir, "night"))
			if err != nil {
				t.Fatal(err)
			}
			if p := found.Report.Pairs; p.Scored() != 1 {
				t.Errorf("the one pair has no outcome: %+v\n%s", p, out)
			}
			list := doubletake(t, "review", "list", "night")
			list.Dir = dir
			if out, err := list.CombinedOutput(); err != nil {
				t.Errorf("review: %v\n%s", err, out)
			}
		})
	}
}
