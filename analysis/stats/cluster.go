package stats

import (
	"cmp"
	"fmt"
	"math"
	"math/big"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// Pairs from one session share its luck, and a test that counts them as
// independent rejects too often. The unit here is the cluster: all pairs of
// one session (or one group of related fixtures), and its difference
//
//	D_k = losses - gains in cluster k.

// Cluster is what one session contributes.
//
// Parts is into how many parts one pair is divided: Losses and Gains count
// parts, so that D_k = (Losses-Gains)/Parts pairs. It is 1 for pairs played
// once, and 0 means 1. [ReplicatedCluster] makes clusters from pairs played
// several times.
type Cluster struct {
	Pairs  int `json:"pairs"`  // at least 1
	Losses int `json:"losses"` // Losses + Gains <= Pairs*Parts
	Gains  int `json:"gains"`
	Parts  int `json:"parts,omitempty"`
}

// Replicates are the plays of one item: how often each arm ran and how often it
// passed. The arms need not have run equally often, but at least once each.
type Replicates struct {
	RefPassed, RefRuns   int
	CandPassed, CandRuns int
}

// maxParts bounds the common multiple of the numbers of runs.
const maxParts = 1_000_000

// ReplicatedCluster sums the items of one session. An item's difference is the
// mean of its reference runs minus the mean of its candidate runs, and counts
// towards Losses or Gains by its sign. Means rather than majority votes: a vote
// changes what is estimated and throws information away.
//
// It is an error if there is no item, if an arm of an item has no run or more
// passes than runs, or if the least common multiple of the numbers of runs is
// above 10^6.
func ReplicatedCluster(items []Replicates) (Cluster, error) {
	if len(items) == 0 {
		return Cluster{}, fmt.Errorf("stats: cluster without an item")
	}
	parts := 1
	for i, item := range items {
		if err := item.check(); err != nil {
			return Cluster{}, fmt.Errorf("stats: item %d: %w", i, err)
		}
		for _, runs := range []int{item.RefRuns, item.CandRuns} {
			if parts = lcm(parts, runs); parts > maxParts {
				return Cluster{}, fmt.Errorf("stats: item %d: the numbers of runs have no common multiple below %d", i, maxParts)
			}
		}
	}
	cluster := Cluster{Pairs: len(items), Parts: parts}
	for _, item := range items {
		diff := item.RefPassed*(parts/item.RefRuns) - item.CandPassed*(parts/item.CandRuns)
		cluster.Losses += max(diff, 0)
		cluster.Gains += max(-diff, 0)
	}
	return cluster, nil
}

func (r Replicates) check() error {
	if r.RefRuns < 1 || r.CandRuns < 1 || r.RefRuns > maxParts || r.CandRuns > maxParts {
		return fmt.Errorf("runs of reference %d and candidate %d are not in 1..%d", r.RefRuns, r.CandRuns, maxParts)
	}
	if r.RefPassed < 0 || r.RefPassed > r.RefRuns || r.CandPassed < 0 || r.CandPassed > r.CandRuns {
		return fmt.Errorf("passes %d of %d and %d of %d are impossible", r.RefPassed, r.RefRuns, r.CandPassed, r.CandRuns)
	}
	return nil
}

// SignFlipTest is the exact test of whether the arms are exchangeable within
// every cluster, whatever the dependence inside one. Its reference
// distribution is the sum of D_k with all 2^K choices of signs. With one pair
// a cluster it is exactly [McNemar].
//
//	R. A. Fisher, The Design of Experiments, 1935, section 21.
type SignFlipTest struct {
	Clusters int `json:"clusters"` // K
	Active   int `json:"active"`   // clusters with D_k != 0; the others carry no weight
	Pairs    int `json:"pairs"`

	PWorse    float64 `json:"p_worse"`     // P(sum >= observed): is the candidate worse?
	PBetter   float64 `json:"p_better"`    // P(sum <= observed)
	PTwo      float64 `json:"p_two"`       // P(|sum| >= |observed|)
	PMidWorse float64 `json:"p_mid_worse"` // PWorse - P(sum = observed)/2

	// The logarithms are finite where the p values underflow.
	Log10PWorse float64 `json:"log10_p_worse"`
	Log10PTwo   float64 `json:"log10_p_two"`

	// MinP is 2^-Active, the smallest PWorse these clusters can give, and
	// Attainable whether it is at most 0.05.
	MinP       float64 `json:"min_p"`
	Attainable bool    `json:"attainable"`

	// Reason is ReasonNoPairs, ReasonNoDiscordant or ReasonAllDifferencesZero
	// where there is nothing to flip and every p value is therefore 1.
	Reason string `json:"reason,omitempty"`
}

// SignFlip runs the exact sign-flip test: a hundred thousand sessions with a few
// losses each take about a second. The order of clusters does not matter, and
// neither do concordant pairs.
//
// It is an error if a cluster is impossible, or if there are more than 40
// clusters whose differences sum to many millions.
func SignFlip(clusters []Cluster) (SignFlipTest, error) {
	set, err := newClusterSet(clusters)
	if err != nil {
		return SignFlipTest{}, err
	}
	weights, positive := set.flips()
	test := SignFlipTest{
		Clusters:   set.k(),
		Active:     len(weights),
		Pairs:      set.pairs,
		MinP:       math.Ldexp(1, -len(weights)),
		Attainable: attainable(len(weights)),
	}
	if len(weights) == 0 {
		test.setP(noEvidence())
		test.Reason = set.reason()
		return test, nil
	}
	p, err := signFlipP(weights, positive)
	if err != nil {
		return SignFlipTest{}, err
	}
	test.setP(p)
	return test, nil
}

func (t *SignFlipTest) setP(p sidedP) {
	t.PWorse, t.PBetter, t.PTwo, t.PMidWorse = p.worse, p.better, p.two, p.midWorse
	t.Log10PWorse, t.Log10PTwo = p.log10Worse, p.log10Two
}

// signFlipP returns the p values for |D_k| = weights, ascending and not empty,
// of which those with D_k > 0 sum to positive.
func signFlipP(weights []int, positive int) (sidedP, error) {
	total := 0
	for _, w := range weights {
		total += w
	}
	negative := total - positive
	if weights[0] == weights[len(weights)-1] {
		// Equal weights are coins, whose tails are exact for any number.
		k := min(positive, negative) / weights[0]
		return sided(fairTails(k, len(weights)), positive-negative), nil
	}
	t, err := flipTails(weights, total, max(positive, negative))
	if err != nil {
		return sidedP{}, err
	}
	return sided(t, positive-negative), nil
}

// clusterSet is a validated list of clusters, sorted so that no sum depends on
// the order in which they came, their differences brought to common parts.
type clusterSet struct {
	sizes  []int // n_k
	diffs  []int // D_k times parts
	parts  int
	pairs  int
	losses float64 // in pairs
	gains  float64
}

func newClusterSet(clusters []Cluster) (*clusterSet, error) {
	set := &clusterSet{parts: 1}
	for i, c := range clusters {
		if err := c.check(); err != nil {
			return nil, fmt.Errorf("stats: cluster %d: %w", i, err)
		}
		if set.parts = lcm(set.parts, c.parts()); set.parts > maxParts {
			return nil, fmt.Errorf("stats: cluster %d: the parts have no common multiple below %d", i, maxParts)
		}
		if set.pairs += c.Pairs; set.pairs > maxCount {
			return nil, fmt.Errorf("stats: more than %d pairs", maxCount)
		}
	}
	sorted := slices.Clone(clusters)
	slices.SortFunc(sorted, func(a, b Cluster) int {
		return cmp.Or(cmp.Compare(a.Pairs, b.Pairs), cmp.Compare(a.Losses, b.Losses),
			cmp.Compare(a.Gains, b.Gains), cmp.Compare(a.Parts, b.Parts))
	})
	losses, gains := 0, 0
	for _, c := range sorted {
		scale := set.parts / c.parts()
		set.sizes = append(set.sizes, c.Pairs)
		set.diffs = append(set.diffs, (c.Losses-c.Gains)*scale)
		losses += c.Losses * scale
		gains += c.Gains * scale
	}
	set.losses = float64(losses) / float64(set.parts)
	set.gains = float64(gains) / float64(set.parts)
	return set, nil
}

func (c Cluster) parts() int { return max(c.Parts, 1) }

func (c Cluster) check() error {
	switch {
	case c.Pairs < 1 || c.Pairs > maxCount:
		return fmt.Errorf("%d pairs are not in 1..%d", c.Pairs, maxCount)
	case c.Parts < 0 || c.Parts > maxParts:
		return fmt.Errorf("%d parts are not in 0..%d", c.Parts, maxParts)
	case c.Losses < 0 || c.Gains < 0:
		return fmt.Errorf("negative count: losses %d, gains %d", c.Losses, c.Gains)
	case c.Losses > c.Pairs*c.parts() || c.Gains > c.Pairs*c.parts()-c.Losses:
		return fmt.Errorf("%d pairs of %d parts cannot hold %d losses and %d gains", c.Pairs, c.parts(), c.Losses, c.Gains)
	}
	return nil
}

func (s *clusterSet) k() int { return len(s.sizes) }

// flips returns |D_k| of the active clusters in ascending order, reduced by
// their common divisor, and the sum of those with D_k > 0.
func (s *clusterSet) flips() (weights []int, positive int) {
	divisor := 0
	for _, d := range s.diffs {
		divisor = gcd(divisor, abs(d))
	}
	for _, d := range s.diffs {
		if d == 0 {
			continue
		}
		weights = append(weights, abs(d)/divisor)
		positive += max(d, 0) / divisor
	}
	slices.Sort(weights)
	return weights, positive
}

// reason says why no cluster is active.
func (s *clusterSet) reason() string {
	switch {
	case s.pairs == 0:
		return ReasonNoPairs
	case s.losses == 0 && s.gains == 0:
		return ReasonNoDiscordant
	}
	return ReasonAllDifferencesZero
}

// moments are the sums from which the asymptotic statistics are made.
type moments struct {
	clusters  int
	pairs     float64
	sum       float64 // sum of D_k
	squares   float64 // sum of D_k^2
	deviation float64 // sum of (D_k - n_k*delta)^2, delta = sum/pairs
}

func (s *clusterSet) moments() moments {
	sum, squares, deviation := 0, 0.0, 0.0
	for _, d := range s.diffs {
		sum += d
		squares += float64(d) * float64(d)
	}
	for k, d := range s.diffs {
		// In whole numbers up to the square, D_k - n_k*delta would cancel.
		r := float64(s.pairs)*float64(d) - float64(s.sizes[k])*float64(sum)
		deviation += r * r
	}
	parts, pairs := float64(s.parts), float64(s.pairs)
	return moments{
		clusters:  s.k(),
		pairs:     pairs,
		sum:       float64(sum) / parts,
		squares:   squares / (parts * parts),
		deviation: deviation / (parts * parts) / (pairs * pairs),
	}
}

// ChiSquare is a statistic with one degree of freedom and its two-sided p value
// P(X > Statistic).
type ChiSquare struct {
	Statistic float64 `json:"statistic"`
	P         float64 `json:"p"`
}

// ClusterChiSquares are asymptotic tests of marginal homogeneity for clustered
// pairs. They need some 20 clusters and are for a reader who wants to compare;
// the gate's test is [SignFlip]. It tests the stronger hypothesis of
// exchangeable arms, so a disagreement points at sessions that differ in kind.
type ClusterChiSquares struct {
	// Obuchowski weighs pairs equally: (K-1)/K * (sum D)^2 / sum D^2.
	//	N. Obuchowski, Statistics in Medicine 17, 1998, p. 1495-1507.
	Obuchowski *ChiSquare `json:"obuchowski"`
	// Durkalski weighs clusters equally, and so estimates something else:
	// (sum D/n)^2 / sum (D/n)^2.
	//	V. Durkalski et al., Statistics in Medicine 22, 2003, p. 2417-2428.
	Durkalski *ChiSquare `json:"durkalski"`
	// Yang averages the null and the alternative variance:
	// (K-1)/K * (sum D)^2 / (sum (D-n*delta)^2 + sum D^2) * 2.
	//	Z. Yang, X. Sun, J. Hardin, Biometrical Journal 52, 2010.
	Yang *ChiSquare `json:"yang"`

	// Reason says why all three are nil: ReasonNoPairs, ReasonNoDiscordant or
	// ReasonAllDifferencesZero.
	Reason string `json:"reason,omitempty"`
}

// ClusterTests returns the asymptotic tests. It is an error if a cluster is
// impossible.
func ClusterTests(clusters []Cluster) (ClusterChiSquares, error) {
	set, err := newClusterSet(clusters)
	if err != nil {
		return ClusterChiSquares{}, err
	}
	m := set.moments()
	if m.squares == 0 {
		return ClusterChiSquares{Reason: set.reason()}, nil
	}
	return ClusterChiSquares{
		Obuchowski: chiSquare(m.obuchowski()),
		Durkalski:  chiSquare(set.durkalski()),
		Yang:       chiSquare(m.yang()),
	}, nil
}

func chiSquare(x float64) *ChiSquare { return &ChiSquare{Statistic: x, P: chiSquareUpper(x)} }

// shrink is (K-1)/K, for the degree of freedom that the mean has taken.
func (m moments) shrink() float64 { return float64(m.clusters-1) / float64(m.clusters) }

func (m moments) obuchowski() float64 { return m.shrink() * m.sum * m.sum / m.squares }

func (m moments) yang() float64 {
	return m.shrink() * m.sum * m.sum / ((m.deviation + m.squares) / 2)
}

// durkalski sums in 150 digits, since clusters of different sizes cancel, and what
// is left after they did is rounding.
func (s *clusterSet) durkalski() float64 {
	const bits, rounding = 512, -400
	number := func() *big.Float { return new(big.Float).SetPrec(bits) }
	sum, squares, size := number(), number(), number()
	for k, d := range s.diffs {
		rate := number().SetInt64(int64(d))
		rate.Quo(rate, number().SetInt64(int64(s.sizes[k])))
		sum.Add(sum, rate)
		size.Add(size, number().Abs(rate))
		squares.Add(squares, rate.Mul(rate, rate))
	}
	if number().Abs(sum).Cmp(size.SetMantExp(size, rounding)) <= 0 {
		return 0
	}
	statistic, _ := sum.Mul(sum, sum).Quo(sum, squares).Float64()
	return statistic
}

// minIntervalClusters is the number of clusters below which no interval is
// stated. That it is ten is a judgement, not a theorem.
const minIntervalClusters = 10

// ClusterInterval estimates the difference (losses-gains)/pairs with the
// between-cluster standard error
//
//	SE = sqrt(K/(K-1) * sum (D_k - n_k*delta)^2) / N
//
// and Student's t with K-1 degrees of freedom. The limits are cut at -1 and 1.
// Value exists whenever there are pairs, SE from two clusters on, and the
// interval from ten clusters on if SE is not zero; Reason says which of
// ReasonNoPairs, ReasonOneCluster, ReasonFewClusters and ReasonZeroSE applies.
//
//	W. Cochran, Sampling Techniques, 3rd ed. 1977, chapter 6 (ratio estimate).
//
// It is an error if a cluster is impossible or conf outside (0, 1).
func ClusterInterval(clusters []Cluster, conf float64) (Estimate, error) {
	if err := checkConf(conf); err != nil {
		return Estimate{}, err
	}
	set, err := newClusterSet(clusters)
	if err != nil {
		return Estimate{}, err
	}
	if set.pairs == 0 {
		return Estimate{Reason: ReasonNoPairs}, nil
	}
	m := set.moments()
	delta := m.sum / m.pairs
	estimate := Estimate{Value: ptr(delta)}
	if m.clusters == 1 {
		estimate.Reason = ReasonOneCluster
		return estimate, nil
	}
	se := m.standardError()
	estimate.SE = ptr(se)
	switch {
	case m.clusters < minIntervalClusters:
		estimate.Reason = ReasonFewClusters
	case se == 0:
		estimate.Reason = ReasonZeroSE
	default:
		half := studentUpper((1-conf)/2, m.clusters-1) * se
		estimate.Interval = &Interval{Low: max(delta-half, -1), High: min(delta+half, 1), Conf: conf}
	}
	return estimate, nil
}

func (m moments) standardError() float64 { return math.Sqrt(m.deviation/m.shrink()) / m.pairs }

// studentUpper returns t with P(T > t) = alpha.
func studentUpper(alpha float64, freedom int) float64 {
	return -distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(freedom)}.Quantile(alpha)
}

