package cluster

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Answers are the answers of models that all who use the cluster have in common.
type Answers struct{ cluster *Cluster }

// Answers are the cluster's.
func (c *Cluster) Answers() *Answers { return &Answers{c} }

// Get returns what is stored under an id, nil for nothing.
func (a *Answers) Get(ctx context.Context, id string) ([]byte, error) {
	data, _, err := a.cluster.get(ctx, a.cluster.answers, id)
	return data, err
}

// Put stores an answer under an id.
func (a *Answers) Put(ctx context.Context, id string, data []byte) error {
	return a.cluster.put(ctx, a.cluster.answers, id, data)
}

// Claim waits until nobody else asks for the answer with that id, or until it is stored.
// Who holds a claim shows signs of life; who shows none for as long as a job may go
// without loses it.
func (a *Answers) Claim(ctx context.Context, id string) (func(stored bool), error) {
	c := a.cluster
	key := "claim." + id
	for pause := 20 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		var revision uint64
		err := c.try(ctx, "claiming an answer", func(ctx context.Context) (err error) {
			revision, err = c.live.Create(ctx, key, nil)
			return roomIn(c.live, err)
		})
		if err == nil {
			return a.hold(ctx, key, revision), nil
		}
		if !conflict(err) {
			return nil, err
		}
		entry, err := c.entry(ctx, c.answers, id)
		stored := false
		if entry != nil {
			stored, err = c.whole(ctx, entry.Value())
		}
		if stored || err != nil {
			return func(bool) {}, err
		}
		if !sleep(ctx, pause) {
			return nil, fmt.Errorf("waiting for an answer that another worker asks for: %w", context.Cause(ctx))
		}
	}
}

// conflict says that somebody else was there first.
func conflict(err error) bool {
	return errors.Is(err, jetstream.ErrKeyExists) || errors.Is(err, jetstream.ErrKeyRevisionMismatch) || wrongSequence(err)
}

// wrongSequence is what the server says where a subject holds another message than
// expected; a cluster of servers has a code of its own for it.
func wrongSequence(err error) bool {
	var api *jetstream.APIError
	return errors.As(err, &api) && (api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence || api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequenceConstant)
}

// hold keeps a claim alive until it is released. A claim on an answer that was stored
// runs out by itself.
func (a *Answers) hold(ctx context.Context, key string, revision uint64) func(stored bool) {
	c := a.cluster
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var held sync.WaitGroup
	held.Go(func() {
		for sleep(ctx, c.options.AckWait/3) {
			next, err := c.live.Update(ctx, key, nil, revision)
			if err == nil {
				revision = next
			}
		}
	})
	return func(stored bool) {
		cancel()
		held.Wait()
		if stored {
			return
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		// Where this fails the claim runs out, and the others have waited for nothing.
		_ = c.live.Delete(ctx, key, jetstream.LastRevision(revision))
	}
}
