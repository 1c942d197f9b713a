package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/doubletake-dev/doubletake/analysis/report"
	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/pairing"
	"github.com/doubletake-dev/doubletake/replay"
)

func openFlag() cli.Flag {
	return &cli.BoolFlag{Name: "open", Usage: "name the arms; your verdict on the pair is then recorded as not blind", EnvVars: twin("open")}
}

func fullFlag() cli.Flag {
	return &cli.BoolFlag{Name: "full", Usage: "print what compactors wrote in full", EnvVars: twin("full")}
}

func reviewShow() *cli.Command {
	return &cli.Command{
		Name:      "show",
		Usage:     "show one pair: what each side did, and once you have decided what each arm saw and lost",
		ArgsUsage: "RUN PAIR",
		Description: `The sides are left and right, shuffled for each reviewer and pair as on the page. What
tells which is which (arms, outcomes, contexts, the fates of the items, others' verdicts)
is shown once you have decided. --open shows all of it before; that is recorded, and your
verdict on the pair is then not blind.

PAIR is the number of a pair in the queue, its short id, or its name. Names and titles tell
what goes wrong: they are shown once you have decided.

   doubletake review show night 7
   doubletake review show night forbidden-directory --open
   doubletake review show night forbidden-directory --by maria --json`,
		Flags: []cli.Flag{byFlag(), openFlag(), fullFlag(), jsonFlag()},
		Action: func(c *cli.Context) error {
			if c.NArg() != 2 {
				return usageError("review show wants a run directory and a pair, have %s", report.Plural(c.NArg(), "argument"))
			}
			r, err := loadReview(c.Args().Get(0))
			if err != nil {
				return err
			}
			r.warn(c)
			i, err := r.find(c.Args().Get(1))
			if err != nil {
				return err
			}
			return r.show(c, i)
		},
	}
}

// show prints a pair as its reviewer may see it, and records where that names the arms.
func (r *reviewed) show(c *cli.Context, i int) error {
	e := &r.queue[i]
	by, err := who(c, "by")
	if err != nil {
		return err
	}
	seen := r.seen(by, e.ID)
	if c.Bool("open") && !seen {
		if err := (pairing.Unblinded{At: time.Now(), By: by, Pair: e.ID, How: pairing.UnblindedByShow}).Record(r.dir); err != nil {
			return fmt.Errorf("the arms are not named, because that could not be recorded: %w", err)
		}
	}
	s := &shownPair{
		reviewed: r, entry: e, number: i + 1, standing: &r.standings[i], by: by, named: c.Bool("open") || seen, full: c.Bool("full"),
		swapped: !c.Bool("open") && pairing.Swapped(r.record.Run.ID, by, e.ID),
	}
	if c.Bool("json") {
		return s.json(c.App.Writer)
	}
	noteShown(r.dir, by, e.ID, time.Now())
	s.screen = newScreen(c)
	return s.text()
}

// shownPair is one pair before one reviewer.
type shownPair struct {
	*reviewed
	screen
	entry    *pairing.Entry
	number   int // in the queue, from 1
	standing *pairing.Standing
	by       string
	// named says that the reviewer may know which arm is which, swapped that the second arm
	// stands on the left.
	named, swapped, full bool
}

// called is what the pair is called before its reviewer may know its name.
func (s *shownPair) called() string { return pairing.Handle(s.record.Run.ID, s.entry) }

// names are what the left and the right side are called.
func (s *shownPair) names() (left, right string) {
	if !s.named {
		return "left", "right"
	}
	left, right = s.entry.First.Arm, s.entry.Second.Arm
	if s.swapped {
		left, right = right, left
	}
	return report.Clean(left), report.Clean(right)
}

func sides[T any](s *shownPair, first, second T) (left, right T) {
	if s.swapped {
		return second, first
	}
	return first, second
}

