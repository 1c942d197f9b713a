package stats

import "fmt"

// ReasonNoCommonCorrelation: the clusters have no correlation that Eliasziw and
// Donner's correction could use: all have one pair, all agree inside, or they
// differ inside as much as between them.
const ReasonNoCommonCorrelation = "no_common_correlation"

// ClusterSums are the sums over clusters from which the asymptotic tests and the
// cluster interval are made, in pairs.
type ClusterSums struct {
	Sum     float64 `json:"sum"`     // of D_k
	Squares float64 `json:"squares"` // of D_k^2
	Centred float64 `json:"centred"` // of (D_k - n_k*delta)^2, delta being Sum/pairs
}

// SumClusters returns the sums. It is an error if a cluster is impossible.
func SumClusters(clusters []Cluster) (ClusterSums, error) {
	set, err := newClusterSet(clusters)
	if err != nil || set.pairs == 0 {
		return ClusterSums{}, err
	}
	m := set.moments()
	return ClusterSums{Sum: m.sum, Squares: m.squares, Centred: m.deviation}, nil
}

// ClusterTable is a cluster with all four cells of its table.
type ClusterTable struct {
	BothPass int `json:"both_pass"`
	Losses   int `json:"losses"`
	Gains    int `json:"gains"`
	BothFail int `json:"both_fail"`
}

// Cluster forgets how the concordant pairs came out.
func (t ClusterTable) Cluster() Cluster {
	return Cluster{Pairs: t.BothPass + t.Losses + t.Gains + t.BothFail, Losses: t.Losses, Gains: t.Gains}
}

// EliasziwTest is McNemar's chi-square, uncorrected, divided by a design effect.
type EliasziwTest struct {
	ChiSquare   *ChiSquare `json:"chi_square"`
	Correlation *float64   `json:"correlation"` // of discordant pairs within a cluster

	// Reason is ReasonNoPairs, ReasonNoDiscordant, ReasonOneCluster or
	// ReasonNoCommonCorrelation; both are nil with any.
	Reason string `json:"reason,omitempty"`
}

// Eliasziw assumes one correlation for all clusters, estimates it from all four
// cells by analysis of variance, and corrects McNemar's statistic by
//
//	1 + (n_c - 1) rho
//
// It is here to reproduce published tables. With unequal clusters it can be
// absurd, thirty times what the other cluster tests give: never gate on it.
//
//	M. Eliasziw, A. Donner, Statistics in Medicine 10, 1991, p. 1981-1991.
//
// It is an error if a cluster is impossible.
func Eliasziw(tables []ClusterTable) (EliasziwTest, error) {
	var total ClusterTable
	discordant, discordantSquares := 0, 0.0
	active, pairs, pairSquares := 0, 0, 0.0
	for i, t := range tables {
		if t.BothPass < 0 || t.BothFail < 0 {
			return EliasziwTest{}, fmt.Errorf("stats: cluster %d: negative count: both pass %d, both fail %d", i, t.BothPass, t.BothFail)
		}
		c := t.Cluster()
		if err := c.check(); err != nil {
			return EliasziwTest{}, fmt.Errorf("stats: cluster %d: %w", i, err)
		}
		total.BothPass += t.BothPass
		total.Losses += t.Losses
		total.Gains += t.Gains
		total.BothFail += t.BothFail
		pairs += c.Pairs
		pairSquares += float64(c.Pairs) * float64(c.Pairs)
		if s := t.Losses + t.Gains; s > 0 {
			active++
			discordant += s
			discordantSquares += float64(s) * float64(s)
		}
	}
	switch {
	case pairs == 0:
		return EliasziwTest{Reason: ReasonNoPairs}, nil
	case discordant == 0:
		return EliasziwTest{Reason: ReasonNoDiscordant}, nil
	case len(tables) == 1 || active == 1:
		return EliasziwTest{Reason: ReasonOneCluster}, nil
	case pairs == len(tables):
		return EliasziwTest{Reason: ReasonNoCommonCorrelation}, nil
	}
	k, n := float64(len(tables)), float64(pairs)
	mean := n / k
	// The typical sizes, smaller than the mean where sizes differ.
	size := mean - (pairSquares-n*mean)/(k*(k-1)*mean)
	kd, s := float64(active), float64(discordant)
	meanD := s / kd
	sizeD := meanD - (discordantSquares-s*meanD)/(kd*(kd-1)*meanD)

	between, within := 0.0, 0.0
	for _, t := range tables {
		nk := float64(t.Cluster().Pairs)
		for _, cell := range [][2]int{
			{t.BothPass, total.BothPass}, {t.Losses, total.Losses}, {t.Gains, total.Gains}, {t.BothFail, total.BothFail},
		} {
			x := float64(cell[0])
			off := x - nk*float64(cell[1])/n
			between += off * off / nk
			within += x * (nk - x) / nk
		}
	}
	between /= k
	within /= k * (mean - 1)
	scale := between + (size-1)*within
	if scale == 0 || between <= within {
		return EliasziwTest{Reason: ReasonNoCommonCorrelation}, nil
	}
	common := (between - within) / scale
	// From the correlation of all pairs to that of the discordant ones.
	rho := common / (common + s/n*(1-common))
	nc := sizeD + kd*(meanD-sizeD)
	effect := 1 + (nc-1)*rho
	if effect <= 0 {
		return EliasziwTest{Reason: ReasonNoCommonCorrelation}, nil
	}
	diff := float64(total.Losses - total.Gains)
	return EliasziwTest{ChiSquare: chiSquare(diff * diff / s / effect), Correlation: &rho}, nil
}
