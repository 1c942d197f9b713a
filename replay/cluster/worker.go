package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
)

// Player plays the episodes of one run.
type Player struct {
	// Play plays one episode, as [replay.Executor] does.
	Play func(context.Context, replay.Key) (*replay.Episode, error)
	// Contexts is where the contexts of its episodes are.
	Contexts *replay.Contexts
	Close    func() error
}

// Worker takes jobs and plays them.
type Worker struct {
	// Name tells the worker apart from the others.
	Name string
	// Slots is how many episodes it plays at once, at least 1.
	Slots int
	// Open prepares for a run. Its error says why this worker cannot play for it.
	Open func(context.Context, *Manifest) (*Player, error)
	// Drain is closed when nothing more is to begin; what is in flight ends. Nil for never.
	Drain <-chan struct{}
	// Say hears what the user should know; may be nil.
	Say func(string)
}

// work is a worker at work.
type work struct {
	*Worker
	cluster *Cluster
	slots   chan struct{}

	// open is how many runs it plays for.
	open atomic.Int64
	// changed has the fleet hear of the status at once.
	changed chan struct{}

	mu     sync.Mutex
	status WorkerStatus

	// published are the runs that are not over, led until when the leader of a run counts
	// as alive, and runs are those of both, all by the run's name.
	published map[string]published
	led       map[string]time.Time
	runs      map[string]*runWork
	// working are all runs that are not over, those that were let go of included.
	working sync.WaitGroup
}

// published is a run that is not over.
type published struct {
	manifest []byte
	heard    time.Time
}

// runWork is what a worker does for one run.
type runWork struct {
	manifest []byte
	stop     context.CancelFunc
	over     <-chan struct{} // closed when it was stopped
	known    sync.Map        // by the hashes of contexts that the cluster has, when that was seen to
}

// Work takes jobs and plays them until it is drained or the context ends. The error is the
// context's cause, or why the cluster can't be used any more.
func (c *Cluster) Work(ctx context.Context, worker Worker) error {
	w := &work{
		Worker: &worker, cluster: c, slots: make(chan struct{}, max(1, worker.Slots)), changed: make(chan struct{}, 1),
		published: map[string]published{}, led: map[string]time.Time{}, runs: map[string]*runWork{},
	}
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	w.status = WorkerStatus{Name: worker.Name, Host: host, PID: os.Getpid(), Slots: cap(w.slots), Since: time.Now().UTC(), Refused: map[string]string{}, Unstored: map[string]Unstored{}}
	inner, cancel := context.WithCancel(ctx)
	var signs sync.WaitGroup
	defer signs.Wait()
	defer cancel()
	// What a leader left behind that died does not count: one that lives shows it soon.
	leaders, err := c.live.Watch(inner, leaderKey("*"), jetstream.UpdatesOnly())
	if err != nil {
		return fmt.Errorf("watching for leaders: %w", err)
	}
	runs, err := c.data.Watch(inner, runKey("*"))
	if err != nil {
		return fmt.Errorf("watching for runs: %w", err)
	}
	signs.Go(func() { w.showSigns(inner) })
	defer w.end()
	look := time.NewTicker(c.options.AckWait / 4)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-worker.Drain:
			return nil
		case entry, ok := <-runs.Updates():
			if !ok {
				return errors.New("watching for runs: the cluster ended it; start the worker again")
			}
			if entry != nil {
				w.heard(ctx, entry)
			}
		case entry, ok := <-leaders.Updates():
			if !ok {
				return errors.New("watching for leaders: the cluster ended it; start the worker again")
			}
			if entry != nil {
				w.heardLeader(ctx, entry)
			}
		case now := <-look.C:
			w.missLeaders(now)
		}
	}
}

// end lets what is in flight end.
func (w *work) end() {
	for _, run := range w.runs {
		run.stop()
	}
	w.working.Wait()
}

func (w *work) say(format string, args ...any) {
	if w.Say != nil {
		w.Say(fmt.Sprintf(format, args...))
	}
}

// heard acts on news of a run: it begins, or goes on with another leader, or is over.
func (w *work) heard(ctx context.Context, entry jetstream.KeyValueEntry) {
	name := entry.Key()[len(runKey("")):]
	if entry.Operation() != jetstream.KeyValuePut {
		delete(w.published, name)
		w.leave(name)
		return
	}
	w.published[name] = published{entry.Value(), time.Now()}
	if run := w.runs[name]; run == nil || string(run.manifest) != string(entry.Value()) || w.refused(name) {
		w.begin(ctx, name)
	}
}

