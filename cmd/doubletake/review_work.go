package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/rogpeppe/go-internal/diff"
	"github.com/urfave/cli/v2"

	"github.com/doubletake-dev/doubletake/analysis/report"
	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/pairing"
	"github.com/doubletake-dev/doubletake/replay"
)

// A verdict becomes work: a trace is accepted, an item or a check corrected, a fixture
// quarantined. Each changes one fixture of a set and says that its version must be bumped.

func ownSetFlag() cli.Flag {
	return stringFlag("set", "the set `DIR` that holds the fixture; default: the config's")
}

// work is one change of a fixture.
type work struct {
	dir     string
	fixture *fixtures.Fixture
	entry   *pairing.Entry
	review  *reviewed
	before  []byte
	path    string
}

// openWork finds the fixture of a pair in the set that is to be changed.
func openWork(c *cli.Context) (*work, error) {
	if c.NArg() != 2 {
		return nil, usageError("%s wants a run directory and a pair, have %s", c.Command.Name, report.Plural(c.NArg(), "argument"))
	}
	w := &work{}
	var err error
	if w.dir, err = setFolder(c); err != nil {
		return nil, err
	}
	if w.dir == "" {
		return nil, usageError("--set, or set in %s, names the set that holds the fixture; the set that ships with the program can't be changed", configFile)
	}
	if w.review, err = loadReview(c.Args().First()); err != nil {
		return nil, err
	}
	w.review.warn(c)
	i, err := w.review.find(c.Args().Get(1))
	if err != nil {
		return nil, err
	}
	w.entry = &w.review.queue[i]
	set, err := fixtures.LoadUnmanifested(os.DirFS(w.dir), w.dir)
	if err != nil {
		return nil, err
	}
	for _, f := range set.Fixtures {
		if f.ConversationID == w.entry.ConversationID {
			w.fixture = f
		}
	}
	if w.fixture == nil {
		return nil, usageError("the set %s has no fixture %s", w.dir, w.entry.ConversationID)
	}
	if w.fixture.Hash != w.entry.Fixture {
		corrected, err := w.corrected()
		if err != nil {
			return nil, err
		}
		if !corrected {
			return nil, usageError("fixture %s of %s is not the one that was played (hash %s there, %s in the run), nor what this run's corrections made of it: play it first", w.entry.ConversationID, w.dir, w.fixture.Hash, w.entry.Fixture)
		}
	}
	w.path = filepath.Join(w.dir, filepath.FromSlash(w.fixture.Path))
	if w.before, err = os.ReadFile(w.path); err != nil {
		return nil, err
	}
	// As it stands in the file, without what loading fills in.
	if w.fixture, err = fixtures.ParseFixture(w.before, w.path); err != nil {
		return nil, err
	}
	return w, nil
}

// save writes the fixture, verifies the set with it, and prints the patch. Where the
// change does not verify the former file is put back.
func (w *work) save(c *cli.Context) error {
	after, err := fixtures.MarshalFixture(w.fixture)
	if err != nil {
		return err
	}
	// The file may have been laid out by hand: the patch is of what it says.
	name := filepath.Base(w.path)
	before, err := fixtures.ParseFixture(w.before, name)
	if err != nil {
		return err
	}
	plain, err := fixtures.MarshalFixture(before)
	if err != nil {
		return err
	}
	if bytes.Equal(plain, after) {
		return usageError("this changes nothing in %s, and nothing is written", w.path)
	}
	write := func(data []byte) error {
		return fixtures.WriteFileAtomic(w.path, func(out io.Writer) error {
			_, err := out.Write(data)
			return err
		})
	}
	if err := write(after); err != nil {
		return err
	}
	set, err := fixtures.LoadUnmanifested(os.DirFS(w.dir), w.dir)
	if err != nil {
		return errors.Join(fmt.Errorf("the change does not hold, and is not made: %w", err), write(w.before))
	}
	if err := w.remember(set); err != nil {
		return errors.Join(fmt.Errorf("noting the change in the run, which is not made: %w", err), write(w.before))
	}
	out := report.Printable(c.App.Writer)
	fmt.Fprintf(out, "%s", diff.Diff("a/"+name, plain, "b/"+name, after))
	fmt.Fprintf(c.App.ErrWriter, "next: doubletake fixtures hash --set %s --bump VERSION\n", shellPath(w.dir))
	return nil
}

