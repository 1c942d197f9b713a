package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/doubletake-dev/doubletake/analysis"
	"github.com/doubletake-dev/doubletake/analysis/report"
)

// textFormat is the format for people at a terminal.
const textFormat = "text"

// reportFormat is a way to write a run.
type reportFormat struct {
	name string
	// file is what it is called in a folder.
	file string
	// endings are how names of files of the format end.
	endings []string
	write   func(io.Writer, *analysis.Night, report.Style) error
}

// reportFormats lists the formats. Where several endings fit a name, the first counts.
func reportFormats() []reportFormat {
	ofReport := func(write func(io.Writer, *analysis.Report) error) func(io.Writer, *analysis.Night, report.Style) error {
		return func(out io.Writer, n *analysis.Night, _ report.Style) error { return write(out, n.Report) }
	}
	ofNight := func(write func(io.Writer, *analysis.Night) error) func(io.Writer, *analysis.Night, report.Style) error {
		return func(out io.Writer, n *analysis.Night, _ report.Style) error { return write(out, n) }
	}
	return []reportFormat{
		{"otel", "otel.jsonl", []string{".otel.json", ".otel.jsonl", string(filepath.Separator) + "otel.json", string(filepath.Separator) + "otel.jsonl"}, ofNight(report.OpenTelemetry)},
		{"pr", "pr.md", []string{".pr.md", string(filepath.Separator) + "pr.md"}, ofReport(report.PullRequest)},
		{"junit", "junit.xml", []string{".xml"}, ofNight(report.JUnit)},
		{"pairs-csv", "pairs.csv", []string{"pairs.csv"}, ofNight(report.PairsCSV)},
		{"items-csv", "items.csv", []string{"items.csv"}, ofNight(report.ItemsCSV)},
		{"openmetrics", "metrics.om", []string{".prom", ".om"}, ofReport(report.OpenMetrics)},
		{textFormat, "report.txt", []string{".txt"}, func(out io.Writer, n *analysis.Night, style report.Style) error {
			return report.Text(out, n.Report, style)
		}},
		{"json", "report.json", []string{".json"}, ofReport(report.JSON)},
		{"md", "report.md", []string{".md"}, ofReport(report.Markdown)},
		{"html", "report.html", []string{".html"}, func(out io.Writer, n *analysis.Night, _ report.Style) error {
			page, err := pageOf(n)
			if err != nil {
				return err
			}
			return report.HTML(out, page)
		}},
	}
}

// formatsNamed finds formats by name; csv is two of them.
func formatsNamed(name string) ([]reportFormat, error) {
	var found []reportFormat
	for _, f := range reportFormats() {
		if f.name == name || name == "csv" && strings.HasSuffix(f.name, "-csv") || name == "txt" && f.name == textFormat {
			found = append(found, f)
		}
	}
	if len(found) == 0 {
		return nil, usageError("no report format %w", noneOf(name, formatNames()...))
	}
	return found, nil
}

// formatNames lists what formats are called, as people are told of them.
func formatNames() []string {
	return []string{textFormat, "json", "md", "pr", "html", "junit", "csv", "pairs-csv", "items-csv", "openmetrics", "otel"}
}

func outputFlag() cli.Flag {
	return listFlag("output", "also write the report to `FILE`, by its extension: .json, .md, .pr.md, .html, .txt, .xml (JUnit), .csv (pairs and items), .prom or .om (OpenMetrics), .otel.jsonl; or into the folder FILE/ (repeatable)", "o")
}

func setFolderFlag() cli.Flag {
	return stringFlag("set", "the set's `DIR` in the repository, for the places of annotations in GitHub Actions; default: the config's, if the run was of it")
}

// folders are those of the outputs that name folders.
func folders(c *cli.Context) []string {
	var dirs []string
	for _, path := range list(c, "output") {
		if isFolder(path) {
			dirs = append(dirs, path)
		}
	}
	return dirs
}

