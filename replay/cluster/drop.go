package cluster

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"
)

// Dropped is what was taken out with a run.
type Dropped struct {
	Jobs    int `json:"jobs"`
	Results int `json:"results"`
}

// Drop takes a run that has no leader out of the cluster, by its id or by its name in keys,
// with its jobs, results and dead letters. Answers stay. It needs no room, so that it makes
// some where a bucket is full. The error is [ErrUnknownRun] where there is nothing of the
// run, and [ErrLed] where its leader lives.
func (c *Cluster) Drop(ctx context.Context, run string) (Dropped, error) {
	for _, name := range []string{(&Manifest{Run: run}).name(), run} {
		if !namePattern.MatchString(name) {
			continue // it would be a pattern of subjects
		}
		there, dropped, err := c.dropRun(ctx, name)
		if there || err != nil {
			return dropped, err
		}
	}
	return Dropped{}, fmt.Errorf("%w: %s", ErrUnknownRun, run)
}

// The errors of [Cluster.Drop].
var (
	ErrUnknownRun = errors.New("the cluster knows no such run")
	ErrLed        = errors.New("the run has a leader: interrupt that")
)

func (c *Cluster) dropRun(ctx context.Context, run string) (there bool, dropped Dropped, err error) {
	leader, err := c.entry(ctx, c.live, leaderKey(run))
	if err != nil {
		return false, dropped, err
	}
	if leader != nil {
		return true, dropped, ErrLed
	}
	keys := []string{runKey(run), stopKey(run), deadKey(run, "*"), resultKey(run, "*")}
	for _, pattern := range keys {
		list, err := c.keys(ctx, c.data, pattern)
		if err != nil {
			return false, dropped, err
		}
		there = there || len(list) > 0
		if pattern == resultKey(run, "*") {
			dropped.Results = len(list)
		}
	}
	err = c.try(ctx, "looking at the queue of a run", func(ctx context.Context) error {
		jobs, err := c.queued(ctx, run)
		dropped.Jobs = len(jobs)
		return err
	})
	if there = there || dropped.Jobs > 0; !there || err != nil {
		return there, dropped, err
	}
	return true, dropped, errors.Join(c.forget(ctx, keys...), c.endQueue(ctx, run))
}

// forget takes keys out of the data bucket by patterns, without the markers that the bucket
// keeps of what is deleted: nobody hears of it, and it needs no room.
func (c *Cluster) forget(ctx context.Context, patterns ...string) error {
	return c.try(ctx, "taking keys out of the cluster", func(ctx context.Context) error {
		stream, err := c.js.Stream(ctx, "KV_"+c.data.Bucket())
		if err != nil {
			return err
		}
		for _, pattern := range patterns {
			if err := stream.Purge(ctx, jetstream.WithPurgeSubject("$KV."+c.data.Bucket()+"."+pattern)); err != nil {
				return err
			}
		}
		return nil
	})
}
