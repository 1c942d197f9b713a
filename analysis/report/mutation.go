package report

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/doubletake-dev/doubletake/analysis"
)

// MutationJSON writes what a set would have caught as JSON.
func MutationJSON(out io.Writer, m *analysis.Mutation) error {
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(m)
}

// MutationText writes for a person what a set would have caught: the score, by kind, by
// class and by what noticed it; the mutants that live; the false alarms; and last what
// could not be made.
func MutationText(out io.Writer, m *analysis.Mutation, style Style) error {
	if style.Width <= 0 {
		style.Width = DefaultWidth
	}
	t := &mutationReport{textReport{style: style}, m}
	t.head()
	t.kinds()
	t.classes()
	t.rows()
	t.list("Alive: nothing noticed", m.Alive)
	t.list("False alarms", m.Alarms)
	t.list("Without an outcome", m.Unknown)
	t.notMade()
	t.answers()
	_, err := io.WriteString(out, t.out.String())
	return err
}

type mutationReport struct {
	textReport
	m *analysis.Mutation
}

// leftTable prints rows of cells separated by tabs, aligned to the left.
func (t *mutationReport) leftTable(rows []string) {
	w := tabwriter.NewWriter(&t.out, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		fmt.Fprintln(w, row)
	}
	_ = w.Flush() // a strings.Builder takes everything
}

func ratio(c *analysis.Caught) string {
	if c.Share == nil {
		return "-"
	}
	return fmt.Sprintf("%.3f", *c.Share)
}

func (t *mutationReport) head() {
	m := t.m
	t.printf("doubletake mutate  run %s  set %s %s: %s, %s\n", m.Run, Clean(m.Set.Name), Clean(m.Set.Version), Plural(m.Set.Fixtures, "fixture"), Plural(m.Set.Items, "item"))
	t.printf("compactor %s, broken in one way at a time", Clean(m.Compactor))
	if m.Sample > 0 {
		t.printf("; %d of %d taken at random, seed %d", m.Sample, m.Candidates, m.Seed)
	}
	t.printf("\n\n%s\n", t.paint("1", fmt.Sprintf("mutation score %s: %d of %d mutants caught, %d alive", ratio(&m.Mutants), m.Mutants.Caught, m.Mutants.Made-m.Mutants.Unknown, len(m.Alive))))
	t.printf("false alarms %s: %d of %s\n", ratio(&m.Rewrites), m.Rewrites.Caught, Plural(m.Rewrites.Made-m.Rewrites.Unknown, "harmless rewrite"))
	if m.OwnRows.Made > 0 {
		t.printf("without the rules that need no judge %s: %d of the %s of an item\n", ratio(&m.OwnRows), m.OwnRows.Caught, Plural(m.OwnRows.Made-m.OwnRows.Unknown, "mutant"))
	}
	if !m.Judge.Trusted {
		t.wrap(0, "the judge can't be relied on, and what it said counts for nothing: "+m.Judge.Reason)
	}
}

func (t *mutationReport) kinds() {
	mutants := []string{"  kind\tmade\tcaught\tscore\tby rules alone\tno outcome\tnot made\tmeaning"}
	rewrites := []string{"  kind\tmade\tnoticed\talarms\tno outcome\tnot made\tmeaning"}
	byRules := 0
	for i := range t.m.Kinds {
		k := &t.m.Kinds[i]
		if k.Harmless {
			rewrites = append(rewrites, fmt.Sprintf("  %s\t%d\t%d\t%s\t%d\t%d\t%s", Clean(k.Kind), k.Made, k.Caught.Caught, ratio(&k.Caught), k.Unknown, k.NotMade, Clean(k.Means)))
			continue
		}
		byRules += k.ByRules
		mutants = append(mutants, fmt.Sprintf("  %s\t%d\t%d\t%s\t%d\t%d\t%d\t%s", Clean(k.Kind), k.Made, k.Caught.Caught, ratio(&k.Caught), k.ByRules, k.Unknown, k.NotMade, Clean(k.Means)))
	}
	if len(mutants) > 1 {
		t.title("By kind")
		t.leftTable(mutants)
	}
	if byRules > 0 {
		t.wrap(2, "by rules alone: the judge took the item as kept, the agent did as before, and only a rule that needs no judge noticed")
	}
	if len(rewrites) > 1 {
		t.title("Harmless rewrites")
		t.leftTable(rewrites)
	}
}

func (t *mutationReport) classes() {
	if len(t.m.Classes) == 0 {
		return
	}
	t.title("By class of the item")
	rows := []string{"  class\tmade\tcaught\tscore"}
	for i := range t.m.Classes {
		c := &t.m.Classes[i]
		rows = append(rows, fmt.Sprintf("  %s\t%d\t%d\t%s", c.Class, c.Made, c.Caught.Caught, ratio(&c.Caught)))
	}
	t.leftTable(rows)
}

func (t *mutationReport) rows() {
	if len(t.m.Rows) == 0 {
		return
	}
	t.title("What noticed them")
	rows := []string{"  row\tmutants\tnothing else did"}
	for _, r := range t.m.Rows {
		rows = append(rows, fmt.Sprintf("  %s\t%d\t%d", Clean(r.Row), r.Caught, r.Alone))
	}
	t.leftTable(rows)
}

func (t *mutationReport) list(title string, fates []analysis.MutantFate) {
	if len(fates) == 0 {
		return
	}
	t.title(fmt.Sprintf("%s (%d)", title, len(fates)))
	for i := range fates {
		f := &fates[i]
		t.wrap(2, fmt.Sprintf("%s  %s: %s", f.ConversationID, f.Arm(), f.Change))
		if f.Reason != "" {
			t.wrap(6, f.Reason)
		}
		for _, by := range f.By {
			t.wrap(6, by.Row+": "+by.What)
		}
	}
}

func (t *mutationReport) notMade() {
	if len(t.m.NotMade) == 0 {
		return
	}
	t.title("Not made: what does not apply counts for nothing")
	rows := []string{"  kind\tmutants\twhy"}
	for _, n := range t.m.NotMade {
		rows = append(rows, fmt.Sprintf("  %s\t%d\t%s", Clean(n.Kind), n.Count, Clean(n.Reason)))
	}
	t.leftTable(rows)
}

func (t *mutationReport) answers() {
	u := t.m.Usage
	t.printf("\nanswers: %d asked for, %d from the cache\n", u.Requests, u.Cached)
}
