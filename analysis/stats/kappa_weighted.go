package stats

import "math/big"

// WeightedKappas are coefficients of agreement beside Cohen's. For labels with an
// order the weighted ones count a near miss as less than a far one; with two
// labels both are Cohen's kappa.
type WeightedKappas struct {
	// Linear and Quadratic weigh a disagreement by the distance of the labels
	// and by its square:
	//
	//	1 - sum_ij v_ij p_ij / sum_ij v_ij r_i c_j,  v_ij = |i-j| or (i-j)^2
	//
	//	J. Cohen, Psychological Bulletin 70, 1968, p. 213-220.
	Linear    *float64 `json:"linear"`
	Quadratic *float64 `json:"quadratic"`

	// PABAK is (k p_o - 1)/(k - 1) for k labels: what kappa would be if all
	// labels were equally frequent. It depends on the raw agreement alone.
	//
	//	T. Byrt, J. Bishop, J. Carlin, J. Clinical Epidemiology 46, 1993.
	PABAK *float64 `json:"pabak"`

	// Reason says why those that are nil are: ReasonNoOverlap without units (all
	// of them), ReasonConstantLabels where both raters gave the same label
	// everywhere (not PABAK, unless the schema has but one label).
	Reason string `json:"reason,omitempty"`
}

// WeightedKappa takes the same table as [CohenKappa], its labels in their order.
//
// It is an error if the table is not square or if a count is negative or their
// sum above 10^9.
func WeightedKappa(table [][]int) (WeightedKappas, error) {
	t, err := newAgreementTable(table)
	if err != nil {
		return WeightedKappas{}, err
	}
	if t.n == 0 {
		return WeightedKappas{Reason: ReasonNoOverlap}, nil
	}
	kappas := WeightedKappas{
		Linear:    t.weighted(func(distance int) int { return distance }),
		Quadratic: t.weighted(func(distance int) int { return distance * distance }),
	}
	if k := int64(len(table)); k > 1 {
		value := product(big.NewRat(k, 1), t.observed())
		value.Sub(value, big.NewRat(1, 1))
		kappas.PABAK = ratFloat(value.Quo(value, big.NewRat(k-1, 1)))
	}
	if kappas.Linear == nil {
		kappas.Reason = ReasonConstantLabels
	}
	return kappas, nil
}

// weighted is nil where no disagreement is expected by chance.
func (t *agreementTable) weighted(weight func(distance int) int) *float64 {
	found, expected := new(big.Rat), new(big.Rat)
	for i, row := range t.cells {
		for j, count := range row {
			v := big.NewRat(int64(weight(abs(i-j))), 1)
			found.Add(found, product(v, t.share(count)))
			expected.Add(expected, product(v, t.share(t.rows[i]), t.share(t.cols[j])))
		}
	}
	if expected.Sign() == 0 {
		return nil
	}
	one := big.NewRat(1, 1)
	return ratFloat(one.Sub(one, found.Quo(found, expected)))
}
