package stats

import (
	"fmt"
	"math"
)

// WilsonInterval estimates a proportion, x of n, with Wilson's score interval:
//
//	(x + z^2/2 +- z sqrt(x(n-x)/n + z^2/4)) / (n + z^2)
//
// The limits lie in [0, 1]; the lower is exactly 0 for x = 0 and the upper
// exactly 1 for x = n. With n = 0 value and interval are nil and Reason is
// ReasonNoPairs.
//
//	E. Wilson, JASA 22, 1927, p. 209-212.
//
// It is an error if not 0 <= x <= n <= 10^9, or if conf is outside (0, 1).
func WilsonInterval(x, n int, conf float64) (Estimate, error) {
	return proportionInterval(x, n, conf, func() (low, high float64) {
		r := wilsonRate(float64(x), float64(n), confZ(conf))
		return r.low, r.high
	})
}

// ClopperPearsonInterval estimates a proportion, x of n, with the exact
// interval: its limits are the rates at which a tail of (1-conf)/2 begins at x.
// It always covers at least conf. For x = 0 at conf 0.9 the upper limit
// 1 - 0.05^(1/n) is what a clean run of n proves at one-sided 95%.
//
//	C. Clopper, E. Pearson, Biometrika 26, 1934, p. 404-413.
//
// Undefined values and errors are those of [WilsonInterval].
func ClopperPearsonInterval(x, n int, conf float64) (Estimate, error) {
	return proportionInterval(x, n, conf, func() (low, high float64) {
		alpha := (1 - conf) / 2
		return exactLower(x, n, alpha, exactP), 1 - exactLower(n-x, n, alpha, exactP)
	})
}

func proportionInterval(x, n int, conf float64, limits func() (low, high float64)) (Estimate, error) {
	if x < 0 || x > n || n > maxCount {
		return Estimate{}, fmt.Errorf("stats: %d of %d is not a proportion", x, n)
	}
	if err := checkConf(conf); err != nil {
		return Estimate{}, err
	}
	if n == 0 {
		return Estimate{Reason: ReasonNoPairs}, nil
	}
	low, high := limits()
	return Estimate{
		Value:    ptr(float64(x) / float64(n)),
		Interval: &Interval{Low: low, High: high, Conf: conf},
	}, nil
}

// rate is a proportion with its limits.
type rate struct{ value, low, high float64 }

// wilsonRate writes the lower limit as the product of both divided by the upper
// one: the textbook form leaves a residue of either sign at x = 0.
func wilsonRate(x, n, z float64) rate {
	sum := x + z*z/2 + z*math.Sqrt(x*(n-x)/n+z*z/4)
	r := rate{value: x / n, low: x * x / (n * sum), high: min(sum/(n+z*z), 1)}
	if x == n {
		r.high = 1
	}
	return r
}

// exactLower returns the rate at which the upper tail of Bin(n, rate) at x has
// the p value alpha, with full relative accuracy. It is bisected on our own
// tails, since gonum's inverse incomplete beta returns about 1 for a tiny
// alpha. An upper limit is one minus the lower limit of the complement.
func exactLower(x, n int, alpha float64, p func(tails) float64) float64 {
	if x == 0 {
		return 0
	}
	return bisect(0, float64(x)/float64(n), func(theta float64) bool {
		return p(lowerTails(n-x, n, 1-theta, theta)) < alpha
	})
}
