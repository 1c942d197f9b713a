package compact

import (
	"context"
	"fmt"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
)

// Truncate drops the oldest messages until the rest fits the budget and puts
// nothing in their place. A call and its results go together. The last message of
// the user stays wherever it stands, and so does the newest group, even if they
// are larger than the budget.
type Truncate struct{ counter replay.Counter }

// Compact drops the oldest messages.
func (c *Truncate) Compact(ctx context.Context, req *replay.CompactRequest) (*replay.Compaction, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	h := newHistory(req, c.counter)
	if req.BudgetTokens <= 0 || h.total <= req.BudgetTokens {
		return unchanged(NameTruncate, fits(h.total, req.BudgetTokens)), nil
	}
	start := h.tail(0, 0, req.BudgetTokens)
	kept, dropped := h.keep(func(g int) bool { return g >= start || h.must[g] })
	if len(dropped) == 0 {
		return unchanged(NameTruncate, "the messages that always stay are all there is"), nil
	}
	return &replay.Compaction{
		Status: replay.Compacted, Messages: kept, DroppedIDs: dropped, Identity: identity(NameTruncate),
	}, nil
}

// Digest names what the output depends on.
func (c *Truncate) Digest() fixtures.Hash {
	return digestOf(NameTruncate, version, fmt.Sprintf("%T", c.counter))
}

func fits(tokens, budget int) string {
	if budget <= 0 {
		return "no budget is set, so nothing has to go"
	}
	return fmt.Sprintf("the context of %d tokens is within the budget of %d", tokens, budget)
}
