package analysis

import (
	"strings"
	"testing"

	"github.com/doubletake-dev/doubletake/fixtures"
)

func TestUnmeasured(t *testing.T) {
	floor, value := 0.95, 1.0
	r := &Report{Items: map[fixtures.Class]ItemCounts{fixtures.Constraint: {Total: 3, Unscored: 3}}}
	var names []string
	for _, g := range r.Unmeasured([]Gate{
		{Name: "behaviour against incumbent", Status: GateUnscored}, // no test was made, and no limit set
		{Name: "critical fixtures", Status: GateUnscored, Floor: &floor, Value: &value},
		{Name: "contradictions", Status: GatePass, Floor: &floor, Value: &value},
		{Name: string(fixtures.Constraint), Status: GateUnscored, Floor: &floor},
		{Name: string(fixtures.Reference), Status: GateUnscored, Floor: &floor}, // the set has none
		{Name: "temporal_accuracy", Status: GateUnscored, Floor: &floor},
		{Name: "baseline: constraint", Status: GateUnscored, Floor: &floor},
		{Name: "baseline: reference", Status: GateUnscored, Floor: &floor},
	}) {
		names = append(names, g.Name)
	}
	if got, want := strings.Join(names, ", "), "constraint, temporal_accuracy, baseline: constraint"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
