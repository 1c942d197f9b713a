package analysis

import (
	"fmt"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
)

// gateInput is what the gates look at.
type gateInput struct {
	record    *replay.Record
	settings  Settings
	incumbent string // arm, empty without one
	candidate string
	report    *Report
	// reference compares the reference with the candidate, incumbents with the
	// incumbent, direct the incumbent with the candidate; the last two are nil without
	// an incumbent.
	reference, incumbents, direct *comparison
	// looking finds only what may stop a run.
	looking bool
	// blind says that nobody looked for contradictions.
	blind bool
	// old and now are the decisions under incumbent and candidate.
	old, now []decision
}

// gates are the rows of the report, in the order in which they are printed.
func (in *gateInput) gates() ([]Gate, error) {
	behaviour, err := in.behaviour()
	if err != nil {
		return nil, err
	}
	rows := append(in.criticalRows(), behaviour...)
	rows = append(append(rows, in.compactions()), in.items()...)
	if in.settings.PromptRatio > 0 {
		rows = append(rows, in.promptSize())
	}
	return append(rows, in.metricRows()...), nil
}

// items are the rows of what became of the items.
func (in *gateInput) items() []Gate {
	rows := []Gate{in.contradictions(), in.counted("stale items", stale, "items that no longer bind newly survive as if they did")}
	if in.pinned() {
		rows = append(rows, in.counted("broken pins", brokenPin, "pinned items newly without their literal"))
	}
	before := countItems(in.old)
	for _, class := range fixtures.Classes() {
		rows = append(rows, in.retention(class, before[class]))
	}
	return rows
}

// pinned says whether any item is pinned.
func (in *gateInput) pinned() bool {
	for i := range in.now {
		if in.now[i].item.Pinned {
			return true
		}
	}
	return false
}

// counted is a row for decisions of which none is tolerated: one that the incumbent
// does not have blocks.
func (in *gateInput) counted(name string, bad func(*decision) bool, reason string) Gate {
	zero := 0.0
	g := Gate{Name: name, Floor: &zero, Status: GatePass, Value: count(in.now, bad)}
	if in.incumbent != "" {
		g.Incumbent = count(in.old, bad)
	}
	g.NewlyLost = describe(newly(in.old, in.now, bad))
	switch {
	case len(g.NewlyLost) > 0:
		g.Status, g.Reason = GateRegressed, reason
	case *g.Value > 0:
		g.Status, g.Reason = GateBacklog, fmt.Sprintf("the same as under %s", in.incumbent)
	}
	return g
}

func count(list []decision, bad func(*decision) bool) *float64 {
	n := 0.0
	for i := range list {
		if bad(&list[i]) {
			n++
		}
	}
	return &n
}

// promptSize is the ceiling of contexts after compaction over those before.
func (in *gateInput) promptSize() Gate {
	g := Gate{Name: "prompt size", Floor: &in.settings.PromptRatio, Ceiling: true, Status: GatePass, Value: in.report.PromptTokens.Ratio}
	if in.incumbent != "" {
		g.Incumbent = promptTokens(in.record, in.incumbent).Ratio
	}
	in.compareValues(&g)
	return g
}

// compareValues sets the status of a row by its value alone: beyond the limit it is
// backlog where the incumbent is no better.
func (in *gateInput) compareValues(g *Gate) {
	beyond := func(v, limit float64) bool { return v < limit }
	if g.Ceiling {
		beyond = func(v, limit float64) bool { return v > limit }
	}
	switch {
	case g.Value == nil:
		g.Status, g.Reason = GateUnscored, "nothing to go by"
	case !beyond(*g.Value, *g.Floor):
	case g.Incumbent != nil && !beyond(*g.Value, *g.Incumbent):
		g.Status, g.Reason = GateBacklog, fmt.Sprintf("no worse than under %s", in.incumbent)
	default:
		g.Status, g.Reason = GateRegressed, "beyond its limit"
	}
}

// metricRows are the rows of the metrics that the settings name.
func (in *gateInput) metricRows() []Gate {
	var rows []Gate
	var old Metrics
	if in.incumbent != "" {
		old = metrics(in.record, in.incumbent, in.old)
	}
	for _, m := range metricNames() {
		limit, ok := in.settings.Metrics[m.name]
		if !ok {
			continue
		}
		g := Gate{Name: m.name, Floor: &limit, Ceiling: m.ceiling, Status: GatePass, Value: m.of(&in.report.Metrics), Incumbent: m.of(&old)}
		in.compareValues(&g)
		rows = append(rows, g)
	}
	return rows
}

