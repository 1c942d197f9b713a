package analysis

import (
	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/pairing"
	"github.com/doubletake-dev/doubletake/replay"
)

// ReportVersion is the version of the report's format.
const ReportVersion = 1

// Verdict is what a run says about the change.
type Verdict string

// The verdicts.
const (
	// Clear: nothing blocks, no pair is a loss, and the candidate is not worse by more
	// than the margin.
	Clear Verdict = "clear"
	// Regressed: the change is blocked.
	Regressed Verdict = "regressed"
	// Inconclusive: nothing blocks, but this many pairs could not show that the
	// candidate is no worse by more than the margin, or losses wait for a person.
	Inconclusive Verdict = "inconclusive"
	// Incomplete: too much went unscored to say.
	Incomplete Verdict = "incomplete"
	// InvalidNoise: the reference disagrees with itself beyond the budget, so that
	// nothing that differs says anything.
	InvalidNoise Verdict = "invalid_noise"
)

// Report is what a run says. What is undefined is null, with a reason beside it.
type Report struct {
	Version int `json:"version"`
	// Run is the run's id. It is no part of the stored report, which two runs of equal
	// results share.
	Run     string `json:"-"`
	Command string `json:"command"`
	// Verdict is what the run says about the change, Why in words.
	Verdict Verdict  `json:"verdict"`
	Why     []string `json:"why"`
	// Unfinished is how far the run came where it was stopped; null at its end.
	Unfinished *Unfinished `json:"unfinished,omitempty"`
	// Mode is how the episodes went on after the fork, closed or step.
	Mode    string           `json:"mode"`
	Lineage replay.Lineage   `json:"lineage"`
	Arms    []replay.ArmInfo `json:"arms"`
	Set     SetCounts        `json:"set"`
	// Baseline and Candidate are the arms of Pairs and Test.
	Baseline  string    `json:"baseline"`
	Candidate string    `json:"candidate"`
	Pairs     PairTable `json:"pairs"`
	Test      Test      `json:"test"`
	// Disagreements are the discordant pairs, those that go to the review queue.
	Disagreements []Disagreement `json:"disagreements"`
	// NotPaired names the fixtures that are void, left out or unscored, with reasons.
	NotPaired      []NotPaired                   `json:"not_paired"`
	Items          map[fixtures.Class]ItemCounts `json:"items"`
	Contradictions int                           `json:"contradictions"`
	// Moved are the decisions that went from kept to lost and back between incumbent
	// and candidate, by class; null without an incumbent.
	Moved map[fixtures.Class]Moved `json:"items_moved"`
	// Moves names the decisions that came out otherwise under the candidate than under
	// the incumbent; null without an incumbent.
	Moves []Move `json:"moved"`
	// Divergence is measured turn by turn, in step mode alone.
	Divergence []TurnDivergence `json:"divergence_by_turn,omitempty"`
	// Pins names the pinned items whose literal is gone, Voice the literals that came
	// back in another voice, under the candidate.
	Pins  []string `json:"broken_pins"`
	Voice []string `json:"voice"`
	// Retention is what was kept by age and by compaction, by arm.
	Retention    map[string]Retention        `json:"retention"`
	Judge        Judge                       `json:"judge"`
	Metrics      Metrics                     `json:"metrics"`
	PromptTokens BeforeAfter                 `json:"prompt_tokens"`
	Compactions  map[string]CompactionCounts `json:"compactions"`
	Gates        []Gate                      `json:"gates"`
	// Incumbent is set in a nightly with an incumbent, AgainstReference in a compare.
	Incumbent        *IncumbentPart        `json:"incumbent,omitempty"`
	AgainstReference map[string]Comparison `json:"against_reference,omitempty"`
	Control          Control               `json:"control"`
	// Stopping is set where the run may stop early.
	Stopping *Stopping `json:"stopping,omitempty"`
	// Reviewed is what people's verdicts make of it; null before anybody decided.
	Reviewed *Reviewed `json:"reviewed"`
	// Harm is how the rows that stand on a test were corrected for their number.
	Harm Harm `json:"harm_gates"`
	// Slices are parts of the evidence looked at by themselves, exploratory.
	Slices []Slice `json:"slices"`
	// Rates are what passed by arm and stratum.
	Rates    []Rate   `json:"rates"`
	Usage    Usage    `json:"usage"`
	Settings Settings `json:"settings"`
	// Rubric is advisory; null where it was not asked for.
	Rubric *Rubric `json:"rubric"`
	// TaskSuccess is how many episodes of each arm passed. It is no gate.
	TaskSuccess map[string]Share `json:"task_success"`
	// Repeats are the calls that the recording had made before the fork and the agent
	// made again, by arm; left out where there are none.
	Repeats map[string]RepeatCounts `json:"repeats,omitempty"`
	Notes   []string                `json:"notes"`
	// Fingerprints are those of the providers where several answered for one purpose.
	Fingerprints []FingerprintCount `json:"fingerprints,omitempty"`
}

// SetCounts is the size of what was run.
type SetCounts struct {
	Name      string        `json:"name"`
	Version   string        `json:"version"`
	Hash      fixtures.Hash `json:"hash"`
	Fixtures  int           `json:"fixtures"`
	Items     int           `json:"items"`
	Decisions int           `json:"decisions"`
}

// PairTable counts pairs, all and by what their first episode stands on.
type PairTable struct {
	pairing.Table
	ByReference map[pairing.By]pairing.Table `json:"by_reference"`
	// Identical counts the pairs whose agents went on from the same bytes. They were
	// played once.
	Identical int `json:"identical_contexts"`
}

