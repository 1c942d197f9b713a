package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/doubletake-dev/doubletake/analysis/report"
	"github.com/doubletake-dev/doubletake/pairing"
	"github.com/doubletake-dev/doubletake/pairing/review"
	"github.com/doubletake-dev/doubletake/replay"
)

func serveFlags() []cli.Flag {
	return append([]cli.Flag{
		stringFlag("as", "who decides, a `NAME`; default: git's user, else the system's"),
		&cli.BoolFlag{Name: "open", Usage: "name the sides from the start; verdicts are recorded as not blind", EnvVars: twin("open")},
	}, pageFlags()...)
}

// serveReview serves the page of a run until the command is interrupted.
func serveReview(c *cli.Context) (err error) {
	dir, err := reviewedRun(c)
	if err != nil {
		return err
	}
	token, err := pageToken(c)
	if err != nil {
		return err
	}
	r, err := loadReview(dir)
	if err != nil {
		return err
	}
	assigned, err := assignedPairs(r)
	if err != nil {
		return err
	}
	reviewer := annotator(c.String("as"))
	if assigned != nil && !slices.ContainsFunc(slices.Collect(maps.Values(assigned)), func(names []string) bool { return slices.Contains(names, reviewer) }) {
		fmt.Fprintf(c.App.ErrWriter, "nothing is assigned to %s: see doubletake review assign, or say who you are with --as\n", report.Clean(reviewer))
	}
	open, err := pairing.OpenReview(dir, r.record, r.queue, time.Now)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, open.Close()) }()
	listener, address, err := listen(c)
	if err != nil {
		return err
	}
	defer listener.Close() // serving closes it, and a second time does no harm
	server, err := review.New(review.Options{
		Review: open, Remembered: r.remembered, Assigned: assigned, Reviewer: reviewer, Blind: !c.Bool("open"),
		Run: filepath.Base(dir), Token: token, Address: address,
	})
	if err != nil {
		return usageError("%w", err)
	}
	fmt.Fprintf(c.App.ErrWriter, "%d pairs of %s; Ctrl-C ends\n", len(r.queue), report.Clean(dir))
	return present(c, server, listener)
}

// reviewedRun is the run that is named, or else the newest one below runs/.
func reviewedRun(c *cli.Context) (string, error) {
	switch c.NArg() {
	case 0:
		return newestRun("runs")
	case 1:
	default:
		return "", usageError("review wants one run directory, have %d arguments (doubletake review --help)", c.NArg())
	}
	dir := c.Args().First()
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) && filepath.Base(dir) == dir {
		var names []string
		for _, sub := range reviewCommand().Subcommands {
			names = append(names, sub.Name)
		}
		if like := nearest(dir, names); like != "" {
			return "", usageError("no run directory %q; did you mean doubletake review %s?", dir, like)
		}
	}
	return filepath.Abs(dir)
}

// newestRun is the run below a folder that was started last.
func newestRun(folder string) (string, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*", replay.RunFile))
	if err != nil {
		return "", err
	}
	var newest string
	var started time.Time
	for _, file := range files {
		run, err := replay.ReadRun(filepath.Dir(file))
		if err != nil {
			return "", err
		}
		if newest == "" || run.Started.After(started) {
			newest, started = filepath.Dir(file), run.Started
		}
	}
	if newest == "" {
		return "", usageError("no run in %s: name one, as in doubletake review night", folder)
	}
	return filepath.Abs(newest)
}

// assignedPairs says who looks at which pair, nil where that was not said.
func assignedPairs(r *reviewed) (map[string][]string, error) {
	assignment, err := pairing.ReadAssignment(r.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var ids []string
	for i := range r.queue {
		ids = append(ids, r.queue[i].ID)
	}
	return assignment.Of(ids), nil
}
