package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/urfave/cli/v2"

	"github.com/doubletake-dev/doubletake/analysis/report"
	"github.com/doubletake-dev/doubletake/pairing/labelling"
	"github.com/doubletake-dev/doubletake/replay"
)

func reviewImport() *cli.Command {
	return &cli.Command{
		Name:      "import",
		Usage:     "take in labels and verdicts that were made elsewhere",
		ArgsUsage: "RUN",
		Description: `Each line is one rating of one case (doubletake review export). A line that does not fit its
case as it is now, that repeats one, or that leaves a claim out is refused with file and
line; with any fault nothing is taken in.

--verdicts merges the log of reviewers who worked on a copy of the run: a verdicts.jsonl or
the copy's directory. Each line keeps who gave it and when; one that stands here already is
left out, so that importing twice does no harm; one on evidence that is not this run's is
kept as stale. Which log is imported into which makes no difference to what stands.

   doubletake review import night --labels ann.jsonl --labels ben.jsonl --judge judge.jsonl
   doubletake review import night --verdicts marias-copy/verdicts.jsonl --verdicts jons-copy`,
		Flags: []cli.Flag{
			&cli.StringSliceFlag{Name: "labels", Usage: "people's ratings, a `FILE` (repeatable)", EnvVars: twin("import-labels")},
			&cli.StringSliceFlag{Name: "verdicts", Usage: "a log of verdicts on a copy of the run, a `FILE` or run directory (repeatable)", EnvVars: twin("import-verdicts")},
			jsonFlag(),
			&cli.StringSliceFlag{Name: "judge", Usage: "a rubric judge's ratings, a `FILE` (repeatable)", EnvVars: twin("import-judge")},
		},
		Action: func(c *cli.Context) error {
			if c.NArg() != 1 {
				return usageError("review import wants one run directory, have %d", c.NArg())
			}
			logs, labels := c.StringSlice("verdicts"), len(c.StringSlice("labels"))+len(c.StringSlice("judge"))
			if len(logs)+labels == 0 {
				return usageError("review import wants --labels FILE, --judge FILE or --verdicts FILE")
			}
			if len(logs) > 0 {
				if err := importVerdicts(c, logs); err != nil {
					return err
				}
			}
			if labels == 0 {
				return nil
			}
			return importLabels(c)
		},
	}
}

// importedLabels counts the ratings that an import brought.
type importedLabels struct {
	People int `json:"human"`
	Judges int `json:"judge"`
}

func importLabels(c *cli.Context) (err error) {
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
	if c.Bool("json") {
		return printJSONLines(c.App.Writer, []importedLabels{{people, len(batch.Ratings) - people}})
	}
	_, err = fmt.Fprintf(c.App.Writer, "%s of people, %d of judges (doubletake review labels %s)\n", report.Plural(people, "rating"), len(batch.Ratings)-people, shellPath(c.Args().First()))
	return err
}
