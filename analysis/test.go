package analysis

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/doubletake-dev/doubletake/analysis/stats"
	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/pairing"
	"github.com/doubletake-dev/doubletake/replay"
)

// Conclusion is what a pair test says, by two questions asked apart: is the candidate
// worse at all, and is it worse by less than the margin.
type Conclusion string

// The conclusions. No significance is none of them: it is inconclusive.
const (
	Worse        Conclusion = "worse"        // worse by more than chance
	WithinMargin Conclusion = "non_inferior" // worse by less than the margin, if at all
	WorseWithin  Conclusion = "both"         // worse by more than chance, and by less than the margin
	NothingShown Conclusion = "inconclusive" // neither was shown
)

// Test is the pair test over the replayed pairs. Accepted traces are no part of it:
// against them a gain cannot happen, and its null hypothesis does not hold.
type Test struct {
	Losses int `json:"losses"`
	Gains  int `json:"gains"`
	Pairs  int `json:"pairs"`
	// PWorse, PBetter, PTwo, PMidWorse and PMidTwo are McNemar's, of the first plays.
	// Log10PWorse stays finite where PWorse underflows.
	PWorse      float64 `json:"p_worse"`
	PBetter     float64 `json:"p_better"`
	PTwo        float64 `json:"p_two"`
	PMidWorse   float64 `json:"p_mid_worse"`
	PMidTwo     float64 `json:"p_mid_two"`
	Log10PWorse float64 `json:"log10_p_worse"`
	// PCluster is the exact sign-flip over session groups, one-sided, and the one that
	// decides. Where episodes are played several times it takes their means.
	PCluster float64 `json:"p_cluster"`
	Groups   int     `json:"groups"`
	// Replicates is how often each episode was planned to be played.
	Replicates int `json:"replicates"`
	// MinP is the smallest PCluster that these groups could have given, Attainable
	// whether it reaches alpha.
	MinP       float64 `json:"min_p"`
	Attainable bool    `json:"attainable"`
	// Obuchowski is the sign-flip's asymptotic companion, for reference.
	Obuchowski Asymptotic `json:"obuchowski"`
	// Difference is (losses-gains)/pairs, positive where the candidate is worse, with
	// the Tango interval at the confidence of the settings. Newcombe's method 10 and the
	// odds ratio are by pair.
	Difference *float64 `json:"difference"`
	Low        *float64 `json:"low"`
	High       *float64 `json:"high"`
	// Newcombe is the interval by Newcombe's method 10.
	Newcombe Limits `json:"newcombe"`
	// Clustered says that a session group has more than one pair, or a pair several
	// plays: Low and High are then those of a table shrunk by the design effect, which is
	// approximate, and ByPair those that take pairs as independent.
	Clustered bool   `json:"clustered"`
	ByPair    Limits `json:"by_pair"`
	// OddsRatio is the conditional one, losses over gains, with exact limits. It says
	// nothing about how many conversations are concerned.
	OddsRatio Odds `json:"odds_ratio"`
	// Margin is that of the settings, NonInferior whether the candidate is worse by
	// less than it at the level alpha, by the table and, where groups have several
	// pairs, by the shrunk table as well.
	Margin      float64 `json:"margin"`
	NonInferior bool    `json:"non_inferior"`
	// PNonInferior is the p value of "worse by the margin or more", of the stricter of
	// Tango's and, without gains, the exact binomial test; null without pairs.
	PNonInferior *float64 `json:"p_non_inferior"`
	// PerfectRunPasses says whether so many pairs could show non-inferiority at all.
	PerfectRunPasses bool `json:"perfect_run_passes"`
	// SmallestDetectable is the smallest share of losses (with no gains) that this
	// many pairs find with the power of the settings; null where none is.
	SmallestDetectable *float64 `json:"smallest_detectable"`
	DetectableReason   string   `json:"smallest_detectable_reason,omitempty"`
	// Level is that at which the test can block: alpha, divided where several can.
	Level float64 `json:"level"`
	// Sequential is the evidence session by session.
	Sequential Sequential `json:"sequential"`
	Conclusion Conclusion `json:"conclusion"`
	// Warnings say where two ways of looking disagree.
	Warnings []string `json:"warnings"`
	Reason   string   `json:"reason,omitempty"`
}

