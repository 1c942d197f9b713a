// Command doubletake tells the people who maintain an LLM agent whether a change to
// its context compactor is safe to merge.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, cancel := context.WithCancelCause(context.Background())
	stop := newInterruption(os.Stderr, cancel)
	signals := make(chan os.Signal, 3)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go stop.listen(signals)
	os.Exit(run(context.WithValue(ctx, interruptionKey{}, stop), os.Args, os.Stdout, os.Stderr))
}
