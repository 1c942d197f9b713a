package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/doubletake-dev/doubletake/analysis/report"
	"github.com/doubletake-dev/doubletake/pairing"
)

func byFlag() cli.Flag {
	return stringFlag("by", "who decides, a `NAME`; default: git's user, else the system's", "as")
}

func reviewDecide() *cli.Command {
	return &cli.Command{
		Name:      "decide",
		Usage:     "give a verdict on a pair of the queue",
		ArgsUsage: "RUN PAIR RULING",
		Description: `PAIR is the number of a pair in the queue, its short id, or its name. RULING is left_worse,
right_worse, both_fine, both_wrong, fixture_wrong, check_wrong or cannot_tell; the sides are those of review show and review next. With --open, and once you
have decided, it can be candidate_worse or candidate_better. "remembered" takes over the
verdict that was given on the same disagreement in an earlier night; it is not blind.

Pairs ruled both_fine or check_wrong leave the discordant ones, fixture_wrong leaves the
set for this run; report and gate show the test before and after. A verdict is kept with
who, when, and the hashes of what it was given on; another one by the same reviewer takes
its place, and nothing is erased.

   doubletake review decide night 7 left_worse --severity critical
   doubletake review decide night forbidden-directory candidate_worse --open
   doubletake review decide night hedge-hardened check_wrong --check k2 --note "a fair paraphrase"
   doubletake review decide night superseded-path remembered`,
		Flags: []cli.Flag{
			byFlag(),
			openFlag(),
			stringFlag("severity", "minor, major or critical; `HOW` bad it is"),
			stringFlag("note", "a `TEXT` that is kept with the verdict"),
			&cli.StringSliceFlag{Name: "check", Usage: "which check is wrong, by `ID` (repeatable); default: all on which the sides differ", EnvVars: twin("check")},
			&cli.BoolFlag{Name: "adjudicate", Usage: "settle what reviewers did not agree on", EnvVars: twin("adjudicate")},
			jsonFlag(),
		},
		Action: func(c *cli.Context) error {
			if c.NArg() != 3 {
				return usageError("review decide wants a run directory, a pair and a ruling, have %s", report.Plural(c.NArg(), "argument"))
			}
			dir, called, ruling := c.Args().Get(0), c.Args().Get(1), strings.ReplaceAll(c.Args().Get(2), "-", "_")
			v := pairing.Verdict{
				By:       annotator(c.String("by")),
				Severity: pairing.Severity(c.String("severity")), Note: c.String("note"), Checks: c.StringSlice("check"), Adjudicates: c.Bool("adjudicate"),
			}
			return withReview(c, dir, func(r *reviewed, open *pairing.Review) error {
				i, err := r.find(called)
				if err != nil {
					return err
				}
				pair := r.queue[i].ID
				v.Pair = pair
				swapped := pairing.Swapped(r.record.Run.ID, v.By, pair)
				if ruling == "remembered" {
					m, ok := r.remembered[pair]
					if !ok {
						return usageError("no earlier night decided on the disagreement of %s", called)
					}
					v.Ruling, v.Severity, v.Checks, v.Note, v.From = m.Verdict.Ruling, m.Verdict.Severity, m.Verdict.Checks, m.Verdict.Note, m.Run
				} else {
					var err error
					if v.Ruling, err = rulingOf(ruling, swapped, c.Bool("open"), open.Seen(v.By, pair)); err != nil {
						return err
					}
					v.Blind = !c.Bool("open")
				}
				v.Seconds = secondsShown(dir, v.By, pair, time.Now())
				knew := open.Seen(v.By, pair)
				v, err := open.Decide(v)
				if err != nil && !knew && !c.Bool("open") {
					return r.unnamed(i, err)
				} else if err != nil {
					return err
				}
				remains := r.queue[i].Remains(v.Ruling, v.Checks)
				if c.Bool("json") {
					if remains != "" {
						fmt.Fprintf(c.App.ErrWriter, "%s: %s\n", report.Clean(v.Pair), report.Clean(remains))
					}
					return printJSONLines(c.App.Writer, []pairing.Verdict{v})
				}
				fmt.Fprintf(c.App.Writer, "%s: %s by %s (verdict %d)\n", report.Clean(v.Pair), v.Ruling, report.Clean(v.By), v.Number)
				if len(v.Checks) > 0 {
					fmt.Fprintf(c.App.Writer, "wrong: %s\n", report.Clean(strings.Join(v.Checks, ", ")))
				}
				if remains != "" {
					fmt.Fprintln(c.App.Writer, report.Clean(remains))
				}
				if v.Blind {
					s := &shownPair{reviewed: r, named: true, swapped: swapped}
					s.entry, _ = open.Entry(pair) // found above
					left, right := s.names()
					fmt.Fprintf(c.App.Writer, "left was %s, right was %s\n", left, right)
				}
				return nil
			})
		},
	}
}

