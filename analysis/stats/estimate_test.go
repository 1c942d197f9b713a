package stats

import (
	"encoding/json"
	"math"
	"testing"

	"pgregory.net/rapid"
)

// encoding/json refuses NaN and Inf, so that encoding a result proves it has
// none.
func TestResultsEncode(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		// Small counts hit the undefined cases.
		losses, gains := rapid.IntRange(0, 3).Draw(t, "losses"), rapid.IntRange(0, 3).Draw(t, "gains")
		if rapid.Bool().Draw(t, "large") {
			losses, gains = count(t, "many losses"), count(t, "many gains")
		}
		n := losses + gains + rapid.IntRange(0, 2).Draw(t, "concordant")
		clusters := clusterList(t, 12)
		two, worse, err := LogEvidence(losses, gains)
		if err != nil {
			t.Fatal(err)
		}
		results := []any{
			must(McNemar(losses, gains)),
			must(TangoInterval(losses, gains, n, 0.95)),
			must(WaldInterval(losses, gains, n, 0.95)),
			must(AgrestiMinInterval(losses, gains, n, 0.95)),
			must(BonettPriceInterval(losses, gains, n, 0.95)),
			must(NewcombeInterval(n-losses-gains, losses, gains, 0, 0.95)),
			must(NonInferiority(losses, gains, n, 0.05, 0.05)),
			must(ConditionalOddsRatio(losses, gains, 0.95)),
			must(WilsonInterval(losses, losses+gains, 0.95)),
			must(ClopperPearsonInterval(losses, losses+gains, 0.95)),
			must(SignFlip(clusters)),
			must(ClusterTests(clusters)),
			must(ClusterInterval(clusters, 0.95)),
			must(ClusterTangoInterval(clusters, 0.95)),
			must(SmallestDetectable(losses%50, 0.01, 0.05, 0.8)),
			must(CohenKappa([][]int{{losses % 3, gains % 3}, {n % 2, 0}}, 0.95)),
			must(FleissKappa([][]int{{losses % 3, 2 - losses%3}, {2, 0}})),
			KrippendorffAlpha([][]int{{losses % 3, gains % 3}, {0, 0}}),
			EProcess{Losses: losses, Gains: gains, LogTwo: two, LogWorse: worse},
		}
		for _, result := range results {
			if _, err := json.Marshal(result); err != nil {
				t.Fatalf("%T: %v: %+v", result, err, result)
			}
		}
	})
}

func TestBisect(t *testing.T) {
	root := bisect(0, 2, func(x float64) bool { return x*x < 2 })
	within(t, "square root of 2", root, math.Sqrt2, 3e-16)
	if got := bisect(1, 1, func(float64) bool { return true }); got != 1 {
		t.Errorf("empty range gives %v", got)
	}
	// A limit far below the smallest difference from 1 keeps its digits.
	tiny := bisect(0, 1, func(x float64) bool { return x < 1e-200 })
	within(t, "tiny", tiny, 1e-200, 1e-215)
}

func TestNormal(t *testing.T) {
	within(t, "z(.95)", confZ(0.95), 1.959963984540054, 1e-15)
	within(t, "z(.90)", confZ(0.90), 1.6448536269514722, 1e-15)
	// 1-CDF is 0 here.
	within(t, "chi-square tail at 100", chiSquareUpper(100)*1e23, 1.5239706048321, 1e-12)
	within(t, "normal tail at -37", math.Log10(normalLower(-37)), -299.24218117860992, 1e-11)
}
