package analysis

import (
	"fmt"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/pairing"
	"github.com/doubletake-dev/doubletake/replay"
)

// gateInput is what the gates look at.
type gateInput struct {
	record    *replay.Record
	settings  Settings
	incumbent string // arm, empty without one
	candidate string
	report    *Report
	// reference are the pairs of the reference with the candidate, incumbents those
	// with the incumbent, direct those of the incumbent with the candidate.
	reference, incumbents, direct []pairing.Pair
	// referenceTest and incumbentTest are against the reference, directTest is the
	// candidate against the incumbent.
	referenceTest, incumbentTest, directTest *Test
}

// gates are the rows of the report, in the order in which they are printed.
func (in *gateInput) gates() []Gate {
	rows := []Gate{in.behaviour()}
	if accepted := in.accepted(); accepted != nil {
		rows = append(rows, *accepted)
	}
	rows = append(rows, in.compactions(), in.contradictions())
	for _, class := range fixtures.Classes() {
		rows = append(rows, in.retention(class))
	}
	return rows
}

// behaviour is the pair test: REGRESSED where the candidate is worse than the
// reference or than the incumbent by more than chance.
func (in *gateInput) behaviour() Gate {
	g := Gate{Name: "behaviour", Floor: &in.settings.Alpha, Status: GatePass}
	test := in.referenceTest
	if test == nil {
		test = in.directTest
	}
	g.Value = &test.PCluster
	if in.incumbentTest != nil {
		g.Incumbent = &in.incumbentTest.PCluster
	}
	worseThanReference := test.PCluster <= in.settings.Alpha
	worseThanIncumbent := in.directTest != nil && in.directTest.PCluster <= in.settings.Alpha
	switch {
	case test.Pairs == 0 && in.directTest == nil:
		g.Status, g.Reason = GateUnscored, "no replayed pair has an outcome"
	case worseThanIncumbent:
		g.Status, g.Reason = GateRegressed, fmt.Sprintf("worse than %s: %d losses, %d gains", in.incumbent, in.directTest.Losses, in.directTest.Gains)
	case worseThanReference && in.directTest != nil && in.directTest.Losses <= in.directTest.Gains:
		g.Status, g.Reason = GateBacklog, fmt.Sprintf("worse than the reference, but not than %s", in.incumbent)
	case worseThanReference:
		g.Status, g.Reason = GateRegressed, fmt.Sprintf("worse than the reference: %d losses, %d gains", test.Losses, test.Gains)
	}
	return g
}

// accepted is the regression against known-good traces: each loss that the
// incumbent does not have blocks. Nil where no pair stands on an accepted trace.
func (in *gateInput) accepted() *Gate {
	ours := lossesAgainstTraces(in.reference)
	if ours == nil {
		return nil
	}
	zero := 0.0
	value := float64(len(ours.lost))
	g := &Gate{Name: "accepted traces", Value: &value, Floor: &zero, Status: GatePass}
	theirs := lossesAgainstTraces(in.incumbents)
	if theirs != nil {
		n := float64(len(theirs.lost))
		g.Incumbent = &n
	}
	if ours.scored == 0 {
		g.Status, g.Reason = GateUnscored, "no pair with an accepted trace has an outcome"
		return g
	}
	for _, id := range ours.lost {
		if theirs == nil || !theirs.has(id) {
			g.NewlyLost = append(g.NewlyLost, id)
		}
	}
	switch {
	case len(g.NewlyLost) > 0:
		g.Status, g.Reason = GateRegressed, "fails where a person accepted a trace"
	case len(ours.lost) > 0:
		g.Status, g.Reason = GateBacklog, fmt.Sprintf("fails as %s does", in.incumbent)
	}
	return g
}

type traceLosses struct {
	scored int
	lost   []string
}

func (t *traceLosses) has(id string) bool {
	for _, other := range t.lost {
		if other == id {
			return true
		}
	}
	return false
}

func lossesAgainstTraces(pairs []pairing.Pair) *traceLosses {
	var t *traceLosses
	for i := range pairs {
		if pairs[i].By != pairing.Accepted {
			continue
		}
		if t == nil {
			t = &traceLosses{}
		}
		switch pairs[i].Cell {
		case pairing.Loss:
			t.scored++
			t.lost = append(t.lost, pairs[i].ID)
		case pairing.BothPass:
			t.scored++
		}
	}
	return t
}

// broken counts the compactions that gave nothing to go on with, or no less than
// there was.
func (c CompactionCounts) broken() float64 { return float64(c.Error + c.Refused + c.NotSmaller) }

// compactions is how often the candidate broke, refused, or did not shorten.
func (in *gateInput) compactions() Gate {
	zero := 0.0
	value := in.report.Compactions[in.candidate].broken()
	g := Gate{Name: "failed compactions", Value: &value, Floor: &zero, Status: GatePass}
	if in.incumbent != "" {
		n := in.report.Compactions[in.incumbent].broken()
		g.Incumbent = &n
	}
	switch {
	case value == 0:
	case g.Incumbent != nil && value <= *g.Incumbent:
		g.Status, g.Reason = GateBacklog, fmt.Sprintf("no more than under %s", in.incumbent)
	default:
		g.Status, g.Reason = GateRegressed, "the compactor refused, broke, or made nothing smaller"
	}
	return g
}

// contradictions counts the items turned around. One that the incumbent does not
// have blocks, whatever number is tolerated.
func (in *gateInput) contradictions() Gate {
	floor := float64(in.settings.Contradictions)
	value := float64(in.report.Contradictions)
	g := Gate{Name: "contradictions", Value: &value, Floor: &floor, Status: GatePass}
	if in.incumbent != "" {
		n := float64(contradictions(countItems(in.record, in.incumbent)))
		g.Incumbent = &n
	}
	g.NewlyLost = moved(in.record, in.incumbent, in.candidate, "", contradicted)
	switch {
	case len(g.NewlyLost) > 0:
		g.Status, g.Reason = GateRegressed, "items newly turned around"
	case value > floor:
		g.Status, g.Reason = GateBacklog, fmt.Sprintf("the same as under %s", in.incumbent)
	}
	return g
}

// retention is the share of a class's decisions that kept their item.
func (in *gateInput) retention(class fixtures.Class) Gate {
	floor := in.settings.Floors[class]
	g := Gate{Name: string(class), Floor: &floor, Status: GatePass}
	g.Value = rate(in.report.Items[class])
	if in.incumbent != "" {
		g.Incumbent = rate(countItems(in.record, in.incumbent)[class])
	}
	if g.Value == nil {
		g.Status, g.Reason = GateUnscored, "no decision of this class has a verdict"
		return g
	}
	if *g.Value >= floor {
		return g
	}
	g.NewlyLost = moved(in.record, in.incumbent, in.candidate, class, lost)
	switch {
	case len(g.NewlyLost) == 0:
		g.Status, g.Reason = GateBacklog, "below the floor, and nothing newly lost"
	case in.incumbent == "":
		g.Status, g.Reason = GateRegressed, "below the floor"
	default:
		g.Status, g.Reason = GateRegressed, "below the floor, with items newly lost"
	}
	return g
}

func rate(c ItemCounts) *float64 {
	if c.Scored() == 0 {
		return nil
	}
	r := float64(c.Retained()) / float64(c.Scored())
	return &r
}
