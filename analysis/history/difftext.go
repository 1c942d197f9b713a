package history

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/doubletake-dev/doubletake/analysis"
	"github.com/doubletake-dev/doubletake/analysis/report"
	"github.com/doubletake-dev/doubletake/replay"
)

// DiffText writes a diff for a person: what differs in the lineage first, then what moved.
func DiffText(out io.Writer, d *Diff, style Style) error {
	if style.Width <= 0 {
		style.Width = report.DefaultWidth
	}
	t := &text{style: style}
	for _, side := range []struct {
		name string
		run  *RunShort
	}{{"A", &d.A}, {"B", &d.B}} {
		t.printf("%s  %s: %s, %s against %s, %s, losses %d, gains %d (%s)\n", side.name, report.Clean(side.run.Run), side.run.Command, report.Clean(side.run.Candidate),
			report.Clean(side.run.Baseline), strings.ToUpper(string(side.run.Verdict)), side.run.Losses, side.run.Gains, report.Clean(side.run.Dir))
	}
	t.head("Lineage")
	if len(d.Lineage) == 0 {
		t.printf("  the same: what moved is the compactors' doing, or noise\n")
	} else {
		t.printf("  not the same, so that what moved may have other causes (there is A, here is B):\n")
	}
	for _, line := range d.Lineage {
		t.printf("  %s\n", report.Clean(line))
	}
	for _, line := range d.Changed {
		t.printf("  changed: %s\n", report.Clean(line))
	}
	t.fixtures(d)
	t.moved(d)
	t.outcomes(d)
	t.gateMoves(d)
	_, err := io.WriteString(out, t.out.String())
	return err
}

func (t *text) head(title string) { t.printf("\n%s\n", t.paint(bold, title)) }

func (t *text) fixtures(d *Diff) {
	if len(d.FixturesOnlyA)+len(d.FixturesOnlyB)+len(d.FixturesChanged) == 0 {
		return
	}
	t.head("Fixtures")
	for _, part := range []struct {
		what string
		list []string
	}{{"only in A", d.FixturesOnlyA}, {"only in B", d.FixturesOnlyB}, {"changed between them", d.FixturesChanged}} {
		if len(part.list) > 0 {
			t.printf("  %s (%d): %s\n", part.what, len(part.list), report.Clean(strings.Join(part.list, ", ")))
		}
	}
}

func (t *text) moved(d *Diff) {
	worse := 0
	for _, m := range d.Moves {
		if m.Worse {
			worse++
		}
	}
	t.head(fmt.Sprintf("Compaction decisions that moved: %d of %d, %d of them for the worse", len(d.Moves), len(d.Moves)+d.Same, worse))
	if d.OnlyA+d.OnlyB > 0 {
		t.printf("  %d more are in A alone, %d in B alone\n", d.OnlyA, d.OnlyB)
	}
	if len(d.Moves) == 0 {
		return
	}
	var table strings.Builder
	w := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	for _, m := range d.Moves {
		fmt.Fprintf(w, "  %s -> %s\t%s\t%s %s\tcompaction %d\t%s\t%s\n", fateName(m.From), fateName(m.To), report.Clean(m.Fixture), m.Class, report.Clean(m.Item), m.Compaction+1, m.Role, report.Shorten(m.Literal, 60))
	}
	_ = w.Flush() // a builder takes everything
	t.lines(table.String())
}

// fateName is a verdict in the words of the list: kept, lost and the like, with the verdict.
func fateName(v replay.Verdict) string {
	switch v {
	case replay.Verbatim, replay.Supported:
		return "kept"
	case replay.Absent:
		return "lost"
	}
	return string(v)
}

func (t *text) outcomes(d *Diff) {
	t.head(fmt.Sprintf("Outcomes that moved: %d", len(d.Outcomes)))
	if len(d.Outcomes) == 0 {
		return
	}
	var table strings.Builder
	w := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	for _, o := range d.Outcomes {
		fmt.Fprintf(w, "  %s -> %s\t%s\t%s\t%s\n", o.From, o.To, report.Clean(o.Fixture), o.Role, report.Shorten(o.Reason, 100))
	}
	_ = w.Flush() // a builder takes everything
	t.lines(table.String())
}

func (t *text) gateMoves(d *Diff) {
	moved := 0
	for _, g := range d.Gates {
		if g.Moved {
			moved++
		}
	}
	t.head(fmt.Sprintf("Gates: %d of %d moved", moved, len(d.Gates)))
	var table strings.Builder
	w := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "  \tgate\tA\tB\tstatus")
	for _, g := range d.Gates {
		sign, status := " ", string(g.StatusB)
		if g.Moved {
			sign = "*"
		}
		if g.StatusA != g.StatusB {
			status = fmt.Sprintf("%s -> %s", cmp.Or(g.StatusA, analysis.GateStatus("none")), cmp.Or(g.StatusB, analysis.GateStatus("none")))
		}
		fmt.Fprintf(w, "  %s\t%s\t%s\t%s\t%s\n", sign, report.Clean(g.Name), orDash(g.A, plain), orDash(g.B, plain), status)
	}
	_ = w.Flush() // a builder takes everything
	t.lines(table.String())
}
