package model

import (
	"fmt"

	"github.com/rogpeppe/go-internal/cache"

	"github.com/doubletake-dev/doubletake/fixtures"
)

// KeepRun remembers which run last asked by a plan. The error says that it cannot be
// stored; a cache that stores nothing remembers nothing.
func (c *Cached) KeepRun(plan fixtures.Hash, run string) error {
	if c.mode != CacheWrite || c.shared != nil { // a shared store is never played again from alone
		return nil
	}
	id, err := runID(plan)
	if err == nil {
		err = c.store.PutBytes(id, []byte(run))
	}
	if err != nil {
		return fmt.Errorf("storing which run asked: %w; free some space, or use --cache off", err)
	}
	return nil
}

// Replayed is the run that a cache which may not ask plays again: the last one that asked
// by the plan. It is empty where none is known, and in the other modes.
func (c *Cached) Replayed(plan fixtures.Hash) string {
	if c.mode != CacheOnly {
		return ""
	}
	id, err := runID(plan)
	if err != nil {
		return ""
	}
	run, _, err := c.store.GetBytes(id)
	if err != nil {
		return ""
	}
	return string(run)
}

func runID(plan fixtures.Hash) (cache.ActionID, error) {
	hash := cache.NewHash("doubletake run 1")
	if _, err := hash.Write([]byte(plan)); err != nil {
		return cache.ActionID{}, err
	}
	return hash.Sum(), nil
}
