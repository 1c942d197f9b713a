package stats

import (
	"fmt"
	"math"
	"sort"
)

// Power is computed by enumeration, not by a formula: the number of discordant
// pairs m is Bin(n, lossRate+gainRate), and given m the losses are
// Bin(m, lossRate/(lossRate+gainRate)), so that it is a sum over m of binomial
// tails. Connor's and Miettinen's formulas are there as start values and for
// comparison.
//
// None of this may be fed with rates observed in the run at hand: "observed
// power" is a restatement of its p value.

// maxPowerPairs bounds n in power calculations, which take time n*sqrt(n).
const maxPowerPairs = 100_000

// Sides says how many directions a test looks in.
type Sides int

const (
	OneSided Sides = 1 // is the candidate worse?
	TwoSided Sides = 2 // do the arms differ?
)

// PairPower are the probabilities with which the tests of [McNemar] reject, each
// in [0, 1]. The fields are named after the p values they compare with alpha.
type PairPower struct {
	Worse    float64 `json:"worse"`
	Two      float64 `json:"two"`
	MidWorse float64 `json:"mid_worse"`
	MidTwo   float64 `json:"mid_two"`
}

// Power returns the power of n pairs at level alpha if a pair is a loss with
// probability lossRate and a gain with probability gainRate. With equal rates
// it is the size of the tests.
//
// It is an error if n is not in 0..100000, if a rate is negative or their sum
// above 1, or if alpha is outside (0, 0.5).
func Power(n int, lossRate, gainRate, alpha float64) (PairPower, error) {
	if err := checkPlan(n, alpha); err != nil {
		return PairPower{}, err
	}
	if err := checkRates(lossRate, gainRate); err != nil {
		return PairPower{}, err
	}
	power := func(sides Sides, p func(tails) float64) float64 {
		return rejection(n, lossRate, gainRate, func(m int) region {
			return rejectRegion(m, alpha, sides, p)
		})
	}
	return PairPower{
		Worse:    power(OneSided, exactP),
		Two:      power(TwoSided, exactP),
		MidWorse: power(OneSided, tails.mid),
		MidTwo:   power(TwoSided, tails.mid),
	}, nil
}

// NIPower are the probabilities with which a run is found non-inferior.
type NIPower struct {
	// Score is for Tango's test alone.
	Score float64 `json:"score"`
	// Strict is for the rule of [NonInferiority], which without gains asks for
	// the exact test as well.
	Strict float64 `json:"strict"`
}

// NonInferiorityPower returns the probability that n pairs are found
// non-inferior at margin and one-sided level alpha, if a pair is a loss with
// probability lossRate and a gain with probability gainRate.
//
// It is an error if n is not in 0..100000, if the rates are not those of one
// distribution, or if margin is outside (0, 1) or alpha outside (0, 0.5).
func NonInferiorityPower(n int, lossRate, gainRate, margin, alpha float64) (NIPower, error) {
	if err := checkPlan(n, alpha); err != nil {
		return NIPower{}, err
	}
	if err := checkRates(lossRate, gainRate); err != nil {
		return NIPower{}, err
	}
	if err := checkMargin(margin); err != nil {
		return NIPower{}, err
	}
	if n == 0 {
		return NIPower{}, nil
	}
	power := func(passes func(losses, gains int) bool) float64 {
		return rejection(n, lossRate, gainRate, func(m int) region {
			return passRegion(m, passes)
		})
	}
	return NIPower{
		Score: power(func(losses, gains int) bool {
			return scoreNonInferior(losses, gains, n, margin, alpha)
		}),
		Strict: power(func(losses, gains int) bool {
			return nonInferior(losses, gains, n, margin, alpha)
		}),
	}, nil
}

// Detectable is the smallest effect that a suite can be expected to find.
type Detectable struct {
	Pairs    int     `json:"pairs"`
	GainRate float64 `json:"gain_rate"` // assumed share of gains
	Alpha    float64 `json:"alpha"`     // one-sided level
	Power    float64 `json:"power"`     // probability of finding it

	// LossRate is the smallest share of losses that the exact one-sided test
	// finds with that power, and Difference is LossRate - GainRate. Both are
	// nil, with ReasonUnreachable, if no loss rate is found with it.
	LossRate   *float64 `json:"loss_rate"`
	Difference *float64 `json:"difference"`
	Reason     string   `json:"reason,omitempty"`
}

