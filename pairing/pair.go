package pairing

import (
	"fmt"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
)

// Cell is where a pair stands in the table.
type Cell string

// The cells. The first arm of a pair is the baseline: a loss is a pass of the first
// and a fail of the second.
const (
	BothPass Cell = "both_pass"
	Loss     Cell = "loss"
	Gain     Cell = "gain"
	BothFail Cell = "both_fail"
	Unscored Cell = "unscored"
	Void     Cell = "void"
	LeftOut  Cell = "left_out"
)

// Discordant says whether the two episodes had different outcomes.
func (c Cell) Discordant() bool { return c == Loss || c == Gain }

// Scored says that both episodes have an outcome.
func (c Cell) Scored() bool { return c.Discordant() || c == BothPass || c == BothFail }

// By is what a pair stands on.
type By string

// What a pair stands on.
const (
	Replayed By = "replayed" // both episodes were played in this run
	Accepted By = "accepted" // one is a trace that a person accepted; it can only pass
)

// Pair is two episodes of one fixture and replicate under two arms.
type Pair struct {
	// ID names the pair within its run.
	ID             string        `json:"id"`
	ConversationID string        `json:"conversation_id"`
	Fixture        fixtures.Hash `json:"fixture"`
	Replicate      int           `json:"replicate"`
	Group          string        `json:"group"`
	Title          string        `json:"title,omitempty"`
	By             By            `json:"by_reference"`
	Cell           Cell          `json:"cell"`
	// Reason says why a pair is unscored, void or left out.
	Reason     string      `json:"reason,omitempty"`
	First      Side        `json:"first"`
	Second     Side        `json:"second"`
	Divergence *Divergence `json:"divergence"`
}

// Side is one arm's part of a pair.
type Side struct {
	Arm     string        `json:"arm"`
	Outcome Outcome       `json:"outcome"`
	Context fixtures.Hash `json:"context,omitempty"`
	// Tokens is the size of the context from which the agent went on.
	Tokens int `json:"context_tokens"`
	// Repeats are the calls of before the fork that the agent made again; nil for none.
	Repeats *Repeats `json:"repeats,omitempty"`
}

// Matching is the pairs of two arms and what could not be paired.
type Matching struct {
	// Pairs are those of replicate 0, Again those of further replicates.
	Pairs, Again []Pair
	// Unmatched are keys of one arm without a partner in the other.
	Unmatched []replay.Key
	// Duplicates are keys that stand more than once.
	Duplicates []replay.Key
}

// Match pairs the episodes of two arms by fixture and replicate, never by order.
func Match(record *replay.Record, first, second string) Matching {
	var m Matching
	byKey := map[replay.Key]*replay.Episode{}
	for _, e := range record.Episodes {
		if byKey[e.Key] != nil {
			m.Duplicates = append(m.Duplicates, e.Key)
			continue
		}
		byKey[e.Key] = e
	}
	reference := record.Arm("reference")
	for _, e := range record.Episodes {
		if byKey[e.Key] != e {
			continue
		}
		partner := e.Key
		switch e.Arm {
		case first:
			partner.Arm = second
		case second:
			partner.Arm = first
		default:
			continue
		}
		other := byKey[partner]
		if other == nil {
			m.Unmatched = append(m.Unmatched, e.Key)
			continue
		}
		if e.Arm != first || first == second {
			continue
		}
		var expected *replay.Episode
		if reference != nil {
			expected = byKey[replay.Key{Fixture: e.Fixture, Arm: reference.Name}]
		}
		p := pair(record.Fixture(e.Fixture), e, other, expected)
		if e.Replicate == 0 {
			m.Pairs = append(m.Pairs, p)
		} else {
			m.Again = append(m.Again, p)
		}
	}
	return m
}

