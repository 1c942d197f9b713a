package main

import (
	"github.com/urfave/cli/v2"

	"github.com/doubletake-dev/doubletake/analysis"
	"github.com/doubletake-dev/doubletake/analysis/history"
)

func diffCommand() *cli.Command {
	return &cli.Command{
		Name:      "diff",
		Usage:     "say what moved between two runs: decisions by item, outcomes by fixture, gates",
		ArgsUsage: "RUN RUN",
		Description: `Any two runs, also of different lineages: what differs there is said first. A decision
moves where an item that was kept is lost, contradicted or not known, or the other way; how
it was kept is no move. Candidate stands beside candidate and incumbent beside incumbent; in
a compare, B is the candidate and A the incumbent. It is no gate: the exit code is 0.

   doubletake diff monday tuesday
   doubletake diff monday tuesday --json`,
		Flags: []cli.Flag{jsonFlag()},
		Action: func(c *cli.Context) error {
			if c.NArg() != 2 {
				return usageError("diff wants two run directories, have %d (doubletake diff --help)", c.NArg())
			}
			var runs [2]*analysis.Night
			for i, dir := range c.Args().Slice() {
				n, err := loadNight(dir, analysis.Options{})
				if err != nil {
					return err
				}
				runs[i] = n
			}
			d := history.Compare(runs[0], runs[1])
			if c.Bool("json") {
				return writeIndented(c.App.Writer, d)
			}
			look := terminalStyle(c)
			return history.DiffText(c.App.Writer, d, history.Style{Color: look.Color, Unicode: unicodeLocale(), Width: look.Width})
		},
	}
}
