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

	broken chan struct{} // closed when fault is set
	// room is held whole by who looks whether the queue has room, so that no other job of
	// this leader takes it meanwhile.
	room sync.RWMutex

	mu      sync.Mutex
	waiting map[string]*waiting // by the job's name
	over    error               // why nothing more is spent
	fault   error               // why what workers play can't be stored
}

// waiting is a job that is waited for.
type waiting struct {
	news   chan []byte // nil is news that must be looked up
	queued bool        // it was put into the queue
}

// lookAgain is how often a job that is waited for is looked up, in case the news of it
// got lost.
const lookAgain = 15 * time.Second

// Lead publishes a run. The jobs of a leader of the same run that died are still there,
// and so is what came of them.
func (c *Cluster) Lead(ctx context.Context, manifest Manifest, contexts *replay.Contexts) (*Leader, error) {
	l := &Leader{cluster: c, run: manifest.name(), contexts: contexts, waiting: map[string]*waiting{}, broken: make(chan struct{})}
	data, err := json.Marshal(manifest)
	if err != nil {
		return nil, fmt.Errorf("publishing the run: %w", err)
	}
	if _, err := c.consumer(ctx, l.run); err != nil {
		return nil, fmt.Errorf("publishing the run: %w", err)
	}
	if err := l.mend(ctx); err != nil {
		return nil, fmt.Errorf("publishing the run: %w", err)
	}
	if err := c.drop(ctx, c.data, stopKey(l.run)); err != nil {
		return nil, fmt.Errorf("publishing the run: %w", err)
	}
	watching, stop := context.WithCancel(context.WithoutCancel(ctx))
	results, err := c.data.Watch(watching, resultKey(l.run, "*"), jetstream.UpdatesOnly())
	var workers jetstream.KeyWatcher
	if err == nil {
		workers, err = c.live.Watch(watching, workerKey("*"), jetstream.UpdatesOnly())
	}
	if err == nil {
		err = l.showLife(ctx)
	}
	publish := func(ctx context.Context) error { return c.put(ctx, c.data, runKey(l.run), data) }
	if err == nil {
		err = publish(ctx)
	}
	if err != nil {
		stop()
		return nil, fmt.Errorf("publishing the run: %w", err)
	}
	l.stop = stop
	l.watched.Go(func() { l.watch(results) })
	l.watched.Go(func() { l.hear(workers) })
	l.watched.Go(func() { l.tend(watching, c.options.AckWait/6, l.showLife) })
	l.watched.Go(func() { l.tend(watching, lookAgain, l.mend) })
	l.watched.Go(func() { l.tend(watching, RenewEvery, publish) })
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
			case waiting.news <- entry.Value():
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
	over := c.drop(ctx, c.data, runKey(l.run))
	if lasting(over) { // even the marker of what is gone has no room
		over = c.forget(ctx, runKey(l.run))
	}
	return errors.Join(over, c.drop(ctx, c.live, leaderKey(l.run)), c.endQueue(ctx, l.run))
}

// endQueue takes the jobs of a run and their queue out of the cluster.
func (c *Cluster) endQueue(ctx context.Context, run string) error {
	return errors.Join(
		c.try(ctx, "taking jobs back", func(ctx context.Context) error {
			return c.jobs.Purge(ctx, jetstream.WithPurgeSubject(c.subject(run, "*")))
		}),
		c.try(ctx, "closing the queue of the run", func(ctx context.Context) error {
			err := c.jobs.DeleteConsumer(ctx, run)
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
	own := &waiting{news: make(chan []byte, 1)}
	l.mu.Lock()
	l.waiting[name] = own
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.waiting, name)
	}()
	result, err := l.begin(ctx, job, name)
	for result == nil && err == nil {
		result, err = l.wait(ctx, job, own.news)
		if result == nil && err == nil {
			err = l.publish(ctx, job, name) // nothing if it is still there
		}
	}
	if err != nil {
		return nil, fmt.Errorf("playing %s in the cluster: %w", job.Key, err)
	}
	if err := l.fetch(ctx, result.Episode); err != nil {
		return nil, fmt.Errorf("playing %s in the cluster: %w", job.Key, err)
	}
	l.spend(ctx, result.Episode)
	return result.Episode, nil
}

// begin returns the stored result with its contexts, or publishes the job.
func (l *Leader) begin(ctx context.Context, job replay.Job, name string) (*Result, error) {
	c := l.cluster
	result, _, err := c.result(ctx, l.run, job.Key)
	if err != nil {
		return nil, err
	}
	if result != nil && result.finished() {
		// Other episodes may have stored its contexts long before it, which are gone then.
		if err := l.fetch(ctx, result.Episode); !errors.Is(err, errGone) {
			return result, err
		}
	}
	if over := l.isOver(); over != nil {
		return &Result{Episode: unplayed(job, over.Error())}, nil
	}
	if result != nil {
		// A fault of the world, before this run went on, or nothing that can be shown.
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

// publish puts a job into the queue, unless it is there. Where the queue is full it waits
// for as long as jobs of this run leave it.
func (l *Leader) publish(ctx context.Context, job replay.Job, name string) error {
	c := l.cluster
	data, err := json.Marshal(order{job.Key, job.Fixture.ConversationID})
	if err != nil {
		return err
	}
	put := func() error {
		err := c.try(ctx, "publishing a job", func(ctx context.Context) error {
			_, err := c.js.Publish(ctx, c.subject(l.run, name), data, jetstream.WithExpectLastSequencePerSubject(0))
			return room(c.base()+"_jobs", err)
		})
		if err != nil && !wrongSequence(err) { // else it is there
			return err
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		if own := l.waiting[name]; own != nil {
			own.queued = true
		}
		return nil
	}
	l.room.RLock()
	err = put()
	l.room.RUnlock()
	for tries := 0; lasting(err) && tries < roomTries; {
		if err := l.pause(ctx, roomAgain); err != nil {
			return err
		}
		l.room.Lock()
		others := l.othersQueued(name)
		err = put()
		l.room.Unlock()
		if tries++; others {
			tries = 0
		}
	}
	return err
}

// It is tried every roomAgain whether the queue has room by then; after roomTries without
// a job of this run in it, it is full of what others wait for.
const (
	roomAgain = 250 * time.Millisecond
	roomTries = 8
)

// othersQueued says whether a job other than that with the name was put into the queue and
// has not come to its end.
func (l *Leader) othersQueued(name string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for other, w := range l.waiting {
		if other != name && w.queued {
			return true
		}
	}
	return false
}

// pause waits, unless nothing more is to be waited for; the error says why.
func (l *Leader) pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-l.Drain:
		return replay.ErrInterrupted
	case <-l.broken:
		return l.fault
	case <-timer.C:
		return nil
	}
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
	case <-l.broken:
		return nil, l.fault
	case packed := <-news:
		return outcome(l.cluster.decodeResult(ctx, packed, job.Key))
	case <-timer.C:
		result, _, err := l.cluster.result(ctx, l.run, job.Key)
		return outcome(result, err)
	}
}

// outcome is a result, or nil for what is none: a worker could not play and another one is
// to, or it is too large for a message and gone.
func outcome(r *Result, err error) (*Result, error) {
	if errors.Is(err, errGone) || err == nil && r != nil && r.Error != "" {
		return nil, nil
	}
	return r, err
}

// fetch brings the contexts of an episode into the run's folder.
func (l *Leader) fetch(ctx context.Context, e *replay.Episode) error {
	for _, hash := range e.ContextHashes() {
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
	// Reason is why the last worker could not play it that came to say so; empty for none.
	Reason string `json:"reason,omitempty"`
}
