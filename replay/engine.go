package replay

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"

	"github.com/doubletake-dev/doubletake/fixtures"
)

// Engine plays the episodes of a run.
type Engine struct {
	Settings Settings
	Model    Model
	Counter  Counter
	// NewTools makes the tools of one episode.
	NewTools func(*fixtures.Fixture, *fixtures.Recording, int) (Tools, error)
	// Recording reads the recording of a fixture.
	Recording func(*fixtures.Fixture) (*fixtures.Recording, error)
	Contexts  *Contexts
	// Progress hears of every episode that ends, in any order and from several
	// goroutines at once; may be nil.
	Progress func(*Episode)
	// Wanted says whether a fixture is played under an arm; nil plays all under all.
	Wanted func(f *fixtures.Fixture, arm string) bool
	// Apart plays every arm by itself, also where two agents go on from the same bytes:
	// for measuring how far they differ then.
	Apart bool
	// User simulates the user after the fork; nil lets the recorded one speak.
	User *User
	// Drain is closed when no further episode is to begin; what is in flight ends. Nil
	// for never.
	Drain <-chan struct{}
	// Executor plays the episodes; nil for this process. Settings.Concurrency bounds how
	// many it is asked for at once.
	Executor Executor
	// Log hears of compactions and of episodes that are journaled; nil for nobody.
	Log *slog.Logger
}

// Play plays every fixture under every arm, but for the episodes that the folder
// already holds finished, and journals each as it ends. The arms of a fixture are
// played close in time, so that the hour is no difference between them.
//
// It returns early only when the context ends, with its cause, when the engine is
// drained, with [ErrInterrupted], or where a recording cannot be read or the folder not
// be written; a fault of a provider or a compactor is an episode's own.
func (e *Engine) Play(ctx context.Context, folder *Folder, set []*fixtures.Fixture, arms []Arm) error {
	return e.PlayReplicate(ctx, folder, set, arms, 0)
}

// PlayReplicate is Play for a further replicate of each episode. Its answers are
// never those of another replicate.
func (e *Engine) PlayReplicate(ctx context.Context, folder *Folder, set []*fixtures.Fixture, arms []Arm, replicate int) error {
	done, err := finished(folder)
	if err != nil {
		return err
	}
	group, inner := errgroup.WithContext(ctx)
	slots := e.newSlots()
	// An episode that has ended leaves its slot to the next while it is written; no more are
	// being written than are played.
	writing := make(chan struct{}, cap(slots.free))
	left := false
	for _, f := range set {
		shared := e.sharedStage(f)
		for _, arm := range arms {
			key := Key{Fixture: f.Hash, Arm: arm.Name, Replicate: replicate}
			if e.Wanted != nil && !e.Wanted(f, arm.Name) {
				continue
			}
			var own *sharing
			if !e.Apart && arm.Kind != ControlArm && replicate == 0 {
				own = shared.sharing()
			}
			if episode := done[key]; episode != nil {
				own.end(episode)
				continue
			}
			// Whether it begins is settled here, in order: an arm of a fixture is not left
			// out while a later one is played.
			release := e.begin(inner, slots, f)
			if release == nil {
				left = true
				break
			}
			group.Go(func() error {
				leave := sync.OnceFunc(release)
				defer leave()
				return e.playOne(inner, folder, Job{Key: key, Fixture: f, Arm: arm, stage: shared, own: own}, func() func() {
					writing <- struct{}{}
					leave()
					return func() { <-writing }
				})
			})
		}
	}
	err = group.Wait()
	if cause := context.Cause(ctx); cause != nil && (err == nil || errors.Is(err, ctx.Err())) {
		return cause
	}
	if err == nil && left {
		return ErrInterrupted
	}
	return err
}

// slots bound what is in play at once: the episodes, and the recordings that they hold,
// request and context besides.
type slots struct {
	free chan struct{}
	room *semaphore.Weighted // of the recordings, in bytes; nil where others hold them
}

// inPlay is how large the recordings of all episodes in play may be, in bytes. Of those
// that models can be asked about whole, it lets through more than anybody asks at once; a
// few that are much longer would take the machine's memory.
const inPlay = 32 << 20

func (e *Engine) newSlots() slots {
	s := slots{free: make(chan struct{}, max(1, e.Settings.Concurrency))}
	if e.Executor == nil {
		s.room = semaphore.NewWeighted(inPlay)
	}
	return s
}

