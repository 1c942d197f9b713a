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
	"time"

	"github.com/urfave/cli/v2"

	"github.com/doubletake-dev/doubletake/analysis"
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
	// forgotten says which earlier nights could not be read, and which lines are torn.
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
		return nil, usageError("the run in %s has no queue yet: doubletake report %s says how far it is", dir, shellPath(dir))
	} else if errors.Is(err, pairing.ErrQueueUnsealed) {
		// Of an earlier version: what the run says is found anew.
		found, err := analysis.AnalyseWith(record, analysis.Options{})
		if err != nil {
			return nil, err
		}
		r.queue = found.Queue
	} else if err != nil {
		return nil, err
	}
	if r.verdicts, err = pairing.ReadVerdicts(dir); err != nil {
		return nil, err
	}
	if err := pairing.OfRun(r.verdicts, record.Run.ID); err != nil {
		return nil, fmt.Errorf("the verdicts in %s: %w", dir, err)
	}
	unblinded, err := pairing.ReadUnblinded(dir)
	if err != nil {
		return nil, err
	}
	r.knows = map[whoKnows]bool{}
	for _, v := range r.verdicts {
		r.knows[whoKnows{pairing.ReviewerKey(v.By), v.Pair}] = true
	}
	for _, u := range unblinded {
		r.knows[whoKnows{pairing.ReviewerKey(u.By), u.Pair}] = true
	}
	r.standings = pairing.Stand(r.record, r.queue, r.verdicts)
	earlier, forgotten := earlierVerdicts(dir, &record.Run)
	r.forgotten = append(tornLines(dir), forgotten...)
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

// warn says what is not remembered, does not count or is missing.
func (r *reviewed) warn(c *cli.Context) {
	for _, line := range r.forgotten {
		fmt.Fprintf(report.Printable(c.App.ErrWriter), "warning: %s\n", line)
	}
}

// whoKnows is a reviewer and a pair.
type whoKnows struct{ by, pair string }

// seen says whether a reviewer knows which arm of a pair is which.
func (r *reviewed) seen(by, pair string) bool {
	return r.knows[whoKnows{pairing.ReviewerKey(by), pair}]
}

// find is the place of a pair in the queue, by its number there, its short id or its name.
func (r *reviewed) find(pair string) (int, error) {
	i, err := pairing.FindPair(r.record.Run.ID, r.queue, pair)
	if errors.Is(err, pairing.ErrNoPair) {
		return 0, usageError("no pair %.60q in the queue of %s (doubletake review list %s)", pair, r.dir, shellPath(r.dir))
	}
	if err != nil {
		return 0, usageError("%w (doubletake review list %s)", err, shellPath(r.dir))
	}
	return i, nil
}

// handle is what a pair is called before its reviewer may know its name.
func (r *reviewed) handle(i int) string { return pairing.Handle(r.record.Run.ID, &r.queue[i]) }

// unnamed keeps the name of a pair out of what went wrong with it.
func (r *reviewed) unnamed(i int, err error) error {
	return usageError("%s", strings.ReplaceAll(err.Error(), r.queue[i].ID, r.handle(i)))
}

// who is the reviewer whom a flag names, or git's or the system's user; empty where none of
// them is known.
func who(c *cli.Context, flag string) (string, error) {
	name := annotator(c.String(flag))
	if name == "" {
		return "", nil
	}
	name, err := pairing.ReviewerName(name)
	if err != nil {
		return "", usageError("--%s: %w", flag, err)
	}
	return name, nil
}

// blindFilters refuses to pick pairs by what would tell which side is which.
func blindFilters(c *cli.Context) error {
	for _, flag := range []string{"cell", "class"} {
		if c.String(flag) != "" && !c.Bool("open") {
			return usageError("--%s tells which side is which: give --open with it", flag)
		}
	}
	return nil
}

// filterFlags are those by which pairs are picked.
func filterFlags() []cli.Flag {
	return []cli.Flag{
		stringFlag("only", "undecided, decided, disputed, remembered, stale, stable or flaky `PAIRS`"),
		&cli.BoolFlag{Name: "undecided", Usage: "only pairs that are not decided; together with --only", EnvVars: twin("undecided")},
		&cli.BoolFlag{Name: "remembered", Usage: "only undecided pairs on whose disagreement an earlier night decided", EnvVars: twin("remembered")},
		stringFlag("cell", "only a loss or a gain; `CELL`; with --open"),
		stringFlag("class", "only pairs with a lost item of the `CLASS`; with --open"),
		stringFlag("group", "only pairs of the session `GROUP`"),
	}
}

