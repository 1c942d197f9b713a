package analysis

import (
	"fmt"
	"maps"
	"math"
	"strings"

	"github.com/doubletake-dev/doubletake/analysis/stats"
	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/pairing"
)

// Harm is how the rows that stand on a test of harm were corrected. Any one of them
// blocks, so that the chance of blocking a harmless change would grow with their number.
// Rows that stand on a rule, such as contradictions, are no tests and are not corrected;
// neither is non-inferiority, which must hold for every comparison to count.
type Harm struct {
	// Tests is how many were made, Divisor by how much the level was divided at the
	// first step: only tests that could have rejected count (Tarone). Alpha is the
	// level of them all together, Level that of each at the first step.
	Tests   int     `json:"tests"`
	Divisor int     `json:"divisor"`
	Alpha   float64 `json:"alpha"`
	Level   float64 `json:"level"`
	Method  string  `json:"method"`
	// Shared says that the incumbent goes on from the reference's contexts everywhere, so
	// that the rows against either are one test, made once.
	Shared bool `json:"shared,omitempty"`
}

// behaviourRow is one test of harm.
type behaviourRow struct {
	name     string
	test     *Test
	rejected bool
	// level is that at which it was decided.
	level float64
	// able says that so many discordant pairs could have rejected.
	able   bool
	reason string // why there is nothing to decide
}

// harm tests the candidate against the reference and against the incumbent.
func (in *gateInput) harm() ([]behaviourRow, Harm, error) {
	rows := []behaviourRow{{name: "behaviour", test: &in.reference.Test}}
	if in.direct != nil {
		rows = append(rows, behaviourRow{name: "behaviour against " + in.incumbent, test: &in.direct.Test})
	}
	early := in.settings.Stop == StopEarly
	shared := in.sharedTest()
	h := Harm{Shared: shared, Alpha: in.settings.Alpha, Method: "Holm, with Tarone's reduction"}
	if early {
		h.Method = "Holm, over anytime p values"
	}
	var tested []int
	var discrete []stats.DiscreteTest
	for i := range rows {
		test := rows[i].test
		switch {
		case i > 0 && shared:
			rows[i].reason = rows[0].reason
		case test.Pairs == 0 && test.Groups == 0:
			rows[i].reason = "no replayed pair has an outcome"
		case early && test.Sequential.Sessions == 0:
			rows[i].reason = "every session holds a fixture that must pass: they have a row of their own, and early stopping looks at none of them"
		default:
			tested = append(tested, i)
			// The tail of hundreds of sessions is rounded, and 2^-n, its minimum, is not.
			d := stats.DiscreteTest{P: test.PCluster, MinP: min(test.MinP, test.PCluster)}
			if early {
				d = stats.DiscreteTest{P: test.Sequential.PAnytime} // no smallest value
			}
			discrete = append(discrete, d)
		}
	}
	h.Tests = len(discrete)
	result, err := stats.HolmTarone(discrete, h.Alpha)
	if err != nil {
		return nil, h, fmt.Errorf("tests of harm: %w", err)
	}
	h.Divisor = max(1, result.K)
	h.Level = h.Alpha / float64(h.Divisor)
	for k, i := range tested {
		row := &rows[i]
		row.rejected, row.level, row.able = result.Rejected[k], h.Level, result.Testable[k]
		if row.rejected && discrete[k].P > row.level {
			row.level = h.Alpha // at the second step it was the only one left
		}
	}
	if shared {
		first := &rows[0]
		rows[1].rejected, rows[1].level, rows[1].able = first.rejected, first.level, first.able
	}
	return rows, h, nil
}

// sharedTest says that the comparisons with the reference and with the incumbent are one:
// under the incumbent, which may compact nothing, the agent went on from the same bytes
// everywhere. Counted as two tests they would halve the level for nothing.
func (in *gateInput) sharedTest() bool {
	if in.direct == nil {
		return false
	}
	contexts := func(c *comparison) map[string]fixtures.Hash {
		of := map[string]fixtures.Hash{}
		for _, pairs := range [][]pairing.Pair{c.pairs, c.again} {
			for i := range pairs {
				if p := &pairs[i]; isReplayed(p) && p.Cell.Scored() {
					of[p.ID] = p.First.Context
				}
			}
		}
		return of
	}
	a, b := &in.reference.Test, &in.direct.Test
	ours, theirs := contexts(in.reference), contexts(in.direct)
	for _, hash := range ours {
		if hash == "" {
			return false
		}
	}
	return len(ours) > 0 && maps.Equal(ours, theirs) &&
		a.Losses == b.Losses && a.Gains == b.Gains && a.Pairs == b.Pairs && a.PCluster == b.PCluster && a.MinP == b.MinP
}

