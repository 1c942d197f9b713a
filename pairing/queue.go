package pairing

import (
	"io"
	"slices"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
)

// Entry is a discordant pair in the queue, complete enough to be decided from.
type Entry struct {
	Pair
	// Differ are the checks on which the two sides differ.
	Differ []DifferingCheck `json:"checks_differ"`
	// Items is what became of each item in the context from which each side went on.
	Items []ItemFate `json:"items"`
	// Confirmed is what playing the pair again gave; nil where it wasn't.
	Confirmed *Confirmation `json:"confirmed"`
	// Place seals the entry in the file of the queue; nil elsewhere.
	Place *Place `json:"place,omitempty"`
	// FirstContext and SecondContext are where the contexts lie in the run directory, of a
	// run that has each in a file of its own. No run of now has; the sides name them.
	FirstContext  string `json:"first_context,omitempty"`
	SecondContext string `json:"second_context,omitempty"`
}

// DifferingCheck is a check with the answer and evidence of each side.
type DifferingCheck struct {
	Check  string          `json:"check"`
	Item   string          `json:"item,omitempty"`
	First  fixtures.Result `json:"first"`
	Second fixtures.Result `json:"second"`
}

// ItemFate is an item with what became of it on each side by the fork. The verdict
// of a side that compacted nothing is empty.
type ItemFate struct {
	ID      string         `json:"id"`
	Class   fixtures.Class `json:"class"`
	Turn    int            `json:"turn"`
	Literal string         `json:"literal"`
	First   replay.Verdict `json:"first,omitempty"`
	Second  replay.Verdict `json:"second,omitempty"`
}

// Lost says whether the item is gone or turned around on the second side.
func (f ItemFate) Lost() bool {
	return f.Second == replay.Absent || f.Second == replay.Contradicted
}

// Lost counts the items that are gone or turned around on the second side.
func (e *Entry) Lost() int {
	n := 0
	for _, f := range e.Items {
		if f.Lost() {
			n++
		}
	}
	return n
}

// Confirmation is how a discordant pair came out when it was played again. The test
// keeps the first plays, so that confirming cannot bias it.
type Confirmation struct {
	// Plays is how often the pair was played again with an outcome on both sides,
	// Same how often it came out as at first.
	Plays int   `json:"plays"`
	Same  int   `json:"same"`
	Label Label `json:"label"`
}

// Label says whether a disagreement lasts.
type Label string

// The labels.
const (
	Stable Label = "stable" // every play came out as the first
	Flaky  Label = "flaky"
)

// confirm looks at the pairs of further replicates.
func confirm(first *Pair, again []Pair) *Confirmation {
	var c Confirmation
	for i := range again {
		p := &again[i]
		if p.Fixture != first.Fixture || p.Replicate == first.Replicate {
			continue
		}
		if p.Cell.Scored() {
			c.Plays++
		}
		if p.Cell == first.Cell {
			c.Same++
		}
	}
	if c.Plays == 0 {
		return nil
	}
	c.Label = Flaky
	if c.Same == c.Plays {
		c.Label = Stable
	}
	return &c
}

// Queue returns the discordant pairs among pairs, in their order. Again are the pairs
// of further replicates, which confirm the first; where the first play agrees and one
// that was planned (below planned) does not, the first such one is in the queue.
func Queue(record *replay.Record, pairs, again []Pair, planned int) []Entry {
	verdicts := map[replay.DecisionKey]replay.Verdict{}
	for _, j := range record.Judgements {
		verdicts[j.Decision()] = j.Verdict
	}
	var queue []Entry
	byFixture := map[fixtures.Hash][]Pair{}
	for _, list := range [][]Pair{pairs, again} {
		for i := range list {
			byFixture[list[i].Fixture] = append(byFixture[list[i].Fixture], list[i])
		}
	}
	for _, p := range pairs {
		plays := byFixture[p.Fixture]
		if i := slices.IndexFunc(plays, func(p Pair) bool { return p.Replicate < planned && p.Cell.Discordant() }); i >= 0 {
			p = plays[i]
		}
		if !p.Cell.Discordant() {
			continue
		}
		entry := Entry{Pair: p, Differ: differing(p), Confirmed: confirm(&p, plays)}
		f := record.Fixture(p.Fixture)
		for _, item := range f.MustSurvive {
			entry.Items = append(entry.Items, ItemFate{
				ID: item.ID, Class: item.Class, Turn: item.Turn, Literal: item.Literal,
				First:  fate(record, verdicts, p, p.First.Arm, item.ID),
				Second: fate(record, verdicts, p, p.Second.Arm, item.ID),
			})
		}
		queue = append(queue, entry)
	}
	return queue
}

// fate is the verdict on an item at the last compaction up to the fork.
func fate(record *replay.Record, verdicts map[replay.DecisionKey]replay.Verdict, p Pair, arm, item string) replay.Verdict {
	key := replay.Key{Fixture: p.Fixture, Arm: arm, Replicate: p.Replicate}
	episode := record.Episode(key)
	var last replay.Verdict
	for _, c := range episode.Compactions {
		if c.AfterTurn > episode.Fork {
			break
		}
		if v, ok := verdicts[replay.DecisionKey{Key: key, Compaction: c.Index, Item: item}]; ok {
			last = v
		}
	}
	return last
}

func differing(p Pair) []DifferingCheck {
	var list []DifferingCheck
	for _, a := range p.First.Outcome.Checks {
		for _, b := range p.Second.Outcome.Checks {
			if a.Check == b.Check && a.Answer != b.Answer {
				list = append(list, DifferingCheck{Check: a.Check, Item: a.Item, First: a, Second: b})
			}
		}
	}
	return list
}

// WriteLines writes records as JSON Lines, whole or not at all.
func WriteLines[T any](path string, records []T) error {
	return fixtures.WriteFileAtomic(path, func(out io.Writer) error {
		for i := range records {
			line, err := fixtures.MarshalPlain(records[i])
			if err != nil {
				return err
			}
			if _, err := out.Write(append(line, '\n')); err != nil {
				return err
			}
		}
		return nil
	})
}
