package analysis

import (
	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
)

// Move is a compaction decision that came out otherwise under the candidate than under
// the incumbent. Whether an item was kept letter for letter or in other words is no move.
type Move struct {
	Fixture    string         `json:"fixture"` // the conversation's id
	Item       string         `json:"item"`
	Class      fixtures.Class `json:"class"`
	Compaction int            `json:"compaction"` // from 0
	Literal    string         `json:"literal"`
	// From is the verdict under the incumbent, To the one under the candidate.
	From replay.Verdict `json:"from"`
	To   replay.Verdict `json:"to"`
}

// Worse says that the item was kept, or at least not contradicted, or rightly retired
// before, and is not now.
func (m Move) Worse() bool { return standing(m.From) < standing(m.To) }

// standing orders verdicts from what should be to what should not.
func standing(v replay.Verdict) int {
	switch v {
	case replay.Verbatim, replay.Supported, replay.Retired:
		return 0
	case replay.Absent:
		return 1
	}
	return 2 // contradicted, stale
}

// moves lists the decisions that moved, in the order of the set.
func moves(incumbent, candidate []decision) []Move {
	before := byID(incumbent)
	list := []Move{}
	for i := range candidate {
		d := &candidate[i]
		old := before[d.id()]
		if old == nil || !settled(d.verdict) || !settled(old.verdict) || standing(d.verdict) == standing(old.verdict) {
			continue
		}
		list = append(list, Move{
			Fixture: d.episode.ConversationID, Item: d.item.ID, Class: d.item.Class, Compaction: d.compaction.Index,
			Literal: d.item.Literal, From: old.verdict, To: d.verdict,
		})
	}
	return list
}

// settled says that something is known of an item, whether it binds or no longer does.
func settled(v replay.Verdict) bool {
	return scored(v) || v == replay.Stale || v == replay.Retired
}
