package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/doubletake-dev/doubletake/analysis/history"
	"github.com/doubletake-dev/doubletake/analysis/report"
)

func historyCommand() *cli.Command {
	return &cli.Command{
		Name:      "history",
		Usage:     "show the nights of a folder over time, lineage by lineage",
		ArgsUsage: "[DIR]",
		Description: `Reads every run directory below DIR (default: runs) and prints a row a night: verdict,
losses, gains, noise floor, contradictions, cost, requests, fixtures in quarantine, and the
disagreements that are new or vanished since their pair last had an outcome: what a night
did not play, or could not score, is neither. Nights of different lineages are never put
together; what differs is said. Gates nothing: the exit code is 0.

A night's findings are those of its report.json, where that is of the run as it lies there;
--recompute finds them all anew from what was recorded. A run that cannot be read is named
on stderr and left out.

   doubletake history
   doubletake history runs --last 30 --gates
   doubletake history runs -o history.html
   doubletake history runs --json`,
		Flags: []cli.Flag{
			&cli.IntFlag{Name: "last", Usage: "only the latest `N` nights of each lineage", EnvVars: twin("last")},
			&cli.BoolFlag{Name: "gates", Usage: "print every gate's value on every night", EnvVars: twin("gates")},
			&cli.BoolFlag{Name: "recompute", Usage: "find every verdict anew, and read no report.json", EnvVars: twin("recompute")},
			&cli.StringSliceFlag{Name: "output", Aliases: []string{"o"}, Usage: "also write to `FILE`, by its extension: .html, a page by itself with plots; .json; .txt (repeatable)"},
			stringFlag("html", "the same as --output `FILE`, for a page"),
			jsonFlag(),
		},
		Action: runHistory,
	}
}

func runHistory(c *cli.Context) error {
	dir := "runs"
	switch c.NArg() {
	case 0:
	case 1:
		dir = c.Args().First()
	default:
		return usageError("history wants one folder of run directories, have %d (doubletake history --help)", c.NArg())
	}
	if c.Int("last") < 0 {
		return usageError("--last: %d; want 0 (all nights) or more", c.Int("last"))
	}
	outputs := slices.Clone(c.StringSlice("output"))
	if page := c.String("html"); page != "" {
		outputs = append(outputs, page)
	}
	for _, path := range outputs {
		if _, err := historyFormat(path, c.String("html")); err != nil {
			return err
		}
	}
	if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
		return usageError("there is no folder %s here: name the folder of your runs, as in doubletake history nights; doubletake nightly makes a run below runs, or where --out says", dir)
	}
	h, err := history.Read(dir, history.Options{Recompute: c.Bool("recompute"), Last: c.Int("last")})
	if errors.Is(err, history.ErrNoRun) || errors.Is(err, os.ErrNotExist) {
		return usageError("%w", err)
	}
	if err != nil {
		return err
	}
	for _, s := range h.Skipped {
		fmt.Fprintf(report.Printable(c.App.ErrWriter), "left out: %s: %s\n", s.Dir, report.Clean(s.Reason))
	}
	for _, path := range outputs {
		write, err := historyFormat(path, c.String("html"))
		if err != nil {
			return err
		}
		if err := writeNamed(path, func(out io.Writer) error { return write(out, h) }); err != nil {
			return fmt.Errorf("writing the history: %w", err)
		}
		fmt.Fprintf(report.Printable(c.App.ErrWriter), "wrote %s\n", path)
	}
	if c.Bool("json") {
		return writeIndented(c.App.Writer, h)
	}
	look := terminalStyle(c)
	return history.Text(c.App.Writer, h, history.Style{Color: look.Color, Unicode: unicodeLocale(), Width: look.Width, Gates: c.Bool("gates")})
}

// historyFormat is how a history is written to a file of that name.
func historyFormat(path, page string) (func(io.Writer, *history.History) error, error) {
	switch {
	case path == page || strings.HasSuffix(path, ".html"):
		return history.HTML, nil
	case strings.HasSuffix(path, ".json"):
		return func(out io.Writer, h *history.History) error { return writeIndented(out, h) }, nil
	case strings.HasSuffix(path, ".txt"):
		return func(out io.Writer, h *history.History) error {
			return history.Text(out, h, history.Style{Unicode: true, Gates: true})
		}, nil
	}
	return nil, usageError("cannot tell the format of %s: want the extension .html, .json or .txt", path)
}

// unicodeLocale says whether the environment's locale writes UTF-8.
func unicodeLocale() bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if value := os.Getenv(name); value != "" {
			upper := strings.ToUpper(value)
			return strings.Contains(upper, "UTF-8") || strings.Contains(upper, "UTF8")
		}
	}
	return false
}
