package main

import (
	"fmt"
	"io"

	"github.com/urfave/cli/v2"

	"github.com/doubletake-dev/doubletake/analysis/agreement"
	"github.com/doubletake-dev/doubletake/analysis/report"
	"github.com/doubletake-dev/doubletake/pairing"
)

// reviewSummary is how a review stands.
type reviewSummary struct {
	Queue     int                    `json:"queue"`
	States    map[pairing.State]int  `json:"states"`
	Rulings   map[pairing.Ruling]int `json:"rulings"`
	Minutes   float64                `json:"minutes_left"`
	Agreement agreement.Report       `json:"agreement"`
}

func reviewStats() *cli.Command {
	return &cli.Command{
		Name:      "stats",
		Usage:     "how far the review is, and how far the reviewers agree",
		ArgsUsage: "RUN",
		Description: `Agreement is that of the verdicts before anything was settled: raw, Cohen's kappa of every
two, Krippendorff's alpha of all. An undefined value says why.

   doubletake review stats night --json`,
		Flags: []cli.Flag{jsonFlag()},
		Action: func(c *cli.Context) error {
			if c.NArg() != 1 {
				return usageError("review stats wants one run directory, have %d", c.NArg())
			}
			r, err := loadReview(c.Args().First())
			if err != nil {
				return err
			}
			s, err := r.summary()
			if err != nil {
				return err
			}
			if c.Bool("json") {
				return writeIndented(c.App.Writer, s)
			}
			return printSummary(c.App.Writer, s)
		},
	}
}

func (r *reviewed) summary() (*reviewSummary, error) {
	s := &reviewSummary{Queue: len(r.queue), States: map[pairing.State]int{}, Rulings: map[pairing.Ruling]int{}, Minutes: r.minutes()}
	var labels []agreement.Label
	groups := map[string]string{}
	for i, standing := range r.standings {
		s.States[standing.State]++
		if standing.Ruling != "" {
			s.Rulings[standing.Ruling]++
		}
		groups[standing.Pair] = r.queue[i].Group
	}
	// Agreement is of what each said first, before anything was settled or talked about.
	for _, v := range pairing.FirstRatings(r.record, r.queue, r.verdicts) {
		value := string(v.Ruling)
		if v.Ruling == pairing.CannotTell {
			value = ""
		}
		labels = append(labels, agreement.Label{Unit: v.Pair, Group: groups[v.Pair], Rater: v.By, Value: value})
	}
	var categories []string
	for _, ruling := range pairing.Rulings() {
		if ruling != pairing.CannotTell {
			categories = append(categories, string(ruling))
		}
	}
	var err error
	s.Agreement, err = agreement.Measure(labels, agreement.Options{Categories: categories})
	return s, err
}

func printSummary(out io.Writer, s *reviewSummary) error {
	p := func(format string, args ...any) { fmt.Fprintf(out, format, args...) }
	p("%d pairs: %d decided, %d disputed, %d undecided; about %.0f minutes left\n", s.Queue, s.States[pairing.Decided], s.States[pairing.Disputed], s.States[pairing.Undecided], s.Minutes)
	for _, ruling := range pairing.Rulings() {
		if n := s.Rulings[ruling]; n > 0 {
			p("  %s %d\n", ruling, n)
		}
	}
	a := s.Agreement
	p("\nreviewers: %d; pairs that two or more looked at: %d\n", len(a.Raters), a.Overlap)
	if a.Agreement != nil {
		p("raw agreement %.3f\n", *a.Agreement)
	}
	for _, pair := range a.Pairs {
		p("kappa of %s and %s: %s\n", report.Clean(pair.First), report.Clean(pair.Second), estimate(pair.Value, pair.Interval != nil, func() (float64, float64) { return pair.Interval.Low, pair.Interval.High }, pair.Explained, pair.Reason))
	}
	if len(a.Raters) > 1 {
		p("Krippendorff's alpha of all: %s\n", estimate(a.Alpha.Value, a.Alpha.Low != nil, func() (float64, float64) { return *a.Alpha.Low, *a.Alpha.High }, a.Alpha.Explained, a.Alpha.IntervalReason))
	}
	return nil
}

// estimate prints a value with its interval, or with why there is none.
func estimate(value *float64, interval bool, limits func() (float64, float64), reasons ...string) string {
	text := "undefined"
	if value != nil {
		text = fmt.Sprintf("%.3f", *value)
	}
	if interval {
		low, high := limits()
		text += fmt.Sprintf(" (95%% interval %.3f to %.3f)", low, high)
	}
	for _, reason := range reasons {
		if reason != "" {
			return text + "; " + reason
		}
	}
	return text
}
