package tools

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
)

// recorded makes a recording of calls, each "name arguments = result"; a result of
// "-" stands for none. Every call is a turn of its own.
func recorded(calls ...string) *fixtures.Recording {
	rec := &fixtures.Recording{}
	for i, line := range calls {
		call, result, _ := strings.Cut(line, " = ")
		name, arguments, _ := strings.Cut(call, " ")
		id := fmt.Sprint("c", i)
		rec.Messages = append(rec.Messages, fixtures.Message{Turn: i + 1, Role: fixtures.RoleAssistant, ToolCalls: []fixtures.ToolCall{{ID: id, Name: name, Arguments: json.RawMessage(arguments)}}})
		if result != "-" {
			rec.Messages = append(rec.Messages, fixtures.Message{Turn: i + 1, Role: fixtures.RoleTool, ToolCallID: id, Content: result})
		}
	}
	return rec
}

func tape(t testing.TB, f *fixtures.Fixture, rec *fixtures.Recording, fork int) replay.Tools {
	t.Helper()
	tools, err := NewTape(f, rec, fork)
	if err != nil {
		t.Fatal(err)
	}
	return tools
}

func call(t testing.TB, tools replay.Tools, name, arguments string) *replay.ToolResult {
	t.Helper()
	result, err := tools.Call(t.Context(), replay.ToolCall{ToolCall: fixtures.ToolCall{ID: "x", Name: name, Arguments: json.RawMessage(arguments)}, Step: 3, Turn: 9})
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func TestTheTapeAnswersInTheOrderOfTheRecording(t *testing.T) {
	rec := recorded(
		`read {"p":1} = old`, `read {"p":1} = older no more`, `read {"p":2} = only before`, `read {"p":4} = -`,
		`read {"p":1} = first after`, `write {"p":1} = written`, `read {"p":1} = second after`, `read {"p":3} = only after`,
	)
	tools := tape(t, &fixtures.Fixture{}, rec, 4)
	for i, c := range []struct{ name, arguments, want string }{
		{"read", `{"p":1}`, "first after"},
		{"read", `{"p":3}`, "only after"},
		{"read", `{"p":1}`, "second after"},
		{"read", `{"p":1}`, "second after"}, // the last answers further calls
		{"read", `{"p":2}`, "only before"},
		{"read", `{"p":2}`, "only before"},
		{"write", `{"p":1}`, "written"},
		{"read", `{"p":4}`, MissText}, // never answered
		{"read", `{"p":5}`, MissText},
		{"Read", `{"p":1}`, MissText},
		{"read", ``, MissText},
	} {
		got := call(t, tools, c.name, c.arguments)
		source := replay.FromTape
		if c.want == MissText {
			source = replay.Miss
		}
		if got.Content != c.want || got.Source != source {
			t.Errorf("call %d: %s %s = %+v, want %s from %s", i+1, c.name, c.arguments, got, c.want, source)
		}
	}
	// What was recorded last before the fork answers, whatever came before it.
	if got := call(t, tape(t, &fixtures.Fixture{}, rec, 99), "read", `{"p":1}`); got.Content != "second after" {
		t.Errorf("with all before the fork: %+v", got)
	}
	// Every episode has a tape of its own.
	if got := call(t, tape(t, &fixtures.Fixture{}, rec, 4), "read", `{"p":1}`); got.Content != "first after" {
		t.Errorf("a new tape: %+v", got)
	}
}

func TestArgumentsAreCanonical(t *testing.T) {
	rec := recorded(`read {"path":"a","lines":[1,2],"n":10,"deep":{"x":null,"y":true}} = text`, `bare  = nothing`, `odd "no json {" = kept`)
	tools := tape(t, &fixtures.Fixture{}, rec, 0)
	for arguments, hit := range map[string]bool{
		`{"path":"a","lines":[1,2],"n":10,"deep":{"x":null,"y":true}}`:            true,
		` { "deep" : {"y":true,"x":null}, "n":1e1, "lines":[1.0,2],"path":"a" } `: true,
		`{"path":"\u0061","lines":[1,2],"n":10,"deep":{"x":null,"y":true}}`:       true,
		`{"path":"a","lines":[2,1],"n":10,"deep":{"x":null,"y":true}}`:            false,
		`{"path":"a","lines":[1,2],"n":"10","deep":{"x":null,"y":true}}`:          false,
		`{"path":"a","lines":[1,2],"n":10,"deep":{"y":true}}`:                     false,
		`{"path":"A","lines":[1,2],"n":10,"deep":{"x":null,"y":true}}`:            false,
		`{"path":"a","lines":[1,2],"n":10}`:                                       false,
	} {
		if got := call(t, tools, "read", arguments); (got.Source == replay.FromTape) != hit {
			t.Errorf("%s: %+v", arguments, got)
		}
	}
	for _, arguments := range []string{``, `{}`, ` { } `} { // no arguments are no arguments
		if got := call(t, tools, "bare", arguments); got.Content != "nothing" {
			t.Errorf("bare %q: %+v", arguments, got)
		}
	}
	if got := call(t, tools, "odd", `"no json {"`); got.Content != "kept" {
		t.Errorf("arguments that were no JSON: %+v", got)
	}
}

func TestStubsAnswerWhatTheTapeDoesNot(t *testing.T) {
	f := &fixtures.Fixture{ConversationID: "f", Stubs: []fixtures.Stub{
		{When: `tool == 'read' && args.path startsWith '/secret'`, Result: "denied"},
		{When: `tool == 'read' && (args.path ?? '') == 'x'`, Result: "first"},
		{When: `tool == 'read' && (args.path ?? '') == 'x'`, Result: "never"},
		{When: `tool == 'step' && step == 3 && turn == 9`, Result: "in its place"},
		{When: `tool == 'taped'`, Result: "never"},
		{When: `tool == 'empty'`, Result: ""},
	}}
	tools := tape(t, f, recorded(`taped {} = from the tape`), 0)
	for _, c := range []struct {
		name, arguments, want string
		source                replay.ToolSource
	}{
		{"read", `{"path":"/secret/a"}`, "denied", replay.FromStub},
		{"read", `{"path":"x"}`, "first", replay.FromStub},
		{"read", `{"path":"x"}`, "first", replay.FromStub},
		{"read", `{"path":7}`, MissText, replay.Miss}, // a stub that makes no sense of it is passed over
		{"read", `{}`, MissText, replay.Miss},
		{"read", `[1]`, MissText, replay.Miss},
		{"read", `null`, MissText, replay.Miss},
		{"read", `"text"`, MissText, replay.Miss},
		{"read", `{`, MissText, replay.Miss},
		{"step", ``, "in its place", replay.FromStub},
		{"taped", `{}`, "from the tape", replay.FromTape},
		{"taped", `{"other":1}`, "never", replay.FromStub},
		{"empty", `{}`, "", replay.FromStub},
	} {
		if got := call(t, tools, c.name, c.arguments); got.Content != c.want || got.Source != c.source {
			t.Errorf("%s %s = %+v, want %s from %s", c.name, c.arguments, got, c.want, c.source)
		}
	}
}

func TestAStubThatIsNoExpression(t *testing.T) {
	f := &fixtures.Fixture{ConversationID: "broken", Stubs: []fixtures.Stub{{When: "true", Result: ""}, {When: "tool ==", Result: ""}}}
	if _, err := NewTape(f, recorded(), 0); err == nil || !strings.Contains(err.Error(), "fixture broken: stub 2") {
		t.Errorf("error %v", err)
	}
}

func TestResultsWithoutCallsAreNoTape(t *testing.T) {
	rec := recorded(`read {"p":1} = text`)
	rec.Messages = append(rec.Messages, fixtures.Message{Turn: 1, Role: fixtures.RoleTool, ToolCallID: "nobody's", Content: "stray"})
	if got := call(t, tape(t, &fixtures.Fixture{}, rec, 0), "read", `{"p":1}`); got.Content != "text" {
		t.Errorf("got %+v", got)
	}
}

func TestATapeIsSafeForConcurrentUse(t *testing.T) {
	calls := []string{}
	for i := range 50 {
		calls = append(calls, fmt.Sprintf(`read {} = %d`, i))
	}
	tools := tape(t, &fixtures.Fixture{Stubs: []fixtures.Stub{{When: "tool == 'stub'", Result: "s"}}}, recorded(calls...), 0)
	var mu sync.Mutex
	seen := map[string]int{}
	var group sync.WaitGroup
	for range 50 {
		group.Go(func() {
			text := call(t, tools, "read", "{}").Content
			call(t, tools, "stub", "{}")
			mu.Lock()
			seen[text]++
			mu.Unlock()
		})
	}
	group.Wait()
	if len(seen) != 50 {
		t.Errorf("%d different results of 50", len(seen))
	}
}

// Whatever arguments an agent makes up, a call gets an answer, and the same
// arguments spelled otherwise get the same.
func FuzzTape(f *testing.F) {
	for _, seed := range []string{``, `{}`, `null`, `[]`, `{"path":"a"}`, `{"path":1e400}`, `{"path":`, `"text"`, "\xff", `{"a":{"b":[1,2.50,-0]}}`, `12345678901234567890`, `{} {}`} {
		f.Add("read", seed)
	}
	fixture := &fixtures.Fixture{Stubs: []fixtures.Stub{{When: `tool == 'read' && args.path matches '^a+$'`, Result: "stub"}}}
	f.Fuzz(func(t *testing.T, name, arguments string) {
		rec := recorded(`other {} = no`)
		rec.Messages = append(rec.Messages,
			fixtures.Message{Turn: 2, Role: fixtures.RoleAssistant, ToolCalls: []fixtures.ToolCall{{ID: "f", Name: name, Arguments: json.RawMessage(arguments)}}},
			fixtures.Message{Turn: 2, Role: fixtures.RoleTool, ToolCallID: "f", Content: "taped"},
		)
		if got := call(t, tape(t, fixture, rec, 0), name, arguments); got.Content != "taped" || got.Source != replay.FromTape {
			t.Errorf("what was recorded is not on the tape: %+v", got)
		}
		canonical := fixtures.CanonicalArguments(json.RawMessage(arguments))
		if again := fixtures.CanonicalArguments(json.RawMessage(canonical)); again != canonical {
			t.Errorf("%q is canonical, and canonical again %q", canonical, again)
		}
		if got := call(t, tape(t, fixture, rec, 0), name, canonical); got.Content != "taped" {
			t.Errorf("the canonical spelling %q is not on the tape: %+v", canonical, got)
		}
		if got := call(t, tape(t, fixture, recorded(), 0), name, arguments); got.Source != replay.FromStub && got.Source != replay.Miss {
			t.Errorf("an empty tape answers %+v", got)
		}
	})
}
