package analysis

import (
	"fmt"
	"math"

	"github.com/doubletake-dev/doubletake/analysis/stats"
	"github.com/doubletake-dev/doubletake/replay"
)

// Sequential is the evidence that the candidate is worse, gathered session group by
// session group in the order in which they were to be played, which is random and
// depends on the seed. It may be looked at after every session: it exceeds 1/alpha with
// probability at most alpha if the candidate is not worse (see
// [stats.FlipEProcess]). Each session enters once; replicates enter by their mean.
//
// Sessions with a fixture that must pass are played first, for the row of their own,
// and are no part of it: an order that somebody chose is no random order.
type Sequential struct {
	// Sessions is how many session groups with a scored pair entered.
	Sessions int `json:"sessions"`
	// Log10E and MaxLog10E are the decimal logarithms of the last and the largest
	// e-value; PAnytime is min(1, 1/largest).
	Log10E    float64 `json:"log10_e"`
	MaxLog10E float64 `json:"max_log10_e"`
	PAnytime  float64 `json:"p_anytime"`
	// CrossedAt is the number of the session at which the e-value first reached one over
	// the test's level; null where it never did.
	CrossedAt *int `json:"crossed_at"`
	// Trail is the process after each session.
	Trail []Evidence `json:"-"`
}

// Evidence is the process after one session group.
type Evidence struct {
	Group string
	stats.Cluster
	Log10E float64
}

func newSequential(groups []group, order []replay.Session) (Sequential, error) {
	byName := map[string]stats.Cluster{}
	for _, g := range groups {
		byName[g.name] = g.Cluster
	}
	var process stats.FlipEProcess
	s := Sequential{PAnytime: 1}
	for _, session := range order {
		c, ok := byName[session.Group]
		if !ok || session.MustPass {
			continue
		}
		var err error
		if process, err = process.Observe(c); err != nil {
			return s, fmt.Errorf("evidence of session group %s: %w", session.Group, err)
		}
		s.Trail = append(s.Trail, Evidence{session.Group, c, process.LogWorse / math.Ln10})
	}
	s.Sessions = len(s.Trail)
	s.Log10E, s.MaxLog10E, s.PAnytime = process.LogWorse/math.Ln10, process.MaxLogWorse/math.Ln10, process.PWorse()
	return s, nil
}