// steps are what either side did.
func (s *shownPair) steps() (left, right []replay.Step, fork int, ok bool) {
	e := s.entry
	first := s.record.Episode(replay.Key{Fixture: e.Fixture, Arm: e.First.Arm, Replicate: e.Replicate})
	second := s.record.Episode(replay.Key{Fixture: e.Fixture, Arm: e.Second.Arm, Replicate: e.Replicate})
	if first == nil || second == nil {
		return nil, nil, 0, false
	}
	left, right = sides(s, first.Steps, second.Steps)
	if !s.named {
		left, right = withoutSources(left), withoutSources(right)
	}
	return left, right, first.Fork, true
}

// withoutSources leaves out where the results of calls came from: an arm that left the
// recorded way shows by that which one it is.
func withoutSources(steps []replay.Step) []replay.Step {
	steps = slices.Clone(steps)
	for i := range steps {
		steps[i].Source = ""
	}
	return steps
}

func (s *shownPair) text() error {
	s.head()
	s.items()
	s.checks()
	left, right := s.names()
	if d := s.entry.Divergence; d != nil {
		a, b := sides(s, d.First, d.Second)
		s.line(0, "")
		s.line(0, "First divergence, in %s, turn %d", d.Kind, d.Turn)
		s.line(2, "%s %s", left, report.Shorten(pairing.Describe(a), 2000))
		s.line(2, "%s %s", right, report.Shorten(pairing.Describe(b), 2000))
	}
	if a, b, fork, ok := s.steps(); ok {
		s.line(0, "")
		s.line(0, "Side by side from turn %d: | both the same, * different, < and > one side only", fork+1)
		sideBySide(s.out, left, right, pairing.Align(a, b), s.width)
	}
	if !s.named {
		s.blindEnd()
		return nil
	}
	if err := s.contexts(); err != nil {
		return err
	}
	s.verdictsSoFar()
	return nil
}

func (s *shownPair) head() {
	e := s.entry
	if s.named {
		s.line(0, "%s: %s against %s, a %s (%s reference)", e.ID, e.Second.Arm, e.First.Arm, e.Cell, e.By)
		if s.swapped {
			left, right := s.names()
			s.line(0, "left was %s, right was %s", left, right)
		}
	} else {
		s.line(0, "pair %d (%s): the arms are not named before you decide (--open names them)", s.number, s.called())
	}
	if s.named && e.Title != "" {
		s.line(0, "%s", e.Title)
	}
	if c := e.Confirmed; c != nil {
		s.line(0, "played again: %s, %d of %d came out as at first", c.Label, c.Same, c.Plays)
	}
}

func (s *shownPair) items() {
	e := s.entry
	s.line(0, "")
	s.line(0, "Items")
	for _, item := range e.Items {
		s.line(2, "%s %s, turn %d: %q", item.Class, item.ID, item.Turn, report.Clean(item.Literal))
		if !s.named {
			continue
		}
		for _, side := range []struct {
			arm     string
			verdict replay.Verdict
		}{{e.First.Arm, item.First}, {e.Second.Arm, item.Second}} {
			if side.verdict != "" {
				s.line(4, "%s under %s", side.verdict, side.arm)
			}
		}
	}
}

func (s *shownPair) checks() {
	e, asks := s.entry, s.asks()
	s.line(0, "")
	s.line(0, "Checks that differ")
	for _, c := range e.Differ {
		s.line(2, "%s (item %s): %s", c.Check, cmp.Or(c.Item, "none"), cmp.Or(asks[c.Check], "not known"))
		if s.named { // an answer says which side did what was not to be done
			s.line(4, "%s: %s, %s", e.First.Arm, c.First.Answer, c.First.Evidence)
			s.line(4, "%s: %s, %s", e.Second.Arm, c.Second.Answer, c.Second.Evidence)
		}
	}
}

// asks is what the checks of the pair's fixture ask.
func (s *shownPair) asks() map[string]string {
	asks := map[string]string{}
	if f := s.record.Fixture(s.entry.Fixture); f != nil {
		for _, c := range pairing.Checks(f) {
			asks[c.ID] = asked(&c)
		}
	}
	return asks
}

// asked is what a check asks, in a few words.
func asked(c *fixtures.Check) string {
	switch {
	case c.Never != "":
		return "never: " + c.Never
	case c.Must != "":
		return "must: " + c.Must
	case c.Final != "":
		return "final text: " + c.Final
	}
	return "the same calls as the reference"
}