// heardLeader acts on a sign of life of the leader of a run, or on its farewell.
func (w *work) heardLeader(ctx context.Context, entry jetstream.KeyValueEntry) {
	name := entry.Key()[len(leaderKey("")):]
	if entry.Operation() != jetstream.KeyValuePut {
		delete(w.led, name)
		w.leave(name)
		return
	}
	w.led[name] = time.Now().Add(w.cluster.options.AckWait)
	if w.runs[name] == nil {
		w.begin(ctx, name)
	}
}

// missLeaders leaves the runs whose leaders have shown no sign of life for long. Their jobs
// wait until a leader is back.
func (w *work) missLeaders(now time.Time) {
	for name, until := range w.led {
		if now.Before(until) {
			continue
		}
		delete(w.led, name)
		if w.runs[name] != nil {
			w.say("run %s has no leader any more; its jobs wait for one", name)
		}
		w.leave(name)
	}
	for name, run := range w.published {
		if _, led := w.led[name]; !led && now.Sub(run.heard) > keepData {
			delete(w.published, name) // the cluster has forgotten it without a word
		}
	}
}

// leave ends the work for a run; what is in flight ends by itself.
func (w *work) leave(name string) {
	if run := w.runs[name]; run != nil {
		run.stop()
		delete(w.runs, name)
	}
	w.count(func(s *WorkerStatus) { delete(s.Refused, name); delete(s.Unstored, name) })
}

// begin begins to work for a run, if it is published and has a leader.
func (w *work) begin(ctx context.Context, name string) {
	run, published := w.published[name]
	if _, led := w.led[name]; !published || !led {
		return
	}
	w.leave(name)
	running, stop := context.WithCancel(ctx)
	fresh := &runWork{manifest: run.manifest, stop: stop, over: running.Done()}
	w.runs[name] = fresh
	w.working.Go(func() {
		defer stop()
		said := ""
		for {
			err := w.work(ctx, running, name, fresh)
			if err == nil || running.Err() != nil {
				return
			}
			w.count(func(s *WorkerStatus) { s.Refused[name] = err.Error() })
			if text := err.Error(); text != said {
				w.say("not playing for run %s: %s", name, text)
				said = text
			}
			if !sleep(running, openAgain) {
				return
			}
		}
	})
}

// openAgain is how often a worker that cannot play for a run sees whether it can by then.
const openAgain = time.Minute

// refused says whether this worker does not play for a run.
func (w *work) refused(name string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, no := w.status.Refused[name]
	return no
}

// work plays for one run until fetching ends. Its error says why it does not play.
func (w *work) work(ctx, fetching context.Context, name string, run *runWork) error {
	c := w.cluster
	data, err := c.unpack(ctx, run.manifest)
	if err != nil {
		return err
	}
	var manifest Manifest
	if err := json.Unmarshal(data, &manifest); err != nil {
		return fmt.Errorf("reading the run: %w", err)
	}
	player, err := w.Open(ctx, &manifest)
	if err != nil {
		return err
	}
	w.count(func(s *WorkerStatus) { delete(s.Refused, name) })
	w.say("playing for run %s", manifest.Run)
	consumer, err := c.consumer(ctx, name)
	if err != nil {
		return errors.Join(err, player.Close())
	}
	able, letGo := context.WithCancelCause(fetching)
	defer letGo(nil)
	w.fetch(able, consumer, func(msg jetstream.Msg) { w.handle(ctx, name, run, player, msg, letGo) })
	err = player.Close()
	if unable := new(unableError); errors.As(context.Cause(able), &unable) {
		return errors.Join(unable, err)
	}
	return err
}

// handle plays one job and stores what came of it before it says that it is done. Where
// this worker can't play it lets go of the run, and leaves the job to the others.
func (w *work) handle(ctx context.Context, name string, run *runWork, player *Player, msg jetstream.Msg, letGo func(error)) {
	w.count(func(s *WorkerStatus) { s.Running++ })
	defer w.count(func(s *WorkerStatus) { s.Running-- })
	alive, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		for sleep(alive, w.cluster.options.AckWait/3) {
			_ = msg.InProgress() // where it is lost the job is delivered again, and found done
		}
	}()
	var job order
	if err := json.Unmarshal(msg.Data(), &job); err != nil {
		w.say("a job that can't be read: %v", err)
		_ = msg.Term()
		return
	}
	err := w.settle(ctx, name, run, player, msg, job)
	if err == nil {
		_ = msg.Ack() // where it is lost the same holds
		return
	}
	// Where this is lost the job is delivered again for want of signs of life.
	if ctx.Err() != nil {
		_ = msg.Nak()
		return
	}
	if errors.As(err, new(*unableError)) {
		letGo(err)
	}
	if !run.left() {
		w.say("%s: %v; another try follows", job.Key, err)
	}
	_ = msg.NakWithDelay(playAgain)
}

// playAgain is when a job is given out again that could not be settled.
const playAgain = time.Second

