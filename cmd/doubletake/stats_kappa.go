package main

import (
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/doubletake-dev/doubletake/analysis/stats"
)

func statsKappa() *cli.Command {
	return &cli.Command{
		Name:  "kappa",
		Usage: "agreement of two raters: Cohen's kappa, weighted kappas, PABAK",
		Description: `The matrix is square, row by row: how many units got label i from the first rater and
label j from the second. Rows may be set apart by a semicolon. The interval is at 95%.

   doubletake stats kappa --matrix 20,5,10,15
   doubletake stats kappa --matrix 88,14,18,10,40,10,2,6,12 --json`,
		Flags: []cli.Flag{stringFlag("matrix", "the counts, a `LIST`"), jsonFlag()},
		Action: func(c *cli.Context) error {
			if c.NArg() != 0 || c.String("matrix") == "" {
				return usageError("stats kappa wants --matrix and nothing else (doubletake stats kappa --help)")
			}
			table, err := squareTable(c.String("matrix"))
			if err != nil {
				return err
			}
			found, err := kappaFigures(table)
			if err != nil {
				return err
			}
			return found.print(c)
		},
	}
}

func kappaFigures(table [][]int) (figures, error) {
	kappa, err := stats.CohenKappa(table, 0.95)
	if err != nil {
		return nil, err
	}
	weighted, err := stats.WeightedKappa(table)
	if err != nil {
		return nil, err
	}
	var f figures
	f.add("k", len(table))
	f.add("matrix_rowmajor", slices.Concat(table...))
	f.add("n", kappa.N)
	f.optional("p_o", kappa.Observed, kappa.Reason)
	f.optional("p_e", kappa.Expected, kappa.Reason)
	f.optional("kappa", kappa.Value, kappa.Reason)
	f.optional("se_nonnull", kappa.SE, kappa.Reason)
	f.optional("se_null0", kappa.SENull, kappa.Reason)
	f.interval("ci95", kappa.Estimate)
	reason := kappa.Reason
	if kappa.Z == nil && reason == "" {
		reason = stats.ReasonZeroSE
	}
	f.optional("z_null", kappa.Z, reason)
	f.optional("kappa_linear", weighted.Linear, weighted.Reason)
	f.optional("kappa_quadratic", weighted.Quadratic, weighted.Reason)
	f.optional("pabak", weighted.PABAK, weighted.Reason)
	return f, nil
}