func reviewList() *cli.Command {
	return &cli.Command{
		Name:      "list",
		Usage:     "list the queue of a run, with how each pair stands",
		ArgsUsage: "RUN",
		Description: `Pairs are listed by number and short id. Names, titles, outcomes and rulings tell which
side is which: they are there for what you have decided, and for the rest with --open, which
says how each pair came out and what was ruled; that is recorded, and your later verdicts on
those pairs are not blind. With --as NAME it is the list of one reviewer, of what is assigned
to them where the queue was shared out.

   doubletake review list night
   doubletake review list night --open
   doubletake review list night --undecided --only flaky
   doubletake review list night --only remembered --json
   doubletake review list night --as maria`,
		Flags: append(filterFlags(),
			stringFlag("as", "the list of the reviewer `NAME`, of what is assigned to them (doubletake review assign); default: git's user, else the system's, and all pairs"),
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
			if err := blindFilters(c); err != nil {
				return err
			}
			reviewer, err := who(c, "as")
			if err != nil {
				return err
			}
			keep, err := r.filter(c, reviewer)
			if err != nil {
				return err
			}
			if !c.Bool("open") {
				return r.listFor(c, reviewer, keep)
			}
			if err := r.unblind(reviewer, keep); err != nil {
				return err
			}
			return r.list(c, keep)
		},
	}
}

// unblind records that a reviewer saw how the pairs of a list came out. Who it is may not
// be known; then no verdict can be theirs either.
func (r *reviewed) unblind(reviewer string, keep func(i int) bool) error {
	if reviewer == "" {
		return nil
	}
	var seen []pairing.Unblinded
	for i := range r.queue {
		if e := &r.queue[i]; keep(i) && !r.seen(reviewer, e.ID) {
			seen = append(seen, pairing.Unblinded{At: time.Now(), By: reviewer, Pair: e.ID, How: pairing.UnblindedByList})
		}
	}
	if err := pairing.RecordUnblinded(r.dir, seen...); err != nil {
		return fmt.Errorf("the arms are not named, because that could not be recorded: %w", err)
	}
	return nil
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
	if len(r.queue) == 0 {
		return nothingToDecide(c)
	}
	t := pairTable{headers: []string{"number", "pair", "cell", "against", "turn", "items lost", "played again", "state", "title"}, statuses: []string{"cell", "state"}}
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
		t.row(i+1, e.ID, e.Cell, e.By, turn, e.Lost(), again(e), r.state(i), report.Shorten(e.Title, 70))
	}
	s := newScreen(c)
	if err := t.print(&s); err != nil {
		return err
	}
	s.line(0, "")
	s.line(0, "%d of %s, %d undecided: %s", count, report.Plural(len(r.queue), "pair"), undecided, pairing.EstimateTime(r.verdicts, undecided))
	return nil
}

// nothingToDecide says that a queue is empty.
func nothingToDecide(c *cli.Context) error {
	_, err := fmt.Fprintln(c.App.Writer, "no pair disagrees: there is nothing to decide")
	return err
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
	// ID is the pair's handle, Number its place in the queue from 1.
	ID     string        `json:"id"`
	Number int           `json:"number"`
	Label  pairing.Label `json:"label,omitempty"`
	// State is undecided before the reviewer has decided, unless others dispute the pair:
	// what they ruled is not theirs to know. In the list of nobody in particular it is how
	// the pair stands.
	State pairing.State `json:"state"`
	Stale bool          `json:"stale"`
	// Open says that the reviewer has still to decide it, Mine what they ruled.
	Open bool           `json:"open"`
	Mine pairing.Ruling `json:"mine,omitempty"`
	// Remembered is the earlier night that decided on the same disagreement.
	Remembered string `json:"remembered,omitempty"`
	// The rest is there once the reviewer knows which side is which.
	Name   string         `json:"name,omitempty"`
	Title  string         `json:"title,omitempty"`
	Group  string         `json:"group,omitempty"`
	Cell   pairing.Cell   `json:"cell,omitempty"`
	Ruling pairing.Ruling `json:"ruling,omitempty"`
}

