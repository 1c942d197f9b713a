package stats

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mathext"
)

// The reasons for which a value in this package can be undefined. They are
// stable and go into reports as they are.
const (
	// ReasonNoPairs: there is nothing to compare.
	ReasonNoPairs = "no_pairs"
	// ReasonNoDiscordant: every pair agrees, so that p is 1 and chi-square is
	// 0/0. It is no evidence of safety.
	ReasonNoDiscordant = "no_discordant_pairs"
	// ReasonAllDifferencesZero: in every cluster losses and gains cancel.
	ReasonAllDifferencesZero = "all_cluster_differences_zero"
	// ReasonOneCluster: a variance between clusters needs two of them.
	ReasonOneCluster = "one_cluster"
	// ReasonFewClusters: fewer than ten clusters, too few for the normal theory
	// behind a cluster interval.
	ReasonFewClusters = "fewer_than_10_clusters"
	// ReasonZeroSE: the standard error is zero, which would give an interval
	// without width.
	ReasonZeroSE = "zero_standard_error"
	// ReasonConstantLabels: all labels are the same, so that agreement beyond
	// chance is 0/0; neither 0 nor 1 would be true.
	ReasonConstantLabels = "constant_labels"
	// ReasonNoOverlap: no unit has two labels to compare.
	ReasonNoOverlap = "no_overlap"
	// ReasonUnreachable: no value in the allowed range reaches the target.
	ReasonUnreachable = "target_unreachable"
)

// maxCount bounds counts, so that sums of them stay exact in a float64 and a
// tail sum stays a matter of milliseconds.
const maxCount = 1_000_000_000

// Interval is a confidence interval. Low <= High; Conf is the two-sided
// confidence in (0, 1), for example 0.95.
type Interval struct {
	Low  float64 `json:"low"`
	High float64 `json:"high"`
	Conf float64 `json:"conf"`
}

// Estimate is a value with its uncertainty. Value is nil where it does not
// exist, Interval where none may be stated, SE where the method has none;
// Reason then says why (one of the Reason constants), and is empty otherwise.
type Estimate struct {
	Value    *float64  `json:"value"`
	SE       *float64  `json:"se,omitempty"`
	Interval *Interval `json:"interval"`
	Reason   string    `json:"reason,omitempty"`
}

// ptr is for the optional fields of results.
func ptr(x float64) *float64 { return &x }

// normalUpper returns z with P(Z > z) = alpha for a standard normal Z. It takes
// the small quantile and mirrors it: 1-alpha would lose a small alpha's digits.
func normalUpper(alpha float64) float64 { return -mathext.NormalQuantile(alpha) }

// confZ returns the standard normal half-width of a two-sided interval.
func confZ(conf float64) float64 { return normalUpper((1 - conf) / 2) }

// normalLower returns P(Z <= z).
func normalLower(z float64) float64 { return math.Erfc(-z/math.Sqrt2) / 2 }

// chiSquareUpper returns P(X > x) for chi-square with one degree of freedom. By
// the complementary error function, since 1-CDF is 0 from x = 70 on.
func chiSquareUpper(x float64) float64 { return math.Erfc(math.Sqrt(x / 2)) }

// bisect returns the point in [low, high] at which below turns from true to
// false, to the last bit. Bisection rather than a faster search: near the ends
// of the parameter range Newton and secant steps leave it.
func bisect(low, high float64, below func(float64) bool) float64 {
	for {
		mid := low + (high-low)/2
		if mid <= low || mid >= high {
			return mid
		}
		if below(mid) {
			low = mid
		} else {
			high = mid
		}
	}
}

func checkCounts(losses, gains int) error {
	if losses < 0 || gains < 0 {
		return fmt.Errorf("stats: negative count: losses %d, gains %d", losses, gains)
	}
	if losses > maxCount || gains > maxCount {
		return fmt.Errorf("stats: count above %d: losses %d, gains %d", maxCount, losses, gains)
	}
	return nil
}

func checkPairs(losses, gains, n int) error {
	if err := checkCounts(losses, gains); err != nil {
		return err
	}
	if n < losses+gains {
		return fmt.Errorf("stats: %d pairs cannot hold %d losses and %d gains", n, losses, gains)
	}
	if n > maxCount {
		return fmt.Errorf("stats: count above %d: pairs %d", maxCount, n)
	}
	return nil
}

// The comparisons below are written so that NaN fails them.

func checkConf(conf float64) error {
	if !(conf > 0 && conf < 1) {
		return fmt.Errorf("stats: confidence %v is not in (0, 1)", conf)
	}
	return nil
}

func checkAlpha(alpha float64) error {
	if !(alpha > 0 && alpha < 0.5) {
		return fmt.Errorf("stats: level %v is not in (0, 0.5)", alpha)
	}
	return nil
}

func checkRates(lossRate, gainRate float64) error {
	if !(lossRate >= 0 && gainRate >= 0 && lossRate+gainRate <= 1) {
		return fmt.Errorf("stats: loss rate %v and gain rate %v are not shares of one whole", lossRate, gainRate)
	}
	return nil
}