// SmallestDetectable answers what n pairs cannot see: a candidate with
// fewer losses than LossRate is found by the exact one-sided test at level
// alpha with less than the given power. It is a property of the plan, to
// be printed beside every verdict, and not of the data.
//
// It is an error if n is not in 0..100000, if gainRate is outside [0, 1], or
// if alpha is outside (0, 0.5) or power outside (0, 1).
func SmallestDetectable(n int, gainRate, alpha, power float64) (Detectable, error) {
	if err := checkPlan(n, alpha); err != nil {
		return Detectable{}, err
	}
	if err := checkRates(0, gainRate); err != nil {
		return Detectable{}, err
	}
	if err := checkPower(power); err != nil {
		return Detectable{}, err
	}
	answer := Detectable{Pairs: n, GainRate: gainRate, Alpha: alpha, Power: power}
	regions := remember(func(m int) region { return rejectRegion(m, alpha, OneSided, exactP) })
	// More losses can only lower the p value, so there is one turning point;
	// and without losses the test never rejects, so it is above 0.
	missed := func(lossRate float64) bool {
		return rejection(n, lossRate, gainRate, regions) < power
	}
	highest := 1 - gainRate
	if missed(highest) {
		answer.Reason = ReasonUnreachable
		return answer, nil
	}
	rate := bisect(0, highest, missed)
	answer.LossRate, answer.Difference = ptr(rate), ptr(rate-gainRate)
	return answer, nil
}

// SampleSize is a number of pairs. Pairs is nil, with ReasonUnreachable, where
// no number up to 100000 is enough.
type SampleSize struct {
	Pairs  *int   `json:"pairs"`
	Reason string `json:"reason,omitempty"`
}

// PairsNeeded returns how many pairs the exact test needs to find a candidate
// with lossRate > gainRate with the given power. Discreteness makes the power
// rise in a saw-tooth; the answer is a number that reaches the power while the
// 20 numbers before it do not.
//
// It is an error if the rates are not those of one distribution or lossRate is
// not above gainRate, if alpha is outside (0, 0.5), power outside (0, 1), or
// sides neither OneSided nor TwoSided.
func PairsNeeded(lossRate, gainRate, alpha, power float64, sides Sides) (SampleSize, error) {
	if err := checkDesign(lossRate, gainRate, alpha, power, sides); err != nil {
		return SampleSize{}, err
	}
	regions := remember(func(m int) region { return rejectRegion(m, alpha, sides, exactP) })
	enough := func(n int) bool { return rejection(n, lossRate, gainRate, regions) >= power }
	below, n := 0, 1
	for !enough(n) {
		if below, n = n, 2*n; n > maxPowerPairs {
			return SampleSize{Reason: ReasonUnreachable}, nil
		}
	}
	for n-below > 1 {
		if mid := (below + n) / 2; enough(mid) {
			n = mid
		} else {
			below = mid
		}
	}
	const tooth = 20
	for back := 1; back <= tooth && n > back; back++ {
		if enough(n - back) {
			n, back = n-back, 0
		}
	}
	return SampleSize{Pairs: &n}, nil
}

// ConnorPairs is Connor's formula for the number of pairs that the uncorrected
// chi-square test needs:
//
//	(z_a sqrt(psi) + z_b sqrt(psi - d^2))^2 / d^2,  psi = loss+gain, d = loss-gain.
//
// It errs on the safe side for that test; the exact one needs some ten percent
// more. Errors are those of [PairsNeeded].
//
//	R. Connor, Biometrics 43, 1987, p. 207-211.
func ConnorPairs(lossRate, gainRate, alpha, power float64, sides Sides) (int, error) {
	if err := checkDesign(lossRate, gainRate, alpha, power, sides); err != nil {
		return 0, err
	}
	psi, d := lossRate+gainRate, lossRate-gainRate
	za, zb := normalUpper(alpha/float64(sides)), normalUpper(1-power)
	root := za*math.Sqrt(psi) + zb*math.Sqrt(psi-d*d)
	return pairCount(root * root / (d * d))
}

