// Simulate measures how often the tests of this project cry wolf: how often they
// reject although the candidate is not worse, where pairs of one session resemble
// each other and where somebody looks at the result again and again.
//
//	go run ./scripts/simulate
//	go run ./scripts/simulate --sims 1000 --seed 2
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintf(os.Stderr, "simulate: %v\n", err)
		os.Exit(1)
	}
}

func run() error {
	var s settings
	flag.IntVar(&s.sims, "sims", 35000, "simulated runs a line")
	flag.Uint64Var(&s.seed, "seed", 7, "seed; the same seed gives the same table on any number of cores")
	flag.Parse()
	if flag.NArg() > 0 || s.sims < 1 {
		return fmt.Errorf("want --sims above 0 and no arguments")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	return report(ctx, os.Stdout, s)
}