// listFor is the list as one reviewer may see it.
func (r *reviewed) listFor(c *cli.Context, reviewer string, keep func(i int) bool) error {
	overview := c.String("as") == ""
	rows := []listedBlind{}
	open, undecided := 0, 0
	for i := range r.queue {
		if !keep(i) {
			continue
		}
		e, standing := &r.queue[i], &r.standings[i]
		row := listedBlind{ID: r.handle(i), Number: i + 1, State: r.shownState(reviewer, overview, i), Stale: len(standing.Stale) > 0}
		if standing.State == pairing.Undecided {
			undecided++
		}
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
			row.Name, row.Title, row.Group = e.ID, e.Title, e.Group
		}
		rows = append(rows, row)
	}
	if c.Bool("json") {
		return printJSONLines(c.App.Writer, rows)
	}
	if len(r.queue) == 0 {
		return nothingToDecide(c)
	}
	t := pairTable{headers: []string{"number", "pair", "yours", "state", "played again", "name", "title"}, statuses: []string{"yours", "state"}}
	for _, row := range rows {
		yours := string(row.Mine)
		switch {
		case row.Open && row.Remembered != "":
			yours = "decided in " + row.Remembered
		case row.Open && row.State == pairing.Decided:
			yours = "-"
		case row.Open:
			yours = "to decide"
		}
		state := string(row.State)
		if row.Stale && row.State == pairing.Undecided {
			state += " (stale)"
		}
		t.row(row.Number, row.ID, yours, state, cmp.Or(string(row.Label), "-"), cmp.Or(row.Name, "-"), report.Shorten(row.Title, 70))
	}
	s := newScreen(c)
	if err := t.print(&s); err != nil {
		return err
	}
	s.line(0, "")
	if overview {
		s.line(0, "%d of %s, %d undecided: %s; --open names them", len(rows), report.Plural(len(r.queue), "pair"), undecided, pairing.EstimateTime(r.verdicts, undecided))
		return nil
	}
	s.line(0, "%s of %s, %d to decide: %s", report.Plural(len(rows), "pair"), reviewer, open, pairing.EstimateTime(r.verdicts, open))
	return nil
}

// shownState is how a pair stands as a reviewer may see it: before they know which side is
// which it is their own state, but for a pair on which others do not agree. An overview is
// of nobody in particular.
func (r *reviewed) shownState(reviewer string, overview bool, i int) pairing.State {
	state := r.standings[i].State
	if overview || state == pairing.Disputed || r.seen(reviewer, r.queue[i].ID) {
		return state
	}
	return pairing.Undecided
}

// state is how a pair stands, in a few words.
func (r *reviewed) state(i int) string {
	s := &r.standings[i]
	state := string(cmp.Or(pairing.State(s.Ruling), s.State))
	if s.State != pairing.Undecided {
		return state
	}
	if m, ok := r.remembered[s.Pair]; ok {
		return fmt.Sprintf("%s in %s", m.Verdict.Ruling, m.Run)
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

// filter is which pairs of the queue are asked for. What it goes by is what the reviewer
// may see: which pairs others have decided is not theirs to know before they have.
func (r *reviewed) filter(c *cli.Context, reviewer string) (func(i int) bool, error) {
	only, cell, class, group := c.String("only"), pairing.Cell(c.String("cell")), fixtures.Class(c.String("class")), c.String("group")
	if only != "" && !slices.Contains(onlyStates(), only) {
		return nil, usageError("--only %w", noneOf(only, onlyStates()...))
	}
	if cell != "" && !cell.Discordant() {
		return nil, usageError("--cell %w", noneOf(string(cell), string(pairing.Loss), string(pairing.Gain)))
	}
	if class != "" && !slices.Contains(fixtures.Classes(), class) {
		return nil, usageError("--class %w", noneOf(string(class), texts(fixtures.Classes())...))
	}
	var mine map[string][]string // a sole reviewer has all
	as := c.String("as")
	if c.Command.Name != "list" {
		as = "" // there it says who looks, not what is listed
	}
	overview := c.Bool("open") || c.Command.Name == "list" && as == ""
	state := func(i int) pairing.State { return r.shownState(reviewer, overview, i) }
	recalls := func(i int) bool {
		_, ok := r.remembered[r.queue[i].ID]
		return ok && state(i) == pairing.Undecided
	}
	isThem := func(name string) bool { return pairing.SameReviewer(name, as) }
	if as != "" {
		assignment, err := pairing.ReadAssignment(r.dir)
		if errors.Is(err, fs.ErrNotExist) { // then all pairs are anybody's
			assignment.Reviewers = []string{as}
		} else if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(assignment.Reviewers, isThem) {
			return nil, usageError("nothing is assigned to %.40q: the queue is shared out among %s (doubletake review assign)", as, strings.Join(assignment.Reviewers, ", "))
		}
		mine = assignment.Of(r.pairs())
	}
	return func(i int) bool {
		e := &r.queue[i]
		switch {
		case cell != "" && e.Cell != cell, group != "" && e.Group != group:
			return false
		case as != "" && !slices.ContainsFunc(mine[e.ID], isThem):
			return false
		case class != "" && !slices.ContainsFunc(e.Items, func(f pairing.ItemFate) bool { return f.Class == class && f.Lost() }):
			return false
		case c.Bool("undecided") && state(i) != pairing.Undecided, c.Bool("remembered") && !recalls(i):
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
			return recalls(i)
		}
		return string(state(i)) == only
	}, nil
}

// pairs are the names of the pairs in the queue.
func (r *reviewed) pairs() []string {
	ids := make([]string, len(r.queue))
	for i := range r.queue {
		ids[i] = r.queue[i].ID
	}
	return ids
}
