package report

import (
	"fmt"
	"strings"

	"github.com/doubletake-dev/doubletake/analysis"
	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
)

// The tables of a report, for text and HTML alike: a row of heads, then one a line. The
// cells are not clean.

func itemTable(r *analysis.Report) [][]string {
	rows := [][]string{{"class", "verbatim", "supported", "absent", "contradicted", "unscored", "total", "retained", "stale", "kept->lost", "lost->kept"}}
	for _, class := range fixtures.Classes() {
		c, m := r.Items[class], r.Moved[class]
		row := []string{string(class)}
		for _, n := range []int{c.Verbatim, c.Supported, c.Absent, c.Contradicted, c.Unscored, c.Total} {
			row = append(row, fmt.Sprint(n))
		}
		rows = append(rows, append(row, share(c.Retained(), c.Scored()), fmt.Sprint(c.Stale), movedCell(r, m.KeptLost), movedCell(r, m.LostKept)))
	}
	return rows
}

func movedCell(r *analysis.Report, n int) string {
	if r.Moved == nil {
		return "-"
	}
	return fmt.Sprint(n)
}

// movedLine says what kept and lost are against, and what the moves are worth; it is
// empty without an incumbent.
func movedLine(r *analysis.Report) string {
	if r.Moved == nil {
		return ""
	}
	line := "kept and lost are against the incumbent, by item and compaction"
	for _, class := range fixtures.Classes() {
		if m := r.Moved[class]; m.PWorse != nil {
			line += fmt.Sprintf("; %s p(worse) %s over %s", class, PValue(*m.PWorse), Plural(m.Groups, "group"))
		}
	}
	return line
}

// retentionTable is what was kept by age and by compaction, an arm a column; nil where
// nothing was compacted.
func retentionTable(r *analysis.Report) [][]string {
	var arms []string
	head := []string{"retained"}
	for _, arm := range r.Arms {
		if _, ok := r.Retention[arm.Name]; ok {
			arms = append(arms, arm.Name)
			head = append(head, arm.Name)
		}
	}
	if len(arms) == 0 {
		return nil
	}
	rows := [][]string{head}
	add := func(name string, i int, list func(analysis.Retention) []analysis.Kept) {
		row := []string{name}
		for _, arm := range arms {
			cell := "-"
			if kept := list(r.Retention[arm]); i < len(kept) {
				cell = share(kept[i].Kept, kept[i].Scored)
			}
			row = append(row, cell)
		}
		rows = append(rows, row)
	}
	byAge := func(x analysis.Retention) []analysis.Kept { return x.ByAge }
	byGeneration := func(x analysis.Retention) []analysis.Kept { return x.ByGeneration }
	generations := 0
	for _, arm := range arms {
		generations = max(generations, len(r.Retention[arm].ByGeneration))
	}
	for i, k := range r.Retention[arms[0]].ByAge {
		add("stated "+k.Name+" before", i, byAge)
	}
	for i := range generations {
		add(fmt.Sprintf("compaction %d", i+1), i, byGeneration)
	}
	return rows
}

func gateTable(r *analysis.Report) [][]string {
	rows := [][]string{{"gate", "candidate", "incumbent", "floor", "status"}}
	for _, g := range r.Gates {
		rows = append(rows, []string{g.Name, gateValue(g, g.Value), gateValue(g, g.Incumbent), gateFloor(g), string(g.Status)})
	}
	return rows
}

// compactionTable is what came of the compactions, an arm a row.
func compactionTable(r *analysis.Report) [][]string {
	rows := [][]string{{"arm", "compacted", "unchanged", "refused", "error"}}
	for _, arm := range r.Arms {
		if c, ok := r.Compactions[arm.Name]; ok {
			rows = append(rows, []string{arm.Name, fmt.Sprint(c.Compacted), fmt.Sprint(c.Unchanged), refused(c), fmt.Sprint(c.Error)})
		}
	}
	return rows
}

// refused says how often a compactor refused, and how often only for want of a
// recorded compaction.
func refused(c analysis.CompactionCounts) string {
	if c.NotRecorded == 0 {
		return fmt.Sprint(c.Refused)
	}
	return fmt.Sprintf("%d (+%d not recorded)", c.Refused, c.NotRecorded)
}

// promptLine is the size of prompts before and after; empty where nothing was compacted.
func promptLine(r *analysis.Report) string {
	p := r.PromptTokens
	if p.Ratio == nil {
		return ""
	}
	return fmt.Sprintf("prompt size under %s: %s before, %d after (%.0f%%)", r.Candidate, Plural(p.Before, "token"), p.After, 100**p.Ratio)
}

// ruleTable is at how many compactions each rule held, an arm a column.
func ruleTable(r *analysis.Report) [][]string {
	head := []string{"rule"}
	var arms []string
	for _, arm := range r.Arms {
		if _, ok := r.Compactions[arm.Name]; ok {
			arms = append(arms, arm.Name)
			head = append(head, arm.Name)
		}
	}
	rows := [][]string{head}
	for _, rule := range replay.Rules() {
		row := []string{string(rule)}
		checked := 0
		for _, arm := range arms {
			count := r.Compactions[arm].Rules[rule]
			checked += count.Checked
			row = append(row, share(count.Held, count.Checked))
		}
		if rule == replay.RuleFailure && checked == 0 {
			continue // no failure was injected
		}
		rows = append(rows, row)
	}
	return rows
}

