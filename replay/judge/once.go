package judge

import (
	"context"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
)

// pending is a question that was asked or is being asked.
type pending struct {
	done  chan struct{} // closed once the answer is there
	reply *reply
	err   error
}

// once asks a question that several arms have in common one time: contexts of the same
// bytes have the same answer, whether answers are stored or not. An answer that does not
// count is asked for again.
func (j *Judge) once(ctx context.Context, record *replay.Record, messages []fixtures.Message, statement, probe string) (*reply, error) {
	key, err := fixtures.HashJSON([]any{messages, statement, probe})
	if err != nil {
		return nil, err
	}
	mine := &pending{done: make(chan struct{})}
	other, asked := j.pending.LoadOrStore(key, mine)
	if !asked {
		defer close(mine.done)
		mine.reply, mine.err = j.question(ctx, record, messages, statement, probe)
		return mine.reply, mine.err
	}
	p, ok := other.(*pending)
	if !ok {
		return j.question(ctx, record, messages, statement, probe)
	}
	select {
	case <-p.done:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if p.err != nil || p.reply.Verdict == replay.Unjudged {
		return j.question(ctx, record, messages, statement, probe)
	}
	return p.reply, nil
}