// Comparison is two arms compared outside the main comparison.
type Comparison struct {
	Pairs PairTable `json:"pairs"`
	Test  Test      `json:"test"`
	// Discordant names the pairs that disagree, as conversation: cell.
	Discordant map[string]pairing.Cell `json:"discordant"`
}

// IncumbentPart is the incumbent against the reference, and the candidate against it.
type IncumbentPart struct {
	Name string `json:"name"`
	// Reference compares the reference (first) with the incumbent.
	Reference Comparison `json:"against_reference"`
	// Candidate compares the incumbent (first) with the candidate.
	Candidate      Comparison                    `json:"against_candidate"`
	Items          map[fixtures.Class]ItemCounts `json:"items"`
	Contradictions int                           `json:"contradictions"`
	PromptTokens   BeforeAfter                   `json:"prompt_tokens"`
}

// Disagreement is a discordant pair in short.
type Disagreement struct {
	ID    string       `json:"id"`
	Title string       `json:"title,omitempty"`
	Cell  pairing.Cell `json:"cell"`
	By    pairing.By   `json:"by_reference"`
	// Critical says that it is a failure that blocks by itself.
	Critical bool `json:"critical"`
	// Confirmed says whether the disagreement lasted when the pair was played again.
	Confirmed *pairing.Confirmation `json:"confirmed"`
	Turn      int                   `json:"turn,omitempty"`
	Baseline  string                `json:"baseline"`  // what the first arm did at the divergence
	Candidate string                `json:"candidate"` // what the second arm did there
	// Items are the items that the candidate lost by then.
	Items []pairing.ItemFate `json:"items"`
	// Checks are the evidence of the checks that failed on one side only.
	Checks []string `json:"checks"`
}

// NotPaired is a fixture without a scored pair.
type NotPaired struct {
	ID     string       `json:"id"`
	Cell   pairing.Cell `json:"cell"`
	Reason string       `json:"reason"`
}

// ItemCounts counts compaction decisions by verdict.
type ItemCounts struct {
	Verbatim     int `json:"verbatim"`
	Supported    int `json:"supported"`
	Absent       int `json:"absent"`
	Contradicted int `json:"contradicted"`
	Unscored     int `json:"unscored"`
	// Total counts the decisions on items that were in force.
	Total int `json:"total"`
	// Stale counts items that no longer bind and survive as if they did, Retired those
	// that don't. They are in no other count.
	Stale   int `json:"stale"`
	Retired int `json:"retired"`
}

// Retained is how many decisions kept their item.
func (c ItemCounts) Retained() int { return c.Verbatim + c.Supported }

// Scored is how many decisions have a verdict.
func (c ItemCounts) Scored() int { return c.Total - c.Unscored }

// BeforeAfter is the size of contexts around compactions, in tokens.
type BeforeAfter struct {
	Before int `json:"before"`
	After  int `json:"after"`
	// Ratio is After/Before, null where nothing was compacted.
	Ratio *float64 `json:"ratio"`
}

// CompactionCounts counts the compactions of an arm by what came of them.
type CompactionCounts struct {
	Compacted int `json:"compacted"`
	Unchanged int `json:"unchanged"`
	Refused   int `json:"refused"`
	Error     int `json:"error"`
	// NotRecorded counts the compactions that the recording does not hold, where the
	// compactor answers with the recorded ones. They are no refusals of the compactor.
	NotRecorded int `json:"not_recorded,omitempty"`
	// NotSmaller counts the compactions whose output is no smaller than their input.
	NotSmaller int `json:"not_smaller"`
	// Findings are the compactions that gave nothing, each with its place.
	Findings []string `json:"findings"`
	// Rules are what a compactor must never break.
	Rules map[replay.Rule]RuleCount `json:"rules"`
}

// RuleCount is at how many compactions a rule held, of those that gave evidence on it.
type RuleCount struct {
	Held    int `json:"held"`
	Checked int `json:"checked"`
	// First is the first counter-example, with its place.
	First string `json:"first_counter_example,omitempty"`
}

// GateStatus is how a row of the gates stands.
type GateStatus string

// The statuses of gates.
const (
	GatePass      GateStatus = "PASS"
	GateBacklog   GateStatus = "BACKLOG"   // below the floor, and the change did not worsen it
	GateRegressed GateStatus = "REGRESSED" // the change worsened it
	GateUnscored  GateStatus = "UNSCORED"  // nothing to go by
)

// Gate is one row.
type Gate struct {
	Name string `json:"name"`
	// Value is the candidate's, Incumbent the incumbent's; null where there is none.
	Value *float64 `json:"value"`
	Floor *float64 `json:"floor"`
	// Ceiling says that the floor is a ceiling.
	Ceiling   bool       `json:"ceiling,omitempty"`
	Incumbent *float64   `json:"incumbent"`
	Status    GateStatus `json:"status"`
	Reason    string     `json:"reason,omitempty"`
	// NewlyLost names the decisions that the incumbent kept and the candidate lost.
	NewlyLost []string `json:"newly_lost,omitempty"`
}

// Usage is what the run asked of models. Requests counts answers that this run paid
// for, Cached those that an earlier run had paid for; each answer counts once.
type Usage struct {
	Requests         int      `json:"requests"`
	Cached           int      `json:"cached"`
	PromptTokens     int      `json:"prompt_tokens"`
	CachedTokens     int      `json:"cached_tokens"`
	CompletionTokens int      `json:"completion_tokens"`
	CostUSD          *float64 `json:"cost_usd"`
	// CostReason says why the cost is null.
	CostReason string `json:"cost_reason,omitempty"`
}

// Share is a count of a total.
type Share struct {
	Passed int `json:"passed"`
	Scored int `json:"scored"`
}
