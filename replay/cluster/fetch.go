package cluster

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// fetch gets jobs of one run and has them handled, each in a slot, until its context ends;
// then it waits for those in flight. A run without jobs takes no slot from another run: only
// where it is the only one it waits for jobs in a slot.
func (w *work) fetch(ctx context.Context, consumer jetstream.Consumer, handle func(jetstream.Msg)) {
	w.open.Add(1)
	defer w.open.Add(-1)
	var handled sync.WaitGroup
	defer handled.Wait()
	var pause time.Duration
	for w.slot(ctx) {
		next, alone := fetchAtOnce, w.open.Load() == 1
		if alone {
			next = fetchNext
		}
		msg, err := next(ctx, consumer)
		if msg != nil {
			pause = 0
			handled.Go(func() {
				defer func() { <-w.slots }()
				handle(msg)
			})
			continue
		}
		<-w.slots
		switch {
		case err != nil:
			pause = longestPause // the servers have just changed
		case alone:
			pause = 0
		default:
			pause = min(max(2*pause, shortestPause), longestPause)
		}
		if !sleep(ctx, pause) {
			return
		}
	}
}

const (
	// fetchWait is how long the only run waits for a job at a time.
	fetchWait = 2 * time.Second
	// Several runs look for jobs after pauses, which grow as long as there are none.
	shortestPause = 10 * time.Millisecond
	longestPause  = 500 * time.Millisecond
)

// slot waits for a free slot; false says that nothing more is to be fetched.
func (w *work) slot(fetching context.Context) bool {
	select {
	case <-fetching.Done():
		return false
	case w.slots <- struct{}{}:
		if fetching.Err() != nil {
			<-w.slots
			return false
		}
		return true
	}
}

// fetchNext waits for one job, and returns nil where none came.
func fetchNext(ctx context.Context, consumer jetstream.Consumer) (jetstream.Msg, error) {
	ctx, cancel := context.WithTimeout(ctx, fetchWait)
	defer cancel()
	msg, err := consumer.Next(jetstream.FetchContext(ctx))
	if errors.Is(err, nats.ErrTimeout) || errors.Is(err, jetstream.ErrNoMessages) || ctx.Err() != nil {
		return msg, nil
	}
	return msg, err
}

// fetchAtOnce gets one job where one is there, else nil.
func fetchAtOnce(_ context.Context, consumer jetstream.Consumer) (jetstream.Msg, error) {
	batch, err := consumer.FetchNoWait(1)
	if err != nil {
		return nil, err
	}
	if msg, ok := <-batch.Messages(); ok {
		return msg, nil
	}
	return nil, batch.Error()
}
