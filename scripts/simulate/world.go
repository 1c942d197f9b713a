package main

import (
	"math/rand/v2"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/doubletake-dev/doubletake/analysis/stats"
)

// world is a number of sessions with as many pairs each. A pair is a loss or a gain
// with the given probabilities on average; of a discordant pair the direction is a
// loss with the session's own probability, Beta distributed over sessions, so that two
// discordant pairs of one session go the same way with correlation rho.
type world struct {
	sessions, pairs int
	rho             float64 // in [0, 1)
	loss, gain      float64
}

// equal is a world in which the candidate is not worse.
func equal(sessions, pairs int, rho, discordance float64) world {
	return world{sessions, pairs, rho, discordance / 2, discordance / 2}
}

// play draws a run.
func (w world) play(rng *rand.Rand) []stats.Cluster {
	share := w.loss / (w.loss + w.gain)
	theta := distuv.Beta{Src: rng}
	own := w.rho > 0 && share < 1
	if own {
		theta.Alpha = share * (1 - w.rho) / w.rho
		theta.Beta = (1 - share) * (1 - w.rho) / w.rho
	}
	clusters := make([]stats.Cluster, w.sessions)
	for i := range clusters {
		loss := share
		if own {
			loss = theta.Rand()
		}
		clusters[i].Pairs = w.pairs
		for range w.pairs {
			switch {
			case rng.Float64() >= w.loss+w.gain:
			case rng.Float64() < loss:
				clusters[i].Losses++
			default:
				clusters[i].Gains++
			}
		}
	}
	return clusters
}

// sum is the table of all clusters together.
func sum(clusters []stats.Cluster) (losses, gains int) {
	for _, c := range clusters {
		losses += c.Losses
		gains += c.Gains
	}
	return losses, gains
}
