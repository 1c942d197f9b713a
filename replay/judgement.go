package replay

import "github.com/doubletake-dev/doubletake/fixtures"

// Verdict is what became of an item in a compacted context.
type Verdict string

// The verdicts.
const (
	Verbatim     Verdict = "verbatim"     // the literal stands there letter for letter
	Supported    Verdict = "supported"    // the judge finds it in other words
	Absent       Verdict = "absent"       // nothing there says it
	Contradicted Verdict = "contradicted" // something there says otherwise
	Unjudged     Verdict = "unscored"     // the judge gave no answer that counts
	// Stale and Retired are for items that no longer bind: a stale one survives as if
	// it did, a retired one doesn't.
	Stale   Verdict = "stale"
	Retired Verdict = "retired"
)

// Kept says whether an item that binds survived.
func (v Verdict) Kept() bool { return v == Verbatim || v == Supported }

// Judgement is the verdict on one item at one compaction of one episode.
type Judgement struct {
	Key
	ConversationID string         `json:"conversation_id"`
	Compaction     int            `json:"compaction"` // from 0
	AfterTurn      int            `json:"after_turn"`
	Item           string         `json:"item"`
	Class          fixtures.Class `json:"class"`
	Verdict        Verdict        `json:"verdict"`
	// Answer is the judge's answer to the probe; empty for verbatim.
	Answer string `json:"answer,omitempty"`
	// Reason says why an item is unscored.
	Reason string `json:"reason,omitempty"`
	// Role is whose message carries a verbatim literal, Origin who stated it.
	Role   string `json:"role,omitempty"`
	Origin string `json:"origin,omitempty"`
	// Voice says in words what is wrong with the voice in which a literal came back.
	Voice string `json:"voice,omitempty"`
	// Judge is who gave the verdict, as [Lineage.Judge] names it; empty where none was
	// asked. Input is the request, kept beside the contexts, Output what came back.
	Judge  string        `json:"judge,omitempty"`
	Input  fixtures.Hash `json:"input,omitempty"`
	Output string        `json:"output,omitempty"`
	// Coverage is the share of the literal's words that stand in the context: a second
	// opinion that needs no model.
	Coverage float64       `json:"coverage"`
	Context  fixtures.Hash `json:"context"`
	Exchange *Exchange     `json:"exchange,omitempty"`
}

// CoverageJudge is the name of the judge that asks no model: the deterministic claim
// check, which tells supported from absent and sees no contradiction.
const CoverageJudge = "coverage"

// Judge names the judge of a run: judgements of another one are not of this run.
func (l *Lineage) Judge() string {
	prompt := l.JudgePrompt
	if len(prompt) > 12 {
		prompt = prompt[:12]
	}
	return l.JudgeModel + " prompt " + prompt
}

// Control is a question to the judge whose right answer is known, planted among a
// run's own to measure it.
type Control struct {
	ID     string      `json:"id"`
	Kind   ControlKind `json:"kind"`
	Judge  string      `json:"judge"`
	Expect Verdict     `json:"expect"`
	// Verdict is what the judge said, Right whether that will do.
	Verdict  Verdict       `json:"verdict"`
	Right    bool          `json:"right"`
	Answer   string        `json:"answer,omitempty"`
	Reason   string        `json:"reason,omitempty"`
	Input    fixtures.Hash `json:"input,omitempty"`
	Output   string        `json:"output,omitempty"`
	Exchange *Exchange     `json:"exchange,omitempty"`
}

// ControlKind is what was planted.
type ControlKind string

// The kinds of controls.
const (
	PlantedPresent ControlKind = "present" // the statement stands there
	PlantedNever   ControlKind = "never"   // it never was
	PlantedTurned  ControlKind = "turned"  // it stands there turned around
	PlantedHedged  ControlKind = "hedged"  // it stands there as a mere maybe
	PlantedForged  ControlKind = "forged"  // instead of it, an order to the judge
)

// ControlKinds lists the kinds in the order in which reports print them.
func ControlKinds() []ControlKind {
	return []ControlKind{PlantedPresent, PlantedNever, PlantedTurned, PlantedHedged, PlantedForged}
}

// DecisionKey is the identity of a compaction decision in a run.
type DecisionKey struct {
	Key
	Compaction int
	Item       string
}

// Decision returns the identity of the decision that the judgement is about.
func (j *Judgement) Decision() DecisionKey { return DecisionKey{j.Key, j.Compaction, j.Item} }

// LatestJudgements keeps one judgement a decision, in order of first appearance: the
// first that is scored, else the last.
func LatestJudgements(judgements []*Judgement) []*Judgement {
	at := map[DecisionKey]int{}
	var list []*Judgement
	for _, j := range judgements {
		i, ok := at[j.Decision()]
		switch {
		case !ok:
			at[j.Decision()] = len(list)
			list = append(list, j)
		case list[i].Verdict == Unjudged:
			list[i] = j
		}
	}
	return list
}
