package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/urfave/cli/v2"

	"github.com/doubletake-dev/doubletake/analysis/report"
	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/pairing"
	"github.com/doubletake-dev/doubletake/replay"
)

// reviewed is a queue with how each pair of it stands.
type reviewed struct {
	dir       string
	record    *replay.Record
	queue     []pairing.Entry
	verdicts  []pairing.Verdict
	standings []pairing.Standing
	// knows is who knows which arm of which pair is which.
	knows      map[whoKnows]bool
	remembered map[string]pairing.Remembered
	// forgotten says which earlier nights could not be read.
	forgotten []string
}

// loadReview reads what a run left, and finds nothing anew: the queue is that of its last
// report.
func loadReview(dir string) (*reviewed, error) {
	if _, err := os.Stat(filepath.Join(dir, replay.RunFile)); errors.Is(err, fs.ErrNotExist) {
		return nil, usageError("%s holds no run: a run directory is what nightly or compare wrote with --out", dir)
	}
	record, err := replay.ReadRecord(dir)
	if err != nil {
		return nil, err
	}
	r := &reviewed{dir: dir, record: record}
	if r.queue, err = pairing.ReadQueue(dir); errors.Is(err, fs.ErrNotExist) {
		return nil, usageError("the run in %s has no queue yet: doubletake report %s says how far it is", dir, dir)
	} else if err != nil {
		return nil, err
	}
	if r.verdicts, err = pairing.ReadVerdicts(dir); err != nil {
		return nil, err
	}
	unblinded, err := pairing.ReadUnblinded(dir)
	if err != nil {
		return nil, err
	}
	r.knows = map[whoKnows]bool{}
	for _, v := range r.verdicts {
		r.knows[whoKnows{v.By, v.Pair}] = true
	}
	for _, u := range unblinded {
		r.knows[whoKnows{u.By, u.Pair}] = true
	}
	r.standings = pairing.Stand(r.record, r.queue, r.verdicts)
	earlier, forgotten := earlierVerdicts(dir, &record.Run)
	r.forgotten = forgotten
	r.remembered, err = pairing.Remember(r.record, r.queue, earlier)
	return r, err
}

// earlierVerdicts are those of the runs beside a run that were begun before it, by the
// name of their folder, and what of them could not be read: a bad log of another night is
// no reason not to review this one.
func earlierVerdicts(dir string, night *replay.Run) (found map[string][]pairing.Verdict, forgotten []string) {
	found = map[string][]pairing.Verdict{}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return found, []string{err.Error()}
	}
	entries, err := os.ReadDir(filepath.Dir(abs))
	if err != nil {
		return found, []string{err.Error()}
	}
	for _, entry := range entries {
		other := filepath.Join(filepath.Dir(abs), entry.Name())
		if _, err := os.Stat(filepath.Join(other, pairing.VerdictsFile)); err != nil || other == abs {
			continue
		}
		run, err := replay.ReadRun(other)
		if err == nil && (run.ID == night.ID || run.Started.After(night.Started)) {
			continue // a later night, or a copy of this one
		}
		var verdicts []pairing.Verdict
		if err == nil {
			verdicts, err = pairing.ReadVerdicts(other)
		}
		if err != nil {
			forgotten = append(forgotten, fmt.Sprintf("the verdicts in %s are not remembered: %v", other, err))
			continue
		}
		found[entry.Name()] = verdicts
	}
	return found, forgotten
}

// warn says what is not remembered.
func (r *reviewed) warn(c *cli.Context) {
	for _, line := range r.forgotten {
		fmt.Fprintf(report.Printable(c.App.ErrWriter), "warning: %s\n", line)
	}
}

// whoKnows is a reviewer and a pair.
type whoKnows struct{ by, pair string }

// seen says whether a reviewer knows which arm of a pair is which.
func (r *reviewed) seen(by, pair string) bool { return r.knows[whoKnows{by, pair}] }

// find is the place of a pair in the queue.
func (r *reviewed) find(pair string) (int, error) {
	i := slices.IndexFunc(r.queue, func(e pairing.Entry) bool { return e.ID == pair })
	if i < 0 {
		return 0, usageError("no pair %q in the queue of %s (doubletake review list %s)", pair, r.dir, r.dir)
	}
	return i, nil
}

// filterFlags are those by which pairs are picked.
func filterFlags() []cli.Flag {
	return []cli.Flag{
		stringFlag("only", "undecided, decided, disputed, remembered, stale, stable or flaky `PAIRS`"),
		&cli.BoolFlag{Name: "undecided", Usage: "only pairs that are not decided; together with --only", EnvVars: twin("undecided")},
		&cli.BoolFlag{Name: "remembered", Usage: "only undecided pairs on whose disagreement an earlier night decided", EnvVars: twin("remembered")},
		stringFlag("cell", "only a loss or a gain; `CELL`"),
		stringFlag("class", "only pairs with a lost item of the `CLASS`"),
		stringFlag("group", "only pairs of the session `GROUP`"),
	}
}

