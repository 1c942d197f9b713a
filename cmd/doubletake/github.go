package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/doubletake-dev/doubletake/analysis"
	"github.com/doubletake-dev/doubletake/analysis/report"
	"github.com/doubletake-dev/doubletake/replay"
)

// The variables that GitHub Actions sets for a step.
const (
	summaryVariable   = "GITHUB_STEP_SUMMARY"
	actionsVariable   = "GITHUB_ACTIONS"
	workspaceVariable = "GITHUB_WORKSPACE"
)

// addSummary adds the report for a pull request to the summary of the job, where there is
// one and the same report does not stand there already.
func addSummary(c *cli.Context, found *analysis.Night) {
	summarize(c, func(out io.Writer) error { return report.PullRequest(out, found.Report) })
}

// addGateSummary adds what gate printed to the summary of the job, where there is one. The
// report itself is for the command that made the run.
func addGateSummary(c *cli.Context, result, text string) {
	summarize(c, func(out io.Writer) error { return report.GateSummary(out, result, text) })
}

// summarize adds to the summary of the job what does not stand there already. A summary that
// cannot be written is a warning: the exit code is the run's.
func summarize(c *cli.Context, write func(io.Writer) error) {
	path := os.Getenv(summaryVariable)
	if path == "" {
		return
	}
	var text bytes.Buffer
	err := write(&text)
	if there, unread := os.ReadFile(path); err == nil && unread == nil && bytes.Contains(there, text.Bytes()) {
		return
	}
	if err == nil {
		err = appendTo(path, text.Bytes())
	}
	if err != nil {
		fmt.Fprintf(report.Printable(c.App.ErrWriter), "warning: the summary of the job (%s): %v\n", summaryVariable, err)
	}
}

func appendTo(path string, text []byte) (err error) {
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer func() {
		if closed := file.Close(); err == nil {
			err = closed
		}
	}()
	_, err = file.Write(text)
	return err
}

// printOnCI prints text on stdout. In GitHub Actions no part of the text can be a workflow
// command, and behind it what blocks is annotated, on stdout as GitHub documents it.
func printOnCI(c *cli.Context, found *analysis.Night, write func(io.Writer) error) error {
	if os.Getenv(actionsVariable) != "true" {
		return write(c.App.Writer)
	}
	text := report.Uncommanded(c.App.Writer)
	if err := write(text); err != nil {
		return err
	}
	if err := text.Flush(); err != nil {
		return err
	}
	return report.Annotations(c.App.Writer, found.Report, fixtureFile(found, setInRepository(c, found.Record)))
}

// quietOnCI keeps text on stderr, which GitHub Actions reads as it reads stdout, from being a
// workflow command. The second result writes what is left.
func quietOnCI(stderr io.Writer) (io.Writer, func() error) {
	if os.Getenv(actionsVariable) != "true" {
		return stderr, func() error { return nil }
	}
	filter := report.Uncommanded(stderr)
	return filter, filter.Flush
}

// setInRepository is the folder of a run's set: that of --set, else the config's if the run
// was of a set of that name; empty for the set that ships with the program, which is in no
// repository but its own.
func setInRepository(c *cli.Context, record *replay.Record) string {
	if dir := c.String("set"); dir != "" {
		return dir
	}
	cfg, err := loadConfig(c.String("config"))
	if err != nil || cfg.Set == "" {
		return "" // a report needs no config
	}
	dir := cfg.path(cfg.Set)
	if filepath.Base(dir) != record.Run.Plan.Lineage.SetName {
		return ""
	}
	return dir
}

// fixtureFile gives the file of a fixture by its conversation, from the root of the
// workspace where it lies there; none where the set's folder is not known.
func fixtureFile(found *analysis.Night, set string) func(string) string {
	if set == "" {
		return func(string) string { return "" }
	}
	paths := map[string]string{}
	for _, f := range found.Record.Fixtures {
		if f.Path != "" {
			paths[f.ConversationID] = inWorkspace(filepath.Join(set, filepath.FromSlash(f.Path)))
		}
	}
	return func(conversation string) string { return paths[conversation] }
}

func inWorkspace(path string) string {
	root := os.Getenv(workspaceVariable)
	whole, err := filepath.Abs(path)
	if root == "" || err != nil {
		return filepath.ToSlash(path)
	}
	relative, err := filepath.Rel(root, whole)
	if err != nil || strings.HasPrefix(relative, "..") {
		return filepath.ToSlash(path)
	}
	return filepath.ToSlash(relative)
}
