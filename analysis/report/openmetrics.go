package report

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/doubletake-dev/doubletake/analysis"
	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/pairing"
)

// OpenMetrics writes the numbers of a run in the text format of OpenMetrics 1.0, all of
// them gauges and without times, for a dashboard. A reader of Prometheus' older text
// format takes the same bytes. Every series has the labels command, set, baseline and
// candidate; the run's id stands in doubletake_run alone, so that the series of many
// nights are one. What is undefined has no series.
func OpenMetrics(out io.Writer, r *analysis.Report) error {
	m := &metricText{common: []string{"command", r.Command, "set", r.Set.Name, "baseline", r.Baseline, "candidate", r.Candidate}}
	m.run(r)
	m.pairs(r)
	m.test(r)
	m.items(r)
	m.gates(r)
	m.cost(r)
	m.b.WriteString("# EOF\n")
	if _, err := io.WriteString(out, m.b.String()); err != nil {
		return fmt.Errorf("writing OpenMetrics text: %w", err)
	}
	return nil
}

// metricText is the text being made. The samples of a family stand together.
type metricText struct {
	b      strings.Builder
	common []string // names and values of labels
	family string
}

// begin begins a family. A unit ends its name.
func (m *metricText) begin(name, unit, help string) {
	m.family = "doubletake_" + name
	if unit != "" {
		m.family += "_" + unit
	}
	fmt.Fprintf(&m.b, "# TYPE %s gauge\n", m.family)
	if unit != "" {
		fmt.Fprintf(&m.b, "# UNIT %s %s\n", m.family, unit)
	}
	fmt.Fprintf(&m.b, "# HELP %s %s\n", m.family, labelText(help))
}

// sample adds a number to the family, with further labels as names and values.
func (m *metricText) sample(value float64, labels ...string) {
	if math.IsNaN(value) || math.IsInf(value, 0) {
		return
	}
	all := slices.Concat(m.common, labels)
	m.b.WriteString(m.family + "{")
	for i := 0; i+1 < len(all); i += 2 {
		if i > 0 {
			m.b.WriteByte(',')
		}
		fmt.Fprintf(&m.b, `%s="%s"`, all[i], labelText(all[i+1]))
	}
	m.b.WriteString("} " + strconv.FormatFloat(value, 'g', -1, 64) + "\n")
}

func (m *metricText) optional(value *float64, labels ...string) {
	if value != nil {
		m.sample(*value, labels...)
	}
}

// labelText escapes what ends a label's value.
func labelText(text string) string {
	return strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(Clean(text))
}

