package model

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
)

// memoryStore is a shared store in memory.
type memoryStore struct {
	mu      sync.Mutex
	answers map[string][]byte
	claims  map[string]*sync.Mutex
	broken  error
}

func newMemoryStore() *memoryStore {
	return &memoryStore{answers: map[string][]byte{}, claims: map[string]*sync.Mutex{}}
}

func (s *memoryStore) Get(_ context.Context, id string) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.answers[id], s.broken
}

func (s *memoryStore) Put(_ context.Context, id string, data []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers[id] = data
	return nil
}

func (s *memoryStore) Claim(_ context.Context, id string) (func(bool), error) {
	s.mu.Lock()
	claim := s.claims[id]
	if claim == nil {
		claim = new(sync.Mutex)
		s.claims[id] = claim
	}
	s.mu.Unlock()
	claim.Lock()
	return func(bool) { claim.Unlock() }, nil
}

func TestProcessesThatShareAStoreAskOnce(t *testing.T) {
	var model counted
	store := newMemoryStore()
	var asking sync.WaitGroup
	for range 4 { // processes
		c := NewShared(&model, "there", store)
		c.ResumeRun("run")
		for range 3 {
			asking.Go(func() {
				reply, err := c.Complete(t.Context(), ask("m"))
				if err != nil || reply.Stored {
					t.Error(reply, err)
				}
				data, _, stored, err := c.Bytes(t.Context(), []byte("compact this"), func(context.Context) ([]byte, error) {
					model.n.Add(1)
					return []byte("compacted"), nil
				})
				if err != nil || stored || string(data) != "compacted" {
					t.Errorf("%q, %v, %v", data, stored, err)
				}
			})
		}
	}
	asking.Wait()
	if n := model.n.Load(); n != 2 {
		t.Errorf("asked %d times, want 2", n)
	}
	other := NewShared(&model, "there", store)
	other.BeginRun("another run")
	if reply, err := other.Complete(t.Context(), ask("m")); err != nil || !reply.Stored || model.n.Load() != 2 {
		t.Error(reply, err)
	}
}

// TestASeriesPaysForItsFreshAnswersOnce: an episode that is played again elsewhere finds
// what it asked for afresh, and never what another episode did.
func TestASeriesPaysForItsFreshAnswersOnce(t *testing.T) {
	var model counted
	store := newMemoryStore()
	keys := map[fixtures.Hash]bool{}
	for _, name := range []string{"one", "other", "one"} {
		c := NewShared(&model, "there", store)
		c.ResumeRun("run")
		series := c.Series(name)
		for range 2 {
			request := ask("m")
			request.Fresh = true
			reply, err := series.Complete(t.Context(), request)
			if err != nil || !reply.Fresh {
				t.Fatal(reply, err)
			}
			keys[reply.Key] = true
		}
		if reply, err := series.Complete(t.Context(), ask("m")); err != nil || reply.Fresh {
			t.Error(reply, err)
		}
	}
	if n := model.n.Load(); n != 5 || len(keys) != 4 {
		t.Errorf("asked %d times for %d fresh answers, want 5 for 4", n, len(keys))
	}
}

func TestAStoreThatDoesNotAnswerIsNoEmptyStore(t *testing.T) {
	var model counted
	store := newMemoryStore()
	store.broken = errors.New("no servers")
	var reply *replay.Reply
	reply, err := NewShared(&model, "there", store).Complete(t.Context(), ask("m"))
	if !errors.Is(err, store.broken) || model.n.Load() != 0 {
		t.Errorf("%v, %v, asked %d times", reply, err, model.n.Load())
	}
}
