package main

import (
	"fmt"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/doubletake-dev/doubletake/analysis/stats"
)

func statsAlpha() *cli.Command {
	return &cli.Command{
		Name:  "alpha",
		Usage: "agreement of several raters, some of whom may be missing: Krippendorff's alpha, nominal",
		Description: `A line is a unit, a column a rater, a cell the label that the one got from the other. An
empty cell, NA, . or * is a label that is missing, and no label. The header names the
raters; a column "unit" names the units. A file with the columns unit,rater,label has a
line a label. Units with fewer than two labels say nothing and are left out. observed
and expected are disagreements.

   doubletake stats alpha --csv labels.csv
   doubletake stats alpha --matrix "yes,yes,no; no,,no; yes,yes,yes" --json`,
		Flags: []cli.Flag{
			stringFlag("csv", "read the labels from `FILE`, or from stdin for -"),
			stringFlag("matrix", "the labels, units set apart by semicolons, a `LIST`"),
			jsonFlag(),
		},
		Action: func(c *cli.Context) error {
			units, err := ratedUnits(c)
			if err != nil {
				return err
			}
			alpha := stats.KrippendorffAlpha(units)
			var f figures
			f.add("statistic", "krippendorff_alpha_nominal")
			f.add("units", alpha.Units)
			f.add("labels", alpha.Labels)
			f.optional("observed", alpha.Observed, alpha.Reason)
			f.optional("expected", alpha.Expected, alpha.Reason)
			f.optional("value", alpha.Value, alpha.Reason)
			f.fraction("value_exact", alpha.Fraction, alpha.Reason)
			f.optional("se_null0", nil, "no_closed_form")
			return f.print(c)
		},
	}
}

// ratedUnits returns the labels of every unit.
func ratedUnits(c *cli.Context) ([][]string, error) {
	matrix, path := c.String("matrix"), c.String("csv")
	if c.NArg() != 0 || (matrix == "") == (path == "") {
		return nil, usageError("stats alpha wants --csv or --matrix and nothing else (doubletake stats alpha --help)")
	}
	var units [][]string
	if matrix != "" {
		for _, row := range matrixRows(matrix) {
			units = append(units, givenLabels(row))
		}
		return units, nil
	}
	return units, withCSV(path, c.App.Reader, "a column a rater, or the columns unit,rater,label", func(t *csvTable) error {
		var err error
		if t.has(unitColumn) && t.has("rater") && t.has("label") && len(t.header) == 3 {
			units, err = readLabelLines(t)
		} else {
			units, err = readUnitLines(t)
		}
		return err
	})
}

// readUnitLines reads a file with a line a unit.
func readUnitLines(t *csvTable) ([][]string, error) {
	name := slices.Index(t.header, unitColumn)
	seen := map[string]int{}
	var units [][]string
	for {
		if more, err := t.next(); !more {
			return units, err
		}
		cells := slices.Clone(t.record)
		if name >= 0 {
			if err := t.once(seen, cells[name], unitColumn, cells[name]); err != nil {
				return nil, err
			}
			cells = slices.Delete(cells, name, name+1)
		}
		units = append(units, givenLabels(cells))
	}
}

// readLabelLines reads a file with a line a label.
func readLabelLines(t *csvTable) ([][]string, error) {
	seen := map[string]int{}
	at := map[string]int{}
	var units [][]string
	for {
		if more, err := t.next(); !more {
			return units, err
		}
		unit, rater := t.cell(unitColumn), t.cell("rater")
		if err := t.once(seen, fmt.Sprintf("%q %q", unit, rater), "rater", rater); err != nil {
			return nil, err
		}
		i, ok := at[unit]
		if !ok {
			i = len(units)
			at[unit] = i
			units = append(units, nil)
		}
		units[i] = append(units[i], givenLabels([]string{t.cell("label")})...)
	}
}

// once is an error where a key that may stand in one line stands in two.
func (t *csvTable) once(seen map[string]int, key, what, name string) error {
	if first, twice := seen[key]; twice {
		return fmt.Errorf("line %d: %s %q stands on line %d already", t.line, what, name, first)
	}
	seen[key] = t.line
	return nil
}

// givenLabels leaves out what is missing.
func givenLabels(cells []string) []string {
	return slices.DeleteFunc(cells, func(cell string) bool {
		return cell == "" || cell == "NA" || cell == "." || cell == "*"
	})
}
