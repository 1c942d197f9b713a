package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"unicode/utf8"

	"github.com/doubletake-dev/doubletake/analysis"
	"github.com/doubletake-dev/doubletake/pairing"
	"github.com/doubletake-dev/doubletake/replay"
)

// Style is how text is printed.
type Style struct {
	// Color uses ANSI colours; never the only carrier of a meaning.
	Color bool
	// Width is the width of the terminal in characters; 0 means [DefaultWidth].
	Width int
}

// DefaultWidth is the width of text where no terminal tells it.
const DefaultWidth = 100

type textReport struct {
	out   strings.Builder
	style Style
	r     *analysis.Report
}

// Text writes the report for a person: the verdict, the conversations that
// disagree, the items, the test, the cost, and last the task success.
func Text(out io.Writer, r *analysis.Report, style Style) error {
	terminal := style.Width
	if style.Width <= 0 {
		style.Width = DefaultWidth
	}
	t := &textReport{style: style, r: r}
	t.head()
	t.reviewed()
	t.disagreements()
	t.notPaired()
	t.items()
	t.moves()
	t.gates()
	t.compactions()
	t.test()
	t.divergence()
	t.control()
	t.slices()
	t.metrics()
	t.rubric()
	t.cost()
	t.notes()
	t.success()
	_, err := io.WriteString(out, Fold(t.out.String(), terminal))
	return err
}

func (t *textReport) printf(format string, args ...any) { fmt.Fprintf(&t.out, format, args...) }

// paint colours text where the style allows.
func (t *textReport) paint(code, text string) string {
	if !t.style.Color {
		return text
	}
	return painted(code, text)
}

func (t *textReport) title(text string) { t.printf("\n%s\n", t.paint("1", text)) }

