package agreement

import (
	"fmt"
	"slices"

	"github.com/doubletake-dev/doubletake/analysis/stats"
)

// Judge is how judges agree with people, over the units that people resolved: where all
// who labelled a unit say the same. It is advisory, and a judge alone never makes a rate.
type Judge struct {
	Judges []Against `json:"judges"`
	// Unresolved counts units that a judge looked at and on which people do not agree with
	// each other, or none gave a label.
	Unresolved int    `json:"unresolved"`
	Use        string `json:"judgeUse"`
}

// Advisory is what a judge's word may be used for.
const Advisory = "advisory-only"

// Against is one judge against the people.
type Against struct {
	Judge string `json:"judge"`
	// Units are resolved and have the judge's label. Abstained counts resolved units on
	// which the judge could not tell: they are missing in agreement and kappa. To
	// sensitivity and specificity they count as not found and not left, so that a judge
	// cannot better these by keeping silent.
	Units     int `json:"units"`
	Abstained int `json:"abstained"`
	// Confusion counts by category: the people's label, the judge's label.
	Confusion [][]int  `json:"confusion"`
	Agreement *float64 `json:"raw_agreement"`
	// Sensitivity is the share of findings that the judge finds, Specificity that of
	// non-findings that it leaves, each with its Wilson interval.
	Sensitivity Share `json:"sensitivity"`
	Specificity Share `json:"specificity"`
	stats.Kappa `json:"kappa"`
	Explained   string `json:"explained,omitempty"`
}

// Share is a count of a total with its Wilson limits.
type Share struct {
	Count  int      `json:"count"`
	Total  int      `json:"total"`
	Value  *float64 `json:"value"`
	Low    *float64 `json:"low"`
	High   *float64 `json:"high"`
	Reason string   `json:"reason,omitempty"`
}

func (t *table) judge(o Options) (*Judge, error) {
	if len(t.judges) == 0 {
		return nil, nil
	}
	j := &Judge{Use: Advisory}
	resolved := map[string]int{}
	for _, unit := range t.units {
		labels := t.ofPeople(unit)
		if len(labels) > 0 && !slices.ContainsFunc(labels, func(k int) bool { return k != labels[0] }) {
			resolved[unit] = labels[0]
			continue
		}
		if slices.ContainsFunc(t.judges, func(rater string) bool { _, ok := t.label[unit][rater]; return ok || t.abstained[rater][unit] }) {
			j.Unresolved++
		}
	}
	for _, rater := range t.judges {
		a, err := t.against(rater, resolved, o)
		if err != nil {
			return nil, fmt.Errorf("judge %s: %w", rater, err)
		}
		j.Judges = append(j.Judges, a)
	}
	return j, nil
}

func (t *table) against(rater string, resolved map[string]int, o Options) (Against, error) {
	a := Against{Judge: rater, Confusion: make([][]int, len(t.categories))}
	for i := range a.Confusion {
		a.Confusion[i] = make([]int, len(t.categories))
	}
	same := 0
	grouped := map[string]int{}
	silent := make([]int, len(t.categories)) // abstentions by people's label
	for _, unit := range t.units {
		truth, ok := resolved[unit]
		if !ok {
			continue
		}
		if t.abstained[rater][unit] {
			a.Abstained++
			silent[truth]++
			grouped[t.group[unit]]++
			continue
		}
		given, has := t.label[unit][rater]
		if !has {
			continue
		}
		a.Units++
		a.Confusion[truth][given]++
		grouped[t.group[unit]]++
		if truth == given {
			same++
		}
	}
	if a.Units > 0 {
		share := float64(same) / float64(a.Units)
		a.Agreement = &share
	}
	var err error
	if a.Kappa, err = stats.CohenKappa(a.Confusion, o.Confidence); err != nil {
		return a, err
	}
	a.Explained = explain(a.Kappa)
	clustered := len(grouped) < a.Units+a.Abstained
	if a.Sensitivity, err = t.rate(a.Confusion, silent, o, true, clustered); err != nil {
		return a, err
	}
	a.Specificity, err = t.rate(a.Confusion, silent, o, false, clustered)
	return a, err
}

// rate is how often the judge finds what people found, or leaves what they left. Where the
// judge is silent it does neither.
func (t *table) rate(confusion [][]int, silent []int, o Options, positive, clustered bool) (Share, error) {
	if len(o.Positive) == 0 {
		return Share{Reason: "no category is named as a finding"}, nil
	}
	var s Share
	for i, row := range confusion {
		if slices.Contains(o.Positive, t.categories[i]) != positive {
			continue
		}
		s.Total += silent[i]
		for k, n := range row {
			s.Total += n
			if slices.Contains(o.Positive, t.categories[k]) == positive {
				s.Count += n
			}
		}
	}
	wilson, err := stats.WilsonInterval(s.Count, s.Total, o.Confidence)
	if err != nil {
		return s, err
	}
	s.Value, s.Reason = wilson.Value, wilson.Reason
	switch {
	case clustered:
		s.Reason = "several units of one group: they are not independent"
	case wilson.Interval != nil:
		s.Low, s.High = &wilson.Interval.Low, &wilson.Interval.High
	}
	return s, nil
}
