package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/doubletake-dev/doubletake/analysis"
	"github.com/doubletake-dev/doubletake/analysis/report"
	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
)

func reportCommand() *cli.Command {
	return &cli.Command{
		Name:      "report",
		Usage:     "print the report of a finished run again",
		ArgsUsage: "RUN",
		Description: `Finds the verdict anew from what the run left on disk; needs no model and no set. The
exit code is that of the run's verdict.

   doubletake report night
   doubletake report night --format md -o report.md
   doubletake report night -o night.html
   doubletake report night --plots plots`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "format", Usage: "text, json, md or html; `FORMAT`", Value: "text", EnvVars: twin("format")},
			listFlag("output", "also write the report to `FILE`, by its extension .json, .md, .html or .txt (repeatable)", "o"),
			stringFlag("plots", "draw the effect, the evidence, the retention and the power into the folder `DIR`, each as .svg and .png, light and dark"),
			jsonFlag(),
			&cli.BoolFlag{Name: "strict", Usage: "exit with 4 where the result is inconclusive", EnvVars: twin("strict")},
		},
		Action: func(c *cli.Context) error {
			if c.NArg() != 1 {
				return usageError("report wants one run directory, have %d (doubletake report --help)", c.NArg())
			}
			found, err := loadNight(c.Args().First(), analysis.Options{})
			if err != nil {
				return err
			}
			for _, path := range list(c, "output") {
				if err := writeReport(path, found); err != nil {
					return err
				}
			}
			if dir := c.String("plots"); dir != "" {
				files, err := writePlots(dir, found.Report)
				if err != nil {
					return err
				}
				fmt.Fprintf(c.App.ErrWriter, "%d plots in %s\n", len(files), dir)
			}
			format := c.String("format")
			if c.Bool("json") {
				format = "json"
			}
			if err := printReport(c.App.Writer, found, format, terminalStyle(c)); err != nil {
				return err
			}
			return verdictExit(found.Report, c.Bool("strict"))
		},
	}
}

func printReport(out io.Writer, found *analysis.Night, format string, style report.Style) error {
	switch format {
	case "text", "txt":
		return report.Text(out, found.Report, style)
	case "json":
		return report.JSON(out, found.Report)
	case "md":
		return report.Markdown(out, found.Report)
	case "html":
		page, err := pageOf(found)
		if err != nil {
			return err
		}
		return report.HTML(out, page)
	}
	return usageError("no report format %q: want text, json, md or html", format)
}

// writeReport writes a report to a file, in the format of the file's extension.
func writeReport(path string, found *analysis.Night) error {
	format := strings.TrimPrefix(filepath.Ext(path), ".")
	switch format {
	case "txt", "json", "md", "html":
	default:
		return usageError("cannot tell the format of %s: want the extension .json, .md, .html or .txt", path)
	}
	err := fixtures.WriteFileAtomic(path, func(out io.Writer) error {
		return printReport(out, found, format, report.Style{})
	})
	if err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	return nil
}

// loadNight analyses the run in a directory, and says so where there is none.
func loadNight(dir string, options analysis.Options) (*analysis.Night, error) {
	if _, err := os.Stat(filepath.Join(dir, replay.RunFile)); errors.Is(err, os.ErrNotExist) {
		return nil, usageError("%s holds no run: a run directory is what nightly or compare wrote with --out", dir)
	}
	return analysis.LoadWith(dir, options)
}
