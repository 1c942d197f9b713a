// Simulate measures how often the tests of this project cry wolf: how often they
// reject although the candidate is not worse, where pairs of one session resemble
// each other and where somebody looks at the result again and again. It also measures
// how often the gate finds a candidate that is worse. RESULTS.md is what it printed.
//
//	go run ./scripts/simulate
//	go run ./scripts/simulate --sims 1000 --watched 200 --power 500 --seed 2
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
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
	s, err := parse(os.Args[1:], os.Stderr)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	return report(ctx, os.Stdout, s)
}

// settings are the sizes of the simulation.
type settings struct {
	sims        int     // runs a row of the table of single looks
	watched     int     // runs a row of the table of many looks
	power       int     // runs a row of the table of power
	looks       int     // evenly spaced, in the table of many looks
	discordance float64 // share of pairs that differ, where the candidate is not worse
	seed        uint64
}

// parse reads the command line. Usage goes to messages.
func parse(args []string, messages io.Writer) (settings, error) {
	var s settings
	flags := flag.NewFlagSet("simulate", flag.ContinueOnError)
	flags.SetOutput(messages)
	flags.IntVar(&s.sims, "sims", 100000, "simulated runs a row where one looks once")
	flags.IntVar(&s.watched, "watched", 20000, "simulated runs a row where one looks often")
	flags.IntVar(&s.power, "power", 40000, "simulated runs a row of the power of the gate")
	flags.IntVar(&s.looks, "looks", 30, "looks, where one looks often")
	flags.Float64Var(&s.discordance, "discordance", 0.3, "share of the pairs that are discordant where the candidate is not worse")
	flags.Uint64Var(&s.seed, "seed", 7, "the same seed gives the same tables on any number of cores")
	if err := flags.Parse(args); err != nil {
		return s, err
	}
	switch {
	case flags.NArg() > 0:
		return s, fmt.Errorf("want no arguments, have %q", flags.Arg(0))
	case s.sims < 1 || s.watched < 1 || s.power < 1 || s.looks < 1:
		return s, fmt.Errorf("want --sims, --watched, --power and --looks above 0")
	case !(s.discordance > 0 && s.discordance <= 1):
		return s, fmt.Errorf("--discordance %v is not in (0, 1]", s.discordance)
	}
	return s, nil
}

// command is the command line that gives the same tables.
func (s settings) command() string {
	return fmt.Sprintf("go run ./scripts/simulate --sims %d --watched %d --power %d --looks %d --discordance %v --seed %d",
		s.sims, s.watched, s.power, s.looks, s.discordance, s.seed)
}
