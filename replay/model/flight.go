package model

import (
	"context"
	"errors"
	"sync"
)

// flights lets callers who ask for the same at the same time share one answer. Whoever comes
// first works it out for itself, without a goroutine whose stack would have to grow for each
// call anew; the others wait, though no longer than they care to.
type flights[T any] struct {
	mu sync.Mutex
	of map[string]*flight[T]
}

type flight[T any] struct {
	done  chan struct{} // closed once the answer is there
	value T
	err   error
}

// errBroken is what the others get where working the answer out ended in a panic.
var errBroken = errors.New("whoever was asking for the same did not come back")

// do returns what work returns, and whether it was this caller's own work. Who waits for
// another's stops with its context, and gets the context's cause.
func (f *flights[T]) do(ctx context.Context, key string, work func() (T, error)) (value T, own bool, err error) {
	f.mu.Lock()
	shared := f.of[key]
	if shared != nil {
		f.mu.Unlock()
		select {
		case <-ctx.Done():
			return value, false, context.Cause(ctx)
		case <-shared.done:
			return shared.value, false, shared.err
		}
	}
	if f.of == nil {
		f.of = map[string]*flight[T]{}
	}
	mine := &flight[T]{done: make(chan struct{}), err: errBroken}
	f.of[key] = mine
	f.mu.Unlock()
	defer func() {
		f.mu.Lock()
		delete(f.of, key)
		f.mu.Unlock()
		close(mine.done)
	}()
	mine.value, mine.err = work()
	return mine.value, true, mine.err
}
