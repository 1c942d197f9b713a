package main

import (
	"cmp"
	"errors"

	"github.com/urfave/cli/v2"

	"github.com/doubletake-dev/doubletake/analysis"
	"github.com/doubletake-dev/doubletake/analysis/outcomes"
)

func testCommand() *cli.Command {
	return &cli.Command{
		Name:      "test",
		Usage:     "pair and test two files of outcomes, of this or another tool",
		ArgsUsage: "BASE CANDIDATE",
		Description: `Reads two files as outcomes by key, pairs them, and asks whether the second is worse by
more than chance. A loss passes in the first and fails in the second. The files are results
of promptfoo (-o results.json or .jsonl), logs of Inspect (.eval or .json), samples of
lm-eval (--log_samples), CSVs with the columns id and outcome, or run directories.

Rows are paired by what was asked, never by their order: promptfoo's by description and
vars, Inspect's by id and epoch, lm-eval's by the hash of the document. Rows without a
partner and keys on several rows are named and not tested; errors are unscored. Repeats and
epochs of one sample, and rows that share --cluster, count as one session.

Exit code 1: worse by more than chance. 3: too many rows without a partner or an outcome.
4, under --strict: neither worse nor shown to be within the margin.

   doubletake test main.json branch.json
   doubletake test base.eval candidate.eval --metric match --cluster topic
   doubletake test samples_base.jsonl samples_candidate.jsonl --metric exact_match --filter strict-match
   doubletake test base.csv candidate.csv --json
   doubletake test night night --baseline-arm ledger --arm summarize`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "format", Usage: "auto, promptfoo, inspect, lm-eval, csv or run; `FORMAT` of both files", Value: string(outcomes.Auto), EnvVars: twin("test-format")},
			stringFlag("metric", "take the outcome from the scorer, metric or column `NAME`"),
			stringFlag("filter", "take the answers of lm-eval's filter `NAME`"),
			stringFlag("column", "take the rows of promptfoo's provider or prompt `NAME`"),
			&cli.StringFlag{Name: "cluster", Usage: "rows with the same `FIELD` of their metadata, vars, document or table are one session", EnvVars: twin("test-cluster")},
			&cli.Float64Flag{Name: "threshold", Usage: "a row passes from the score `X` on; without it a score is 0 or 1", EnvVars: twin("threshold")},
			stringFlag("arm", "the arm `NAME` of run directories; default: the candidate"),
			stringFlag("baseline-arm", "the arm `NAME` of the first run directory; default: --arm"),
			&cli.Float64Flag{Name: "alpha", Usage: "the level `P` of the one-sided test", DefaultText: "0.05", EnvVars: twin("alpha")},
			&cli.Float64Flag{Name: "margin", Usage: "the largest tolerable difference in failures, a share `X`", DefaultText: "0.05", EnvVars: twin("margin")},
			&cli.Float64Flag{Name: "confidence", Usage: "the confidence `P` of intervals", DefaultText: "0.95", EnvVars: twin("confidence")},
			&cli.Float64Flag{Name: "max-unscored", Usage: "the share `X` of keys that may go without a pair or an outcome", DefaultText: "0.10", EnvVars: twin("max-unscored")},
			jsonFlag(),
			&cli.BoolFlag{Name: "strict", Usage: "exit with 4 where the result is inconclusive", EnvVars: twin("strict")},
		},
		Action: runTest,
	}
}

func runTest(c *cli.Context) error {
	if c.NArg() != 2 {
		return usageError("test wants two files, BASE and CANDIDATE, have %d (doubletake test --help)", c.NArg())
	}
	settings := analysis.DefaultSettings()
	for name, value := range map[string]*float64{"alpha": &settings.Alpha, "margin": &settings.Margin, "confidence": &settings.Confidence, "max-unscored": &settings.MaxUnscored} {
		if c.IsSet(name) {
			*value = c.Float64(name)
		}
	}
	if err := settings.Validate(); err != nil {
		return usageError("%w", err)
	}
	candidate := outcomes.Options{
		Format: outcomes.Format(c.String("format")), Metric: c.String("metric"), Filter: c.String("filter"), Column: c.String("column"),
		Cluster: c.String("cluster"), Arm: c.String("arm"),
	}
	if c.IsSet("threshold") {
		x := c.Float64("threshold")
		candidate.Threshold = &x
	}
	baseline := candidate
	baseline.Arm = cmp.Or(c.String("baseline-arm"), baseline.Arm)
	first, err := outcomes.Read(c.Args().Get(0), baseline)
	if err != nil {
		return usageError("%w", err)
	}
	second, err := outcomes.Read(c.Args().Get(1), candidate)
	if err != nil {
		return usageError("%w", err)
	}
	found, err := outcomes.Compare(first, second, settings)
	if errors.Is(err, outcomes.ErrNothingPairs) {
		return usageError("%w", err)
	}
	if err != nil {
		return err
	}
	if c.Bool("json") {
		err = writeIndented(c.App.Writer, found)
	} else {
		err = outcomes.Text(c.App.Writer, found, terminalStyle(c))
	}
	if err != nil {
		return err
	}
	return verdictExit(&analysis.Report{Verdict: found.Verdict}, c.Bool("strict"))
}
