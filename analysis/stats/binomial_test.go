package stats

import (
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

// exactBinomial returns P(X = k) and P(X <= k) for X ~ Bin(n, num/den), in
// rationals.
func exactBinomial(k, n int, num, den int64) (point, lower *big.Float) {
	misses := big.NewInt(den - num)
	total := new(big.Int).Exp(big.NewInt(den), big.NewInt(int64(n)), nil)
	sum, last := new(big.Int), new(big.Int)
	for j := 0; j <= k; j++ {
		last = new(big.Int).Binomial(int64(n), int64(j))
		last.Mul(last, new(big.Int).Exp(big.NewInt(num), big.NewInt(int64(j)), nil))
		last.Mul(last, new(big.Int).Exp(misses, big.NewInt(int64(n-j)), nil))
		sum.Add(sum, last)
	}
	quotient := func(x *big.Int) *big.Float {
		return new(big.Float).SetPrec(200).Quo(new(big.Float).SetPrec(200).SetInt(x), new(big.Float).SetPrec(200).SetInt(total))
	}
	return quotient(last), quotient(sum)
}

func relativeError(got float64, want *big.Float) float64 {
	w, _ := want.Float64()
	if w < 0x1p-1000 {
		return 0
	}
	diff := new(big.Float).Sub(new(big.Float).SetPrec(200).SetFloat64(got), want)
	e, _ := diff.Quo(diff, want).Float64()
	return math.Abs(e)
}

func TestBinomialAgainstRationals(t *testing.T) {
	// Denominators are powers of two, so that the float is the rational.
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 400).Draw(t, "n")
		k := rapid.IntRange(0, n).Draw(t, "k")
		num := rapid.Int64Range(1, 1023).Draw(t, "num")
		p, q := float64(num)/1024, float64(1024-num)/1024
		point, lower := exactBinomial(k, n, num, 1024)
		if e := relativeError(math.Exp(logBinomial(k, n, p, q)), point); e > 1e-12 {
			t.Fatalf("P(X = %d) of Bin(%d, %v) is off by %g", k, n, p, e)
		}
		if e := relativeError(binomialLower(k, n, p, q), lower); e > 1e-12 {
			t.Fatalf("P(X <= %d) of Bin(%d, %v) is off by %g", k, n, p, e)
		}
		if logBinomial(k, n, p, q) != logBinomial(n-k, n, q, p) {
			t.Fatalf("not symmetric at %d of %d", k, n)
		}
	})
}

func TestFairTailsMeetAtTheExactLimit(t *testing.T) {
	for n := 40; n <= exactBinomialMax; n++ {
		for k := 0; 2*k < n; k++ {
			exact, saddle := fairTailsExact(k, n), lowerTails(k, n, 0.5, 0.5)
			if math.Abs(saddle.tail/exact.tail-1) > 2e-14 || math.Abs(saddle.point/exact.point-1) > 2e-14 {
				t.Errorf("%d of %d: saddle point %v, exact %v", k, n, saddle, exact)
			}
		}
	}
}

// The median of a fair coin is where gonum's incomplete beta is .50927 (1e7).
func TestFairMedian(t *testing.T) {
	for _, half := range []int{500, 500_000, 5_000_000, 50_000_000} {
		got := lowerTails(half, 2*half, 0.5, 0.5)
		within(t, "P(X <= n/2) - P(X = n/2)/2", got.mid(), 0.5, 1e-12)
	}
}

func TestBinomialEnds(t *testing.T) {
	tests := []struct {
		k, n int
		p, q float64
		want float64
	}{
		{-1, 5, 0.3, 0.7, 0},
		{5, 5, 0.3, 0.7, 1},
		{7, 5, 0.3, 0.7, 1},
		{0, 0, 0.3, 0.7, 1},
		{2, 5, 0, 1, 1},
		{2, 5, 1, 0, 0},
		{5, 5, 1, 0, 1},
		{0, 1, 0.25, 0.75, 0.75},
	}
	for _, tt := range tests {
		if got := binomialLower(tt.k, tt.n, tt.p, tt.q); got != tt.want {
			t.Errorf("P(X <= %d) of Bin(%d, %v) = %v, want %v", tt.k, tt.n, tt.p, got, tt.want)
		}
	}
	if got := logBinomial(2, 5, 0, 1); !math.IsInf(got, -1) {
		t.Errorf("impossible outcome has log probability %v", got)
	}
}
