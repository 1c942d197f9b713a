package main

import (
	"github.com/urfave/cli/v2"

	"github.com/doubletake-dev/doubletake/analysis/stats"
)

func statsNonInferior() *cli.Command {
	return &cli.Command{
		Name:      "noninferior",
		Usage:     "is the candidate worse by less than a margin?",
		ArgsUsage: "LOSSES GAINS N",
		Description: `N counts all pairs, LOSSES and GAINS those of them that differ. The margin is the largest
tolerable difference, fixed before the run. ni_p is Tango's score test; without gains the
exact one, ni_p_exact, must pass too.

   doubletake stats noninferior 3 0 200 --margin 0.05
   doubletake stats noninferior 8 1 40 --margin 0.1 --alpha 0.025 --json`,
		Flags: []cli.Flag{
			&cli.Float64Flag{Name: "margin", Usage: "the largest tolerable difference, a `SHARE`", Value: 0.05, EnvVars: twin("margin")},
			alphaFlag(), jsonFlag(),
		},
		Action: func(c *cli.Context) error {
			n, err := countArguments(c, "LOSSES", "GAINS", "N")
			if err != nil {
				return err
			}
			found, err := nonInferiorityFigures(n[0], n[1], n[2], c.Float64("margin"), c.Float64("alpha"))
			if err != nil {
				return err
			}
			return found.print(c)
		},
	}
}

func nonInferiorityFigures(losses, gains, n int, margin, alpha float64) (figures, error) {
	test, err := stats.NonInferiority(losses, gains, n, margin, alpha)
	if err != nil {
		return nil, err
	}
	perfect, err := stats.PairsForMargin(margin, alpha)
	if err != nil {
		return nil, err
	}
	var f figures
	f.add("losses", losses)
	f.add("gains", gains)
	f.add("n", n)
	f.add("margin", margin)
	f.add("alpha", alpha)
	delta := ratio(losses-gains, n)
	f.optional("delta", delta, test.Reason)
	f.optional("ni_z", test.Z, test.Reason)
	f.optional("ni_p", test.P, test.Reason)
	reason := test.Reason
	if reason == "" && gains > 0 {
		reason = "there_are_gains"
	}
	f.optional("ni_p_exact", test.PExact, reason)
	f.optional("tango_hi", test.Upper, test.Reason)
	f.add("non_inferior", test.NonInferior)
	f.add("perfect_run_passes", test.PerfectRunPasses)
	f.add("perfect_run_passes_from", perfect.Strict)
	return f, nil
}