// MiettinenPairs is Miettinen's formula for the same, less conservative and
// sometimes a little short:
//
//	(z_a psi + z_b sqrt(psi^2 - d^2 (3+psi)/4))^2 / (psi d^2).
//
// Errors are those of [PairsNeeded].
//
//	O. Miettinen, Biometrics 24, 1968, p. 339-352.
func MiettinenPairs(lossRate, gainRate, alpha, power float64, sides Sides) (int, error) {
	if err := checkDesign(lossRate, gainRate, alpha, power, sides); err != nil {
		return 0, err
	}
	psi, d := lossRate+gainRate, lossRate-gainRate
	za, zb := normalUpper(alpha/float64(sides)), normalUpper(1-power)
	root := za*psi + zb*math.Sqrt(psi*psi-d*d*(3+psi)/4)
	return pairCount(root * root / (psi * d * d))
}

// pairCount rounds up, and refuses what no suite could have.
func pairCount(n float64) (int, error) {
	if n > maxCount {
		return 0, fmt.Errorf("stats: more than %d pairs needed", maxCount)
	}
	return int(math.Ceil(n)), nil
}

func checkPlan(n int, alpha float64) error {
	if n < 0 || n > maxPowerPairs {
		return fmt.Errorf("stats: %d pairs are not in 0..%d", n, maxPowerPairs)
	}
	return checkAlpha(alpha)
}

func checkPower(power float64) error {
	if !(power > 0 && power < 1) {
		return fmt.Errorf("stats: power %v is not in (0, 1)", power)
	}
	return nil
}

func checkDesign(lossRate, gainRate, alpha, power float64, sides Sides) error {
	if err := checkRates(lossRate, gainRate); err != nil {
		return err
	}
	if lossRate <= gainRate {
		return fmt.Errorf("stats: loss rate %v is not above gain rate %v", lossRate, gainRate)
	}
	if err := checkAlpha(alpha); err != nil {
		return err
	}
	if sides != OneSided && sides != TwoSided {
		return fmt.Errorf("stats: a test has one or two sides, not %d", sides)
	}
	return checkPower(power)
}

// region is a set of outcomes of m discordant pairs: losses <= low or
// losses >= high.
type region struct{ low, high int }

func exactP(t tails) float64 { return t.tail }

// rejectRegion returns where a test of m discordant pairs rejects, p giving its
// one-sided p value from the tail on the smaller side.
func rejectRegion(m int, alpha float64, sides Sides, p func(tails) float64) region {
	// The largest count in the lower half that is small enough, or -1.
	k := lastTrue((m-1)/2, func(k int) bool {
		return float64(sides)*p(fairTails(k, m)) <= alpha
	})
	if sides == OneSided {
		return region{low: -1, high: m - k}
	}
	return region{low: k, high: m - k}
}

// passRegion returns for which losses, out of m discordant pairs, a test passes
// that passes the more easily the fewer losses there are.
func passRegion(m int, passes func(losses, gains int) bool) region {
	low := lastTrue(m, func(losses int) bool { return passes(losses, m-losses) })
	return region{low: low, high: m + 1}
}

// lastTrue returns the largest k in 0..top for which holds is true, or -1, given
// that it is true up to there and false from there on.
func lastTrue(top int, holds func(int) bool) int {
	return sort.Search(top+1, func(k int) bool { return !holds(k) }) - 1
}

// remember keeps the regions it has computed, for searches over rates and n.
func remember(regions func(m int) region) func(m int) region {
	known := map[int]region{}
	return func(m int) region {
		r, ok := known[m]
		if !ok {
			r = regions(m)
			known[m] = r
		}
		return r
	}
}

// rejection returns the probability that n pairs fall into the region that
// belongs to their number of discordant pairs.
func rejection(n int, lossRate, gainRate float64, regions func(m int) region) float64 {
	const negligible = 1e-20 // beside the 1e5 terms and the accuracy of power
	discordance := lossRate + gainRate
	theta, rest := 1.0, 0.0
	if discordance > 0 {
		theta, rest = lossRate/discordance, gainRate/discordance
	}
	weigh := func(m int) float64 { return math.Exp(logBinomial(m, n, discordance, 1-discordance)) }
	// The weights fall to either side of the mode, and most of them are negligible.
	mode := min(int(float64(n+1)*discordance), n)
	first := mode
	for first > 0 && weigh(first-1) >= negligible {
		first--
	}
	sum := 0.0
	for m := first; m <= n; m++ {
		weight := weigh(m)
		if weight < negligible {
			if m > mode {
				break
			}
			continue
		}
		r := regions(m)
		sum += weight * (binomialLower(r.low, m, theta, rest) + binomialLower(m-r.high, m, rest, theta))
	}
	return min(sum, 1)
}
