package report

import (
	"fmt"
	"strings"

	"github.com/doubletake-dev/doubletake/analysis"
)

// reviewedLines are what verdicts make of the run, for text and Markdown alike; none
// before anybody decided.
func reviewedLines(r *analysis.Report) []string {
	v := r.Reviewed
	if v == nil {
		return nil
	}
	lines := []string{
		fmt.Sprintf("%d of %s decided, %d disputed, %d undecided", v.Decided, plural(v.Queue, "pair"), v.Disputed, v.Undecided),
		"before: " + outcomeLine(r.Verdict, &r.Test),
		"after, undecided pairs as they were: " + outcomeLine(v.AsWere.Verdict, &v.AsWere.Test),
	}
	if v.Undecided+v.Disputed > 0 {
		lines = append(lines, "after, undecided pairs at their worst: "+outcomeLine(v.AtWorst.Verdict, &v.AtWorst.Test))
	}
	if v.Stale > 0 {
		lines = append(lines, fmt.Sprintf("%s on evidence that has changed since: not applied", plural(v.Stale, "verdict")))
	}
	for _, c := range v.Changes {
		lines = append(lines, fmt.Sprintf("%s: %s -> %s, %s by %s", c.Pair, c.From, c.To, c.Ruling, strings.Join(c.By, ", ")))
	}
	return lines
}

func outcomeLine(verdict analysis.Verdict, x *analysis.Test) string {
	return fmt.Sprintf("%s; %s, %s in %s, p(worse) %s", verdict, plural(x.Losses, "loss"), plural(x.Gains, "gain"), plural(x.Pairs, "pair"), pValue(x.PCluster))
}

func (t *textReport) reviewed() {
	lines := reviewedLines(t.r)
	if len(lines) == 0 {
		return
	}
	t.title("Review")
	for _, line := range lines {
		t.wrap(2, line)
	}
}