func reviewList() *cli.Command {
	return &cli.Command{
		Name:      "list",
		Usage:     "list the queue of a run, with how each pair stands",
		ArgsUsage: "RUN",
		Description: `The list says how each pair came out and what was ruled. With --as NAME it is the list of
one reviewer, of what is assigned to them, and tells nothing of a pair that would say which
side is which before they have decided it, unless --open does.

   doubletake review list night
   doubletake review list night --undecided --only flaky
   doubletake review list night --only remembered --json
   doubletake review list night --as maria`,
		Flags: append(filterFlags(),
			stringFlag("as", "only what is assigned to `NAME` (doubletake review assign), blind"),
			openFlag(),
			jsonFlag(),
		),
		Action: func(c *cli.Context) error {
			if c.NArg() != 1 {
				return usageError("review list wants one run directory, have %d", c.NArg())
			}
			r, err := loadReview(c.Args().First())
			if err != nil {
				return err
			}
			r.warn(c)
			keep, err := r.filter(c)
			if err != nil {
				return err
			}
			if as := c.String("as"); as != "" && !c.Bool("open") {
				return r.listFor(c, as, keep)
			}
			return r.list(c, keep)
		},
	}
}

// listed is a pair of the queue as it is printed as JSON.
type listed struct {
	pairing.Entry
	Standing   pairing.Standing    `json:"standing"`
	Remembered *pairing.Remembered `json:"remembered"`
}

