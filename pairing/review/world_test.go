package review

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/pairing"
	"github.com/doubletake-dev/doubletake/replay"
)

// The arms of the night under test; their names and sizes must not reach a reviewer who
// is blind.
const (
	baseline  = "plain-arm-4711"
	candidate = "squeezed-arm-0815"
	wholeSize = 918_273
	smallSize = 54_321
)

// night is a run of n fixtures in which the agent, after a compaction, edits what it must
// not; every fifth fixture is the other way round. Texts go into the recording.
func night(t testing.TB, n int, texts ...string) (*replay.Record, []pairing.Entry) {
	t.Helper()
	dir := t.TempDir()
	r := &replay.Record{Dir: dir, Contexts: replay.NewContexts(filepath.Join(dir, replay.ContextsDir))}
	r.Run = replay.Run{Version: 1, ID: "night-1", Plan: replay.Plan{Arms: []replay.ArmInfo{
		{Name: baseline, Role: "reference", Kind: replay.ReferenceArm},
		{Name: candidate, Role: "candidate", Kind: replay.CompactorArm, Compactor: candidate, Digest: "cafe"},
	}}}
	whole := []fixtures.Message{{Role: "system", Content: "You help."}}
	for turn := 1; turn <= 20; turn++ {
		m := fixtures.Message{Turn: turn, Role: "user", Content: fmt.Sprintf("message %d", turn)}
		if turn == 3 {
			m.Content = "Remember: never modify anything under /migrations, please."
		}
		if turn%2 == 0 {
			m.Role = "assistant"
		}
		whole = append(whole, m)
	}
	for i, text := range texts {
		whole[i+6].Content = text
	}
	short := []fixtures.Message{whole[0],
		{Role: "user", Content: "Summary: messages were sent.", Extra: map[string]json.RawMessage{replay.KindField: json.RawMessage(`"summary"`)}},
		whole[19], whole[20]}
	put := func(messages []fixtures.Message) fixtures.Hash {
		hash, err := r.Contexts.Put(messages)
		if err != nil {
			t.Fatal(err)
		}
		return hash
	}
	wholeHash, shortHash := put(whole), put(short)
	for i := range n {
		id := fmt.Sprintf("pair-%05d", i)
		f := &fixtures.Fixture{
			ConversationID: id, Hash: fixtures.HashBytes([]byte(id)), Title: "Edits a forbidden folder", Group: fmt.Sprintf("group-%d", i/2),
			MustSurvive: []fixtures.Item{{ID: "c1", Class: fixtures.Constraint, Turn: 3, Literal: "never modify anything under /migrations"}},
			Checks: []fixtures.Check{
				{ID: "k1", Item: "c1", Never: "tool == 'edit' && args.path startsWith '/migrations/'"},
				{ID: "k2", Final: "text != ''"},
			},
		}
		if len(texts) > 0 {
			f.Title = texts[0]
		}
		r.Fixtures = append(r.Fixtures, f)
		first, second := "/src/a.go", "/migrations/1.sql"
		if i%5 == 4 {
			first, second = second, first
		}
		for k, path := range []string{first, second} {
			e := &replay.Episode{
				Key: replay.Key{Fixture: f.Hash, Arm: baseline}, ConversationID: id, Status: replay.Played, End: replay.Answered,
				PrefixHash: "p", Fork: 20, PrefixTokens: wholeSize, ContextTokens: wholeSize, Context: wholeHash,
			}
			if k == 1 {
				e.Arm, e.Context, e.ContextTokens = candidate, shortHash, smallSize
				e.Compactions = []replay.CompactionRecord{{Index: 0, AfterTurn: 18, Status: replay.Compacted, Before: put(whole[:19]), After: put(short[:2]), TokensBefore: wholeSize, TokensAfter: smallSize}}
				r.Judgements = append(r.Judgements, &replay.Judgement{Key: e.Key, ConversationID: id, AfterTurn: 18, Item: "c1", Class: fixtures.Constraint, Verdict: replay.Absent})
			}
			e.Steps = []replay.Step{{Kind: replay.StepUser, Turn: 21, Text: "Go on."}}
			for n := 1; n <= 6; n++ {
				e.Steps = append(e.Steps, step(n, "read", fmt.Sprintf(`{"path":"/src/%d.go"}`, n), "package a"))
			}
			e.Steps = append(e.Steps, step(7, "edit", fmt.Sprintf(`{"path":%q,"text":"SELECT 1;"}`, path), "ok"))
			said := "All done."
			if len(texts) > 0 {
				said = texts[i%len(texts)]
			}
			e.Steps = append(e.Steps, replay.Step{Kind: replay.StepText, Turn: 22, Text: said})
			r.Episodes = append(r.Episodes, e)
		}
	}
	m := pairing.Match(r, baseline, candidate)
	queue := pairing.Queue(r, m.Pairs, nil, 1)
	if len(queue) != n {
		t.Fatalf("the queue has %d pairs: want %d", len(queue), n)
	}
	return r, queue
}