// blindEnd says how to decide.
func (s *shownPair) blindEnd() {
	s.line(0, "")
	if n := len(s.standing.Verdicts); n > 0 {
		s.line(0, "verdicts of others: %d; each is shown once you have given yours.", n)
	}
	s.line(0, "Decide, with a RULING of %s:", strings.Join(blindRulings(), ", "))
	s.decide("RULING")
	if m, ok := s.remembered[s.entry.ID]; ok {
		s.line(0, "An earlier night (%s) decided on this disagreement; to take that over:", m.Run)
		s.decide("remembered")
	}
}

// decide prints a command, in one line so that it can be copied.
func (s *shownPair) decide(ruling string) {
	pair := s.called()
	if s.named {
		pair = report.Clean(s.entry.ID)
	}
	fmt.Fprintf(s.out, "  doubletake review decide %s %s %s\n", report.Clean(shellPath(s.dir)), pair, ruling)
}

// shownStanding is how the pair stands without what others ruled, where the reviewer has
// not: else their verdict would follow the others'.
func (s *shownPair) shownStanding() pairing.Standing {
	standing := *s.standing
	if standing.Mine(s.by) != nil {
		return standing
	}
	standing.Ruling, standing.Severity, standing.Checks = "", "", nil
	standing.Verdicts, standing.Stale = []pairing.Verdict{}, nil
	for _, v := range s.standing.Stale {
		if pairing.SameReviewer(v.By, s.by) {
			standing.Stale = append(standing.Stale, v)
		}
	}
	return standing
}

// verdictsSoFar lists what everybody said of the pair.
func (s *shownPair) verdictsSoFar() {
	s.line(0, "")
	state := string(s.standing.State)
	standing := s.shownStanding()
	if standing.Ruling != "" {
		state += ": " + string(standing.Ruling)
	}
	s.line(0, "Verdicts (%s)", state)
	for i := range standing.Verdicts {
		s.verdict(&standing.Verdicts[i], "")
	}
	if n := len(s.standing.Verdicts) - len(standing.Verdicts); n > 0 {
		s.line(2, "%d of others, which you see once you have given yours", n)
	}
	now := pairing.EvidenceNow(s.record, &s.entry.Pair)
	for i := range standing.Stale {
		v := &standing.Stale[i]
		s.verdict(v, "stale, "+staleReason(v, now, s.entry)+": ")
	}
	if m, ok := s.remembered[s.entry.ID]; ok && s.standing.State == pairing.Undecided {
		s.verdict(&m.Verdict, "in "+m.Run+": ")
	}
	if len(s.standing.Verdicts)+len(s.standing.Stale) == 0 {
		s.line(2, "none yet:")
		s.decide("RULING --open")
	}
}

func (s *shownPair) verdict(v *pairing.Verdict, before string) {
	parts := []string{string(v.Ruling)}
	if len(v.Checks) > 0 {
		parts = append(parts, "check "+strings.Join(v.Checks, ", "))
	}
	if v.Severity != "" {
		parts = append(parts, string(v.Severity))
	}
	if v.Adjudicates {
		parts = append(parts, "settles")
	}
	blind := "blind"
	if !v.Blind {
		blind = "not blind"
	}
	parts = append(parts, blind)
	if v.From != "" {
		parts = append(parts, "taken over from "+v.From)
	}
	s.line(2, "%s%s, %s: %s", before, v.By, v.At.UTC().Format("2006-01-02 15:04 UTC"), strings.Join(parts, ", "))
	if v.Note != "" {
		s.line(4, "%s", v.Note)
	}
}

// staleReason says what of a verdict's evidence has changed since.
func staleReason(v *pairing.Verdict, now pairing.Evidence, e *pairing.Entry) string {
	fixture, first, second := v.Evidence.Changed(now)
	if fixture { // and every episode of it
		return "the fixture changed"
	}
	var parts []string
	if first {
		parts = append(parts, "what "+e.First.Arm+" did changed")
	}
	if second {
		parts = append(parts, "what "+e.Second.Arm+" did changed")
	}
	return strings.Join(parts, " and ")
}
