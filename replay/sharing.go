package replay

import (
	"context"
	"sync"

	"github.com/doubletake-dev/doubletake/fixtures"
)

// sharing is an episode as the later arms of its fixture see it while it is played: two
// arms whose agents go on from the same bytes share one play. An arm takes only from
// arms before it, so that it is the same one in every run. All methods work on nil,
// which shares nothing.
type sharing struct {
	before []*sharing
	// forked is closed once context holds, ended once episode does.
	forked, ended chan struct{}
	once          sync.Once
	context       fixtures.Hash
	episode       *Episode
}

// sharing is what an arm shares with those that come after it. It is to be called in the
// order of the arms, and not for control arms or further replicates: how far those differ
// is what they are there for.
func (s *sharedStage) sharing() *sharing {
	own := &sharing{before: s.sharings[:len(s.sharings):len(s.sharings)], forked: make(chan struct{}), ended: make(chan struct{})}
	s.sharings = append(s.sharings, own)
	return own
}

// fork tells the later arms from which context the agent goes on.
func (s *sharing) fork(at fixtures.Hash) {
	s.once.Do(func() {
		s.context = at
		close(s.forked)
	})
}

// end tells the later arms what came of the episode; nil is none.
func (s *sharing) end(e *Episode) {
	if s == nil {
		return
	}
	s.episode = e
	at := fixtures.Hash("")
	if e != nil {
		at = e.Context
	}
	s.fork(at)
	close(s.ended)
}

// find tells the later arms the context and returns the episode of an earlier arm that
// went on from the same one, or nil. It waits for the earlier arms to come that far:
// they were begun before, and wait for no later one.
func (s *sharing) find(ctx context.Context, at fixtures.Hash) (*Episode, error) {
	if s == nil {
		return nil, nil
	}
	s.fork(at)
	for _, other := range s.before {
		if err := wait(ctx, other.forked); err != nil {
			return nil, err
		}
		if other.context != at {
			continue
		}
		if err := wait(ctx, other.ended); err != nil {
			return nil, err
		}
		if e := other.episode; e != nil && e.Status == Played {
			return e, nil
		}
	}
	return nil, nil
}

func wait(ctx context.Context, done <-chan struct{}) error {
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// take makes what another arm's agent did this arm's. The exchanges are the same answers,
// which count once in a run.
func (p *player) take(same *Episode) {
	e := p.episode
	e.SameAs, e.Steps, e.Recorded, e.End = same.Arm, same.Steps, same.Recorded, same.End
	for _, x := range same.Exchanges {
		if x.after() {
			e.Exchanges = append(e.Exchanges, x)
		}
	}
}

// after says that an answer was asked for after the fork.
func (x *Exchange) after() bool { return x.For == "agent" || x.For == "user" }
