//go:build unix

package compact_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/doubletake-dev/doubletake/replay"
	"github.com/doubletake-dev/doubletake/replay/compact"
	"github.com/doubletake-dev/doubletake/replay/compact/compacttest"
)

// kept makes a compactor of a shell script that stays.
func kept(t *testing.T, text string, options compact.ExecOptions) *compact.Process {
	t.Helper()
	path := filepath.Join(t.TempDir(), "compactor.sh")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	options.Command = []string{"sh", path}
	c, err := compact.NewProcess(options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// answering is a script that answers each request with the fields of an object; n
// counts the requests of this process from 1, and id is the request's.
func answering(each string) string {
	return "n=0\nwhile IFS= read -r line; do n=$((n+1)); id=${line#'{\"id\":\"'}; id=${id%%'\"'*}\n" + each + "\ndone\n"
}

func TestProcessConformance(t *testing.T) {
	for what, each := range map[string]string{
		"summary":   `printf '{"id":"%s","status":"compacted","messages":[{"role":"user","content":"All there was.","kind":"summary"}],"state":{"n":1},"usage":{"prompt_tokens":3}}\n' "$id"`,
		"unchanged": `printf '{"id":"%s","status":"unchanged"}\n' "$id"`,
		"garbage":   `echo Traceback`,
		"one-shot":  `printf '{"id":"%s","status":"unchanged"}\n' "$id"; exit 0`,
	} {
		t.Run(what, func(t *testing.T) {
			compacttest.TestCompactor(t, func(t *testing.T) replay.Compactor { return kept(t, answering(each), compact.ExecOptions{}) })
		})
	}
}

// TestProcessFindings asks twice: what the first request breaks, the second finds
// mended.
func TestProcessFindings(t *testing.T) {
	dir := t.TempDir()
	const fine = `printf '{"id":"%s","status":"refused","reason":"fine %s"}\n' "$id" "$n"`
	for _, c := range []struct {
		what, first string // what is done at the first request of all
		want        string // in the first reason
		second      string // the second reason
		timeout     time.Duration
	}{
		{what: "good", first: fine, want: "fine 1", second: "fine 2"},
		{what: "blank lines", first: "echo; " + fine + "; echo", want: "fine 1", second: "fine 2"},
		{what: "a crash", first: "echo 'no key' >&2; exit 3", want: "the compactor ended with exit status 3; stderr: no key", second: "fine 1"},
		{what: "a signal", first: "kill -9 $$", want: "ended with signal: killed", second: "fine 1"},
		{what: "an end without a word", first: "exit 0", want: "ended without an answer", second: "fine 1"},
		{what: "half an answer and a crash", first: `printf '{"id":"1","sta'; exit 4`, want: "ended with exit status 4", second: "fine 1"},
		{what: "half an answer", first: `printf '{"id":"1","sta'; exit 0`, want: "the compactor printed JSON that ends early", second: "fine 1"},
		{what: "an unended line", first: `printf '{"id":"1","status":"refused","reason":"short"}'; exit 0`, want: "short", second: "fine 1"},
		{what: "a closed stdout", first: `exec >&-; read -r line`, want: "the compactor closed its stdout and did not end", second: "fine 1"},
		{what: "a log line", first: "echo Loading; echo loading >&2; " + fine, want: "the compactor printed no JSON (logs belong on stderr)", second: "fine 1"},
		{what: "no id", first: `echo '{"status":"unchanged"}'`, want: `an answer without "id", want the request's, "1"`, second: "fine 1"},
		{what: "a number for an id", first: `echo '{"id":1,"status":"unchanged"}'`, want: `an "id" that is no text`, second: "fine 1"},
		{what: "another id", first: `echo '{"id":"7","status":"unchanged"}'`, want: `an answer to "7", want one to "1"`, second: "fine 1"},
		{what: "a bad status", first: `echo '{"id":"1","status":"done"}'`, want: `the compactor printed the status "done"`, second: "fine 2"},
		{what: "an orphaned result", first: `echo '{"id":"1","status":"compacted","messages":[{"role":"tool","content":"x","tool_call_id":"k1"}]}'`, want: "do not belong together", second: "fine 2"},
		{what: "a hang", first: "sleep 1000", want: "did not finish within 3s", second: "fine 1", timeout: 3 * time.Second},
	} {
		t.Run(c.what, func(t *testing.T) {
			done := filepath.Join(dir, strings.ReplaceAll(c.what, " ", "-")+".done")
			each := "if test ! -e '" + done + "'; then : >'" + done + "'; " + c.first + "; else " + fine + "; fi"
			p := kept(t, answering(each), compact.ExecOptions{Timeout: c.timeout})
			req := request(0, "u one", "c k1 t", "r k1 x", "a four")
			for i, want := range []string{c.want, c.second} {
				out, err := p.Compact(t.Context(), req)
				if err != nil {
					t.Fatal(err)
				}
				if !strings.Contains(out.Reason, want) {
					t.Errorf("reason %d is %q, want %q in it", i+1, out.Reason, want)
				}
				if err := compacttest.Check(req, out); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

func TestProcessTooMuchOutput(t *testing.T) {
	p := kept(t, "tr '\\0' x </dev/zero", compact.ExecOptions{})
	out, err := p.Compact(t.Context(), request(0, "u one"))
	if err != nil || out.Status != replay.Failed || !strings.Contains(out.Reason, "printed more than 64 MiB") {
		t.Fatalf("%+v, %v", out, err)
	}
}

// TestProcessReadsOneLine is a request whose values hold line breaks: it is one line
// nevertheless, with the id first.
func TestProcessReadsOneLine(t *testing.T) {
	seen := filepath.Join(t.TempDir(), "seen")
	req := request(0, "u one\ntwo\u2028three")
	req.PriorState = []byte("{\n\"n\":\n1}")
	p := kept(t, answering(`printf '%s\n' "$line" >'`+seen+`'; printf '{"id":"%s","status":"unchanged"}\n' "$id"`), compact.ExecOptions{})
	if out, err := p.Compact(t.Context(), req); err != nil || out.Status != replay.Unchanged {
		t.Fatalf("%+v, %v", out, err)
	}
	data, err := os.ReadFile(seen)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(string(data), `{"id":"1","version":1,"fixture":"f",`) || !strings.HasSuffix(string(data), `"prior_state":{"n":1}}`+"\n") {
		t.Errorf("the process read %s", data)
	}
}

// TestProcessEnds looks for the child of a process that is closed and of one whose
// request is cancelled.
func TestProcessEnds(t *testing.T) {
	for _, what := range []string{"closed", "cancelled"} {
		t.Run(what, func(t *testing.T) {
			dir := t.TempDir()
			pid, started := filepath.Join(dir, "pid"), filepath.Join(dir, "started")
			if err := syscall.Mkfifo(started, 0o600); err != nil {
				t.Fatal(err)
			}
			each := "sleep 1000 & echo $! >'" + pid + "'; "
			if what == "closed" {
				each += `printf '{"id":"%s","status":"unchanged"}\n' "$id"`
			} else {
				each += "echo go >'" + started + "'; wait"
			}
			p := kept(t, answering(each), compact.ExecOptions{})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if what == "cancelled" {
				go func() {
					// Opening the pipe waits for the script.
					if file, err := os.Open(started); err == nil {
						file.Close()
					}
					cancel()
				}()
			}
			_, err := p.Compact(ctx, request(0, "u one"))
			if what == "cancelled" && !errors.Is(err, context.Canceled) || what == "closed" && err != nil {
				t.Fatal(err)
			}
			if what == "closed" {
				if err := p.Close(); err != nil {
					t.Fatal(err)
				}
				if _, err := p.Compact(ctx, request(0, "u one")); err == nil || !strings.Contains(err.Error(), "closed") {
					t.Errorf("after Close the error is %v", err)
				}
			}
			data, err := os.ReadFile(pid)
			if err != nil {
				t.Fatal(err)
			}
			assertGone(t, strings.TrimSpace(string(data)))
		})
	}
}

func TestProcessDigest(t *testing.T) {
	one, err := compact.NewExec(compact.ExecOptions{Command: []string{"sh", "-c", "true"}})
	if err != nil {
		t.Fatal(err)
	}
	other, err := compact.NewProcess(compact.ExecOptions{Command: []string{"sh", "-c", "true"}})
	if err != nil {
		t.Fatal(err)
	}
	if one.Digest() == other.Digest() {
		t.Error("a command that stays has the digest of one that doesn't")
	}
	if _, err := compact.NewProcess(compact.ExecOptions{Command: []string{"no-such-program-anywhere"}}); err == nil {
		t.Error("a program that is not there")
	}
}
