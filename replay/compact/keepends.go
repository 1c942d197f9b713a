package compact

import (
	"context"
	"fmt"
	"regexp"
	"strconv"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
)

// KeepEnds keeps the beginning of the conversation, up to a quarter of the
// budget, and as much of its end as fits, and says in between how many messages
// were left out. What [Truncate] never drops stays here, too.
type KeepEnds struct{ counter replay.Counter }

// headShare is the part of the budget that the beginning may take.
const headShare = 0.25

func gapNote(n int) string {
	return fmt.Sprintf("[%s left out here to save space]", plural(n, "message"))
}

var gapNotePattern = regexp.MustCompile(`^\[(\d+) messages? left out here to save space\]$`)

func isGapNote(m *replay.CompactMessage) bool { return gapSize(m) > 0 }

// gapSize is how many messages a note of an earlier compaction stands for.
func gapSize(m *replay.CompactMessage) int {
	if m.Role != fixtures.RoleUser {
		return 0
	}
	match := gapNotePattern.FindStringSubmatch(m.Content)
	if match == nil {
		return 0
	}
	n, err := strconv.Atoi(match[1])
	if err != nil {
		return 0
	}
	return n
}

// Compact leaves out the middle.
func (c *KeepEnds) Compact(ctx context.Context, req *replay.CompactRequest) (*replay.Compaction, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	h := newHistory(req, c.counter)
	if req.BudgetTokens <= 0 || h.total <= req.BudgetTokens {
		return unchanged(NameKeepEnds, fits(h.total, req.BudgetTokens)), nil
	}
	ids := newIDsFor(req)
	// The groups that always stay can cut what goes in two.
	const gaps = 2
	budget := req.BudgetTokens - gaps*c.counter.Count(userMessage("", gapNote(9*len(h.messages)+9), nil).Message)
	// The head: groups from the front, as long as they fit their share and leave
	// room for what always stays.
	head, used := 0, h.mustTokens()
	room := int(headShare * float64(budget))
	for head < len(h.groups) {
		cost := h.tokens[head]
		room -= cost
		if h.must[head] {
			cost = 0
		}
		if room < 0 || used+cost > budget || h.hasGapNote(head) {
			break
		}
		used += cost
		head++
	}
	headCost := used - h.mustTokens()
	tail := h.tail(head, 0, budget-headCost)
	out, gone := c.leaveOut(h, ids, head, tail)
	if len(gone) == 0 {
		return unchanged(NameKeepEnds, "the messages that always stay are all there is"), nil
	}
	if after := tokensOf(c.counter, out); after >= h.total {
		return unchanged(NameKeepEnds, notSmaller(after, h.total)), nil
	}
	return &replay.Compaction{Status: replay.Compacted, Messages: out, DroppedIDs: gone, Identity: identity(NameKeepEnds)}, nil
}

func (h *history) hasGapNote(g int) bool {
	for i := h.groups[g].start; i < h.groups[g].end; i++ {
		if isGapNote(&h.messages[i]) {
			return true
		}
	}
	return false
}

// leaveOut returns the messages without the groups from head to tail, with a note
// in each gap. A note counts what a note of before stood for, not the note.
func (c *KeepEnds) leaveOut(h *history, ids *newIDs, head, tail int) (out []replay.CompactMessage, gone []string) {
	left := 0
	closeGap := func() {
		if left > 0 {
			out = append(out, userMessage(ids.next(""), gapNote(left), nil))
			left = 0
		}
	}
	for g, span := range h.groups {
		stays := g < head || g >= tail || h.must[g]
		if stays {
			closeGap()
		}
		for i := span.start; i < span.end; i++ {
			if stays {
				out = append(out, asKept(h.messages[i]))
				continue
			}
			gone = append(gone, h.messages[i].ID)
			left += max(1, gapSize(&h.messages[i]))
		}
	}
	return out, gone
}

// Digest names what the output depends on.
func (c *KeepEnds) Digest() fixtures.Hash {
	return digestOf(NameKeepEnds, version, fmt.Sprintf("%T", c.counter))
}

func notSmaller(after, before int) string {
	return fmt.Sprintf("the result would have %d tokens and the context has %d", after, before)
}