func (r *reviewed) list(c *cli.Context, keep func(i int) bool) error {
	if c.Bool("json") {
		var rows []listed
		for i := range r.queue {
			if keep(i) {
				row := listed{Entry: r.queue[i], Standing: r.standings[i]}
				if m, ok := r.remembered[r.queue[i].ID]; ok {
					row.Remembered = &m
				}
				rows = append(rows, row)
			}
		}
		return printJSONLines(c.App.Writer, rows)
	}
	w := tabwriter.NewWriter(c.App.Writer, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "pair\tcell\tagainst\tturn\titems lost\tplayed again\tstate\ttitle")
	count, undecided := 0, 0
	for i := range r.queue {
		if !keep(i) {
			continue
		}
		e := &r.queue[i]
		turn := 0
		if e.Divergence != nil {
			turn = e.Divergence.Turn
		}
		count++
		if r.standings[i].State == pairing.Undecided {
			undecided++
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%d\t%s\t%s\t%s\n", report.Clean(e.ID), e.Cell, e.By, turn, e.Lost(), again(e), r.state(i), report.Shorten(e.Title, 70))
	}
	fmt.Fprintf(w, "\n%d of %d pairs, %d undecided: %s\n", count, len(r.queue), undecided, pairing.EstimateTime(r.verdicts, undecided))
	return w.Flush()
}

// again is how a pair came out when it was played again.
func again(e *pairing.Entry) string {
	if c := e.Confirmed; c != nil {
		return fmt.Sprintf("%s (%d of %d)", c.Label, c.Same, c.Plays)
	}
	return "-"
}

// listedBlind is a pair as its reviewer may see it before they have decided it.
type listedBlind struct {
	ID    string        `json:"id"`
	Title string        `json:"title"`
	Group string        `json:"group"`
	Label pairing.Label `json:"label,omitempty"`
	State pairing.State `json:"state"`
	Stale bool          `json:"stale"`
	// Open says that the reviewer has still to decide it, Mine what they ruled.
	Open bool           `json:"open"`
	Mine pairing.Ruling `json:"mine,omitempty"`
	// Remembered is the earlier night that decided on the same disagreement.
	Remembered string `json:"remembered,omitempty"`
	// Cell and Ruling are there once the reviewer knows which side is which.
	Cell   pairing.Cell   `json:"cell,omitempty"`
	Ruling pairing.Ruling `json:"ruling,omitempty"`
}

// listFor is the list of one reviewer.
func (r *reviewed) listFor(c *cli.Context, reviewer string, keep func(i int) bool) error {
	if c.String("cell") != "" {
		return usageError("--cell tells which side is which: give --open with it")
	}
	rows := []listedBlind{}
	open := 0
	for i := range r.queue {
		if !keep(i) {
			continue
		}
		e, standing := &r.queue[i], &r.standings[i]
		row := listedBlind{ID: e.ID, Title: e.Title, Group: e.Group, State: standing.State, Stale: len(standing.Stale) > 0}
		if e.Confirmed != nil {
			row.Label = e.Confirmed.Label
		}
		if v := standing.Mine(reviewer); v != nil {
			row.Mine = v.Ruling
		} else {
			row.Open = true
			open++
			if m, ok := r.remembered[e.ID]; ok {
				row.Remembered = m.Run
			}
		}
		if r.seen(reviewer, e.ID) {
			row.Cell, row.Ruling = e.Cell, standing.Ruling
		}
		rows = append(rows, row)
	}
	if c.Bool("json") {
		return printJSONLines(c.App.Writer, rows)
	}
	w := tabwriter.NewWriter(c.App.Writer, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "pair\tyours\tstate\tplayed again\ttitle")
	for _, row := range rows {
		yours := string(row.Mine)
		switch {
		case row.Open && row.Remembered != "":
			yours = "decided in " + report.Clean(row.Remembered)
		case row.Open:
			yours = "to decide"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", report.Clean(row.ID), yours, row.State, cmp.Or(string(row.Label), "-"), report.Shorten(row.Title, 70))
	}
	fmt.Fprintf(w, "\n%d pairs of %s, %d to decide: %s\n", len(rows), report.Clean(reviewer), open, pairing.EstimateTime(r.verdicts, open))
	return w.Flush()
}

// state is how a pair stands, in a few words.
func (r *reviewed) state(i int) string {
	s := &r.standings[i]
	state := string(cmp.Or(pairing.State(s.Ruling), s.State))
	if s.State != pairing.Undecided {
		return state
	}
	if m, ok := r.remembered[s.Pair]; ok {
		return fmt.Sprintf("%s in %s", m.Verdict.Ruling, report.Clean(m.Run))
	}
	if len(s.Stale) > 0 {
		return state + " (stale)"
	}
	return state
}

// onlyStates are what --only takes.
func onlyStates() []string {
	return []string{"undecided", "decided", "disputed", "remembered", "stale", "stable", "flaky"}
}

// filter is which pairs of the queue are asked for.
func (r *reviewed) filter(c *cli.Context) (func(i int) bool, error) {
	only, cell, class, group := c.String("only"), pairing.Cell(c.String("cell")), fixtures.Class(c.String("class")), c.String("group")
	if only != "" && !slices.Contains(onlyStates(), only) {
		if like := nearest(only, onlyStates()); like != "" {
			return nil, usageError("--only %q: did you mean %s?", only, like)
		}
		return nil, usageError("--only %q: want one of %s", only, strings.Join(onlyStates(), ", "))
	}
	if cell != "" && !cell.Discordant() {
		return nil, usageError("--cell %q: want loss or gain", cell)
	}
	if class != "" && !slices.Contains(fixtures.Classes(), class) {
		return nil, usageError("--class %q: want one of %v", class, fixtures.Classes())
	}
	var mine map[string][]string
	as := c.String("as")
	if c.Command.Name != "list" {
		as = "" // there it says who looks, not what is listed
	}
	if as != "" {
		assignment, err := pairing.ReadAssignment(r.dir)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(assignment.Reviewers, as) {
			return nil, usageError("nothing is assigned to %q: the queue is shared out among %s (doubletake review assign)", as, strings.Join(assignment.Reviewers, ", "))
		}
		mine = assignment.Of(r.pairs())
	}
	return func(i int) bool {
		e := &r.queue[i]
		switch {
		case cell != "" && e.Cell != cell, group != "" && e.Group != group:
			return false
		case as != "" && !slices.Contains(mine[e.ID], as):
			return false
		case class != "" && !slices.ContainsFunc(e.Items, func(f pairing.ItemFate) bool { return f.Class == class && f.Lost() }):
			return false
		case c.Bool("undecided") && r.standings[i].State != pairing.Undecided, c.Bool("remembered") && !r.recalls(i):
			return false
		}
		switch only {
		case "":
			return true
		case "stable", "flaky":
			return e.Confirmed != nil && string(e.Confirmed.Label) == only
		case "stale":
			return len(r.standings[i].Stale) > 0
		case "remembered":
			return r.recalls(i)
		}
		return string(r.standings[i].State) == only
	}, nil
}

// recalls says whether a pair is undecided and an earlier night decided on it.
func (r *reviewed) recalls(i int) bool {
	_, ok := r.remembered[r.queue[i].ID]
	return ok && r.standings[i].State == pairing.Undecided
}

// pairs are the names of the pairs in the queue.
func (r *reviewed) pairs() []string {
	ids := make([]string, len(r.queue))
	for i := range r.queue {
		ids[i] = r.queue[i].ID
	}
	return ids
}