// begin waits for a slot, and returns what gives it back; nil where no other episode may
// begin.
func (e *Engine) begin(ctx context.Context, s slots, f *fixtures.Fixture) (release func()) {
	select {
	case s.free <- struct{}{}:
	case <-ctx.Done():
		return nil
	}
	release = func() { <-s.free }
	if size := min(f.RecordingSize(), inPlay); s.room != nil && size > 0 {
		if s.room.Acquire(ctx, size) != nil {
			release()
			return nil
		}
		release = func() { s.room.Release(size); <-s.free }
	}
	if ctx.Err() != nil || Drained(e.Drain) {
		release()
		return nil
	}
	return release
}

// Drained says whether a channel that is closed to let work run out is closed; a nil one
// never is.
func Drained(drain <-chan struct{}) bool {
	select {
	case <-drain:
		return true
	default:
		return false
	}
}

// sharedStage is the staging of a fixture, worked out by whichever episode comes first,
// with the episodes that its arms may share.
type sharedStage struct {
	engine   *Engine
	load     func() (*staging, error)
	sharings []*sharing
}

func (e *Engine) sharedStage(f *fixtures.Fixture) *sharedStage {
	return &sharedStage{engine: e, load: sync.OnceValues(func() (*staging, error) { return e.stage(f) })}
}

func (e *Engine) stage(f *fixtures.Fixture) (*staging, error) {
	rec, err := e.Recording(f)
	if err != nil {
		return nil, err
	}
	return stage(f, rec, &e.Settings, e.Counter)
}

// playOne plays an episode and journals it. Once it has ended, write lets the next begin;
// what it returns is called when this one is written.
func (e *Engine) playOne(ctx context.Context, folder *Folder, job Job, write func() func()) error {
	var ended *Episode
	defer func() { job.own.end(ended) }()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	executor := e.Executor
	if executor == nil {
		executor = InProcess{e}
	}
	episode, err := executor.Play(ctx, job)
	if err != nil {
		return err
	}
	if err := job.own.settle(ctx, episode); err != nil {
		return err
	}
	ended = episode
	written := write()
	defer written()
	if err := folder.Episodes.Append(episode); err != nil {
		return err
	}
	e.logEpisode(ctx, episode)
	if e.Progress != nil {
		e.Progress(episode)
	}
	return nil
}

// ErrCutShort says that a provider or the like, and nobody under test, is at fault.
var ErrCutShort = errors.New("cut short")

// Compactions runs the compactions of a fixture through a compactor, as an episode
// would, and nothing after them. The error is [ErrCutShort] where the world is at fault.
func (e *Engine) Compactions(ctx context.Context, f *fixtures.Fixture, compactor Compactor) ([]CompactionRecord, error) {
	st, err := e.stage(f)
	if err != nil {
		return nil, fmt.Errorf("fixture %s: %w", f.ConversationID, err)
	}
	p := &player{engine: e, stage: st, arm: Arm{Kind: CompactorArm, Compactor: compactor}, written: map[string]string{}, episode: &Episode{}}
	_, _, err = p.compact(ctx)
	var fault errFault
	if errors.As(err, &fault) {
		return nil, fmt.Errorf("fixture %s: %w: %w", f.ConversationID, ErrCutShort, fault.error)
	}
	if err != nil {
		return nil, fmt.Errorf("fixture %s: %w", f.ConversationID, err)
	}
	return p.episode.Compactions, nil
}

// Fork is the turn after which the agent speaks in a fixture.
func (e *Engine) Fork(f *fixtures.Fixture) (int, error) {
	st, err := e.stage(f)
	if err != nil {
		return 0, fmt.Errorf("fixture %s: %w", f.ConversationID, err)
	}
	return st.fork, nil
}

// FirstCompaction is the turn after which a fixture is compacted for the first time, or 0
// where it never is.
func (e *Engine) FirstCompaction(f *fixtures.Fixture) (int, error) {
	st, err := e.stage(f)
	if err != nil {
		return 0, fmt.Errorf("fixture %s: %w", f.ConversationID, err)
	}
	if len(st.points) == 0 {
		return 0, nil
	}
	return st.points[0], nil
}

// finished are the episodes that need not be played again.
func finished(folder *Folder) (map[Key]*Episode, error) {
	record, err := ReadRecord(folder.Dir)
	if err != nil {
		return nil, err
	}
	done := map[Key]*Episode{}
	for _, e := range record.Episodes {
		if e.Finished() {
			done[e.Key] = e
		}
	}
	return done, nil
}

// ErrEpisodeTimeout says that an episode took longer than it may. It is a fault of the
// world, and no outcome.
var ErrEpisodeTimeout = errors.New("the episode was not over within limits.episode_timeout")

// ErrInterrupted is the cause of a context that the user ended.
var ErrInterrupted = errors.New("interrupted")
