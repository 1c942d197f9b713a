package pairing

import "slices"

// MinutesLeft estimates how long so many undecided pairs will take: each as long as
// half of the earlier verdicts took at most (their median), or 90 seconds before there
// are any.
func MinutesLeft(verdicts []Verdict, undecided int) float64 {
	const guess = 90.0 // seconds a pair
	var seconds []float64
	for _, v := range verdicts {
		if v.Seconds > 0 {
			seconds = append(seconds, v.Seconds)
		}
	}
	each := guess
	if len(seconds) > 0 {
		slices.Sort(seconds)
		each = seconds[len(seconds)/2]
	}
	return each * float64(undecided) / 60
}