// Asymptotic is a test by a normal approximation, one-sided: the candidate is worse.
type Asymptotic struct {
	Statistic *float64 `json:"chi2"`
	PWorse    *float64 `json:"p_worse"`
	Reason    string   `json:"reason,omitempty"`
}

// Limits are those of an interval, null with a reason where there is none.
type Limits struct {
	Low    *float64 `json:"low"`
	High   *float64 `json:"high"`
	Reason string   `json:"reason,omitempty"`
}

// Odds is a ratio with its limits.
type Odds struct {
	Ratio *float64 `json:"ratio"`
	Low   *float64 `json:"low"`
	High  *float64 `json:"high"`
	// Unbounded says that the ratio or its upper limit is infinite, where it is null.
	Unbounded bool   `json:"upper_unbounded,omitempty"`
	Reason    string `json:"reason,omitempty"`
}

// comparison is two arms compared, with the pairs that it was made from.
type comparison struct {
	Comparison
	pairs []pairing.Pair
	// again are the pairs of further replicates, planned or not.
	again []pairing.Pair
}

// newTest runs the pair test over the replayed pairs. Again are pairs of further
// replicates; those below planned count into the means.
func newTest(pairs, again []pairing.Pair, planned int, order []replay.Session, s Settings) (Test, error) {
	t, groups, err := decide(pairs, again, planned, order, s)
	if err != nil {
		return t, err
	}
	if err := errors.Join(t.estimate(groups, s), t.estimateTable(pairing.Count(pairs, isReplayed), s), t.plan(groups, s), t.detectable(s.Alpha, s)); err != nil {
		return t, err
	}
	t.settle(t.P(s) <= s.Alpha, s.Alpha)
	return t, nil
}

// decide runs the part of the test that gates stand on.
func decide(pairs, again []pairing.Pair, planned int, order []replay.Session, s Settings) (Test, []group, error) {
	table := pairing.Count(pairs, isReplayed)
	t := Test{Losses: table.Losses, Gains: table.Gains, Pairs: table.Scored(), Margin: s.Margin, Replicates: planned, Warnings: []string{}}
	mcnemar, err := stats.McNemar(t.Losses, t.Gains)
	if err != nil {
		return t, nil, fmt.Errorf("pair test: %w", err)
	}
	t.PWorse, t.PBetter, t.PTwo, t.Log10PWorse = mcnemar.PWorse, mcnemar.PBetter, mcnemar.PTwo, mcnemar.Log10PWorse
	t.PMidWorse, t.PMidTwo = mcnemar.PMidWorse, mcnemar.PMidTwo
	t.Reason = mcnemar.Reason
	groups, err := clusters(pairs, again, planned)
	if err != nil {
		return t, nil, fmt.Errorf("pair test: %w", err)
	}
	if err := t.flip(groups, s); err != nil {
		return t, nil, err
	}
	t.Sequential, err = newSequential(groups, order)
	return t, groups, err
}

func isReplayed(p *pairing.Pair) bool { return p.By == pairing.Replayed }

// flip runs the sign-flip test and its asymptotic companion.
func (t *Test) flip(groups []group, s Settings) error {
	list := counts(groups)
	t.Groups = len(list)
	flip, err := stats.SignFlip(list)
	if err != nil {
		return fmt.Errorf("pair test: %w", err)
	}
	t.PCluster, t.MinP, t.Attainable = flip.PWorse, flip.MinP, flip.MinP <= s.Alpha
	asymptotic, err := stats.ClusterTests(list)
	if err != nil {
		return fmt.Errorf("pair test: %w", err)
	}
	if asymptotic.Obuchowski == nil {
		t.Obuchowski.Reason = asymptotic.Reason
		return nil
	}
	z := math.Sqrt(asymptotic.Obuchowski.Statistic)
	if flip.PWorse > flip.PBetter {
		z = -z
	}
	p := math.Erfc(z/math.Sqrt2) / 2
	t.Obuchowski = Asymptotic{Statistic: &asymptotic.Obuchowski.Statistic, PWorse: &p}
	return nil
}

