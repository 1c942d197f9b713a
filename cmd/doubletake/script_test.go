package main

import (
	"errors"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	if err := os.Setenv(raceOptions, os.Getenv(raceOptions)+" atexit_sleep_ms=0"); err != nil {
		panic(err)
	}
	testscript.Main(m, map[string]func(){"doubletake": main, "labeller": labeller, "notetaker": notetaker, "signserver": signserver})
}

// raceOptions names the race detector's options. Under it a process sleeps for a second
// before it exits, unless told otherwise, and the tests run the program a thousand times.
const raceOptions = "GORACE"

// dozen are the fixtures that the scripts play unless they say otherwise: enough to show
// everything, and few enough to play often.
const dozen = "draft-taken-for-approval,finished-task-done-again,forbidden-directory,hedge-hardened," +
	"injected-instruction-in-tool-output,quiet-afternoon,second-start-of-a-background-job,superseded-path," +
	"too-long-migration,too-long-support-case,unanswered-option-taken-as-consent,wrong-database"

// concurrent are the scripts that have the program do many things at once, each in another
// way. They are played with the race detector, too; the others look at what is printed.
var concurrent = []string{"anthropic", "cache", "drivers", "limits", "modes", "provider", "review_serve", "test", "tools"}

// TestScripts runs the program as its users do. The scripts document the command
// line: each is a few commands with what they print.
func TestScripts(t *testing.T) {
	shipped, err := filepath.Abs(filepath.Join("..", "..", "fixtures", "adversarial"))
	if err != nil {
		t.Fatal(err)
	}
	scripts, err := filepath.Glob(filepath.Join("testdata", "script", "*.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	if sampled() {
		scripts = slices.DeleteFunc(scripts, func(path string) bool {
			return !slices.Contains(concurrent, strings.TrimSuffix(filepath.Base(path), ".txtar"))
		})
	}
	testscript.Run(t, testscript.Params{
		Files:         scripts,
		UpdateScripts: os.Getenv("UPDATE_SCRIPTS") != "",
		Setup: func(env *testscript.Env) error {
			env.Setenv("XDG_CACHE_HOME", filepath.Join(env.WorkDir, "cache"))
			env.Setenv("HOME", env.WorkDir)
			env.Setenv(raceOptions, os.Getenv(raceOptions))
			env.Setenv("SHIPPED", shipped)
			env.Setenv("DOUBLETAKE_FIXTURE", dozen)
			env.Values[stopProvider{}] = new([]*httptest.Server)
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": exits, "provider": provider, "samereport": sameReport},
	})
}

// exits runs a command that must end with the given exit code: exits CODE COMMAND...
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	var exit *exec.ExitError
	got := 0
	if errors.As(err, &exit) {
		got = exit.ExitCode()
	} else if err != nil {
		ts.Fatalf("running %s: %v", args[1], err)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}
