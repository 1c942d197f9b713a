package stats

import (
	"fmt"
	"math"
	"math/big"
)

// The coefficients of agreement are ratios of small differences of counts, and
// they and their standard errors must be recognised when they are exactly 0 or
// exactly undefined. So all of them are computed in rationals.

// Kappa is Cohen's kappa of two raters, its value in [-1, 1]. The raw agreement
// and the marginals belong beside it in print: 118/5/2/0 has agreement 0.944
// and kappa -0.023.
type Kappa struct {
	// Value, SE and Interval. SE is the standard error under the alternative
	// (Fleiss, Cohen, Everitt), the one for intervals; these are normal and
	// cut at -1 and 1. Without units Reason is ReasonNoOverlap and all is nil;
	// with the same label everywhere it is ReasonConstantLabels and Value is
	// nil, neither 0 nor 1; with SE = 0 (perfect agreement, or one rater who
	// always says the same) it is ReasonZeroSE and only Interval is nil.
	Estimate

	N        int      `json:"n"`        // units rated by both
	Observed *float64 `json:"observed"` // share of units with the same label
	Expected *float64 `json:"expected"` // share expected by chance, from the marginals

	SENull *float64 `json:"se_null"` // standard error if kappa were 0
	Z      *float64 `json:"z"`       // Value/SENull; nil if SENull is 0

	Rows []float64 `json:"rows"` // first rater's share of each label
	Cols []float64 `json:"cols"` // second rater's
}

// CohenKappa takes a square table: table[i][j] units got label i from the first
// and j from the second rater. The labels are those of the schema, used or not;
// an unused one changes nothing.
//
//	J. Cohen, Educational and Psychological Measurement 20, 1960, p. 37-46.
//	J. Fleiss, J. Cohen, B. Everitt, Psychological Bulletin 72, 1969, p. 323-327.
//
// It is an error if the table is not square, if a count is negative or their
// sum above 10^9, or if conf is outside (0, 1).
func CohenKappa(table [][]int, conf float64) (Kappa, error) {
	if err := checkConf(conf); err != nil {
		return Kappa{}, err
	}
	t, err := newAgreementTable(table)
	if err != nil {
		return Kappa{}, err
	}
	if t.n == 0 {
		return Kappa{Estimate: Estimate{Reason: ReasonNoOverlap}}, nil
	}
	kappa := Kappa{
		N:        t.n,
		Observed: ratFloat(t.observed()),
		Expected: ratFloat(t.expected()),
		Rows:     t.shares(t.rows),
		Cols:     t.shares(t.cols),
	}
	chance := new(big.Rat).Sub(big.NewRat(1, 1), t.expected())
	if chance.Sign() == 0 {
		kappa.Reason = ReasonConstantLabels
		return kappa, nil
	}
	value := new(big.Rat).Sub(t.observed(), t.expected())
	value.Quo(value, chance)
	kappa.Value = ratFloat(value)
	kappa.SENull = t.standardError(t.nullVariance(), chance)
	if *kappa.SENull > 0 {
		kappa.Z = ptr(*kappa.Value / *kappa.SENull)
	}
	kappa.SE = t.standardError(t.variance(value), chance)
	if *kappa.SE == 0 {
		kappa.Reason = ReasonZeroSE
		return kappa, nil
	}
	half := confZ(conf) * *kappa.SE
	kappa.Interval = &Interval{Low: max(*kappa.Value-half, -1), High: min(*kappa.Value+half, 1), Conf: conf}
	return kappa, nil
}

// agreementTable is a table of two raters with its margins.
type agreementTable struct {
	cells      [][]int
	rows, cols []int
	n          int
}

func newAgreementTable(cells [][]int) (*agreementTable, error) {
	k := len(cells)
	t := &agreementTable{cells: cells, rows: make([]int, k), cols: make([]int, k)}
	for i, row := range cells {
		if len(row) != k {
			return nil, fmt.Errorf("stats: table of %d rows has %d cells in row %d", k, len(row), i)
		}
		for j, count := range row {
			if count < 0 || count > maxCount {
				return nil, fmt.Errorf("stats: count %d at %d,%d is not in 0..%d", count, i, j, maxCount)
			}
			t.rows[i] += count
			t.cols[j] += count
			t.n += count
		}
	}
	if t.n > maxCount {
		return nil, fmt.Errorf("stats: more than %d units", maxCount)
	}
	return t, nil
}

// share is count/n.
func (t *agreementTable) share(count int) *big.Rat { return big.NewRat(int64(count), int64(t.n)) }

func (t *agreementTable) shares(counts []int) []float64 {
	shares := make([]float64, len(counts))
	for i, count := range counts {
		shares[i] = float64(count) / float64(t.n)
	}
	return shares
}

