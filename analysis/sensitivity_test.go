package analysis

import (
	"slices"
	"testing"

	"github.com/doubletake-dev/doubletake/analysis/stats"
)

func sensitivity(t *testing.T, change func(*SensitivitySettings)) *Sensitivity {
	t.Helper()
	s := SensitivitySettings{Fixtures: 200, LossRate: 0.05, GainRate: 0.01, Margin: 0.05, Alpha: 0.05, Power: 0.8}
	change(&s)
	found, err := FindSensitivity(s)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestSensitivity(t *testing.T) {
	found := sensitivity(t, func(*SensitivitySettings) {})
	if found.Pairs != 200 || found.DesignEffectUnknown {
		t.Errorf("200 fixtures of their own sessions count as %d pairs", found.Pairs)
	}
	if !found.PerfectRunPasses || *found.LargestPassingLosses != 4 {
		t.Errorf("at 5%% of 200: %v, %v", found.PerfectRunPasses, found.LargestPassingLosses)
	}
	if found.PairsForMargin != (stats.CleanPairs{Score: 52, Exact: 59, Strict: 59}) {
		t.Errorf("pairs for the margin: %+v", found.PairsForMargin)
	}
	if found.CleanRunProves < 0.0148 || found.CleanRunProves > 0.0150 {
		t.Errorf("a clean run of 200 shows %v", found.CleanRunProves)
	}
	enough, err := stats.Power(*found.PairsNeeded.Pairs, 0.05, 0.01, 0.05)
	if err != nil || enough.Worse < 0.8 {
		t.Errorf("%d pairs have power %v, %v", *found.PairsNeeded.Pairs, enough.Worse, err)
	}
}

// The given gain rate has its place among the usual ones, once.
func TestSensitivityGainRates(t *testing.T) {
	for gain, want := range map[float64][]float64{
		0: {0, 0.02, 0.05}, 0.01: {0, 0.01, 0.02, 0.05}, 0.02: {0, 0.02, 0.05}, 0.05: {0, 0.02, 0.05}, 0.3: {0, 0.02, 0.05, 0.3},
	} {
		found := sensitivity(t, func(s *SensitivitySettings) { s.GainRate, s.LossRate = gain, 0.4 })
		if got := found.GainRates(); !slices.Equal(got, want) {
			t.Errorf("gain rate %v: %v, want %v", gain, got, want)
		}
	}
}

// With fewer groups than fixtures it is as if there were only as many fixtures.
func TestSensitivityGroups(t *testing.T) {
	grouped := sensitivity(t, func(s *SensitivitySettings) { s.Groups = 40 })
	small := sensitivity(t, func(s *SensitivitySettings) { s.Fixtures = 40 })
	if !grouped.DesignEffectUnknown || grouped.Pairs != 40 || grouped.PerfectRunPasses || grouped.LargestPassingReason != ReasonPerfectRunFails {
		t.Errorf("200 fixtures in 40 groups: %+v", grouped)
	}
	if grouped.Tests != small.Tests || *grouped.Detectable[0].LossRate != *small.Detectable[0].LossRate {
		t.Errorf("%+v, want the power of 40 pairs, %+v", grouped.Tests, small.Tests)
	}
}

func TestSensitivityNothingToFind(t *testing.T) {
	found := sensitivity(t, func(s *SensitivitySettings) { s.LossRate = 0.01 })
	if found.PairsNeeded.Pairs != nil || found.PairsNeeded.Reason != ReasonNotWorse {
		t.Errorf("equal rates need %+v pairs", found.PairsNeeded)
	}
}

func TestSensitivityErrors(t *testing.T) {
	for name, change := range map[string]func(*SensitivitySettings){
		"no fixtures": func(s *SensitivitySettings) { s.Fixtures = 0 },
		"more groups": func(s *SensitivitySettings) { s.Groups = 201 },
		"no groups":   func(s *SensitivitySettings) { s.Groups = -1 },
		"rates":       func(s *SensitivitySettings) { s.LossRate = 1 },
		"margin":      func(s *SensitivitySettings) { s.Margin = 0 },
		"level":       func(s *SensitivitySettings) { s.Alpha = 0.5 },
		"power":       func(s *SensitivitySettings) { s.Power = 1 },
	} {
		s := SensitivitySettings{Fixtures: 200, LossRate: 0.05, GainRate: 0.01, Margin: 0.05, Alpha: 0.05, Power: 0.8}
		change(&s)
		if found, err := FindSensitivity(s); err == nil {
			t.Errorf("%s: %+v", name, found)
		}
	}
}
