package main

import (
	"bytes"
	"errors"
	"io"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/doubletake-dev/doubletake/replay"
)

// The first interrupt of a judge lets what is in flight end; the same command goes on, and
// asks for nothing a second time.
func TestAJudgeIsInterruptedAndGoesOn(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, "night")
	run := func(cmd *exec.Cmd) (code int, stderr string) {
		t.Helper()
		var said bytes.Buffer
		cmd.Dir, cmd.Stdout, cmd.Stderr = root, io.Discard, &said
		var exit *exec.ExitError
		if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		return cmd.ProcessState.ExitCode(), said.String()
	}
	if code, said := run(doubletake(t, "nightly", "--out", dir, "--fixture", "forbidden-directory", "--fixture", "wrong-database")); code != exitBlocked {
		t.Fatalf("exit code %d:\n%s", code, said)
	}
	whole := newCountingProvider(t)
	judged := func(provider *countingProvider, as string, interrupt bool) (int, string) {
		t.Helper()
		server := httptest.NewServer(provider)
		defer server.Close()
		cmd := doubletake(t, "judge", dir, "--model", as, "--base-url", server.URL+"/v1", "-j", "2", "--cache", "off")
		if interrupt {
			started := make(chan *os.Process, 1)
			provider.mu.Lock() // the server runs
			provider.before = func() {
				p := <-started
				if err := p.Signal(os.Interrupt); err != nil {
					t.Error(err)
				}
			}
			provider.mu.Unlock()
			pipe, err := cmd.StderrPipe()
			if err != nil {
				t.Fatal(err)
			}
			cmd.Dir = root
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			started <- cmd.Process
			said, err := io.ReadAll(pipe)
			if err != nil {
				t.Fatal(err)
			}
			var exit *exec.ExitError
			if err := cmd.Wait(); err != nil && !errors.As(err, &exit) {
				t.Fatal(err)
			}
			return cmd.ProcessState.ExitCode(), string(said)
		}
		return run(cmd)
	}
	whole.at = -1
	if code, said := judged(whole, "one", false); code != exitBlocked {
		t.Fatalf("exit code %d:\n%s", code, said)
	}
	cut := newCountingProvider(t)
	cut.at = whole.asked() / 2
	code, said := judged(cut, "two", true)
	if code != exitInterrupted || !strings.Contains(said, inFlight) || !strings.Contains(said, "the same command goes on from there") {
		t.Fatalf("exit code %d:\n%s", code, said)
	}
	record, err := replay.ReadRecord(dir)
	if err != nil {
		t.Fatal(err)
	}
	if record.Run.Plan.Lineage.JudgeModel != "two" {
		t.Errorf("the judge is %q", record.Run.Plan.Lineage.JudgeModel)
	}
	rest := newCountingProvider(t)
	rest.at = -1
	if code, said := judged(rest, "two", false); code != exitBlocked {
		t.Fatalf("exit code %d:\n%s", code, said)
	}
	if cut.asked() >= whole.asked() || cut.asked()+rest.asked() != whole.asked() {
		t.Errorf("%d and %d questions, %d in one go", cut.asked(), rest.asked(), whole.asked())
	}
}