// ClusterTangoInterval is the Tango interval of a table shrunk by the design
// effect
//
//	DE = sum D_k^2 / (losses+gains), at least 1,
//
// that is with losses, gains and pairs divided by DE. It is an approximation
// for sets with too few clusters for [ClusterInterval], and should be labelled
// as one. Value and interval are nil without pairs.
//
// It is an error if a cluster is impossible or conf outside (0, 1).
func ClusterTangoInterval(clusters []Cluster, conf float64) (Estimate, error) {
	if err := checkConf(conf); err != nil {
		return Estimate{}, err
	}
	set, err := newClusterSet(clusters)
	if err != nil {
		return Estimate{}, err
	}
	if set.pairs == 0 {
		return Estimate{Reason: ReasonNoPairs}, nil
	}
	m := set.moments()
	effect := 1.0
	if discordant := set.losses + set.gains; discordant > 0 {
		effect = max(m.squares/discordant, 1)
	}
	low, high := tangoLimits(set.losses/effect, set.gains/effect, m.pairs/effect, confZ(conf))
	return Estimate{
		Value:    ptr(m.sum / m.pairs),
		Interval: &Interval{Low: low, High: high, Conf: conf},
	}, nil
}

func abs(x int) int { return max(x, -x) }

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

func lcm(a, b int) int { return a / gcd(a, b) * b }
