package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/doubletake-dev/doubletake/analysis/agreement"
	"github.com/doubletake-dev/doubletake/analysis/report"
	"github.com/doubletake-dev/doubletake/pairing"
)

// reviewSummary is how a review stands.
type reviewSummary struct {
	Queue    int                    `json:"queue"`
	States   map[pairing.State]int  `json:"states"`
	Rulings  map[pairing.Ruling]int `json:"rulings"`
	Minutes  float64                `json:"minutes_left"`
	TimeLeft pairing.TimeLeft       `json:"time_left"`
	// Stale are verdicts on evidence that has changed since, which count nowhere.
	Stale []staleVerdict `json:"stale"`
	// NotBlind counts, by reviewer, the pairs on which they ruled first when they knew
	// which side is which, or what others ruled. Agreement leaves these out.
	NotBlind  map[string]int   `json:"not_blind"`
	Agreement agreement.Report `json:"agreement"`
}

// staleVerdict is a verdict that is not applied any more, and why.
type staleVerdict struct {
	Pair   string         `json:"pair"`
	By     string         `json:"by"`
	At     time.Time      `json:"at"`
	Ruling pairing.Ruling `json:"ruling"`
	Reason string         `json:"reason"`
}

func reviewStats() *cli.Command {
	return &cli.Command{
		Name:      "stats",
		Usage:     "how far the review is, and how far the reviewers agree",
		ArgsUsage: "RUN",
		Description: `Agreement is that of blind verdicts before anything was settled: raw, Cohen's kappa of every
two, Krippendorff's alpha of all. Verdicts that were given with --open, or after a list or a
page named the arms, may follow what others ruled: they are counted and left out. So is who
cannot tell, which labels nothing. An undefined value says why. Stale verdicts, on what has changed
since, are named and count nowhere.

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
			r.warn(c)
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
	s := &reviewSummary{Queue: len(r.queue), States: map[pairing.State]int{}, Rulings: map[pairing.Ruling]int{}, Stale: []staleVerdict{}, NotBlind: map[string]int{}}
	var labels []agreement.Label
	groups := map[string]string{}
	for i, standing := range r.standings {
		s.States[standing.State]++
		if standing.Ruling != "" {
			s.Rulings[standing.Ruling]++
		}
		groups[standing.Pair] = r.queue[i].Group
		for k := range standing.Stale {
			v, e := &standing.Stale[k], &r.queue[i]
			s.Stale = append(s.Stale, staleVerdict{v.Pair, v.By, v.At, v.Ruling, staleReason(v, pairing.EvidenceNow(r.record, &e.Pair), e)})
		}
	}
	s.TimeLeft = pairing.EstimateTime(r.verdicts, s.States[pairing.Undecided])
	s.Minutes = s.TimeLeft.Minutes
	// Agreement is of what each said first, before anything was settled or talked about.
	blind, notBlind := pairing.FirstRatings(r.record, r.queue, r.verdicts)
	for _, v := range notBlind {
		s.NotBlind[v.By]++
	}
	for _, v := range blind {
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
	p("%s: %d decided, %d disputed, %d undecided; %s\n", report.Plural(s.Queue, "pair"), s.States[pairing.Decided], s.States[pairing.Disputed], s.States[pairing.Undecided], s.TimeLeft)
	for _, ruling := range pairing.Rulings() {
		if n := s.Rulings[ruling]; n > 0 {
			p("  %s %d\n", ruling, n)
		}
	}
	if n := len(s.Stale); n > 0 {
		p("stale verdicts, which count nowhere: %d\n", n)
		for _, v := range s.Stale {
			p("  %s: %s by %s, %s\n", report.Clean(v.Pair), v.Ruling, report.Clean(v.By), report.Clean(v.Reason))
		}
	}
	a := s.Agreement
	p("\nreviewers: %d; pairs that two or more looked at: %d\n", len(a.Raters), a.Overlap)
	for _, rater := range slices.Sorted(maps.Keys(a.Abstained)) {
		p("%s could not tell on %s: missing in these figures\n", report.Clean(rater), report.Plural(a.Abstained[rater], "pair"))
	}
	for _, rater := range slices.Sorted(maps.Keys(s.NotBlind)) {
		p("%s ruled on %s with the arms named, not blind: left out of these figures\n", report.Clean(rater), report.Plural(s.NotBlind[rater], "pair"))
	}
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
