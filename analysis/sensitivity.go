package analysis

import (
	"fmt"

	"github.com/doubletake-dev/doubletake/analysis/stats"
)

// SensitivitySettings describe a plan: a set that could be played, and what it is
// asked to see. None of it may come from the run that it is to be compared with.
type SensitivitySettings struct {
	Fixtures int // in the set
	Groups   int // session groups in the set, 1..Fixtures; 0 means as many as fixtures

	LossRate float64 // probability that a pair is a loss
	GainRate float64 // probability that a pair is a gain
	Margin   float64 // largest tolerable difference
	Alpha    float64 // one-sided level
	Power    float64 // probability of finding what is there
}

// Sensitivity is what a set of a size can and can't see, by exact enumeration.
type Sensitivity struct {
	Fixtures int `json:"fixtures"`
	Groups   int `json:"groups"`
	// Pairs is the number of independent pairs that everything below is for. Where
	// fixtures share a group, how far they repeat each other (the design effect) is
	// unknown before the run, and Pairs is the number of groups: as if a whole group
	// said no more than one fixture of it.
	Pairs               int  `json:"pairs"`
	DesignEffectUnknown bool `json:"design_effect_unknown"`

	LossRate float64 `json:"loss_rate"`
	GainRate float64 `json:"gain_rate"`
	Margin   float64 `json:"margin"`
	Alpha    float64 `json:"alpha"`
	Power    float64 `json:"power"`

	// Detectable are the smallest loss rates found with Power, at several gain rates.
	Detectable []stats.Detectable `json:"smallest_detectable"`

	// PerfectRunPasses says whether a run without a single disagreement would be
	// non-inferior at the margin. LargestPassingLosses is with how many losses, and no
	// gains, a run would be; it is nil where not even a perfect one is.
	PerfectRunPasses     bool             `json:"perfect_run_passes"`
	LargestPassingLosses *int             `json:"largest_passing_losses"`
	LargestPassingReason string           `json:"largest_passing_losses_reason,omitempty"`
	PairsForMargin       stats.CleanPairs `json:"pairs_for_margin"`
	// CleanRunProves is the one-sided upper limit of the loss rate, at 1-Alpha, after
	// a run without a loss.
	CleanRunProves float64 `json:"clean_run_proves"`

	// At the given rates: the power of the tests, and how many pairs the exact
	// one-sided test needs for Power, which no number is unless LossRate is above
	// GainRate.
	Tests       stats.PairPower  `json:"tests"`
	PairsNeeded stats.SampleSize `json:"pairs_needed"`
	// EqualPasses is the probability that an equally good candidate, with losses and
	// gains both at GainRate, is found non-inferior.
	EqualPasses stats.NIPower `json:"equal_passes"`
}

// The reasons for what is undefined in a Sensitivity, beside those of stats.
const (
	ReasonPerfectRunFails = "perfect_run_fails"
	ReasonNotWorse        = "loss_rate_not_above_gain_rate"
)

// usualGainRates are those for which a plan is shown: a judge without noise, and with
// some.
var usualGainRates = []float64{0, 0.02, 0.05}

// FindSensitivity answers for a plan. It is an error if the plan is impossible.
func FindSensitivity(s SensitivitySettings) (*Sensitivity, error) {
	if s.Groups == 0 {
		s.Groups = s.Fixtures
	}
	if s.Fixtures < 1 {
		return nil, fmt.Errorf("%d fixtures can't see anything", s.Fixtures)
	}
	if s.Groups < 1 || s.Groups > s.Fixtures {
		return nil, fmt.Errorf("%d session groups are not in 1..%d, the number of fixtures", s.Groups, s.Fixtures)
	}
	found := &Sensitivity{
		Fixtures: s.Fixtures, Groups: s.Groups, Pairs: s.Groups, DesignEffectUnknown: s.Groups < s.Fixtures,
		LossRate: s.LossRate, GainRate: s.GainRate, Margin: s.Margin, Alpha: s.Alpha, Power: s.Power,
	}
	if err := found.detect(); err != nil {
		return nil, err
	}
	if err := found.nonInferiority(); err != nil {
		return nil, err
	}
	return found, found.atRates()
}

// GainRates are the rates for which Detectable answers, ascending.
func (f *Sensitivity) GainRates() []float64 {
	rates := make([]float64, len(f.Detectable))
	for i, d := range f.Detectable {
		rates[i] = d.GainRate
	}
	return rates
}

func (f *Sensitivity) detect() error {
	given := false
	for _, gain := range usualGainRates {
		if !given && f.GainRate <= gain {
			given = true
			if f.GainRate < gain {
				if err := f.detectAt(f.GainRate); err != nil {
					return err
				}
			}
		}
		if err := f.detectAt(gain); err != nil {
			return err
		}
	}
	if given {
		return nil
	}
	return f.detectAt(f.GainRate)
}

func (f *Sensitivity) detectAt(gain float64) error {
	d, err := stats.SmallestDetectable(f.Pairs, gain, f.Alpha, f.Power)
	if err != nil {
		return err
	}
	f.Detectable = append(f.Detectable, d)
	return nil
}

func (f *Sensitivity) nonInferiority() error {
	losses, err := stats.LargestPassingLosses(f.Pairs, f.Margin, f.Alpha)
	if err != nil {
		return err
	}
	if losses >= 0 {
		f.PerfectRunPasses, f.LargestPassingLosses = true, &losses
	} else {
		f.LargestPassingReason = ReasonPerfectRunFails
	}
	if f.PairsForMargin, err = stats.PairsForMargin(f.Margin, f.Alpha); err != nil {
		return err
	}
	// One-sided at alpha is two-sided at twice that.
	clean, err := stats.ClopperPearsonInterval(0, f.Pairs, 1-2*f.Alpha)
	if err != nil {
		return err
	}
	f.CleanRunProves = clean.Interval.High
	f.EqualPasses, err = stats.NonInferiorityPower(f.Pairs, f.GainRate, f.GainRate, f.Margin, f.Alpha)
	return err
}

func (f *Sensitivity) atRates() (err error) {
	if f.Tests, err = stats.Power(f.Pairs, f.LossRate, f.GainRate, f.Alpha); err != nil {
		return err
	}
	if f.LossRate <= f.GainRate {
		f.PairsNeeded.Reason = ReasonNotWorse
		return nil
	}
	f.PairsNeeded, err = stats.PairsNeeded(f.LossRate, f.GainRate, f.Alpha, f.Power, stats.OneSided)
	return err
}
