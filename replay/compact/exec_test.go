//go:build unix

package compact_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
	"github.com/doubletake-dev/doubletake/replay/compact"
	"github.com/doubletake-dev/doubletake/replay/compact/compacttest"
)

// script makes a compactor of a shell script.
func script(t *testing.T, text string, options compact.ExecOptions) *compact.Exec {
	t.Helper()
	path := filepath.Join(t.TempDir(), "compactor.sh")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	options.Command = []string{"sh", path}
	c, err := compact.NewExec(options)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// printing is a script that prints text, whatever it reads.
func printing(text string) string {
	return "cat >/dev/null\ncat <<'END-OF-OUTPUT'\n" + text + "\nEND-OF-OUTPUT\n"
}

func TestExecConformance(t *testing.T) {
	for what, text := range map[string]string{
		"summary":   `{"status":"compacted","messages":[{"role":"user","content":"All there was.","kind":"summary"}],"state":{"n":1}}`,
		"unchanged": `{"status":"unchanged"}`,
		"garbage":   `Traceback (most recent call last):`,
	} {
		t.Run(what, func(t *testing.T) {
			compacttest.TestCompactor(t, func(t *testing.T) replay.Compactor { return script(t, printing(text), compact.ExecOptions{}) })
		})
	}
}

func TestExecFindings(t *testing.T) {
	req := request(0, "u one", "c k1 t", "r k1 x", "a four")
	for _, c := range []struct {
		what, script string
		status       replay.CompactionStatus
		want         []string // in the reason
	}{
		{"garbage", printing("Loading model...\n{}"), replay.Failed, []string{"the compactor printed no JSON", "stderr", `"Loading model...`}},
		{"a bad exit", "echo 'no key: \033[31mset one' >&2; exit 3", replay.Failed, []string{"ended with exit status 3", "stderr: no key: [31mset one"}},
		{"a good answer and a bad exit", printing(`{"status":"unchanged"}`) + "exit 1", replay.Failed, []string{"ended with exit status 1"}},
		{"killed", "kill -9 $$", replay.Failed, []string{"ended with signal: killed"}},
		{"nothing", "cat >/dev/null", replay.Failed, []string{"printed nothing on stdout"}},
		{"nothing, without reading", "exit 0", replay.Failed, []string{"printed nothing on stdout"}},
		{"partial JSON", `printf '%s' '{"status":"compacted","messages":[{"role":"us'`, replay.Failed, []string{"JSON that ends early, after 45 bytes", `\"role\":\"us`}},
		{"two values", printing(`{"status":"unchanged"}{"a":1}`), replay.Failed, []string{"more than one JSON value", `after byte 22`}},
		{"a list", printing(`[]`), replay.Failed, []string{"another shape", "the value is a array"}},
		{"null", printing(`null`), replay.Failed, []string{"no object"}},
		{"messages of another shape", printing(`{"status":"compacted","messages":"all"}`), replay.Failed, []string{"another shape: messages is a string"}},
		{"no status", printing(`{"messages":[]}`), replay.Failed, []string{`without "status"`}},
		{"unknown status", printing(`{"status":"done"}`), replay.Failed, []string{`the status "done"`}},
		{"no messages", printing(`{"status":"compacted"}`), replay.Failed, []string{`no "messages"`}},
		{"empty messages", printing(`{"status":"compacted","messages":[]}`), replay.Failed, []string{"nothing would be left"}},
		{"unknown role", printing(`{"status":"compacted","messages":[{"role":"human","content":"x"}]}`), replay.Failed, []string{`messages[0] with the unknown role "human"`}},
		{"system role", printing(`{"status":"compacted","messages":[{"role":"system","content":"x"}]}`), replay.Failed, []string{`messages[0] with role "system"`, "user message"}},
		{"bad content", printing(`{"status":"compacted","messages":[{"role":"user","content":7}]}`), replay.Failed, []string{"messages[0]: content"}},
		{"bad kind", printing(`{"status":"compacted","messages":[{"role":"user","content":"x","kind":"new"}]}`), replay.Failed, []string{`kind "new"`}},
		{"a call without a name", printing(`{"status":"compacted","messages":[{"role":"assistant","tool_calls":[{"id":"a"}]}]}`), replay.Failed, []string{"tool_calls[0]: no name"}},
		{"an orphaned result", printing(`{"status":"compacted","messages":[{"role":"tool","content":"x","tool_call_id":"k1"}]}`), replay.Failed, []string{"do not belong together", `"k1"`}},
		{"a call without its result", printing(`{"status":"compacted","messages":[{"id":"m2","role":"assistant","tool_calls":[{"id":"k1","name":"t","arguments":{"path":"a.go"}}]}]}`), replay.Failed, []string{"no result"}},
		{"refused", printing(`{"status":"refused","reason":"too long for me"}`), replay.Refused, []string{"too long for me"}},
		{"an error with a text", printing(`{"status":"error","error":"quota"}`), replay.Failed, []string{"quota"}},
		{"an error with an object", printing(`{"status":"error","error":{"message":"quota"}}`), replay.Failed, []string{"quota"}},
		{"an error without words", printing(`{"status":"error"}`), replay.Failed, []string{"gives no reason"}},
		{"its input as its output", `sed 's/^{/{"status":"compacted",/'`, replay.Unchanged, []string{"its output is its input"}},
		{"more than it got", printing(`{"status":"compacted","messages":[{"role":"user","content":"` + strings.Repeat("and more ", 100) + `"}]}`), replay.Compacted, []string{"larger than the input"}},
		{"too much on stderr", "cat >/dev/null; yes | head -c 300000 >&2; echo last words >&2; exit 1", replay.Failed, []string{"exit status 1", "last words"}},
	} {
		t.Run(c.what, func(t *testing.T) {
			out, err := script(t, c.script, compact.ExecOptions{}).Compact(t.Context(), req)
			if err != nil {
				t.Fatal(err)
			}
			if out.Status != c.status {
				t.Errorf("status %s (%s), want %s", out.Status, out.Reason, c.status)
			}
			for _, want := range c.want {
				if !strings.Contains(out.Reason, want) {
					t.Errorf("the reason is %q, want %q in it", out.Reason, want)
				}
			}
			if len(out.Reason) > 3000 || strings.ContainsRune(out.Reason, '\033') {
				t.Errorf("a reason of %d bytes: %q", len(out.Reason), out.Reason)
			}
			if err := compacttest.Check(req, out); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestExecInput(t *testing.T) {
	seen := filepath.Join(t.TempDir(), "seen.json")
	req := request(100, "u one", "c k1 t", "r k1 x", "a four")
	req.System, req.Compaction, req.PriorState = "Be careful.", 2, json.RawMessage(`{"n":1}`)
	req.Messages[0].Parts = json.RawMessage(`[{"type":"text","text":"one"}]`)
	req.Messages[0].Kind = replay.KindKept
	c := script(t, "cat >'"+seen+"'; echo '{\"status\":\"unchanged\"}'", compact.ExecOptions{Instructions: "be brief"})
	if out, err := c.Compact(t.Context(), req); err != nil || out.Status != replay.Unchanged {
		t.Fatalf("%+v, %v", out, err)
	}
	data, err := os.ReadFile(seen)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"version":1,"fixture":"f","compaction":2,"after_turn":3,"system":"Be careful.","messages":[` +
		`{"id":"m1","turn":1,"role":"user","content":"one","raw":{"type":"message","turn":1,"role":"user","content":[{"type":"text","text":"one"}]}},` +
		`{"id":"m2","turn":2,"role":"assistant","content":"","tool_calls":[{"id":"k1","name":"t","arguments":{"path":"a.go"}}]},` +
		`{"id":"m3","turn":2,"role":"tool","content":"x","tool_call_id":"k1"},` +
		`{"id":"m4","turn":3,"role":"assistant","content":"four"}],` +
		`"tools":[],"budget_tokens":100,"model":"agent-model","instructions":"be brief","prior_state":{"n":1}}` + "\n"
	if string(data) != want {
		t.Errorf("the command read\n%s\nwant\n%s", data, want)
	}
}

func TestExecOutput(t *testing.T) {
	req := request(0, "u one", "c k1 t", "r k1 x", "u one", "a five")
	req.System = "Be careful."
	out, err := script(t, printing(`{"status":"compacted","messages":[
		{"role":"system","content":"Be careful."},
		{"role":"user","content":[{"type":"text","text":"A summary"},{"type":"text","text":"in two parts"}],"kind":"summary","source_ids":["m1"]},
		{"role":"assistant","content":null,"tool_calls":[{"id":"k1","type":"function","function":{"name":"t","arguments":"{\"path\": \"a.go\"}"}}]},
		{"role":"tool","content":"x","tool_call_id":"k1"},
		{"role":"user","content":"one"},
		{"id":"m5","role":"assistant","content":"another five","kind":"kept"}],
		"dropped_ids":["m4"],"usage":{"input_tokens":10,"output_tokens":2},"opaque":true,
		"compactor":{"name":"mine","version":"2","prompt_sha256":"ab"},"state":{"n":2}}`), compact.ExecOptions{}).Compact(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	if got := ids(out.Messages); got != "s0-0 m2 m3 m4 s0-4" {
		t.Errorf("messages %s (%s)", got, out.Reason)
	}
	if m := out.Messages[0]; m.Content != "A summary\nin two parts" || m.Parts == nil || m.Kind != replay.KindSummary || len(m.SourceIDs) != 1 {
		t.Errorf("the summary is %+v", m)
	}
	if got := strings.Join(out.DroppedIDs, " "); got != "m1 m5" {
		t.Errorf("dropped %s", got)
	}
	if !out.Opaque || out.Identity != (replay.CompactorIdentity{Name: "mine", Version: "2", PromptSHA256: "ab"}) || string(out.State) != `{"n":2}` {
		t.Errorf("%+v", out)
	}
	if len(out.Exchanges) != 1 || out.Exchanges[0].Usage.PromptTokens != 10 || out.Exchanges[0].Usage.CompletionTokens != 2 {
		t.Errorf("exchanges %+v", out.Exchanges)
	}
}

func TestExecForgivesWhatWasBrokenBefore(t *testing.T) {
	req := request(0, "u one", "c open t", "u three", "a four")
	out, err := script(t, printing(`{"status":"compacted","messages":[{"id":"m2","role":"assistant","tool_calls":[{"id":"open","name":"t","arguments":{"path":"a.go"}}]},{"id":"m4","role":"assistant","content":"four"}]}`), compact.ExecOptions{}).Compact(t.Context(), req)
	if err != nil || ids(out.Messages) != "m2 m4" {
		t.Errorf("%+v, %v", out, err)
	}
}

// TestExecHang is a command that never ends and has a child that holds its pipes:
// both have to go, and the compaction must come back.
func TestExecHang(t *testing.T) {
	pid := filepath.Join(t.TempDir(), "pid")
	c := script(t, "sleep 1000 & echo $! >'"+pid+".new'; mv '"+pid+".new' '"+pid+"'; wait", compact.ExecOptions{Timeout: 300 * time.Millisecond})
	out, err := c.Compact(t.Context(), request(0, "u one"))
	if err != nil || out.Status != replay.Failed || !strings.Contains(out.Reason, "did not finish within 300ms") {
		t.Fatalf("%+v, %v", out, err)
	}
	if data, err := os.ReadFile(pid); err == nil { // it may have been killed before
		assertGone(t, strings.TrimSpace(string(data)))
	}
}

// assertGone fails if the process of that id still runs. A dead one that nobody
// waits for is gone, too.
func assertGone(t *testing.T, pid string) {
	t.Helper()
	for {
		stat, err := os.ReadFile("/proc/" + pid + "/stat")
		if err != nil {
			return
		}
		after := string(stat)[strings.LastIndexByte(string(stat), ')')+1:]
		if fields := strings.Fields(after); len(fields) > 0 && (fields[0] == "Z" || fields[0] == "X") {
			return
		}
		if t.Context().Err() != nil {
			t.Fatalf("process %s still runs: %s", pid, stat)
		}
	}
}

func TestExecGrandchildHoldsThePipe(t *testing.T) {
	pid := filepath.Join(t.TempDir(), "pid")
	c := script(t, "cat >/dev/null; echo '{\"status\":\"unchanged\",\"reason\":\"fine\"}'; sleep 1000 & echo $! >'"+pid+"'", compact.ExecOptions{})
	out, err := c.Compact(t.Context(), request(0, "u one"))
	if err != nil || out.Status != replay.Unchanged || out.Reason != "fine" {
		t.Fatalf("%+v, %v", out, err)
	}
	data, err := os.ReadFile(pid)
	if err != nil {
		t.Fatal(err)
	}
	assertGone(t, strings.TrimSpace(string(data)))
}

func TestExecCancel(t *testing.T) {
	dir := t.TempDir()
	started := filepath.Join(dir, "started")
	if err := syscall.Mkfifo(started, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		// Opening the pipe waits for the script.
		if file, err := os.Open(started); err == nil {
			file.Close()
		}
		cancel()
	}()
	c := script(t, "echo go >'"+started+"'; sleep 1000", compact.ExecOptions{})
	if out, err := c.Compact(ctx, request(0, "u one")); !errors.Is(err, context.Canceled) {
		t.Errorf("%+v, %v", out, err)
	}
}

func TestExecTooMuchOutput(t *testing.T) {
	out, err := script(t, "yes", compact.ExecOptions{}).Compact(t.Context(), request(0, "u one"))
	if err != nil || out.Status != replay.Failed || !strings.Contains(out.Reason, "printed more than 64 MiB") {
		t.Fatalf("%+v, %v", out, err)
	}
}

// TestExecLeavesNothingBehind is a command that ends well and leaves a child that holds
// none of its pipes: nobody would wait for it, and it has to go.
func TestExecLeavesNothingBehind(t *testing.T) {
	pid := filepath.Join(t.TempDir(), "pid")
	c := script(t, "cat >/dev/null; sleep 1000 </dev/null >/dev/null 2>&1 & echo $! >'"+pid+"'; echo '{\"status\":\"unchanged\",\"reason\":\"fine\"}'", compact.ExecOptions{})
	out, err := c.Compact(t.Context(), request(0, "u one"))
	if err != nil || out.Reason != "fine" {
		t.Fatalf("%+v, %v", out, err)
	}
	data, err := os.ReadFile(pid)
	if err != nil {
		t.Fatal(err)
	}
	assertGone(t, strings.TrimSpace(string(data)))
}

// TestExecPrintsAGigabyte holds no more of what a command prints than an answer or a
// reason may have.
func TestExecPrintsAGigabyte(t *testing.T) {
	const most = 400 << 20 // bytes allocated in all; a buffer of 64 MiB doubles on its way
	for what, c := range map[string]struct{ script, want string }{
		"stdout": {"head -c 1073741824 /dev/zero", "printed more than 64 MiB"},
		"stderr": {"cat >/dev/null; head -c 1073741824 /dev/zero >&2; echo last words >&2; exit 1", "last words"},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		out, err := script(t, c.script, compact.ExecOptions{}).Compact(t.Context(), request(0, "u one"))
		runtime.ReadMemStats(&after)
		if err != nil || out.Status != replay.Failed || !strings.Contains(out.Reason, c.want) || len(out.Reason) > 16<<10 {
			t.Errorf("%s: %+v, %v", what, out, err)
		}
		if used := after.TotalAlloc - before.TotalAlloc; used > most {
			t.Errorf("%s: it took %d MiB", what, used>>20)
		}
	}
}

// TestExecLeaksNoFiles: neither does a command get files that are open here, nor does a
// run leave one open, however it ends.
func TestExecLeaksNoFiles(t *testing.T) {
	const list = "/proc/self/fd"
	if _, err := os.ReadDir(list); err != nil {
		t.Skip("this system does not list open files in " + list)
	}
	file, err := os.Create(filepath.Join(t.TempDir(), "held-open"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	out, err := script(t, "cat >/dev/null; for f in /proc/$$/fd/*; do readlink $f; done >&2; exit 1", compact.ExecOptions{}).Compact(t.Context(), request(0, "u one"))
	if err != nil || !strings.Contains(out.Reason, "compactor.sh") || strings.Contains(out.Reason, "held-open") {
		t.Errorf("the command holds files of ours: %+v, %v", out, err)
	}
	count := func() int {
		entries, err := os.ReadDir(list)
		if err != nil {
			t.Fatal(err)
		}
		return len(entries)
	}
	before := count()
	for range 5 {
		for _, text := range []string{printing(`{"status":"unchanged"}`), "exit 3", "yes | head -c 1000000 >&2", "sleep 1000"} {
			if _, err := script(t, text, compact.ExecOptions{Timeout: 100 * time.Millisecond}).Compact(t.Context(), request(0, "u one")); err != nil {
				t.Fatal(err)
			}
		}
	}
	if after := count(); after > before {
		t.Errorf("%d open files before, %d after", before, after)
	}
}

// TestExecPython drives a compactor written in Python.
func TestExecPython(t *testing.T) {
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("there is no python3 here")
	}
	path := filepath.Join(t.TempDir(), "compact.py")
	const text = `import json, sys
request = json.load(sys.stdin)
kept = [m for m in request["messages"] if m["role"] == "user"]
rest = [m["id"] for m in request["messages"] if m["role"] != "user"]
json.dump({
    "status": "compacted",
    "messages": [{"role": "user", "kind": "summary", "content": "%d turns were left out" % len(rest), "source_ids": rest}] + kept,
    "compactor": {"name": "users-only", "version": "1"},
    "state": {"seen": (request["prior_state"] or {"seen": 0})["seen"] + 1},
}, sys.stdout)
`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	newPython := func(t *testing.T) replay.Compactor {
		c, err := compact.NewExec(compact.ExecOptions{Command: []string{"python3", path}})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	req := request(0, "u never push", "a fine", "u go on", "a ünïcode 好")
	req.PriorState = json.RawMessage(`{"seen":1}`)
	out, err := newPython(t).Compact(t.Context(), req)
	if err != nil || ids(out.Messages) != "s0-0 m1 m3" || string(out.State) != `{"seen": 2}` || out.Identity.Name != "users-only" {
		t.Errorf("%+v, %v", out, err)
	}
}

func TestExecEnvironment(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "sk-hidden-hidden")
	t.Setenv("MY_TOKEN", "tok-passed-passed")
	t.Setenv("PLAIN_SETTING", "plain")
	c := script(t, `cat >/dev/null; echo "key=$OPENAI_API_KEY token=$MY_TOKEN plain=$PLAIN_SETTING set=$MADE" >&2; exit 1`, compact.ExecOptions{Env: []string{"MY_TOKEN", "MADE=up"}})
	out, err := c.Compact(t.Context(), request(0, "u one"))
	if err != nil {
		t.Fatal(err)
	}
	if want := "stderr: key= token=[secret] plain=plain set=up"; !strings.Contains(out.Reason, want) {
		t.Errorf("%q, want %q", out.Reason, want)
	}
}

func TestExecDir(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "answer.json"), []byte(`{"status":"refused","reason":"from the file"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := compact.NewExec(compact.ExecOptions{Command: []string{"cat", "answer.json"}, Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if out, err := c.Compact(t.Context(), request(0, "u one")); err != nil || out.Reason != "from the file" || out.Identity.Name != "cat" {
		t.Errorf("%+v, %v", out, err)
	}
}

func TestNewExec(t *testing.T) {
	for _, c := range []struct {
		options compact.ExecOptions
		want    string
	}{
		{compact.ExecOptions{}, "needs a command"},
		{compact.ExecOptions{Command: []string{"no-such-program-anywhere"}}, "no-such-program-anywhere"},
		{compact.ExecOptions{Command: []string{"./none.sh"}}, "none.sh"},
		{compact.ExecOptions{Command: []string{"sh"}, Timeout: -1}, "timeout"},
		{compact.ExecOptions{Command: []string{"sh"}, Dir: "/no/such/dir"}, "working directory"},
	} {
		if _, err := compact.NewExec(c.options); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: error %v, want one with %q", c.options, err, c.want)
		}
	}
}

func TestExecDigest(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	digest := func(env []string, command ...string) fixtures.Hash {
		t.Helper()
		c, err := compact.NewExec(compact.ExecOptions{Command: command, Dir: dir, Env: env})
		if err != nil {
			t.Fatal(err)
		}
		return c.Digest()
	}
	write("a.sh", "echo 1")
	write("prompt.txt", "be brief")
	command := []string{"sh", "a.sh", "--prompt=prompt.txt"}
	first := digest(nil, command...)
	if again := digest(nil, command...); again != first {
		t.Error("the same command has two digests")
	}
	if digest(nil, "sh", "a.sh") == first {
		t.Error("another argument, the same digest")
	}
	if digest([]string{"A=1"}, command...) == first || digest([]string{"A=1"}, command...) == digest([]string{"A=2"}, command...) {
		t.Error("another environment, the same digest")
	}
	if digest([]string{"A_TOKEN=1"}, command...) != digest([]string{"A_TOKEN=2"}, command...) {
		t.Error("a secret is part of the digest")
	}
	write("a.sh", "echo 2")
	second := digest(nil, command...)
	write("prompt.txt", "be long")
	if third := digest(nil, command...); second == first || third == second {
		t.Error("another script or prompt, the same digest")
	}
	program := filepath.Join(dir, "a.sh")
	before := digest(nil, program)
	write("a.sh", "echo 3")
	if digest(nil, program) == before {
		t.Error("another program, the same digest")
	}
}
