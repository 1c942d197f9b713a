package stats

import "math"

// usualLevel is the level by which PairTest.Attainable and its cluster twin
// judge whether a test could have rejected at all.
const usualLevel = 0.05

// PairTest is McNemar's test of n = Losses + Gains discordant pairs, in its
// exact, mid-p and asymptotic forms.
//
// The null hypothesis is that a discordant pair is a loss or a gain with
// probability 1/2 each. The exact form conditions on n and refers Losses to
// Bin(n, 1/2); its level holds for every n, which is why a gate should use
// PWorse. The others are to be shown beside it, under their own names: mid-p
// is less conservative and its level is not guaranteed, and the asymptotic
// forms need about 25 discordant pairs.
//
// All p values are probabilities in (0, 1]; one below 5e-324 is stored as 0
// and lives on in its logarithm.
//
//	Q. McNemar, Psychometrika 12, 1947; F. Mosteller, Biometrics 8, 1952.
//	M. Fagerland, S. Lydersen, P. Laake, BMC Med Res Methodol 13:91, 2013.
type PairTest struct {
	Losses int `json:"losses"` // reference passed, candidate failed
	Gains  int `json:"gains"`  // reference failed, candidate passed

	PWorse  float64 `json:"p_worse"`  // exact, P(X >= Losses): is the candidate worse?
	PBetter float64 `json:"p_better"` // exact, P(X <= Losses): is it better?
	PTwo    float64 `json:"p_two"`    // exact, twice the smaller of the two, at most 1

	PMidWorse float64 `json:"p_mid_worse"` // PWorse - P(X = Losses)/2
	// PMidTwo is PTwo - P(X = Losses) where losses and gains differ and
	// 1 - P(X = Losses)/2 where they are equal, after Fagerland.
	PMidTwo float64 `json:"p_mid_two"`
	// PMidTwoDoubled is twice the smaller one-sided mid-p value, at most 1. It
	// differs from PMidTwo only for equal counts, where it is 1.
	PMidTwoDoubled float64 `json:"p_mid_two_doubled"`

	// Chi2 is (losses-gains)^2/n and Chi2Corrected, after Edwards,
	// max(|losses-gains|-1, 0)^2/n; each with its two-sided p value from
	// chi-square with one degree of freedom. Nil without a discordant pair.
	Chi2           *float64 `json:"chi2"`
	PChi2          *float64 `json:"p_chi2"`
	Chi2Corrected  *float64 `json:"chi2_corrected"`
	PChi2Corrected *float64 `json:"p_chi2_corrected"`

	Log10PWorse float64 `json:"log10_p_worse"` // finite where PWorse underflows
	Log10PTwo   float64 `json:"log10_p_two"`   // finite where PTwo underflows

	// MinP is 2^-n, the smallest PWorse that n discordant pairs can give, and
	// Attainable whether it is at most 0.05, which takes five. Where it is
	// false, "not significant" says nothing about the candidate.
	MinP       float64 `json:"min_p"`
	Attainable bool    `json:"attainable"`

	Reason string `json:"reason,omitempty"` // ReasonNoDiscordant, or empty
}

// McNemar tests whether losses and gains are equally likely. Without a
// discordant pair every p value is 1. Swapping the arguments swaps PWorse and
// PBetter and leaves the two-sided values unchanged, to the last bit.
//
// It is an error if a count is negative or above 10^9.
func McNemar(losses, gains int) (PairTest, error) {
	if err := checkCounts(losses, gains); err != nil {
		return PairTest{}, err
	}
	n := losses + gains
	test := PairTest{
		Losses:     losses,
		Gains:      gains,
		MinP:       math.Ldexp(1, -n),
		Attainable: attainable(n),
	}
	if n == 0 {
		// The formulas would give 1/2 for mid-p and 0/0 for chi-square.
		test.setP(noEvidence(), 0)
		test.Reason = ReasonNoDiscordant
		return test, nil
	}
	test.setP(sided(fairTails(min(losses, gains), n), losses-gains), losses-gains)
	diff := math.Abs(float64(losses - gains))
	corrected := max(diff-1, 0)
	chi2, chi2Corrected := diff*diff/float64(n), corrected*corrected/float64(n)
	test.Chi2, test.PChi2 = ptr(chi2), ptr(chiSquareUpper(chi2))
	test.Chi2Corrected, test.PChi2Corrected = ptr(chi2Corrected), ptr(chiSquareUpper(chi2Corrected))
	return test, nil
}

func attainable(discordant int) bool { return math.Ldexp(1, -discordant) <= usualLevel }

func (t *PairTest) setP(p sidedP, direction int) {
	t.PWorse, t.PBetter, t.PTwo = p.worse, p.better, p.two
	t.PMidWorse, t.PMidTwoDoubled = p.midWorse, p.midTwo
	t.PMidTwo = p.midTwo
	if direction == 0 && t.Losses > 0 {
		t.PMidTwo = 1 - p.point/2
	}
	t.Log10PWorse, t.Log10PTwo = p.log10Worse, p.log10Two
}

// sidedP are the p values that one tail of a symmetric null distribution gives.
type sidedP struct {
	point                float64
	worse, better, two   float64
	midWorse, midTwo     float64
	log10Worse, log10Two float64
}

// noEvidence is the answer of an exact test that has nothing to look at.
func noEvidence() sidedP {
	return sidedP{point: 1, worse: 1, better: 1, two: 1, midWorse: 1, midTwo: 1}
}

// sided turns the outward tail at the observed value into p values. direction
// is positive if the observation lies on the candidate-worse side, negative on
// the other, 0 in the centre. Working from the one tail for both directions is
// what makes the results mirror each other exactly.
func sided(t tails, direction int) sidedP {
	p := sidedP{
		point:    t.point,
		two:      min(1, 2*t.tail),
		midTwo:   min(1, 2*t.mid()),
		log10Two: min(0, (t.logTail+math.Ln2)/math.Ln10),
	}
	switch {
	case direction > 0:
		p.worse, p.better = t.tail, t.rest()
		p.midWorse = t.mid()
		p.log10Worse = t.logTail / math.Ln10
	case direction < 0:
		p.worse, p.better = t.rest(), t.tail
		p.midWorse = 1 - t.mid()
		p.log10Worse = math.Log10(p.worse)
	default:
		// Both tails hold the centre: doubling would exceed 1.
		p.worse, p.better, p.two = t.tail, t.tail, 1
		p.midWorse, p.midTwo = 0.5, 1
		p.log10Worse, p.log10Two = t.logTail/math.Ln10, 0
	}
	return p
}
