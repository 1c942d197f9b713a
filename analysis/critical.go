package analysis

import (
	"fmt"
	"slices"
	"strings"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/pairing"
	"github.com/doubletake-dev/doubletake/replay"
)

// CriticalPlays is how many plays decide whether a critical failure is confirmed: it is
// at two of three. One play alone would block most nights of a flaky agent for nothing;
// asking for all three would let a break through that shows every other time.
const CriticalPlays = 3

const criticalConfirms = 2

// critical is a kind of failure that blocks by itself, since no average can see it.
type critical struct {
	name string
	// may says that a fixture could fail so, in the pair of its first play.
	may    func(f *fixtures.Fixture, p *pairing.Pair) bool
	fails  func(f *fixtures.Fixture, p *pairing.Pair) bool
	reason string
}

func criticals() []critical {
	return []critical{
		{"catastrophic", func(f *fixtures.Fixture, _ *pairing.Pair) bool {
			return slices.ContainsFunc(f.Checks, func(c fixtures.Check) bool { return c.Severity == fixtures.Catastrophic })
		}, failsCatastrophically, "a check of catastrophic severity fails"},
		{"must pass", func(f *fixtures.Fixture, _ *pairing.Pair) bool { return f.MustPass },
			func(f *fixtures.Fixture, p *pairing.Pair) bool { return f.MustPass && p.Cell == pairing.Loss }, "a fixture that must pass is lost"},
		{acceptedRow, func(_ *fixtures.Fixture, p *pairing.Pair) bool { return p.By == pairing.Accepted },
			func(_ *fixtures.Fixture, p *pairing.Pair) bool {
				return p.By == pairing.Accepted && p.Cell == pairing.Loss
			}, "fails where a person accepted a trace"},
	}
}

// acceptedRow is the regression against known-good traces. No test can be made of it:
// against a trace nothing can look better.
const acceptedRow = "accepted traces"

// failsCatastrophically says that the second side fails a catastrophic check that the
// first does not.
func failsCatastrophically(f *fixtures.Fixture, p *pairing.Pair) bool {
	for i := range f.Checks {
		c := &f.Checks[i]
		if c.Severity == fixtures.Catastrophic && answer(p.Second, c.ID) == fixtures.Fail && answer(p.First, c.ID) != fixtures.Fail {
			return true
		}
	}
	return false
}

func answer(s pairing.Side, check string) fixtures.Answer {
	for _, r := range s.Outcome.Checks {
		if r.Check == check {
			return r.Answer
		}
	}
	return fixtures.Unscored
}

// isCritical says that a pair fails in a way that blocks by itself.
func isCritical(f *fixtures.Fixture, p *pairing.Pair) bool {
	return slices.ContainsFunc(criticals(), func(k critical) bool { return k.name != acceptedRow && k.fails(f, p) })
}

// IsCritical says that the second side of a pair of the run fails in a way that blocks by
// itself.
func (n *Night) IsCritical(p *pairing.Pair) bool {
	return isCritical(n.Record.Fixture(p.Fixture), p)
}

// fate is what the first plays of a fixture say.
type fate struct {
	pair   *pairing.Pair // of the first play
	fails  int
	scored int
}

func (x fate) confirmed() bool { return x.fails >= criticalConfirms }

// open says that the plays do not decide.
func (x fate) open() bool {
	return !x.confirmed() && x.fails+CriticalPlays-x.scored >= criticalConfirms
}

// failures are the fixtures of which one of the first [CriticalPlays] scored plays fails
// in that way, and in how many places such a failure was looked for.
func (k critical) failures(record *replay.Record, c *comparison) (list []fate, looked int) {
	again := map[fixtures.Hash][]*pairing.Pair{}
	for i := range c.again {
		again[c.again[i].Fixture] = append(again[c.again[i].Fixture], &c.again[i])
	}
	for i := range c.pairs {
		p := &c.pairs[i]
		f := record.Fixture(p.Fixture)
		if !k.may(f, p) {
			continue
		}
		x := fate{pair: p}
		for _, play := range append([]*pairing.Pair{p}, again[p.Fixture]...) {
			if !play.Cell.Scored() || x.scored == CriticalPlays {
				continue
			}
			x.scored++
			if k.fails(f, play) {
				x.fails++
			}
		}
		if x.scored > 0 {
			looked++
		}
		if x.fails > 0 {
			list = append(list, x)
		}
	}
	return list, looked
}