func isFolder(path string) bool {
	if strings.HasSuffix(path, "/") || strings.HasSuffix(path, string(filepath.Separator)) {
		return true
	}
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// writeOutputs writes what -o asks for: into folders the formats given, or without any all
// of them; to files, by their extensions.
func writeOutputs(c *cli.Context, found *analysis.Night, filed []reportFormat) error {
	if len(filed) == 0 {
		filed = reportFormats()
	}
	for _, path := range list(c, "output") {
		if isFolder(path) {
			if err := writeInto(c, path, found, filed); err != nil {
				return err
			}
			continue
		}
		if err := writeReport(path, found); err != nil {
			return err
		}
	}
	return nil
}

// writeInto writes formats into a folder, each under its own name.
func writeInto(c *cli.Context, dir string, found *analysis.Night, filed []reportFormat) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("making the folder for reports: %w", err)
	}
	for _, f := range filed {
		path := filepath.Join(dir, f.file)
		if err := writeFormat(path, found, f); err != nil {
			return err
		}
		fmt.Fprintf(report.Printable(c.App.ErrWriter), "wrote %s\n", path)
	}
	return nil
}

// formatFile is a format and the file that it goes to.
type formatFile struct {
	path   string
	format reportFormat
}

// filesOf are the files that a name stands for, by its extension: one, but for a name that
// ends in .csv alone, which stands for NAME-pairs.csv and NAME-items.csv.
func filesOf(path string) ([]formatFile, error) {
	for _, f := range reportFormats() {
		for _, ending := range f.endings {
			if strings.HasSuffix(string(filepath.Separator)+path, ending) {
				return []formatFile{{path, f}}, nil
			}
		}
	}
	name, ok := strings.CutSuffix(path, ".csv")
	if !ok {
		return nil, usageError("cannot tell the format of %s: want the extension .json, .md, .pr.md, .html, .txt, .xml, .csv, .prom, .om or .otel.jsonl, or a folder with a slash at its end", path)
	}
	var files []formatFile
	for _, f := range reportFormats() {
		if strings.HasSuffix(f.name, "-csv") {
			files = append(files, formatFile{name + "-" + f.file, f})
		}
	}
	return files, nil
}

// checkOutputs says what is wrong with where -o wants reports to go, before any work is done
// for them. The folder out is still to be made.
func checkOutputs(c *cli.Context, out string) error {
	for _, path := range list(c, "output") {
		if isFolder(path) {
			continue
		}
		files, err := filesOf(path)
		if err != nil {
			return err
		}
		if out != "" && filepath.Dir(path) == filepath.Clean(out) {
			continue
		}
		if err := folderOf(files[0].path); err != nil {
			return err
		}
	}
	return nil
}

// checkFiled says where formats that are not printed have no file to go to: nothing is
// written that was not named.
func checkFiled(c *cli.Context, filed []reportFormat) error {
	if len(folders(c)) > 0 {
		return nil
	}
	named := map[string]bool{}
	for _, path := range list(c, "output") {
		files, err := filesOf(path)
		if err != nil {
			return err
		}
		for _, f := range files {
			named[f.format.name] = true
		}
	}
	var homeless []string
	hint := ""
	for _, f := range filed {
		if named[f.name] {
			continue
		}
		homeless = append(homeless, f.file)
		if strings.HasSuffix(f.name, "-csv") {
			hint = "; csv is two tables, of which --format pairs-csv or items-csv prints one"
		}
	}
	if len(homeless) == 0 {
		return nil
	}
	return usageError("--format %s: name a folder for %s, as in -o results/: only one format is printed%s", c.String("format"), strings.Join(homeless, " and "), hint)
}

// writeReport writes a report to the files that a name stands for.
func writeReport(path string, found *analysis.Night) error {
	files, err := filesOf(path)
	if err != nil {
		return err
	}
	for _, f := range files {
		if err := writeFormat(f.path, found, f.format); err != nil {
			return err
		}
	}
	return nil
}

func writeFormat(path string, found *analysis.Night, f reportFormat) error {
	err := writeNamed(path, func(out io.Writer) error { return f.write(out, found, report.Style{}) })
	if err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	return nil
}
