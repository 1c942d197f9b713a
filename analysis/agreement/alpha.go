package agreement

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"

	"github.com/doubletake-dev/doubletake/analysis/stats"
)

// Alpha has no closed form for its standard error that can be relied on, so groups are
// drawn again and again. With few groups that would say little about how they vary.
const (
	leastGroups = 20
	draws       = 2000
)

// alpha is Krippendorff's alpha over people, with a percentile interval from drawing
// groups with replacement.
func (t *table) alpha(o Options) (Alpha, error) {
	byGroup := map[string][][]int{}
	var all [][]int
	for _, unit := range t.units {
		if labels := t.ofPeople(unit); len(labels) > 1 {
			all = append(all, labels)
			byGroup[t.group[unit]] = append(byGroup[t.group[unit]], labels)
		}
	}
	a := Alpha{Alpha: stats.KrippendorffAlpha(all), Groups: len(byGroup)}
	switch {
	case a.Reason == stats.ReasonNoOverlap:
		a.Explained = "no unit has two labels"
	case a.Reason == stats.ReasonConstantLabels:
		a.Explained = "every label is the same: with nothing to tell apart, agreement beyond chance is undefined, neither 0 nor 1"
	case a.Value != nil && *a.Value <= 0 && a.Observed != nil && *a.Observed < 0.1:
		a.Explained = "they agree often, but one label is so frequent that a few disagreements are what chance alone would give"
	}
	switch {
	case a.Value == nil:
		a.IntervalReason = "no value"
		return a, nil
	case len(byGroup) < leastGroups:
		a.IntervalReason = fmt.Sprintf("%d groups are too few to draw from: at least %d are wanted", len(byGroup), leastGroups)
		return a, nil
	case *a.Observed == 0:
		a.IntervalReason = "no disagreement: drawing again cannot give one"
		return a, nil
	}
	groups := make([][][]int, 0, len(byGroup))
	for _, name := range slices.Sorted(maps.Keys(byGroup)) {
		groups = append(groups, byGroup[name])
	}
	random := rand.New(rand.NewPCG(o.Seed, 1))
	var values []float64
	for range draws {
		var drawn [][]int
		for range groups {
			drawn = append(drawn, groups[random.IntN(len(groups))]...)
		}
		if v := stats.KrippendorffAlpha(drawn).Value; v != nil {
			values = append(values, *v)
		}
	}
	// A draw with constant labels has no alpha. Where that is frequent, what is left is
	// no sample of anything.
	if len(values) < draws*9/10 {
		a.IntervalReason = "too many draws have constant labels"
		return a, nil
	}
	slices.Sort(values)
	tail := (1 - o.Confidence) / 2
	low, high := quantile(values, tail), quantile(values, 1-tail)
	a.Low, a.High = &low, &high
	return a, nil
}

// quantile takes a value of a sorted, non-empty list.
func quantile(sorted []float64, p float64) float64 {
	return sorted[min(len(sorted)-1, max(0, int(p*float64(len(sorted)))))]
}
