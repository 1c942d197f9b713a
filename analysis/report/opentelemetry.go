package report

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/doubletake-dev/doubletake/analysis"
	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/pairing"
	"github.com/doubletake-dev/doubletake/replay"
)

// EvaluationEvent is the name of the events that [OpenTelemetry] writes, by the semantic
// conventions for generative AI.
const EvaluationEvent = "gen_ai.evaluation.result"

// The parts of OTLP's log records in JSON. Numbers of 64 bits are texts there.
type (
	otlpLogs struct {
		ResourceLogs []otlpResourceLogs `json:"resourceLogs"`
	}
	otlpResourceLogs struct {
		Resource  otlpResource    `json:"resource"`
		ScopeLogs []otlpScopeLogs `json:"scopeLogs"`
	}
	otlpResource struct {
		Attributes []otlpAttribute `json:"attributes"`
	}
	otlpScopeLogs struct {
		Scope      otlpScope    `json:"scope"`
		LogRecords []otlpRecord `json:"logRecords"`
	}
	otlpScope struct {
		Name    string `json:"name"`
		Version string `json:"version,omitempty"`
	}
	otlpRecord struct {
		Time       string          `json:"timeUnixNano"`
		Observed   string          `json:"observedTimeUnixNano"`
		Severity   int             `json:"severityNumber"`
		EventName  string          `json:"eventName"`
		Attributes []otlpAttribute `json:"attributes"`
		TraceID    string          `json:"traceId"`
		SpanID     string          `json:"spanId"`
	}
	otlpAttribute struct {
		Key   string    `json:"key"`
		Value otlpValue `json:"value"`
	}
	otlpValue struct {
		String *string  `json:"stringValue,omitempty"`
		Double *float64 `json:"doubleValue,omitempty"`
		Int    *string  `json:"intValue,omitempty"`
	}
)

// The severities of OTLP that are used.
const (
	severityInfo  = 9
	severityWarn  = 13
	severityError = 17
)

// OpenTelemetry writes the run as OTLP log records in JSON, a line a fixture, the worst
// first, as the file exporter of collectors does. Each record is an event gen_ai.evaluation.result: one for
// the outcome of each arm, and one for each item at each compaction of the incumbent and
// the candidate. A pass and an item that was kept score 1, their contraries 0; what is
// unscored has no score and an error.type. The outcome of the candidate has the cell of its
// pair in the main comparison, as doubletake.cell; where that is a critical loss it is an
// error.
//
// The time of all is the run's start, and trace and span ids are made from the run, the
// fixture and the arm, so that the same run gives the same bytes. The texts of items and
// the evidence of checks stand in gen_ai.evaluation.explanation.
func OpenTelemetry(out io.Writer, n *analysis.Night) error {
	decisions := map[fixtures.Hash][]analysis.Decision{}
	for _, d := range n.Decisions() {
		decisions[d.Fixture] = append(decisions[d.Fixture], d)
	}
	reference := ""
	if arm := n.Record.Arm(analysis.RoleReference); arm != nil {
		reference = arm.Name
	}
	list, words := fixturesByRank(n)
	for _, f := range list {
		var records []otlpRecord
		expected := n.Record.Episode(replay.Key{Fixture: f.Hash, Arm: reference})
		for _, arm := range n.Report.Arms {
			episode := n.Record.Episode(replay.Key{Fixture: f.Hash, Arm: arm.Name})
			if episode == nil {
				continue
			}
			outcome := outcomeRecord(n, f, arm.Name, pairing.Judge(f, episode, expected))
			if word := words[f.Hash]; word != "" && arm.Name == n.Report.Candidate {
				outcome.Attributes = append(outcome.Attributes, textAttribute("doubletake.cell", word))
				if word == criticalLoss {
					outcome.Severity = severityError
				}
			}
			records = append(records, outcome)
			for i := range decisions[f.Hash] {
				if d := &decisions[f.Hash][i]; d.Arm == arm.Name {
					records = append(records, decisionRecord(n, d))
				}
			}
		}
		if len(records) == 0 {
			continue
		}
		line, err := fixtures.MarshalPlain(otlpLogs{[]otlpResourceLogs{{
			Resource: otlpResource{runAttributes(n.Report)},
			ScopeLogs: []otlpScopeLogs{{
				Scope:      otlpScope{Name: "doubletake", Version: Clean(n.Report.Lineage.Program)},
				LogRecords: records,
			}},
		}}})
		if err != nil {
			return fmt.Errorf("writing OpenTelemetry events: fixture %s: %w", f.ConversationID, err)
		}
		if _, err := out.Write(append(line, '\n')); err != nil {
			return fmt.Errorf("writing OpenTelemetry events: %w", err)
		}
	}
	return nil
}

// fixturesByRank are the fixtures of the run in the order of the pairs of its main
// comparison, the worst first, those without a pair last; with the cells of the pairs.
func fixturesByRank(n *analysis.Night) ([]*fixtures.Fixture, map[fixtures.Hash]string) {
	ranks, words := map[fixtures.Hash]int{}, map[fixtures.Hash]string{}
	for _, one := range rankedPairs(n, n.Comparisons()[0]) {
		ranks[one.pair.Fixture], words[one.pair.Fixture] = one.rank, one.word
	}
	list := slices.Clone(n.Record.Fixtures)
	of := func(f *fixtures.Fixture) int {
		if rank, ok := ranks[f.Hash]; ok {
			return rank
		}
		return agreed
	}
	slices.SortStableFunc(list, func(a, b *fixtures.Fixture) int { return cmp.Compare(of(a), of(b)) })
	return list, words
}

