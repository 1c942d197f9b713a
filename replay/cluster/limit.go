package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/doubletake-dev/doubletake/fixtures"
)

// Limit holds the requests and tokens a minute that all who use the cluster may send to
// one endpoint together. The turn of each request is a time in a bucket of the cluster,
// moved on by compare-and-set; the clocks of the machines are to be set alike.
type Limit struct {
	cluster          *Cluster
	key              string
	requests, tokens int
	now              func() time.Time

	mu sync.Mutex // within a process nobody competes with itself
}

// Limit is the limit of the endpoint with that name; 0 means no limit.
func (c *Cluster) Limit(name string, requestsPerMinute, tokensPerMinute int) *Limit {
	return &Limit{
		cluster: c, key: limitKey(string(fixtures.HashBytes([]byte(name)))),
		requests: requestsPerMinute, tokens: tokensPerMinute, now: time.Now,
	}
}

// turns are when the next request may go by each rate.
type turns struct {
	Requests time.Time `json:"requests"`
	Tokens   time.Time `json:"tokens"`
}

// take gives a request its turn: not before either rate allows it, and then both move on.
func (t *turns) take(now time.Time, requestsPerMinute, tokensPerMinute, tokens int) time.Time {
	at := now
	if requestsPerMinute > 0 && t.Requests.After(at) {
		at = t.Requests
	}
	if tokensPerMinute > 0 && t.Tokens.After(at) {
		at = t.Tokens
	}
	if requestsPerMinute > 0 {
		t.Requests = at.Add(time.Minute / time.Duration(requestsPerMinute))
	}
	if tokensPerMinute > 0 {
		t.Tokens = at.Add(time.Duration(float64(time.Minute) * float64(tokens) / float64(tokensPerMinute)))
	}
	return at
}

// Reserve takes the turn of one request of so many tokens, and says when it is.
func (l *Limit) Reserve(ctx context.Context, tokens int) (time.Time, error) {
	if l.requests <= 0 && l.tokens <= 0 {
		return l.now(), nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for pause := time.Millisecond; ; pause = min(2*pause, 100*time.Millisecond) {
		at, err := l.reserve(ctx, tokens)
		if err == nil {
			return at, nil
		}
		if !conflict(err) {
			return time.Time{}, err
		}
		if !sleep(ctx, pause) {
			return time.Time{}, fmt.Errorf("waiting for the fleet's limit: %w", context.Cause(ctx))
		}
	}
}

func (l *Limit) reserve(ctx context.Context, tokens int) (at time.Time, err error) {
	c := l.cluster
	entry, err := c.entry(ctx, c.data, l.key)
	if err != nil {
		return at, err
	}
	var t turns
	revision := uint64(0)
	if entry != nil {
		revision = entry.Revision()
		if err := json.Unmarshal(entry.Value(), &t); err != nil {
			t = turns{} // of another version: it begins anew
		}
	}
	at = t.take(l.now(), l.requests, l.tokens, tokens)
	data, err := json.Marshal(t)
	if err != nil {
		return at, err
	}
	return at, c.try(ctx, "taking a turn of the fleet's limit", func(ctx context.Context) error {
		if revision == 0 {
			_, err := c.data.Create(ctx, l.key, data)
			return err
		}
		_, err := c.data.Update(ctx, l.key, data, revision)
		return err
	})
}

// Take waits until one request of so many tokens may be sent.
func (l *Limit) Take(ctx context.Context, tokens int) error {
	at, err := l.Reserve(ctx, tokens)
	if err != nil {
		return err
	}
	if wait := at.Sub(l.now()); wait > 0 && !sleep(ctx, wait) {
		return fmt.Errorf("waiting for the fleet's limit (limits.requests_per_minute, limits.tokens_per_minute): %w", context.Cause(ctx))
	}
	return nil
}
