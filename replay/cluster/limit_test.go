package cluster

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/doubletake-dev/doubletake/replay"
	"github.com/doubletake-dev/doubletake/replay/cluster/clustertest"
)

// clock is a time that only moves when it is told to.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) read() time.Time { c.mu.Lock(); defer c.mu.Unlock(); return c.now }

// until moves the clock on, never back.
func (c *clock) until(at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if at.After(c.now) {
		c.now = at
	}
}

// turnOf takes a turn of the limit, by a clock that moves on where the worker would wait.
func turnOf(ctx context.Context, limit *Limit, own *clock, tokens int) (time.Time, error) {
	for {
		at, taken, err := limit.take(ctx, tokens)
		if taken || err != nil && !conflict(err) {
			return at, err
		}
		if err == nil {
			own.until(at.Add(-turnsAhead))
		}
	}
}

// TestFleetLimit has three workers ask as fast as they may: what all of them send in any
// minute keeps to the limit within a tenth, and what they may send they do.
func TestFleetLimit(t *testing.T) {
	url := clustertest.Servers(t, 3)
	began := time.Date(2026, 3, 20, 1, 0, 0, 0, time.UTC)
	for name, tt := range map[string]struct{ requests, tokens, size, want int }{
		"requests":           {120, 0, 50, 120},
		"tokens":             {0, 6000, 50, 120},
		"the tighter decide": {600, 6000, 50, 120},
	} {
		t.Run(name, func(t *testing.T) {
			var sent []time.Time
			var mu sync.Mutex
			var workers sync.WaitGroup
			for range 3 {
				c, err := Connect(t.Context(), Options{URL: url})
				if err != nil {
					t.Fatal(err)
				}
				defer func() {
					if err := c.Close(); err != nil {
						t.Error(err)
					}
				}()
				limit := c.Limit("host of "+name, tt.requests, tt.tokens)
				own := &clock{now: began}
				limit.now = own.read
				workers.Go(func() {
					for range 80 { // 240 in all: two minutes' worth
						at, err := turnOf(t.Context(), limit, own, tt.size)
						if err != nil {
							t.Error(err)
							return
						}
						own.until(at) // the worker waits, and asks when its turn comes
						mu.Lock()
						sent = append(sent, at)
						mu.Unlock()
					}
				})
			}
			workers.Wait()
			last := began
			for _, from := range sent {
				n := 0
				for _, at := range sent {
					if !at.Before(from) && at.Before(from.Add(time.Minute)) {
						n++
					}
				}
				if n > tt.want*11/10 {
					t.Fatalf("%d requests in the minute from %s: want at most %d", n, from.Format(time.TimeOnly), tt.want)
				}
				if from.After(last) {
					last = from
				}
			}
			if took := last.Sub(began); len(sent) != 240 || took > 2*time.Minute*11/10 || took < 2*time.Minute*9/10 {
				t.Errorf("%d requests took %s: want 240 in two minutes", len(sent), took)
			}
		})
	}
}

// TestTurnsKeepTheRates: whatever is asked when, no span of time holds more requests or
// tokens than the rates allow in it, the request that begins it aside.
func TestTurnsKeepTheRates(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		requests, tokens := rapid.IntRange(1, 1000).Draw(t, "requests"), rapid.IntRange(1, 100_000).Draw(t, "tokens")
		var last turn
		now := time.Date(2026, 3, 20, 1, 0, 0, 0, time.UTC)
		type sent struct {
			at     time.Time
			tokens int
		}
		var list []sent
		for range rapid.IntRange(1, 30).Draw(t, "n") {
			now = now.Add(time.Duration(rapid.IntRange(0, 5000).Draw(t, "pause")) * time.Millisecond)
			size := rapid.IntRange(0, 20_000).Draw(t, "size")
			last = turn{last.next(now, requests, tokens), size}
			list = append(list, sent{last.At, size})
		}
		for i, first := range list {
			sum := 0
			for j, s := range list[i:] {
				span := s.at.Sub(first.at).Minutes()
				const rounding = 1e-6
				if j > 0 && float64(j) > span*float64(requests)*(1+rounding)+rounding {
					t.Fatalf("%d requests in %f minutes at %d a minute", j, span, requests)
				}
				if float64(sum) > span*float64(tokens)*(1+rounding)+1 {
					t.Fatalf("%d tokens in %f minutes at %d a minute", sum, span, tokens)
				}
				sum += s.tokens
			}
		}
	})
}

// TestWhoDiesHoldsUpTheFleetForNoLonger: 32 requests of a worker wait for their turns, few
// a minute, when it dies; a later night, with a limit of its own, does not wait for them.
func TestWhoDiesHoldsUpTheFleetForNoLonger(t *testing.T) {
	c := one(t, Options{})
	began := time.Date(2026, 3, 20, 1, 0, 0, 0, time.UTC)
	for name, tt := range map[string]struct{ requests, tokens, later, laterTokens int }{
		"requests": {requests: 15, later: 6000},
		"tokens":   {tokens: 15 * 20_000, laterTokens: 6000 * 20_000},
		"no limit": {requests: 1, tokens: 1, later: 6000},
	} {
		t.Run(name, func(t *testing.T) {
			dying := c.Limit(name, tt.requests, tt.tokens)
			dying.now = (&clock{now: began}).read
			const size = 20_000
			taken := 0
			for range 32 {
				_, ok, err := dying.take(t.Context(), size)
				if err != nil {
					t.Fatal(err)
				}
				if ok {
					taken++
				}
			}
			later := c.Limit(name, tt.later, tt.laterTokens)
			own := &clock{now: began}
			later.now = own.read
			at, err := turnOf(t.Context(), later, own, size)
			if err != nil || taken != 1 || at.Sub(began) > turnsAhead {
				t.Errorf("%d turns were taken ahead, and the first of the later night is at %s, %v", taken, at.Sub(began), err)
			}
		})
	}
}

// TestTakeGivesUpWithItsContext: whoever waits for a turn does, the first as well as those
// behind it.
func TestTakeGivesUpWithItsContext(t *testing.T) {
	c := one(t, Options{})
	limit := c.Limit("slow", 1, 0)
	if err := limit.Take(t.Context(), 1); err != nil { // the next is a minute away
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	ended := make(chan error, 3)
	for range cap(ended) {
		go func() { ended <- limit.Take(ctx, 1) }()
	}
	cancel(replay.ErrInterrupted)
	for range cap(ended) {
		if err := <-ended; !errors.Is(err, replay.ErrInterrupted) {
			t.Error(err)
		}
	}
}
