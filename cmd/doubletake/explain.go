package main

import (
	"errors"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/doubletake-dev/doubletake/analysis"
	"github.com/doubletake-dev/doubletake/analysis/report"
	"github.com/doubletake-dev/doubletake/analysis/story"
	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
)

func explainCommand() *cli.Command {
	return &cli.Command{
		Name:      "explain",
		Usage:     "tell the story of one pair, from the recording to the verdict",
		ArgsUsage: "RUN FIXTURE, or RUN --context HASH",
		Description: `Where the compactions fell, what became of each item and by which sentence, where the arms
parted, what each did, what each check said and why, and what the pair does to the verdict.
It works for pairs that agree, too, and for those without an outcome, and says why. Without
--arm it is the pair of the main comparison; with it, the reference against that arm.
Names the arms: who reviews blind decides first (doubletake review show). The exit code is 0.

   doubletake explain night wrong-database
   doubletake explain night wrong-database --arm ledger
   doubletake explain night wrong-database --json

With --context it prints one of the run's contexts whole, as JSON: those that the journals,
the queue and review show name.

   doubletake explain night --context 0123456789abcdef`,
		Flags: []cli.Flag{
			stringFlag("arm", "hold the arm `NAME` against the reference"),
			&cli.BoolFlag{Name: "full", Usage: "print long texts in full", EnvVars: twin("full")},
			stringFlag("context", "print the context with that `HASH`"),
			jsonFlag(),
		},
		Action: runExplain,
	}
}

func runExplain(c *cli.Context) error {
	if c.IsSet("context") {
		return printContext(c)
	}
	if c.NArg() != 2 {
		return usageError("explain wants a run directory and a fixture, have %s (doubletake explain --help)", report.Plural(c.NArg(), "argument"))
	}
	night, err := loadNight(c.Args().First(), analysis.Options{})
	if err != nil {
		return err
	}
	told, err := story.Tell(night, c.Args().Get(1), c.String("arm"))
	switch {
	case errors.Is(err, story.ErrNoFixture):
		return usageError("%w%s", err, suggestion(c.Args().Get(1), story.Names(night)))
	case errors.Is(err, story.ErrNoArm):
		return usageError("%w%s; it has %s", err, suggestion(c.String("arm"), story.Arms(night)), strings.Join(story.Arms(night), ", "))
	case err != nil:
		return err
	}
	if c.Bool("json") {
		return writeIndented(c.App.Writer, told)
	}
	return story.Text(c.App.Writer, told, story.Style{Style: terminalStyle(c), Full: c.Bool("full")})
}

// printContext prints one of a run's contexts.
func printContext(c *cli.Context) error {
	if c.NArg() != 1 {
		return usageError("explain --context wants a run directory, have %s (doubletake explain --help)", report.Plural(c.NArg(), "argument"))
	}
	record, err := replay.ReadRecord(c.Args().First())
	if err != nil {
		return err
	}
	messages, err := record.Contexts.Get(fixtures.Hash(c.String("context")))
	if err != nil {
		return usageError("%w; episodes.jsonl and queue.jsonl name the run's contexts", err)
	}
	return writeIndented(report.Printable(c.App.Writer), messages)
}

// suggestion asks whether the nearest of the names was meant.
func suggestion(name string, names []string) string {
	if like := nearest(name, names); like != "" && like != name {
		return "; did you mean " + like + "?"
	}
	return ""
}
