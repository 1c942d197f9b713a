package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/doubletake-dev/doubletake/analysis"
	"github.com/doubletake-dev/doubletake/replay"
)

// inFlight begins the line that the first interrupt prints.
const inFlight = "interrupted: what is in flight ends"

// interrupted plays a night that is interrupted while its request number at waits for an
// answer: once, or a second time after the first was heard of. It returns the exit code,
// what was printed, and the run directory.
type interrupted struct {
	code           int
	stdout, stderr string
	dir, folder    string
	server         *httptest.Server
}

func interruptedNight(t *testing.T, at int, twice bool) interrupted {
	t.Helper()
	provider := newCountingProvider(t)
	provider.at = at
	process := make(chan *os.Process, 1)
	heard := make(chan struct{})
	ended := make(chan struct{})
	provider.before = func() {
		p := <-process
		if err := p.Signal(os.Interrupt); err != nil {
			t.Error(err)
			return
		}
		<-heard
		if twice {
			if err := p.Signal(os.Interrupt); err != nil {
				t.Error(err)
			}
			<-ended // the answer never comes
		}
	}
	n := interrupted{server: httptest.NewServer(provider), folder: t.TempDir()}
	t.Cleanup(n.server.Close)
	n.dir = filepath.Join(n.folder, "a night")
	cmd := doubletake(t, "nightly", "--base-url", n.server.URL+"/v1", "--model", "m", "--out="+n.dir, "--cache-dir", filepath.Join(n.folder, "cache"), "-c", "night.yaml",
		"-j", "4", "--fixture", "forbidden-directory", "--fixture", "quiet-afternoon", "--fixture", "too-long-migration")
	cmd.Dir = n.folder
	config := []byte("compactors: {a: {use: ledger}, b: {use: summarize}}\nnightly: {incumbent: a, candidate: b, control: false}\n")
	if err := os.WriteFile(filepath.Join(n.folder, "night.yaml"), config, 0o600); err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	cmd.Stdout = &stdout
	pipe, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	process <- cmd.Process
	var once sync.Once
	lines := bufio.NewScanner(io.TeeReader(pipe, &stderr))
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), inFlight) {
			once.Do(func() { close(heard) })
		}
	}
	err = cmd.Wait()
	close(ended)
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	n.code, n.stdout, n.stderr = cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()
	return n
}

// goOn runs the command that the program printed, as a shell would, and returns its exit
// code.
func (n *interrupted) goOn(t *testing.T) int {
	t.Helper()
	_, rest, ok := strings.Cut(n.stderr, "this goes on from there:\n  ")
	if !ok {
		t.Fatalf("no command that goes on:\n%s", n.stderr)
	}
	command, _, _ := strings.Cut(rest, "\n")
	cmd := exec.Command("sh", "-c", command)
	cmd.Dir = n.folder
	cmd.Env = append(os.Environ(), "OPENAI_API_KEY=", "OPENAI_BASE_URL=")
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("%s: %v\n%s", command, err, out)
	}
	return cmd.ProcessState.ExitCode()
}

// wholeNight is the report of the night that nobody interrupts, and how many requests it
// takes.
func wholeNight(t *testing.T) (report []byte, requests int) {
	t.Helper()
	n := interruptedNight(t, -1, false)
	if n.code != exitBlocked {
		t.Fatalf("exit code %d:\n%s", n.code, n.stderr)
	}
	provider, ok := n.server.Config.Handler.(*countingProvider)
	if !ok {
		t.Fatal("another handler")
	}
	return strippedReport(t, n.dir), provider.asked()
}

