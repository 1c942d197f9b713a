package compact_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
	"github.com/doubletake-dev/doubletake/replay/compact"
	"github.com/doubletake-dev/doubletake/replay/compact/compacttest"
)

// fakeModel answers with a fixed reply and keeps what it was asked.
type fakeModel struct {
	reply replay.Reply
	err   error
	asked func(*replay.Request)
}

func (m *fakeModel) Complete(ctx context.Context, req *replay.Request) (*replay.Reply, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if m.asked != nil {
		m.asked(req)
	}
	if m.err != nil {
		return nil, m.err
	}
	reply := m.reply
	return &reply, nil
}

func says(text string) *fakeModel {
	return &fakeModel{reply: replay.Reply{
		Message: fixtures.Message{Role: fixtures.RoleAssistant, Content: text}, FinishReason: "stop", Key: "00000000000000aa",
		Usage: replay.Usage{PromptTokens: 100, CompletionTokens: 10},
	}}
}

func mustNew(t testing.TB, name string, options compact.Options) replay.Compactor {
	t.Helper()
	if options.Model == nil {
		options.Model = says("Goal: fix the handlers. Progress: some are done.")
	}
	c, err := compact.New(name, options)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestConformance(t *testing.T) {
	for _, name := range compact.Names() {
		t.Run(name, func(t *testing.T) {
			compacttest.TestCompactor(t, func(t *testing.T) replay.Compactor { return mustNew(t, name, compact.Options{}) })
		})
	}
}

func TestNew(t *testing.T) {
	for _, c := range []struct {
		name    string
		options compact.Options
		want    string
	}{
		{"truncat", compact.Options{}, `did you mean "truncate"`},
		{"Summarise", compact.Options{}, `did you mean "summarize"`},
		{"quantum-foam-engine", compact.Options{}, "none, truncate, clear-tool-results"},
		{"", compact.Options{}, "has no name"},
		{"ledger", compact.Options{}, "with a model"},
		{"truncate", compact.Options{Keep: -1}, "keep is -1"},
	} {
		if _, err := compact.New(c.name, c.options); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("New(%q): error %v, want one with %q", c.name, err, c.want)
		}
	}
}

func TestDigestNamesWhatTheOutputDependsOn(t *testing.T) {
	digest := func(name string, o compact.Options) fixtures.Hash { return compact.Digest(mustNew(t, name, o)) }
	seen := map[fixtures.Hash]string{}
	for what, d := range map[string]fixtures.Hash{
		"none":      digest("none", compact.Options{}),
		"truncate":  digest("truncate", compact.Options{}),
		"ends":      digest("keep-ends", compact.Options{}),
		"clear 3":   digest("clear-tool-results", compact.Options{}),
		"clear 4":   digest("clear-tool-results", compact.Options{Keep: 4}),
		"uses":      digest("clear-tool-results", compact.Options{ToolUses: 4}),
		"at least":  digest("clear-tool-results", compact.Options{ClearAtLeast: 4}),
		"exclude":   digest("clear-tool-results", compact.Options{ExcludeTools: []string{"a"}}),
		"inputs":    digest("clear-tool-results", compact.Options{ClearToolInputs: true}),
		"summarize": digest("summarize", compact.Options{}),
		"prompt":    digest("summarize", compact.Options{Prompt: "Sum up."}),
		"keep":      digest("summarize", compact.Options{Keep: 6}),
		"model":     digest("summarize", compact.Options{ModelName: "small"}),
		"ledger":    digest("ledger", compact.Options{}),
		"recorded":  digest("recorded", compact.Options{}),
	} {
		if other, taken := seen[d]; taken || d == "" {
			t.Errorf("%s and %s have the digest %q", what, other, d)
		}
		seen[d] = what
	}
	if a, b := digest("summarize", compact.Options{}), digest("summarize", compact.Options{Prompt: compact.DefaultPrompt, Keep: 4}); a != b {
		t.Error("spelling out the defaults changes the digest")
	}
}

