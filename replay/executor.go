package replay

import (
	"context"
	"fmt"

	"github.com/doubletake-dev/doubletake/fixtures"
)

// Job is one episode that is to be played.
type Job struct {
	Key     Key
	Fixture *fixtures.Fixture
	Arm     Arm

	// stage and own are what the jobs of a fixture have in common in this process; nil
	// outside of an engine's own jobs.
	stage *sharedStage
	own   *sharing
}

// Executor plays the jobs of an engine, in this process or elsewhere. It is safe for
// concurrent use, and has the contexts of an episode in the engine's folder of contexts
// by the time it returns the episode.
//
// A fault of the world is an episode with the status [Faulted]; an error is only for an
// ended context, for [ErrInterrupted], and for what keeps the run from going on at all.
type Executor interface {
	Play(context.Context, Job) (*Episode, error)
}

// InProcess is the executor that plays in this process.
type InProcess struct{ Engine *Engine }

// Play plays the job.
func (p InProcess) Play(ctx context.Context, job Job) (*Episode, error) {
	e := p.Engine
	shared := job.stage
	if shared == nil || shared.engine != e {
		shared = e.sharedStage(job.Fixture)
	}
	st, err := shared.load()
	if err != nil {
		return nil, fmt.Errorf("fixture %s: %w", job.Fixture.ConversationID, err)
	}
	if limit := e.Settings.EpisodeTimeout; limit > 0 {
		late, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("%w of %s", ErrEpisodeTimeout, limit))
		defer cancel()
		ctx = late
	}
	return e.play(ctx, st, job.Arm, job.Key, job.own)
}

// settle makes an episode that was played elsewhere what it would have been here: one
// whose agent went on from the same bytes as that of an earlier arm is taken from there.
func (s *sharing) settle(ctx context.Context, e *Episode) error {
	if s == nil || e.Context == "" || e.SameAs != "" || e.Status != Played && e.Status != Faulted {
		return nil
	}
	same, err := s.find(ctx, e.Context)
	if err != nil || same == nil {
		return err
	}
	var own []Exchange
	for _, x := range e.Exchanges {
		if !x.after() {
			own = append(own, x)
		}
	}
	e.Status, e.Reason, e.Exchanges = Played, "", own
	(&player{episode: e}).take(same)
	return nil
}
