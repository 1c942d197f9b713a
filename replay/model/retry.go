package model

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// retrying is how often and after which pauses a call is tried again.
type retrying struct {
	tries   uint
	maxWait time.Duration
	// pause may change how long is waited; tests don't wait.
	pause func(time.Duration) time.Duration
	// log hears of every further try; nil for nobody.
	log *slog.Logger
}

// retried calls until an answer comes, the error is one that no other try mends, or the
// tries are used up. A try that is sent away because there are too many does not count
// while others get their answers: then it is the rate that is too high, which the limiter
// mends, and no provider that is down. Each try waits for its turn where the context carries a limiter's
// ticket, and tells the limiter how it ended.
func retried[T any](ctx context.Context, r retrying, call func(context.Context) (T, error)) (T, error) {
	waits := r.waits()
	turn := ticketOf(ctx)
	served := turn.served()
	for try := uint(1); ; try++ {
		var none T
		if err := turn.ready(ctx); err != nil {
			return none, err
		}
		value, err := call(ctx)
		turn.done(err)
		if err == nil {
			return value, nil
		}
		waits.asked = 0
		var provider *ProviderError
		if errors.As(err, &provider) {
			waits.asked = min(provider.RetryAfter, r.maxWait)
			if now := turn.served(); provider.slowDown() && now > served {
				served = now
				try--
			}
		}
		if ctx.Err() != nil || !temporary(err) || try >= r.tries {
			return none, err
		}
		wait := waits.NextBackOff()
		if r.log != nil {
			r.log.WarnContext(ctx, "model is asked again", append([]any{"try", try + 1, "of", r.tries, "wait", wait}, faultAttributes(err)...)...)
		}
		if !sleep(ctx, wait) {
			return none, fmt.Errorf("%w (waiting to try again after: %w)", context.Cause(ctx), err)
		}
	}
}

// sleep waits, and says whether it came to the end of the wait before that of the
// context.
func sleep(ctx context.Context, wait time.Duration) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return ctx.Err() == nil
	}
}

// waits says how long to wait before another try: as long as the provider asked, or
// a little more each time.
type waits struct {
	*backoff.ExponentialBackOff
	asked time.Duration
	pause func(time.Duration) time.Duration
}

// longestGrown bounds the pauses that nobody asked for.
const longestGrown = 30 * time.Second

func (r retrying) waits() *waits {
	grow := backoff.NewExponentialBackOff()
	grow.InitialInterval = min(250*time.Millisecond, r.maxWait)
	grow.MaxInterval = min(longestGrown, r.maxWait)
	return &waits{ExponentialBackOff: grow, pause: r.pause}
}

// NextBackOff implements [backoff.BackOff].
func (w *waits) NextBackOff() time.Duration {
	next := w.ExponentialBackOff.NextBackOff()
	if w.asked > 0 {
		next = w.asked
	}
	return w.pause(next)
}

// errUnanswered is a call to which no answer came: the network's fault or the time's.
type errUnanswered struct{ error }

func (e errUnanswered) Unwrap() error { return e.error }

// lateError is a call to which no answer came within that time.
type lateError time.Duration

func (e lateError) Error() string { return "no answer within " + time.Duration(e).String() }

// temporary says whether another try may mend an error. What is neither the
// provider's nor the network's was refused before anything was sent.
func temporary(err error) bool {
	var provider *ProviderError
	if errors.As(err, &provider) {
		return provider.Temporary()
	}
	var unanswered errUnanswered
	return errors.As(err, &unanswered)
}

func trimSlash(address string) string { return strings.TrimSuffix(address, "/") }