// settle sees to it that there is a result.
func (w *work) settle(ctx context.Context, name string, run *runWork, player *Player, msg jetstream.Msg, job order) error {
	c := w.cluster
	old, _, err := c.result(ctx, name, job.Key)
	if err != nil || old != nil && old.Error == "" {
		return err
	}
	result := &Result{Worker: w.Name}
	if result.Episode, err = w.unplayed(ctx, name, run, msg, job, old); err != nil {
		return err
	}
	if result.Episode == nil {
		result.Episode, err = player.Play(ctx, job.Key)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err == nil {
			err = w.insist(ctx, name, run, func() error { return w.putContexts(ctx, run, player.Contexts, result.Episode) })
		} else {
			err = &unableError{err}
		}
		if unable := new(unableError); errors.As(err, &unable) {
			// Why is to be seen, should no other worker come to its end either.
			return errors.Join(err, c.store(ctx, name, job.Key, &Result{Worker: w.Name, Error: unable.Error()}))
		}
		if err != nil {
			return err
		}
	}
	if err := w.insist(ctx, name, run, func() error { return c.store(ctx, name, job.Key, result) }); err != nil {
		return err
	}
	w.count(func(s *WorkerStatus) {
		s.Done++
		if !result.finished() {
			s.Failed++
		}
	})
	return nil
}

// unableError is why this worker cannot play, such as that its disk is full. Another one may.
type unableError struct{ err error }

func (e *unableError) Error() string { return e.err.Error() }
func (e *unableError) Unwrap() error { return e.err }

// unplayed is the episode of a job that is not to be played: it was tried too often, or
// nothing more of its run may be spent. It is nil for one that is. Failed is what the last
// worker has to say that could not play it; nil for nothing.
func (w *work) unplayed(ctx context.Context, name string, run *runWork, msg jetstream.Msg, job order, failed *Result) (*replay.Episode, error) {
	c := w.cluster
	faulted := func(reason string) *replay.Episode {
		return &replay.Episode{Key: job.Key, ConversationID: job.Conversation, Status: replay.Faulted, Reason: reason}
	}
	meta, err := msg.Metadata()
	if err != nil {
		return nil, err
	}
	if tries := meta.NumDelivered - 1; tries >= uint64(c.options.MaxDeliver) {
		letter := Dead{Run: name, Key: job.Key, Conversation: job.Conversation, Deliveries: tries, At: time.Now().UTC(), Worker: w.Name}
		reason := fmt.Sprintf("a dead letter: %d workers began it, and none came to its end", tries)
		if failed != nil {
			letter.Reason = fmt.Sprintf("worker %s could not: %s", failed.Worker, failed.Error)
			reason += "; " + letter.Reason
		}
		dead, err := json.Marshal(letter)
		if err != nil {
			return nil, err
		}
		key := deadKey(name, jobName(job.Key))
		if err := w.insist(ctx, name, run, func() error { return c.put(ctx, c.data, key, dead) }); err != nil {
			return nil, err
		}
		return faulted(reason), nil
	}
	reason, revision, err := c.get(ctx, c.data, stopKey(name))
	if err != nil || revision == 0 {
		return nil, err
	}
	return faulted(string(reason)), nil
}

// putContexts stores the contexts of an episode.
func (w *work) putContexts(ctx context.Context, run *runWork, contexts *replay.Contexts, e *replay.Episode) error {
	for _, hash := range e.ContextHashes() {
		if at, known := run.known.Load(hash); known && time.Since(at.(time.Time)) < keepBlobs/2 {
			continue
		}
		large, err := w.cluster.putBlob(ctx, string(hash), func() ([]byte, error) {
			data, err := contexts.Export(hash)
			if err != nil {
				return nil, &unableError{err}
			}
			return data, nil
		})
		if err != nil {
			return err
		}
		if !large {
			run.known.Store(hash, time.Now())
		}
	}
	return nil
}

// count changes the worker's status.
func (w *work) count(change func(*WorkerStatus)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change(&w.status)
}

// showSigns stores the worker's status as long as it works.
func (w *work) showSigns(ctx context.Context) {
	c := w.cluster
	key := workerKey(string(fixtures.HashBytes([]byte(w.Name))))
	show := func() {
		w.mu.Lock()
		data, err := json.Marshal(w.status)
		w.mu.Unlock()
		if err == nil {
			_, err = c.live.Put(ctx, key, data)
			err = roomIn(c.live, err)
		}
		if err != nil && ctx.Err() == nil {
			w.say("the cluster does not hear of this worker: %v", err)
		}
	}
	again := time.NewTicker(c.options.AckWait / 6)
	defer again.Stop()
	for ctx.Err() == nil {
		show()
		select {
		case <-ctx.Done():
		case <-again.C:
		case <-w.changed:
		}
	}
	gone, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	_ = c.live.Delete(gone, key) // else it runs out
}