func TestDefaultPrompt(t *testing.T) {
	for _, word := range []string{"verbatim", "word for word"} {
		if strings.Contains(strings.ToLower(compact.DefaultPrompt), word) {
			t.Errorf("the default prompt says %q", word)
		}
	}
}

// request builds a request of messages written as "u text", "a text", "c ID
// TOOL" (a call), "r ID text" (its result).
func request(budget int, lines ...string) *replay.CompactRequest {
	req := &replay.CompactRequest{Fixture: "f", Model: "agent-model", Seed: 7, Replicate: 2, BudgetTokens: budget}
	for i, line := range lines {
		kind, text, _ := strings.Cut(line, " ")
		m := fixtures.Message{Content: text}
		switch kind {
		case "u":
			m.Role = fixtures.RoleUser
		case "a":
			m.Role = fixtures.RoleAssistant
		case "c":
			id, tool, _ := strings.Cut(text, " ")
			m = fixtures.Message{Role: fixtures.RoleAssistant, ToolCalls: []fixtures.ToolCall{{ID: id, Name: tool, Arguments: []byte(`{"path":"a.go"}`)}}}
		case "r":
			m.Role = fixtures.RoleTool
			m.ToolCallID, m.Content, _ = strings.Cut(text, " ")
		}
		req.Messages = append(req.Messages, replay.CompactMessage{ID: fmt.Sprintf("m%d", i+1), Message: m})
	}
	texts := replay.Texts(req.Messages)
	fixtures.NumberTurns(texts)
	for i := range texts {
		req.Messages[i].Turn = texts[i].Turn
		req.AfterTurn = max(req.AfterTurn, texts[i].Turn)
	}
	return req
}

// perMessage counts one token a message, so that budgets in tests can be read.
type perMessage struct{}

func (perMessage) Count(fixtures.Message) int { return 1 }

func ids(messages []replay.CompactMessage) string {
	var out []string
	for _, m := range messages {
		out = append(out, m.ID)
	}
	return strings.Join(out, " ")
}

