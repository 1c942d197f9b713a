package compact

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
)

// DefaultKeepResults is how many tool results clear-tool-results leaves alone.
const DefaultKeepResults = 3

// clearedResult stands in place of a tool result that was cleared.
const clearedResult = "[tool result cleared]"

// clearedInput stands in place of the arguments of a call that were cleared.
const clearedInput = "{}"

// worthClearing is the length in bytes from which clearing a result saves anything, and
// worthClearingInput that of a call's arguments.
const (
	worthClearing      = 100
	worthClearingInput = 20
)

// ClearToolResults puts a short placeholder in place of every tool result but the
// newest few. Calls, and every other message, stay as they are, but for the arguments
// where those are to be cleared, too. The budget is not looked at. Its options are those
// of the tool result clearing that Anthropic's context editing offers
// (clear_tool_uses_20250919).
type ClearToolResults struct {
	keep, toolUses, atLeast int
	exclude                 []string
	inputs                  bool
	counter                 replay.Counter
}

func newClearToolResults(options Options) *ClearToolResults {
	c := &ClearToolResults{
		keep: options.Keep, toolUses: options.ToolUses, atLeast: options.ClearAtLeast,
		exclude: slices.Compact(slices.Sorted(slices.Values(options.ExcludeTools))), inputs: options.ClearToolInputs,
		counter: counterOf(options.Counter),
	}
	if c.keep == 0 {
		c.keep = DefaultKeepResults
	}
	return c
}

// Compact clears the older tool results.
func (c *ClearToolResults) Compact(ctx context.Context, req *replay.CompactRequest) (*replay.Compaction, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if uses := countCalls(req.Messages); c.toolUses > 0 && uses <= c.toolUses {
		return unchanged(NameClearToolResults, fmt.Sprintf("the context holds %s, and %d are left alone", plural(uses, "tool call"), c.toolUses)), nil
	}
	ids := newIDsFor(req)
	out := &replay.Compaction{Status: replay.Compacted, Identity: identity(NameClearToolResults)}
	out.Messages = make([]replay.CompactMessage, len(req.Messages))
	for i := range req.Messages {
		out.Messages[i] = asKept(req.Messages[i])
	}
	old := c.old(req.Messages)
	for i := range out.Messages {
		m := &out.Messages[i]
		cleared := false
		if old.results[i] && (len(m.Content) >= worthClearing || m.Parts != nil) {
			m.Content, m.Parts, m.Extra, cleared = clearedResult, nil, nil, true
		}
		if c.inputs && len(old.calls[i]) > 0 {
			if calls, saved := clearInputs(m.ToolCalls, old.calls[i]); saved {
				m.ToolCalls, cleared = calls, true
			}
		}
		if !cleared {
			continue
		}
		out.DroppedIDs = append(out.DroppedIDs, m.ID)
		m.ID = ids.next(m.ID)
		m.Kind = replay.KindSummary
	}
	if len(out.DroppedIDs) == 0 {
		return unchanged(NameClearToolResults, fmt.Sprintf("there is nothing to clear but the newest %s", plural(c.keep, "tool result"))), nil
	}
	if saved := tokensOf(c.counter, req.Messages) - tokensOf(c.counter, out.Messages); c.atLeast > 0 && saved < c.atLeast {
		return unchanged(NameClearToolResults, fmt.Sprintf("clearing would save %s, and it has to be %d at least", plural(max(0, saved), "token"), c.atLeast)), nil
	}
	return out, nil
}

func countCalls(messages []replay.CompactMessage) int {
	n := 0
	for i := range messages {
		n += len(messages[i].ToolCalls)
	}
	return n
}

// oldResults are what may be cleared.
type oldResults struct {
	results map[int]bool         // by the message
	calls   map[int]map[int]bool // the calls that they answer, by the message and the place in it
}

// old finds the results that are neither among the newest nor of an excluded tool, and
// their calls.
func (c *ClearToolResults) old(messages []replay.CompactMessage) oldResults {
	type place struct{ message, call int }
	caller := map[int]place{} // of a result, by its message
	last := map[string]place{}
	newer := 0 // results from here on
	for i := range messages {
		for k, call := range messages[i].ToolCalls {
			last[call.ID] = place{i, k} // ids may come back
		}
		if messages[i].Role == fixtures.RoleTool {
			newer++
			if from, known := last[messages[i].ToolCallID]; known {
				caller[i] = from
			}
		}
	}
	old := oldResults{map[int]bool{}, map[int]map[int]bool{}}
	for i := range messages {
		if messages[i].Role != fixtures.RoleTool {
			continue
		}
		if newer--; newer < c.keep {
			break
		}
		from, known := caller[i]
		if known && slices.Contains(c.exclude, messages[from.message].ToolCalls[from.call].Name) {
			continue
		}
		old.results[i] = true
		if known {
			if old.calls[from.message] == nil {
				old.calls[from.message] = map[int]bool{}
			}
			old.calls[from.message][from.call] = true
		}
	}
	return old
}

// clearInputs returns the calls without the arguments of some, and whether that saved
// anything.
func clearInputs(calls []fixtures.ToolCall, which map[int]bool) ([]fixtures.ToolCall, bool) {
	out := slices.Clone(calls)
	saved := false
	for k := range out {
		if which[k] && len(out[k].Arguments) >= worthClearingInput {
			out[k].Arguments, saved = json.RawMessage(clearedInput), true
		}
	}
	return out, saved
}

// Digest names what the output depends on.
func (c *ClearToolResults) Digest() fixtures.Hash {
	parts := []string{NameClearToolResults, version, strconv.Itoa(c.keep)}
	if c.toolUses > 0 || c.atLeast > 0 || len(c.exclude) > 0 || c.inputs {
		parts = append(parts, strconv.Itoa(c.toolUses), strconv.Itoa(c.atLeast), strconv.FormatBool(c.inputs))
		if c.atLeast > 0 {
			parts = append(parts, fmt.Sprintf("%T", c.counter))
		}
		parts = append(parts, c.exclude...)
	}
	return digestOf(parts...)
}