func reviewAccept() *cli.Command {
	return &cli.Command{
		Name:      "accept",
		Usage:     "keep what an arm did as the fixture's accepted trace",
		ArgsUsage: "RUN PAIR",
		Description: `The episode must pass the fixture's own checks. The trace is written beside the fixture
with its digest, by whom and when; the set's version must be bumped afterwards.

   doubletake review accept night hedge-hardened --arm reference --by maria`,
		Flags: []cli.Flag{
			configFlag(), ownSetFlag(), byFlag(),
			stringFlag("arm", "whose episode, by the `NAME` of the arm; default: the first of the pair"),
			stringFlag("on", "the `DATE` of acceptance, as in 2026-11-30; default: today"),
		},
		Action: func(c *cli.Context) error {
			w, err := openWork(c)
			if err != nil {
				return err
			}
			return w.accept(c)
		},
	}
}

func (w *work) accept(c *cli.Context) error {
	arm := cmp.Or(c.String("arm"), w.entry.First.Arm)
	var side *pairing.Side
	for _, s := range []*pairing.Side{&w.entry.First, &w.entry.Second} {
		if s.Arm == arm {
			side = s
		}
	}
	if side == nil {
		return usageError("--arm %.60q: the pair has %s and %s", arm, w.entry.First.Arm, w.entry.Second.Arm)
	}
	if side.Outcome.Answer != fixtures.Pass {
		return usageError("under %s the episode does not pass the fixture's checks (%s): an accepted trace must", arm, side.Outcome.Answer)
	}
	episode := w.review.record.Episode(replay.Key{Fixture: w.entry.Fixture, Arm: arm, Replicate: w.entry.Replicate})
	if episode == nil || episode.Status != replay.Played {
		return usageError("under %s nothing was played that could be accepted", arm)
	}
	if w.review.record.Run.Plan.Settings.Mode == replay.StepByStep {
		return usageError("in step mode the turns of an episode do not follow from each other: accept one of a run in the closed loop")
	}
	on, err := dateOf(c.String("on"))
	if err != nil {
		return err
	}
	file := "traces/" + w.fixture.ConversationID + ".jsonl"
	path := filepath.Join(w.dir, filepath.FromSlash(file))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("writing the trace: %w", err)
	}
	if err := fixtures.WriteFileAtomic(path, func(out io.Writer) error { return pairing.WriteTrace(out, episode) }); err != nil {
		return err
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	w.fixture.AcceptedTrace = &fixtures.AcceptedTrace{File: file, By: annotator(c.String("by")), On: on, Digest: fixtures.HashBytes(data)}
	return w.save(c)
}

func dateOf(text string) (string, error) {
	if text == "" {
		return time.Now().Format(time.DateOnly), nil
	}
	if _, err := time.Parse(time.DateOnly, text); err != nil {
		return "", usageError("%.40q: want a date such as 2026-11-30", text)
	}
	return text, nil
}

func reviewQuarantine() *cli.Command {
	return &cli.Command{
		Name:      "quarantine",
		Usage:     "keep a fixture out of nights until a day",
		ArgsUsage: "RUN PAIR",
		Description: `A fixture that is known to be wrong must not cry every morning. It is named in every
report while it is kept out, and plays again from the day after.

   doubletake review quarantine night hedge-hardened --reason "k2 refuses a fair paraphrase" --until 2026-12-31 --set fixtures/mine`,
		Flags: []cli.Flag{configFlag(), ownSetFlag(), byFlag(), stringFlag("reason", "`WHY`"), stringFlag("until", "the last `DATE`, as in 2026-12-31")},
		Action: func(c *cli.Context) error {
			if c.String("reason") == "" || c.String("until") == "" {
				return usageError("quarantine wants --reason and --until")
			}
			until, err := dateOf(c.String("until"))
			if err != nil {
				return err
			}
			if today := time.Now().Format(time.DateOnly); until < today {
				return usageError("--until %s is over: the fixture would play again tonight", until)
			}
			w, err := openWork(c)
			if err != nil {
				return err
			}
			w.fixture.Quarantine = &fixtures.Quarantine{Reason: c.String("reason"), By: annotator(c.String("by")), Until: until}
			return w.save(c)
		},
	}
}