func TestWhatStays(t *testing.T) {
	long := []string{"u one", "a two", "u three", "c k1 read_file", "r k1 x", "a six", "u seven", "a eight"}
	task := []string{"u do it all", "c k1 read_file", "r k1 x", "c k2 read_file", "r k2 y", "c k3 read_file", "r k3 z", "a done"}
	for _, c := range []struct {
		what, name string
		options    compact.Options
		budget     int
		lines      []string
		want       string // ids, or the status
	}{
		{"none", "none", compact.Options{}, 1, long, "unchanged"},
		{"truncate within the budget", "truncate", compact.Options{}, 8, long, "unchanged"},
		{"truncate without a budget", "truncate", compact.Options{}, 0, long, "unchanged"},
		{"truncate", "truncate", compact.Options{}, 4, long, "m6 m7 m8"},
		{"truncate never cuts a pair", "truncate", compact.Options{}, 5, long, "m4 m5 m6 m7 m8"},
		{"truncate keeps the task", "truncate", compact.Options{}, 4, task, "m1 m6 m7 m8"},
		{"truncate with no room at all", "truncate", compact.Options{}, 1, task, "m1 m8"},
		{"keep-ends", "keep-ends", compact.Options{}, 6, long, "m1 s0 m6 m7 m8"},
		{"keep-ends with the task in the middle", "keep-ends", compact.Options{}, 7, []string{"u 1", "a 2", "a 3", "a 4", "u 5", "a 6", "a 7", "a 8", "a 9", "a 10"}, "m1 s0 m5 s0.2 m8 m9 m10"},
		{"summarize", "summarize", compact.Options{Keep: 2}, 0, long, "s0 m7 m8"},
		{"summarize four turns", "summarize", compact.Options{}, 0, long, "s0 m4 m5 m6 m7 m8"},
		{"summarize the task apart", "summarize", compact.Options{Keep: 1}, 0, task, "s0 m1 m8"},
		{"summarize less than it keeps", "summarize", compact.Options{}, 0, long[5:], "unchanged"},
		{"summarize as far as the budget goes", "summarize", compact.Options{}, 4, long, "s0 m6 m7 m8"},
		{"ledger", "ledger", compact.Options{Keep: 2}, 0, append([]string{"u Never push."}, long...), "s0-ledger s0 m8 m9"},
		{"ledger of nothing", "ledger", compact.Options{Keep: 2}, 0, []string{"u hm", "a hm", "u hm", "a hm", "u hm", "a hm"}, "s0 m5 m6"},
	} {
		t.Run(c.what, func(t *testing.T) {
			c.options.Counter = perMessage{}
			req := request(c.budget, c.lines...)
			out, err := mustNew(t, c.name, c.options).Compact(t.Context(), req)
			if err != nil {
				t.Fatal(err)
			}
			got := string(out.Status)
			if out.Status == replay.Compacted {
				got = ids(out.Messages)
			}
			if got != c.want {
				t.Errorf("%s, want %s (%s)", got, c.want, out.Reason)
			}
			if err := compacttest.Check(req, out); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestClearToolResults(t *testing.T) {
	big := strings.Repeat("output ", 20)
	req := request(0, "u go", "c k1 t", "r k1 "+big, "c k2 t", "r k2 ok", "c k3 t", "r k3 "+big, "c k4 t", "r k4 "+big, "a done")
	c := mustNew(t, "clear-tool-results", compact.Options{Keep: 2})
	out, err := c.Compact(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	if got := ids(out.Messages); got != "m1 m2 s0-m3 m4 m5 m6 m7 m8 m9 m10" {
		t.Errorf("messages %s: short and new results must stay", got)
	}
	if m := out.Messages[2]; m.Content != "[tool result cleared]" || m.ToolCallID != "k1" {
		t.Errorf("cleared into %+v", m)
	}
	again := *req
	again.Compaction, again.Messages = 1, out.Messages
	if out, err = c.Compact(t.Context(), &again); err != nil || out.Status != replay.Unchanged {
		t.Errorf("a second pass: %+v, %v", out, err)
	}
}

// TestClearToolResultsOptions are the options of the context editing that Anthropic
// documents as clear_tool_uses_20250919.
func TestClearToolResultsOptions(t *testing.T) {
	big, path := strings.Repeat("output ", 20), strings.Repeat("d/", 20)+"a.go"
	req := request(0, "u go", "c k1 read", "r k1 "+big, "c k2 write", "r k2 "+big, "c k3 read", "r k3 "+big, "a done")
	for i := range req.Messages {
		for k := range req.Messages[i].ToolCalls {
			req.Messages[i].ToolCalls[k].Arguments = json.RawMessage(`{"path":"` + path + `"}`)
		}
	}
	saves := compact.RoughCounter{}.Count(req.Messages[2].Message) - compact.RoughCounter{}.Count(fixtures.Message{Content: "[tool result cleared]"})
	for _, c := range []struct {
		what    string
		options compact.Options
		want    string // ids, or the status with a part of the reason
	}{
		{"keep", compact.Options{Keep: 1}, "m1 m2 s0-m3 m4 s0-m5 m6 m7 m8"},
		{"too few calls", compact.Options{Keep: 1, ToolUses: 3}, "unchanged: the context holds 3 tool calls, and 3 are left alone"},
		{"enough calls", compact.Options{Keep: 1, ToolUses: 2}, "m1 m2 s0-m3 m4 s0-m5 m6 m7 m8"},
		{"an excluded tool", compact.Options{Keep: 1, ExcludeTools: []string{"write"}}, "m1 m2 s0-m3 m4 m5 m6 m7 m8"},
		{"every tool excluded", compact.Options{Keep: 1, ExcludeTools: []string{"write", "read"}}, "unchanged: nothing to clear"},
		{"too little to save", compact.Options{Keep: 2, ClearAtLeast: saves + 1}, fmt.Sprintf("unchanged: clearing would save %d tokens, and it has to be %d at least", saves, saves+1)},
		{"enough to save", compact.Options{Keep: 2, ClearAtLeast: saves}, "m1 m2 s0-m3 m4 m5 m6 m7 m8"},
		{"inputs, too", compact.Options{Keep: 1, ClearToolInputs: true}, "m1 s0-m2 s0-m3 s0-m4 s0-m5 m6 m7 m8"},
		{"inputs, but of an excluded tool", compact.Options{Keep: 1, ClearToolInputs: true, ExcludeTools: []string{"write"}}, "m1 s0-m2 s0-m3 m4 m5 m6 m7 m8"},
	} {
		out, err := mustNew(t, "clear-tool-results", c.options).Compact(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		got := ids(out.Messages)
		if out.Status != replay.Compacted {
			got = string(out.Status) + ": " + out.Reason
		}
		if got != c.want && (out.Status == replay.Compacted || !strings.HasPrefix(c.want, "unchanged: ") || !strings.Contains(got, strings.TrimPrefix(c.want, "unchanged: "))) {
			t.Errorf("%s: %s, want %s", c.what, got, c.want)
		}
		if err := compacttest.Check(req, out); err != nil {
			t.Errorf("%s: %v", c.what, err)
		}
		for _, m := range out.Messages {
			for _, call := range m.ToolCalls {
				if cleared := string(call.Arguments) == "{}"; cleared != (m.Kind == replay.KindSummary) {
					t.Errorf("%s: message %s has the arguments %s", c.what, m.ID, call.Arguments)
				}
			}
		}
	}
	for _, options := range []compact.Options{{ToolUses: -1}, {ClearAtLeast: -1}} {
		if _, err := compact.New("clear-tool-results", options); err == nil {
			t.Errorf("%+v is taken", options)
		}
	}
}

func TestKeepEndsCountsOnFromItsLastNote(t *testing.T) {
	lines := []string{"u one", "a two", "u three", "a four", "u five", "a six", "u seven", "a eight"}
	c := mustNew(t, "keep-ends", compact.Options{Counter: perMessage{}})
	req := request(6, lines...)
	out, err := c.Compact(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	if got := texts(out.Messages); !slices.Contains(got, "[4 messages left out here to save space]") {
		t.Fatalf("%q", got)
	}
	req.Compaction = 1
	req.Messages = append(out.Messages, request(0, "u nine", "a ten").Messages...)
	for i := range req.Messages {
		req.Messages[i].ID = fmt.Sprintf("x%d", i)
	}
	if out, err = c.Compact(t.Context(), req); err != nil {
		t.Fatal(err)
	}
	if got := texts(out.Messages); !slices.Contains(got, "[6 messages left out here to save space]") {
		t.Errorf("after the second pass %q", got)
	}
}

func texts(messages []replay.CompactMessage) []string {
	var out []string
	for _, m := range messages {
		out = append(out, m.Content)
	}
	return out
}

func TestRecorded(t *testing.T) {
	req := request(0, "u one", "a two", "u one", "a four")
	c := mustNew(t, "recorded", compact.Options{})
	out, err := c.Compact(t.Context(), req)
	if err != nil || out.Status != replay.Refused || !out.NotRecorded {
		t.Fatalf("without a recorded compaction: %+v, %v", out, err)
	}
	req.Recorded = &fixtures.Compaction{AfterTurn: 4, Context: []fixtures.Message{
		{Role: "user", Content: "What was said: one, two."}, {Turn: 9, Role: "user", Content: "one"}, {Role: "assistant", Content: "four"},
	}}
	if out, err = c.Compact(t.Context(), req); err != nil || ids(out.Messages) != "s0-0 m1 m4" {
		t.Errorf("%s %v (%s)", ids(out.Messages), err, out.Reason)
	}
	req.Recorded.Context = []fixtures.Message{{Role: "tool", ToolCallID: "k9", Content: "lost"}}
	if out, err = c.Compact(t.Context(), req); err != nil || out.Status != replay.Failed || !strings.Contains(out.Reason, `"k9"`) {
		t.Errorf("an orphan: %+v, %v", out, err)
	}
	summary := fixtures.Message{Role: "user", Content: "What was said: one, two."}
	marker := fixtures.Message{Role: "user", Content: "[opaque compaction]", Extra: map[string]json.RawMessage{"kind": json.RawMessage(`"opaque"`)}}
	marked := func(name string) map[string]json.RawMessage {
		return map[string]json.RawMessage{name: json.RawMessage("true")}
	}
	for _, test := range []struct {
		name    string
		context []fixtures.Message
		extra   map[string]json.RawMessage
		reason  string
	}{
		{"no context", nil, nil, "does not hold what the agent kept in its compaction after turn 4"},
		{"marked as empty", []fixtures.Message{summary}, marked("empty"), "does not hold what the agent kept"},
		{"marked as opaque", []fixtures.Message{summary}, marked("opaque"), "after turn 4 is opaque"},
		{"a marker in the context", []fixtures.Message{summary, marker}, nil, "after turn 4 is opaque"},
	} {
		req.Recorded = &fixtures.Compaction{AfterTurn: 4, Context: test.context, Extra: test.extra}
		out, err := c.Compact(t.Context(), req)
		if err != nil || out.Status != replay.Refused || !out.NotRecorded || !strings.Contains(out.Reason, test.reason) {
			t.Errorf("%s: %+v, %v", test.name, out, err)
		}
	}
}

func TestCheckPairs(t *testing.T) {
	for _, c := range []struct {
		lines []string
		want  string // "" is fine
	}{
		{[]string{"u hi", "c k1 t", "r k1 x", "a ok"}, ""},
		{[]string{"c k1 t", "r k1 x", "c k1 t", "r k1 y"}, ""},
		{[]string{"r k1 x"}, "message 0 (tool) answers a call that no message before it made"},
		{[]string{"c k1 t", "a ok"}, "message 0 (assistant) makes a call that has no result"},
		{[]string{"c k1 t", "r k1 x", "r k1 y"}, "message 2 (tool) answers a call that was answered before"},
		{[]string{"c k1 t", "u hm", "r k1 x"}, "message 2 (tool) answers a call that is not directly before it"},
		{[]string{"c k1 t", "c k2 t", "r k2 x"}, "message 0 (assistant) makes a call that has no result"},
		{[]string{"c k1 t", "c k1 t", "r k1 x"}, "message 0 (assistant) makes a call that has no result"},
	} {
		err := replay.CheckPairs(replay.Texts(request(0, c.lines...).Messages))
		if got := fmt.Sprint(err); c.want == "" && err != nil || c.want != "" && !strings.HasPrefix(got, c.want) {
			t.Errorf("%q: %v, want %q", c.lines, err, c.want)
		}
	}
}

// anyRequest draws conversations, paired or not.
func anyRequest(t *rapid.T) *replay.CompactRequest {
	text := rapid.SampledFrom([]string{"hm", "Never push.", "I'll wait. Is that fine?", "ok\n[turn 3 user] no", "rev 14 lives in a/b.go", strings.Repeat("word ", 60), "不要推送。"})
	var lines []string
	call := 0
	for range rapid.IntRange(0, 14).Draw(t, "messages") {
		switch rapid.IntRange(0, 5).Draw(t, "kind") {
		case 0, 1:
			lines = append(lines, "u "+text.Draw(t, "user"))
		case 2:
			lines = append(lines, "a "+text.Draw(t, "assistant"))
		default:
			call++
			lines = append(lines, fmt.Sprintf("c k%d t", call))
			if rapid.IntRange(0, 15).Draw(t, "late") == 0 {
				lines = append(lines, "u in between")
			}
			if rapid.IntRange(0, 15).Draw(t, "answered") > 0 {
				lines = append(lines, fmt.Sprintf("r k%d %s", call, text.Draw(t, "result")))
			}
		}
	}
	return request(rapid.IntRange(0, 900).Draw(t, "budget"), lines...)
}

func TestProperties(t *testing.T) {
	for _, name := range compact.Names() {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				req := anyRequest(t)
				c, err := compact.New(name, compact.Options{
					Model: says("Goal: something short."), Keep: rapid.IntRange(0, 6).Draw(t, "keep"),
					ToolUses: rapid.IntRange(0, 3).Draw(t, "uses"), ClearAtLeast: rapid.IntRange(0, 90).Draw(t, "at least"),
					ClearToolInputs: rapid.Bool().Draw(t, "inputs"), ExcludeTools: rapid.SliceOfN(rapid.Just("t"), 0, 1).Draw(t, "exclude"),
				})
				if err != nil {
					t.Fatal(err)
				}
				out, err := c.Compact(t.Context(), req)
				if err != nil {
					t.Fatal(err)
				}
				if err := compacttest.Check(req, out); err != nil {
					t.Fatal(err)
				}
				if out.Status != replay.Compacted {
					return
				}
				// What is kept stands in the order of the input.
				at := 0
				for _, m := range out.Messages {
					if m.Kind != replay.KindKept {
						continue
					}
					i := slices.IndexFunc(req.Messages[at:], func(in replay.CompactMessage) bool { return in.ID == m.ID })
					if i < 0 {
						t.Fatalf("%s is out of order in %s", m.ID, ids(out.Messages))
					}
					at += i + 1
				}
				counter := compact.RoughCounter{}
				before, after := replay.CountAll(counter, replay.Texts(req.Messages)), replay.CountAll(counter, replay.Texts(out.Messages))
				if after >= before {
					t.Fatalf("%d tokens after, %d before", after, before)
				}
				// The budget holds, but for what always stays: the last message of the
				// user, the last group, and a summary or note of the least size.
				if name == compact.NameClearToolResults || req.BudgetTokens == 0 {
					return
				}
				least := counter.Count(fixtures.Message{Content: strings.Repeat("x", 4*90)})
				most := max(req.BudgetTokens, alwaysStay(req)+least)
				if req.BudgetTokens < 4*least { // too little for a share that holds a summary
					most = max(req.BudgetTokens, alwaysStay(req)) + least
				}
				if after > most {
					t.Fatalf("%d tokens in a budget of %d, where at most %d were due: %s", after, req.BudgetTokens, most, ids(out.Messages))
				}
			})
		})
	}
}

// alwaysStay counts the tokens of the last message of the user with its group and
// of the last group, the slow way.
func alwaysStay(req *replay.CompactRequest) int {
	n := len(req.Messages)
	together := func(i, j int) bool { // whether a call and result span both
		for a := range req.Messages {
			for _, c := range req.Messages[a].ToolCalls {
				for b := a + 1; b < n; b++ {
					if req.Messages[b].ToolCallID == c.ID && a <= i && j <= b {
						return true
					}
				}
			}
		}
		return false
	}
	stay := map[int]bool{}
	grow := func(i int) {
		stay[i] = true
		for j := i; j > 0 && together(j-1, j); j-- {
			stay[j-1] = true
		}
		for j := i; j < n-1 && together(j, j+1); j++ {
			stay[j+1] = true
		}
	}
	grow(n - 1)
	for i := n - 1; i >= 0; i-- {
		if req.Messages[i].Role == fixtures.RoleUser {
			grow(i)
			break
		}
	}
	total := 0
	for i := range stay {
		total += compact.RoughCounter{}.Count(req.Messages[i].Message)
	}
	return total
}

func TestModelFaultIsAnError(t *testing.T) {
	down := errors.New("503 from the provider")
	for _, name := range []string{"summarize", "ledger"} {
		c := mustNew(t, name, compact.Options{Model: &fakeModel{err: down}, Keep: 1})
		if _, err := c.Compact(t.Context(), request(0, "u one", "a two", "u three", "a four")); !errors.Is(err, down) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
