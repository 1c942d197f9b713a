package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/doubletake-dev/doubletake/analysis"
	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/pairing"
	"github.com/doubletake-dev/doubletake/replay"
	"github.com/doubletake-dev/doubletake/replay/compact"
)

// inspected shows the body of every request on its way.
func inspected(handler http.Handler, inspect func([]byte)) http.Handler {
	if inspect == nil {
		return handler
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		inspect(body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		handler.ServeHTTP(w, r)
	})
}

// request is what the test reads of a request.
type request struct {
	Temperature *float64          `json:"temperature"`
	Seed        *int              `json:"seed"`
	Messages    []json.RawMessage `json:"messages"`
}

// TestNoRequestHoldsTheExaminersNotes greps every request of a night: only the
// judge gets a probe, one a call; nobody gets an expected answer or a check, or an
// arm's name; and every request is as deterministic as a request can ask for.
func TestNoRequestHoldsTheExaminersNotes(t *testing.T) {
	set, err := loadSet("")
	if err != nil {
		t.Fatal(err)
	}
	texts := handWritten(t)
	if sampled() {
		part := *set
		part.Fixtures = part.Fixtures[:len(part.Fixtures)/8]
		set = &part
	}
	const first, second = "zebra-arm-one", "zebra-arm-two"
	drop := map[string]*mutation{}
	for _, f := range set.Fixtures {
		drop[f.ConversationID] = &mutation{kind: drops, item: f.MustSurvive[0].ID, words: 0, only: -1}
	}
	var mu sync.Mutex
	var bodies [][]byte
	record := playOfflineWith(t, set, func(body []byte) {
		mu.Lock()
		defer mu.Unlock()
		bodies = append(bodies, body)
	}, func(m replay.Model, counter replay.Counter) []replay.Arm {
		arms := []replay.Arm{
			{Name: analysis.RoleReference, Kind: replay.ReferenceArm},
			{Name: first, Kind: replay.CompactorArm, Compactor: &mutator{set.Fixtures, texts, drop}},
		}
		for _, name := range []string{"summarize", "ledger"} {
			c, err := compact.New(name, compact.Options{Model: m, ModelName: offlineAgent, Counter: counter})
			if err != nil {
				t.Fatal(err)
			}
			arms = append(arms, replay.Arm{Name: second + name, Kind: replay.CompactorArm, Compactor: c})
		}
		return arms
	})
	if len(record.Episodes) != 4*len(set.Fixtures) {
		t.Fatalf("%d episodes", len(record.Episodes))
	}

	recorded := everythingRecorded(t, set)
	var probes, notes []string
	for _, f := range set.Fixtures {
		notes = append(notes, f.Title)
		for i := range f.MustSurvive {
			item := &f.MustSurvive[i]
			probes = append(probes, item.Probe)
			if !strings.Contains(recorded, item.Expect) && len(item.Expect) > 3 {
				notes = append(notes, item.Expect)
			}
		}
		for i := range f.Checks {
			c := &f.Checks[i]
			notes = append(notes, c.Never, c.Must, c.Final)
			if len(c.ID) > 4 && !strings.Contains(recorded, c.ID) {
				notes = append(notes, c.ID)
			}
		}
		for i := range f.Stubs {
			notes = append(notes, f.Stubs[i].When)
		}
	}
	notes = slices.DeleteFunc(append(notes, "zebra-arm", "must_survive"), func(s string) bool { return s == "" })

	seen := map[string]int{}
	for _, body := range bodies {
		var r request
		if err := json.Unmarshal(body, &r); err != nil {
			t.Fatal(err)
		}
		text := textIn(t, body)
		role := "agent"
		switch {
		case strings.Contains(text, "<question-"):
			role = "judge"
		case strings.Contains(text, "<conversation"):
			role = "summariser"
		}
		seen[role]++
		if r.Temperature == nil || *r.Temperature != 0 || r.Seed == nil || *r.Seed != replay.DefaultSeed {
			t.Errorf("a request of the %s has no temperature 0 or seed: %.200s", role, body)
		}
		asked := 0
		for _, probe := range probes {
			asked += strings.Count(text, probe)
		}
		if role == "judge" && asked != 1 || role != "judge" && asked != 0 {
			t.Errorf("a request of the %s holds %d probes: %.300s", role, asked, text)
		}
		for _, note := range notes {
			if strings.Contains(text, note) {
				t.Errorf("a request of the %s holds %q", role, note)
			}
		}
	}
	t.Logf("requests: %v", seen)
	if seen["agent"] == 0 || seen["summariser"] == 0 || seen["judge"] == 0 {
		t.Errorf("requests by role: %v; the night is meant to have all", seen)
	}
}

