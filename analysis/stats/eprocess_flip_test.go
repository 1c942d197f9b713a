package stats

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// With one pair a session both processes for sessions are the same.
func TestFlipEProcessOfSinglePairs(t *testing.T) {
	var flip FlipEProcess
	var share ClusterEProcess
	for i, c := range []Cluster{{1, 1, 0, 1}, {1, 0, 1, 1}, {1, 0, 0, 1}, {1, 1, 0, 0}, {1, 1, 0, 1}} {
		var err error
		if flip, err = flip.Observe(c); err != nil {
			t.Fatal(err)
		}
		if share, err = share.Observe(c); err != nil {
			t.Fatal(err)
		}
		if math.Abs(flip.LogWorse-share.LogWorse) > 1e-13 || math.Abs(flip.PWorse()-share.PWorse()) > 1e-13 {
			t.Errorf("after %d: %v and %v", i+1, flip.LogWorse, share.LogWorse)
		}
	}
}

// Under its null hypothesis the process is a martingale: over all choices of signs its
// mean is 1, whatever the sizes.
func TestFlipEProcessIsAMartingale(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		sizes := rapid.SliceOfN(rapid.IntRange(0, 40), 1, 8).Draw(rt, "sizes")
		parts := rapid.IntRange(1, 3).Draw(rt, "parts")
		sum := 0.0
		for signs := range 1 << len(sizes) {
			var e FlipEProcess
			for k, d := range sizes {
				c := Cluster{Pairs: 40, Losses: d, Parts: parts}
				if signs>>k&1 == 1 {
					c.Losses, c.Gains = 0, d
				}
				var err error
				if e, err = e.Observe(c); err != nil {
					rt.Fatal(err)
				}
			}
			sum += math.Exp(e.LogWorse)
		}
		if mean := sum / float64(int(1)<<len(sizes)); math.Abs(mean-1) > 1e-12 {
			rt.Fatalf("mean %v", mean)
		}
	})
}

// A session of any size leaves it finite.
func TestFlipEProcessIsFinite(t *testing.T) {
	var e FlipEProcess
	for range 100 {
		var err error
		if e, err = e.Observe(Cluster{Pairs: 1e9, Losses: 1e9}); err != nil {
			t.Fatal(err)
		}
	}
	// Each bet at most doubles.
	if want := 100 * math.Ln2; math.IsInf(e.LogWorse, 0) || math.Abs(e.LogWorse-want) > 1e-9 {
		t.Errorf("log E %v, want %v", e.LogWorse, want)
	}
}
