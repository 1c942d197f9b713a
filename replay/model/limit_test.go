package model

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
)

// sized counts every message as so many tokens.
type sized int

func (s sized) Count(fixtures.Message) int { return int(s) }

// spend asks n times one after the other and says how long that took.
func spend(t *testing.T, n, requests, tokens, size int) time.Duration {
	t.Helper()
	var model counted
	took := modelFunc(func(ctx context.Context, r *replay.Request) (*replay.Reply, error) {
		reply, err := model.Complete(ctx, r)
		reply.Usage = replay.Usage{PromptTokens: size}
		return reply, err
	})
	l := NewLimited(took, NewLimiter(requests, tokens), sized(size))
	began := time.Now()
	for range n {
		if _, err := l.Complete(context.Background(), ask("m")); err != nil {
			t.Fatal(err)
		}
	}
	if model.n.Load() != int64(n) {
		t.Errorf("asked %d times, want %d", model.n.Load(), n)
	}
	return time.Since(began)
}

func TestTheLimiterSpreadsRequests(t *testing.T) {
	for _, c := range []struct {
		name                      string
		n, requests, tokens, size int
		want                      time.Duration
	}{
		{"no limits", 1000, 0, 0, 1_000_000, 0},
		{"less than one a second", 5, 30, 0, 1, 8 * time.Second},
		{"two a second, two at once", 10, 120, 0, 1, 4 * time.Second},
		{"tokens", 5, 0, 6000, 100, 4 * time.Second},
		{"a request larger than a second's tokens", 1, 0, 6000, 1000, 9 * time.Second},
		{"the tighter limit counts", 5, 60, 6_000_000, 1, 4 * time.Second},
		{"few tokens a minute", 2, 0, 30, 3, 10 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				got := spend(t, c.n, c.requests, c.tokens, c.size)
				if off := got - c.want; off < -time.Millisecond || off > time.Millisecond {
					t.Errorf("took %v, want %v", got, c.want)
				}
			})
		})
	}
}

func TestModelsOfOneAccountShareTheLimiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limit := NewLimiter(60, 0)
		a, b := NewLimited(&counted{}, limit, sized(1)), NewLimited(&counted{}, limit, sized(1))
		began := time.Now()
		var group sync.WaitGroup
		for _, l := range []*Limited{a, b, a, b} {
			group.Go(func() {
				if _, err := l.Complete(context.Background(), ask("m")); err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
		if took := time.Since(began).Round(time.Millisecond); took != 3*time.Second {
			t.Errorf("took %v", took)
		}
	})
}

func TestTheEndOfTheContextStopsTheLimiter(t *testing.T) {
	for name, c := range map[string]struct {
		limit *Limiter
		want  string
	}{
		"requests": {NewLimiter(1, 0), "limits.requests_per_minute"},
		"tokens":   {NewLimiter(0, 1), "limits.tokens_per_minute"},
	} {
		t.Run(name, func(t *testing.T) {
			model := &counted{}
			l := NewLimited(model, c.limit, sized(1))
			if _, err := l.Complete(t.Context(), ask("m")); err != nil {
				t.Fatal(err)
			}
			// A wait that would outlast the context is not begun.
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			if _, err := l.Complete(ctx, ask("m")); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v", err)
			}
			cancel()
			if _, err := l.Complete(ctx, ask("m")); !errors.Is(err, context.Canceled) {
				t.Errorf("error %v", err)
			}
			if model.n.Load() != 1 {
				t.Errorf("asked %d times", model.n.Load())
			}
		})
	}
}

var _ replay.Model = (*Limited)(nil)

// What is no conversation waits for its turn as well.
func TestDoWaitsForItsTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limit, began := NewLimiter(60, 0), time.Now()
		var at []time.Duration
		for range 4 {
			err := limit.Do(t.Context(), 1, func(context.Context) error {
				at = append(at, time.Since(began))
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		for i := 1; i < len(at); i++ {
			if gap := at[i] - at[i-1]; gap < 900*time.Millisecond || gap > 1100*time.Millisecond {
				t.Errorf("%v between two requests at 60 a minute: %v", gap, at)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := limit.Do(ctx, 1, func(context.Context) error { t.Error("asked"); return nil }); !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
	})
}
