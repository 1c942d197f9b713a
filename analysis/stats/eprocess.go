package stats

import (
	"fmt"
	"math"
)

// EProcess is evidence that may be looked at after every discordant pair, and
// acted upon at any time: however one stops, it exceeds 1/alpha with
// probability at most alpha if the candidate is not worse (Ville's
// inequality). The price is a cap of about twice the pairs of a test that
// looks once.
//
// It bets on each discordant pair by a Beta(1/2, 1/2) mixture over the share
// theta of losses. Two-sided, against theta = 1/2:
//
//	E = 2^n B(losses+1/2, gains+1/2) / B(1/2, 1/2)
//
// One-sided, with the mixture cut to theta > 1/2, which is valid against every
// theta <= 1/2:
//
//	E+ = 2 P(theta > 1/2 | Beta(losses+1/2, gains+1/2)) E
//
// The zero value is the process before the first pair. It is a value: Loss and
// Gain return the next state. One process belongs to one pair of builds, and
// takes each session once: the same fixtures replayed are replicates, not new
// trials.
//
//	H. Robbins, Annals of Mathematical Statistics 41, 1970 (mixtures).
//	A. Ramdas et al., Statistical Science 38, 2023 (e-processes).
type EProcess struct {
	Losses int `json:"losses"`
	Gains  int `json:"gains"`

	// Natural logarithms, finite throughout. LogTwo and LogWorse depend on the
	// counts only; the maxima, which count, start at 0 and never fall.
	LogTwo      float64 `json:"log_e_two"`
	LogWorse    float64 `json:"log_e_worse"`
	MaxLogTwo   float64 `json:"max_log_e_two"`
	MaxLogWorse float64 `json:"max_log_e_worse"`
}

// Loss returns the process after a pair that only the reference passed.
func (e EProcess) Loss() EProcess { return e.at(e.Losses+1, e.Gains) }

// Gain returns the process after a pair that only the candidate passed.
func (e EProcess) Gain() EProcess { return e.at(e.Losses, e.Gains+1) }

func (e EProcess) at(losses, gains int) EProcess {
	e.Losses, e.Gains = losses, gains
	e.LogTwo, e.LogWorse = logEvidence(losses, gains)
	e.MaxLogTwo = max(e.MaxLogTwo, e.LogTwo)
	e.MaxLogWorse = max(e.MaxLogWorse, e.LogWorse)
	return e
}

// PTwo is the anytime-valid two-sided p value, min(1, 1/max E).
func (e EProcess) PTwo() float64 { return math.Exp(-e.MaxLogTwo) }

// PWorse is the anytime-valid p value for "the candidate is worse".
func (e EProcess) PWorse() float64 { return math.Exp(-e.MaxLogWorse) }

// LogEvidence returns the natural logarithms of E and E+ after the given
// counts, in whatever order they came: the ends, not the maxima, of a process.
//
// It is an error if a count is negative or above 10^9.
func LogEvidence(losses, gains int) (two, worse float64, err error) {
	if err := checkCounts(losses, gains); err != nil {
		return 0, 0, err
	}
	two, worse = logEvidence(losses, gains)
	return two, worse, nil
}

func logEvidence(losses, gains int) (two, worse float64) {
	two = logMixture(losses, gains)
	switch {
	case losses == gains:
		worse = two // by symmetry P(theta > 1/2) = 1/2
	case losses < gains:
		worse = logHalfMixture(losses, gains)
	default:
		// What the mixture over theta < 1/2 leaves of the whole, which is more
		// than half: nothing cancels.
		worse = math.Ln2 + two + math.Log1p(-math.Exp(logHalfMixture(gains, losses)-math.Ln2-two))
	}
	return two, worse
}

// logMixture returns log E. As Gamma(x+1/2) = Gamma(1/2) (2x)! / (4^x x!), E is
// a ratio of three coin probabilities, which the saddle point knows to the
// last digits; differences of log-gammas would lose one for every decade of n.
func logMixture(losses, gains int) float64 {
	fair := func(k, n int) float64 { return logBinomial(k, n, 0.5, 0.5) }
	return fair(losses, 2*losses) + fair(gains, 2*gains) - fair(losses, losses+gains)
}

// logHalfMixture returns log E+ for losses <= gains, the small side.
//
// The trap is here. P(theta > 1/2) = 1 - I(losses+1/2, gains+1/2), I being the
// incomplete beta at 1/2, is tiny while E is huge, and subtracting from 1 loses
// all of it: such a process rejects half of the candidates that are better. So
// I(gains+1/2, losses+1/2) is summed as the hypergeometric series
//
//	2^-(a+b) / (a B(a, b)) * sum_j prod_{i<j} (a+b+i) / (2(a+1+i)),  a = gains+1/2
//
// whose factor cancels with E down to 1/(pi a).
func logHalfMixture(losses, gains int) float64 {
	const negligible = 1e-17
	a, n := float64(gains)+0.5, float64(losses+gains)
	sum, term := 1.0, 1.0
	for j := 0.0; term >= negligible*sum; j++ {
		term *= (n + 1 + j) / (2 * (a + 1 + j))
		sum += term
	}
	return math.Log(sum / (math.Pi * a))
}

