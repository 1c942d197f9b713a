package pairing

import (
	"fmt"
	"slices"
	"strings"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
)

// Replaced is what one compaction did to the context of an arm.
type Replaced struct {
	Compaction *replay.CompactionRecord `json:"compaction"`
	// Left are the messages that stood in the context and do not any more, Written those
	// that stand in their place; Kept counts the others.
	Left    []fixtures.Message `json:"left_out"`
	Written []fixtures.Message `json:"written"`
	Kept    int                `json:"kept"`
	// Items are what became of the items at this compaction, in the order of the fixture.
	Items []ItemAt `json:"items"`
}

// ItemAt is an item at a compaction.
type ItemAt struct {
	*replay.Judgement
	Literal string `json:"literal"`
	// Turn and Source are where the recording states it; Source is the message that this
	// compaction left out with it, nil where that stood there no more.
	Turn   int               `json:"turn"`
	Source *fixtures.Message `json:"source"`
}

// Lost says whether the compaction lost or turned around the item.
func (i ItemAt) Lost() bool {
	return i.Verdict == replay.Absent || i.Verdict == replay.Contradicted
}

// Replacements says what each compaction up to the fork did to the context of an arm of a
// pair. There is none where the arm compacted nothing. It is an error if a context cannot
// be read from the run directory.
func Replacements(record *replay.Record, p *Pair, arm string) ([]Replaced, error) {
	list := []Replaced{}
	e := record.Episode(replay.Key{Fixture: p.Fixture, Arm: arm, Replicate: p.Replicate})
	if e == nil {
		return list, nil
	}
	judgements := map[replay.DecisionKey]*replay.Judgement{}
	for _, j := range record.Judgements {
		if j.Key == e.Key {
			judgements[j.Decision()] = j
		}
	}
	for i := range e.Compactions {
		c := &e.Compactions[i]
		if c.AfterTurn > e.Fork {
			break
		}
		r := Replaced{Compaction: c, Left: []fixtures.Message{}, Written: []fixtures.Message{}, Items: []ItemAt{}}
		if c.Status == replay.Compacted {
			if err := r.compare(record.Contexts); err != nil {
				return nil, fmt.Errorf("what %s compacted after turn %d of %s: %w", arm, c.AfterTurn, p.ID, err)
			}
		}
		if f := record.Fixture(p.Fixture); f != nil {
			for k := range f.MustSurvive {
				r.item(&f.MustSurvive[k], judgements[replay.DecisionKey{Key: e.Key, Compaction: c.Index, Item: f.MustSurvive[k].ID}])
			}
		}
		list = append(list, r)
	}
	return list, nil
}

// compare tells what was left out from what was kept: what is the same, turns aside.
func (r *Replaced) compare(contexts *replay.Contexts) error {
	before, err := contexts.Get(r.Compaction.Before)
	if err != nil {
		return err
	}
	after, err := contexts.Get(r.Compaction.After)
	if err != nil {
		return err
	}
	identity := func(m fixtures.Message) (fixtures.Hash, error) {
		m.Turn = 0
		return fixtures.HashJSON(m)
	}
	have := map[fixtures.Hash]int{}
	for _, m := range after {
		id, err := identity(m)
		if err != nil {
			return err
		}
		have[id]++
	}
	kept := map[fixtures.Hash]int{}
	for _, m := range before {
		id, err := identity(m)
		if err != nil {
			return err
		}
		if have[id] > kept[id] {
			kept[id]++
			r.Kept++
			continue
		}
		r.Left = append(r.Left, m)
	}
	for _, m := range after {
		id, err := identity(m)
		if err != nil {
			return err
		}
		if kept[id] > 0 {
			kept[id]--
			continue
		}
		r.Written = append(r.Written, m)
	}
	return nil
}

func (r *Replaced) item(item *fixtures.Item, j *replay.Judgement) {
	if j == nil {
		return
	}
	at := ItemAt{Judgement: j, Literal: item.Literal, Turn: item.Turn}
	// The turn that states it, else any message that does.
	states := func(exact bool) int {
		return slices.IndexFunc(r.Left, func(m fixtures.Message) bool {
			return item.Literal != "" && (!exact || m.Turn == item.Turn) && strings.Contains(m.Content, item.Literal)
		})
	}
	for _, exact := range []bool{true, false} {
		if k := states(exact); k >= 0 {
			at.Source = &r.Left[k]
			break
		}
	}
	r.Items = append(r.Items, at)
}
