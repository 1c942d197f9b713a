// Package action holds the script of the composite action to what the program does: it is
// run by bash, offline, as a workflow would run it.
package action

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

// play is the script of the step that plays.
func play(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("action.yml")
	if err != nil {
		t.Fatal(err)
	}
	var action struct {
		Runs struct {
			Steps []struct {
				ID  string `yaml:"id"`
				Run string `yaml:"run"`
			} `yaml:"steps"`
		} `yaml:"runs"`
	}
	if err := yaml.Unmarshal(text, &action); err != nil {
		t.Fatal(err)
	}
	for _, step := range action.Runs.Steps {
		if step.Run != "" && strings.Contains(step.Run, "${{") {
			t.Errorf("step %q puts what a caller gives into its script", step.ID)
		}
		if step.ID == "play" {
			return step.Run
		}
	}
	t.Fatal("action.yml has no step play")
	return ""
}

// The program is a stand-in that writes down what it was given: what is tried is what the
// script makes of the inputs, and that the exit code comes through.
func TestPlay(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil || runtime.GOOS == "windows" {
		t.Skip("runs the script by bash, and there is none here")
	}
	script := play(t)
	for name, test := range map[string]struct {
		command, args, program string
		code                   int
		given, outputs         string
	}{
		"nothing blocks": {
			"nightly", "", "exit 0", 0,
			"nightly|--out|night|--cache-dir|TEMP/doubletake-answers|", "exit-code=0\nrun=DIR/night\n",
		},
		"blocked, with arguments that no shell reads": {
			"compare", "ledger\n\nsum marize\r\n$(touch evaluated)\n*", "exit 1", 1,
			"compare|--out|night|--cache-dir|TEMP/doubletake-answers|ledger|sum marize|$(touch evaluated)|*|", "exit-code=1\nrun=DIR/night\n",
		},
		"another command": {"provider", "", "exit 0", 2, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir, temp := t.TempDir(), t.TempDir()
			if dir, err = filepath.EvalSymlinks(dir); err != nil {
				t.Fatal(err)
			}
			if err := os.Mkdir(filepath.Join(temp, "doubletake"), 0o755); err != nil {
				t.Fatal(err)
			}
			program := "#!/bin/sh\nprintf '%s|' \"$@\" >\"$RUNNER_TEMP/given\"\n" + test.program + "\n"
			if err := os.WriteFile(filepath.Join(temp, "doubletake", "doubletake"), []byte(program), 0o755); err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(bash, "--noprofile", "--norc", "-eo", "pipefail", "-c", script) // as a runner starts it
			cmd.Dir = dir
			cmd.Env = append(os.Environ(), "RUNNER_TEMP="+temp, "GITHUB_OUTPUT="+filepath.Join(temp, "outputs"),
				"INPUT_COMMAND="+test.command, "INPUT_ARGS="+test.args, "INPUT_OUT=night")
			out, err := cmd.CombinedOutput()
			var exit *exec.ExitError
			if err != nil && !errors.As(err, &exit) {
				t.Fatal(err)
			}
			if code := cmd.ProcessState.ExitCode(); code != test.code {
				t.Errorf("exit code %d, want %d\n%s", code, test.code, out)
			}
			said := func(file string) string {
				text, err := os.ReadFile(filepath.Join(temp, file))
				if err != nil && !errors.Is(err, os.ErrNotExist) {
					t.Fatal(err)
				}
				return strings.NewReplacer(temp, "TEMP", dir, "DIR").Replace(string(text))
			}
			if got := said("given"); got != test.given {
				t.Errorf("the program was given %q, want %q", got, test.given)
			}
			if got := said("outputs"); got != test.outputs {
				t.Errorf("outputs %q, want %q", got, test.outputs)
			}
			if _, err := os.Stat(filepath.Join(dir, "evaluated")); err == nil {
				t.Error("an argument was evaluated")
			}
		})
	}
}
