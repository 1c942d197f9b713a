package stats

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// The three routes to the same tail give the same tail.
func TestFlipRoutesAgree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		weights := rapid.SliceOfN(rapid.IntRange(1, 12), 2, 18).Draw(t, "weights")
		slices.Sort(weights)
		total, at := 0, 0
		for _, w := range weights {
			total += w
			if rapid.Bool().Draw(t, "in") {
				at += w
			}
		}
		at = max(at, total-at)
		plain := convolvedTails(weights, total, at)
		halves := halvedTails(weights, at)
		if halves.point != plain.point || halves.tail != plain.tail || math.Abs(halves.logTail-plain.logTail) > 1e-14 {
			t.Fatalf("halves: %+v, want %+v", halves, plain)
		}
		tilted, err := tiltedTails(weights, total, at)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range [][2]float64{{tilted.point, plain.point}, {tilted.tail, plain.tail}, {tilted.logTail, plain.logTail}} {
			if math.Abs(p[0]-p[1]) > 1e-12*math.Abs(p[1]) {
				t.Fatalf("tilted: %+v, want %+v", tilted, plain)
			}
		}
	})
}

// Twice as many independent clusters of weight 1 and 2: the tail is a sum over the
// twos of tails of the ones, which the binomial distribution knows.
func TestSignFlipManyClusters(t *testing.T) {
	const ones, twos = 60_000, 40_000
	for _, excess := range []int{0, 500, 3000, 30_000} {
		var clusters []Cluster
		for i := range ones + twos {
			c := Cluster{Pairs: 3, Losses: 1}
			if i >= ones {
				c.Losses = 2
			}
			if i%2 == 0 && i/2 >= excess { // half of the ones go the other way, less the excess
				c.Losses, c.Gains = 0, c.Losses
			}
			clusters = append(clusters, c)
		}
		rand.New(rand.NewPCG(1, 2)).Shuffle(len(clusters), func(i, j int) { clusters[i], clusters[j] = clusters[j], clusters[i] })
		at := (ones+2*twos)/2 + min(excess, ones/2)
		if excess > ones/2 {
			t.Fatal("the excess is in the ones")
		}
		logs := []float64{}
		for b := range twos + 1 {
			need := at - 2*b // of the ones
			logTail := 0.0
			switch {
			case need > ones:
				continue
			case 2*need > ones:
				logTail = fairTails(ones-need, ones).logTail
			case need > 0:
				logTail = math.Log1p(-math.Exp(fairTails(need-1, ones).logTail))
			}
			logs = append(logs, logBinomial(b, twos, 0.5, 0.5)+logTail)
		}
		want := (logMeanExp(logs) + math.Log(float64(len(logs)))) / math.Ln10
		got := must(SignFlip(clusters))
		within(t, "log10 p", got.Log10PWorse, want, 1e-11*max(1, math.Abs(want)))
	}
}

// Few clusters of sizes that no table of sums could hold.
func TestSignFlipHugeDifferences(t *testing.T) {
	clusters := []Cluster{{Pairs: 1_000_000, Losses: 1}, {Pairs: 900_000_000, Losses: 800_000_000}, {Pairs: 50_000_000, Gains: 30_000_001}}
	got := must(SignFlip(clusters))
	// Observed 1 + 800000000 - 30000001. As large are those with the second as it is,
	// and of them not the one with the first turned around.
	within(t, "p", got.PWorse, 3.0/8, 0)
	within(t, "two-sided p", got.PTwo, 6.0/8, 0)
}

// Fractions of clusters of many sizes cancel to nothing, and take no time.
func TestDurkalskiCancels(t *testing.T) {
	var clusters []Cluster
	for i := range 20_000 {
		clusters = append(clusters, Cluster{Pairs: 3 + i, Losses: 1 + i%3}, Cluster{Pairs: 3 + i, Gains: 1 + i%3})
	}
	tests := must(ClusterTests(clusters))
	if tests.Durkalski.Statistic != 0 || tests.Durkalski.P != 1 {
		t.Errorf("%+v, want 0", tests.Durkalski)
	}
}