// estimate finds the difference with its intervals. Where sessions have several pairs, or
// pairs several plays, the unit is the session.
func (t *Test) estimate(groups []group, s Settings) error {
	tango, err := stats.TangoInterval(t.Losses, t.Gains, t.Pairs, s.Confidence)
	if err != nil {
		return fmt.Errorf("interval of the difference: %w", err)
	}
	t.Difference = tango.Value
	if tango.Interval != nil {
		t.Low, t.High = &tango.Interval.Low, &tango.Interval.High
	}
	list := counts(groups)
	if t.Clustered = clustered(list); !t.Clustered {
		t.ByPair.Reason = "every session group has one pair, played once: the interval is by pair"
		return nil
	}
	t.ByPair = limits(tango)
	shrunk, err := sessionInterval(list, s.Confidence)
	if err != nil {
		return fmt.Errorf("interval by session groups: %w", err)
	}
	if shrunk.Interval != nil {
		t.Difference, t.Low, t.High = shrunk.Value, &shrunk.Interval.Low, &shrunk.Interval.High
	}
	return nil
}

// sessionInterval is the Tango interval of a table shrunk by the design effect. Where
// nothing disagrees the design effect cannot be seen, and each session counts as one pair.
func sessionInterval(list []stats.Cluster, confidence float64) (stats.Estimate, error) {
	if disagreements(list) == 0 {
		return stats.TangoInterval(0, 0, len(list), confidence)
	}
	return stats.ClusterTangoInterval(list, confidence)
}

func disagreements(list []stats.Cluster) int {
	n := 0
	for _, c := range list {
		n += c.Losses + c.Gains
	}
	return n
}

func limits(e stats.Estimate) Limits {
	if e.Interval == nil {
		return Limits{Reason: e.Reason}
	}
	return Limits{Low: &e.Interval.Low, High: &e.Interval.High}
}

// clustered says whether any group has more than one pair or was played more than once.
func clustered(list []stats.Cluster) bool {
	return slices.ContainsFunc(list, func(c stats.Cluster) bool { return c.Pairs > 1 || c.Parts > 1 })
}

// estimateTable finds what needs the whole table or the discordant cells alone: both are
// by pair, and of pairs that were played once.
func (t *Test) estimateTable(table pairing.Table, s Settings) error {
	if t.Replicates > 1 {
		t.Newcombe.Reason = "each pair was played several times"
		t.OddsRatio.Reason = t.Newcombe.Reason
		return nil
	}
	newcombe, err := stats.NewcombeInterval(table.BothPass, table.Losses, table.Gains, table.BothFail, s.Confidence)
	if err != nil {
		return fmt.Errorf("interval of the difference: %w", err)
	}
	t.Newcombe = limits(newcombe)
	odds, err := stats.ConditionalOddsRatio(t.Losses, t.Gains, s.Confidence)
	if err != nil {
		return fmt.Errorf("odds ratio: %w", err)
	}
	t.OddsRatio = Odds{Ratio: odds.Ratio, Unbounded: odds.Unbounded, Reason: odds.Reason}
	if odds.Exact != nil {
		t.OddsRatio.Low, t.OddsRatio.High = &odds.Exact.Low, odds.Exact.High
		t.OddsRatio.Unbounded = t.OddsRatio.Unbounded || odds.Exact.Unbounded
	}
	return nil
}

