// Noise measures how the verdict copes with a model that is nondeterministic: it plays
// many nights of one compactor against itself on the embedded provider, whose agent gives
// another answer than the due one with a known probability, and counts how often the
// behaviour rows call the compactor worse than itself. RESULTS.md is what it printed.
//
//	go run ./scripts/noise
//	go run ./scripts/noise --nights 50 --flips 0.02 --seed 2
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintf(os.Stderr, "noise: %v\n", err)
		os.Exit(1)
	}
}

func run() (err error) {
	s, err := parse(os.Args[1:], os.Stderr)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	work, err := os.MkdirTemp("", "noise")
	if err != nil {
		return fmt.Errorf("making a folder for the nights: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	return report(ctx, os.Stdout, s, work)
}

// settings are the sizes of the measurement.
type settings struct {
	nights    int       // a row of the table
	fixtures  int       // played each night
	flips     []float64 // probabilities of another answer, a row each
	compactor string
	seed      uint64
}

// parse reads the command line. Usage goes to messages.
func parse(args []string, messages io.Writer) (settings, error) {
	var s settings
	flags := flag.NewFlagSet("noise", flag.ContinueOnError)
	flags.SetOutput(messages)
	flags.IntVar(&s.nights, "nights", 200, "nights a row")
	flags.IntVar(&s.fixtures, "fixtures", 16, "fixtures a night, the shortest ones of the shipped set that are fit for it")
	rates := flags.String("flips", "0.02,0.2", "probabilities that an answer of the agent is not the due one")
	flags.StringVar(&s.compactor, "compactor", "ledger", "the built-in compactor that is compared with itself")
	flags.Uint64Var(&s.seed, "seed", 7, "the same seed gives the same table on any number of cores")
	if err := flags.Parse(args); err != nil {
		return s, err
	}
	for text := range strings.SplitSeq(*rates, ",") {
		rate, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
		if err != nil || !(rate > 0 && rate <= 1) {
			return s, fmt.Errorf("--flips: %q; want probabilities above 0, up to 1, with commas between", text)
		}
		s.flips = append(s.flips, rate)
	}
	switch {
	case flags.NArg() > 0:
		return s, fmt.Errorf("want no arguments, have %q", flags.Arg(0))
	case s.nights < 1 || s.fixtures < 1:
		return s, fmt.Errorf("want --nights and --fixtures above 0")
	}
	return s, nil
}

// command is the command line that gives the same table.
func (s settings) command() string {
	rates := make([]string, len(s.flips))
	for i, rate := range s.flips {
		rates[i] = strconv.FormatFloat(rate, 'g', -1, 64)
	}
	return fmt.Sprintf("go run ./scripts/noise --nights %d --fixtures %d --flips %s --compactor %s --seed %d",
		s.nights, s.fixtures, strings.Join(rates, ","), s.compactor, s.seed)
}
