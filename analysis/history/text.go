package history

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/doubletake-dev/doubletake/analysis"
	"github.com/doubletake-dev/doubletake/analysis/report"
)

// Style is how a history is printed.
type Style struct {
	// Color uses ANSI colours; never the only carrier of a meaning.
	Color bool
	// Unicode draws sparklines with block characters, else with ASCII alone.
	Unicode bool
	// Width is the width of the terminal in characters; 0 means [report.DefaultWidth].
	Width int
	// Gates prints the value of every gate on every night, too.
	Gates bool
}

// Text writes a history for a person: each lineage with what sets it apart, a row a
// night, and a sparkline a value.
func Text(out io.Writer, h *History, style Style) error {
	terminal := style.Width
	if style.Width <= 0 {
		style.Width = report.DefaultWidth
	}
	t := &text{style: style}
	for i := range h.Lineages {
		if i > 0 {
			t.printf("\n")
		}
		t.lineage(i, &h.Lineages[i])
	}
	_, err := io.WriteString(out, report.Fold(t.out.String(), terminal))
	return err
}

type text struct {
	out   strings.Builder
	style Style
}

func (t *text) printf(format string, args ...any) { fmt.Fprintf(&t.out, format, args...) }

func (t *text) paint(code, text string) string {
	if !t.style.Color {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

const bold = "1"

func (t *text) lineage(i int, l *Lineage) {
	p := &l.Nights[0].plan.Lineage
	t.printf("%s\n", t.paint(bold, fmt.Sprintf("Lineage %d: %s", i+1, nights(len(l.Nights)))))
	t.printf("  %s of set %s %s, agent %s, judge %s\n", l.Nights[0].Command, report.Clean(p.SetName), report.Clean(p.SetVersion), report.Clean(p.AgentModel), report.Clean(p.JudgeModel))
	if len(l.Differences) > 0 {
		t.printf("  differs from lineage %d, so that nothing is compared with it:\n", i)
		for _, d := range l.Differences {
			t.printf("    %s\n", report.Clean(d))
		}
	}
	t.printf("\n")
	t.nights(l)
	if t.style.Gates {
		t.printf("\n")
		t.gates(l)
	}
	t.printf("\n")
	t.sparklines(l)
	t.changes(l)
}

func (t *text) nights(l *Lineage) {
	var table strings.Builder
	w := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "  night\tverdict\tlosses\tgains\tnoise\tcontradicted\tcost\trequests\tquarantined\tnew\tvanished\tgates\trun")
	for _, n := range l.Nights {
		fmt.Fprintf(w, "  %s\t%s\t%d\t%d\t%s\t%d\t%s\t%d\t%d\t%s\t%s\t%s\t%s\n", n.Started.UTC().Format("2006-01-02 15:04"), strings.ToUpper(string(n.Verdict)),
			n.Losses, n.Gains, orDash(n.NoiseFloor, percent), n.Contradictions, orDash(n.CostUSD, dollars), n.Requests, len(n.Quarantined),
			sizeOrDash(n.New), sizeOrDash(n.Vanished), gateCounts(n.Gates), report.Clean(n.Dir))
	}
	_ = w.Flush() // a builder takes everything
	t.lines(table.String())
}

// lines prints a table without the space that its last column leaves.
func (t *text) lines(table string) {
	for line := range strings.Lines(table) {
		t.printf("%s\n", strings.TrimRight(line, " \n"))
	}
}

// gates prints a row a night with every gate's value and status.
func (t *text) gates(l *Lineage) {
	names := l.GateNames()
	var table strings.Builder
	w := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "  night\t%s\n", strings.Join(names, "\t"))
	for _, n := range l.Nights {
		fmt.Fprintf(w, "  %s", n.Started.UTC().Format("2006-01-02 15:04"))
		for _, name := range names {
			cell := "-"
			if g := n.Gate(name); g != nil {
				cell = orDash(g.Value, plain) + mark(g.Status)
			}
			fmt.Fprintf(w, "\t%s", cell)
		}
		fmt.Fprintln(w)
	}
	_ = w.Flush() // a builder takes everything
	t.lines(table.String())
	t.printf("  ! regressed, ~ backlog, ? unscored\n")
}

// mark is a status in one character; passing has none.
func mark(s analysis.GateStatus) string {
	switch s {
	case analysis.GateRegressed:
		return "!"
	case analysis.GateBacklog:
		return "~"
	case analysis.GateUnscored:
		return "?"
	}
	return ""
}