// The rulings that name a side rather than an arm.
const (
	leftWorse  = "left_worse"
	rightWorse = "right_worse"
)

// blindRulings are what can be ruled by who does not know the arms.
func blindRulings() []string {
	list := []string{leftWorse, rightWorse}
	for _, r := range pairing.Rulings() {
		if r != pairing.CandidateWorse && r != pairing.CandidateBetter {
			list = append(list, string(r))
		}
	}
	return list
}

// rulingOf is what a word means for the candidate, which is the second arm: on the left
// where the sides are swapped. Open says that the arms are named from the start, seen that
// the reviewer knows them.
func rulingOf(word string, swapped, open, seen bool) (pairing.Ruling, error) {
	switch word {
	case leftWorse, rightWorse:
		if open {
			return "", usageError("with --open no side is left or right: give %s or %s", pairing.CandidateWorse, pairing.CandidateBetter)
		}
		if (word == leftWorse) == swapped {
			return pairing.CandidateWorse, nil
		}
		return pairing.CandidateBetter, nil
	case string(pairing.CandidateWorse), string(pairing.CandidateBetter):
		if !open && !seen {
			return "", usageError("you have not been told which side the candidate is: give %s or %s (doubletake review show), or --open", leftWorse, rightWorse)
		}
		return pairing.Ruling(word), nil
	}
	all := append(blindRulings(), string(pairing.CandidateWorse), string(pairing.CandidateBetter), "remembered")
	if !slices.Contains(all, word) {
		if like := nearest(word, all); like != "" {
			return "", usageError("ruling %.40q: did you mean %s?", word, like)
		}
		return "", usageError("ruling %.40q: want one of %s", word, strings.Join(all, ", "))
	}
	return pairing.Ruling(word), nil
}

// withReview opens the review of a run for one change. Opening cuts a torn line off: that
// is said before.
func withReview(c *cli.Context, dir string, change func(*reviewed, *pairing.Review) error) (err error) {
	r, err := loadReview(dir)
	if err != nil {
		return err
	}
	r.warn(c)
	open, err := pairing.OpenReview(dir, r.record, r.queue, time.Now)
	if err != nil {
		return err
	}
	return errors.Join(change(r, open), open.Close())
}

func reviewUndo() *cli.Command {
	return &cli.Command{
		Name:        "undo",
		Usage:       "take your last verdict back",
		ArgsUsage:   "RUN",
		Description: "   doubletake review undo night",
		Flags:       []cli.Flag{byFlag()},
		Action: func(c *cli.Context) error {
			if c.NArg() != 1 {
				return usageError("review undo wants one run directory, have %d", c.NArg())
			}
			return withReview(c, c.Args().First(), func(_ *reviewed, open *pairing.Review) error {
				v, err := open.Undo(annotator(c.String("by")))
				if err != nil {
					return err
				}
				fmt.Fprintf(c.App.Writer, "%s: %s taken back\n", report.Clean(v.Pair), v.Ruling)
				return nil
			})
		},
	}
}
