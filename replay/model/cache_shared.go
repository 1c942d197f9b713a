package model

import (
	"context"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
	"github.com/doubletake-dev/doubletake/replay/pack"
)

// Shared is a store of answers that processes on several machines have in common. It is
// safe for concurrent use.
type Shared interface {
	// Get returns what is stored under an id, nil for nothing.
	Get(ctx context.Context, id string) ([]byte, error)
	Put(ctx context.Context, id string, data []byte) error
	// Claim waits until nobody else asks for the answer with that id. It is given up with
	// release, which is told whether the answer was stored. Who died lets go in time.
	Claim(ctx context.Context, id string) (release func(stored bool), err error)
}

// NewShared is NewCached with a shared store in place of a folder: what any process that
// uses the store asked for is asked for once. What stood on the wire is not kept.
func NewShared(model replay.Model, endpoint string, store Shared) *Cached {
	return &Cached{
		model: model, endpoint: endpoint, mode: CacheWrite, shared: store,
		memory: map[pack.Key]*replay.Reply{}, afresh: map[fixtures.Hash]int{},
		memoryBytes: map[pack.Key][]byte{},
	}
}

func sharedID(id pack.Key) string { return hex.EncodeToString(id[:]) }

// claimed asks for an answer that nobody else is asking for.
func (c *Cached) claimed(ctx context.Context, request *replay.Request, id pack.Key, key fixtures.Hash) (*replay.Reply, error) {
	release, err := c.shared.Claim(ctx, sharedID(id))
	if err != nil {
		return nil, fmt.Errorf("asking model %s: %w", request.Model, err)
	}
	stored := false
	defer func() { release(stored) }()
	// Who had the claim before may have stored it.
	reply, err := c.lookUp(ctx, id, key)
	if reply != nil || err != nil {
		stored = reply != nil
		return reply, err
	}
	reply, err = c.ask(ctx, request, key)
	if err != nil && ctx.Err() != nil {
		return nil, endedError{err}
	}
	if err != nil {
		return nil, err
	}
	stored = !blank(reply) && c.share(ctx, id, reply)
	return reply, nil
}

// storeGrace is how long an answer that is paid for may take to be stored, even where
// nobody waits for it any more.
const storeGrace = 30 * time.Second

// share stores an answer in the shared store, and says whether it stands there. One that
// cannot be stored is good all the same, and remembered here.
func (c *Cached) share(ctx context.Context, id pack.Key, reply *replay.Reply) bool {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeGrace)
	defer cancel()
	data, err := c.marshal(reply)
	if err == nil {
		err = c.shared.Put(ctx, sharedID(id), data)
	}
	if err == nil {
		return true
	}
	own := *reply
	own.Raw = nil
	c.mu.Lock()
	c.memory[id] = &own
	c.mu.Unlock()
	if c.Warn != nil {
		c.warn.Do(func() { c.Warn(fmt.Errorf("storing an answer: %w", err)) })
	}
	return false
}

// Series is the model as one episode asks it: the answers that it asks for afresh are
// numbered by themselves, under that name, so that an episode that is played again
// somewhere else finds those that it has paid for.
func (c *Cached) Series(name string) replay.Model { return &series{c, name, map[fixtures.Hash]int{}} }

// series is used by one episode, which asks one thing after the other.
type series struct {
	*Cached
	name   string
	afresh map[fixtures.Hash]int
}

// Complete asks as [Cached.Complete] does.
func (s *series) Complete(ctx context.Context, request *replay.Request) (*replay.Reply, error) {
	if !request.Fresh {
		return s.Cached.Complete(ctx, request)
	}
	_, key, err := s.key(request)
	if err != nil {
		return nil, fmt.Errorf("asking model %s: %w", request.Model, err)
	}
	reply, err := s.freshNumber(ctx, request, key, " of "+s.name, s.afresh[key]+1)
	if err == nil {
		s.afresh[key]++
	}
	return reply, err
}