func (t *agreementTable) observed() *big.Rat {
	same := 0
	for i := range t.cells {
		same += t.cells[i][i]
	}
	return t.share(same)
}

func (t *agreementTable) expected() *big.Rat {
	sum := new(big.Rat)
	for i := range t.cells {
		sum.Add(sum, product(t.share(t.rows[i]), t.share(t.cols[i])))
	}
	return sum
}

// variance returns n (1-p_e)^2 times the variance of kappa:
//
//	sum_i p_ii (1 - (r_i+c_i)(1-kappa))^2
//	  + (1-kappa)^2 sum_{i!=j} p_ij (c_i+r_j)^2 - (kappa - p_e(1-kappa))^2
func (t *agreementTable) variance(kappa *big.Rat) *big.Rat {
	one := big.NewRat(1, 1)
	lack := new(big.Rat).Sub(one, kappa)
	sum := new(big.Rat)
	for i, row := range t.cells {
		for j, count := range row {
			var x *big.Rat
			if i == j {
				x = product(t.share(t.rows[i]+t.cols[i]), lack)
				x.Sub(one, x)
			} else {
				x = product(t.share(t.cols[i]+t.rows[j]), lack)
			}
			sum.Add(sum, product(t.share(count), x, x))
		}
	}
	x := product(t.expected(), lack)
	x.Sub(kappa, x)
	return sum.Sub(sum, product(x, x))
}

// nullVariance returns n (1-p_e)^2 times the variance where kappa is 0:
//
//	p_e + p_e^2 - sum_i r_i c_i (r_i+c_i)
func (t *agreementTable) nullVariance() *big.Rat {
	expected := t.expected()
	sum := new(big.Rat).Add(expected, product(expected, expected))
	for i := range t.cells {
		r, c := t.rows[i], t.cols[i]
		sum.Sub(sum, product(t.share(r), t.share(c), t.share(r+c)))
	}
	return sum
}

func (t *agreementTable) standardError(variance, chance *big.Rat) *float64 {
	variance = new(big.Rat).Quo(variance, product(chance, chance, big.NewRat(int64(t.n), 1)))
	return ptr(math.Sqrt(*ratFloat(variance)))
}

// FleissResult is Fleiss' kappa, Value in [-1/(raters-1), 1].
type FleissResult struct {
	Value    *float64 `json:"value"`
	Units    int      `json:"units"`
	Raters   int      `json:"raters"`
	Observed *float64 `json:"observed"` // mean share of agreeing pairs of raters
	Expected *float64 `json:"expected"` // share expected by chance

	// Fraction is Value in lowest terms, "4/9" or "1", and empty without it.
	Fraction string `json:"-"`

	// SENull is the standard error if kappa were 0, for a test of that and not
	// for an interval, which it would make too narrow.
	SENull *float64 `json:"se_null"`

	// Reason is ReasonNoOverlap (no units, or a single rater) or
	// ReasonConstantLabels; Value is nil with either.
	Reason string `json:"reason,omitempty"`
}

// FleissKappa takes counts[u][j], how many raters gave unit u the label j. Every
// unit must have the same number of raters; use [KrippendorffAlpha] otherwise.
//
//	J. Fleiss, Psychological Bulletin 76, 1971, p. 378-382.
//	J. Fleiss, J. Nee, J. Landis, Psychological Bulletin 86, 1979 (null SE).
//
// It is an error if rows differ in length or in sum, if a count is negative, or
// if a unit has more than 10^6 raters.
func FleissKappa(counts [][]int) (FleissResult, error) {
	labels, raters, err := fleissMargins(counts)
	if err != nil {
		return FleissResult{}, err
	}
	result := FleissResult{Units: len(counts), Raters: raters}
	if len(counts) == 0 || raters < 2 {
		result.Reason = ReasonNoOverlap
		return result, nil
	}
	agreeing := 0
	for _, row := range counts {
		for _, count := range row {
			agreeing += count * (count - 1)
		}
	}
	pairs := int64(len(counts)) * int64(raters) * int64(raters-1)
	observed := big.NewRat(int64(agreeing), pairs)
	expected, null := new(big.Rat), new(big.Rat)
	for _, label := range labels {
		p := big.NewRat(int64(label), int64(len(counts))*int64(raters))
		q := new(big.Rat).Sub(big.NewRat(1, 1), p)
		expected.Add(expected, product(p, p))
		null.Add(null, product(p, q, new(big.Rat).Sub(q, p)))
	}
	result.Observed, result.Expected = ratFloat(observed), ratFloat(expected)
	chance := new(big.Rat).Sub(big.NewRat(1, 1), expected)
	if chance.Sign() == 0 {
		result.Reason = ReasonConstantLabels
		return result, nil
	}
	value := new(big.Rat).Sub(observed, expected)
	value.Quo(value, chance)
	result.Value, result.Fraction = ratFloat(value), value.RatString()
	// 2 / (N n (n-1)) * ((sum p q)^2 - sum p q (q-p)) / (sum p q)^2
	variance := new(big.Rat).Sub(product(chance, chance), null)
	variance.Quo(product(variance, big.NewRat(2, pairs)), product(chance, chance))
	result.SENull = ptr(math.Sqrt(*ratFloat(variance)))
	return result, nil
}

