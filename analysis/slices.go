package analysis

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/doubletake-dev/doubletake/analysis/stats"
	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/pairing"
	"github.com/doubletake-dev/doubletake/replay"
)

// Slice is one part of the evidence, looked at by itself. Slices are exploratory: they
// say where to look next, and no gate stands on them.
type Slice struct {
	// Of is pairs (reference against candidate) or decisions (incumbent against
	// candidate); By is by what was sliced, Name which slice it is.
	Of   string `json:"of"`
	By   string `json:"by"`
	Name string `json:"name"`
	// Losses and Gains are counted as in the pair test, Total is all that was scored.
	Losses int `json:"losses"`
	Gains  int `json:"gains"`
	Total  int `json:"total"`
	Groups int `json:"groups"`
	// PWorse is the exact sign-flip p value over session groups, PAdjusted the same
	// corrected for the number of slices (Benjamini and Hochberg); null where nothing
	// disagrees.
	PWorse    *float64 `json:"p_worse"`
	PAdjusted *float64 `json:"p_adjusted"`
	// Marked says that PAdjusted is at most the rate of false discoveries of the settings.
	Marked bool   `json:"marked"`
	Reason string `json:"reason,omitempty"`
}

// What is sliced, and by what.
const (
	slicePairs     = "pairs"
	sliceDecisions = "decisions"
)

// slicer gathers slices in the order in which they first occur.
type slicer struct {
	list  []Slice
	index map[[3]string]int
	by    []map[string]stats.Cluster // by session group
}

func (s *slicer) add(of, by, name, group string, loss, gain bool) {
	key := [3]string{of, by, name}
	i, ok := s.index[key]
	if !ok {
		i = len(s.list)
		s.index[key] = i
		s.list = append(s.list, Slice{Of: of, By: by, Name: name})
		s.by = append(s.by, map[string]stats.Cluster{})
	}
	c := s.by[i][group]
	c.Pairs++
	s.list[i].Total++
	if loss {
		c.Losses++
		s.list[i].Losses++
	}
	if gain {
		c.Gains++
		s.list[i].Gains++
	}
	s.by[i][group] = c
}

// newSlices slices the pairs of reference and candidate and the decisions of incumbent
// and candidate.
func newSlices(record *replay.Record, pairs []pairing.Pair, incumbent, candidate []decision, settings Settings) ([]Slice, error) {
	s := slicer{index: map[[3]string]int{}}
	for i := range pairs {
		if p := &pairs[i]; isReplayed(p) && p.Cell.Scored() {
			s.pair(record, p)
		}
	}
	before := byID(incumbent)
	for i := range candidate {
		d := &candidate[i]
		if old := before[d.id()]; old != nil && d.binds && scored(d.verdict) && scored(old.verdict) {
			s.decision(old, d)
		}
	}
	return s.finish(settings)
}

func (s *slicer) pair(record *replay.Record, p *pairing.Pair) {
	f := record.Fixture(p.Fixture)
	loss, gain := p.Cell == pairing.Loss, p.Cell == pairing.Gain
	s.add(slicePairs, "group", p.Group, p.Group, loss, gain)
	if f.Source != "" {
		s.add(slicePairs, "source", f.Source, p.Group, loss, gain)
	}
	s.add(slicePairs, "compactions", compactionsOf(record, p), p.Group, loss, gain)
	for _, class := range fixtures.Classes() {
		first, second, any := classOutcome(f, p, class)
		if any {
			s.add(slicePairs, "class", string(class), p.Group, first && !second, second && !first)
		}
	}
}

// compactionsOf names how often the second side's context was compacted up to the fork.
func compactionsOf(record *replay.Record, p *pairing.Pair) string {
	e := record.Episode(replay.Key{Fixture: p.Fixture, Arm: p.Second.Arm, Replicate: p.Replicate})
	n := 0
	for _, c := range e.Compactions {
		if c.Status == replay.Compacted && c.AfterTurn <= e.Fork {
			n++
		}
	}
	return fmt.Sprint(n)
}