// textIn is every string of a JSON value, one a line, escapes undone.
func textIn(t *testing.T, data []byte) string {
	t.Helper()
	var value any
	if err := json.Unmarshal(data, &value); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	var walk func(any)
	walk = func(value any) {
		switch v := value.(type) {
		case string:
			b.WriteString(v + "\n")
		case []any:
			for _, element := range v {
				walk(element)
			}
		case map[string]any:
			for name, element := range v {
				b.WriteString(name + "\n")
				walk(element)
			}
		}
	}
	walk(value)
	return b.String()
}

// everythingRecorded is what stands in the recordings, the accepted traces and the
// results of the stubs, and so may stand in a request.
func everythingRecorded(t *testing.T, set *fixtures.Set) string {
	t.Helper()
	var b strings.Builder
	add := func(messages []fixtures.Message) {
		for _, m := range messages {
			b.WriteString(m.Content + "\n")
			for _, call := range m.ToolCalls {
				b.WriteString(call.Name + "\n" + textIn(t, call.Arguments))
			}
		}
	}
	for _, f := range set.Fixtures {
		rec, err := set.Recording(f)
		if err != nil {
			t.Fatal(err)
		}
		add(rec.Messages)
		if f.Trace != nil {
			add(f.Trace.Messages)
		}
		for i := range f.Stubs {
			b.WriteString(f.Stubs[i].Result + "\n")
		}
	}
	return b.String()
}

// execCompactor keeps the last four turns and says the two other things it knows,
// or only one of them.
const execCompactor = `#!/usr/bin/env python3
import json, sys
keep = json.load(open(sys.argv[1]))
request = json.load(sys.stdin)
said = "\n".join("- " + text for text in keep[request["fixture"]])
tail = [m for m in request["messages"] if m["turn"] > request["after_turn"] - 4]
while tail and tail[0]["role"] == "tool":
    tail.pop(0)
json.dump({
    "status": "compacted",
    "messages": [{"role": "user", "content": "Still in force:\n" + said, "kind": "summary"}] + tail,
}, sys.stdout)
`

// TestAnExecCompactorThatDropsOneItem runs the program as its users do, with two
// commands as compactors: one keeps all items in other words, the other drops one.
func TestAnExecCompactorThatDropsOneItem(t *testing.T) {
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("no python3")
	}
	const conversation, dropped = "forbidden-directory", "c1"
	set, err := loadSet("")
	if err != nil {
		t.Fatal(err)
	}
	texts := handWritten(t)[conversation]
	var all, less []string
	var fixture *fixtures.Fixture
	for _, f := range set.Fixtures {
		if f.ConversationID == conversation {
			fixture = f
		}
	}
	for i := range fixture.MustSurvive {
		id := fixture.MustSurvive[i].ID
		all = append(all, texts[id].Said[0])
		if id != dropped {
			less = append(less, texts[id].Said[1])
		}
	}
	dir := t.TempDir()
	write := func(name string, content []byte) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	encode := func(lines []string) []byte {
		data, err := json.Marshal(map[string][]string{conversation: lines})
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	write("compact.py", []byte(execCompactor))
	write("all.json", encode(all))
	write("less.json", encode(less))
	write("doubletake.yaml", []byte("compactors:\n"+
		"  one: { exec: [python3, compact.py, all.json] }\n"+
		"  other: { exec: [python3, compact.py, less.json] }\n"))

	out := filepath.Join(dir, "run")
	cmd := doubletake(t, "compare", "--config", filepath.Join(dir, "doubletake.yaml"), "--fixture", conversation, "--cache", "off", "--out", out, "one", "other")
	cmd.Dir = dir
	printed, err := cmd.CombinedOutput()
	if code := cmd.ProcessState.ExitCode(); err == nil || code != exitBlocked {
		t.Fatalf("exit code %d, want %d: %v\n%s", code, exitBlocked, err, printed)
	}
	record, err := replay.ReadRecord(out)
	if err != nil {
		t.Fatal(err)
	}
	for _, j := range record.Judgements {
		want := replay.Supported
		if j.Arm == "other" && j.Item == dropped {
			want = replay.Absent
		}
		if j.Verdict != want {
			t.Errorf("%s, item %s: %s, want %s", j.Arm, j.Item, j.Verdict, want)
		}
	}
	for _, arm := range []string{"one", "other"} {
		for _, result := range pairing.Judge(fixture, record.Episode(replay.Key{Fixture: fixture.Hash, Arm: arm}), nil).Checks {
			want := fixtures.Pass
			if arm == "other" && result.Item == dropped {
				want = fixtures.Fail
			}
			if result.Answer != want {
				t.Errorf("%s, check %s of item %s: %s (%s), want %s", arm, result.Check, result.Item, result.Answer, result.Evidence, want)
			}
		}
	}
}
