package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/doubletake-dev/doubletake/replay"
)

// Leader publishes the episodes of a run and takes in what came of them: the executor of
// a run that is played elsewhere.
type Leader struct {
	cluster *Cluster
	run     string // its name in keys
	// Contexts is where the contexts of episodes are fetched to.
	contexts *replay.Contexts
	// Spent hears of every episode, and says with an error that nothing more may be spent;
	// nil for no bound. It is to be set before the first job.
	Spent func(*replay.Episode) error
	// Drain is closed when nothing more is to be waited for; nil for never.
	Drain <-chan struct{}

	stop    context.CancelFunc
	watched sync.WaitGroup

	mu      sync.Mutex
	waiting map[string]chan []byte // by the job's name; nil is news that must be looked up
	over    error                  // why nothing more is spent
}

// lookAgain is how often a job that is waited for is looked up, in case the news of it
// got lost.
const lookAgain = 15 * time.Second

// Lead publishes a run. The jobs of a leader of the same run that died are still there,
// and so is what came of them.
func (c *Cluster) Lead(ctx context.Context, manifest Manifest, contexts *replay.Contexts) (*Leader, error) {
	l := &Leader{cluster: c, run: manifest.name(), contexts: contexts, waiting: map[string]chan []byte{}}
	data, err := json.Marshal(manifest)
	if err != nil {
		return nil, fmt.Errorf("publishing the run: %w", err)
	}
	if _, err := c.consumer(ctx, l.run); err != nil {
		return nil, fmt.Errorf("publishing the run: %w", err)
	}
	if err := c.drop(ctx, c.data, stopKey(l.run)); err != nil {
		return nil, fmt.Errorf("publishing the run: %w", err)
	}
	watching, stop := context.WithCancel(context.WithoutCancel(ctx))
	watcher, err := c.data.Watch(watching, resultKey(l.run, "*"), jetstream.UpdatesOnly())
	if err == nil {
		err = c.put(ctx, c.data, runKey(l.run), data)
	}
	if err != nil {
		stop()
		return nil, fmt.Errorf("publishing the run: %w", err)
	}
	l.stop = stop
	l.watched.Go(func() { l.watch(watcher) })
	return l, nil
}

// watch hands the results that come in to those who wait for them.
func (l *Leader) watch(watcher jetstream.KeyWatcher) {
	for entry := range watcher.Updates() {
		if entry == nil || entry.Operation() != jetstream.KeyValuePut {
			continue
		}
		name := entry.Key()[len(resultKey(l.run, "")):]
		l.mu.Lock()
		if waiting := l.waiting[name]; waiting != nil {
			select {
			case waiting <- entry.Value():
			default: // it has news already
			}
		}
		l.mu.Unlock()
	}
}

// Close ends the run: workers let go of it, and jobs that nobody has begun are taken back.
// What is in flight is stored when it ends, and is there when the run goes on.
func (l *Leader) Close(ctx context.Context) error {
	l.stop()
	l.watched.Wait()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), connectWait)
	defer cancel()
	c := l.cluster
	return errors.Join(
		c.drop(ctx, c.data, runKey(l.run)),
		c.try(ctx, "taking jobs back", func(ctx context.Context) error {
			return c.jobs.Purge(ctx, jetstream.WithPurgeSubject(c.subject(l.run, "*")))
		}),
		c.try(ctx, "closing the queue of the run", func(ctx context.Context) error {
			err := c.jobs.DeleteConsumer(ctx, l.run)
			if errors.Is(err, jetstream.ErrConsumerNotFound) {
				return nil
			}
			return err
		}),
	)
}

// Play has the job played by a worker, unless what came of it is stored.
func (l *Leader) Play(ctx context.Context, job replay.Job) (*replay.Episode, error) {
	name := jobName(job.Key)
	news := make(chan []byte, 1)
	l.mu.Lock()
	l.waiting[name] = news
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.waiting, name)
	}()
	result, err := l.begin(ctx, job, name)
	for result == nil && err == nil {
		result, err = l.wait(ctx, job, news)
		if result == nil && err == nil {
			err = l.publish(ctx, job, name) // nothing if it is still there
		}
	}
	if err != nil {
		return nil, fmt.Errorf("playing %s in the cluster: %w", job.Key, err)
	}
	if result.Error != "" {
		return nil, fmt.Errorf("playing %s in the cluster: worker %s: %s", job.Key, result.Worker, result.Error)
	}
	if err := l.fetch(ctx, result.Episode); err != nil {
		return nil, fmt.Errorf("playing %s in the cluster: %w", job.Key, err)
	}
	l.spend(ctx, result.Episode)
	return result.Episode, nil
}

