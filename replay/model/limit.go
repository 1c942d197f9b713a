package model

import (
	"context"
	"fmt"

	"golang.org/x/time/rate"

	"github.com/doubletake-dev/doubletake/replay"
)

// Limiter holds the agreed rates of an account; models that share an account share
// the limiter.
type Limiter struct {
	requests, tokens *rate.Limiter
}

// NewLimiter limits requests and prompt tokens a minute; 0 means no limit.
func NewLimiter(requestsPerMinute, tokensPerMinute int) *Limiter {
	return &Limiter{requests: perMinute(requestsPerMinute), tokens: perMinute(tokensPerMinute)}
}

// perMinute allows a burst of a second's worth, and at least of one.
func perMinute(n int) *rate.Limiter {
	if n <= 0 {
		return rate.NewLimiter(rate.Inf, 0)
	}
	return rate.NewLimiter(rate.Limit(float64(n)/60), max(1, n/60))
}

// Limited is a model that waits for its turn.
type Limited struct {
	model   replay.Model
	limit   *Limiter
	counter replay.Counter
}

// NewLimited wraps a model with a limiter; the counter tells the size of a request.
func NewLimited(model replay.Model, limit *Limiter, counter replay.Counter) *Limited {
	return &Limited{model, limit, counter}
}

// Complete waits until the limits allow the request, then asks.
func (l *Limited) Complete(ctx context.Context, request *replay.Request) (*replay.Reply, error) {
	if err := l.limit.requests.Wait(ctx); err != nil {
		return nil, fmt.Errorf("waiting for limits.requests_per_minute: %w", err)
	}
	if l.limit.tokens.Limit() != rate.Inf {
		// A request larger than the burst takes the whole of it, again and again.
		for left := replay.CountAll(l.counter, request.Messages); left > 0; {
			n := min(left, l.limit.tokens.Burst())
			if err := l.limit.tokens.WaitN(ctx, n); err != nil {
				return nil, fmt.Errorf("waiting for limits.tokens_per_minute: %w", err)
			}
			left -= n
		}
	}
	return l.model.Complete(ctx, request)
}
