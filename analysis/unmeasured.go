package analysis

import (
	"slices"
	"strings"

	"github.com/doubletake-dev/doubletake/fixtures"
)

// Unmeasured are the rows among gates that have a limit and no value to hold against it:
// they block nothing, and say nothing either. A class of which the set has no item, or no
// item at a compaction, is none: there is nothing to lose.
func (r *Report) Unmeasured(gates []Gate) []Gate {
	var rows []Gate
	for _, g := range gates {
		if g.Status != GateUnscored || g.Floor == nil || g.Value != nil {
			continue
		}
		class := fixtures.Class(strings.TrimPrefix(g.Name, "baseline: "))
		if slices.Contains(fixtures.Classes(), class) && r.Items[class].Total == 0 {
			continue
		}
		rows = append(rows, g)
	}
	return rows
}
