package stats

import (
	"fmt"
	"math"
)

// NonInferiorityTest asks whether the candidate is worse by less than Margin.
type NonInferiorityTest struct {
	Losses int     `json:"losses"`
	Gains  int     `json:"gains"`
	Pairs  int     `json:"pairs"`
	Margin float64 `json:"margin"` // largest tolerable difference, in (0, 1)
	Alpha  float64 `json:"alpha"`  // one-sided level, in (0, 0.5)

	// Z is Tango's score statistic at the margin, negative if the difference
	// is below it, and P its lower normal tail. Nil without pairs.
	Z *float64 `json:"z"`
	P *float64 `json:"p"`

	// PExact is P(Bin(Pairs, Margin) <= Losses), the exact test where there are
	// no gains. There the normal tail is slightly liberal, so both must pass.
	// Nil if there are gains, or no pairs.
	PExact *float64 `json:"p_exact"`

	// Upper is the upper limit of the Tango interval at confidence 1-2*Alpha;
	// Z passes if and only if it is below Margin. Nil without pairs.
	Upper *float64 `json:"upper"`

	// NonInferior is the verdict: every test above that exists has p <= Alpha.
	NonInferior bool `json:"non_inferior"`

	// PerfectRunPasses says whether a run of that many pairs without a loss or
	// a gain would be non-inferior. If not, the suite is too small for the
	// margin, and a failure says nothing about the candidate.
	PerfectRunPasses bool `json:"perfect_run_passes"`

	Reason string `json:"reason,omitempty"` // ReasonNoPairs, or empty
}

// NonInferiority tests the null hypothesis that the difference (losses-gains)/n
// is at least margin against the alternative that it is smaller, at one-sided
// level alpha (0.05 corresponds to a 90% interval). The margin must have been
// fixed before the run.
//
//	T. Tango, Statistics in Medicine 17, 1998, p. 891-908.
//
// It is an error if a count is negative or above 10^9, if n < losses+gains, or
// if margin is outside (0, 1) or alpha outside (0, 0.5).
func NonInferiority(losses, gains, n int, margin, alpha float64) (NonInferiorityTest, error) {
	if err := checkPairs(losses, gains, n); err != nil {
		return NonInferiorityTest{}, err
	}
	if err := checkMargin(margin); err != nil {
		return NonInferiorityTest{}, err
	}
	if err := checkAlpha(alpha); err != nil {
		return NonInferiorityTest{}, err
	}
	test := NonInferiorityTest{Losses: losses, Gains: gains, Pairs: n, Margin: margin, Alpha: alpha}
	if n == 0 {
		test.Reason = ReasonNoPairs
		return test, nil
	}
	z := tangoZ(float64(losses), float64(gains), float64(n), margin)
	test.Z, test.P = ptr(z), ptr(normalLower(z))
	test.Upper = ptr(tangoUpper(float64(losses), float64(gains), float64(n), normalUpper(alpha)))
	if gains == 0 {
		test.PExact = ptr(binomialLower(losses, n, margin, 1-margin))
	}
	test.NonInferior = nonInferior(losses, gains, n, margin, alpha)
	test.PerfectRunPasses = nonInferior(0, 0, n, margin, alpha)
	return test, nil
}

func checkMargin(margin float64) error {
	if !(margin > 0 && margin < 1) {
		return fmt.Errorf("stats: margin %v is not in (0, 1)", margin)
	}
	return nil
}

// nonInferior is the strict rule: the score test and, without gains, the exact
// one as well.
func nonInferior(losses, gains, n int, margin, alpha float64) bool {
	if !scoreNonInferior(losses, gains, n, margin, alpha) {
		return false
	}
	return gains > 0 || binomialLower(losses, n, margin, 1-margin) <= alpha
}

// scoreNonInferior compares on the scale on which tangoUpper searches, so that
// test and interval agree.
func scoreNonInferior(losses, gains, n int, margin, alpha float64) bool {
	b, c, pairs := float64(losses), float64(gains), float64(n)
	return tangoExcess(b, c, pairs, margin, normalUpper(alpha)) >= 0
}

// tangoZ is the score statistic for a difference d strictly between 0 and 1,
// where its variance cannot be zero.
func tangoZ(losses, gains, n, d float64) float64 {
	return (losses - gains - n*d) / math.Sqrt(n*tangoVariance(losses, gains, n, d))
}