// classOutcome says whether each side passes the checks that guard items of a class,
// and whether there are any that both sides have an answer to.
func classOutcome(f *fixtures.Fixture, p *pairing.Pair, class fixtures.Class) (first, second, any bool) {
	first, second = true, true
	for _, c := range f.Checks {
		item := f.Item(c.Item)
		if item == nil || item.Class != class {
			continue
		}
		a, b := answer(p.First, c.ID), answer(p.Second, c.ID)
		if a == fixtures.Unscored || b == fixtures.Unscored {
			continue
		}
		any = true
		first = first && a == fixtures.Pass
		second = second && b == fixtures.Pass
	}
	return first, second, any
}

func (s *slicer) decision(old, d *decision) {
	group := d.fixture.SessionGroup()
	loss := old.verdict.Kept() && !d.verdict.Kept()
	gain := !old.verdict.Kept() && d.verdict.Kept()
	s.add(sliceDecisions, "class", string(d.item.Class), group, loss, gain)
	s.add(sliceDecisions, "group", group, group, loss, gain)
	if d.fixture.Source != "" {
		s.add(sliceDecisions, "source", d.fixture.Source, group, loss, gain)
	}
	s.add(sliceDecisions, "compaction", fmt.Sprint(d.compaction.Index+1), group, loss, gain)
	s.add(sliceDecisions, "age", ageName(d.compaction.AfterTurn-d.item.Turn), group, loss, gain)
}

// finish tests and corrects. A slice with a single session group cannot be tested: there
// is one coin to flip.
func (s *slicer) finish(settings Settings) ([]Slice, error) {
	p := make([]*float64, len(s.list))
	for i := range s.list {
		slice := &s.list[i]
		slice.Groups = len(s.by[i])
		switch {
		case slice.Losses+slice.Gains == 0:
			slice.Reason = "nothing disagrees"
			continue
		case slice.Groups == 1:
			slice.Reason = "one session group: nothing to test"
			continue
		}
		flip, err := stats.SignFlip(slices.Collect(maps.Values(s.by[i])))
		if err != nil {
			return nil, fmt.Errorf("slice %s %s: %w", slice.By, slice.Name, err)
		}
		p[i] = &flip.PWorse
		slice.PWorse = &flip.PWorse
	}
	adjusted, err := stats.BenjaminiHochberg(p)
	if err != nil {
		return nil, fmt.Errorf("slices: %w", err)
	}
	for i := range s.list {
		s.list[i].PAdjusted = adjusted.P[i]
		s.list[i].Marked = adjusted.P[i] != nil && *adjusted.P[i] <= settings.SliceRate
	}
	slices.SortStableFunc(s.list, func(a, b Slice) int {
		return cmp.Or(cmp.Compare(b.Of, a.Of), cmp.Compare(rankOf(a.By, sliceOrder()), rankOf(b.By, sliceOrder())), cmp.Compare(rankOf(a.Name, nameOrder(a.By)), rankOf(b.Name, nameOrder(b.By))), cmp.Compare(a.Name, b.Name))
	})
	if s.list == nil {
		s.list = []Slice{}
	}
	return s.list, nil
}

// sliceOrder is the order in which the report has them.
func sliceOrder() []string {
	return []string{"class", "compactions", "compaction", "age", "source", "group"}
}

// nameOrder is the order of the slices of one kind, where it is not that of their names.
func nameOrder(by string) []string {
	var names []string
	switch by {
	case "class":
		for _, class := range fixtures.Classes() {
			names = append(names, string(class))
		}
	case "age":
		for _, high := range ages() {
			names = append(names, ageName(high))
		}
	}
	return names
}

// rankOf is the place of a name in an order; what is not in it comes last.
func rankOf(name string, order []string) int {
	if i := slices.Index(order, name); i >= 0 {
		return i
	}
	return len(order)
}
