package analysis

import (
	"fmt"
	"slices"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/pairing"
	"github.com/doubletake-dev/doubletake/replay"
)

// CriticalPlays is how many plays decide whether a critical failure is confirmed: it is
// at two of three. One play alone would block most nights of a flaky agent for nothing;
// asking for all three would let a break through that shows every other time.
const CriticalPlays = 3

const criticalConfirms = 2

// critical is a kind of failure that blocks by itself.
type critical struct {
	name   string
	fails  func(f *fixtures.Fixture, p *pairing.Pair) bool
	reason string
}

func criticals() []critical {
	return []critical{
		{"catastrophic", failsCatastrophically, "a check of catastrophic severity fails"},
		{"must pass", func(f *fixtures.Fixture, p *pairing.Pair) bool { return f.MustPass && p.Cell == pairing.Loss }, "a fixture that must pass is lost"},
	}
}

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
	return slices.ContainsFunc(criticals(), func(k critical) bool { return k.fails(f, p) })
}

// any says whether the set has fixtures that the kind could fail on.
func (k critical) any(set []*fixtures.Fixture) bool {
	return slices.ContainsFunc(set, func(f *fixtures.Fixture) bool {
		if k.name == "must pass" {
			return f.MustPass
		}
		return slices.ContainsFunc(f.Checks, func(c fixtures.Check) bool { return c.Severity == fixtures.Catastrophic })
	})
}

// fate is what the first plays of a fixture say.
type fate struct {
	pair   *pairing.Pair
	fails  int
	scored int
}

func (x fate) confirmed() bool { return x.fails >= criticalConfirms }

// open says that the plays do not decide.
func (x fate) open() bool {
	return !x.confirmed() && x.fails+CriticalPlays-x.scored >= criticalConfirms
}

// failures are the fixtures whose first play fails in that way, with what the first
// [CriticalPlays] plays say.
func (k critical) failures(record *replay.Record, c *comparison) []fate {
	var list []fate
	for i := range c.pairs {
		p := &c.pairs[i]
		f := record.Fixture(p.Fixture)
		if !k.fails(f, p) {
			continue
		}
		x := fate{pair: p, fails: 1, scored: 1}
		for j := range c.again {
			again := &c.again[j]
			if again.Fixture != p.Fixture || !again.Cell.Scored() || x.scored == CriticalPlays {
				continue
			}
			x.scored++
			if k.fails(f, again) {
				x.fails++
			}
		}
		list = append(list, x)
	}
	return list
}

// criticalRows are the rows for failures that no average can see. Each blocks where it
// is confirmed and the incumbent does not have it.
func (in *gateInput) criticalRows() []Gate {
	var rows []Gate
	for _, k := range criticals() {
		if !k.any(in.record.Fixtures) || in.reference == nil {
			continue
		}
		zero := 0.0
		value := 0.0
		g := Gate{Name: k.name, Value: &value, Floor: &zero, Status: GatePass}
		had := map[fixtures.Hash]bool{}
		if in.incumbents != nil {
			n := 0.0
			for _, x := range k.failures(in.record, in.incumbents) {
				had[x.pair.Fixture] = true
				n++
			}
			g.Incumbent = &n
		}
		open, passing := 0, 0
		for _, x := range k.failures(in.record, in.reference) {
			value++
			switch {
			case had[x.pair.Fixture]:
			case x.confirmed():
				g.NewlyLost = append(g.NewlyLost, fmt.Sprintf("%s fails in %d of %d plays", x.pair.ID, x.fails, x.scored))
			case x.open():
				open++
			default:
				passing++
			}
		}
		switch {
		case len(g.NewlyLost) > 0:
			g.Status, g.Reason = GateRegressed, k.reason
		case open > 0:
			g.Status, g.Reason = GateUnscored, fmt.Sprintf("%s unconfirmed: too few further plays have an outcome; it waits in the queue", counted(open, "first failure"))
		case passing > 0:
			g.Reason = fmt.Sprintf("%s unconfirmed by further plays; it waits in the queue", counted(passing, "first failure"))
		case value > 0:
			g.Status, g.Reason = GateBacklog, fmt.Sprintf("the same under %s", in.incumbent)
		}
		rows = append(rows, g)
	}
	return rows
}

// counted is a number with its noun.
func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// Critical lists the fixtures whose first play fails in a way that blocks by itself:
// those that must be played again before anything is said.
func (n *Night) Critical() []fixtures.Hash {
	var list []fixtures.Hash
	for _, k := range criticals() {
		if n.gates.reference == nil {
			continue
		}
		for _, x := range k.failures(n.Record, n.gates.reference) {
			if !slices.Contains(list, x.pair.Fixture) {
				list = append(list, x.pair.Fixture)
			}
		}
	}
	return list
}
