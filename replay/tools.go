package replay

import (
	"context"

	"github.com/doubletake-dev/doubletake/fixtures"
)

// Tools answers the tool calls of one episode. It never runs anything that the
// fixture didn't name. Where it is an io.Closer, the engine closes it at the episode's
// end.
type Tools interface {
	Call(context.Context, ToolCall) (*ToolResult, error)
}

// ToolCall is one call with its place.
type ToolCall struct {
	fixtures.ToolCall
	Step int // counts the episode's calls from 1
	Turn int
}

// ToolResult is what the agent gets back.
type ToolResult struct {
	Content string
	Source  ToolSource
}

// ToolSource is where a tool result came from.
type ToolSource string

// The sources of tool results.
const (
	FromTape      ToolSource = "tape"      // as recorded
	FromStub      ToolSource = "stub"      // a stub that the fixture names
	FromSimulator ToolSource = "simulator" // a program that the fixture names
	FromSandbox   ToolSource = "sandbox"   // an MCP server that the fixture names
	Miss          ToolSource = "miss"      // no answer: a fixed text, the step is divergent
	// NotCalled: in step mode the recording did something else at this turn. Nothing
	// was called, and nothing hangs on the result.
	NotCalled ToolSource = "not_called"
)
