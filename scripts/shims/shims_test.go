package shims_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// venvs is the folder that setup made, or the test is skipped.
func venvs(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("DOUBLETAKE_SHIMS")
	if dir == "" {
		t.Skip("DOUBLETAKE_SHIMS names no folder; it is what scripts/shims/setup prints")
	}
	return dir
}

// interpreter is the one of a shim's environment, or the test is skipped.
func interpreter(t *testing.T, dir, shim string) string {
	t.Helper()
	python := filepath.Join(dir, shim, "bin", "python")
	if _, err := os.Stat(python); err != nil {
		t.Skipf("no virtual environment for %s in %s; make it with scripts/shims/setup %s %s", shim, dir, dir, shim)
	}
	return python
}

// build builds doubletake.
func build(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "doubletake")
	if output, err := exec.Command("go", "build", "-o", program, "../../cmd/doubletake").CombinedOutput(); err != nil {
		t.Fatalf("building doubletake: %v\n%s", err, output)
	}
	return program
}

// provider serves the offline provider for the test's time, and returns its address.
func provider(t *testing.T, program string) string {
	t.Helper()
	cmd := exec.Command(program, "provider")
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatalf("the provider printed no address: %v", err)
	}
	return strings.TrimSpace(line)
}

// shims are the libraries, and what makes each compact the shipped conversations, which
// are shorter than those that its defaults are for.
var shims = []struct {
	name, venv, library string
	command             []string
}{
	{"langchain", "langchain", "langchain", []string{"langchain_summarization.py", "--keep", "6"}},
	{"openhands", "openhands", "openhands-sdk", []string{"openhands_condenser.py", "--keep", "6", "--keep-first", "2"}},
	{"inspect", "inspect", "inspect-ai", []string{"inspect_compact.py"}},
	{"inspect-edit", "inspect", "inspect-ai", []string{"inspect_compact.py", "--strategy", "edit"}},
	{"inspect-trim", "inspect", "inspect-ai", []string{"inspect_compact.py", "--strategy", "trim"}},
}

// compaction is what an episode keeps of one.
type compaction struct {
	Status string
	Reason string
	Rules  []struct {
		Rule    string
		Held    bool
		Counter string
	}
	Identity struct{ Name, Version string } `json:"compactor"`
}

// TestShims plays fixtures of one and of two compactions through each library, started
// once for all of them and started anew for each: what comes back must be the same.
func TestShims(t *testing.T) {
	venvs := venvs(t)
	program := build(t)
	url := provider(t, program)
	for _, shim := range shims {
		t.Run(shim.name, func(t *testing.T) {
			python := interpreter(t, venvs, shim.venv)
			dir := t.TempDir()
			script, err := filepath.Abs(shim.command[0])
			if err != nil {
				t.Fatal(err)
			}
			command, err := json.Marshal(append([]string{python, script, "--base-url", url}, shim.command[1:]...))
			if err != nil {
				t.Fatal(err)
			}
			config := fmt.Sprintf("compactors:\n  once: { exec: %[1]s, timeout: 120s }\n  stays: { exec: %[1]s, keep_alive: true, timeout: 120s }\n", command)
			if err := os.WriteFile(filepath.Join(dir, "doubletake.yaml"), []byte(config), 0o644); err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(program, "compare", "once", "stays", "--out", "night", "--cache", "off", "--json",
				"--fixture", "forbidden-directory,lead-never-answered-the-payment")
			cmd.Dir = dir
			cmd.Env = append(os.Environ(), "OPENAI_BASE_URL=")
			var report, progress bytes.Buffer
			cmd.Stdout, cmd.Stderr = &report, &progress
			if err := cmd.Run(); cmd.ProcessState == nil || cmd.ProcessState.ExitCode() > 1 {
				t.Fatalf("compare: %v\n%s", err, progress.Bytes())
			}
			var pairs struct {
				Pairs struct{ Total, Losses, Gains, Unscored int }
			}
			if err := json.Unmarshal(report.Bytes(), &pairs); err != nil {
				t.Fatal(err)
			}
			if p := pairs.Pairs; p.Total != 2 || p.Losses+p.Gains+p.Unscored != 0 {
				t.Errorf("pairs %+v, want 2 that agree", p)
			}
			compactions := compactionsOf(t, filepath.Join(dir, "night", "episodes.jsonl"))
			for _, arm := range []string{"once", "stays"} {
				if len(compactions[arm]) < 3 { // one and two
					t.Errorf("%s: %d compactions, want at least 3", arm, len(compactions[arm]))
				}
				for i, c := range compactions[arm] {
					check(t, fmt.Sprintf("%s, compaction %d", arm, i), c, shim.library)
				}
			}
		})
	}
}

