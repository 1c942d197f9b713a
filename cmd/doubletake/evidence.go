package main

import (
	"errors"
	"fmt"
	"text/tabwriter"

	"github.com/urfave/cli/v2"

	"github.com/doubletake-dev/doubletake/analysis"
	"github.com/doubletake-dev/doubletake/analysis/report"
)

func evidenceCommand() *cli.Command {
	return &cli.Command{
		Name:      "evidence",
		Usage:     "put the evidence of several nights together, each session once",
		ArgsUsage: "RUN...",
		Description: `Runs of one lineage, in the order in which they were begun. Nights under the same two
builds are one comparison: a fixture that was played again is a replicate and counts into
the mean of its plays, never as a new trial. Each further build is a hypothesis of its own;
the t-th may alarm at alpha 6/(pi^2 t^2), which adds up to alpha however many nights there
will be. The drift gathers small worsenings over builds; it holds where they are
independent of each other. Gates nothing: the exit code is 0.

   doubletake evidence runs/*`,
		Flags: []cli.Flag{jsonFlag()},
		Action: func(c *cli.Context) error {
			if c.NArg() == 0 {
				return usageError("evidence wants one run directory or more (doubletake evidence --help)")
			}
			var runs []*analysis.Night
			for _, dir := range c.Args().Slice() {
				n, err := loadNight(dir, analysis.Options{})
				if errors.Is(err, analysis.ErrNoNight) && c.NArg() > 1 { // runs/* names all that is there
					fmt.Fprintf(report.Printable(c.App.ErrWriter), "left out %s: %v\n", dir, err)
					continue
				}
				if err != nil {
					return err
				}
				runs = append(runs, n)
			}
			if len(runs) == 0 {
				return usageError("none of the %d run directories holds a night", c.NArg())
			}
			nights, err := analysis.Gather(runs)
			if err != nil {
				return fmt.Errorf("putting nights together: %w", err)
			}
			if c.Bool("json") {
				return writeIndented(c.App.Writer, nights)
			}
			return printEvidence(c, nights)
		},
	}
}

func printEvidence(c *cli.Context, nights analysis.Nights) error {
	w := tabwriter.NewWriter(report.Printable(c.App.Writer), 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "run\tcomparison\tnew sessions\treplayed sessions\t")
	for _, r := range nights.Runs {
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t\n", r.Run, r.Comparison, r.New, r.Replayed)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(c.App.Writer)
	fmt.Fprintln(w, "comparison\tbaseline\tcandidate\tnights\tsessions\tdifference\tp(worse)\tanytime p\talarm at\talarm\tlog10 drift\tdrift alarm\t")
	for _, x := range nights.Comparisons {
		difference := "-"
		if x.Difference != nil {
			difference = fmt.Sprintf("%.1f points", 100**x.Difference)
		}
		fmt.Fprintf(w, "%d\t%s\t%s %.8s\t%d\t%d\t%s\t%s\t%s\t%.3g\t%s\t%.2f\t%s\t\n", x.Number, report.Clean(x.Baseline), report.Clean(x.Candidate), x.Digest,
			x.Nights, x.Sessions, difference, report.PValue(x.PCluster), report.PValue(x.PAnytime), x.Level, yesNo(x.Alarm), x.Drift, yesNo(x.DriftAlarm))
	}
	return w.Flush()
}

func yesNo(b bool) string {
	if b {
		return "YES"
	}
	return "no"
}