func reviewCorrect() *cli.Command {
	return &cli.Command{
		Name:      "correct",
		Usage:     "correct an item or a check of a pair's fixture",
		ArgsUsage: "RUN PAIR",
		Description: `Prints the patch. What does not verify against the recording is not written.

   doubletake review correct night hedge-hardened --check k2 --final "text contains 'suspect'" --set fixtures/mine
   doubletake review correct night hedge-hardened --item q1 --probe "Is it known what slows the start?" --set fixtures/mine
   doubletake review correct night hedge-hardened --check k2 --drop --set fixtures/mine`,
		Flags: []cli.Flag{
			configFlag(), ownSetFlag(),
			stringFlag("item", "the item, by `ID`"), stringFlag("check", "the check, by `ID`"),
			&cli.BoolFlag{Name: "drop", Usage: "take it out"},
			stringFlag("literal", "the item's `TEXT`"), stringFlag("probe", "the item's `QUESTION`"), stringFlag("expect", "the item's `ANSWER`"),
			stringFlag("never", "the check's `EXPRESSION` over a call"), stringFlag("must", "the check's `EXPRESSION` over a call"), stringFlag("final", "the check's `EXPRESSION` over the last text"),
		},
		Action: func(c *cli.Context) error {
			if (c.String("item") == "") == (c.String("check") == "") {
				return usageError("correct wants one of --item and --check")
			}
			w, err := openWork(c)
			if err != nil {
				return err
			}
			if id := c.String("item"); id != "" {
				err = w.correctItem(c, id)
			} else {
				err = w.correctCheck(c, c.String("check"))
			}
			if err != nil {
				return err
			}
			return w.save(c)
		},
	}
}

// only refuses the options that the change at hand would not look at.
func only(c *cli.Context, what string, used ...string) error {
	for _, name := range []string{"drop", "literal", "probe", "expect", "never", "must", "final"} {
		if c.IsSet(name) && !slices.Contains(used, name) {
			return usageError("%s does not go with --%s", what, name)
		}
	}
	return nil
}

func (w *work) correctItem(c *cli.Context, id string) error {
	used := []string{"literal", "probe", "expect"}
	if c.Bool("drop") {
		used = []string{"drop"}
	}
	if err := only(c, map[bool]string{true: "--drop", false: "--item"}[c.Bool("drop")], used...); err != nil {
		return err
	}
	at := slices.IndexFunc(w.fixture.MustSurvive, func(i fixtures.Item) bool { return i.ID == id })
	if at < 0 {
		return usageError("fixture %s has no item %.60q", w.fixture.ConversationID, id)
	}
	if c.Bool("drop") {
		w.fixture.MustSurvive = slices.Delete(w.fixture.MustSurvive, at, at+1)
		return nil
	}
	item := &w.fixture.MustSurvive[at]
	item.Literal, item.Probe, item.Expect = cmp.Or(c.String("literal"), item.Literal), cmp.Or(c.String("probe"), item.Probe), cmp.Or(c.String("expect"), item.Expect)
	return nil
}

func (w *work) correctCheck(c *cli.Context, id string) error {
	at := slices.IndexFunc(w.fixture.Checks, func(k fixtures.Check) bool { return k.ID == id })
	if at < 0 {
		return usageError("fixture %s has no check %.60q", w.fixture.ConversationID, id)
	}
	if c.Bool("drop") {
		if err := only(c, "--drop", "drop"); err != nil {
			return err
		}
		w.fixture.Checks = slices.Delete(w.fixture.Checks, at, at+1)
		return nil
	}
	if err := only(c, "--check", "never", "must", "final"); err != nil {
		return err
	}
	never, must, final := c.String("never"), c.String("must"), c.String("final")
	if never == "" && must == "" && final == "" {
		return usageError("correct --check wants --never, --must, --final or --drop")
	}
	check := &w.fixture.Checks[at]
	check.Never, check.Must, check.Final, check.SameAsReference = never, must, final, false
	return nil
}
