// Package agreement says how far people who label the same units agree with each other,
// and how far a judge agrees with them. It is labels in, numbers out.
//
// Agreement is computed before anything is adjudicated: labels that were talked about
// are no longer independent. What is undefined is null with a reason, never 0 or 1.
package agreement

import (
	"fmt"
	"maps"
	"slices"

	"github.com/doubletake-dev/doubletake/analysis/stats"
)

// Label is one rater's word on one unit.
type Label struct {
	Unit string `json:"unit"`
	// Group is what units have in common that makes them less than independent, such as
	// the session; empty means the unit itself.
	Group string `json:"group,omitempty"`
	Rater string `json:"rater"`
	// Judge says that the rater is a model.
	Judge bool `json:"judge,omitempty"`
	// Value is one of the schema's categories, or empty: the rater looked and could not
	// tell. Who abstains labels nothing: that two could not tell is no agreement, and
	// that one could not is no disagreement. Abstentions are counted by themselves.
	Value string `json:"value"`
}

// Options say how labels are looked at.
type Options struct {
	// Categories are those of the schema, used or not. A label outside of them is an
	// error.
	Categories []string
	// Positive are the categories that count as a finding, for sensitivity and
	// specificity of the judge. Empty leaves both out.
	Positive []string
	// Confidence is that of intervals, in (0, 1); 0 means 0.95.
	Confidence float64
	// Seed is for drawing groups.
	Seed uint64
}

// Report is how raters agree.
type Report struct {
	Categories []string `json:"categories"`
	Raters     []string `json:"raters"` // people
	Units      int      `json:"units"`  // with a person's label
	Overlap    int      `json:"overlap"`
	// Abstained counts the units on which a person could not tell, by the person. They
	// are missing in every figure of this report.
	Abstained map[string]int `json:"abstained"`
	// Agreement is the share of pairs of people on the same unit that gave the same
	// label.
	Agreement *float64 `json:"raw_agreement"`
	// Pairs are Cohen's kappa of every two people.
	Pairs []Pair `json:"pairs"`
	// Alpha is Krippendorff's over all people, Fleiss over all where every unit has as
	// many labels.
	Alpha  Alpha              `json:"alpha"`
	Fleiss stats.FleissResult `json:"fleiss"`
	// Judge is nil without labels of a judge.
	Judge *Judge `json:"judge"`
}

// Pair is the agreement of two people.
type Pair struct {
	First  string  `json:"first"`
	Second string  `json:"second"`
	Table  [][]int `json:"table"` // by category: first's label, second's label
	stats.Kappa
	// Explained puts an odd value into words.
	Explained string `json:"explained,omitempty"`
}

// Alpha is Krippendorff's alpha with an interval from drawing groups.
type Alpha struct {
	stats.Alpha
	Groups int      `json:"groups"`
	Low    *float64 `json:"low"`
	High   *float64 `json:"high"`
	// IntervalReason says why there is no interval.
	IntervalReason string `json:"interval_reason,omitempty"`
	Explained      string `json:"explained,omitempty"`
}

// Measure finds the agreement.
//
// It is an error if a rater labels a unit twice, if a name is missing, if a label is not
// among the categories, if a unit is in two groups, or if a rater is a person here and a
// judge there.
func Measure(labels []Label, o Options) (Report, error) {
	if o.Confidence == 0 {
		o.Confidence = 0.95
	}
	t, err := newTable(labels, o)
	if err != nil {
		return Report{}, err
	}
	r := Report{Categories: t.categories, Raters: t.people, Pairs: []Pair{}, Abstained: map[string]int{}}
	for _, rater := range t.people {
		if n := len(t.abstained[rater]); n > 0 {
			r.Abstained[rater] = n
		}
	}
	t.count(&r)
	if r.Pairs, err = t.pairs(o.Confidence); err != nil {
		return r, err
	}
	if r.Fleiss, err = t.fleiss(); err != nil {
		return r, err
	}
	if r.Alpha, err = t.alpha(o); err != nil {
		return r, err
	}
	r.Judge, err = t.judge(o)
	return r, err
}

// table is labels by unit and rater, as indices of categories.
type table struct {
	categories []string
	units      []string // sorted, with those on which nobody could tell
	group      map[string]string
	people     []string // sorted
	judges     []string
	label      map[string]map[string]int  // by unit, by rater
	abstained  map[string]map[string]bool // by rater, by unit
}

