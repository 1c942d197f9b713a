package main

import (
	"github.com/urfave/cli/v2"

	"github.com/doubletake-dev/doubletake/analysis/labels"
	"github.com/doubletake-dev/doubletake/analysis/report"
	"github.com/doubletake-dev/doubletake/pairing/labelling"
	"github.com/doubletake-dev/doubletake/replay"
)

func reviewLabels() *cli.Command {
	return &cli.Command{
		Name:      "labels",
		Usage:     "what imported labels say, and how far their raters agree",
		ArgsUsage: "RUN",
		Description: `People and judges apart; a judge is advisory. Decides nothing: the exit code is 0.

   doubletake review labels night --json`,
		Flags: []cli.Flag{jsonFlag()},
		Action: func(c *cli.Context) error {
			if c.NArg() != 1 {
				return usageError("review labels wants one run directory, have %d", c.NArg())
			}
			warnTorn(c, c.Args().First())
			found, err := loadLabels(c.Args().First())
			if err != nil {
				return err
			}
			if c.Bool("json") {
				return writeIndented(c.App.Writer, found)
			}
			return labels.Text(report.Printable(c.App.Writer), found)
		},
	}
}

func loadLabels(dir string) (*labels.Report, error) {
	record, err := replay.ReadRecord(dir)
	if err != nil {
		return nil, err
	}
	key, err := labelling.ReadKey(dir)
	if err != nil {
		return nil, err
	}
	set, err := labelling.Rebuild(record, key)
	if err != nil {
		return nil, err
	}
	batches, err := labelling.ReadRatings(dir)
	if err != nil {
		return nil, err
	}
	return labels.New(set, batches, labels.Options{})
}
