package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
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
		listFlag("reviewers", "serve several people, each on an address of their own that is printed; `NAMES` with commas between"),
		&cli.BoolFlag{Name: "open", Usage: "name the sides from the start; verdicts are recorded as not blind", EnvVars: twin("open")},
	}, pageFlags()...)
}

// serveReview serves the page of a run until the command is interrupted.
func serveReview(c *cli.Context) (err error) {
	dir, err := reviewedRun(c)
	if err != nil {
		return err
	}
	named, err := namedReviewers(c)
	if err != nil {
		return err
	}
	r, err := loadReview(dir)
	if err != nil {
		return err
	}
	r.warn(c)
	assigned, err := assignedPairs(r)
	if err != nil {
		return err
	}
	reviewers, err := pageReviewers(c, named, assigned)
	if err != nil {
		return err
	}
	for _, who := range reviewers {
		if assigned != nil && !slices.ContainsFunc(slices.Collect(maps.Values(assigned)), func(names []string) bool {
			return slices.ContainsFunc(names, func(name string) bool { return pairing.SameReviewer(name, who.Name) })
		}) {
			what := "see doubletake review assign"
			if len(named) == 0 && c.String("as") == "" { // a guess
				what += ", or say who you are with --as"
			}
			fmt.Fprintf(c.App.ErrWriter, "nothing is assigned to %s: %s\n", report.Clean(who.Name), what)
		}
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
		Review: open, Standings: r.standingsOf(open.Verdicts), Remembered: r.remembered, Assigned: assigned, Reviewers: reviewers, Blind: !c.Bool("open"),
		Run: filepath.Base(dir), Address: address,
	})
	if err != nil {
		return usageError("%w", err)
	}
	fmt.Fprintf(c.App.ErrWriter, "%s of %s; Ctrl-C ends\n", report.Plural(len(r.queue), "pair"), report.Clean(dir))
	if len(reviewers) == 1 {
		return present(c, server, listener)
	}
	// Each address is one person's: none is opened here.
	for i, address := range server.URLs() {
		fmt.Fprintf(c.App.Writer, "%s\t%s\n", report.Clean(reviewers[i].Name), address)
	}
	return server.Serve(c.Context, listener)
}

// namedReviewers are those whom --reviewers names. Where it names nobody, the token must
// do for where the page listens.
func namedReviewers(c *cli.Context) ([]string, error) {
	names := list(c, "reviewers")
	for i := range names {
		names[i] = strings.TrimSpace(names[i])
	}
	if len(names) > 0 && c.String("as") != "" {
		return nil, usageError("--as names one who decides, --reviewers several: give one of them")
	}
	if len(names) == 0 {
		_, err := pageToken(c)
		return nil, err
	}
	return names, nil
}

// pageReviewers are who decides on the page, each with a token of their own: those who
// are named, or, where other machines can reach the page and nobody is named, those among
// whom the queue was shared out, or else one.
func pageReviewers(c *cli.Context, names []string, assigned map[string][]string) ([]review.Reviewer, error) {
	loopback, err := review.Loopback(c.String("addr"))
	if err != nil {
		return nil, usageError("%s: %w", c.Command.Name, err)
	}
	if len(names) == 0 && c.String("as") == "" && !loopback {
		for _, of := range assigned {
			names = append(names, of...)
		}
		slices.Sort(names)
		names = slices.Compact(names)
	}
	if len(names) == 0 {
		token, err := pageToken(c)
		if err != nil {
			return nil, err
		}
		return []review.Reviewer{{Name: annotator(c.String("as")), Token: token}}, nil
	}
	secret := c.String("token")
	switch {
	case secret == "":
		secret = review.NewToken()
	case len(secret) < review.ShortestToken:
		return nil, usageError("the token must be %d letters or digits at least: each reviewer's own follows from it", review.ShortestToken)
	}
	var reviewers []review.Reviewer
	for _, name := range names {
		reviewers = append(reviewers, review.Reviewer{Name: name, Token: review.ReviewerToken(secret, name)})
	}
	return reviewers, nil
}

// reviewedRun is the run that is named, or else the newest one below runs/.
func reviewedRun(c *cli.Context) (string, error) {
	switch c.NArg() {
	case 0:
		return newestRun("runs")
	case 1:
	default:
		return "", usageError("review wants one run directory, have %s (doubletake review --help)", report.Plural(c.NArg(), "argument"))
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

// standingsOf are how the pairs stand, unless a verdict came in between.
func (r *reviewed) standingsOf(verdicts []pairing.Verdict) []pairing.Standing {
	if len(verdicts) != len(r.verdicts) {
		return nil
	}
	return r.standings
}