// metricName is a metric that can be gated.
type metricName struct {
	name    string
	ceiling bool
	of      func(*Metrics) *float64
}

func metricNames() []metricName {
	return []metricName{
		{"evidence_recall", false, func(m *Metrics) *float64 { return m.EvidenceRecall }},
		{"claim_support_precision", false, func(m *Metrics) *float64 { return m.ClaimSupportPrecision }},
		{"falsehood_rejection", false, func(m *Metrics) *float64 { return m.FalsehoodRejection }},
		{"temporal_accuracy", false, func(m *Metrics) *float64 { return m.TemporalAccuracy }},
		{"latency_ms", true, func(m *Metrics) *float64 {
			if m.LatencyMS == nil {
				return nil
			}
			return &m.LatencyMS.P95
		}},
		{"tokens_per_query", true, func(m *Metrics) *float64 { return m.TokensPerQuery }},
	}
}

// MetricNames lists the metrics that a floors file can gate.
func MetricNames() []string {
	var names []string
	for _, m := range metricNames() {
		names = append(names, m.name)
	}
	return names
}

// broken counts the compactions that gave nothing to go on with, or no less than
// there was. One that the recording does not hold is no fault of a compactor: it makes
// its episode void.
func (c CompactionCounts) broken() float64 { return float64(c.Error + c.Refused + c.NotSmaller) }

// compactions is how often the candidate broke, refused, or did not shorten.
func (in *gateInput) compactions() Gate {
	zero := 0.0
	value := in.report.Compactions[in.candidate].broken()
	g := Gate{Name: "failed compactions", Value: &value, Floor: &zero, Status: GatePass}
	if in.incumbent != "" {
		n := in.report.Compactions[in.incumbent].broken()
		g.Incumbent = &n
	}
	switch {
	case value == 0:
	case g.Incumbent != nil && value <= *g.Incumbent:
		g.Status, g.Reason = GateBacklog, fmt.Sprintf("no more than under %s", in.incumbent)
	default:
		g.Status, g.Reason = GateRegressed, "the compactor refused, broke, or made nothing smaller"
	}
	return g
}

// contradictions counts the items turned around. One that the incumbent does not
// have blocks, whatever number is tolerated.
func (in *gateInput) contradictions() Gate {
	floor := float64(in.settings.Contradictions)
	if in.blind {
		return Gate{Name: "contradictions", Floor: &floor, Status: GateUnscored, Reason: "the coverage of words sees no contradiction: this row was not looked at"}
	}
	value := float64(in.report.Contradictions)
	g := Gate{Name: "contradictions", Value: &value, Floor: &floor, Status: GatePass}
	if in.incumbent != "" {
		g.Incumbent = count(in.old, contradicted)
	}
	g.NewlyLost = describe(newly(in.old, in.now, contradicted))
	switch {
	case len(g.NewlyLost) > 0:
		g.Status, g.Reason = GateRegressed, "items newly turned around"
	case value > floor:
		g.Status, g.Reason = GateBacklog, fmt.Sprintf("the same as under %s", in.incumbent)
	}
	return g
}

// retention is the share of a class's decisions that kept their item.
func (in *gateInput) retention(class fixtures.Class, before ItemCounts) Gate {
	floor := in.settings.Floors[class]
	g := Gate{Name: string(class), Floor: &floor, Status: GatePass}
	g.Value = rate(in.report.Items[class])
	if in.incumbent != "" {
		g.Incumbent = rate(before)
	}
	if g.Value == nil {
		g.Status, g.Reason = GateUnscored, "no decision of this class has a verdict"
		return g
	}
	if *g.Value >= floor {
		return g
	}
	g.NewlyLost = describe(newly(in.old, in.now, func(d *decision) bool { return d.item.Class == class && lost(d) }))
	switch {
	case len(g.NewlyLost) == 0:
		g.Status, g.Reason = GateBacklog, "below the floor, and nothing newly lost"
	case in.incumbent == "":
		g.Status, g.Reason = GateRegressed, "below the floor"
	default:
		g.Status, g.Reason = GateRegressed, "below the floor, with items newly lost"
	}
	return g
}

func rate(c ItemCounts) *float64 {
	if c.Scored() == 0 {
		return nil
	}
	r := float64(c.Retained()) / float64(c.Scored())
	return &r
}
