package stats

// OddsRatio is the conditional odds ratio losses/gains: how many losses there
// are for one gain. It ignores concordant pairs and so says nothing about how
// many users notice; it belongs below the difference.
type OddsRatio struct {
	Losses int `json:"losses"`
	Gains  int `json:"gains"`

	// Ratio is in [0, +Inf). Nil without discordant pairs, and nil with
	// Unbounded where there are losses but no gains.
	Ratio     *float64 `json:"ratio"`
	Unbounded bool     `json:"unbounded,omitempty"`

	// Exact agrees with the two-sided exact test of [McNemar]: it leaves out 1
	// if and only if PTwo < 1-conf. MidP is shorter and agrees with
	// PMidTwoDoubled; do not pair one's interval with the other's p value.
	// Nil without discordant pairs.
	Exact *OddsInterval `json:"exact"`
	MidP  *OddsInterval `json:"mid_p"`

	Reason string `json:"reason,omitempty"` // ReasonNoDiscordant, or empty
}

// OddsInterval is an interval for the odds ratio and, what it is made from, for
// the share of losses among discordant pairs: odds = share/(1-share).
type OddsInterval struct {
	Low       float64  `json:"low"`
	High      *float64 `json:"high"` // nil with Unbounded: no upper limit
	Unbounded bool     `json:"upper_unbounded,omitempty"`
	Conf      float64  `json:"conf"`
	Share     Interval `json:"share"`
}

// ConditionalOddsRatio estimates the odds of a loss against a gain, with
// Clopper-Pearson limits and mid-p limits at two-sided confidence conf.
//
//	N. Breslow, N. Day, Statistical Methods in Cancer Research I, 1980, ch. 5.
//	G. Berry, P. Armitage, The Statistician 44, 1995 (mid-p limits).
//
// It is an error if a count is negative or above 10^9 or conf outside (0, 1).
func ConditionalOddsRatio(losses, gains int, conf float64) (OddsRatio, error) {
	if err := checkCounts(losses, gains); err != nil {
		return OddsRatio{}, err
	}
	if err := checkConf(conf); err != nil {
		return OddsRatio{}, err
	}
	odds := OddsRatio{Losses: losses, Gains: gains}
	if losses+gains == 0 {
		odds.Reason = ReasonNoDiscordant
		return odds, nil
	}
	if gains == 0 {
		odds.Unbounded = true
	} else {
		odds.Ratio = ptr(float64(losses) / float64(gains))
	}
	odds.Exact = oddsInterval(losses, gains, conf, exactP)
	odds.MidP = oddsInterval(losses, gains, conf, tails.mid)
	return odds, nil
}

func oddsInterval(losses, gains int, conf float64, p func(tails) float64) *OddsInterval {
	n, alpha := losses+gains, (1-conf)/2
	low, lowRest := exactLowerShares(losses, n, alpha, p)
	highRest, high := exactLowerShares(gains, n, alpha, p)
	interval := &OddsInterval{
		Low:   low / lowRest,
		Conf:  conf,
		Share: Interval{Low: low, High: high, Conf: conf},
	}
	if highRest == 0 {
		interval.Unbounded = true
	} else {
		interval.High = ptr(high / highRest)
	}
	return interval
}

// exactLowerShares returns exactLower and its distance from 1, by which odds divide.
// The smaller of the two is the one that is searched for: it would lose its digits in
// a subtraction.
func exactLowerShares(x, n int, alpha float64, p func(tails) float64) (low, rest float64) {
	if low = exactLower(x, n, alpha, p); low <= 0.5 {
		return low, 1 - low
	}
	rest = bisect(float64(n-x)/float64(n), 1, func(rest float64) bool {
		return p(lowerTails(n-x, n, rest, 1-rest)) >= alpha
	})
	return 1 - rest, rest
}
