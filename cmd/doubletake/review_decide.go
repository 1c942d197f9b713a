package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/doubletake-dev/doubletake/analysis/report"
	"github.com/doubletake-dev/doubletake/pairing"
)

func byFlag() cli.Flag {
	return stringFlag("by", "who decides, a `NAME`; default: git's user, else the system's")
}

func reviewDecide() *cli.Command {
	return &cli.Command{
		Name:      "decide",
		Usage:     "give a verdict on a pair of the queue",
		ArgsUsage: "RUN PAIR RULING",
		Description: `RULING is candidate_worse, candidate_better, both_fine, both_wrong, fixture_wrong,
check_wrong or cannot_tell; or "remembered", for the verdict that was given on the same
disagreement in an earlier night. Pairs ruled both_fine or check_wrong leave the discordant
ones, fixture_wrong leaves the set for this run; report and gate show the test before and
after. A verdict is kept with who, when, and the hashes of what it was given on; another
one by the same reviewer takes its place, and nothing is erased.

   doubletake review decide night forbidden-directory candidate_worse --severity critical
   doubletake review decide night hedge-hardened check_wrong --check k2 --note "a fair paraphrase"`,
		Flags: []cli.Flag{
			byFlag(),
			stringFlag("severity", "minor, major or critical; `HOW` bad it is"),
			stringFlag("note", "a `TEXT` that is kept with the verdict"),
			stringFlag("check", "which check is wrong, by `ID`"),
			&cli.BoolFlag{Name: "adjudicate", Usage: "settle what reviewers did not agree on", EnvVars: twin("adjudicate")},
		},
		Action: func(c *cli.Context) error {
			if c.NArg() != 3 {
				return usageError("review decide wants a run directory, a pair and a ruling, have %d arguments", c.NArg())
			}
			dir, pair, ruling := c.Args().Get(0), c.Args().Get(1), c.Args().Get(2)
			v := pairing.Verdict{
				By: annotator(c.String("by")), Pair: pair, Ruling: pairing.Ruling(strings.ReplaceAll(ruling, "-", "_")),
				Severity: pairing.Severity(c.String("severity")), Note: c.String("note"), Check: c.String("check"), Adjudicates: c.Bool("adjudicate"),
			}
			return withReview(dir, func(r *reviewed, open *pairing.Review) error {
				if ruling == "remembered" {
					m, ok := r.remembered[pair]
					if !ok {
						return usageError("no earlier night decided on the disagreement of %s", pair)
					}
					v.Ruling, v.Severity, v.Check, v.Note, v.From = m.Verdict.Ruling, m.Verdict.Severity, m.Verdict.Check, m.Verdict.Note, m.Run
				}
				v, err := open.Decide(v)
				if err != nil {
					return err
				}
				fmt.Fprintf(c.App.Writer, "%s: %s by %s (verdict %d)\n", report.Clean(v.Pair), v.Ruling, report.Clean(v.By), v.Number)
				return nil
			})
		},
	}
}

// withReview opens the review of a run for one change.
func withReview(dir string, change func(*reviewed, *pairing.Review) error) (err error) {
	r, err := loadReview(dir)
	if err != nil {
		return err
	}
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
			return withReview(c.Args().First(), func(_ *reviewed, open *pairing.Review) error {
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

func reviewAssign() *cli.Command {
	return &cli.Command{
		Name:      "assign",
		Usage:     "share the queue out among reviewers, with some pairs going to two",
		ArgsUsage: "RUN NAME...",
		Description: `Each reviewer gets as many pairs as any other; a share of them goes to a second one, so
that agreement can be measured. The same names and seed give the same assignment.

   doubletake review assign night maria jon lee --overlap 0.2
   doubletake review list night --as maria`,
		Flags: []cli.Flag{
			&cli.Float64Flag{Name: "overlap", Usage: "the `SHARE` of pairs that two reviewers see", Value: 0.2, EnvVars: twin("overlap")},
			&cli.Uint64Flag{Name: "seed", Usage: "the seed `N` of who gets what", EnvVars: twin("seed")},
		},
		Action: func(c *cli.Context) error {
			if c.NArg() < 2 {
				return usageError("review assign wants a run directory and one name or more, have %d arguments", c.NArg())
			}
			a := pairing.Assignment{Reviewers: c.Args().Slice()[1:], Overlap: c.Float64("overlap"), Seed: c.Uint64("seed")}
			r, err := loadReview(c.Args().First())
			if err != nil {
				return err
			}
			if err := pairing.WriteAssignment(r.dir, a); err != nil {
				return usageError("review assign: %w", err)
			}
			var ids []string
			for i := range r.queue {
				ids = append(ids, r.queue[i].ID)
			}
			counts := map[string]int{}
			both := 0
			for _, names := range a.Of(ids) {
				for _, name := range names {
					counts[name]++
				}
				if len(names) > 1 {
					both++
				}
			}
			for _, name := range a.Reviewers {
				fmt.Fprintf(c.App.Writer, "%s: %d pairs\n", report.Clean(name), counts[name])
			}
			fmt.Fprintf(c.App.Writer, "%d of %d pairs go to two\n", both, len(ids))
			return nil
		},
	}
}
