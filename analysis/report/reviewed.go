package report

import (
	"fmt"
	"strings"

	"github.com/doubletake-dev/doubletake/analysis"
)

// ReviewLines are what verdicts make of the run, in the same words wherever they are
// printed: the numbers, and why the verdict is what it is, before and after. There are none
// before anybody decided.
func ReviewLines(r *analysis.Report) []string {
	v := r.Reviewed
	if v == nil {
		return nil
	}
	lines := []string{
		fmt.Sprintf("%d of %s decided, %d disputed, %d undecided", v.Decided, Plural(v.Queue, "pair"), v.Disputed, v.Undecided),
		"before: " + outcomeLine(r.Verdict, &r.Test),
	}
	after := func(how string, o *analysis.Outcome) {
		line := "after" + how + ": " + outcomeLine(o.Verdict, &o.Test)
		if o.Excluded > 0 {
			line += fmt.Sprintf("; %s excluded", Plural(o.Excluded, "pair"))
		}
		if len(o.Why) > 0 {
			line += "; because " + strings.Join(o.Why, "; ")
		}
		lines = append(lines, line)
	}
	after(", undecided pairs as they were", &v.AsWere)
	if v.Undecided+v.Disputed > 0 {
		after(", undecided pairs at their worst", &v.AtWorst)
	}
	if v.Stale > 0 {
		lines = append(lines, fmt.Sprintf("%s on evidence that has changed since: not applied", Plural(v.Stale, "verdict")))
	}
	for _, c := range v.Changes {
		lines = append(lines, fmt.Sprintf("%s: %s -> %s, %s by %s", c.Pair, c.From, c.To, c.Ruling, strings.Join(c.By, ", ")))
	}
	for _, u := range v.Unmoved {
		lines = append(lines, fmt.Sprintf("%s: check_wrong (%s), and %s", u.Pair, strings.Join(u.Checks, ", "), u.Reason))
	}
	return lines
}

func outcomeLine(verdict analysis.Verdict, x *analysis.Test) string {
	return fmt.Sprintf("%s; %s, %s in %s, p(worse) %s", verdict, Plural(x.Losses, "loss"), Plural(x.Gains, "gain"), Plural(x.Pairs, "pair"), PValue(x.PCluster))
}

func (t *textReport) reviewed() {
	lines := ReviewLines(t.r)
	if len(lines) == 0 {
		return
	}
	t.title("Review")
	for _, line := range lines {
		t.wrap(2, line)
	}
}
