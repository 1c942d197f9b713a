package analysis

import (
	"fmt"

	"github.com/doubletake-dev/doubletake/analysis/stats"
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
}

// behaviourRow is one test of harm.
type behaviourRow struct {
	name     string
	test     *Test
	rejected bool
}

// harm tests the candidate against the reference and against the incumbent.
func (in *gateInput) harm() ([]behaviourRow, Harm, error) {
	rows := []behaviourRow{{name: "behaviour", test: &in.reference.Test}}
	if in.direct != nil {
		rows = append(rows, behaviourRow{name: "behaviour against " + in.incumbent, test: &in.direct.Test})
	}
	h := Harm{Alpha: in.settings.Alpha, Method: "Holm, with Tarone's reduction"}
	var tested []int
	var discrete []stats.DiscreteTest
	for i, row := range rows {
		if row.test.Pairs == 0 {
			continue
		}
		tested = append(tested, i)
		d := stats.DiscreteTest{P: row.test.PCluster, MinP: row.test.MinP}
		if in.settings.Stop == StopEarly {
			d = stats.DiscreteTest{P: row.test.Sequential.PAnytime} // no smallest value
		}
		discrete = append(discrete, d)
	}
	h.Tests = len(discrete)
	if in.settings.Stop == StopEarly {
		h.Method = "Holm, over anytime p values"
	}
	result, err := stats.HolmTarone(discrete, h.Alpha)
	if err != nil {
		return nil, h, fmt.Errorf("tests of harm: %w", err)
	}
	for k, i := range tested {
		rows[i].rejected = result.Rejected[k]
	}
	h.Divisor = max(1, result.K)
	h.Level = h.Alpha / float64(h.Divisor)
	return rows, h, nil
}

// behaviour are the rows of the pair tests: REGRESSED where the candidate is worse than
// the reference or than the incumbent by more than chance.
func (in *gateInput) behaviour() ([]Gate, error) {
	rows, h, err := in.harm()
	if err != nil {
		return nil, err
	}
	in.report.Harm = h
	var gates []Gate
	for i, row := range rows {
		g := Gate{Name: row.name, Floor: &h.Level, Status: GatePass}
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
		switch {
		case row.test.Pairs == 0:
			g.Value, g.Status, g.Reason = nil, GateUnscored, "no replayed pair has an outcome"
		case row.rejected && i == 0 && in.direct != nil && in.direct.Test.Losses <= in.direct.Test.Gains:
			g.Status, g.Reason = GateBacklog, fmt.Sprintf("worse than the reference, but not than %s", in.incumbent)
		case row.rejected:
			g.Status, g.Reason = GateRegressed, fmt.Sprintf("worse than %s by more than chance (losses %d, gains %d)", who, row.test.Losses, row.test.Gains)
		}
		gates = append(gates, g)
	}
	return gates, nil
}
