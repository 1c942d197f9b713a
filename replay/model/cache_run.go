package model

import (
	"fmt"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay/pack"
)

// KeepRun remembers which run last asked by a plan. The error says that it cannot be
// stored; a cache that stores nothing remembers nothing.
func (c *Cached) KeepRun(plan fixtures.Hash, run string) error {
	if c.mode != CacheWrite || c.shared != nil { // a shared store is never played again from alone
		return nil
	}
	if err := c.store.Put(runKey(plan), []byte(run)); err != nil {
		return fmt.Errorf("storing which run asked: %w; free some space, or use --cache read or off", err)
	}
	return nil
}

// Replayed is the run that a cache which may not ask plays again: the last one that asked
// by the plan. It is empty where none is known, and in the other modes.
func (c *Cached) Replayed(plan fixtures.Hash) string {
	if c.mode != CacheOnly {
		return ""
	}
	run, err := c.store.Get(runKey(plan))
	if err != nil {
		return ""
	}
	return string(run)
}

func runKey(plan fixtures.Hash) pack.Key { return pack.KeyOf("doubletake run 1", []byte(plan)) }
