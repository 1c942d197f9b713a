package outcomes

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/doubletake-dev/doubletake/analysis"
	"github.com/doubletake-dev/doubletake/analysis/report"
)

// mostNames is how many rows of a list a text names.
const mostNames = 20

// Text writes a comparison for a person.
func Text(out io.Writer, c *Comparison, style report.Style) error {
	var b strings.Builder
	line := func(format string, args ...any) { b.WriteString(report.Clean(fmt.Sprintf(format, args...)) + "\n") }
	b.WriteString(style.Status(strings.ToUpper(string(c.Verdict))) + " ")
	line("%s against %s", c.Candidate.label(), c.Baseline.label())
	for _, why := range c.Why {
		b.WriteString("  - " + report.Clean(why) + "\n")
	}
	b.WriteString("\n")
	for _, f := range []*File{c.Baseline, c.Candidate} {
		line("%s: %s, %s", f.label(), f.Format, report.Plural(len(f.Rows), "outcome"))
	}
	line("%s: both pass %d, losses %d, gains %d, both fail %d, unscored %d", report.Plural(c.Pairs.Total, "pair"), c.Pairs.BothPass, c.Pairs.Losses, c.Pairs.Gains, c.Pairs.BothFail, c.Pairs.Unscored)
	names(&b, "Losses (the baseline passed, the candidate failed)", pairNames(c.Losses))
	names(&b, "Gains", pairNames(c.Gains))
	names(&b, "Without an outcome on both sides", pairNames(c.Unscored))
	names(&b, "Only in "+c.Baseline.Path, c.OnlyBaseline)
	names(&b, "Only in "+c.Candidate.Path, c.OnlyCandidate)
	names(&b, "On several rows of "+c.Baseline.Path+", and not paired", duplicateNames(c.Baseline))
	names(&b, "On several rows of "+c.Candidate.Path+", and not paired", duplicateNames(c.Candidate))
	b.WriteString("\nTest\n")
	lines := report.TestLines(&analysis.Report{Baseline: c.Baseline.label(), Candidate: c.Candidate.label(), Pairs: c.Pairs, Test: c.Test, Settings: c.Settings})
	for _, text := range lines {
		b.WriteString("  " + report.Clean(text) + "\n")
	}
	notes := slices.Concat(c.Notes, c.Baseline.Notes, c.Candidate.Notes)
	slices.Sort(notes)
	names(&b, "Notes", slices.Compact(notes))
	_, err := io.WriteString(out, b.String())
	return err
}

// label names a file with what of it was read.
func (f *File) label() string {
	if f.Metric == "" {
		return f.Path
	}
	return fmt.Sprintf("%s (%s)", f.Path, f.Metric)
}

func names(b *strings.Builder, title string, list []string) {
	if len(list) == 0 {
		return
	}
	fmt.Fprintf(b, "\n%s: %d\n", report.Clean(title), len(list))
	for i, name := range list {
		if i == mostNames {
			fmt.Fprintf(b, "  and %d more (--json has all)\n", len(list)-mostNames)
			break
		}
		fmt.Fprintf(b, "  %s\n", report.Shorten(name, 200))
	}
}

func duplicateNames(f *File) []string {
	var out []string
	for i := range f.DuplicateRows {
		d := &f.DuplicateRows[i]
		out = append(out, report.Shorten(d.Name, 120)+": "+d.where())
	}
	return out
}

func pairNames(list []Pair) []string {
	var out []string
	for _, p := range list {
		name := p.Name
		if p.Reason != "" {
			name += ": " + p.Reason
		}
		out = append(out, name)
	}
	return out
}
