package main

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/doubletake-dev/doubletake/analysis/report"
	"github.com/doubletake-dev/doubletake/pairing/labelling"
	"github.com/doubletake-dev/doubletake/replay"
)

func reviewExport() *cli.Command {
	return &cli.Command{
		Name:      "export",
		Usage:     "write the outputs of a run to be labelled elsewhere, blinded",
		ArgsUsage: "RUN",
		Description: `One case a line: what one episode of a pair said and did, its claims, and the texts to hold
them against, with digests. No verdict, no rationale, no name of an arm, a compactor, a
model or a fixture. The key stays in RUN/labelling. The same run exports the same bytes.

Cases are labelled twice. The blind stage shows what the cases of every arm have in the
same form. The grounding stage shows what was in front of the producer, too, from which it
can be seen which side was compacted: it comes second, and has digests of its own. Of a
rater who gave both, truth and quality are taken from the first, grounding from the second.

   doubletake review export night --blind --out cases.jsonl
   doubletake review export night --blind --stage grounding --out grounding.jsonl
   doubletake review export night --blind --rubric --out prompts.jsonl`,
		// The twins have names of their own: the run directory and the seed of a night are
		// other things, and a seed that is known unblinds.
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "blind", Usage: "leave out what tells the arms apart (there is no other export yet)", EnvVars: twin("export-blind")},
			&cli.StringFlag{Name: "out", Usage: "write to `FILE`; default: stdout", EnvVars: twin("export-out")},
			&cli.BoolFlag{Name: "rubric", Usage: "write the same cases as questions to a rubric judge", EnvVars: twin("export-rubric")},
			&cli.StringFlag{Name: "stage", Usage: "blind, or grounding: which `SET` of the cases", Value: string(labelling.Blind), EnvVars: twin("export-stage")},
			&cli.StringFlag{Name: "pairs", Usage: "discordant, or all: only a rate over all pairs can have an interval; `WHICH`", DefaultText: "that of the export before, else discordant", EnvVars: twin("export-pairs")},
			&cli.IntFlag{Name: "claims", Usage: "ask about at most `N` claims of an output; then it gets no rate over whole answers", DefaultText: "that of the export before, else all", EnvVars: twin("export-claims")},
			&cli.Uint64Flag{Name: "seed", Usage: "the seed `N` that hides the names and orders the cases; keep it to yourself", DefaultText: "that of the export before, else drawn", EnvVars: twin("export-seed")},
		},
		Action: exportCases,
	}
}

func exportCases(c *cli.Context) error {
	switch {
	case c.NArg() != 1:
		return usageError("review export wants one run directory, have %d", c.NArg())
	case !c.Bool("blind"):
		return usageError("review export writes blinded cases only: give --blind")
	case !slices.Contains(labelling.Stages(), labelling.Stage(c.String("stage"))):
		return usageError("--stage %w", noneOf(c.String("stage"), texts(labelling.Stages())...))
	case c.Int("claims") < 0:
		return usageError("--claims %d: want 0 for all, or more", c.Int("claims"))
	}
	dir := c.Args().First()
	if path := c.String("out"); path != "" {
		if err := refuseOwnFile(path, dir); err != nil {
			return err
		}
		if name := filepath.Base(path); slices.Contains(findingsFiles(), name) {
			if _, err := os.Stat(filepath.Join(filepath.Dir(path), replay.RunFile)); err == nil {
				return usageError("%s is a report of the run there: name another file", path)
			}
		}
	}
	record, err := replay.ReadRecord(dir)
	if err != nil {
		return err
	}
	options, err := exportOptions(c, dir)
	if err != nil {
		return err
	}
	pairs, err := labelling.ReadPairs(dir, options.Frame)
	if err != nil {
		return err
	}
	cases, key, err := labelling.Export(record, pairs, options)
	if err != nil {
		return err
	}
	if err := labelling.WriteKey(dir, key); err != nil {
		return err
	}
	write := func(out io.Writer) error {
		if c.Bool("rubric") {
			return labelling.WritePrompts(out, cases)
		}
		return labelling.WriteCases(out, cases)
	}
	if path := c.String("out"); path != "" {
		err = writeNamed(path, write, dir)
	} else {
		err = write(c.App.Writer)
	}
	if err != nil {
		return fmt.Errorf("writing the cases: %w", err)
	}
	named := 0
	for i := range key.Samples {
		if key.Samples[i].Named {
			named++
		}
	}
	fmt.Fprintf(c.App.ErrWriter, "%s of %s, %s not captured; the key is in %s/%s and stays there\n", report.Plural(len(cases), "case"), report.Plural(len(pairs), "pair"), report.Plural(len(key.Samples)-len(cases), "output"), dir, labelling.Dir)
	if options.Stage == labelling.Grounded {
		fmt.Fprintln(c.App.ErrWriter, "these cases tell the arms apart: hand them out once the blind ones are labelled")
	}
	if named > 0 {
		fmt.Fprintf(c.App.ErrWriter, "in %s a recorded text itself holds a name that may unblind it: see the limitations in the key\n", report.Plural(named, "case"))
	}
	return nil
}

// exportOptions are as given, else as in the export before.
func exportOptions(c *cli.Context, dir string) (labelling.Options, error) {
	o := labelling.Options{Frame: labelling.Discordant}
	switch old, err := labelling.ReadKey(dir); {
	case err == nil:
		o = labelling.Options{Seed: old.Seed, Frame: old.Frame, MaxClaims: old.MaxClaims}
	case !errors.Is(err, labelling.ErrNotExported):
		return o, err
	case !c.IsSet("seed"):
		var drawn [8]byte
		if _, err := rand.Read(drawn[:]); err != nil {
			return o, fmt.Errorf("drawing a seed: %w; name one with --seed", err)
		}
		o.Seed = binary.LittleEndian.Uint64(drawn[:])
	}
	if c.IsSet("seed") {
		o.Seed = c.Uint64("seed")
	}
	if c.IsSet("pairs") {
		o.Frame = labelling.Frame(c.String("pairs"))
	}
	if c.IsSet("claims") {
		o.MaxClaims = c.Int("claims")
	}
	o.Stage = labelling.Stage(c.String("stage"))
	return o, nil
}
