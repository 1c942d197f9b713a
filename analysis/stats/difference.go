package stats

import (
	"fmt"
	"math"
)

// All intervals of this file estimate (losses-gains)/n and mirror exactly when
// losses and gains are swapped.

// TangoInterval estimates the difference (losses-gains)/n, positive if the
// candidate is worse, with Tango's score interval: all differences that the
// two-sided score test of level 1-conf does not reject. It is the interval to
// use by default. It stays within [-1, 1], has a sensible width for zero cells
// (without a discordant pair it is +-z^2/(n+z^2)), and inverts the statistic
// of [NonInferiority].
//
//	T. Tango, Statistics in Medicine 17, 1998, p. 891-908.
//
// With n = 0 value and interval are nil and Reason is ReasonNoPairs. It is an
// error if a count is negative or above 10^9, if n < losses+gains, or if conf
// is outside (0, 1).
func TangoInterval(losses, gains, n int, conf float64) (Estimate, error) {
	return differenceInterval(losses, gains, n, conf, tangoLimits)
}

// WaldInterval is the textbook interval
//
//	delta +- z sqrt(losses + gains - (losses-gains)^2/n) / n.
//
// It is here for comparison with other tools and must not be a default: without
// a discordant pair it has no width. The limits are not cut at -1 and 1.
//
// Undefined values and errors are those of [TangoInterval].
func WaldInterval(losses, gains, n int, conf float64) (Estimate, error) {
	return differenceInterval(losses, gains, n, conf, waldLimits)
}

// AgrestiMinInterval is the Wald interval after adding 1/2 to all four cells of
// the table, a quick check of the others. The limits are not cut at -1 and 1.
//
//	A. Agresti, Y. Min, Statistics in Medicine 24, 2005, p. 729-740.
//
// Undefined values and errors are those of [TangoInterval].
func AgrestiMinInterval(losses, gains, n int, conf float64) (Estimate, error) {
	return differenceInterval(losses, gains, n, conf, func(b, c, n, z float64) (low, high float64) {
		return waldLimits(b+0.5, c+0.5, n+2, z)
	})
}

// BonettPriceInterval is the Wald interval after adding 1 to losses and gains,
// a quick check of the others. The limits are not cut at -1 and 1.
//
//	D. Bonett, R. Price, Journal of Educational and Behavioral Statistics 37,
//	2012, p. 479-488.
//
// Undefined values and errors are those of [TangoInterval].
func BonettPriceInterval(losses, gains, n int, conf float64) (Estimate, error) {
	return differenceInterval(losses, gains, n, conf, func(b, c, n, z float64) (low, high float64) {
		return waldLimits(b+1, c+1, n+2, z)
	})
}

// NewcombeInterval is Newcombe's method 10: the Wilson limits of the two pass
// rates, combined with the correlation of the arms, whose numerator is
// corrected for continuity. It needs the whole table, but no iteration.
//
//	R. Newcombe, Statistics in Medicine 17, 1998, p. 2635-2650.
//
// Undefined values and errors are those of [TangoInterval].
func NewcombeInterval(bothPass, losses, gains, bothFail int, conf float64) (Estimate, error) {
	return newcombeInterval(bothPass, losses, gains, bothFail, conf, true)
}

// NewcombeUncorrectedInterval is Newcombe's method 8, which takes the
// correlation as it is. Papers and packages that say only "Newcombe" may mean
// either.
//
// Undefined values and errors are those of [TangoInterval].
func NewcombeUncorrectedInterval(bothPass, losses, gains, bothFail int, conf float64) (Estimate, error) {
	return newcombeInterval(bothPass, losses, gains, bothFail, conf, false)
}

