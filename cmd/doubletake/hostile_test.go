package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/doubletake-dev/doubletake/analysis"
	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/pairing"
)

// hostileTries is how often the client of the test asks the same, and hostileResets how
// often a request of a conversation that is treated well fails at most. That leaves tries
// for a machine that is so busy that an answer comes too late.
const (
	hostileTries  = 3
	hostileResets = 1
	// cutOff is what is said of a try whose connection ended before the provider could be
	// hostile, which a busy machine brings about at times.
	cutOff = "reaching the provider"
)

// hostile is a provider that treats the conversations of some fixtures badly, every time,
// and the others once in a while, though no request of theirs more than hostileResets times.
type hostile struct {
	sound *countingProvider
	// by holds how a conversation is treated, by the texts of its user.
	by map[string]hostility

	mu     sync.Mutex
	asked  int
	others int            // requests of the other conversations
	resets map[string]int // of those, by body
}

// hostility is one way to be hostile, and what a report is to say of it.
type hostility struct {
	answer http.HandlerFunc
	reason string
}

// hostilities are the ways, by the fixture that suffers from each.
func hostilities() map[string]hostility {
	status := func(code int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "0.02")
			w.WriteHeader(code)
			_, _ = io.WriteString(w, body)
		}
	}
	const half = `data: {"choices":[{"index":0,"delta":{"content":"I will"}}]}` + "\n\n"
	return map[string]hostility{
		"forbidden-directory":                 {status(429, `{"error":"slow down"}`), "429 Too Many Requests: slow down"},
		"wrong-database":                      {status(500, `{"error":{"message":"overloaded"}}`), "500 Internal Server Error: overloaded"},
		"quiet-afternoon":                     {status(200, "<html><title>Sign in</title></html>"), "Sign in"},
		"superseded-path":                     {status(200, `{"choices":[{"message":"hello"}]}`), "no chat completion"},
		"hedge-hardened":                      {resetAfter(half), "broke off"},
		"draft-taken-for-approval":            {func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, half) }, "finish_reason"},
		"finished-task-done-again":            {loris, "no answer within"},
		"second-start-of-a-background-job":    {silent(half), "no byte came for"},
		"unanswered-option-taken-as-consent":  {huge, "the answer"},
		"injected-instruction-in-tool-output": {status(400, `{"error":{"message":"maximum context length is 10 tokens","code":"context_length_exceeded"}}`), "longer than the model's window"},
		"too-long-support-case":               {status(200, `{"choices":[{"index":0,"message":{"role":"assistant","content":"I"},"finish_reason":"content_filter"}]}`), "content filter"},
	}
}

// resetAfter begins to stream and resets the connection.
func resetAfter(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			return
		}
		fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n", len(text), text)
		if tcp, ok := conn.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0)
		}
		_ = conn.Close()
	}
}

