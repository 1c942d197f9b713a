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
	"github.com/doubletake-dev/doubletake/pairing"
	"github.com/doubletake-dev/doubletake/replay"
)

func reportCommand() *cli.Command {
	return &cli.Command{
		Name:      "report",
		Usage:     "print the report of a finished run again",
		ArgsUsage: "RUN",
		Description: `Finds the verdict anew from what the run left on disk; needs no model and no set. The
exit code is that of the run's verdict.

The formats: text; json; md, the whole report; pr, short, for a comment on a pull request;
html, a page by itself; junit, JUnit XML; csv, the tables pairs-csv and items-csv;
openmetrics, for a dashboard; otel, OpenTelemetry gen_ai.evaluation.result events.

One format is printed. Of several, text is printed, and each of the others becomes a file
in the folder that -o names: report.json, report.md, pr.md, report.html, junit.xml,
pairs.csv, items.csv, metrics.om, otel.jsonl. csv is several by itself: with -o all.csv it
becomes all-pairs.csv and all-items.csv, and pairs-csv and items-csv print one table.

In GitHub Actions the report for a pull request is added to the job's summary, unless it
stands there already, and what blocks is annotated, on stdout behind the text.

   doubletake report night
   doubletake report night --format items-csv > items.csv
   doubletake report night --format junit,csv,openmetrics -o results/
   doubletake report night -o night.html -o night.junit.xml -o night.prom
   doubletake report night --plots plots`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "format", Usage: "text, json, md, pr, html, junit, csv (or pairs-csv, items-csv), openmetrics or otel, or several with commas between; `FORMAT`", Value: "text", EnvVars: twin("format")},
			outputFlag(),
			setFolderFlag(),
			stringFlag("plots", "draw the effect, the evidence, the retention and the power into the folder `DIR`, each as .svg and .png, light and dark"),
			jsonFlag(),
			&cli.BoolFlag{Name: "strict", Usage: "exit with 4 where the result is inconclusive", EnvVars: twin("strict")},
		},
		Action: runReport,
	}
}

func runReport(c *cli.Context) error {
	if c.NArg() != 1 {
		return usageError("report wants one run directory, have %d (doubletake report --help)", c.NArg())
	}
	dir := c.Args().First()
	printed, filed, err := wantedFormats(c)
	if err != nil {
		return err
	}
	if err := checkFiled(c, filed); err != nil {
		return err
	}
	if err := checkOutputs(c, ""); err != nil {
		return err
	}
	found, err := loadNight(dir, analysis.Options{})
	if err != nil {
		return err
	}
	warnTorn(c, dir)
	if mended, err := pairing.MendQueue(dir, found.Queue); err != nil {
		fmt.Fprintf(report.Printable(c.App.ErrWriter), "warning: the queue is not as it should be, and could not be written again: %v\n", err)
	} else if mended {
		fmt.Fprintf(report.Printable(c.App.ErrWriter), "the queue was not as it should be, and is written again\n")
	}
	if err := writeOutputs(c, found, filed); err != nil {
		return err
	}
	if dir := c.String("plots"); dir != "" {
		files, err := writePlots(dir, found.Report)
		if err != nil {
			return err
		}
		fmt.Fprintf(c.App.ErrWriter, "%s in %s\n", report.Plural(len(files), "plot"), dir)
	}
	addSummary(c, found)
	switch {
	case printed == nil:
	case printed.name == textFormat:
		err = printOnCI(c, found, func(out io.Writer) error { return printed.write(out, found, terminalStyle(c)) })
	default:
		err = printed.write(c.App.Writer, found, terminalStyle(c))
	}
	if err != nil {
		return err
	}
	return verdictExit(found.Report, c.Bool("strict"))
}

// wantedFormats is the format to print, nil for none, and those that become files.
func wantedFormats(c *cli.Context) (printed *reportFormat, filed []reportFormat, err error) {
	names := strings.Split(c.String("format"), ",")
	if c.Bool("json") {
		names = []string{"json"}
	}
	var all []reportFormat
	for _, name := range names {
		formats, err := formatsNamed(strings.TrimSpace(name))
		if err != nil {
			return nil, nil, err
		}
		all = append(all, formats...)
	}
	if len(all) == 1 {
		return &all[0], nil, nil
	}
	for i := range all {
		if all[i].name == textFormat {
			printed = &all[i]
		} else {
			filed = append(filed, all[i])
		}
	}
	return printed, filed, nil
}

// loadNight analyses the run in a directory, and says so where there is none.
func loadNight(dir string, options analysis.Options) (*analysis.Night, error) {
	if _, err := os.Stat(filepath.Join(dir, replay.RunFile)); errors.Is(err, os.ErrNotExist) {
		return nil, usageError("%s holds no run: a run directory is what nightly or compare wrote with --out", dir)
	}
	return analysis.LoadWith(dir, options)
}
