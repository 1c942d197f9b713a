package analysis

import (
	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/pairing"
	"github.com/doubletake-dev/doubletake/replay"
)

// Compared is one comparison of a run with all that was compared.
type Compared struct {
	// Baseline and Candidate are arms.
	Baseline  string
	Candidate string
	// Pairs are those of the first plays, Queue the discordant ones.
	Pairs []pairing.Pair
	Queue []pairing.Entry
}

// Comparisons lists the comparisons of the run, the main one first.
func (n *Night) Comparisons() []Compared {
	r := n.Report
	list := []Compared{{Baseline: r.Baseline, Candidate: r.Candidate, Pairs: n.Pairs, Queue: n.Queue}}
	reference := ""
	if arm := n.Record.Arm(RoleReference); arm != nil {
		reference = arm.Name
	}
	add := func(baseline, candidate string, c *comparison) {
		if c == nil || baseline == r.Baseline && candidate == r.Candidate {
			return
		}
		queue := pairing.Queue(n.Record, c.pairs, c.again, n.Record.Run.Plan.Planned())
		list = append(list, Compared{Baseline: baseline, Candidate: candidate, Pairs: c.pairs, Queue: queue})
	}
	add(n.gates.incumbent, n.gates.candidate, n.gates.direct)
	add(reference, n.gates.candidate, n.gates.reference)
	add(reference, n.gates.incumbent, n.gates.incumbents)
	return list
}

// WithOutcome names the pairs of the main comparison that have an outcome, those of further
// plays among them. What the run did not come to, or could not score, is not in it.
func (n *Night) WithOutcome() map[string]bool {
	ids := map[string]bool{}
	for _, pairs := range [][]pairing.Pair{n.Pairs, n.again} {
		for i := range pairs {
			if pairs[i].Cell.Scored() {
				ids[pairs[i].ID] = true
			}
		}
	}
	return ids
}

// Decision is what became of one item at one compaction in the first play of an arm.
type Decision struct {
	Arm            string
	Fixture        fixtures.Hash
	ConversationID string
	Item           string
	Class          fixtures.Class
	// Turn is where the item was stated.
	Turn    int
	Literal string
	Pinned  bool
	// Binds says that the item was in force at the compaction.
	Binds bool
	// Compaction counts from 0.
	Compaction int
	AfterTurn  int
	// Verdict is the one that counts, Reason why there is none, where that is known.
	Verdict replay.Verdict
	Reason  string
	// Coverage is the share of the literal's words in the context; null where nothing
	// was judged.
	Coverage *float64
	// NewlyLost says that the item is lost, or binds where it no longer should, and was
	// not under the incumbent. Without an incumbent everything that is lost is new.
	NewlyLost bool
}

// Decisions lists the decisions of the incumbent, where there is one, then those of the
// candidate, each in the order of the set.
func (n *Night) Decisions() []Decision {
	fresh := map[decisionID]bool{}
	for _, d := range newly(n.gates.old, n.gates.now, failed) {
		fresh[d.id()] = true
	}
	var list []Decision
	for i := range n.gates.old {
		list = append(list, newDecision(&n.gates.old[i]))
	}
	for i := range n.gates.now {
		d := newDecision(&n.gates.now[i])
		d.NewlyLost = fresh[n.gates.now[i].id()]
		list = append(list, d)
	}
	return list
}

// failed says that an item in force is lost, or that one that isn't survives as if it were.
func failed(d *decision) bool { return lost(d) || stale(d) }

func newDecision(d *decision) Decision {
	out := Decision{
		Arm: d.episode.Arm, Fixture: d.episode.Fixture, ConversationID: d.episode.ConversationID,
		Item: d.item.ID, Class: d.item.Class, Turn: d.item.Turn, Literal: d.item.Literal, Pinned: d.item.Pinned, Binds: d.binds,
		Compaction: d.compaction.Index, AfterTurn: d.compaction.AfterTurn, Verdict: d.verdict,
	}
	if d.judgement != nil {
		out.Coverage = &d.judgement.Coverage
		if d.verdict == replay.Unjudged {
			out.Reason = d.judgement.Reason
		}
	}
	return out
}

// TestPairs runs the pair test of a run over pairs made elsewhere, each played once. A
// pair's Fixture tells it from the others of its Group; only replayed pairs are tested.
func TestPairs(pairs []pairing.Pair, s Settings) (PairTable, Test, error) {
	if err := s.Validate(); err != nil {
		return PairTable{}, Test{}, err
	}
	t, err := newTest(pairs, nil, 1, nil, s)
	return newPairTable(pairs), t, err
}
