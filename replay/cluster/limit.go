package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/doubletake-dev/doubletake/fixtures"
)

// Limit holds the requests and tokens a minute that all who use the cluster may send to
// one endpoint together. The last turn that was taken stands in a bucket of the cluster,
// and the next one is taken by compare-and-set; the clocks of the machines are to be set
// alike. A turn is taken only shortly before it comes, so that who dies with turns that it
// did not use holds up the others for no longer than that.
type Limit struct {
	cluster          *Cluster
	key              string
	requests, tokens int
	now              func() time.Time
	// first is held by who takes a turn next: within a process nobody competes with itself.
	first chan struct{}
}

// turnsAhead is how long before it comes a turn may be taken.
const turnsAhead = time.Second

// Limit is the limit of the endpoint with that name; 0 means no limit.
func (c *Cluster) Limit(name string, requestsPerMinute, tokensPerMinute int) *Limit {
	return &Limit{
		cluster: c, key: limitKey(string(fixtures.HashBytes([]byte(name)))),
		requests: requestsPerMinute, tokens: tokensPerMinute, now: time.Now, first: make(chan struct{}, 1),
	}
}

// turn is the last one that was taken: when it is, and how many tokens its request has.
// When the next may follow is up to the rates of who takes that.
type turn struct {
	At     time.Time `json:"at"`
	Tokens int       `json:"tokens"`
}

// next is when the next request may go: once either rate has room again after this one.
func (t *turn) next(now time.Time, requestsPerMinute, tokensPerMinute int) time.Time {
	at := now
	if t.At.IsZero() {
		return at
	}
	later := func(than time.Time) {
		if than.After(at) {
			at = than
		}
	}
	if requestsPerMinute > 0 {
		later(t.At.Add(time.Minute / time.Duration(requestsPerMinute)))
	}
	if tokensPerMinute > 0 {
		later(t.At.Add(time.Duration(float64(time.Minute) * float64(t.Tokens) / float64(tokensPerMinute))))
	}
	return at
}

// Take waits until one request of so many tokens may be sent.
func (l *Limit) Take(ctx context.Context, tokens int) error {
	if l.requests <= 0 && l.tokens <= 0 {
		return nil
	}
	at, err := l.turn(ctx, tokens)
	if err != nil {
		return err
	}
	return l.until(ctx, at)
}

// turn takes the next turn once it is near, and says when it is.
func (l *Limit) turn(ctx context.Context, tokens int) (time.Time, error) {
	select {
	case l.first <- struct{}{}:
		defer func() { <-l.first }()
	case <-ctx.Done():
		return time.Time{}, outwaited(ctx)
	}
	for pause := time.Millisecond; ; {
		at, taken, err := l.take(ctx, tokens)
		switch {
		case taken:
			return at, nil
		case err == nil: // somebody else may come first until it is near
			if err := l.until(ctx, at.Add(-turnsAhead)); err != nil {
				return at, err
			}
		case ctx.Err() != nil:
			return at, outwaited(ctx)
		case !conflict(err):
			return at, err
		case !sleep(ctx, pause):
			return at, outwaited(ctx)
		default:
			pause = min(2*pause, 100*time.Millisecond)
		}
	}
}

// take takes the next turn if it is near, and says when it is.
func (l *Limit) take(ctx context.Context, tokens int) (at time.Time, taken bool, err error) {
	c := l.cluster
	entry, err := c.entry(ctx, c.data, l.key)
	if err != nil {
		return at, false, err
	}
	var last turn
	revision := uint64(0)
	if entry != nil {
		revision = entry.Revision()
		if err := json.Unmarshal(entry.Value(), &last); err != nil {
			last = turn{} // of another version: it begins anew
		}
	}
	now := l.now()
	at = last.next(now, l.requests, l.tokens)
	if at.Sub(now) > turnsAhead {
		return at, false, nil
	}
	data, err := json.Marshal(turn{at, tokens})
	if err != nil {
		return at, false, err
	}
	err = c.try(ctx, "taking a turn of the fleet's limit", func(ctx context.Context) error {
		if revision == 0 {
			_, err := c.data.Create(ctx, l.key, data)
			return roomIn(c.data, err)
		}
		_, err := c.data.Update(ctx, l.key, data, revision)
		return roomIn(c.data, err)
	})
	return at, err == nil, err
}

// until waits for a time.
func (l *Limit) until(ctx context.Context, at time.Time) error {
	if wait := at.Sub(l.now()); wait > 0 && !sleep(ctx, wait) {
		return outwaited(ctx)
	}
	return nil
}

// outwaited says what was waited for when the context ended.
func outwaited(ctx context.Context) error {
	return fmt.Errorf("waiting for the fleet's limit (limits.requests_per_minute, limits.tokens_per_minute): %w", context.Cause(ctx))
}
