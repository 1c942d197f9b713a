package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/doubletake-dev/doubletake/replay"
)

// stopGrace is how long a program that was told to stop at once has for it.
const stopGrace = 3 * time.Second

// interruption is the user's wish to stop, which comes in two degrees: the first lets a
// command that knows how end what is in flight, the second ends everything at once.
type interruption struct {
	out    io.Writer
	cancel context.CancelCauseFunc

	mu     sync.Mutex
	drain  chan struct{}
	drains bool // the command ends by itself once the channel is closed
}

func newInterruption(out io.Writer, cancel context.CancelCauseFunc) *interruption {
	return &interruption{out: out, cancel: cancel, drain: make(chan struct{})}
}

// listen acts on signals until the program ends.
func (i *interruption) listen(signals <-chan os.Signal) {
	<-signals
	i.first()
	<-signals
	i.cancel(replay.ErrInterrupted)
	select {
	case <-signals:
	case <-time.After(stopGrace): // something does not heed the end of its context
	}
	os.Exit(exitInterrupted)
}

// first lets what is in flight end, or ends everything where the command has nothing to
// let end.
func (i *interruption) first() {
	i.mu.Lock()
	defer i.mu.Unlock()
	close(i.drain)
	if !i.drains {
		i.cancel(replay.ErrInterrupted)
		return
	}
	fmt.Fprintln(i.out, "interrupted: what is in flight ends first; interrupt again to stop at once")
}

// drained is closed by the first interrupt; from now on that one ends nothing else.
func (i *interruption) drained() <-chan struct{} {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.drains = true
	return i.drain
}

// interruptionKey finds the interruption in a context.
type interruptionKey struct{}

// drained is closed when the user wants the command to begin nothing more. A command
// that asks for it must then end by itself. It is nil where nobody can interrupt.
func drained(ctx context.Context) <-chan struct{} {
	if i, ok := ctx.Value(interruptionKey{}).(*interruption); ok {
		return i.drained()
	}
	return nil
}
