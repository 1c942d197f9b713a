package stats

import "math"

// The binomial distribution, by Loader's saddle-point expansion:
//
//	C. Loader, "Fast and Accurate Computation of Binomial Probabilities", 2000.
//
// It is written here since both library routes are wrong in the range we need:
// gonum v0.17.0's incomplete beta stops after 300 iterations without saying so
// (its median of a million fair coins is off at the seventh digit, of 10^8 at
// the first), and its Binomial.Survival is 1-CDF, which is 1e-16 for anything
// smaller. The rule here: a tail below one half is always summed, never
// subtracted from 1; one above a half is always 1 minus the other.

// exactBinomialMax is the largest n for which 2^n times a half-coin probability
// is summed in integers and exact in a float64.
const exactBinomialMax = 50

// tails is one point of a distribution with the tail that begins there and
// leads away from the centre.
type tails struct {
	point   float64 // P(X = x)
	tail    float64 // P(X at least as far out as x)
	logTail float64 // natural logarithm of tail, finite where tail underflows
}

// rest is P(X at most as far out as x), the other tail, which holds the centre.
func (t tails) rest() float64 { return 1 - t.beyond() }

// mid is the tail with half the point's weight (mid-p).
func (t tails) mid() float64 { return t.tail - t.point/2 }

// beyond is the tail without the point.
func (t tails) beyond() float64 { return t.tail - t.point }

// fairTails returns the lower tail of X ~ Bin(n, 1/2) at k, for 0 <= 2k <= n.
func fairTails(k, n int) tails {
	if n <= exactBinomialMax {
		return fairTailsExact(k, n)
	}
	// Next to the centre symmetry knows the tail and a sum would only come close,
	// which would make a two-sided p value of 1 a little less.
	if 2*k == n || 2*k+1 == n {
		point, tail := math.Exp(logBinomial(k, n, 0.5, 0.5)), 0.5
		if 2*k == n {
			tail += point / 2
		}
		return tails{point: point, tail: tail, logTail: math.Log(tail)}
	}
	return lowerTails(k, n, 0.5, 0.5)
}

func fairTailsExact(k, n int) tails {
	coefficient, sum := uint64(1), uint64(1)
	for j := 1; j <= k; j++ {
		coefficient = coefficient * uint64(n-j+1) / uint64(j)
		sum += coefficient
	}
	tail := math.Ldexp(float64(sum), -n)
	return tails{
		point:   math.Ldexp(float64(coefficient), -n),
		tail:    tail,
		logTail: math.Log(tail),
	}
}

// lowerTails returns the lower tail of X ~ Bin(n, p) at k <= n*p, roughly: above
// the mode the sum is still right but long. q is 1-p, passed so that neither
// has to be recovered from the other.
func lowerTails(k, n int, p, q float64) tails {
	logPoint := logBinomial(k, n, p, q)
	logTail := logPoint + math.Log(tailRatio(k, n, q/p))
	return tails{point: math.Exp(logPoint), tail: math.Exp(logTail), logTail: logTail}
}

// binomialLower returns P(X <= k) for X ~ Bin(n, p), q = 1-p, any integer k.
func binomialLower(k, n int, p, q float64) float64 {
	switch {
	case k < 0:
		return 0
	case k >= n || p == 0:
		return 1
	case q == 0:
		return 0
	case float64(k) > float64(n)*p:
		return 1 - lowerTails(n-k-1, n, q, p).tail
	}
	return lowerTails(k, n, p, q).tail
}

// tailRatio returns P(X <= k) / P(X = k), the odds q/p given. The terms are the
// ratios of neighbouring probabilities, so the sum needs about 6*sqrt(n) of
// them whatever k is.
func tailRatio(k, n int, odds float64) float64 {
	const negligible = 1e-17
	sum, term := 1.0, 1.0
	for j := k; j > 0; j-- {
		term *= float64(j) / float64(n-j+1) * odds
		sum += term
		if term < negligible*sum {
			break
		}
	}
	return sum
}

// logBinomial returns log P(X = k) for X ~ Bin(n, p), q = 1-p, and -Inf where
// that is impossible. The formula treats (k, p) and (n-k, q) alike, which
// makes logBinomial(k, n, p, q) == logBinomial(n-k, n, q, p) to the last bit.
func logBinomial(k, n int, p, q float64) float64 {
	switch {
	case k < 0 || k > n:
		return math.Inf(-1)
	case k == 0:
		return logAllOfOneKind(n, q, p)
	case k == n:
		return logAllOfOneKind(n, p, q)
	case p == 0 || q == 0:
		return math.Inf(-1)
	}
	total, hits, misses := float64(n), float64(k), float64(n-k)
	stirling := stirlingError(n) - (stirlingError(k) + stirlingError(n-k))
	deviance := devianceTerm(hits, total*p) + devianceTerm(misses, total*q)
	return stirling - deviance + 0.5*math.Log(total/(2*math.Pi*(hits*misses)))
}

// logAllOfOneKind returns n*log(p), through the complement where p is near 1.
func logAllOfOneKind(n int, p, q float64) float64 {
	if n == 0 {
		return 0
	}
	if q < 0.5 {
		return float64(n) * math.Log1p(-q)
	}
	return float64(n) * math.Log(p)
}

// stirlingError returns log(n!) - log(sqrt(2 pi n) (n/e)^n).
func stirlingError(n int) float64 {
	// log(n!) minus Stirling's formula, to 20 digits; the series below is
	// right to the last bit only from 16 on.
	small := [...]float64{
		0,
		0.081061466795327258220, 0.041340695955409294094, 0.027677925684998339149,
		0.020790672103765093112, 0.016644691189821192163, 0.013876128823070747999,
		0.011896709945891770095, 0.010411265261972096497, 0.0092554621827127329177,
		0.0083305634333628712565, 0.0075736754879518407950, 0.0069428401072095298657,
		0.0064089941880042070684, 0.0059513701127588477356, 0.0055547335519628013710,
	}
	if n < len(small) {
		return small[n]
	}
	const (
		s0 = 1.0 / 12
		s1 = 1.0 / 360
		s2 = 1.0 / 1260
		s3 = 1.0 / 1680
		s4 = 1.0 / 1188
		s5 = 691.0 / 360360
	)
	x := float64(n)
	y := 1 / (x * x)
	return (s0 - y*(s1-y*(s2-y*(s3-y*(s4-y*s5))))) / x
}

// devianceTerm returns x log(x/m) + m - x for x, m > 0, by a series where the
// three terms would cancel.
func devianceTerm(x, m float64) float64 {
	diff := x - m
	if math.Abs(diff) >= 0.1*(x+m) {
		return x*math.Log(x/m) - diff
	}
	v := diff / (x + m)
	sum, term := diff*v, 2*x*v
	for j := 1; ; j++ {
		term *= v * v
		next := sum + term/float64(2*j+1)
		if next == sum {
			return sum
		}
		sum = next
	}
}
