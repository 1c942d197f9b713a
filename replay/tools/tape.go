// Package tools answers the tool calls of replayed episodes: from the tape of what
// was recorded, else from stubs that the fixture names. It runs nothing.
package tools

import (
	"context"
	"fmt"
	"sync"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
)

// MissText is what the agent gets for a call that neither tape nor stub answers.
const MissText = "[no recorded result for this call]"

// Tape answers calls from a recording by tool name and canonical arguments, in the
// order in which the recording made them.
type Tape struct {
	mu      sync.Mutex
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
// only before the fork is answered by its last result there.
func NewTape(f *fixtures.Fixture, rec *fixtures.Recording, fork int) (replay.Tools, error) {
	t := &Tape{results: map[tapeKey][]string{}}
	before := map[tapeKey]string{}
	open := map[string]tapeKey{}
	for _, m := range rec.Messages {
		for _, call := range m.ToolCalls {
			open[call.ID] = tapeKey{call.Name, fixtures.CanonicalArguments(call.Arguments)}
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

// Call answers one call.
func (t *Tape) Call(_ context.Context, call replay.ToolCall) (*replay.ToolResult, error) {
	if result, ok := t.next(tapeKey{call.Name, fixtures.CanonicalArguments(call.Arguments)}); ok {
		return &replay.ToolResult{Content: result, Source: replay.FromTape}, nil
	}
	action := fixtures.Action{Tool: call.Name, Arguments: call.Arguments, Step: call.Step, Turn: call.Turn}
	for _, s := range t.stubs {
		// A stub that can't make sense of the call isn't meant for it.
		if hit, err := s.when.Matches(action); err == nil && hit {
			return &replay.ToolResult{Content: s.result, Source: replay.FromStub}, nil
		}
	}
	return &replay.ToolResult{Content: MissText, Source: replay.Miss}, nil
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
