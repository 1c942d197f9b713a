package compact

import (
	"context"
	"fmt"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
)

// Recorded answers with what the recorded agent itself kept when it compacted.
// Where the recording holds no compaction at that point, it refuses.
type Recorded struct{}

// Compact returns the recorded context.
func (Recorded) Compact(ctx context.Context, req *replay.CompactRequest) (*replay.Compaction, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	out := &replay.Compaction{Identity: identity(NameRecorded)}
	if req.Recorded == nil {
		out.Status = replay.Refused
		out.Reason = fmt.Sprintf("the recording holds no compaction after turn %d", req.AfterTurn)
		return out, nil
	}
	if len(req.Recorded.Context) == 0 {
		out.Status = replay.Failed
		out.Reason = fmt.Sprintf("the compaction recorded after turn %d kept nothing", req.Recorded.AfterTurn)
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

// Digest names what the output depends on.
func (Recorded) Digest() fixtures.Hash { return digestOf(NameRecorded, version) }
