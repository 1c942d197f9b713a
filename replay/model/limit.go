package model

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/doubletake-dev/doubletake/replay"
)

// Limiter holds the agreed rates of an endpoint; models behind one endpoint share it. It
// goes down to half of what it allowed when the provider asks to slow down, stands still
// for as long as the provider asks, and comes back a tenth at a time.
type Limiter struct {
	requests, tokens *rate.Limiter
	// requestRate and tokenRate are the agreed rates a second.
	requestRate, tokenRate rate.Limit
	// most bounds the requests in flight; 0 for no bound.
	most int
	// fleet holds the rates in place of requests and tokens; nil where this process alone
	// asks.
	fleet Rates

	mu sync.Mutex
	// level is the share of what is agreed that is used now.
	level   float64
	changed time.Time // when the level was last changed
	paused  time.Time // nobody asks before
	// held counts who has a place, sent who has asked and waits for an answer.
	held, sent int
	// ceiling is how many requests were in flight when the level last was 1.
	ceiling int
	freed   chan struct{} // closed when a place may have become free
	credit  int           // tokens that were counted too many
	slowed  int
	served  int // answers that came
}

// How a [Limiter] adapts.
const (
	lowestLevel   = 1.0 / 16
	recoverAfter  = 10 * time.Second // for each step up
	recoverStep   = 0.1
	longestPaused = DefaultMaxWait
)

// NewLimiter limits requests and tokens a minute; 0 means no limit.
func NewLimiter(requestsPerMinute, tokensPerMinute int) *Limiter {
	l := &Limiter{requests: perMinute(requestsPerMinute), tokens: perMinute(tokensPerMinute), level: 1, freed: make(chan struct{})}
	l.requestRate, l.tokenRate = l.requests.Limit(), l.tokens.Limit()
	return l
}

// LimitInFlight bounds how many requests wait for their answer at once; 0 means no bound.
// It is to be called before the first request.
func (l *Limiter) LimitInFlight(n int) { l.most = n }

// Rates are agreed rates that several processes hold together.
type Rates interface {
	// Take waits until one request of so many tokens may be sent.
	Take(ctx context.Context, tokens int) error
}

// ShareRates has the rates held together with other processes. It is to be called before
// the first request.
func (l *Limiter) ShareRates(fleet Rates) { l.fleet = fleet }

// perMinute allows a burst of a second's worth, and at least of one.
func perMinute(n int) *rate.Limiter {
	if n <= 0 {
		return rate.NewLimiter(rate.Inf, 0)
	}
	return rate.NewLimiter(rate.Limit(float64(n)/60), max(1, n/60))
}

// Slowed is how often the provider asked to slow down.
func (l *Limiter) Slowed() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.slowed
}

// admit waits until a request of so many tokens may be sent.
func (l *Limiter) admit(ctx context.Context, tokens int) error {
	if err := l.place(ctx); err != nil {
		return err
	}
	for {
		err := l.rates(ctx, tokens)
		if err != nil {
			l.leave(false)
			return err
		}
		l.mu.Lock()
		if !time.Now().Before(l.paused) {
			l.sent++
			l.mu.Unlock()
			return nil
		}
		// Somebody was told to wait meanwhile: the turn is taken anew after the pause,
		// so that those who waited don't ask all at once.
		l.mu.Unlock()
	}
}

// place waits for a place among the requests in flight.
func (l *Limiter) place(ctx context.Context) error {
	for {
		l.mu.Lock()
		bound, freed := l.bound(), l.freed
		if bound == 0 || l.held < bound {
			l.held++
			l.mu.Unlock()
			return nil
		}
		l.mu.Unlock()
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for limits.requests_in_flight: %w", context.Cause(ctx))
		case <-freed:
		}
	}
}

// rates waits for the end of a pause and then for the rates.
func (l *Limiter) rates(ctx context.Context, tokens int) error {
	for {
		l.mu.Lock()
		wait := time.Until(l.paused)
		l.mu.Unlock()
		if wait <= 0 {
			break
		}
		if !sleep(ctx, wait) {
			return fmt.Errorf("waiting as the provider asked: %w", context.Cause(ctx))
		}
	}
	if l.fleet != nil {
		l.mu.Lock()
		credit := min(l.credit, tokens)
		l.credit -= credit // below zero where more was taken than counted
		l.mu.Unlock()
		return l.fleet.Take(ctx, tokens-credit)
	}
	if err := l.requests.Wait(ctx); err != nil {
		return fmt.Errorf("waiting for limits.requests_per_minute: %w", err)
	}
	if l.tokenRate == rate.Inf {
		return nil
	}
	l.mu.Lock()
	credit := min(l.credit, tokens)
	l.credit -= credit
	l.mu.Unlock()
	// A request larger than the burst takes the whole of it, again and again.
	for left := tokens - credit; left > 0; {
		n := min(left, l.tokens.Burst())
		if err := l.tokens.WaitN(ctx, n); err != nil {
			return fmt.Errorf("waiting for limits.tokens_per_minute: %w", err)
		}
		left -= n
	}
	return nil
}

// leave gives a place free.
func (l *Limiter) leave(sent bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held--
	if sent {
		l.sent--
	}
	l.wake()
}

// wake lets those look again who wait for a place. The lock is held.
func (l *Limiter) wake() {
	close(l.freed)
	l.freed = make(chan struct{})
}

