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
)

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
	// Role is whose message carries a verbatim literal.
	Role     string        `json:"role,omitempty"`
	Context  fixtures.Hash `json:"context"`
	Exchange *Exchange     `json:"exchange,omitempty"`
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