// behaviour are the rows of the pair tests: REGRESSED where the candidate is worse than
// the reference or than the incumbent by more than chance. It also settles what the
// tests say, at the level at which they can block.
func (in *gateInput) behaviour() ([]Gate, error) {
	rows, h, err := in.harm()
	if err != nil {
		return nil, err
	}
	in.report.Harm = h
	var gates []Gate
	for i := range rows {
		row := &rows[i]
		g := Gate{Name: row.name, Floor: &row.level, Status: GatePass}
		p := row.test.P(in.settings)
		g.Value = &p
		if i == 0 && in.incumbents != nil {
			old := in.incumbents.Test.P(in.settings)
			g.Incumbent = &old
		}
		who := in.incumbent
		if i == 0 {
			who = "the reference"
		}
		row.test.settle(row.rejected, h.Level)
		if !in.looking {
			if err := row.test.detectable(h.Level, in.settings); err != nil {
				return nil, err
			}
		}
		found := fmt.Sprintf("losses %d, gains %d", row.test.Losses, row.test.Gains)
		if row.test.Replicates > 1 && row.test.Difference != nil {
			found = fmt.Sprintf("%.1f points over the means of %s", 100**row.test.Difference, counted(row.test.Replicates, "play"))
		}
		switch {
		case row.reason != "":
			g.Value, g.Floor, g.Status, g.Reason = nil, nil, GateUnscored, row.reason
		case row.rejected && i == 0 && in.direct != nil && !in.direct.Test.leansWorse():
			g.Status, g.Reason = GateBacklog, fmt.Sprintf("worse than the reference, but not than %s", in.incumbent)
		case row.rejected:
			g.Status, g.Reason = GateRegressed, fmt.Sprintf("worse than %s by more than chance (%s)", who, found)
		case !row.able && row.test.leansWorse() && row.test.MinP <= in.settings.Alpha:
			g.Reason = fmt.Sprintf("%s: two tests can block, and so few sessions that disagree cannot reach %.4g", found, h.Level)
		}
		gates = append(gates, g)
	}
	return gates, nil
}

// isBehaviour says that a row is one of the pair tests.
func isBehaviour(name string) bool {
	return name == "behaviour" || strings.HasPrefix(name, "behaviour against ")
}

// leansWorse says that there is more loss than gain.
func (t *Test) leansWorse() bool {
	if t.Replicates > 1 && t.Difference != nil {
		return *t.Difference > 0
	}
	return t.Losses > t.Gains
}

// settle says what the test concludes at the level at which it can block, and when the
// evidence reached it.
func (t *Test) settle(worse bool, level float64) {
	t.Level = level
	switch {
	case worse && t.NonInferior:
		t.Conclusion = WorseWithin
	case worse:
		t.Conclusion = Worse
	case t.NonInferior:
		t.Conclusion = WithinMargin
	default:
		t.Conclusion = NothingShown
	}
	t.Sequential.cross(level)
	if t.Obuchowski.PWorse != nil && (*t.Obuchowski.PWorse <= level) != (t.PCluster <= level) {
		t.Warnings = []string{fmt.Sprintf("sign-flip (p %.4f) and Obuchowski (p %.4f) fall on different sides of %.4g: the sessions differ much among each other, or are few; the exact sign-flip decides", t.PCluster, *t.Obuchowski.PWorse, level)}
	}
}

// cross finds at which session the evidence first reached 1/level.
func (s *Sequential) cross(level float64) {
	s.CrossedAt = nil
	most := 0.0
	for i := range s.Trail {
		if most = max(most, s.Trail[i].Log10E); most >= -math.Log10(level) {
			at := i + 1
			s.CrossedAt = &at
			return
		}
	}
}
