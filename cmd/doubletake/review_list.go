package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"text/tabwriter"

	"github.com/urfave/cli/v2"

	"github.com/doubletake-dev/doubletake/analysis/report"
	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/pairing"
	"github.com/doubletake-dev/doubletake/replay"
)

// reviewed is a queue with how each pair of it stands.
type reviewed struct {
	dir        string
	record     *replay.Record
	queue      []pairing.Entry
	verdicts   []pairing.Verdict
	standings  []pairing.Standing
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

func reviewList() *cli.Command {
	return &cli.Command{
		Name:      "list",
		Usage:     "list the queue of a run, with how each pair stands",
		ArgsUsage: "RUN",
		Description: `   doubletake review list night
   doubletake review list night --only undecided --cell loss
   doubletake review list night --as maria --json`,
		Flags: []cli.Flag{
			stringFlag("only", "undecided, decided, disputed, stable or flaky `PAIRS`"),
			stringFlag("cell", "only a loss or a gain; `CELL`"),
			stringFlag("class", "only pairs with a lost item of the `CLASS`"),
			stringFlag("group", "only pairs of the session `GROUP`"),
			stringFlag("as", "only what is assigned to `NAME` (doubletake review assign)"),
			jsonFlag(),
		},
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
	for i := range r.queue {
		if !keep(i) {
			continue
		}
		e := &r.queue[i]
		turn := 0
		if e.Divergence != nil {
			turn = e.Divergence.Turn
		}
		again := "-"
		if c := e.Confirmed; c != nil {
			again = fmt.Sprintf("%s (%d of %d)", c.Label, c.Same, c.Plays)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%d\t%s\t%s\t%s\n", e.ID, e.Cell, e.By, turn, e.Lost(), again, r.state(i), report.Shorten(e.Title, 70))
	}
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

// filter is which pairs of the queue are asked for.
func (r *reviewed) filter(c *cli.Context) (func(i int) bool, error) {
	only, cell, class, group := c.String("only"), pairing.Cell(c.String("cell")), fixtures.Class(c.String("class")), c.String("group")
	if only != "" && !slices.Contains([]string{"undecided", "decided", "disputed", "stable", "flaky"}, only) {
		return nil, usageError("--only %q: want undecided, decided, disputed, stable or flaky", only)
	}
	if cell != "" && !cell.Discordant() {
		return nil, usageError("--cell %q: want loss or gain", cell)
	}
	if class != "" && !slices.Contains(fixtures.Classes(), class) {
		return nil, usageError("--class %q: want one of %v", class, fixtures.Classes())
	}
	var mine map[string][]string
	as := c.String("as")
	if as != "" {
		var ids []string
		for i := range r.queue {
			ids = append(ids, r.queue[i].ID)
		}
		assignment, err := pairing.ReadAssignment(r.dir)
		if err != nil {
			return nil, err
		}
		mine = assignment.Of(ids)
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
		}
		switch only {
		case "":
			return true
		case "stable", "flaky":
			return e.Confirmed != nil && string(e.Confirmed.Label) == only
		}
		return string(r.standings[i].State) == only
	}, nil
}

// minutes estimates how long what is undecided will take.
func (r *reviewed) minutes() float64 {
	left := 0
	for _, s := range r.standings {
		if s.State == pairing.Undecided {
			left++
		}
	}
	return pairing.MinutesLeft(r.verdicts, left)
}