// Plural writes a count with its noun, as in 1 loss, 2 losses and 0 entries.
func Plural(n int, noun string) string {
	stem, consonantY := strings.CutSuffix(noun, "y")
	consonantY = consonantY && !strings.ContainsAny(stem[max(0, len(stem)-1):], "aeiou")
	switch {
	case n == 1:
		return "1 " + noun
	case consonantY:
		return fmt.Sprintf("%d %sies", n, stem)
	case strings.HasSuffix(noun, "s"):
		return fmt.Sprintf("%d %ses", n, noun)
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func (t *textReport) head() {
	r := t.r
	t.printf("doubletake %s  run %s  set %s %s: %s, %s, %s\n",
		r.Command, r.Run, Clean(r.Set.Name), Clean(r.Set.Version), Plural(r.Set.Fixtures, "fixture"), Plural(r.Set.Items, "item"), Plural(r.Set.Decisions, "compaction decision"))
	t.printf("%s\n", Clean(modeLine(r)))
	t.printf("\n%s  %s against %s\n", t.style.Status(strings.ToUpper(string(r.Verdict))), Clean(r.Candidate), Clean(r.Baseline))
	for _, why := range r.Why {
		t.printf("  - %s\n", Clean(why))
	}
}

func (t *textReport) disagreements() {
	r := t.r
	if len(r.Disagreements) == 0 {
		t.title(fmt.Sprintf("Disagreements: none in %s", Plural(r.Pairs.Total, "pair")))
		return
	}
	t.title(fmt.Sprintf("Disagreements: %d of %s, all in the review queue", len(r.Disagreements), Plural(r.Pairs.Total, "pair")))
	list := worstFirst(r.Disagreements)
	const detailed = 5 // a person reads on in the queue
	for i := range list {
		switch {
		case i >= detailed && len(list) > detailed+2:
			t.line(&list[i], i == detailed)
		default:
			t.detail(&list[i], i > 0)
		}
	}
}

func (t *textReport) label(d *analysis.Disagreement) string {
	return t.style.Status(strings.ToUpper(cellWord(d.Critical, d.Cell)))
}

// line prints a disagreement in one line.
func (t *textReport) line(d *analysis.Disagreement, first bool) {
	if first {
		t.printf("\n")
	}
	t.printf("  %s  %s  %s\n", t.label(d), Clean(d.ID), Shorten(d.Title, max(t.style.Width-len(d.ID)-12, 20)))
}

// detail prints what was lost and what came of it.
func (t *textReport) detail(d *analysis.Disagreement, apart bool) {
	r := t.r
	if apart {
		t.printf("\n")
	}
	t.printf("  %s  %s", t.label(d), t.paint("1", Clean(d.ID)))
	if d.By == pairing.Accepted {
		t.printf("  (against an accepted trace)")
	}
	if c := d.Confirmed; c != nil {
		t.printf("  %s: the same in %d of %d further plays", c.Label, c.Same, c.Plays)
	}
	t.printf("\n")
	if d.Title != "" {
		t.wrap(8, d.Title)
	}
	for _, item := range d.Items {
		t.wrap(8, fate(r, item))
	}
	if d.Turn > 0 {
		room := max(t.style.Width-10, 40)
		baseline, candidate := excerpts(d.Baseline, d.Candidate, room)
		t.printf("        turn %d is where they part:\n", d.Turn)
		t.printf("          %s %s\n", Clean(r.Baseline), baseline)
		t.printf("          %s %s\n", Clean(r.Candidate), candidate)
	}
	for _, c := range d.Checks {
		t.printf("        %s\n", Shorten(c, max(t.style.Width-8, 40)))
	}
}

// excerpts cuts two texts to the width around the place where they differ first.
func excerpts(a, b string, width int) (string, string) {
	one, two := []rune(Clean(a)), []rune(Clean(b))
	same := 0
	for same < min(len(one), len(two)) && one[same] == two[same] {
		same++
	}
	cut := func(text []rune) string {
		const head = 30 // what kind of call it is, and some of what is the same
		if same > width/2 && len(text) > width {
			text = append(append(append([]rune{}, text[:head]...), []rune(" … ")...), text[max(head, same-15):]...)
		}
		return Shorten(string(text), width-12)
	}
	return cut(one), cut(two)
}

// wrap prints cleaned text in lines of the terminal's width; the lines after the
// first are indented a little more.
func (t *textReport) wrap(indent int, text string) {
	room := max(t.style.Width-indent-2, 40)
	pad := strings.Repeat(" ", indent)
	line := ""
	for _, word := range strings.Fields(Clean(text)) {
		switch {
		case line == "":
			line = word
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) <= room:
			line += " " + word
		default:
			t.printf("%s%s\n", pad, line)
			pad, line = strings.Repeat(" ", indent+2), word
		}
	}
	t.printf("%s%s\n", pad, line)
}

// fate says in words what became of an item.
func fate(r *analysis.Report, item pairing.ItemFate) string {
	side := func(arm string, v replay.Verdict) string {
		if v == "" {
			return ""
		}
		return fmt.Sprintf("%s under %s", v, arm)
	}
	var parts []string
	for _, s := range []string{side(r.Baseline, item.First), side(r.Candidate, item.Second)} {
		if s != "" {
			parts = append(parts, s)
		}
	}
	return fmt.Sprintf("%s %s of turn %d %s: %q", item.Class, item.ID, item.Turn, strings.Join(parts, ", "), Clean(item.Literal))
}

func (t *textReport) notPaired() {
	if len(t.r.NotPaired) == 0 {
		return
	}
	t.title("Without an outcome")
	for _, n := range t.r.NotPaired {
		t.wrap(2, fmt.Sprintf("%s %s: %s", strings.ReplaceAll(string(n.Cell), "_", " "), n.ID, n.Reason))
	}
}

// table prints rows of cells, aligned.
func (t *textReport) table(rows [][]string) {
	w := tabwriter.NewWriter(&t.out, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, row := range rows {
		cells := make([]string, len(row))
		for i := range row {
			cells[i] = Clean(row[i])
		}
		fmt.Fprintln(w, "  "+strings.Join(cells, "\t")+"\t")
	}
	_ = w.Flush() // a strings.Builder takes everything
}

func (t *textReport) items() {
	r := t.r
	t.title(fmt.Sprintf("Items at every compaction, under %s", Clean(r.Candidate)))
	t.table(itemTable(r))
	if line := movedLine(r); line != "" {
		t.printf("  %s\n", line)
	}
	t.some("broken pin", r.Pins)
	t.some("another voice", r.Voice)
	t.retention()
	t.judge()
}

// some prints the first of a list; report.json has all.
func (t *textReport) some(what string, list []string) {
	const most = 8
	for i, line := range list {
		if i == most {
			t.printf("  %s: and %d more (report.json has all)\n", what, len(list)-most)
			return
		}
		t.wrap(2, what+": "+line)
	}
}

// retention prints what was kept by age and by compaction.
func (t *textReport) retention() {
	if rows := retentionTable(t.r); rows != nil {
		t.title("Retention by age and by compaction")
		t.table(rows)
	}
}

// judge prints how the judge did on what was planted.
func (t *textReport) judge() {
	j := t.r.Judge
	t.title("Judge: " + Clean(j.Name))
	lines := judgeLines(t.r)
	t.wrap(2, lines[0])
	if !j.Trusted {
		t.wrap(2, t.style.Status("NOT TRUSTED")+": "+j.Reason)
	}
	for _, line := range lines[1:] {
		t.wrap(2, line)
	}
}

func share(n, total int) string {
	if total == 0 {
		return "-"
	}
	return fmt.Sprintf("%d/%d", n, total)
}

func (t *textReport) gates() {
	t.title("Gates (behaviour: p of being worse; a row blocks where the change worsened it)")
	t.table(gateTable(t.r))
	for _, g := range t.r.Gates {
		if g.Status != analysis.GateRegressed || len(g.NewlyLost) == 0 {
			continue
		}
		t.printf("  %s: %s\n", g.Name, Clean(g.Reason))
		const most = 3 // the disagreements above name them by conversation
		for i, item := range g.NewlyLost {
			if i == most {
				t.printf("    and %d more (doubletake gate lists all)\n", len(g.NewlyLost)-most)
				break
			}
			t.wrap(4, item)
		}
	}
}

// isTest says that a row's value is a p value.
func isTest(name string) bool {
	return name == "behaviour" || strings.HasPrefix(name, "behaviour against ")
}

// countGates are the rows whose values are counts.
func countGates() []string {
	return []string{"catastrophic", "must pass", "contradictions", "accepted traces", "failed compactions", "stale items", "broken pins"}
}

func gateValue(g analysis.Gate, v *float64) string {
	name := strings.TrimPrefix(g.Name, "baseline: ")
	switch {
	case v == nil:
		return "-"
	case isTest(name):
		if *v < 0.0001 {
			return "p<0.0001"
		}
		return fmt.Sprintf("p=%.4f", *v)
	case slices.Contains(countGates(), name), name == "latency_ms", name == "tokens_per_query":
		return fmt.Sprintf("%.0f", *v)
	}
	return fmt.Sprintf("%.3f", *v)
}

func gateFloor(g analysis.Gate) string {
	name := strings.TrimPrefix(g.Name, "baseline: ")
	switch {
	case g.Floor == nil:
		return "-"
	case isTest(name):
		return fmt.Sprintf("p>%.4g", *g.Floor)
	case slices.Contains(countGates(), name):
		return fmt.Sprintf("<=%.0f", *g.Floor)
	case g.Ceiling:
		return fmt.Sprintf("<=%g", *g.Floor)
	}
	return fmt.Sprintf(">=%.2f", *g.Floor)
}

// GateLine is a gate in one line: status, name, value, floor, incumbent.
func GateLine(g analysis.Gate, style Style) string {
	status := style.Status(fmt.Sprintf("%-9s", g.Status))
	line := fmt.Sprintf("%s  %s  %s (floor %s, incumbent %s)", status, g.Name, gateValue(g, g.Value), gateFloor(g), gateValue(g, g.Incumbent))
	if g.Reason != "" {
		line += ": " + Clean(g.Reason)
	}
	return line
}

func (t *textReport) compactions() {
	t.title("Compactions")
	t.table(compactionTable(t.r))
	for _, arm := range t.r.Arms {
		findings := t.r.Compactions[arm.Name].Findings
		const most = 8
		for i, finding := range findings {
			if i == most {
				t.printf("  %s: and %d more (report.json has all)\n", Clean(arm.Name), len(findings)-most)
				break
			}
			t.wrap(2, arm.Name+": "+Shorten(finding, 600))
		}
	}
	if line := promptLine(t.r); line != "" {
		t.printf("  %s\n", Clean(line))
	}
	t.rules()
}

// rules prints at how many compactions each rule held, an arm a column.
func (t *textReport) rules() {
	t.title("Rules that need no judge: held at how many compactions")
	t.table(ruleTable(t.r))
	for _, line := range ruleLines(t.r) {
		t.wrap(2, line)
	}
}

// metrics prints the numbers that other harnesses know by these names.
func (t *textReport) metrics() {
	t.title("Metrics of " + Clean(t.r.Candidate))
	t.wrap(2, metricsLine(t.r))
	if line := latencyLine(t.r); line != "" {
		t.printf("  %s\n", line)
	}
}

func (t *textReport) cost() {
	t.title("Cost")
	for _, line := range costLines(t.r) {
		t.printf("  %s\n", line)
	}
}

func (t *textReport) notes() {
	if len(t.r.Notes) == 0 {
		return
	}
	t.title("Notes")
	for _, note := range t.r.Notes {
		t.wrap(2, "- "+note)
	}
}
