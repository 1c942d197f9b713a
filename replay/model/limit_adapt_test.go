package model

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/doubletake-dev/doubletake/replay"
)

// busy is the answer of a provider that wants to be asked less.
func busy(wait time.Duration) error {
	return &ProviderError{Status: 429, Message: "busy", RetryAfter: wait}
}

// trying is a client that tries again as ours do, and what it asks.
func trying(tries uint, ask func() error) modelFunc {
	return func(ctx context.Context, _ *replay.Request) (*replay.Reply, error) {
		same := func(d time.Duration) time.Duration { return d }
		return retried(ctx, retrying{tries: tries, maxWait: time.Hour, pause: same}, func(context.Context) (*replay.Reply, error) {
			if err := ask(); err != nil {
				return nil, err
			}
			return &replay.Reply{}, nil
		})
	}
}

// log is when requests were sent.
type log struct {
	mu    sync.Mutex
	began time.Time
	at    []time.Duration
}

func (l *log) add() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.at = append(l.at, time.Since(l.began))
	return len(l.at)
}

func TestOneIsToldToWaitAndAllDo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sent := log{began: time.Now()}
		limit := NewLimiter(0, 0)
		l := NewLimited(trying(2, func() error {
			if sent.add() == 1 {
				return busy(20 * time.Second)
			}
			return nil
		}), limit, sized(1))
		var group sync.WaitGroup
		for i := range 4 {
			group.Go(func() {
				time.Sleep(time.Duration(i) * time.Second)
				if _, err := l.Complete(t.Context(), ask("m")); err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
		if len(sent.at) != 5 || sent.at[0] != 0 {
			t.Fatalf("sent at %v", sent.at)
		}
		for _, at := range sent.at[1:] {
			if at < 20*time.Second {
				t.Errorf("sent at %v although all were to wait for 20s", sent.at)
			}
		}
		if limit.Slowed() != 1 {
			t.Errorf("slowed %d times", limit.Slowed())
		}
	})
}

func TestTheLimiterGoesDownAndComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limit := NewLimiter(60, 0)
		fail := true
		l := NewLimited(trying(1, func() error {
			if fail {
				return busy(0)
			}
			return nil
		}), limit, sized(1))
		complete := func() time.Duration {
			began := time.Now()
			_, err := l.Complete(t.Context(), ask("m"))
			if (err != nil) != fail {
				t.Fatal(err)
			}
			return time.Since(began)
		}
		near := func(got, want time.Duration) bool { return (got - want).Abs() < 50*time.Millisecond }
		complete()
		fail = false
		// Half the rate: two seconds instead of one between requests.
		complete()
		if got := complete(); !near(got, 2*time.Second) {
			t.Errorf("%v between two requests after the provider slowed us down", got)
		}
		for range 60 {
			complete()
		}
		if got := complete(); !near(got, time.Second) || limit.level != 1 {
			t.Errorf("%v between two requests after it recovered, level %v", got, limit.level)
		}
		fail = true
		for range 30 {
			complete()
		}
		if limit.level != lowestLevel {
			t.Errorf("level %v after many refusals", limit.level)
		}
	})
}

func TestABurstOfRefusalsCountsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limit := NewLimiter(0, 0)
		l := NewLimited(trying(1, func() error { time.Sleep(time.Second); return busy(0) }), limit, sized(1))
		var group sync.WaitGroup
		for range 8 {
			group.Go(func() {
				if _, err := l.Complete(t.Context(), ask("m")); err == nil {
					t.Error("no error")
				}
			})
		}
		group.Wait()
		if limit.level != 0.5 || limit.ceiling != 8 || limit.Slowed() != 8 {
			t.Errorf("level %v of %d, slowed %d times", limit.level, limit.ceiling, limit.Slowed())
		}
	})
}

func TestRequestsInFlightAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limit := NewLimiter(0, 0)
		limit.LimitInFlight(4)
		var mu sync.Mutex
		now, most, n := 0, 0, 0
		l := NewLimited(trying(1, func() error {
			mu.Lock()
			now++
			n++
			most = max(most, now)
			mu.Unlock()
			time.Sleep(time.Second)
			mu.Lock()
			defer mu.Unlock()
			now--
			if n == 40 {
				return busy(0)
			}
			return nil
		}), limit, sized(1))
		for round, want := range []int{4, 2} {
			most = 0
			var group sync.WaitGroup
			for range 40 {
				group.Go(func() {
					_, err := l.Complete(t.Context(), ask("m"))
					mu.Lock()
					defer mu.Unlock()
					if err != nil && n < 37 {
						t.Error(err)
					}
				})
			}
			group.Wait()
			if round == 0 && most != want || most < want-1 || most > want+1 {
				t.Errorf("round %d: %d in flight at once, want %d", round, most, want)
			}
		}
		if limit.held != 0 || limit.sent != 0 {
			t.Errorf("%d places and %d requests are left over", limit.held, limit.sent)
		}
		full := NewLimiter(0, 0)
		full.LimitInFlight(1)
		if err := full.admit(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		l = NewLimited(&counted{}, full, sized(1))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := l.Complete(ctx, ask("m")); err == nil || !strings.Contains(err.Error(), "limits.requests_in_flight") {
			t.Errorf("error %v", err)
		}
	})
}

func TestTokensAreSettledAfterwards(t *testing.T) {
	for _, c := range []struct {
		name        string
		count, took int
		want        time.Duration // for five requests at 100 tokens a second
	}{
		{"as counted", 100, 100, 4 * time.Second},
		{"more than counted", 100, 200, 8 * time.Second},
		{"less than counted", 100, 50, 2 * time.Second},
		{"the provider does not say", 100, 0, 4 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := NewLimited(modelFunc(func(context.Context, *replay.Request) (*replay.Reply, error) {
					return &replay.Reply{Usage: replay.Usage{PromptTokens: c.took / 2, CompletionTokens: c.took - c.took/2}}, nil
				}), NewLimiter(0, 6000), sized(c.count))
				began := time.Now()
				for range 5 {
					if _, err := l.Complete(t.Context(), ask("m")); err != nil {
						t.Fatal(err)
					}
				}
				if took := time.Since(began); (took - c.want).Abs() > 10*time.Millisecond {
					t.Errorf("took %v, want %v", took, c.want)
				}
			})
		})
	}
}

// Whatever a provider answers, no minute sees more requests than the rate and the burst
// allow.
func TestNoMinuteSeesMoreThanTheRate(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		rate := rapid.IntRange(10, 200).Draw(r, "requests a minute")
		workers := rapid.IntRange(1, 8).Draw(r, "workers")
		faults := rapid.SliceOfN(rapid.IntRange(0, 5), 1, 40).Draw(r, "faults")
		synctest.Test(t, func(t *testing.T) {
			sent := log{began: time.Now()}
			limit := NewLimiter(rate, 0)
			l := NewLimited(trying(4, func() error {
				switch faults[sent.add()%len(faults)] {
				case 0:
					return busy(3 * time.Second)
				case 1:
					return &ProviderError{Status: 500}
				case 2:
					return errUnanswered{errors.New("reset")}
				}
				return nil
			}), limit, sized(1))
			var group sync.WaitGroup
			for range workers {
				group.Go(func() {
					for range 20 {
						_, _ = l.Complete(t.Context(), ask("m")) // a fault is as good
					}
				})
			}
			group.Wait()
			for i := range sent.at {
				n := 0
				for n = i; n < len(sent.at) && sent.at[n] < sent.at[i]+time.Minute; n++ {
				}
				if allowed := rate + max(1, rate/60); n-i > allowed {
					t.Errorf("%d requests in the minute from %v, want at most %d", n-i, sent.at[i], allowed)
				}
			}
		})
	})
}

// TestSentAwayWhileOthersAreServed: being sent away uses up the tries only where nobody
// gets an answer.
func TestSentAwayWhileOthersAreServed(t *testing.T) {
	for _, tt := range []struct {
		name   string
		served bool
		asked  int
	}{{"others are served", true, 12}, {"nobody is", false, 4}} {
		t.Run(tt.name, func(t *testing.T) {
			limit := NewLimiter(0, 0)
			p := serve(t, func(w http.ResponseWriter, _ *http.Request, n int) {
				if n == 12 {
					answer(200, goodAnswer)(w, nil)
					return
				}
				if tt.served {
					limit.heard(time.Now(), nil) // somebody else's answer
				}
				answer(429, `{"error":"slow down"}`)(w, nil)
			})
			client, _ := connect(t, Endpoint{BaseURL: p.URL})
			_, err := NewLimited(client, limit, sized(1)).Complete(t.Context(), ask("m"))
			if p.asked() != tt.asked || tt.served != (err == nil) {
				t.Errorf("asked %d times, want %d: %v", p.asked(), tt.asked, err)
			}
		})
	}
}