// plan finds what the margin and so many pairs can say.
func (t *Test) plan(groups []group, s Settings) error {
	list := counts(groups)
	losses, gains, pairs := t.Losses, t.Gains, t.Pairs
	if t.Clustered && losses+gains == 0 && disagreements(list) == 0 {
		pairs = len(list) // each session may be one pair over and over
	}
	ni, err := stats.NonInferiority(losses, gains, pairs, s.Margin, s.Alpha)
	if err != nil {
		return fmt.Errorf("non-inferiority: %w", err)
	}
	t.NonInferior, t.PerfectRunPasses, t.PNonInferior = ni.NonInferior, ni.PerfectRunPasses, ni.P
	if ni.PExact != nil && *ni.PExact > *ni.P {
		t.PNonInferior = ni.PExact
	}
	if !t.Clustered {
		return nil
	}
	perfect, err := stats.NonInferiority(0, 0, len(list), s.Margin, s.Alpha)
	if err != nil {
		return fmt.Errorf("non-inferiority: %w", err)
	}
	t.PerfectRunPasses = perfect.NonInferior
	shrunk, err := sessionInterval(list, 1-2*s.Alpha)
	if err != nil {
		return fmt.Errorf("non-inferiority by session groups: %w", err)
	}
	within := shrunk.Interval != nil && shrunk.Interval.High < s.Margin
	if t.Replicates > 1 {
		t.NonInferior, t.PNonInferior = within, nil // the means are what was planned to be looked at
		return nil
	}
	t.NonInferior = t.NonInferior && within
	return nil
}

// detectable finds the smallest loss rate that so many pairs find, at the level at which
// the test can block. Sessions count as one pair each: how far their fixtures repeat each
// other is not known before a run.
func (t *Test) detectable(level float64, s Settings) error {
	if s.Stop == StopEarly {
		t.DetectableReason = "what may be looked at at any time finds less than a test that looks once"
		return nil
	}
	pairs := t.Pairs
	if t.Clustered {
		pairs = t.Groups
	}
	found, err := stats.SmallestDetectable(pairs, 0, level, s.Power)
	if err != nil {
		return fmt.Errorf("smallest detectable loss: %w", err)
	}
	t.SmallestDetectable = found.LossRate
	return nil
}

// P is the p value that decides: that of the sign-flip, or the anytime one where the
// run may stop as soon as harm is certain.
func (t *Test) P(s Settings) float64 {
	if s.Stop == StopEarly {
		return t.Sequential.PAnytime
	}
	return t.PCluster
}

// group is what a session group contributes.
type group struct {
	name string
	stats.Cluster
}

func counts(groups []group) []stats.Cluster {
	list := make([]stats.Cluster, len(groups))
	for i := range groups {
		list[i] = groups[i].Cluster
	}
	return list
}

// clusters sums the replayed, scored pairs by session group, in the order of the
// groups' names. A fixture that was planned to be played several times counts with the
// mean of its plays.
func clusters(pairs, again []pairing.Pair, planned int) ([]group, error) {
	type play struct{ reference, candidate bool }
	plays := map[string]map[fixtures.Hash][]play{} // by group and fixture, in the order of the replicates
	for _, list := range [][]pairing.Pair{pairs, again} {
		for i := range list {
			p := &list[i]
			if p.By != pairing.Replayed || p.Replicate >= planned || !p.Cell.Scored() {
				continue
			}
			if plays[p.Group] == nil {
				plays[p.Group] = map[fixtures.Hash][]play{}
			}
			plays[p.Group][p.Fixture] = append(plays[p.Group][p.Fixture], play{
				p.Cell == pairing.BothPass || p.Cell == pairing.Loss, p.Cell == pairing.BothPass || p.Cell == pairing.Gain,
			})
		}
	}
	sum := func(items map[fixtures.Hash][]play, most int) (stats.Cluster, error) {
		var replicates []stats.Replicates
		for _, list := range items {
			var r stats.Replicates
			for _, p := range list[:min(most, len(list))] {
				r.RefRuns++
				r.CandRuns++
				if p.reference {
					r.RefPassed++
				}
				if p.candidate {
					r.CandPassed++
				}
			}
			replicates = append(replicates, r)
		}
		return stats.ReplicatedCluster(replicates)
	}
	list := []group{}
	for _, name := range slices.Sorted(maps.Keys(plays)) {
		items := plays[name]
		c, err := sum(items, planned)
		if err != nil {
			// Too many different numbers of plays to put over one denominator: take as many
			// of each fixture as all have.
			fewest := planned
			for _, list := range items {
				fewest = min(fewest, len(list))
			}
			c, err = sum(items, fewest)
		}
		if err != nil {
			return nil, fmt.Errorf("session group %s: %w", name, err)
		}
		list = append(list, group{name, c})
	}
	return list, nil
}
