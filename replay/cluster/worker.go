package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
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

	mu     sync.Mutex
	status WorkerStatus
	runs   map[string]*runWork // by the run's name
	// working are all runs that are not over, those that were let go of included.
	working sync.WaitGroup
}

// runWork is what a worker does for one run.
type runWork struct {
	manifest []byte
	stop     context.CancelFunc
	known    sync.Map // the hashes of contexts that the cluster has
}

// Work takes jobs and plays them until it is drained or the context ends. The error is the
// context's cause, or why the cluster can't be used any more.
func (c *Cluster) Work(ctx context.Context, worker Worker) error {
	w := &work{Worker: &worker, cluster: c, slots: make(chan struct{}, max(1, worker.Slots)), runs: map[string]*runWork{}}
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	w.status = WorkerStatus{Name: worker.Name, Host: host, PID: os.Getpid(), Slots: cap(w.slots), Since: time.Now().UTC(), Refused: map[string]string{}}
	inner, cancel := context.WithCancel(ctx)
	var signs sync.WaitGroup
	defer signs.Wait()
	defer cancel()
	watcher, err := c.data.Watch(inner, runKey("*"))
	if err != nil {
		return fmt.Errorf("watching for runs: %w", err)
	}
	signs.Go(func() { w.showSigns(inner) })
	defer w.end()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-worker.Drain:
			return nil
		case entry, ok := <-watcher.Updates():
			if !ok {
				return errors.New("watching for runs: the cluster ended it; start the worker again")
			}
			if entry != nil {
				w.heard(ctx, entry)
			}
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
	run := w.runs[name]
	if entry.Operation() != jetstream.KeyValuePut {
		if run != nil {
			run.stop()
			delete(w.runs, name)
		}
		w.count(func(s *WorkerStatus) { delete(s.Refused, name) })
		return
	}
	if run != nil && string(run.manifest) == string(entry.Value()) && !w.refused(name) {
		return
	}
	if run != nil {
		run.stop()
	}
	running, stop := context.WithCancel(ctx)
	fresh := &runWork{manifest: entry.Value(), stop: stop}
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
	var playing sync.WaitGroup
	for w.slot(fetching) {
		msg, err := w.fetch(fetching, consumer)
		if msg == nil {
			<-w.slots
			if err != nil && !sleep(fetching, time.Second) { // the servers have just changed
				break
			}
			continue
		}
		playing.Go(func() {
			defer func() { <-w.slots }()
			w.handle(ctx, name, run, player, msg)
		})
	}
	playing.Wait()
	return player.Close()
}

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

// fetchWait is how long a free slot waits for a job of one run before another run's turn.
const fetchWait = 2 * time.Second

// fetch gets one job, or nil where none came.
func (w *work) fetch(ctx context.Context, consumer jetstream.Consumer) (jetstream.Msg, error) {
	ctx, cancel := context.WithTimeout(ctx, fetchWait)
	defer cancel()
	msg, err := consumer.Next(jetstream.FetchContext(ctx))
	if errors.Is(err, nats.ErrTimeout) || errors.Is(err, jetstream.ErrNoMessages) || ctx.Err() != nil {
		return msg, nil
	}
	return msg, err
}

// handle plays one job and stores what came of it before it says that it is done.
func (w *work) handle(ctx context.Context, name string, run *runWork, player *Player, msg jetstream.Msg) {
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
	if ctx.Err() == nil {
		w.say("%s: %v; another try follows", job.Key, err)
	}
	_ = msg.Nak() // where it is lost it is delivered again for want of signs of life
}

// settle sees to it that there is a result.
func (w *work) settle(ctx context.Context, name string, run *runWork, player *Player, msg jetstream.Msg, job order) error {
	c := w.cluster
	old, _, err := c.result(ctx, name, job.Key)
	if err != nil || old != nil {
		return err
	}
	result := &Result{Worker: w.Name}
	if result.Episode, err = w.unplayed(ctx, name, msg, job); err != nil {
		return err
	}
	if result.Episode == nil {
		result.Episode, err = player.Play(ctx, job.Key)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			result.Error = err.Error()
		} else if err := w.putContexts(ctx, run, player.Contexts, result.Episode); err != nil {
			return err
		}
	}
	if err := c.store(ctx, name, job.Key, result); err != nil {
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

// unplayed is the episode of a job that is not to be played: it was tried too often, or
// nothing more of its run may be spent. It is nil for one that is.
func (w *work) unplayed(ctx context.Context, run string, msg jetstream.Msg, job order) (*replay.Episode, error) {
	c := w.cluster
	faulted := func(reason string) *replay.Episode {
		return &replay.Episode{Key: job.Key, ConversationID: job.Conversation, Status: replay.Faulted, Reason: reason}
	}
	meta, err := msg.Metadata()
	if err != nil {
		return nil, err
	}
	if tries := meta.NumDelivered - 1; tries >= uint64(c.options.MaxDeliver) {
		dead, err := json.Marshal(Dead{Run: run, Key: job.Key, Conversation: job.Conversation, Deliveries: tries, At: time.Now().UTC(), Worker: w.Name})
		if err != nil {
			return nil, err
		}
		if err := c.put(ctx, c.data, deadKey(run, jobName(job.Key)), dead); err != nil {
			return nil, err
		}
		return faulted(fmt.Sprintf("a dead letter: %d workers began it, and none came to its end", tries)), nil
	}
	reason, revision, err := c.get(ctx, c.data, stopKey(run))
	if err != nil || revision == 0 {
		return nil, err
	}
	return faulted(string(reason)), nil
}

// putContexts stores the contexts of an episode.
func (w *work) putContexts(ctx context.Context, run *runWork, contexts *replay.Contexts, e *replay.Episode) error {
	for _, hash := range episodeContexts(e) {
		if _, known := run.known.Load(hash); known {
			continue
		}
		err := w.cluster.putBlob(ctx, string(hash), func() ([]byte, error) { return contexts.Export(hash) })
		if err != nil {
			return err
		}
		run.known.Store(hash, true)
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
	key := "worker." + string(fixtures.HashBytes([]byte(w.Name)))
	show := func() {
		w.mu.Lock()
		data, err := json.Marshal(w.status)
		w.mu.Unlock()
		if err == nil {
			_, err = c.live.Put(ctx, key, data)
		}
		if err != nil && ctx.Err() == nil {
			w.say("the cluster does not hear of this worker: %v", err)
		}
	}
	for show(); sleep(ctx, c.options.AckWait/6); show() {
	}
	gone, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	_ = c.live.Delete(gone, key) // else it runs out
}