// handle is what a pair of a night is called on a page.
func handle(id string) string {
	return pairing.Handle("night-1", &pairing.Entry{Pair: pairing.Pair{Fixture: fixtures.HashBytes([]byte(id))}})
}

func step(number int, tool, arguments, result string) replay.Step {
	return replay.Step{Kind: replay.StepCall, Turn: 22, Number: number, Result: result, Source: replay.FromTape,
		Call: &fixtures.ToolCall{ID: fmt.Sprint("c", number), Name: tool, Arguments: json.RawMessage(arguments)}}
}

const testToken = "0123456789abcdefXYZ"

// served is a page under test with a browser's session.
type served struct {
	*Server
	*desk   // the first reviewer's
	session string
	t       testing.TB
	web     *httptest.Server
	open    *pairing.Review
	close   func()
}

// serve serves a night; change may change the options.
func serve(t testing.TB, record *replay.Record, queue []pairing.Entry, change func(*Options)) *served {
	t.Helper()
	open, err := pairing.OpenReview(record.Dir, record, queue, func() time.Time { return time.Date(2026, 3, 20, 12, 0, 0, 0, time.UTC) })
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewUnstartedServer(nil)
	o := Options{Review: open, Reviewers: []Reviewer{{"maria", testToken}}, Blind: true, Run: "night", Address: w.Listener.Addr().String()}
	if change != nil {
		change(&o)
	}
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	w.Config.Handler = s
	w.Start()
	end := sync.OnceFunc(func() {
		w.Close()
		if err := open.Close(); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(end)
	return &served{s, s.desks[0], s.gate.sessions.begin(0), t, w, open, end}
}

// request makes a request as the page does.
func (s *served) request(method, path, body string) *http.Request {
	s.t.Helper()
	r, err := http.NewRequest(method, s.web.URL+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	r.AddCookie(&http.Cookie{Name: s.gate.cookie, Value: s.session})
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Origin", s.web.URL)
		r.Header.Set(tokenHeader, testToken)
	}
	return r
}

func (s *served) send(r *http.Request) (status int, body string) {
	s.t.Helper()
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	response, err := client.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return response.StatusCode, string(data)
}

// get asks for something that there must be.
func (s *served) get(path string, into any) string {
	s.t.Helper()
	return s.decode(into, path, http.MethodGet, "")
}

// post changes something.
func (s *served) post(path, body string, into any) string {
	s.t.Helper()
	return s.decode(into, path, http.MethodPost, body)
}

func (s *served) decode(into any, path, method, body string) string {
	s.t.Helper()
	status, answer := s.send(s.request(method, path, body))
	if status != http.StatusOK {
		s.t.Fatalf("%s %s: status %d: %s", method, path, status, answer)
	}
	if err := json.Unmarshal([]byte(answer), into); err != nil {
		s.t.Fatalf("%s %s: %v in %s", method, path, err, answer)
	}
	return answer
}
