package compact

import (
	"context"
	"fmt"
	"strconv"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
)

// DefaultKeepResults is how many tool results clear-tool-results leaves alone.
const DefaultKeepResults = 3

// clearedResult stands in place of a tool result that was cleared.
const clearedResult = "[tool result cleared]"

// worthClearing is the length in bytes from which clearing a result saves anything.
const worthClearing = 100

// ClearToolResults puts a short placeholder in place of every tool result but the
// newest few. Calls, and every other message, stay as they are. The budget is not
// looked at.
type ClearToolResults struct{ keep int }

func newClearToolResults(options Options) *ClearToolResults {
	c := &ClearToolResults{keep: options.Keep}
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
	ids := newIDsFor(req)
	out := &replay.Compaction{Status: replay.Compacted, Identity: identity(NameClearToolResults)}
	out.Messages = make([]replay.CompactMessage, len(req.Messages))
	seen := 0
	for i := len(req.Messages) - 1; i >= 0; i-- {
		out.Messages[i] = asKept(req.Messages[i])
		if req.Messages[i].Role == fixtures.RoleTool {
			seen++
		}
	}
	for i := range out.Messages {
		m := &out.Messages[i]
		if m.Role != fixtures.RoleTool {
			continue
		}
		seen-- // how many are newer
		if seen < c.keep || len(m.Content) < worthClearing && m.Parts == nil {
			continue
		}
		out.DroppedIDs = append(out.DroppedIDs, m.ID)
		m.ID = ids.next(m.ID)
		m.Kind = replay.KindSummary
		m.Content, m.Parts, m.Extra = clearedResult, nil, nil
	}
	if len(out.DroppedIDs) == 0 {
		return unchanged(NameClearToolResults, fmt.Sprintf("there is nothing to clear but the newest %s", plural(c.keep, "tool result"))), nil
	}
	return out, nil
}

// Digest names what the output depends on.
func (c *ClearToolResults) Digest() fixtures.Hash {
	return digestOf(NameClearToolResults, version, strconv.Itoa(c.keep))
}