// ruleLines are the first counter-examples.
func ruleLines(r *analysis.Report) []string {
	var lines []string
	for _, arm := range r.Arms {
		for _, rule := range replay.Rules() {
			if first := r.Compactions[arm.Name].Rules[rule].First; first != "" {
				lines = append(lines, fmt.Sprintf("%s breaks %s: %s", arm.Name, rule, Shorten(first, 400)))
			}
		}
	}
	return lines
}

// sliceTable is the slices in which something disagrees; it has a head alone where none
// does.
func sliceTable(r *analysis.Report) [][]string {
	rows := [][]string{{"of", "by", "slice", "losses", "gains", "of", "p(worse)", "adjusted"}}
	for _, s := range r.Slices {
		if s.Losses+s.Gains == 0 || s.By == "group" && !s.Marked {
			continue
		}
		p, adjusted := "-", "-"
		if s.PWorse != nil {
			p, adjusted = PValue(*s.PWorse), PValue(*s.PAdjusted)
		}
		if s.Marked {
			adjusted += " *"
		}
		rows = append(rows, []string{s.Of, s.By, s.Name, fmt.Sprint(s.Losses), fmt.Sprint(s.Gains), fmt.Sprint(s.Total), p, adjusted})
	}
	return rows
}

func sliceTitle(r *analysis.Report) string {
	return fmt.Sprintf("Slices (exploratory, no gate; * at a false discovery rate of %.0f%%, Benjamini-Hochberg)", 100*r.Settings.SliceRate)
}

// metricsLine is the numbers that other harnesses know by these names.
func metricsLine(r *analysis.Report) string {
	m := r.Metrics
	value := func(v *float64, format string) string {
		if v == nil {
			return "-"
		}
		return fmt.Sprintf(format, *v)
	}
	return fmt.Sprintf("evidence_recall %s, claim_support_precision %s, falsehood_rejection %s, temporal_accuracy %s, tokens_per_query %s",
		value(m.EvidenceRecall, "%.3f"), value(m.ClaimSupportPrecision, "%.3f"), value(m.FalsehoodRejection, "%.3f"), value(m.TemporalAccuracy, "%.3f"), value(m.TokensPerQuery, "%.0f"))
}

// latencyLine is empty where the times say nothing.
func latencyLine(r *analysis.Report) string {
	if r.Metrics.LatencyMS == nil {
		return ""
	}
	return fmt.Sprintf("latency_ms p50 %.0f, p95 %.0f", r.Metrics.LatencyMS.P50, r.Metrics.LatencyMS.P95)
}

// judgeLines are how the judge did on what was planted.
func judgeLines(r *analysis.Report) []string {
	j := r.Judge
	line := j.Reason
	if j.Accuracy != nil {
		var parts []string
		for _, kind := range replay.ControlKinds() {
			c := j.Controls[kind]
			parts = append(parts, fmt.Sprintf("%s %d/%d", kind, c.Right, c.Asked))
		}
		line = fmt.Sprintf("planted controls right: %.0f%% (%s)", 100**j.Accuracy, strings.Join(parts, ", "))
	}
	lines := []string{line}
	if o := j.SecondOpinion; o.Total > 0 {
		lines = append(lines, fmt.Sprintf("the deterministic claim check agrees in %d of %d judged decisions", o.Agree, o.Total))
	}
	return lines
}

// costLines are what the run asked of models.
func costLines(r *analysis.Report) []string {
	u := r.Usage
	lines := []string{fmt.Sprintf("answers: %d asked for, %d from the cache; %s (%d cached by the provider), %d completion tokens", u.Requests, u.Cached, Plural(u.PromptTokens, "prompt token"), u.CachedTokens, u.CompletionTokens)}
	if u.CostUSD != nil && *u.CostUSD > 0 {
		lines = append(lines, fmt.Sprintf("%.4f US dollars", *u.CostUSD))
	}
	return lines
}

// testTitle names what was tested.
func testTitle(r *analysis.Report) string {
	return fmt.Sprintf("Test: %s against %s, %s in %s", r.Candidate, r.Baseline, Plural(r.Test.Pairs, "replayed pair"), Plural(r.Test.Groups, "session group"))
}

// otherLines are the other comparisons of a run, and how its tests were corrected for
// their number.
func otherLines(r *analysis.Report) []string {
	var lines []string
	if line := identicalLine(r); line != "" {
		lines = append(lines, line)
	}
	if i := r.Incumbent; i != nil {
		lines = append(lines, i.Name+" against reference: "+brief(i.Reference), r.Candidate+" against "+i.Name+": "+brief(i.Candidate))
	}
	for _, arm := range r.Arms {
		if c, ok := r.AgainstReference[arm.Name]; ok {
			lines = append(lines, arm.Name+" against reference: "+brief(c))
		}
	}
	if h := r.Harm; h.Shared {
		lines = append(lines, "the two are one test, and count once: under the incumbent the agent went on from the reference's contexts everywhere")
	} else if h.Tests > 1 {
		lines = append(lines, fmt.Sprintf("%d tests can block, so each needs p <= %.4g (%s; together %.4g)", h.Tests, h.Level, h.Method, h.Alpha))
	}
	return lines
}