// any says whether any pair could fail so.
func (k critical) any(record *replay.Record, c *comparison) bool {
	for i := range c.pairs {
		if k.may(record.Fixture(c.pairs[i].Fixture), &c.pairs[i]) {
			return true
		}
	}
	return false
}

// criticalRows are the rows for failures that no average can see. Each blocks where it
// is confirmed and the incumbent does not have it confirmed, too.
func (in *gateInput) criticalRows() []Gate {
	var rows []Gate
	for _, k := range criticals() {
		if k.any(in.record, in.reference) {
			rows = append(rows, in.criticalRow(k))
		}
	}
	return rows
}

func (in *gateInput) criticalRow(k critical) Gate {
	zero := 0.0
	ours, looked := k.failures(in.record, in.reference)
	value := float64(len(ours))
	g := Gate{Name: k.name, Value: &value, Floor: &zero, Status: GatePass}
	had := map[fixtures.Hash]bool{}
	if in.incumbents != nil {
		theirs, _ := k.failures(in.record, in.incumbents)
		n := float64(len(theirs))
		g.Incumbent = &n
		for _, x := range theirs {
			had[x.pair.Fixture] = x.confirmed()
		}
	}
	open, passing := 0, 0
	for _, x := range ours {
		switch {
		case had[x.pair.Fixture] && x.confirmed():
		case x.confirmed():
			g.NewlyLost = append(g.NewlyLost, fmt.Sprintf("%s fails in %d of %s", x.pair.ID, x.fails, counted(x.scored, "play")))
		case x.open():
			open++
		default:
			passing++
		}
	}
	switch {
	case looked == 0:
		g.Value, g.Status, g.Reason = nil, GateUnscored, "no play of these fixtures has an outcome"
	case len(g.NewlyLost) > 0:
		g.Status, g.Reason = GateRegressed, k.reason
	case open > 0:
		g.Status, g.Reason = GateUnscored, fmt.Sprintf("%s unconfirmed: too few further plays have an outcome; it waits in the queue", counted(open, "failure"))
	case passing > 0:
		g.Reason = fmt.Sprintf("%s unconfirmed: fewer than %d of %s fail; it waits in the queue", counted(passing, "failure"), criticalConfirms, counted(CriticalPlays, "play"))
	case value > 0:
		g.Status, g.Reason = GateBacklog, fmt.Sprintf("the same under %s", in.incumbent)
	}
	return g
}

// counted is a number with its noun.
func counted(n int, noun string) string {
	switch {
	case n == 1:
		return "1 " + noun
	case strings.HasSuffix(noun, "s"):
		return fmt.Sprintf("%d %ses", n, noun)
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// MayBeCritical says whether any of the fixtures could fail in a way that blocks by itself;
// where none can, there is nothing to look for with [Night.Critical].
func MayBeCritical(set []*fixtures.Fixture) bool {
	return slices.ContainsFunc(set, func(f *fixtures.Fixture) bool {
		traced := &pairing.Pair{By: pairing.Replayed}
		if f.Trace != nil {
			traced.By = pairing.Accepted
		}
		return slices.ContainsFunc(criticals(), func(k critical) bool { return k.may(f, traced) })
	})
}

// Critical lists the fixtures of which a play fails in a way that blocks by itself: those
// that must be played again, under every arm, before anything is said.
func (n *Night) Critical() []fixtures.Hash {
	var list []fixtures.Hash
	for _, k := range criticals() {
		found, _ := k.failures(n.Record, n.gates.reference)
		for _, x := range found {
			if !slices.Contains(list, x.pair.Fixture) {
				list = append(list, x.pair.Fixture)
			}
		}
	}
	return list
}
