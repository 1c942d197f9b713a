package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/doubletake-dev/doubletake/analysis"
	"github.com/doubletake-dev/doubletake/replay"
)

// rubricTable is the rubric as a table: a row of heads, then one a line: an arm, each
// of its kinds of probes, and the paired difference.
func rubricTable(r *analysis.Report) [][]string {
	names := map[string]bool{}
	for _, arm := range r.Rubric.Arms {
		for name := range arm.Dimensions {
			names[name] = true
		}
	}
	dimensions := slices.Sorted(maps.Keys(names))
	head := []string{"", "scored", "overall"}
	for _, name := range dimensions {
		short, _, _ := strings.Cut(name, "_") // "context" for context_awareness
		head = append(head, short)
	}
	rows := [][]string{head}
	add := func(label string, s analysis.RubricScores) {
		row := []string{label, share(s.Scored, s.Asked), "-"}
		if s.Overall != nil {
			row[2] = fmt.Sprintf("%.2f", *s.Overall)
		}
		for _, name := range dimensions {
			cell := "-"
			if v, ok := s.Dimensions[name]; ok {
				cell = fmt.Sprintf("%.2f", v)
			}
			row = append(row, cell)
		}
		rows = append(rows, row)
	}
	for _, info := range r.Arms {
		arm, ok := r.Rubric.Arms[info.Name]
		if !ok {
			continue
		}
		add(info.Name, arm.RubricScores)
		for _, kind := range replay.ProbeKinds() {
			add("on "+string(kind), arm.Kinds[kind])
		}
	}
	if p := r.Rubric.Paired; p != nil {
		row := []string{p.Candidate + " minus " + p.Incumbent, fmt.Sprint(p.Shared), fmt.Sprintf("%+.2f", p.Overall)}
		for _, name := range dimensions {
			cell := "-"
			if v, ok := p.Dimensions[name]; ok {
				cell = fmt.Sprintf("%+.2f", v)
			}
			row = append(row, cell)
		}
		rows = append(rows, row)
	}
	return rows
}

// rubricLines are the sentences about the rubric, for text and Markdown alike.
func rubricLines(r *analysis.Report) []string {
	x := r.Rubric
	lines := []string{fmt.Sprintf("scores from 0 to 5 by rubric %s (sha256 %.12s), answered by %s, graded by %s", x.Rubric.Version, x.Rubric.SHA256, x.Agent, x.Judge)}
	if p := x.Paired; p != nil {
		lines = append(lines, fmt.Sprintf("over %s that both were asked, %s is better in %d, worse in %d, equal in %d; %s of %s alone and %d of %s alone are not compared", Plural(p.Shared, "probe"), p.Candidate, p.Better, p.Worse, p.Equal, Plural(p.OnlyIncumbent, "probe"), p.Incumbent, p.OnlyCandidate, p.Candidate))
	} else {
		lines = append(lines, "no paired difference: "+x.PairedReason)
	}
	for _, info := range r.Arms {
		arm := x.Arms[info.Name]
		for _, reason := range slices.Sorted(maps.Keys(arm.Reasons)) {
			lines = append(lines, fmt.Sprintf("%s: %d unscored: %s", info.Name, arm.Reasons[reason], Shorten(reason, 200)))
		}
	}
	return append(lines, x.Notes...)
}

func (t *textReport) rubric() {
	if t.r.Rubric == nil {
		return
	}
	t.title("Rubric (advisory, no gate): what the agent still knows after a compaction")
	t.table(rubricTable(t.r))
	for _, line := range rubricLines(t.r) {
		t.wrap(2, "- "+line)
	}
}

// rubricMarkdown writes the rubric as a table and its notes.
func rubricMarkdown(b *strings.Builder, r *analysis.Report) {
	if r.Rubric == nil {
		return
	}
	b.WriteString("\nRubric (advisory, no gate)\n\n")
	for i, row := range rubricTable(r) {
		for k := range row {
			row[k] = escape(row[k])
		}
		fmt.Fprintf(b, "| %s |\n", strings.Join(row, " | "))
		if i == 0 {
			b.WriteString(strings.Repeat("|---", len(row)) + "|\n")
		}
	}
	b.WriteString("\n")
	for _, line := range rubricLines(r) {
		fmt.Fprintf(b, "%s\n\n", escape(line)) // no list: the one that follows is another
	}
}
