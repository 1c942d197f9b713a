package mutant

import (
	"context"
	"sync"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
)

// Base is the good compactor, whose output is worked out once for every input and
// shared by all mutants. It is safe for concurrent use.
type Base struct {
	inner replay.Compactor
	mu    sync.Mutex
	made  map[fixtures.Hash]*made
}

type made struct {
	once sync.Once
	out  *replay.Compaction
	err  error
}

// NewBase wraps a compactor.
func NewBase(inner replay.Compactor) *Base {
	return &Base{inner: inner, made: map[fixtures.Hash]*made{}}
}

// Compact returns what the wrapped compactor made of the input. An error is not kept:
// the same input is tried again.
func (b *Base) Compact(ctx context.Context, req *replay.CompactRequest) (*replay.Compaction, error) {
	key, err := fixtures.HashJSON(req)
	if err != nil {
		return nil, err
	}
	b.mu.Lock()
	m := b.made[key]
	if m == nil {
		m = &made{}
		b.made[key] = m
	}
	b.mu.Unlock()
	m.once.Do(func() { m.out, m.err = b.inner.Compact(ctx, req) })
	if m.err != nil {
		b.mu.Lock()
		if b.made[key] == m {
			delete(b.made, key)
		}
		b.mu.Unlock()
		return nil, m.err
	}
	return copyOf(m.out), nil
}

// copyOf is a compaction whose list of messages may be changed.
func copyOf(out *replay.Compaction) *replay.Compaction {
	c := *out
	c.Messages = append([]replay.CompactMessage(nil), out.Messages...)
	return &c
}

// Site is a compaction of a fixture, with what the good compactor made of it.
type Site struct {
	Fixture *fixtures.Fixture
	Request *replay.CompactRequest
	Output  *replay.Compaction
}

// recorder keeps the sites of one fixture.
type recorder struct {
	base    *Base
	fixture *fixtures.Fixture
	sites   []*Site
}

func (r *recorder) Compact(ctx context.Context, req *replay.CompactRequest) (*replay.Compaction, error) {
	out, err := r.base.Compact(ctx, req)
	if err == nil {
		seen := *req
		seen.Messages = append([]replay.CompactMessage(nil), req.Messages...)
		r.sites = append(r.sites, &Site{r.fixture, &seen, copyOf(out)})
	}
	return out, err
}

// Sites runs the compactions of a fixture through the good compactor and returns those
// that ran, up to the fork: what is made of the context after it, no agent sees.
func (b *Base) Sites(ctx context.Context, engine *replay.Engine, f *fixtures.Fixture) ([]*Site, error) {
	r := &recorder{base: b, fixture: f}
	if _, err := engine.Compactions(ctx, f, r); err != nil {
		return nil, err
	}
	fork, err := engine.Fork(f)
	if err != nil {
		return nil, err
	}
	var sites []*Site
	for _, s := range r.sites {
		if s.Output.Status == replay.Compacted && s.Request.AfterTurn <= fork {
			sites = append(sites, s)
		}
	}
	return sites, nil
}