func pair(f *fixtures.Fixture, first, second, reference *replay.Episode) Pair {
	p := Pair{
		ID: first.ConversationID, ConversationID: first.ConversationID, Fixture: first.Fixture,
		Replicate: first.Replicate, Group: f.SessionGroup(), Title: f.Title, By: Replayed,
		First:  side(f, first, reference),
		Second: side(f, second, reference),
	}
	if first.Replicate > 0 {
		p.ID = fmt.Sprintf("%s.%d", p.ID, first.Replicate)
	}
	// Either side may stand on a trace, where a compactor that compacts nothing is an
	// arm of its own; such a pair is no part of the test whichever side it is.
	if first.Status == replay.Accepted || second.Status == replay.Accepted {
		p.By = Accepted
	}
	p.Cell, p.Reason = cell(first, second, p.First.Outcome, p.Second.Outcome)
	if spoke(first) && spoke(second) {
		p.Divergence = Diverge(f, first, second)
	}
	return p
}

func spoke(e *replay.Episode) bool {
	return e.Status == replay.Played || e.Status == replay.Accepted || e.Status == replay.Faulted
}

func side(f *fixtures.Fixture, e, reference *replay.Episode) Side {
	s := Side{Arm: e.Arm, Outcome: Judge(f, e, reference), Context: e.Context, Tokens: e.ContextTokens}
	if r := CountRepeats(f, e); r.Any() {
		s.Repeats = &r
	}
	return s
}

func cell(first, second *replay.Episode, a, b Outcome) (Cell, string) {
	// An episode that nobody could even begin has no prefix to compare, and a reason.
	for _, e := range []*replay.Episode{first, second} {
		if e.Status == replay.Faulted && e.PrefixHash == "" {
			return Unscored, e.Arm + ": " + e.Reason
		}
	}
	if first.PrefixHash != second.PrefixHash || first.Fork != second.Fork {
		return Unscored, fmt.Sprintf("the arms did not start from the same turns (fork %d and %d, prefix %s and %s)", first.Fork, second.Fork, first.PrefixHash, second.PrefixHash)
	}
	for _, e := range []*replay.Episode{first, second} {
		if e.Status == replay.LeftOut {
			return LeftOut, e.Arm + ": " + e.Reason
		}
	}
	for _, e := range []*replay.Episode{first, second} {
		if e.Status == replay.Void {
			return Void, e.Arm + ": " + e.Reason
		}
	}
	switch {
	case a.Answer == fixtures.Unscored:
		return Unscored, first.Arm + ": " + a.Reason
	case b.Answer == fixtures.Unscored:
		return Unscored, second.Arm + ": " + b.Reason
	}
	return CellOf(a.Answer, b.Answer), ""
}

// CellOf is the cell of a pair by the answers of its two episodes.
func CellOf(first, second fixtures.Answer) Cell {
	switch {
	case first == fixtures.Unscored || second == fixtures.Unscored:
		return Unscored
	case first == fixtures.Pass && second == fixtures.Pass:
		return BothPass
	case first == fixtures.Pass:
		return Loss
	case second == fixtures.Pass:
		return Gain
	}
	return BothFail
}

// Table counts the pairs by cell.
type Table struct {
	Total    int `json:"total"`
	BothPass int `json:"both_pass"`
	Losses   int `json:"losses"`
	Gains    int `json:"gains"`
	BothFail int `json:"both_fail"`
	Unscored int `json:"unscored"`
	Void     int `json:"void"`
	LeftOut  int `json:"left_out"`
}

// Scored is how many pairs have an outcome on both sides.
func (t Table) Scored() int { return t.BothPass + t.Losses + t.Gains + t.BothFail }

// Count counts the pairs that keep satisfies; nil keeps all.
func Count(pairs []Pair, keep func(*Pair) bool) Table {
	var t Table
	for i := range pairs {
		if keep != nil && !keep(&pairs[i]) {
			continue
		}
		t.Total++
		switch pairs[i].Cell {
		case BothPass:
			t.BothPass++
		case Loss:
			t.Losses++
		case Gain:
			t.Gains++
		case BothFail:
			t.BothFail++
		case Void:
			t.Void++
		case LeftOut:
			t.LeftOut++
		default:
			t.Unscored++
		}
	}
	return t
}
