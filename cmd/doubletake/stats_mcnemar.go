package main

import (
	"github.com/urfave/cli/v2"

	"github.com/doubletake-dev/doubletake/analysis/stats"
)

func statsMcNemar() *cli.Command {
	return &cli.Command{
		Name:      "mcnemar",
		Usage:     "are losses and gains equally likely? The exact, mid-p and asymptotic tests, and the odds",
		ArgsUsage: "LOSSES GAINS",
		Description: `Only the discordant pairs count. A whole table goes into --matrix: both passed, losses,
gains, neither passed. It has two rows and two columns; a larger one is refused.

   doubletake stats mcnemar 12 3
   doubletake stats mcnemar --matrix 59,12,3,80 --json`,
		Flags: []cli.Flag{stringFlag("matrix", "the four counts instead of LOSSES GAINS, a `LIST`"), confFlag(), jsonFlag()},
		Action: func(c *cli.Context) error {
			losses, gains, err := discordantPairs(c)
			if err != nil {
				return err
			}
			found, err := pairFigures(losses, gains, c.Float64("conf"))
			if err != nil {
				return err
			}
			return found.print(c)
		},
	}
}

// discordantPairs reads the losses and gains, from the arguments or out of a table.
func discordantPairs(c *cli.Context) (losses, gains int, err error) {
	if c.String("matrix") == "" {
		n, err := countArguments(c, "LOSSES", "GAINS")
		if err != nil {
			return 0, 0, err
		}
		return n[0], n[1], nil
	}
	if c.NArg() != 0 {
		return 0, 0, usageError("mcnemar wants LOSSES GAINS or --matrix, have both (doubletake stats mcnemar --help)")
	}
	table, err := squareTable(c.String("matrix"))
	if err != nil {
		return 0, 0, err
	}
	if len(table) != 2 {
		return 0, 0, usageError("--matrix is %d x %[1]d: McNemar's test is for 2 x 2, both passed, losses, gains, neither passed", len(table))
	}
	return table[0][1], table[1][0], nil
}

func pairFigures(losses, gains int, conf float64) (figures, error) {
	test, err := stats.McNemar(losses, gains)
	if err != nil {
		return nil, err
	}
	point, err := stats.PointProbability(losses, gains)
	if err != nil {
		return nil, err
	}
	var f figures
	f.add("losses", losses)
	f.add("gains", gains)
	f.add("n", losses+gains)
	f.add("pmf", point)
	f.add("p_exact_two", test.PTwo)
	f.add("p_exact_worse", test.PWorse)
	f.add("p_exact_better", test.PBetter)
	f.add("p_midp_two", test.PMidTwo)
	f.add("p_midp_worse", test.PMidWorse)
	f.add("p_midp_two_doubled", test.PMidTwoDoubled)
	f.optional("chi2", test.Chi2, test.Reason)
	f.optional("p_chi2", test.PChi2, test.Reason)
	f.optional("chi2_cc", test.Chi2Corrected, test.Reason)
	f.optional("p_chi2_cc", test.PChi2Corrected, test.Reason)
	f.add("log10_p_exact_two", test.Log10PTwo)
	f.add("log10_p_exact_worse", test.Log10PWorse)
	f.add("min_p", test.MinP)
	f.add("attainable", test.Attainable)
	return f, f.oddsRatio(losses, gains, conf)
}
