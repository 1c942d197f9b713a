package replay

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"golang.org/x/sync/errgroup"

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
}

// Play plays every fixture under every arm, but for the episodes that the folder
// already holds finished, and journals each as it ends. The arms of a fixture are
// played close in time, so that the hour is no difference between them.
//
// It returns early only when the context ends, with its cause, or where a recording
// cannot be read or the folder not be written; a fault of a provider or a compactor
// is an episode's own.
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
	group.SetLimit(max(1, e.Settings.Concurrency))
	for _, f := range set {
		shared := &sharedStage{load: sync.OnceValues(func() (*staging, error) { return e.stage(f) })}
		for _, arm := range arms {
			key := Key{Fixture: f.Hash, Arm: arm.Name, Replicate: replicate}
			if done[key] || e.Wanted != nil && !e.Wanted(f, arm.Name) {
				continue
			}
			if inner.Err() != nil {
				break
			}
			group.Go(func() error { return e.playOne(inner, folder, shared, f, arm, key) })
		}
	}
	err = group.Wait()
	if cause := context.Cause(ctx); cause != nil && (err == nil || errors.Is(err, ctx.Err())) {
		return cause
	}
	return err
}

// sharedStage is the staging of a fixture, worked out by whichever episode comes first.
type sharedStage struct {
	load func() (*staging, error)
}

func (e *Engine) stage(f *fixtures.Fixture) (*staging, error) {
	rec, err := e.Recording(f)
	if err != nil {
		return nil, err
	}
	return stage(f, rec, &e.Settings, e.Counter)
}

func (e *Engine) playOne(ctx context.Context, folder *Folder, shared *sharedStage, f *fixtures.Fixture, arm Arm, key Key) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	st, err := shared.load()
	if err != nil {
		return fmt.Errorf("fixture %s: %w", f.ConversationID, err)
	}
	episode, err := e.play(ctx, st, arm, key)
	if err != nil {
		return err
	}
	if err := folder.Episodes.Append(episode); err != nil {
		return err
	}
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

// finished are the keys whose episodes need not be played again.
func finished(folder *Folder) (map[Key]bool, error) {
	record, err := ReadRecord(folder.Dir)
	if err != nil {
		return nil, err
	}
	done := map[Key]bool{}
	for _, e := range record.Episodes {
		done[e.Key] = e.Finished()
	}
	return done, nil
}

// ErrInterrupted is the cause of a context that the user ended.
var ErrInterrupted = errors.New("interrupted")
