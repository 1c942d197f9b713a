package main

import (
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/doubletake-dev/doubletake/analysis/stats"
)

func statsFleiss() *cli.Command {
	return &cli.Command{
		Name:  "fleiss",
		Usage: "agreement of several raters, as many for every unit: Fleiss' kappa",
		Description: `A row is a unit, a column a label: how many raters gave the unit that label. In a file the
header names the labels, and a column "unit" names the units. se_null0 is for a test of
kappa = 0, not for an interval. Where raters are missing take stats alpha.

   doubletake stats fleiss --matrix "3,0; 2,1; 0,3"
   doubletake stats fleiss --csv counts.csv --json`,
		Flags: []cli.Flag{
			stringFlag("matrix", "the counts, rows set apart by semicolons, a `LIST`"),
			stringFlag("csv", "read the counts from `FILE`, or from stdin for -"),
			jsonFlag(),
		},
		Action: func(c *cli.Context) error {
			counts, err := fleissCounts(c)
			if err != nil {
				return err
			}
			result, err := stats.FleissKappa(counts)
			if err != nil {
				return err
			}
			var f figures
			f.add("statistic", "fleiss_kappa")
			f.add("units", result.Units)
			f.add("raters", result.Raters)
			f.optional("observed", result.Observed, result.Reason)
			f.optional("expected", result.Expected, result.Reason)
			f.optional("value", result.Value, result.Reason)
			f.fraction("value_exact", result.Fraction, result.Reason)
			f.optional("se_null0", result.SENull, result.Reason)
			return f.print(c)
		},
	}
}

func fleissCounts(c *cli.Context) ([][]int, error) {
	matrix, path := c.String("matrix"), c.String("csv")
	if c.NArg() != 0 || (matrix == "") == (path == "") {
		return nil, usageError("stats fleiss wants --matrix or --csv and nothing else (doubletake stats fleiss --help)")
	}
	if matrix != "" {
		return matrixCounts(matrix)
	}
	var counts [][]int
	return counts, withCSV(path, c.App.Reader, "a column a label", func(t *csvTable) error {
		labels := slices.DeleteFunc(slices.Clone(t.header), func(name string) bool { return name == unitColumn })
		for {
			if more, err := t.next(); !more {
				return err
			}
			row := make([]int, len(labels))
			for i, label := range labels {
				n, err := t.count(label)
				if err != nil {
					return err
				}
				row[i] = n
			}
			counts = append(counts, row)
		}
	})
}

// unitColumn names the units in the files about agreement, and is no rater or label.
const unitColumn = "unit"