func TestInterrupt(t *testing.T) {
	want, requests := wholeNight(t)
	// The last comes early enough for something to be left that was not asked yet: what is
	// in flight ends.
	moments := []int{1, requests / 3, requests - 2*replay.DefaultConcurrency}
	if sampled() {
		moments = moments[1:2]
	}
	for _, at := range moments {
		t.Run(fmt.Sprintf("request %d of %d", at, requests), func(t *testing.T) {
			n := interruptedNight(t, at, false)
			if n.code != exitInterrupted {
				t.Fatalf("exit code %d:\n%s", n.code, n.stderr)
			}
			var r analysis.Report
			data, err := os.ReadFile(filepath.Join(n.dir, "report.json"))
			if err == nil {
				err = json.Unmarshal(data, &r)
			}
			if err != nil {
				t.Fatal(err)
			}
			if r.Verdict != analysis.Incomplete || r.Unfinished == nil {
				t.Errorf("%s, %+v", r.Verdict, r.Unfinished)
			}
			if !strings.Contains(n.stdout, "INCOMPLETE") || !strings.Contains(n.stdout, "the run is not finished: ") {
				t.Errorf("printed:\n%s", n.stdout)
			}
			for _, name := range []string{"report.md", "report.html"} {
				if page, err := os.ReadFile(filepath.Join(n.dir, name)); err != nil || !bytes.Contains(page, []byte("the run is not finished: ")) {
					t.Errorf("%s: %v", name, err)
				}
			}
			record, err := replay.ReadRecord(n.dir)
			if err != nil {
				t.Fatal(err)
			}
			if at < requests/2 && (len(record.Episodes) == 0 || len(record.Judgements) > 0) {
				t.Errorf("%d episodes, %d judgements: what is in flight ends, and nothing new begins", len(record.Episodes), len(record.Judgements))
			}
			for _, e := range record.Episodes {
				if e.Status == replay.Faulted {
					t.Errorf("%s was cut short: %s", e.Key, e.Reason)
				}
			}
			if code := n.goOn(t); code != exitBlocked {
				t.Errorf("going on ends with %d", code)
			}
			if got := strippedReport(t, n.dir); !bytes.Equal(got, want) {
				t.Errorf("the report after an interrupt differs:\n%s\nwant:\n%s", got, want)
			}
		})
	}
}

func TestASecondInterruptStopsAtOnce(t *testing.T) {
	want, requests := wholeNight(t)
	n := interruptedNight(t, requests/2, true)
	if n.code != exitInterrupted {
		t.Fatalf("exit code %d:\n%s", n.code, n.stderr)
	}
	record, err := replay.ReadRecord(n.dir)
	if err != nil || record.Damaged > 0 {
		t.Fatal(err, record.Damaged)
	}
	if code := n.goOn(t); code != exitBlocked {
		t.Errorf("going on ends with %d", code)
	}
	after, err := replay.ReadRecord(n.dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range record.Episodes {
		if kept := after.Episode(e.Key); kept == nil || kept.Digest() != e.Digest() {
			t.Errorf("%s was finished, and is lost", e.Key)
		}
	}
	if got := strippedReport(t, n.dir); !bytes.Equal(got, want) {
		t.Errorf("the report differs:\n%s\nwant:\n%s", got, want)
	}
}

func TestCommandsWithNothingToLetEndStopAtTheFirstInterrupt(t *testing.T) {
	for _, signal := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		cmd := doubletake(t, "provider")
		pipe, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if _, err := bufio.NewReader(pipe).ReadString('\n'); err != nil { // it listens
			t.Fatal(err)
		}
		if err := cmd.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("%v: %v", signal, err)
		}
	}
}

func TestShellWord(t *testing.T) {
	for text, want := range map[string]string{
		"night": "night", "--out=runs/a.b": "--out=runs/a.b", "": "''", "a b": "'a b'", "it's": `'it'\''s'`,
		"$HOME": "'$HOME'", "a;b": "'a;b'", "*": "'*'", "é": "'é'", "~": "'~'", "#x": "'#x'", "a\nb": "'a\nb'", `\`: `'\'`,
	} {
		if got := shellWord(text); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
		out, err := exec.Command("sh", "-c", "printf %s "+shellWord(text)).Output()
		if err != nil || string(out) != text {
			t.Errorf("%q: a shell reads %q, %v", text, out, err)
		}
	}
}

func TestShellPath(t *testing.T) {
	for path, want := range map[string]string{"night": "night", "-n": "./-n", "--out": "./--out", "-a b": "'./-a b'", "./-n": "./-n", "": "''"} {
		if got := shellPath(path); got != want {
			t.Errorf("%q: %s, want %s", path, got, want)
		}
	}
}

func TestNamesOut(t *testing.T) {
	for line, want := range map[string]bool{
		"nightly": false, "nightly --out x": true, "nightly -out x": true, "nightly --out=x": true, "nightly --output x": false,
		"compare -- --out x": false, "compare a b --out x": true, "compare out b": false,
	} {
		if got := namesOut(strings.Fields(line)); got != want {
			t.Errorf("%s: %v", line, got)
		}
	}
}
