package analysis

import (
	"fmt"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
)

// decision is one item at one compaction of one episode, with the verdict that counts.
type decision struct {
	episode    *replay.Episode
	fixture    *fixtures.Fixture
	compaction *replay.CompactionRecord
	item       *fixtures.Item
	// judgement is what was judged, nil where nothing was.
	judgement *replay.Judgement
	verdict   replay.Verdict
	// binds says whether the item was in force at the compaction.
	binds bool
}

// decisionID is the identity of a compaction decision over arms and runs.
type decisionID struct {
	fixture    fixtures.Hash
	compaction int
	item       string
}

func (d *decision) id() decisionID {
	return decisionID{d.episode.Fixture, d.compaction.Index, d.item.ID}
}

func (d *decision) String() string {
	return fmt.Sprintf("%s %s (turn %d, compaction %d, %s): %q", d.episode.ConversationID, d.item.ID, d.item.Turn, d.compaction.Index+1, d.verdict, d.item.Literal)
}

// lens is how verdicts are looked at.
type lens struct {
	record *replay.Record
	// trusted says whether the judge's verdicts count.
	trusted bool
	// deterministic looks at no judge at all: what does not stand verbatim is told by
	// the coverage of its words.
	deterministic bool
}

// verdict is the verdict that counts.
func (l lens) verdict(j *replay.Judgement, binds bool) replay.Verdict {
	switch {
	case j == nil:
		return replay.Unjudged
	case j.Judge != "" && !l.trusted && !l.deterministic:
		return replay.Unjudged // also where the judge found nothing wrong around a literal
	case j.Verdict == replay.Verbatim:
		return replay.Verbatim
	case l.deterministic && !binds:
		return replay.Unjudged // words alone don't tell stale from retired
	case l.deterministic && j.Coverage >= fixtures.CoverageFloor:
		return replay.Supported
	case l.deterministic:
		return replay.Absent
	}
	return j.Verdict
}

// decisions lists an arm's decisions in the order of the set: every item at every
// compaction that ran after it was stated, whether it was judged or not.
func (l lens) decisions(arm string) []decision {
	return l.all(func(name string) bool { return name == arm })
}

// all is decisions for all arms that are wanted.
func (l lens) all(wanted func(arm string) bool) []decision {
	judged := map[replay.DecisionKey]*replay.Judgement{}
	for _, j := range l.record.Judgements {
		judged[j.Decision()] = j
	}
	var list []decision
	for _, e := range l.record.Episodes {
		if !wanted(e.Arm) || e.Replicate > 0 {
			continue
		}
		f := l.record.Fixture(e.Fixture)
		for i := range e.Compactions {
			c := &e.Compactions[i]
			if c.Status != replay.Compacted {
				continue
			}
			for k := range f.MustSurvive {
				item := &f.MustSurvive[k]
				if item.Turn > c.AfterTurn {
					continue
				}
				d := decision{episode: e, fixture: f, compaction: c, item: item}
				d.judgement = judged[replay.DecisionKey{Key: e.Key, Compaction: c.Index, Item: item.ID}]
				d.binds = f.StatusAt(item, c.AfterTurn) == fixtures.Active
				d.verdict = l.verdict(d.judgement, d.binds)
				list = append(list, d)
			}
		}
	}
	return list
}

// byID finds decisions by identity.
func byID(list []decision) map[decisionID]*decision {
	out := map[decisionID]*decision{}
	for i := range list {
		out[list[i].id()] = &list[i]
	}
	return out
}

// countItems counts decisions by class and verdict.
func countItems(list []decision) map[fixtures.Class]ItemCounts {
	counts := map[fixtures.Class]ItemCounts{}
	for _, class := range fixtures.Classes() {
		counts[class] = ItemCounts{}
	}
	for i := range list {
		c := counts[list[i].item.Class]
		c.add(&list[i])
		counts[list[i].item.Class] = c
	}
	return counts
}

func (c *ItemCounts) add(d *decision) {
	switch {
	case d.verdict == replay.Stale:
		c.Stale++
		return
	case d.verdict == replay.Retired:
		c.Retired++
		return
	case !d.binds:
		return // not known, and nothing that should have survived
	}
	c.Total++
	switch d.verdict {
	case replay.Verbatim:
		c.Verbatim++
	case replay.Supported:
		c.Supported++
	case replay.Absent:
		c.Absent++
	case replay.Contradicted:
		c.Contradicted++
	default:
		c.Unscored++
	}
}

func contradictions(counts map[fixtures.Class]ItemCounts) int {
	n := 0
	for _, c := range counts {
		n += c.Contradicted
	}
	return n
}

// newly lists the decisions of the candidate that are bad and were not under the
// baseline, in the order of the set. A decision that the baseline does not have or
// could not score counts as not bad there.
func newly(baseline, candidate []decision, bad func(*decision) bool) []*decision {
	before := byID(baseline)
	var list []*decision
	for i := range candidate {
		d := &candidate[i]
		if old := before[d.id()]; bad(d) && (old == nil || !bad(old)) {
			list = append(list, d)
		}
	}
	return list
}

func describe(list []*decision) []string {
	var out []string
	for _, d := range list {
		out = append(out, d.String())
	}
	return out
}

func lost(d *decision) bool {
	return d.binds && (d.verdict == replay.Absent || d.verdict == replay.Contradicted)
}

func contradicted(d *decision) bool { return d.binds && d.verdict == replay.Contradicted }

func stale(d *decision) bool { return d.verdict == replay.Stale }

// brokenPin is a pinned item whose literal is gone, whatever a judge says of a
// paraphrase. Where all of its words are there and nobody could be asked whether they
// still say it, nothing is known to be broken.
func brokenPin(d *decision) bool {
	return d.binds && d.item.Pinned && d.judgement != nil && d.verdict != replay.Verbatim && (d.verdict != replay.Unjudged || d.judgement.Coverage < 1)
}
