package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/doubletake-dev/doubletake/analysis/report"
	"github.com/doubletake-dev/doubletake/pairing"
	"github.com/doubletake-dev/doubletake/replay"
)

// mergedLog is what came of importing a log of verdicts.
type mergedLog struct {
	Log string `json:"log"`
	pairing.Merged
}

// importVerdicts merges logs of verdicts into that of a run, one after the other.
func importVerdicts(c *cli.Context, paths []string) error {
	return withReview(c, c.Args().First(), func(r *reviewed, open *pairing.Review) error {
		out := report.Printable(c.App.Writer)
		for _, path := range paths {
			lines, err := otherVerdicts(path, r.record.Run.ID)
			if err != nil {
				return err
			}
			m, err := open.Merge(lines)
			if err != nil {
				return fmt.Errorf("nothing was imported from %s: %w", path, err)
			}
			if c.Bool("json") {
				if err := printJSONLines(c.App.Writer, []mergedLog{{path, m}}); err != nil {
					return err
				}
				continue
			}
			fmt.Fprintf(out, "%s: %s added, %d stood here already\n", path, report.Plural(m.Added, "line"), m.Known)
			for _, by := range slices.Sorted(maps.Keys(m.By)) {
				fmt.Fprintf(out, "  %s: %d\n", by, m.By[by])
			}
			if m.Stale > 0 {
				fmt.Fprintf(out, "  stale, on evidence that is not this run's: %d, on %s\n", m.Stale, shortList(m.StalePairs))
			}
		}
		return nil
	})
}

// otherVerdicts reads the log of a copy of a run, by its own name or that of the copy's
// directory. Where a run lies beside the log, it has to be the same one.
func otherVerdicts(path, run string) ([]pairing.Verdict, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, usageError("--verdicts: %w", err)
	}
	if info.IsDir() {
		path = filepath.Join(path, pairing.VerdictsFile)
		if _, err := os.Stat(path); err != nil {
			return nil, usageError("--verdicts: %w; nobody decided there", err)
		}
	}
	switch other, err := replay.ReadRun(filepath.Dir(path)); {
	case err == nil && other.ID != run:
		return nil, usageError("%s is of the run %s, this is %s: verdicts of another night are remembered, not imported", path, other.ID, run)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	return pairing.ReadVerdictLog(path)
}

// shortList names a few.
func shortList(names []string) string {
	const most = 10
	text := ""
	for i, name := range names {
		if i == most {
			return fmt.Sprintf("%s and %d more", text, len(names)-most)
		}
		if i > 0 {
			text += ", "
		}
		text += name
	}
	return text
}
