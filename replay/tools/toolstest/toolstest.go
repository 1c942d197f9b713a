// Package toolstest is the conformance test that every implementation of
// [replay.Tools] runs.
//
// Call [TestTools] from the test of tools of your own.
package toolstest

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"slices"
	"sync"
	"testing"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
)

// TestTools checks what the engine relies on. fresh makes the tools of a new episode; calls are
// some that it can answer, in an order in which they give the same answers each time.
func TestTools(t *testing.T, fresh func(testing.TB) replay.Tools, calls []fixtures.ToolCall) {
	t.Run("every call has an answer with its source", func(t *testing.T) {
		tools := opened(t, fresh)
		for i, c := range append(slices.Clone(calls), odd()...) {
			result, err := tools.Call(t.Context(), at(c, i))
			if err != nil {
				t.Errorf("%s %s: %v", c.Name, c.Arguments, err)
				continue
			}
			if result == nil || !slices.Contains(sources(), result.Source) {
				t.Errorf("%s %s: %+v has no source that is known", c.Name, c.Arguments, result)
			}
		}
	})
	t.Run("a tool that nobody has is a miss", func(t *testing.T) {
		result, err := opened(t, fresh).Call(t.Context(), at(fixtures.ToolCall{ID: "x", Name: "no_such_tool", Arguments: json.RawMessage(`{}`)}, 0))
		if err != nil || result.Source != replay.Miss || result.Content == "" {
			t.Errorf("%+v, error %v: want a miss with its text", result, err)
		}
	})
	t.Run("the arguments stay as they are", func(t *testing.T) {
		tools := opened(t, fresh)
		for i, c := range calls {
			before := bytes.Clone(c.Arguments)
			if _, err := tools.Call(t.Context(), at(c, i)); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(before, c.Arguments) {
				t.Errorf("%s: the arguments were %s and are %s", c.Name, before, c.Arguments)
			}
		}
	})
	t.Run("an episode knows nothing of the one before", func(t *testing.T) {
		first, second := answers(t, opened(t, fresh), calls), answers(t, opened(t, fresh), calls)
		if !slices.Equal(first, second) {
			t.Errorf("the first episode got %+v, the second %+v", first, second)
		}
	})
	t.Run("calls at once", func(t *testing.T) {
		tools := opened(t, fresh)
		var group sync.WaitGroup
		for i := range 8 {
			group.Go(func() {
				for _, c := range calls {
					if result, err := tools.Call(t.Context(), at(c, i)); err != nil || result == nil {
						t.Errorf("%s %s: %+v, %v", c.Name, c.Arguments, result, err)
					}
				}
			})
		}
		group.Wait()
	})
	t.Run("a context that has ended", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		tools := opened(t, fresh)
		for i, c := range calls {
			if result, err := tools.Call(ctx, at(c, i)); (result == nil) == (err == nil) {
				t.Errorf("%s %s: %+v, %v: want a result or an error", c.Name, c.Arguments, result, err)
			}
		}
	})
	t.Run("closing twice", func(t *testing.T) {
		tools := fresh(t)
		closer, ok := tools.(io.Closer)
		if !ok {
			return
		}
		answers(t, tools, calls)
		for range 2 {
			if err := closer.Close(); err != nil {
				t.Errorf("closing: %v", err)
			}
		}
		for i, c := range calls {
			if result, err := tools.Call(t.Context(), at(c, i)); (result == nil) == (err == nil) {
				t.Errorf("%s after closing: %+v, %v: want a result or an error", c.Name, result, err)
			}
		}
	})
}

// opened are tools that are closed at the test's end.
func opened(t testing.TB, fresh func(testing.TB) replay.Tools) replay.Tools {
	t.Helper()
	tools := fresh(t)
	if closer, ok := tools.(io.Closer); ok {
		t.Cleanup(func() {
			if err := closer.Close(); err != nil {
				t.Errorf("closing: %v", err)
			}
		})
	}
	return tools
}

func answers(t testing.TB, tools replay.Tools, calls []fixtures.ToolCall) []replay.ToolResult {
	t.Helper()
	var list []replay.ToolResult
	for i, c := range calls {
		result, err := tools.Call(t.Context(), at(c, i))
		if err != nil {
			t.Fatalf("%s %s: %v", c.Name, c.Arguments, err)
		}
		list = append(list, *result)
	}
	return list
}

func at(call fixtures.ToolCall, i int) replay.ToolCall {
	return replay.ToolCall{ToolCall: call, Step: i + 1, Turn: 10}
}

func sources() []replay.ToolSource {
	return []replay.ToolSource{replay.FromTape, replay.FromStub, replay.FromSimulator, replay.FromSandbox, replay.Miss}
}

// odd are calls of the kind that a model makes up.
func odd() []fixtures.ToolCall {
	var list []fixtures.ToolCall
	for _, arguments := range []string{``, `null`, `[]`, `{`, `"text"`, `{"path":"\u0000"}`, "\xff", `{"path":{"path":[]}}`, `1e999`} {
		list = append(list, fixtures.ToolCall{ID: "odd", Name: "made_up", Arguments: json.RawMessage(arguments)})
	}
	return append(list, fixtures.ToolCall{ID: "odd"})
}