// check holds a compaction to what a library must not break, whatever it keeps.
func check(t *testing.T, at string, c compaction, library string) {
	t.Helper()
	if c.Status != "compacted" {
		t.Errorf("%s: %s: %s", at, c.Status, c.Reason)
		return
	}
	if c.Identity.Name != library || c.Identity.Version == "" {
		t.Errorf("%s: made by %+v, want %s and a version", at, c.Identity, library)
	}
	rules := map[string]bool{}
	for _, r := range c.Rules {
		rules[r.Rule] = true
		switch r.Rule {
		case "pairs", "smaller", "role", "second_pass":
			if !r.Held {
				t.Errorf("%s: the rule %s is broken: %s", at, r.Rule, r.Counter)
			}
		}
	}
	for _, rule := range []string{"pairs", "smaller", "role"} {
		if !rules[rule] {
			t.Errorf("%s: the rule %s was not looked at", at, rule)
		}
	}
}

// compactionsOf reads the compactions of a journal by arm.
func compactionsOf(t *testing.T, path string) map[string][]compaction {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	byArm := map[string][]compaction{}
	for _, line := range bytes.Split(bytes.TrimSpace(data), []byte("\n")) {
		var episode struct {
			Arm         string
			Compactions []compaction
		}
		if err := json.Unmarshal(line, &episode); err != nil {
			t.Fatal(err)
		}
		byArm[episode.Arm] = append(byArm[episode.Arm], episode.Compactions...)
	}
	return byArm
}

// TestAModelThatIsNotThere: each library's own error comes back as the compaction's, and
// nothing else stands on stdout.
func TestAModelThatIsNotThere(t *testing.T) {
	venvs := venvs(t)
	request := `{"version":1,"id":"r1","fixture":"f","compaction":0,"after_turn":12,"system":"You keep books.","messages":[` +
		strings.Repeat(`{"id":"%d","turn":1,"role":"user","content":"Never pay twice."},{"id":"%da","turn":2,"role":"assistant","content":"Noted."},`, 7) +
		`{"id":"z","turn":15,"role":"user","content":"And now?"}],"tools":[],"budget_tokens":100,"model":"m","instructions":"","prior_state":null}` + "\n"
	for i := range 7 {
		request = strings.Replace(request, "%d", fmt.Sprint(i), 1)
		request = strings.Replace(request, "%d", fmt.Sprint(i), 1)
	}
	for _, shim := range shims[:3] {
		t.Run(shim.name, func(t *testing.T) {
			python := interpreter(t, venvs, shim.venv)
			cmd := exec.Command(python, append(shim.command, "--base-url", "http://127.0.0.1:1/v1")...)
			cmd.Stdin = strings.NewReader(request + strings.Replace(request, `"r1"`, `"r2"`, 1))
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			printed, err := cmd.Output()
			if err != nil {
				t.Fatalf("%v\n%s", err, stderr.Bytes())
			}
			lines := bytes.Split(bytes.TrimSpace(printed), []byte("\n"))
			if len(lines) != 2 {
				t.Fatalf("%d lines, want one for each of 2 requests: %s", len(lines), printed)
			}
			for i, line := range lines {
				var answer struct{ ID, Status, Error string }
				if err := json.Unmarshal(line, &answer); err != nil {
					t.Fatal(err)
				}
				if answer.ID != fmt.Sprintf("r%d", i+1) || answer.Status != "error" || answer.Error == "" {
					t.Errorf("answer %s, want an error with the request's id", line)
				}
			}
		})
	}
}
