package main

import (
	"fmt"
	"io"

	"github.com/urfave/cli/v2"

	"github.com/doubletake-dev/doubletake/fixtures"
)

func reviewCommand() *cli.Command {
	return &cli.Command{
		Name:      "review",
		Usage:     "decide the discordant pairs of a run, on a local page or at the terminal",
		ArgsUsage: "[RUN]",
		Description: `Serves a page on this machine alone, prints its address and opens a browser; Ctrl-C ends
it. RUN is a run directory; without one it is the newest below runs/. Each verdict is on
the disk before the page says so.

The page is blind: the sides of a pair are shuffled, and arms, sizes, outcomes, what the
checks found and the fates of the items are shown once the verdict is in. --open names them
from the start, for triage; such verdicts are recorded as not blind, and so is a later one
by somebody who saw a pair that way.

--reviewers serves several people at once: each gets an address of their own, whose token
says who decides. With --token theirs follow from it, and stay the same when the command
starts again. Who listens beyond this machine (--addr) without naming anybody serves those
among whom doubletake review assign shared the queue out. The addresses go over plain http:
use them inside a network that you trust.

   doubletake review night
   doubletake review night --as maria --no-browser
   doubletake review night --addr 0.0.0.0:8080 --reviewers ann,ben
   doubletake review list night
   doubletake review next night
   doubletake review decide night forbidden-directory left_worse`,
		Flags:       serveFlags(),
		Action:      serveReview,
		Subcommands: []*cli.Command{reviewList(), reviewNext(), reviewShow(), reviewDecide(), reviewUndo(), reviewAccept(), reviewCorrect(), reviewQuarantine(), reviewAssign(), reviewStats(), reviewExport(), reviewImport(), reviewLabels()},
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
