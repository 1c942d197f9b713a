package stats

// PowerCurve returns the power of the exact one-sided test of n pairs at every
// one of lossRates, in their order: Power's Worse, many times over for little
// more than the price of one. Above any loss rate the curve rises.
//
// It is an error if n is not in 0..100000, if a loss rate and gainRate are not
// rates of one distribution, or if alpha is outside (0, 0.5).
func PowerCurve(n int, lossRates []float64, gainRate, alpha float64) ([]float64, error) {
	if err := checkPlan(n, alpha); err != nil {
		return nil, err
	}
	regions := remember(func(m int) region { return rejectRegion(m, alpha, OneSided, exactP) })
	curve := make([]float64, len(lossRates))
	for i, lossRate := range lossRates {
		if err := checkRates(lossRate, gainRate); err != nil {
			return nil, err
		}
		curve[i] = rejection(n, lossRate, gainRate, regions)
	}
	return curve, nil
}

// CleanPairs are the numbers of pairs from which on a run without a single
// discordant pair is non-inferior.
type CleanPairs struct {
	Score int `json:"score"` // by Tango's test
	Exact int `json:"exact"` // by the exact test, (1-margin)^n <= alpha
	// Strict is for both, the rule of [NonInferiority]. A smaller set cannot pass
	// the margin, whatever the candidate does.
	Strict int `json:"strict"`
}

// PairsForMargin returns how many pairs a perfect run needs to pass a margin at
// one-sided level alpha.
//
// It is an error if margin is outside (0, 1) or alpha outside (0, 0.5), or if
// more than 10^9 pairs are needed.
func PairsForMargin(margin, alpha float64) (CleanPairs, error) {
	if _, err := NonInferiority(0, 0, 0, margin, alpha); err != nil {
		return CleanPairs{}, err
	}
	var failure error
	smallest := func(passes func(NonInferiorityTest) bool) int {
		n := 1 + lastTrue(maxCount, func(n int) bool {
			test, err := NonInferiority(0, 0, n, margin, alpha)
			if err != nil {
				failure = err
			}
			return !passes(test)
		})
		if n > maxCount && failure == nil {
			_, failure = pairCount(2 * maxCount)
		}
		return n
	}
	pairs := CleanPairs{
		Score:  smallest(func(t NonInferiorityTest) bool { return t.P != nil && *t.P <= alpha }),
		Exact:  smallest(func(t NonInferiorityTest) bool { return t.PExact != nil && *t.PExact <= alpha }),
		Strict: smallest(func(t NonInferiorityTest) bool { return t.NonInferior }),
	}
	if failure != nil {
		return CleanPairs{}, failure
	}
	return pairs, nil
}

// LargestPassingLosses returns with how many losses at most, and no gains, a run
// of n pairs is still non-inferior, or -1 if not even a perfect one is.
//
// Errors are those of [NonInferiority].
func LargestPassingLosses(n int, margin, alpha float64) (int, error) {
	if _, err := NonInferiority(0, 0, n, margin, alpha); err != nil {
		return 0, err
	}
	return lastTrue(n, func(losses int) bool {
		test, err := NonInferiority(losses, 0, n, margin, alpha)
		return err == nil && test.NonInferior
	}), nil
}