// sparklines prints a line a value: how it went, from where to where, and how it is now.
func (t *text) sparklines(l *Lineage) {
	most := max(t.style.Width-60, 10) // nights that fit
	var table strings.Builder
	w := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	head := "over the nights"
	if len(l.Nights) > most {
		head = fmt.Sprintf("over the last %s", report.Plural(most, "night"))
	}
	fmt.Fprintf(w, "  value\t%s\tleast\tmost\tlatest\tstatus\n", head)
	last := l.Nights[len(l.Nights)-1]
	for _, s := range l.series() {
		shown := s.values[max(0, len(s.values)-most):]
		low, high, known := span(shown)
		if !known {
			continue
		}
		status := ""
		if g := last.Gate(s.name); s.gate && g != nil {
			status = string(g.Status)
		}
		fmt.Fprintf(w, "  %s\t%s\t%s\t%s\t%s\t%s\n", report.Clean(s.name), Sparkline(shown, t.style.Unicode), s.write(low), s.write(high), orDash(s.values[len(s.values)-1], s.write), status)
	}
	_ = w.Flush() // a builder takes everything
	t.lines(table.String())
	if last.NoiseFloor == nil && last.NoiseReason != "" {
		t.printf("  noise floor of the latest night: %s\n", report.Clean(last.NoiseReason))
	}
	if last.CostUSD == nil && last.CostReason != "" {
		t.printf("  cost of the latest night: %s\n", report.Clean(last.CostReason))
	}
}

// changes names what each night had otherwise than the one before.
func (t *text) changes(l *Lineage) {
	for _, n := range l.Nights {
		if len(n.Changed)+len(n.New)+len(n.Vanished)+len(n.First)+len(n.Unknown)+len(n.Quarantined) == 0 && !n.Recomputed {
			continue
		}
		t.printf("\n  %s  %s\n", n.Started.UTC().Format("2006-01-02 15:04"), report.Clean(n.Dir))
		for _, c := range n.Changed {
			t.printf("    changed since the night before: %s\n", report.Clean(c))
		}
		t.pairs("new disagreements", n.New)
		t.pairs("vanished disagreements", n.Vanished)
		t.pairs("disagreements at the first outcome", n.First)
		t.pairs("no outcome any more", n.Unknown)
		for _, q := range n.Quarantined {
			t.printf("    quarantined: %s\n", report.Clean(q))
		}
		if n.Recomputed {
			t.printf("    the verdict was found anew: %s\n", report.Clean(n.Why))
		}
	}
}

func (t *text) pairs(what string, list []Disagreement) {
	const most = 12
	if len(list) == 0 {
		return
	}
	names := make([]string, 0, most+1)
	for i, d := range list {
		if i == most {
			names = append(names, fmt.Sprintf("and %d more (--json)", len(list)-most))
			break
		}
		names = append(names, fmt.Sprintf("%s (%s)", report.Clean(d.Pair), d.Cell))
	}
	t.printf("    %s: %s\n", what, strings.Join(names, ", "))
}

// gateCounts says how a night's gates stand, and names those that regressed.
func gateCounts(gates []analysis.Gate) string {
	counts := map[analysis.GateStatus]int{}
	var bad []string
	for _, g := range gates {
		counts[g.Status]++
		if g.Status == analysis.GateRegressed {
			bad = append(bad, report.Clean(g.Name))
		}
	}
	parts := []string{fmt.Sprintf("%d pass", counts[analysis.GatePass])}
	if n := counts[analysis.GateBacklog]; n > 0 {
		parts = append(parts, fmt.Sprintf("%d backlog", n))
	}
	if n := counts[analysis.GateUnscored]; n > 0 {
		parts = append(parts, fmt.Sprintf("%d unscored", n))
	}
	const named = 2
	switch {
	case len(bad) > named:
		parts = append(parts, fmt.Sprintf("%d REGRESSED", len(bad)))
	case len(bad) > 0:
		slices.Sort(bad)
		parts = append(parts, "REGRESSED "+strings.Join(bad, " and "))
	}
	return strings.Join(parts, ", ")
}

func nights(n int) string {
	return report.Plural(n, "night")
}

func orDash(v *float64, write func(float64) string) string {
	if v == nil {
		return "-"
	}
	return write(*v)
}

func sizeOrDash(list []Disagreement) string {
	if list == nil {
		return "-"
	}
	return strconv.Itoa(len(list))
}

func count(v float64) string   { return strconv.FormatFloat(v, 'f', -1, 64) }
func percent(v float64) string { return fmt.Sprintf("%.1f%%", 100*v) }
func dollars(v float64) string { return fmt.Sprintf("%.2f USD", v) }

// plain is a gate's value: a count, a share or a probability.
func plain(v float64) string { return strconv.FormatFloat(v, 'g', 4, 64) }
