package report

import (
	"fmt"
	"slices"

	"github.com/doubletake-dev/doubletake/analysis"
	"github.com/doubletake-dev/doubletake/replay"
)

// modeLine names how the episodes went on after the fork.
func modeLine(r *analysis.Report) string {
	line := "mode closed: after the fork the agent goes on from its own turns"
	if r.Mode == replay.StepByStep.String() {
		line = "mode step: after the fork the agent is asked once for each recorded turn, and nothing is called"
	}
	if user := r.Lineage.UserModel; user != "" {
		line += "; the user is simulated by " + user
	}
	return line
}

// movesTitle counts the decisions that moved: from the incumbent to the candidate, or from
// the first compactor to the second.
func movesTitle(r *analysis.Report) string {
	from := r.Baseline
	if r.Incumbent != nil {
		from = r.Incumbent.Name
	}
	worse := 0
	for _, m := range r.Moves {
		if m.Worse() {
			worse++
		}
	}
	return fmt.Sprintf("Decisions that moved from %s to %s: %d worse, %d better", from, r.Candidate, worse, len(r.Moves)-worse)
}

// movesTable is which decisions moved, the worse first; nil where none did.
func movesTable(r *analysis.Report) [][]string {
	if len(r.Moves) == 0 {
		return nil
	}
	list := slices.Clone(r.Moves)
	slices.SortStableFunc(list, func(a, b analysis.Move) int { return movedRank(a) - movedRank(b) })
	rows := [][]string{{"conversation", "item", "class", "compaction", "from", "to"}}
	for _, m := range list {
		rows = append(rows, []string{m.Fixture, m.Item, string(m.Class), fmt.Sprint(m.Compaction + 1), string(m.From), string(m.To)})
	}
	return rows
}

// movedRank puts what is turned around or no longer binds before what is gone, and what
// came back last.
func movedRank(m analysis.Move) int {
	switch {
	case m.Worse() && m.To == replay.Contradicted:
		return 0
	case m.Worse() && m.To == replay.Stale:
		return 1
	case m.Worse():
		return 2
	}
	return 3
}

// identicalLine says how many pairs were played once; empty where each was played twice.
func identicalLine(r *analysis.Report) string {
	if r.Pairs.Identical == 0 {
		return ""
	}
	return fmt.Sprintf("identical contexts: %d of %s, played once", r.Pairs.Identical, Plural(r.Pairs.Total, "pair"))
}

// divergenceTitle says what the turns are measured by.
func divergenceTitle(r *analysis.Report) string {
	return fmt.Sprintf("Divergence turn by turn: %s against %s, by calls and their arguments", r.Candidate, r.Baseline)
}

// divergenceTable is how often the arms did different things at each turn after the fork;
// nil in the closed loop.
func divergenceTable(r *analysis.Report) [][]string {
	if len(r.Divergence) == 0 {
		return nil
	}
	rows := [][]string{{"turn after the fork", "differ", "share", r.Baseline + " as recorded", r.Candidate + " as recorded"}}
	for _, t := range r.Divergence {
		rows = append(rows, []string{
			fmt.Sprint(t.Turn), share(t.Differ, t.Pairs), fmt.Sprintf("%.1f%%", 100*float64(t.Differ)/float64(t.Pairs)),
			share(t.Baseline, t.Recorded), share(t.Candidate, t.Recorded),
		})
	}
	return rows
}

// first cuts a table after some rows, and says how many are left out.
func first(rows [][]string, most int) ([][]string, string) {
	if len(rows)-1 <= most {
		return rows, ""
	}
	return rows[:most+1], fmt.Sprintf("and %d more (report.json has all)", len(rows)-1-most)
}

// mostMoved is how many rows of these tables a text shows.
const mostMoved = 12

// moves prints which decisions moved.
func (t *textReport) moves() { t.short(movesTitle(t.r), movesTable(t.r)) }

// divergence prints how the arms part turn by turn.
func (t *textReport) divergence() { t.short(divergenceTitle(t.r), divergenceTable(t.r)) }

// short prints the first rows of a table, or nothing where there is none.
func (t *textReport) short(title string, rows [][]string) {
	if rows == nil {
		return
	}
	rows, rest := first(rows, mostMoved)
	t.title(Clean(title))
	t.table(rows)
	if rest != "" {
		t.printf("  %s\n", rest)
	}
}

// markdownTable writes the first rows of a table; nothing where there is none.
func markdownTable(title string, rows [][]string) string {
	if rows == nil {
		return ""
	}
	rows, rest := first(rows, mostMoved)
	out := "\n" + escape(title) + "\n\n"
	for i, row := range rows {
		out += "|"
		for _, cell := range row {
			out += " " + escape(cell) + " |"
		}
		out += "\n"
		if i == 0 {
			out += "|"
			for range row {
				out += "---|"
			}
			out += "\n"
		}
	}
	if rest != "" {
		out += "\n" + escape(rest) + "\n"
	}
	return out
}
