package compact

import (
	"context"
	"fmt"
	"slices"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
)

// Recorded answers with what the recorded agent itself kept when it compacted.
// Where the recording holds no compaction at that point, or not what the agent kept in
// it, it refuses: that is no fault of its own (see [replay.Compaction.NotRecorded]).
type Recorded struct{}

// Compact returns the recorded context.
func (Recorded) Compact(ctx context.Context, req *replay.CompactRequest) (*replay.Compaction, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	out := &replay.Compaction{Identity: identity(NameRecorded)}
	if reason := missing(req); reason != "" {
		out.Status, out.Reason, out.NotRecorded = replay.Refused, reason, true
		return out, nil
	}
	printed := make([]replay.CompactMessage, len(req.Recorded.Context))
	for i, m := range req.Recorded.Context {
		m.Turn = 0 // a number in the recording of the compaction is none of the conversation
		printed[i].Message = m
	}
	messages, dropped := settle(req, printed)
	if err := replay.CheckPairsAfter(replay.Texts(req.Messages), replay.Texts(messages)); err != nil {
		out.Status = replay.Failed
		out.Reason = fmt.Sprintf("the context recorded after turn %d is broken: %v", req.Recorded.AfterTurn, err)
		return out, nil
	}
	out.Status, out.Messages, out.DroppedIDs = replay.Compacted, messages, dropped
	if len(dropped) == 0 && len(messages) == len(req.Messages) {
		return unchanged(NameRecorded, "the recorded agent kept everything"), nil
	}
	return out, nil
}

// missing says why the recording does not hold what the agent kept, "" where it does.
func missing(req *replay.CompactRequest) string {
	c := req.Recorded
	switch {
	case c == nil:
		return fmt.Sprintf("the recording holds no compaction after turn %d", req.AfterTurn)
	case string(c.Extra["opaque"]) == "true" || slices.ContainsFunc(c.Context, func(m fixtures.Message) bool { return replay.IsOpaque(&m) }):
		return fmt.Sprintf("the compaction recorded after turn %d is opaque: only its provider can read what the agent kept", c.AfterTurn)
	case string(c.Extra["empty"]) == "true" || len(c.Context) == 0:
		return fmt.Sprintf("the recording does not hold what the agent kept in its compaction after turn %d", c.AfterTurn)
	}
	return ""
}

// Digest names what the output depends on.
func (Recorded) Digest() fixtures.Hash { return digestOf(NameRecorded, version) }