func runAttributes(r *analysis.Report) []otlpAttribute {
	return []otlpAttribute{
		textAttribute("service.name", "doubletake"),
		textAttribute("doubletake.run", r.Run),
		textAttribute("doubletake.command", r.Command),
		textAttribute("doubletake.verdict", string(r.Verdict)),
		textAttribute("doubletake.set.name", r.Set.Name),
		textAttribute("doubletake.set.version", r.Set.Version),
		textAttribute("doubletake.set.hash", string(r.Set.Hash)),
	}
}

// outcomeRecord is how the agent did in an episode.
func outcomeRecord(n *analysis.Night, f *fixtures.Fixture, arm string, o pairing.Outcome) otlpRecord {
	var why []string
	for _, check := range o.Checks {
		if check.Answer == fixtures.Fail {
			why = append(why, "check "+check.Check+": "+check.Evidence)
		}
	}
	if o.Reason != "" {
		why = append(why, o.Reason)
	}
	score := map[fixtures.Answer]float64{fixtures.Pass: 1, fixtures.Fail: 0}
	value, scored := score[o.Answer]
	attributes := evaluation("doubletake.outcome", string(o.Answer), value, scored, strings.Join(why, "; "))
	if !scored {
		attributes = append(attributes, textAttribute("error.type", string(o.Status)))
	}
	attributes = append(attributes,
		textAttribute("gen_ai.conversation.id", f.ConversationID),
		textAttribute("gen_ai.request.model", n.Report.Lineage.AgentModel),
		textAttribute("doubletake.arm", arm),
		textAttribute("doubletake.fixture", string(f.Hash)),
	)
	return newRecord(n, f.Hash, arm, value, scored, attributes)
}

// decisionRecord is what became of an item.
func decisionRecord(n *analysis.Night, d *analysis.Decision) otlpRecord {
	value, scored := 0.0, true
	switch d.Verdict {
	case replay.Verbatim, replay.Supported, replay.Retired:
		value = 1
	case replay.Absent, replay.Contradicted, replay.Stale:
	default:
		scored = false
	}
	text := fmt.Sprintf("%s of turn %d after compaction %d: %q", d.Item, d.Turn, d.Compaction+1, d.Literal)
	if d.Reason != "" {
		text += ": " + d.Reason
	}
	attributes := evaluation("doubletake.item."+string(d.Class), string(d.Verdict), value, scored, text)
	if !scored {
		attributes = append(attributes, textAttribute("error.type", string(replay.Unjudged)))
	}
	attributes = append(attributes,
		textAttribute("gen_ai.conversation.id", d.ConversationID),
		textAttribute("gen_ai.request.model", n.Report.Lineage.AgentModel),
		textAttribute("doubletake.arm", d.Arm),
		textAttribute("doubletake.fixture", string(d.Fixture)),
		textAttribute("doubletake.item", d.Item),
		countAttribute("doubletake.turn", d.Turn),
		countAttribute("doubletake.compaction", d.Compaction+1),
	)
	return newRecord(n, d.Fixture, d.Arm, value, scored, attributes)
}

// evaluation are the attributes that the conventions name.
func evaluation(name, label string, value float64, scored bool, explanation string) []otlpAttribute {
	list := []otlpAttribute{textAttribute("gen_ai.evaluation.name", name)}
	if scored {
		list = append(list, otlpAttribute{"gen_ai.evaluation.score.value", otlpValue{Double: &value}})
	}
	list = append(list, textAttribute("gen_ai.evaluation.score.label", label))
	if explanation != "" {
		list = append(list, textAttribute("gen_ai.evaluation.explanation", explanation))
	}
	return list
}

func newRecord(n *analysis.Night, fixture fixtures.Hash, arm string, value float64, scored bool, attributes []otlpAttribute) otlpRecord {
	at := strconv.FormatInt(n.Record.Run.Started.UnixNano(), 10)
	severity := severityInfo
	if !scored || value == 0 {
		severity = severityWarn
	}
	return otlpRecord{
		Time: at, Observed: at, Severity: severity, EventName: EvaluationEvent, Attributes: attributes,
		TraceID: hexID(16, n.Record.Run.ID, string(fixture)), SpanID: hexID(8, n.Record.Run.ID, string(fixture), arm),
	}
}

// hexID makes an id of so many bytes from parts.
func hexID(size int, parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:size])
}

// textAttribute keeps text in UTF-8, as OTLP wants it.
func textAttribute(key, text string) otlpAttribute {
	if !utf8.ValidString(text) {
		text = strings.ToValidUTF8(text, "\ufffd")
	}
	return otlpAttribute{key, otlpValue{String: &text}}
}

func countAttribute(key string, n int) otlpAttribute {
	text := strconv.Itoa(n)
	return otlpAttribute{key, otlpValue{Int: &text}}
}
