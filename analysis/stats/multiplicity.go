package stats

import (
	"fmt"
	"slices"
)

// Adjusted are p values corrected for their number: one that is at most alpha may
// be rejected at that level.
//
// Which to use: gates that must all pass need no correction. Gates of which any
// one blocks take [Holm], which holds under any dependence. Slices, marked as
// exploratory, take [BenjaminiHochberg].
type Adjusted struct {
	// P is in the order of the input, each in [0, 1], and nil where it was.
	P       []*float64 `json:"p"`
	Tested  int        `json:"tested"`  // p values that exist, by which was corrected
	Missing []int      `json:"missing"` // indices of those that do not, ascending
}

// Holm controls the probability of any false rejection, by the step-down
// adjustment max over j <= i of min(1, (m-j+1) p_(j)).
//
//	S. Holm, Scandinavian Journal of Statistics 6, 1979, p. 65-70.
//
// A nil p value is a test that could not be done: it is left out and does not
// count. It is an error if another is not in [0, 1].
func Holm(p []*float64) (Adjusted, error) {
	return adjust(p, func(sorted []float64) {
		m, floor := len(sorted), 0.0
		for i, x := range sorted {
			floor = max(floor, min(1, float64(m-i)*x))
			sorted[i] = floor
		}
	})
}

// BenjaminiHochberg controls the expected share of false rejections if the
// tests are independent or positively dependent, by the step-up adjustment min
// over j >= i of min(1, p_(j) m/j).
//
//	Y. Benjamini, Y. Hochberg, JRSS B 57, 1995, p. 289-300.
//
// Nil p values and errors are as for [Holm].
func BenjaminiHochberg(p []*float64) (Adjusted, error) {
	return adjust(p, func(sorted []float64) { stepUp(sorted, 1) })
}

// BenjaminiYekutieli does so under any dependence, at the cost of a factor of
// the sum of 1/j for j up to m.
//
//	Y. Benjamini, D. Yekutieli, Annals of Statistics 29, 2001, p. 1165-1188.
//
// Nil p values and errors are as for [Holm].
func BenjaminiYekutieli(p []*float64) (Adjusted, error) {
	return adjust(p, func(sorted []float64) {
		factor := 0.0
		for j := len(sorted); j > 0; j-- {
			factor += 1 / float64(j)
		}
		stepUp(sorted, factor)
	})
}

func stepUp(sorted []float64, factor float64) {
	ceiling := 1.0
	for i := len(sorted) - 1; i >= 0; i-- {
		ceiling = min(ceiling, sorted[i]*(factor*float64(len(sorted))/float64(i+1)))
		sorted[i] = ceiling
	}
}

// adjust lets a method work on the existing p values in ascending order. Ties
// keep the order of the input.
func adjust(p []*float64, method func(sorted []float64)) (Adjusted, error) {
	result := Adjusted{P: make([]*float64, len(p)), Missing: []int{}}
	var order []int
	for i, x := range p {
		if x == nil {
			result.Missing = append(result.Missing, i)
			continue
		}
		if err := checkP(*x); err != nil {
			return Adjusted{}, fmt.Errorf("stats: p value %d: %w", i, err)
		}
		order = append(order, i)
	}
	slices.SortStableFunc(order, func(i, j int) int {
		switch {
		case *p[i] < *p[j]:
			return -1
		case *p[i] > *p[j]:
			return 1
		}
		return 0
	})
	sorted := make([]float64, len(order))
	for rank, i := range order {
		sorted[rank] = *p[i]
	}
	method(sorted)
	for rank, i := range order {
		result.P[i] = ptr(sorted[rank])
	}
	result.Tested = len(order)
	return result, nil
}

func checkP(p float64) error {
	if !(p >= 0 && p <= 1) {
		return fmt.Errorf("%v is not in [0, 1]", p)
	}
	return nil
}

// DiscreteTest is a p value of a discrete test with the smallest one that the
// test could have given: PairTest's PWorse and MinP, for example.
type DiscreteTest struct {
	P    float64 `json:"p"`
	MinP float64 `json:"min_p"`
}

// TaroneResult says which tests reject.
type TaroneResult struct {
	// K is Tarone's divisor at the first step: as if only K tests had been done.
	// 0 if there are no tests.
	K        int    `json:"k"`
	Testable []bool `json:"testable"` // MinP <= alpha/K: the others could not reject
	Rejected []bool `json:"rejected"`
}

// HolmTarone controls the probability of any false rejection at alpha, under
// any dependence, without paying for tests that could not have rejected
// whatever the data. With K the smallest integer for which at most K tests have
// MinP <= alpha/K, each of those is tested at alpha/K; the rejected ones are
// taken out and the rest is tested again, with its own K, until none is.
//
// Every step is valid, since K falls when tests are taken out. MinP must depend
// on the number of discordant pairs only, never on their direction.
//
//	R. Tarone, Biometrics 46, 1990, p. 515-522.
//	J. Goeman, A. Solari, Annals of Statistics 38, 2010 (sequential rejection).
//
// It is an error if alpha is outside (0, 1), if a value is not in [0, 1], or if
// a P is below its MinP.
func HolmTarone(tests []DiscreteTest, alpha float64) (TaroneResult, error) {
	if !(alpha > 0 && alpha < 1) {
		return TaroneResult{}, fmt.Errorf("stats: level %v is not in (0, 1)", alpha)
	}
	for i, t := range tests {
		if err := t.check(); err != nil {
			return TaroneResult{}, fmt.Errorf("stats: test %d: %w", i, err)
		}
	}
	result := TaroneResult{
		K:        taroneK(tests, nil, alpha),
		Testable: make([]bool, len(tests)),
		Rejected: make([]bool, len(tests)),
	}
	for i, t := range tests {
		result.Testable[i] = t.MinP <= alpha/float64(result.K)
	}
	for rejectStep(tests, result.Rejected, alpha) {
	}
	return result, nil
}

func (t DiscreteTest) check() error {
	if err := checkP(t.P); err != nil {
		return err
	}
	if err := checkP(t.MinP); err != nil {
		return err
	}
	if t.P < t.MinP {
		return fmt.Errorf("p value %v is below its minimum %v", t.P, t.MinP)
	}
	return nil
}

// rejectStep marks what the remaining tests reject and says whether any did.
func rejectStep(tests []DiscreteTest, rejected []bool, alpha float64) bool {
	k := taroneK(tests, rejected, alpha)
	found := false
	for i, t := range tests {
		if !rejected[i] && t.P <= alpha/float64(k) {
			rejected[i], found = true, true
		}
	}
	return found
}

// taroneK returns the divisor for the tests not yet rejected, 0 if there are
// none.
func taroneK(tests []DiscreteTest, rejected []bool, alpha float64) int {
	var minimal []float64
	for i, t := range tests {
		if rejected == nil || !rejected[i] {
			minimal = append(minimal, t.MinP)
		}
	}
	for k := 1; k <= len(minimal); k++ {
		able := 0
		for _, p := range minimal {
			if p <= alpha/float64(k) {
				able++
			}
		}
		if able <= k {
			return k
		}
	}
	return 0
}