// begin returns the stored result, or publishes the job.
func (l *Leader) begin(ctx context.Context, job replay.Job, name string) (*Result, error) {
	c := l.cluster
	result, _, err := c.result(ctx, l.run, job.Key)
	if err != nil || result != nil && result.finished() {
		return result, err
	}
	if over := l.isOver(); over != nil {
		return &Result{Episode: unplayed(job, over.Error())}, nil
	}
	if result != nil {
		// A fault of the world, before this run went on.
		if err := errors.Join(c.drop(ctx, c.data, resultKey(l.run, name)), c.drop(ctx, c.data, deadKey(l.run, name))); err != nil {
			return nil, err
		}
	}
	return nil, l.publish(ctx, job, name)
}

// unplayed is the episode of a job that came to nothing.
func unplayed(job replay.Job, reason string) *replay.Episode {
	return &replay.Episode{Key: job.Key, ConversationID: job.Fixture.ConversationID, Status: replay.Faulted, Reason: reason}
}

// order is a job on the wire.
type order struct {
	Key          replay.Key `json:"key"`
	Conversation string     `json:"conversation_id"`
}

// publish puts a job into the queue, unless it is there.
func (l *Leader) publish(ctx context.Context, job replay.Job, name string) error {
	c := l.cluster
	data, err := json.Marshal(order{job.Key, job.Fixture.ConversationID})
	if err != nil {
		return err
	}
	err = c.try(ctx, "publishing a job", func(ctx context.Context) error {
		_, err := c.js.Publish(ctx, c.subject(l.run, name), data, jetstream.WithExpectLastSequencePerSubject(0))
		return err
	})
	if wrongSequence(err) {
		return nil
	}
	return err
}

// wait waits for news of a job; none and no error says that it is to be seen to again.
func (l *Leader) wait(ctx context.Context, job replay.Job, news <-chan []byte) (*Result, error) {
	timer := time.NewTimer(lookAgain)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-l.Drain:
		return nil, replay.ErrInterrupted
	case packed := <-news:
		return l.cluster.decodeResult(ctx, packed, job.Key)
	case <-timer.C:
		result, _, err := l.cluster.result(ctx, l.run, job.Key)
		return result, err
	}
}

// fetch brings the contexts of an episode into the run's folder.
func (l *Leader) fetch(ctx context.Context, e *replay.Episode) error {
	for _, hash := range episodeContexts(e) {
		if l.contexts.Has(hash) {
			continue
		}
		data, err := l.cluster.blob(ctx, string(hash))
		if err != nil {
			return err
		}
		if err := l.contexts.Import(hash, data); err != nil {
			return err
		}
	}
	return nil
}

// spend counts what an episode cost. Once nothing more may be spent the workers are told,
// so that they begin nothing of the run any more.
func (l *Leader) spend(ctx context.Context, e *replay.Episode) {
	if l.Spent == nil {
		return
	}
	if over := l.Spent(e); over != nil {
		l.Stop(ctx, over)
	}
}

// Stop has nothing more be played, and says why: jobs that are asked for end unplayed with
// that reason, unless what came of them is stored. The first reason counts.
func (l *Leader) Stop(ctx context.Context, over error) {
	l.mu.Lock()
	first := l.over == nil
	if first {
		l.over = over
	}
	l.mu.Unlock()
	if first {
		// Where they can't be told they play what is published, which is a bounded number.
		_ = l.cluster.put(ctx, l.cluster.data, stopKey(l.run), []byte(over.Error()))
	}
}

func (l *Leader) isOver() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.over
}

// Dead is a job that was given up: it was given to workers again and again, and none came
// to its end.
type Dead struct {
	Run          string     `json:"run"`
	Key          replay.Key `json:"key"`
	Conversation string     `json:"conversation_id"`
	Deliveries   uint64     `json:"deliveries"`
	At           time.Time  `json:"at"`
	Worker       string     `json:"worker"` // who gave it up
}
