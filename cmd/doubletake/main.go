// Command doubletake tells the people who maintain an LLM agent whether a change to
// its context compactor is safe to merge.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/doubletake-dev/doubletake/replay"
)

func main() {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-signals
		cancel(replay.ErrInterrupted)
		<-signals // a second one does not wait for what is in flight
		os.Exit(exitInterrupted)
	}()
	os.Exit(run(ctx, os.Args, os.Stdout, os.Stderr))
}