// ClusterEProcess is the one-sided process for sessions. It bets on the share
// by which each session got worse,
//
//	E = mean over lambda of prod_k (1 + lambda D_k/n_k),  lambda in .1, .3, .5, .8
//
// and needs only that sessions are independent of each other and that a session
// is not expected to get worse, whatever the dependence inside one. The zero
// value is the process before the first session.
//
//	I. Waudby-Smith, A. Ramdas, JRSS B 86, 2024 (betting on bounded means).
type ClusterEProcess struct {
	Clusters int     `json:"clusters"`
	LogWorse float64 `json:"log_e_worse"`
	// MaxLogWorse is the largest LogWorse so far, starting from 0.
	MaxLogWorse float64 `json:"max_log_e_worse"`

	// LogWealth is the logarithm of the product for each lambda: the state that
	// must be kept to go on.
	LogWealth [4]float64 `json:"log_wealth"`
}

// Observe returns the process after one more session. It is an error if the
// cluster is impossible.
func (e ClusterEProcess) Observe(c Cluster) (ClusterEProcess, error) {
	if err := c.check(); err != nil {
		return e, fmt.Errorf("stats: cluster: %w", err)
	}
	share := float64(c.Losses-c.Gains) / float64(c.parts()) / float64(c.Pairs)
	for i, lambda := range [len(e.LogWealth)]float64{0.1, 0.3, 0.5, 0.8} {
		e.LogWealth[i] += math.Log1p(lambda * share)
	}
	e.Clusters++
	e.LogWorse = logMeanExp(e.LogWealth[:])
	e.MaxLogWorse = max(e.MaxLogWorse, e.LogWorse)
	return e, nil
}

// PWorse is the anytime-valid p value for "the candidate is worse".
func (e ClusterEProcess) PWorse() float64 { return math.Exp(-e.MaxLogWorse) }

// FlipEProcess is the one-sided process for sessions against the null hypothesis of the
// exact sign-flip test: that the arms are exchangeable within each session, so that given
// |D_k| either sign of D_k is as likely. It bets on the sign,
//
//	E = mean over t of prod_k (1 + tanh(t |D_k|) sign D_k),  tanh t in .1, .3, .5, .8
//
// with stakes that grow with |D_k| as those of D_k independent bets would. With one pair
// a session it is [ClusterEProcess]; with several, that one divides by pairs that agree
// and so hardly ever rejects, where this one keeps its power. In exchange its null
// hypothesis is the stronger one. The zero value is the process before the first
// session.
//
//	A. Ramdas, J. Ruf, M. Larsson, W. Koolen, Annals of Statistics 50, 2022 (testing
//	symmetry by betting).
type FlipEProcess struct {
	Clusters int     `json:"clusters"`
	LogWorse float64 `json:"log_e_worse"`
	// MaxLogWorse is the largest LogWorse so far, starting from 0.
	MaxLogWorse float64 `json:"max_log_e_worse"`

	// LogWealth is the logarithm of the product for each t.
	LogWealth [4]float64 `json:"log_wealth"`
}

// Observe returns the process after one more session. It is an error if the cluster is
// impossible.
func (e FlipEProcess) Observe(c Cluster) (FlipEProcess, error) {
	if err := c.check(); err != nil {
		return e, fmt.Errorf("stats: cluster: %w", err)
	}
	d := float64(c.Losses-c.Gains) / float64(c.parts())
	for i, stake := range [len(e.LogWealth)]float64{0.1, 0.3, 0.5, 0.8} {
		e.LogWealth[i] += logBet(math.Atanh(stake) * d)
	}
	e.Clusters++
	e.LogWorse = logMeanExp(e.LogWealth[:])
	e.MaxLogWorse = max(e.MaxLogWorse, e.LogWorse)
	return e, nil
}

// PWorse is the anytime-valid p value for "the candidate is worse".
func (e FlipEProcess) PWorse() float64 { return math.Exp(-e.MaxLogWorse) }

// logBet is log(1 + tanh x) = log 2 - log(1 + exp(-2x)), kept from overflowing.
func logBet(x float64) float64 {
	if x < 0 {
		return math.Ln2 + 2*x - math.Log1p(math.Exp(2*x))
	}
	return math.Ln2 - math.Log1p(math.Exp(-2*x))
}

func logMeanExp(logs []float64) float64 {
	top := math.Inf(-1)
	for _, x := range logs {
		top = max(top, x)
	}
	sum := 0.0
	for _, x := range logs {
		sum += math.Exp(x - top)
	}
	return top + math.Log(sum/float64(len(logs)))
}
