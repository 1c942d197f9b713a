package pairing

import (
	"fmt"
	"math"
	"slices"
)

// TimeLeft is an estimate of how long undecided pairs will take.
type TimeLeft struct {
	Minutes float64 `json:"minutes"`
	// Pairs is how many are undecided, Verdicts how many timed ones the estimate rests on.
	Pairs    int `json:"pairs"`
	Verdicts int `json:"verdicts"`
}

const (
	secondsAssumed  = 120.0     // a pair, before anybody was timed
	secondsAtLeast  = 15.0      // a pair: what takes less was a slip or a second look
	secondsToAPause = 30 * 60.0 // a pair that was open for longer was left alone
)

// EstimateTime says how long so many undecided pairs will take: each as long as the
// median of the timed verdicts, and two minutes before there are any. A verdict after
// more than half an hour is a pause and is left out; none counts for less than 15 seconds.
func EstimateTime(verdicts []Verdict, undecided int) TimeLeft {
	var seconds []float64
	for _, v := range verdicts {
		if v.Ruling != "" && v.Seconds > 0 && v.Seconds <= secondsToAPause {
			seconds = append(seconds, max(v.Seconds, secondsAtLeast))
		}
	}
	each := secondsAssumed
	if n := len(seconds); n > 0 {
		slices.Sort(seconds)
		each = (seconds[(n-1)/2] + seconds[n/2]) / 2
	}
	return TimeLeft{Minutes: each * float64(undecided) / 60, Pairs: undecided, Verdicts: len(seconds)}
}

// String says it in words, with what it rests on.
func (t TimeLeft) String() string {
	if t.Pairs == 0 {
		return "nothing left"
	}
	minutes := math.Ceil(t.Minutes)
	unit := "minutes"
	if minutes == 1 {
		unit = "minute"
	}
	switch t.Verdicts {
	case 0:
		return fmt.Sprintf("about %.0f %s left (no timed verdicts yet: assuming 2 minutes each)", minutes, unit)
	case 1:
		return fmt.Sprintf("about %.0f %s left, by 1 timed verdict", minutes, unit)
	}
	return fmt.Sprintf("about %.0f %s left, by %d timed verdicts", minutes, unit, t.Verdicts)
}
