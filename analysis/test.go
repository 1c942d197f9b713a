package analysis

import (
	"fmt"
	"slices"

	"github.com/doubletake-dev/doubletake/analysis/stats"
	"github.com/doubletake-dev/doubletake/pairing"
)

// Test is the pair test over the replayed pairs. Accepted traces are no part of it:
// against them a gain cannot happen, and its null hypothesis does not hold.
type Test struct {
	Losses int `json:"losses"`
	Gains  int `json:"gains"`
	Pairs  int `json:"pairs"`
	// PWorse, PTwo, PMidWorse and PMidTwo are McNemar's; PCluster is the exact
	// sign-flip over session groups, one-sided, and the one that decides.
	PWorse    float64 `json:"p_worse"`
	PBetter   float64 `json:"p_better"`
	PTwo      float64 `json:"p_two"`
	PMidWorse float64 `json:"p_mid_worse"`
	PMidTwo   float64 `json:"p_mid_two"`
	PCluster  float64 `json:"p_cluster"`
	Groups    int     `json:"groups"`
	// Difference is (losses-gains)/pairs, positive where the candidate is worse, with
	// the Tango interval at the confidence of the settings.
	Difference *float64 `json:"difference"`
	Low        *float64 `json:"low"`
	High       *float64 `json:"high"`
	// Margin is that of the settings, NonInferior whether the candidate is worse by
	// less than it at the level alpha.
	Margin      float64 `json:"margin"`
	NonInferior bool    `json:"non_inferior"`
	// Attainable says whether this many discordant pairs could reach alpha at all.
	Attainable bool `json:"attainable"`
	// SmallestDetectable is the smallest share of losses (with no gains) that this
	// many pairs find with the power of the settings; null where none is.
	SmallestDetectable *float64 `json:"smallest_detectable"`
	Reason             string   `json:"reason,omitempty"`
}

// NewTest runs the pair test over the replayed pairs.
func NewTest(pairs []pairing.Pair, s Settings) (Test, error) {
	replayed := func(p *pairing.Pair) bool { return p.By == pairing.Replayed }
	table := pairing.Count(pairs, replayed)
	t := Test{Losses: table.Losses, Gains: table.Gains, Pairs: table.Scored(), Margin: s.Margin}
	mcnemar, err := stats.McNemar(t.Losses, t.Gains)
	if err != nil {
		return t, fmt.Errorf("pair test: %w", err)
	}
	t.PWorse, t.PBetter, t.PTwo = mcnemar.PWorse, mcnemar.PBetter, mcnemar.PTwo
	t.PMidWorse, t.PMidTwo = mcnemar.PMidWorse, mcnemar.PMidTwo
	t.Reason = mcnemar.Reason
	groups := clusters(pairs)
	t.Groups = len(groups)
	flip, err := stats.SignFlip(groups)
	if err != nil {
		return t, fmt.Errorf("pair test: %w", err)
	}
	t.PCluster, t.Attainable = flip.PWorse, flip.MinP <= s.Alpha
	tango, err := stats.TangoInterval(t.Losses, t.Gains, t.Pairs, s.Confidence)
	if err != nil {
		return t, fmt.Errorf("pair test: %w", err)
	}
	t.Difference = tango.Value
	if tango.Interval != nil {
		t.Low, t.High = &tango.Interval.Low, &tango.Interval.High
	}
	return t, t.plan(s)
}

func (t *Test) plan(s Settings) error {
	ni, err := stats.NonInferiority(t.Losses, t.Gains, t.Pairs, s.Margin, s.Alpha)
	if err != nil {
		return fmt.Errorf("non-inferiority: %w", err)
	}
	t.NonInferior = ni.NonInferior
	detectable, err := stats.SmallestDetectable(t.Pairs, 0, s.Alpha, s.Power)
	if err != nil {
		return fmt.Errorf("smallest detectable loss: %w", err)
	}
	t.SmallestDetectable = detectable.LossRate
	return nil
}

// clusters sums the replayed, scored pairs by session group.
func clusters(pairs []pairing.Pair) []stats.Cluster {
	byGroup := map[string]stats.Cluster{}
	var names []string
	for i := range pairs {
		p := &pairs[i]
		if p.By != pairing.Replayed {
			continue
		}
		switch p.Cell {
		case pairing.BothPass, pairing.BothFail, pairing.Loss, pairing.Gain:
		default:
			continue
		}
		c, ok := byGroup[p.Group]
		if !ok {
			names = append(names, p.Group)
		}
		c.Pairs++
		switch p.Cell {
		case pairing.Loss:
			c.Losses++
		case pairing.Gain:
			c.Gains++
		}
		byGroup[p.Group] = c
	}
	slices.Sort(names)
	list := make([]stats.Cluster, len(names))
	for i, name := range names {
		list[i] = byGroup[name]
	}
	return list
}