func truth(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

func (m *metricText) run(r *analysis.Report) {
	m.begin("run", "", "The run that the numbers are of; always 1")
	m.sample(1, "run", r.Run, "set_version", r.Set.Version, "set_hash", string(r.Set.Hash), "agent_model", r.Lineage.AgentModel, "judge_model", r.Lineage.JudgeModel, "program", r.Lineage.Program)
	m.begin("verdict", "", "1 for the verdict of the run, 0 for the others")
	for _, v := range []analysis.Verdict{analysis.Clear, analysis.Regressed, analysis.Inconclusive, analysis.Incomplete, analysis.InvalidNoise} {
		m.sample(truth(v == r.Verdict), "verdict", string(v))
	}
	m.begin("fixtures", "", "Fixtures of the run")
	m.sample(float64(r.Set.Fixtures))
}

// between names the arms of a comparison, which need not be those of the main one.
func between(first, second string) []string { return []string{"first", first, "second", second} }

// comparisons calls for each comparison of the report, the main one first.
func comparisons(r *analysis.Report, each func(first, second string, pairs *analysis.PairTable, test *analysis.Test)) {
	each(r.Baseline, r.Candidate, &r.Pairs, &r.Test)
	if i := r.Incumbent; i != nil {
		each(i.Name, r.Candidate, &i.Candidate.Pairs, &i.Candidate.Test)
		each(r.Baseline, i.Name, &i.Reference.Pairs, &i.Reference.Test)
	}
	for _, arm := range r.Arms {
		if c, ok := r.AgainstReference[arm.Name]; ok {
			each(analysis.RoleReference, arm.Name, &c.Pairs, &c.Test)
		}
	}
}

func (m *metricText) pairs(r *analysis.Report) {
	m.begin("pairs", "", "Pairs by cell of a comparison of the first arm with the second; a loss is a pass of the first and a fail of the second")
	comparisons(r, func(first, second string, pairs *analysis.PairTable, _ *analysis.Test) {
		for _, cell := range []struct {
			name pairing.Cell
			n    int
		}{
			{pairing.BothPass, pairs.BothPass}, {pairing.Loss, pairs.Losses}, {pairing.Gain, pairs.Gains}, {pairing.BothFail, pairs.BothFail},
			{pairing.Unscored, pairs.Unscored}, {pairing.Void, pairs.Void}, {pairing.LeftOut, pairs.LeftOut},
		} {
			m.sample(float64(cell.n), append(between(first, second), "cell", string(cell.name))...)
		}
	})
}

// test writes the families of the pair test; without pairs there is none.
func (m *metricText) test(r *analysis.Report) {
	families := []struct {
		name, unit, help string
		of               func(*analysis.Test) *float64
	}{
		{"p_worse", "ratio", "Exact p value by session group that the second arm is worse", func(t *analysis.Test) *float64 { return &t.PCluster }},
		{"p_worse_mcnemar", "ratio", "McNemar's exact one-sided p value by pair that the second arm is worse", func(t *analysis.Test) *float64 { return &t.PWorse }},
		{"difference", "ratio", "Share of losses less that of gains; above zero the second arm is worse", func(t *analysis.Test) *float64 { return t.Difference }},
		{"difference_low", "ratio", "Lower limit of the difference", func(t *analysis.Test) *float64 { return t.Low }},
		{"difference_high", "ratio", "Upper limit of the difference", func(t *analysis.Test) *float64 { return t.High }},
		{"smallest_detectable", "ratio", "Smallest loss rate that so many pairs find with the planned power", func(t *analysis.Test) *float64 { return t.SmallestDetectable }},
	}
	for _, f := range families {
		m.begin(f.name, f.unit, f.help)
		comparisons(r, func(first, second string, _ *analysis.PairTable, test *analysis.Test) {
			if test.Pairs > 0 {
				m.optional(f.of(test), between(first, second)...)
			}
		})
	}
}

func (m *metricText) items(r *analysis.Report) {
	type arm struct {
		name  string
		items map[fixtures.Class]analysis.ItemCounts
	}
	arms := []arm{{r.Candidate, r.Items}}
	if r.Incumbent != nil {
		arms = append(arms, arm{r.Incumbent.Name, r.Incumbent.Items})
	}
	m.begin("decisions", "", "Compaction decisions by what became of the item")
	for _, a := range arms {
		for _, class := range fixtures.Classes() {
			c := a.items[class]
			for _, v := range []struct {
				name string
				n    int
			}{{"verbatim", c.Verbatim}, {"supported", c.Supported}, {"absent", c.Absent}, {"contradicted", c.Contradicted}, {"unscored", c.Unscored}, {"stale", c.Stale}, {"retired", c.Retired}} {
				m.sample(float64(v.n), "arm", a.name, "class", string(class), "became", v.name)
			}
		}
	}
	m.begin("retention", "ratio", "Share of the scored decisions on items in force that kept their item")
	for _, a := range arms {
		for _, class := range fixtures.Classes() {
			if c := a.items[class]; c.Scored() > 0 {
				m.sample(float64(c.Retained())/float64(c.Scored()), "arm", a.name, "class", string(class))
			}
		}
	}
	m.begin("moved", "", "Decisions that came out otherwise under the candidate than under the incumbent")
	if r.Moved != nil {
		for _, class := range fixtures.Classes() {
			m.sample(float64(r.Moved[class].KeptLost), "class", string(class), "direction", "kept_lost")
			m.sample(float64(r.Moved[class].LostKept), "class", string(class), "direction", "lost_kept")
		}
	}
}

func (m *metricText) gates(r *analysis.Report) {
	m.begin("gate", "", "1 for the status of a row of the gates, 0 for the others")
	for _, g := range r.Gates {
		for _, s := range []analysis.GateStatus{analysis.GatePass, analysis.GateBacklog, analysis.GateRegressed, analysis.GateUnscored} {
			m.sample(truth(s == g.Status), "gate", g.Name, "status", string(s))
		}
	}
	m.begin("gate_value", "", "What a row of the gates found for the candidate, in the row's own unit")
	for _, g := range r.Gates {
		m.optional(g.Value, "gate", g.Name)
	}
	m.begin("gate_limit", "", "The floor or ceiling of a row of the gates, in the row's own unit")
	for _, g := range r.Gates {
		m.optional(g.Floor, "gate", g.Name)
	}
	m.begin("noise", "ratio", "Share of control pairs in which the reference disagrees with itself")
	m.optional(r.Control.Discordant)
	m.begin("judge_accuracy", "ratio", "Share of planted controls that the judge gets right")
	m.optional(r.Judge.Accuracy)
}

func (m *metricText) cost(r *analysis.Report) {
	m.begin("context", "tokens", "Sizes of the candidate's contexts before and after its compactions, together")
	if r.PromptTokens.Ratio != nil {
		m.sample(float64(r.PromptTokens.Before), "when", "before")
		m.sample(float64(r.PromptTokens.After), "when", "after")
	}
	u := r.Usage
	m.begin("answers", "", "Answers of models that the run took, paid for by it or stored before")
	m.sample(float64(u.Requests), "source", "asked")
	m.sample(float64(u.Cached), "source", "cache")
	m.begin("usage", "tokens", "Tokens of the answers that the run asked for")
	m.sample(float64(u.PromptTokens), "kind", "prompt")
	m.sample(float64(u.CachedTokens), "kind", "prompt_cached")
	m.sample(float64(u.CompletionTokens), "kind", "completion")
	m.begin("cost", "dollars", "What the run cost, in US dollars")
	m.optional(u.CostUSD)
}
