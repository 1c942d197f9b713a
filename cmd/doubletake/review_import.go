package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/urfave/cli/v2"

	"github.com/doubletake-dev/doubletake/pairing/labelling"
	"github.com/doubletake-dev/doubletake/replay"
)

func reviewImport() *cli.Command {
	return &cli.Command{
		Name:      "import",
		Usage:     "take in labels that were made elsewhere",
		ArgsUsage: "RUN",
		Description: `Each line is one rating of one case (doubletake review export). A line that does not fit its
case as it is now, that repeats one, or that leaves a claim out is refused with file and
line; with any fault nothing is taken in.

   doubletake review import night --labels ann.jsonl --labels ben.jsonl --judge judge.jsonl`,
		Flags: []cli.Flag{
			&cli.StringSliceFlag{Name: "labels", Usage: "people's ratings, a `FILE` (repeatable)", EnvVars: twin("import-labels")},
			&cli.StringSliceFlag{Name: "judge", Usage: "a rubric judge's ratings, a `FILE` (repeatable)", EnvVars: twin("import-judge")},
		},
		Action: importLabels,
	}
}

func importLabels(c *cli.Context) (err error) {
	if c.NArg() != 1 {
		return usageError("review import wants one run directory, have %d", c.NArg())
	}
	var sources []labelling.Source
	for _, given := range []struct {
		kind  labelling.Kind
		paths []string
	}{{labelling.Human, c.StringSlice("labels")}, {labelling.Judge, c.StringSlice("judge")}} {
		for _, path := range given.paths {
			file, openErr := os.Open(path)
			if openErr != nil {
				return fmt.Errorf("reading labels: %w", openErr)
			}
			defer func() { err = errors.Join(err, file.Close()) }()
			sources = append(sources, labelling.Source{Name: path, Kind: given.kind, In: file})
		}
	}
	if len(sources) == 0 {
		return usageError("review import wants --labels FILE or --judge FILE")
	}
	record, err := replay.ReadRecord(c.Args().First())
	if err != nil {
		return err
	}
	batch, err := labelling.Import(record, sources...)
	if err != nil {
		return fmt.Errorf("nothing was imported:\n%w", err)
	}
	people := 0
	for i := range batch.Ratings {
		if batch.Ratings[i].Kind == labelling.Human {
			people++
		}
	}
	_, err = fmt.Fprintf(c.App.Writer, "%d ratings of people, %d of judges (doubletake review labels %s)\n", people, len(batch.Ratings)-people, c.Args().First())
	return err
}