// bound is how many requests may be in flight now; 0 for any number. The lock is held.
func (l *Limiter) bound() int {
	if l.level >= 1 {
		return l.most
	}
	return max(1, int(float64(l.ceiling)*l.level))
}

// correct settles what a request took against what it was counted as before.
func (l *Limiter) correct(counted int, usage replay.Usage) {
	took := usage.PromptTokens + usage.CompletionTokens
	if l.tokenRate == rate.Inf || took == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if took <= counted {
		// No more is given back than half a minute's worth: a provider that counts
		// differently must not open the limit.
		l.credit = min(l.credit+counted-took, int(30*l.tokenRate))
		return
	}
	over := took - counted
	if l.fleet != nil {
		l.credit -= over // the next request takes it along
		return
	}
	credit := min(l.credit, over)
	l.credit -= credit
	now := time.Now()
	for over -= credit; over > 0; over -= l.tokens.Burst() {
		l.tokens.ReserveN(now, min(over, l.tokens.Burst()))
	}
}

// heard is told how an answer's request ended, which began at that time.
func (l *Limiter) heard(began time.Time, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	var provider *ProviderError
	switch {
	case err == nil:
		l.served++
		if l.level < 1 && now.Sub(l.changed) >= recoverAfter {
			l.set(min(1, l.level+recoverStep), now)
		}
	case errors.As(err, &provider) && provider.slowDown():
		l.pause(now, provider.RetryAfter)
		l.slowed++
		// What was sent before the last change says nothing of the level since.
		if began.Before(l.changed) {
			return
		}
		if l.level >= 1 {
			l.ceiling = max(1, l.sent)
			if l.most > 0 {
				l.ceiling = min(l.ceiling, l.most)
			}
		}
		l.set(max(lowestLevel, l.level/2), now)
	}
}

// wait holds everybody back for as long as a provider asks. It is safe to call.
func (l *Limiter) wait(asked time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pause(time.Now(), asked)
}

// pause is wait. The lock is held.
func (l *Limiter) pause(now time.Time, asked time.Duration) {
	if end := now.Add(min(asked, longestPaused)); asked > 0 && end.After(l.paused) {
		l.paused = end
	}
}

// set sets the level. The lock is held.
func (l *Limiter) set(level float64, now time.Time) {
	const whole = 1 - recoverStep/2 // steps of a tenth don't add up to 1
	if level > whole {
		level = 1
	}
	l.level, l.changed = level, now
	for limiter, agreed := range map[*rate.Limiter]rate.Limit{l.requests: l.requestRate, l.tokens: l.tokenRate} {
		if agreed != rate.Inf {
			limiter.SetLimitAt(now, agreed*rate.Limit(level))
		}
	}
	l.wake()
}

// Do asks under the limits what is no conversation: it waits for a turn for so many tokens
// and gives it back. A client that asks again waits for its turn again.
func (l *Limiter) Do(ctx context.Context, tokens int, ask func(context.Context) error) error {
	t := &ticket{limit: l, tokens: tokens}
	if err := t.ready(ctx); err != nil {
		return err
	}
	err := ask(context.WithValue(ctx, ticketKey{}, t))
	t.done(err)
	return err
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

// Complete waits until the limits allow the request, then asks. A client that asks again
// waits for its turn again.
func (l *Limited) Complete(ctx context.Context, request *replay.Request) (*replay.Reply, error) {
	t := &ticket{limit: l.limit}
	if l.limit.tokenRate != rate.Inf {
		t.tokens = replay.CountAll(l.counter, request.Messages)
	}
	if err := t.ready(ctx); err != nil {
		return nil, err
	}
	reply, err := l.model.Complete(context.WithValue(ctx, ticketKey{}, t), request)
	t.done(err)
	if err != nil {
		return nil, err
	}
	l.limit.correct(t.tokens, reply.Usage)
	return reply, nil
}

// ticket is a request's turn at a limiter. It travels in the context, so that each try
// of a client takes a turn of its own. All its methods do nothing on none.
type ticket struct {
	limit  *Limiter
	tokens int
	// holds says that the turn has come and is not given back; began is when.
	holds bool
	began time.Time
}

type ticketKey struct{}

// ticketOf is the ticket that a context carries, or nil.
func ticketOf(ctx context.Context) *ticket {
	t, _ := ctx.Value(ticketKey{}).(*ticket)
	return t
}

// ready waits for the turn, unless it has come.
func (t *ticket) ready(ctx context.Context) error {
	if t == nil || t.holds {
		return nil
	}
	if err := t.limit.admit(ctx, t.tokens); err != nil {
		return err
	}
	t.holds, t.began = true, time.Now()
	return nil
}

// done gives the turn back, and tells how the request ended.
func (t *ticket) done(err error) {
	if t == nil || !t.holds {
		return
	}
	t.holds = false
	t.limit.heard(t.began, err)
	t.limit.leave(true)
}

// served is how many answers the limiter's endpoint has given so far; 0 without a limiter.
func (t *ticket) served() int {
	if t == nil {
		return 0
	}
	t.limit.mu.Lock()
	defer t.limit.mu.Unlock()
	return t.limit.served
}

// answered tells the limiter what the headers of an answer say of the rates.
func (t *ticket) answered(wait time.Duration) {
	if t != nil && wait > 0 {
		t.limit.wait(wait)
	}
}
