package main

import (
	"strconv"

	"github.com/urfave/cli/v2"

	"github.com/doubletake-dev/doubletake/analysis/stats"
)

func statsAdjust() *cli.Command {
	return &cli.Command{
		Name:      "adjust",
		Usage:     "p values corrected for their number",
		ArgsUsage: "P...",
		Description: `Gates of which any one blocks take holm; exploratory slices take bh. NA is a test that
could not be done, and does not count.

   doubletake stats adjust 0.01 0.04 0.03 0.005`,
		Flags: []cli.Flag{jsonFlag()},
		Action: func(c *cli.Context) error {
			if c.NArg() == 0 {
				return usageError("stats adjust wants p values (doubletake stats adjust --help)")
			}
			rows, err := adjustedFigures(c.Args().Slice())
			if err != nil {
				return err
			}
			return printFigureTable(c, "tests", rows, "index", "p", "holm", "bh", "by", "bonferroni")
		},
	}
}

func adjustedFigures(args []string) ([]figures, error) {
	const missing = "no_p_value"
	p := make([]*float64, len(args))
	rows := make([]figures, len(args))
	for i, arg := range args {
		if arg != "NA" {
			x, err := strconv.ParseFloat(arg, 64)
			if err != nil {
				return nil, usageError("%q is no p value", arg)
			}
			p[i] = &x
		}
		rows[i].add("index", i)
		rows[i].optional("p", p[i], missing)
	}
	for _, method := range []struct {
		name   string
		adjust func([]*float64) (stats.Adjusted, error)
	}{
		{"holm", stats.Holm}, {"bh", stats.BenjaminiHochberg},
		{"by", stats.BenjaminiYekutieli}, {"bonferroni", stats.Bonferroni},
	} {
		adjusted, err := method.adjust(p)
		if err != nil {
			return nil, err
		}
		for i := range rows {
			rows[i].optional(method.name, adjusted.P[i], missing)
		}
	}
	return rows, nil
}