func newTable(labels []Label, o Options) (*table, error) {
	t := &table{
		categories: slices.Clone(o.Categories), group: map[string]string{},
		label: map[string]map[string]int{}, abstained: map[string]map[string]bool{},
	}
	kind := map[string]bool{}
	for i, l := range labels {
		if l.Unit == "" || l.Rater == "" {
			return nil, fmt.Errorf("label %d: wants a unit and a rater", i+1)
		}
		k := slices.Index(t.categories, l.Value)
		if k < 0 && l.Value != "" {
			return nil, fmt.Errorf("label %d of %s on %s: %q is no category (want one of %q)", i+1, l.Rater, l.Unit, l.Value, t.categories)
		}
		if judge, ok := kind[l.Rater]; ok && judge != l.Judge {
			return nil, fmt.Errorf("label %d: rater %s is a person in one place and a judge in another", i+1, l.Rater)
		}
		kind[l.Rater] = l.Judge
		group := l.Group
		if group == "" {
			group = l.Unit
		}
		if old, ok := t.group[l.Unit]; ok && old != group {
			return nil, fmt.Errorf("label %d: unit %s is in the groups %s and %s", i+1, l.Unit, old, group)
		}
		t.group[l.Unit] = group
		if _, ok := t.label[l.Unit][l.Rater]; ok || t.abstained[l.Rater][l.Unit] {
			return nil, fmt.Errorf("label %d: %s labels %s a second time", i+1, l.Rater, l.Unit)
		}
		if l.Value == "" {
			if t.abstained[l.Rater] == nil {
				t.abstained[l.Rater] = map[string]bool{}
			}
			t.abstained[l.Rater][l.Unit] = true
			continue
		}
		if t.label[l.Unit] == nil {
			t.label[l.Unit] = map[string]int{}
		}
		t.label[l.Unit][l.Rater] = k
	}
	for _, rater := range slices.Sorted(maps.Keys(kind)) {
		if kind[rater] {
			t.judges = append(t.judges, rater)
		} else {
			t.people = append(t.people, rater)
		}
	}
	if t.people == nil {
		t.people = []string{}
	}
	t.units = slices.Sorted(maps.Keys(t.group))
	return t, nil
}

// ofPeople are the labels that people gave a unit, in the order of their names.
func (t *table) ofPeople(unit string) []int {
	var list []int
	for _, rater := range t.people {
		if k, ok := t.label[unit][rater]; ok {
			list = append(list, k)
		}
	}
	return list
}

func (t *table) count(r *Report) {
	same, all := 0, 0
	for _, unit := range t.units {
		labels := t.ofPeople(unit)
		if len(labels) > 0 {
			r.Units++
		}
		if len(labels) > 1 {
			r.Overlap++
		}
		for i := range labels {
			for _, other := range labels[:i] {
				all++
				if labels[i] == other {
					same++
				}
			}
		}
	}
	if all > 0 {
		share := float64(same) / float64(all)
		r.Agreement = &share
	}
}

func (t *table) pairs(confidence float64) ([]Pair, error) {
	pairs := []Pair{}
	for i, first := range t.people {
		for _, second := range t.people[i+1:] {
			p := Pair{First: first, Second: second, Table: t.cross(first, second)}
			var err error
			if p.Kappa, err = stats.CohenKappa(p.Table, confidence); err != nil {
				return nil, fmt.Errorf("kappa of %s and %s: %w", first, second, err)
			}
			p.Explained = explain(p.Kappa)
			pairs = append(pairs, p)
		}
	}
	return pairs, nil
}

func (t *table) cross(first, second string) [][]int {
	counts := make([][]int, len(t.categories))
	for i := range counts {
		counts[i] = make([]int, len(t.categories))
	}
	for _, unit := range t.units {
		a, one := t.label[unit][first]
		b, two := t.label[unit][second]
		if one && two {
			counts[a][b]++
		}
	}
	return counts
}

// explain puts a kappa that surprises into words.
func explain(k stats.Kappa) string {
	switch {
	case k.Reason == stats.ReasonNoOverlap:
		return "no unit was labelled by both"
	case k.Reason == stats.ReasonConstantLabels:
		return "both gave every unit the same label: with nothing to tell apart, agreement beyond chance is undefined, neither 0 nor 1"
	case k.Value != nil && k.Reason == stats.ReasonZeroSE && *k.Value == 0:
		return "one of the two gave every unit the same label: kappa is 0 by construction, and has no interval"
	case k.Value != nil && *k.Value < 0.2 && k.Observed != nil && *k.Observed > 0.8:
		return "they agree often, but one label is so frequent that chance alone would agree as often: read the raw agreement and the marginals"
	}
	return ""
}

// fleiss is nil-valued where units have different numbers of labels.
func (t *table) fleiss() (stats.FleissResult, error) {
	var rows [][]int
	raters := 0
	for _, unit := range t.units {
		labels := t.ofPeople(unit)
		if len(labels) == 0 {
			continue
		}
		if raters == 0 {
			raters = len(labels)
		}
		if len(labels) != raters {
			return stats.FleissResult{Reason: "units have different numbers of labels: see alpha"}, nil
		}
		row := make([]int, len(t.categories))
		for _, k := range labels {
			row[k]++
		}
		rows = append(rows, row)
	}
	return stats.FleissKappa(rows)
}