func newcombeInterval(bothPass, losses, gains, bothFail int, conf float64, corrected bool) (Estimate, error) {
	if bothPass < 0 || bothFail < 0 || bothPass > maxCount || bothFail > maxCount {
		return Estimate{}, fmt.Errorf("stats: counts %d and %d of concordant pairs are not in 0..%d", bothPass, bothFail, maxCount)
	}
	n := bothPass + losses + gains + bothFail
	return differenceInterval(losses, gains, n, conf, func(b, c, n, z float64) (low, high float64) {
		a, d := float64(bothPass), float64(bothFail)
		phi := correlation(a, b, c, d, corrected)
		reference, candidate := wilsonRate(a+b, n, z), wilsonRate(a+c, n, z)
		return -newcombeUpper(candidate, reference, phi), newcombeUpper(reference, candidate, phi)
	})
}

// newcombeUpper returns the upper limit of x's rate minus y's.
func newcombeUpper(x, y rate, phi float64) float64 {
	up, down := x.high-x.value, y.value-y.low
	// up^2 - 2 phi up down + down^2, so written that it cannot be negative and
	// is 0 where the arms never differ.
	square := (up-down)*(up-down) + 2*(1-phi)*up*down
	return x.value - y.value + math.Sqrt(square)
}

// correlation is phi of the table, and 0 where a margin is empty.
func correlation(a, b, c, d float64, corrected bool) float64 {
	margins := (a + b) * (c + d) * (a + c) * (b + d)
	if margins == 0 {
		return 0
	}
	numerator := a*d - b*c
	if corrected && numerator > 0 {
		numerator = max(numerator-(a+b+c+d)/2, 0)
	}
	return numerator / math.Sqrt(margins)
}

func waldLimits(b, c, n, z float64) (low, high float64) {
	delta := (b - c) / n
	half := z * math.Sqrt(max(b+c-(b-c)*(b-c)/n, 0)) / n
	return delta - half, delta + half
}

// differenceInterval checks the input and wraps a formula's limits.
func differenceInterval(losses, gains, n int, conf float64, limits func(b, c, n, z float64) (low, high float64)) (Estimate, error) {
	if err := checkPairs(losses, gains, n); err != nil {
		return Estimate{}, err
	}
	if err := checkConf(conf); err != nil {
		return Estimate{}, err
	}
	if n == 0 {
		return Estimate{Reason: ReasonNoPairs}, nil
	}
	b, c, pairs := float64(losses), float64(gains), float64(n)
	low, high := limits(b, c, pairs, confZ(conf))
	return Estimate{
		Value:    ptr((b - c) / pairs),
		Interval: &Interval{Low: low, High: high, Conf: conf},
	}, nil
}

// tangoLimits takes the lower limit from the swapped table, so that swapping
// the arms mirrors the interval to the last bit.
func tangoLimits(losses, gains, n, z float64) (low, high float64) {
	return -tangoUpper(gains, losses, n, z), tangoUpper(losses, gains, n, z)
}

// tangoUpper finds the difference at which the score statistic is -z.
func tangoUpper(losses, gains, n, z float64) float64 {
	estimate := (losses - gains) / n
	return bisect(estimate, 1, func(d float64) bool {
		return tangoExcess(losses, gains, n, d, z) < 0
	})
}

// tangoExcess is negative for d below the upper limit and positive above it. It
// is the statement "score statistic = -z" multiplied by its denominator, which
// is zero at d = 1 and, for concordant tables, at d = 0.
func tangoExcess(losses, gains, n, d, z float64) float64 {
	return n*d - (losses - gains) - z*math.Sqrt(n*tangoVariance(losses, gains, n, d))
}

// tangoVariance returns n times the variance of the estimated difference where
// the true one is d: 2q + d(1-d), q being the maximum likelihood estimate of
// the gain rate under that restriction.
func tangoVariance(losses, gains, n, d float64) float64 {
	a := 2 * n
	b := -losses - gains + (2*n-losses+gains)*d
	c := -gains * d * (1 - d)
	root := math.Sqrt(max(b*b-4*a*c, 0))
	var q float64
	switch {
	case b <= 0:
		q = (root - b) / (2 * a)
	case root+b > 0:
		// The same root without the cancellation.
		q = -2 * c / (root + b)
	}
	return max(2*q+d*(1-d), 0)
}
