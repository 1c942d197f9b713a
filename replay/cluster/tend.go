package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// tend does something again and again as long as the run is led. What fails may pass, and
// those who wait for jobs hear of what does not; what is full ends the waiting.
func (l *Leader) tend(ctx context.Context, every time.Duration, do func(context.Context) error) {
	for sleep(ctx, every) {
		if err := do(ctx); lasting(err) {
			l.fail(err)
		}
	}
}

// showLife stores that the leader lives. Without a leader that lives workers play nothing
// of a run: nobody would take in what came of it.
func (l *Leader) showLife(ctx context.Context) error {
	c := l.cluster
	return c.try(ctx, "showing that the run has a leader", func(ctx context.Context) error {
		_, err := c.live.Put(ctx, leaderKey(l.run), nil)
		return roomIn(c.live, err)
	})
}

// fail ends the waiting for jobs. The first reason counts.
func (l *Leader) fail(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fault == nil {
		l.fault = err
		close(l.broken)
	}
}

// hear listens to what workers say of themselves: where one cannot store what it played of
// this run for want of room, none can for long.
func (l *Leader) hear(workers jetstream.KeyWatcher) {
	for entry := range workers.Updates() {
		if entry == nil || entry.Operation() != jetstream.KeyValuePut {
			continue
		}
		var worker WorkerStatus
		if json.Unmarshal(entry.Value(), &worker) != nil {
			continue // of another version
		}
		if of := worker.Unstored[l.run]; of.Full {
			l.fail(fmt.Errorf("worker %s cannot store what it played: %s", worker.Name, of.Why))
		}
	}
}

// mend opens the queue of the run where it is gone, and takes out the jobs that it has
// given up and gives to nobody any more, so that they are published again.
func (l *Leader) mend(ctx context.Context) error {
	c := l.cluster
	return c.try(ctx, "looking after the queue of the run", func(ctx context.Context) error {
		idle, err := c.idle(ctx, l.run)
		if errors.Is(err, jetstream.ErrConsumerNotFound) {
			_, err = c.consumer(ctx, l.run)
		}
		if !idle || err != nil {
			return err
		}
		jobs, err := c.queued(ctx, l.run)
		if len(jobs) == 0 || err != nil {
			return err
		}
		var numbers []uint64
		for _, subject := range jobs {
			message, err := c.jobs.GetLastMsgForSubject(ctx, subject)
			if errors.Is(err, jetstream.ErrMsgNotFound) {
				continue // done meanwhile
			}
			if err != nil {
				return err
			}
			numbers = append(numbers, message.Sequence)
		}
		// Those were there before it is asked again whether anybody has or gets them.
		if idle, err = c.idle(ctx, l.run); !idle || err != nil {
			return err
		}
		for _, number := range numbers {
			if err := c.jobs.DeleteMsg(ctx, number); passing(err) {
				return err
			}
			// Else it is gone.
		}
		return nil
	})
}

// idle says whether the queue of a run has no job for a worker, and no worker has one.
func (c *Cluster) idle(ctx context.Context, run string) (bool, error) {
	consumer, err := c.jobs.Consumer(ctx, run)
	if err != nil {
		return false, err
	}
	info := consumer.CachedInfo() // of now
	return info.NumPending == 0 && info.NumAckPending == 0, nil
}

// queued are the subjects of the jobs of a run that have not come to their end.
func (c *Cluster) queued(ctx context.Context, run string) ([]string, error) {
	info, err := c.jobs.Info(ctx, jetstream.WithSubjectFilter(c.subject(run, "*")))
	if err != nil {
		return nil, err
	}
	var list []string
	for subject := range info.State.Subjects {
		list = append(list, subject)
	}
	return list, nil
}
