package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/doubletake-dev/doubletake/analysis/report"
	"github.com/doubletake-dev/doubletake/replay"
)

func mergeCommand() *cli.Command {
	return &cli.Command{
		Name:      "merge",
		Usage:     "put the shards of a night together, pair and test once, and print the report",
		ArgsUsage: "RUN...",
		Description: `Takes the run directories of nightly --shard (or compare --shard), in any order, checks
that they are the shards of one run and that nothing is missing, and writes the run that
one machine would have made. The exit code is that of its verdict; 2 where the runs do not
belong together, 3 where shards or episodes are missing. Needs no model and no set.

   doubletake nightly --shard 1/2 --out shard-1
   doubletake nightly --shard 2/2 --out shard-2
   doubletake merge shard-1 shard-2 --out night`,
		Flags: []cli.Flag{
			stringFlag("out", "the new run directory, a `DIR`; default: runs/<time>-<id>"),
			outputFlag(),
			setFolderFlag(),
			jsonFlag(),
			&cli.BoolFlag{Name: "strict", Usage: "exit with 4 where the result is inconclusive", EnvVars: twin("strict")},
		},
		Action: runMerge,
	}
}

func runMerge(c *cli.Context) error {
	if c.NArg() == 0 {
		return usageError("merge wants the run directories of all shards (doubletake merge --help)")
	}
	dir := c.String("out")
	if dir == "" {
		dir = filepath.Join("runs", replay.RunID(time.Now()))
	}
	if err := checkOutputs(c, dir); err != nil {
		return err
	}
	run, err := replay.Merge(dir, c.Args().Slice())
	if errors.Is(err, replay.ErrShardsMissing) {
		return &exitError{exitIncomplete, err}
	}
	if err != nil {
		return unwritten(c, dir, err)
	}
	out := report.Printable(c.App.ErrWriter)
	fmt.Fprintf(out, "%s put together: %s\n", report.Plural(len(run.Merged.Shards), "shard"), report.Plural(run.Plan.Fixtures, "fixture"))
	if again := run.Merged.Again; again.Answers > 0 {
		fmt.Fprintf(out, "answers that several shards paid for: %d, of %s and %.4f USD, beyond the usage of the report; a cache that they share (--cache-dir) saves them\n", again.Answers, report.Plural(again.Tokens, "token"), again.CostUSD)
	}
	for _, s := range run.Merged.Shards {
		const again = "play it anew into another --out; its answers are in the cache"
		if s.Damaged > 0 {
			fmt.Fprintf(out, "shard %d (run %s): left out as damaged: %s; the report may differ from one machine's; %s\n", s.Index, s.Run, report.Plural(s.Damaged, "journal line"), again)
		}
		if s.ContextsLost > 0 {
			fmt.Fprintf(out, "shard %d (run %s): missing or damaged: %s; explain and review cannot show them; %s\n", s.Index, s.Run, report.Plural(s.ContextsLost, "context"), again)
		}
	}
	n := &night{cli: c}
	return unwritten(c, dir, n.finish(dir))
}