// loris sends a byte now and then for ever.
func loris(w http.ResponseWriter, r *http.Request) {
	for {
		if _, err := io.WriteString(w, " "); err != nil {
			return
		}
		w.(http.Flusher).Flush()
		select {
		case <-r.Context().Done():
			return
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// silent begins to answer and says nothing more.
func silent(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, text)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}
}

// huge answers without end.
func huge(w http.ResponseWriter, _ *http.Request) {
	piece := bytes.Repeat([]byte(" "), 1<<20)
	for {
		if _, err := w.Write(piece); err != nil {
			return
		}
	}
}

func (h *hostile) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	h.mu.Lock()
	h.asked++
	h.mu.Unlock()
	for text, treatment := range h.by {
		if bytes.Contains(body, []byte(text)) {
			treatment.answer(w, r)
			return
		}
	}
	h.mu.Lock()
	h.others++
	n := h.others
	reset := n%7 == 0 && h.resets[string(body)] < hostileResets
	if reset {
		h.resets[string(body)]++
	}
	h.mu.Unlock()
	if reset {
		resetAfter("")(w, r)
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	answer := httptest.NewRecorder()
	h.sound.ServeHTTP(answer, r)
	text := answer.Body.String()
	if at := strings.Index(text, `"system_fingerprint":"`); at >= 0 && n%2 == 0 {
		text = strings.ReplaceAll(text, `"system_fingerprint":"`, `"system_fingerprint":"other-`)
	}
	for name, values := range answer.Header() {
		if name != "Content-Length" {
			w.Header()[name] = values
		}
	}
	w.WriteHeader(answer.Code)
	_, _ = io.WriteString(w, text)
}

// TestNightAgainstAHostileProvider plays a night whose provider fails in every way that
// providers do. The night ends and says so, names what is unscored and why, invents no
// outcome, and asks no more often than it may.
func TestNightAgainstAHostileProvider(t *testing.T) {
	if testing.Short() {
		t.Skip("its time limits are real, and pass while a slow machine is at work")
	}
	set, err := loadSet("")
	if err != nil {
		t.Fatal(err)
	}
	treatments := hostilities()
	provider := &hostile{sound: newCountingProvider(t), by: map[string]hostility{}, resets: map[string]int{}}
	playing := []string{"too-long-migration", "better-without-changing-the-concept", "branch-reset-to-main"}
	sound := len(playing)
	for id := range treatments {
		playing = append(playing, id)
	}
	args := []string{"nightly", "--model", "m", "-c", "night.yaml", "-j", "8"}
	for i, id := range playing {
		args = append(args, "--fixture", id)
		f, err := set.Select([]string{id})
		if err != nil {
			t.Fatal(err)
		}
		if i >= sound {
			for _, text := range said(t, set, f[0]) {
				provider.by[text] = treatments[id]
			}
		}
	}
	const perMinute = 6000
	config := fmt.Sprintf("agent: {stream: true}\ncompactors: {a: {use: ledger}, b: {use: truncate}}\nnightly: {incumbent: b, candidate: a, control: false}\n"+
		"limits: {tries: %d, timeout: 1s, idle_timeout: 400ms, requests_per_minute: %d, requests_in_flight: 6}\njudge: {controls: 1}\n", hostileTries, perMinute)
	night := func(handler http.Handler) (report analysis.Report, pairs map[string]pairing.Pair, code int, out string) {
		server := httptest.NewServer(handler)
		defer server.Close()
		dir := filepath.Join(t.TempDir(), "night")
		cmd := doubletake(t, append(args, "--base-url", server.URL+"/v1", "--out", dir, "--cache", "off")...)
		if err := os.WriteFile(filepath.Join(cmd.Dir, "night.yaml"), []byte(config), 0o600); err != nil {
			t.Fatal(err)
		}
		var text bytes.Buffer
		cmd.Stdout, cmd.Stderr = &text, &text
		_ = cmd.Run()
		data, err := os.ReadFile(filepath.Join(dir, "report.json"))
		if err != nil {
			t.Fatalf("no report: %v\n%s", err, text.String())
		}
		if err := json.Unmarshal(data, &report); err != nil {
			t.Fatal(err)
		}
		return report, readPairs(t, dir), cmd.ProcessState.ExitCode(), text.String()
	}
	_, want, _, _ := night(newCountingProvider(t))
	began := time.Now()
	report, got, code, out := night(provider)
	took := time.Since(began)
	if code != exitIncomplete || report.Verdict != analysis.Incomplete {
		t.Errorf("exit code %d, verdict %s\n%s", code, report.Verdict, out)
	}
	reasons := map[string]string{}
	for _, n := range report.NotPaired {
		reasons[n.ID] = n.Reason
	}
	for id, pair := range got {
		treatment, bad := treatments[pair.ConversationID]
		switch {
		case !bad && pair.Cell != want[id].Cell:
			t.Errorf("%s is %s (%s), and %s with a sound provider", pair.ConversationID, pair.Cell, pair.Reason, want[id].Cell)
		case bad && pair.Cell.Scored():
			t.Errorf("%s has an outcome, %s, although nothing was answered", pair.ConversationID, pair.Cell)
		case bad && want[id].Cell.Scored() && !strings.Contains(reasons[id], treatment.reason) && !strings.Contains(reasons[id], cutOff):
			t.Errorf("%s: reason %q, want one with %q", pair.ConversationID, reasons[id], treatment.reason)
		}
	}
	if len(got) != len(want) || len(got) != len(playing) {
		t.Errorf("%d pairs, %d with a sound provider, of %d fixtures", len(got), len(want), len(playing))
	}
	provider.mu.Lock()
	defer provider.mu.Unlock()
	if allowed := perMinute/60 + int(took.Minutes()*perMinute) + 1; provider.asked > allowed {
		t.Errorf("%d requests in %v, want at most %d", provider.asked, took, allowed)
	}
	if len(report.Fingerprints) < 2 || !strings.Contains(out, "fingerprint changed within the run (agent)") {
		t.Errorf("the changed fingerprints %v are not reported", report.Fingerprints)
	}
}

// said are the longer texts of a conversation's user, as requests spell them.
func said(t *testing.T, set *fixtures.Set, f *fixtures.Fixture) []string {
	t.Helper()
	rec, err := set.Recording(f)
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, m := range rec.Messages {
		if m.Role != fixtures.RoleUser || len(m.Content) < 30 {
			continue
		}
		text, err := fixtures.MarshalPlain(m.Content)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, strings.Trim(string(text), `"`))
	}
	return texts
}

// readPairs reads the pairs of a run by their names.
func readPairs(t *testing.T, dir string) map[string]pairing.Pair {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "pairs.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	pairs := map[string]pairing.Pair{}
	for line := range strings.Lines(string(data)) {
		var p pairing.Pair
		if err := json.Unmarshal([]byte(line), &p); err != nil {
			t.Fatal(err)
		}
		pairs[p.ID] = p
	}
	return pairs
}
