package main

import (
	"cmp"
	"fmt"
	"io"

	"github.com/urfave/cli/v2"

	"github.com/doubletake-dev/doubletake/analysis/report"
	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/pairing"
	"github.com/doubletake-dev/doubletake/replay"
)

func reviewCommand() *cli.Command {
	return &cli.Command{
		Name:      "review",
		Usage:     "decide the discordant pairs of a run, on a local page or at the terminal",
		ArgsUsage: "[RUN]",
		Description: `Serves a page on this machine alone, prints its address and opens a browser; Ctrl-C ends
it. RUN is a run directory; without one it is the newest below runs/. Each verdict is on
the disk before the page says so.

The page is blind: the sides of a pair are shuffled, and arms, sizes, outcomes and the
fates of the items are shown once the verdict is in. --open names them from the start,
for triage; such verdicts are recorded as not blind.

   doubletake review night
   doubletake review night --as maria --no-browser
   doubletake review list night
   doubletake review show night forbidden-directory`,
		Flags:       serveFlags(),
		Action:      serveReview,
		Subcommands: []*cli.Command{reviewList(), reviewShow(), reviewDecide(), reviewUndo(), reviewAccept(), reviewCorrect(), reviewQuarantine(), reviewAssign(), reviewStats(), reviewExport(), reviewImport(), reviewLabels()},
	}
}

func printJSONLines[T any](out io.Writer, records []T) error {
	for i := range records {
		line, err := fixtures.MarshalPlain(records[i])
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(out, "%s\n", line); err != nil {
			return err
		}
	}
	return nil
}

func reviewShow() *cli.Command {
	return &cli.Command{
		Name:        "show",
		Usage:       "show one pair: what each arm did, which checks differ, what became of the items",
		ArgsUsage:   "RUN PAIR",
		Description: "   doubletake review show night forbidden-directory",
		Flags:       []cli.Flag{jsonFlag()},
		Action: func(c *cli.Context) error {
			if c.NArg() != 2 {
				return usageError("review show wants a run directory and a pair, have %d arguments", c.NArg())
			}
			dir, id := c.Args().Get(0), c.Args().Get(1)
			queue, err := pairing.ReadQueue(dir)
			if err != nil {
				return err
			}
			for i := range queue {
				if queue[i].ID != id {
					continue
				}
				if c.Bool("json") {
					return printJSONLines(c.App.Writer, queue[i:i+1])
				}
				record, err := replay.ReadRecord(dir)
				if err != nil {
					return err
				}
				return showPair(c.App.Writer, record, &queue[i], cmp.Or(terminalStyle(c).Width, report.DefaultWidth))
			}
			return usageError("no pair %q in the queue of %s (doubletake review list %s)", id, dir, dir)
		},
	}
}

func showPair(out io.Writer, record *replay.Record, e *pairing.Entry, width int) error {
	p := func(format string, args ...any) { fmt.Fprintf(out, format, args...) }
	p("%s: %s against %s, a %s (%s reference)\n", e.ID, report.Clean(e.Second.Arm), report.Clean(e.First.Arm), e.Cell, e.By)
	if e.Title != "" {
		p("%s\n", report.Clean(e.Title))
	}
	p("\nItems\n")
	for _, item := range e.Items {
		p("  %s %s, turn %d: %q\n", item.Class, report.Clean(item.ID), item.Turn, report.Clean(item.Literal))
		for _, s := range []struct {
			arm     string
			verdict replay.Verdict
		}{{e.First.Arm, item.First}, {e.Second.Arm, item.Second}} {
			if s.verdict != "" {
				p("    %s under %s\n", s.verdict, report.Clean(s.arm))
			}
		}
	}
	p("\nChecks that differ\n")
	for _, c := range e.Differ {
		p("  %s (item %s)\n", report.Clean(c.Check), report.Clean(cmp.Or(c.Item, "none")))
		p("    %s: %s, %s\n", report.Clean(e.First.Arm), c.First.Answer, report.Clean(c.First.Evidence))
		p("    %s: %s, %s\n", report.Clean(e.Second.Arm), c.Second.Answer, report.Clean(c.Second.Evidence))
	}
	if d := e.Divergence; d != nil {
		p("\nFirst divergence, in %s, turn %d\n", d.Kind, d.Turn)
		p("  %s %s\n", report.Clean(e.First.Arm), report.Shorten(pairing.Describe(d.First), 2000))
		p("  %s %s\n", report.Clean(e.Second.Arm), report.Shorten(pairing.Describe(d.Second), 2000))
	}
	first := record.Episode(replay.Key{Fixture: e.Fixture, Arm: e.First.Arm, Replicate: e.Replicate})
	second := record.Episode(replay.Key{Fixture: e.Fixture, Arm: e.Second.Arm, Replicate: e.Replicate})
	if first != nil && second != nil {
		p("\nSide by side from turn %d: | both the same, * different, < and > one side only\n", first.Fork+1)
		p("  contexts of %d and %d tokens\n", e.First.Tokens, e.Second.Tokens)
		sideBySide(out, e, pairing.Align(first.Steps, second.Steps), width)
	}
	if e.SecondContext != "" {
		p("\nContexts: %s, %s\n", cmp.Or(e.FirstContext, "(accepted trace)"), e.SecondContext)
	}
	return nil
}
