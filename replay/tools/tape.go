package tools

import (
	"context"
	"fmt"
	"sync"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
)

// MissText is what the agent gets for a call that nothing answers.
const MissText = "[no recorded result for this call]"

// Tape answers calls from a recording by tool name and canonical arguments, in the
// order in which the recording made them.
type Tape struct {
	mu      sync.Mutex
	fixture *fixtures.Fixture
	results map[tapeKey][]string
	stubs   []stub
}

type tapeKey struct{ name, arguments string }

type stub struct {
	when   *fixtures.CallExpr
	result string
}

// NewTape returns the tape of a recording for an agent that goes on after the fork.
// Calls made after the fork are answered by what the recording got after the fork,
// in order; the last result answers further calls; a call that the recording made
// only before the fork is answered by its last result there. What the tape does not
// hold the fixture's stubs answer.
func NewTape(f *fixtures.Fixture, rec *fixtures.Recording, fork int) (replay.Tools, error) {
	return newTape(f, rec, fork)
}

func newTape(f *fixtures.Fixture, rec *fixtures.Recording, fork int) (*Tape, error) {
	t := &Tape{fixture: f, results: map[tapeKey][]string{}}
	before := map[tapeKey]string{}
	open := map[string]tapeKey{}
	for _, m := range rec.Messages {
		for _, call := range m.ToolCalls {
			open[call.ID] = t.key(call)
		}
		if m.Role != fixtures.RoleTool {
			continue
		}
		key, ok := open[m.ToolCallID]
		switch {
		case !ok:
		case m.Turn <= fork:
			before[key] = m.Content
		default:
			t.results[key] = append(t.results[key], m.Content)
		}
	}
	for key, result := range before {
		if len(t.results[key]) == 0 {
			t.results[key] = []string{result}
		}
	}
	for i, s := range f.Stubs {
		when, err := fixtures.CompileCall(s.When)
		if err != nil {
			return nil, fmt.Errorf("fixture %s: stub %d: %w", f.ConversationID, i+1, err)
		}
		t.stubs = append(t.stubs, stub{when, s.Result})
	}
	return t, nil
}

func (t *Tape) key(call fixtures.ToolCall) tapeKey {
	return tapeKey{call.Name, t.fixture.CanonicalCall(call.Name, call.Arguments)}
}

// Call answers one call.
func (t *Tape) Call(ctx context.Context, call replay.ToolCall) (*replay.ToolResult, error) {
	return ask(ctx, call, t.recorded, t.stubbed)
}

// source answers a call, or returns nil where it has no answer.
type source func(context.Context, replay.ToolCall) (*replay.ToolResult, error)

// ask asks sources in their order. What none of them answers is a miss.
func ask(ctx context.Context, call replay.ToolCall, sources ...source) (*replay.ToolResult, error) {
	for _, s := range sources {
		if result, err := s(ctx, call); result != nil || err != nil {
			return result, err
		}
	}
	return &replay.ToolResult{Content: MissText, Source: replay.Miss}, nil
}

// recorded answers from the recording.
func (t *Tape) recorded(_ context.Context, call replay.ToolCall) (*replay.ToolResult, error) {
	if result, ok := t.next(t.key(call.ToolCall)); ok {
		return &replay.ToolResult{Content: result, Source: replay.FromTape}, nil
	}
	return nil, nil
}

// stubbed answers from the stubs.
func (t *Tape) stubbed(_ context.Context, call replay.ToolCall) (*replay.ToolResult, error) {
	action := fixtures.Action{Tool: call.Name, Arguments: call.Arguments, Step: call.Step, Turn: call.Turn}
	for _, s := range t.stubs {
		// A stub that can't make sense of the call isn't meant for it.
		if hit, err := s.when.Matches(action); err == nil && hit {
			return &replay.ToolResult{Content: s.result, Source: replay.FromStub}, nil
		}
	}
	return nil, nil
}

func (t *Tape) next(key tapeKey) (string, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	list := t.results[key]
	if len(list) == 0 {
		return "", false
	}
	if len(list) > 1 {
		t.results[key] = list[1:]
	}
	return list[0], true
}
