package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay/cluster"
)

// putSet stores the night's set in the cluster, as it was when the night loaded it: no
// worker would play another one.
func (n *night) putSet(ctx context.Context) (map[string]cluster.File, error) {
	files, err := n.cluster.PutFiles(ctx, n.set.Files())
	if err != nil {
		return nil, err
	}
	stored := fixtures.Manifest{Version: n.set.Version, Hashes: map[string]fixtures.Hash{}}
	for name, file := range files {
		if fixtures.Covered(name) && file.Mode.IsRegular() {
			stored.Hashes[name] = file.Hash
		}
	}
	if stored.Hash() != n.set.Hash {
		return nil, fmt.Errorf("the set %s has changed since this night began: give the same command again once it is as it should be", n.set.Name)
	}
	return files, nil
}

// keepSet stores the night's set anew from time to time, until the context ends.
func (n *night) keepSet(ctx context.Context, every time.Duration) {
	again := time.NewTicker(every)
	defer again.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-again.C:
		}
		if _, err := n.putSet(ctx); err != nil && ctx.Err() == nil {
			n.progress.line(fmt.Sprintf("workers that start from now on may not get the set: %v", err))
		}
	}
}

// workerSets are the sets that a worker has fetched. One stays as long as a run is played
// over it, and after that until the next one is fetched.
type workerSets struct {
	cluster *cluster.Cluster
	dir     string

	mu     sync.Mutex
	sets   map[string]*workerSet // by their folders' names
	latest string
}

// workerSet is one of them.
type workerSet struct {
	fetching sync.Mutex
	runs     int // that are played over it
}

// open fetches the set of a run, and returns what lets go of it.
func (s *workerSets) open(ctx context.Context, parts *runParts) (*fixtures.Set, func() error, error) {
	hash, err := fixtures.HashJSON(parts.Files)
	if err != nil {
		return nil, nil, err
	}
	name := "set-" + string(hash)
	set, err := s.fetch(ctx, s.take(name), parts, filepath.Join(s.dir, name))
	if err != nil {
		return nil, nil, errors.Join(err, s.release(name, diskFull(err)))
	}
	return set, sync.OnceValue(func() error { return s.release(name, false) }), nil
}

func (s *workerSets) fetch(ctx context.Context, own *workerSet, parts *runParts, dir string) (*fixtures.Set, error) {
	own.fetching.Lock()
	defer own.fetching.Unlock()
	if err := s.cluster.FetchFiles(ctx, parts.Files, dir); err != nil {
		return nil, err
	}
	return fixtures.LoadSet(os.DirFS(dir), parts.Set)
}

// take makes a set the latest, and one that a run is played over.
func (s *workerSets) take(name string) *workerSet {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sets[name] == nil {
		s.sets[name] = &workerSet{}
	}
	s.latest = name
	s.sets[name].runs++
	_ = s.sweep() // what can't be removed is said where the next run ends
	return s.sets[name]
}

// release lets go of a set for one run. One that does not fit takes nobody's room.
func (s *workerSets) release(name string, tooLarge bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if tooLarge && s.latest == name {
		s.latest = ""
	}
	s.sets[name].runs--
	return s.sweep()
}

// sweep removes the sets that no run is played over, but for the latest.
func (s *workerSets) sweep() error {
	var faults []error
	for name, set := range s.sets {
		if set.runs > 0 || name == s.latest {
			continue
		}
		if err := os.RemoveAll(filepath.Join(s.dir, name)); err != nil {
			faults = append(faults, fmt.Errorf("removing a set that no run is played over: %w", err))
			continue
		}
		delete(s.sets, name)
	}
	return errors.Join(faults...)
}