// maxRaters bounds the raters of a unit, so that pairs of them can be counted.
const maxRaters = 1_000_000

// fleissMargins returns how often each label was given, and the number of raters.
func fleissMargins(counts [][]int) (labels []int, raters int, err error) {
	for u, row := range counts {
		if u == 0 {
			labels = make([]int, len(row))
		}
		if len(row) != len(labels) {
			return nil, 0, fmt.Errorf("stats: unit %d has %d labels, unit 0 has %d", u, len(row), len(labels))
		}
		sum := 0
		for j, count := range row {
			if count < 0 || count > maxRaters {
				return nil, 0, fmt.Errorf("stats: count %d at %d,%d is not in 0..%d", count, u, j, maxRaters)
			}
			labels[j] += count
			sum += count
		}
		if sum > maxRaters {
			return nil, 0, fmt.Errorf("stats: unit %d has more than %d raters", u, maxRaters)
		}
		if u == 0 {
			raters = sum
		}
		if sum != raters {
			return nil, 0, fmt.Errorf("stats: unit %d has %d raters, unit 0 has %d", u, sum, raters)
		}
	}
	return labels, raters, nil
}

// Alpha is Krippendorff's alpha, Value at most 1. It has no usable closed-form
// standard error: bootstrap the groups if there are at least 20. A single
// disagreement in otherwise constant labels gives exactly 0, which is right.
type Alpha struct {
	Value    *float64 `json:"value"`
	Units    int      `json:"units"`    // units with at least two labels
	Labels   int      `json:"labels"`   // labels in them
	Observed *float64 `json:"observed"` // observed disagreement
	Expected *float64 `json:"expected"` // disagreement expected by chance

	// Fraction is Value in lowest terms, "113/152" or "1", and empty without it.
	Fraction string `json:"-"`

	// Reason is ReasonNoOverlap (no unit with two labels; all is nil) or
	// ReasonConstantLabels (only Value is nil).
	Reason string `json:"reason,omitempty"`
}

// KrippendorffAlpha takes for every unit the labels it got, in any order and
// number; a missing label is left out, it is not a label. Units with fewer than
// two are dropped. Labels are nominal: two are equal or they are not.
//
//	K. Krippendorff, Computing Krippendorff's Alpha-Reliability, 2011.
func KrippendorffAlpha[L comparable](units [][]L) Alpha {
	var result Alpha
	observed, totals := new(big.Rat), map[L]int64{}
	for _, unit := range units {
		if len(unit) < 2 {
			continue
		}
		result.Units++
		result.Labels += len(unit)
		counts := map[L]int64{}
		for _, label := range unit {
			counts[label]++
			totals[label]++
		}
		size := int64(len(unit))
		observed.Add(observed, big.NewRat(differing(counts, size), size-1))
	}
	if result.Units == 0 {
		result.Reason = ReasonNoOverlap
		return result
	}
	n := int64(result.Labels)
	observed.Quo(observed, big.NewRat(n, 1))
	expected := big.NewRat(differing(totals, n), n)
	expected.Quo(expected, big.NewRat(n-1, 1))
	result.Observed, result.Expected = ratFloat(observed), ratFloat(expected)
	if expected.Sign() == 0 {
		result.Reason = ReasonConstantLabels
		return result
	}
	value := new(big.Rat).Quo(observed, expected)
	value.Sub(big.NewRat(1, 1), value)
	result.Value, result.Fraction = ratFloat(value), value.RatString()
	return result
}

// differing returns the number of ordered pairs, among n labels, that differ.
func differing[L comparable](counts map[L]int64, n int64) int64 {
	pairs := n * n
	for _, count := range counts {
		pairs -= count * count
	}
	return pairs
}

func product(factors ...*big.Rat) *big.Rat {
	p := big.NewRat(1, 1)
	for _, f := range factors {
		p.Mul(p, f)
	}
	return p
}

func ratFloat(x *big.Rat) *float64 {
	f, _ := x.Float64()
	return &f
}
