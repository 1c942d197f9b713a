package main

import (
	"math"
	"math/rand/v2"

	"github.com/doubletake-dev/doubletake/analysis/stats"
)

// level is the nominal one of every test.
const level = 0.05

// trial is one simulated run: which of several tests rejected.
type trial func(rng *rand.Rand) ([]bool, error)

// The tests of a single look: the gate's, which takes sessions for independent, and
// the one that takes pairs for independent.
func onceTests() []string {
	return []string{"the gate: exact sign-flip by session", "contrast: exact McNemar by pair"}
}

func (w world) once(rng *rand.Rand) ([]bool, error) {
	clusters := w.play(rng)
	flip, err := stats.SignFlip(clusters)
	if err != nil {
		return nil, err
	}
	pair, err := stats.McNemar(sum(clusters))
	if err != nil {
		return nil, err
	}
	return []bool{flip.PWorse <= level, pair.PWorse <= level}, nil
}

// The tests of many looks. The process by pair is valid where pairs are independent.
func watchedTests() []string {
	return []string{
		"the gate with early stop: e-process by session", "contrast: e-process by pair",
		"contrast: sign-flip at every look", "contrast: exact McNemar at every look",
	}
}

// watch asks at every one of evenly spaced looks, and stops at the first rejection.
func (w world) watch(looks int) trial {
	return func(rng *rand.Rand) ([]bool, error) {
		clusters := w.play(rng)
		rejected := make([]bool, len(watchedTests()))
		var bySession stats.FlipEProcess
		for seen, look := 0, 1; look <= looks; look++ {
			until := look * w.sessions / looks
			for ; seen < until; seen++ {
				var err error
				if bySession, err = bySession.Observe(clusters[seen]); err != nil {
					return nil, err
				}
			}
			losses, gains := sum(clusters[:seen])
			pair, err := stats.McNemar(losses, gains)
			if err != nil {
				return nil, err
			}
			flip, err := stats.SignFlip(clusters[:seen])
			if err != nil {
				return nil, err
			}
			_, byPair, err := stats.LogEvidence(losses, gains)
			if err != nil {
				return nil, err
			}
			rejected[0] = rejected[0] || bySession.PWorse() <= level
			rejected[1] = rejected[1] || byPair >= -math.Log(level)
			rejected[2] = rejected[2] || flip.PWorse <= level
			rejected[3] = rejected[3] || pair.PWorse <= level
		}
		return rejected, nil
	}
}

// powerTests are the gate's two ways to decide: after the whole run, and session by
// session with early stop.
func powerTests() []string {
	return []string{"the gate: exact sign-flip by session", "the gate with early stop: e-process by session"}
}

func (w world) find(rng *rand.Rand) ([]bool, error) {
	clusters := w.play(rng)
	flip, err := stats.SignFlip(clusters)
	if err != nil {
		return nil, err
	}
	var process stats.FlipEProcess
	for _, c := range clusters {
		if process, err = process.Observe(c); err != nil {
			return nil, err
		}
	}
	return []bool{flip.PWorse <= level, process.PWorse() <= level}, nil
}
