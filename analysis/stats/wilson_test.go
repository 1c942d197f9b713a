package stats

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestProportionGold(t *testing.T) {
	for _, row := range gold(t, "wilson.csv") {
		x, n, conf := row.int("x"), row.int("n"), row.float("conf")
		wilson := must(WilsonInterval(x, n, conf))
		row.optional("estimate", wilson.Value, 1e-13)
		row.interval("wilson", wilson.Interval, 1e-12)
		if row.text("cp_lo") != "NA" { // the file leaves a million out
			row.interval("cp", must(ClopperPearsonInterval(x, n, conf)).Interval, 1e-12)
		}
	}
}

func TestProportionPublished(t *testing.T) {
	for _, tt := range []struct {
		x, n      int
		low, high float64
	}{{0, 40, 0, 0.0876}, {0, 200, 0, 0.0188}, {3, 200, 0.0051, 0.0432}, {0, 10, 0, 0.2775}} {
		got := must(WilsonInterval(tt.x, tt.n, 0.95)).Interval
		within(t, "Wilson, low", got.Low, tt.low, 5e-5)
		within(t, "Wilson, high", got.High, tt.high, 5e-5)
	}
	// statsmodels #7386: 38/38 gave 1.0000000000000002 and 0/77 gave -3.5e-18.
	if high := must(WilsonInterval(38, 38, 0.95)).Interval.High; high != 1 {
		t.Errorf("Wilson of 38/38 ends at %v", high)
	}
	if low := must(WilsonInterval(0, 77, 0.95)).Interval.Low; low != 0 {
		t.Errorf("Wilson of 0/77 begins at %v", low)
	}
	// statsmodels #2609, #9141; gonum's InvRegIncBeta gives .9999999 for the last.
	exact := must(ClopperPearsonInterval(0, 18, 0.99)).Interval
	within(t, "Clopper-Pearson of 0/18 at .99", exact.High, 0.2549850, 5e-8)
	exact = must(ClopperPearsonInterval(0, 1000, 1-1e-7)).Interval
	within(t, "Clopper-Pearson of 0/1000 at 1-1e-7", exact.High, 0.0166707224, 5e-10)
	// What a clean run proves, one-sided 95%.
	within(t, "clean 40", must(ClopperPearsonInterval(0, 40, 0.9)).Interval.High, 0.072, 5e-4)
	within(t, "clean 200", must(ClopperPearsonInterval(0, 200, 0.9)).Interval.High, 0.0149, 5e-5)
}

func TestProportionUndefinedAndErrors(t *testing.T) {
	for name, interval := range map[string]func(x, n int, conf float64) (Estimate, error){
		"wilson": WilsonInterval, "clopper-pearson": ClopperPearsonInterval,
	} {
		got, err := interval(0, 0, 0.95)
		if err != nil || got.Value != nil || got.Interval != nil || got.Reason != ReasonNoPairs {
			t.Errorf("%s of nothing: %+v, %v", name, got, err)
		}
		for _, bad := range []struct {
			x, n int
			conf float64
		}{{-1, 5, 0.95}, {6, 5, 0.95}, {0, -1, 0.95}, {1, 5, 1}, {1, 5, math.NaN()}} {
			if _, err := interval(bad.x, bad.n, bad.conf); err == nil {
				t.Errorf("%s: no error for %+v", name, bad)
			}
		}
	}
}

func TestProportionMirror(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.OneOf(rapid.IntRange(1, 100), rapid.IntRange(1, 100_000)).Draw(t, "n")
		x := rapid.IntRange(0, n).Draw(t, "x")
		conf := rapid.Float64Range(0.5, 0.9999).Draw(t, "conf")
		for name, interval := range map[string]func(x, n int, conf float64) (Estimate, error){
			"wilson": WilsonInterval, "clopper-pearson": ClopperPearsonInterval,
		} {
			got, mirror := must(interval(x, n, conf)).Interval, must(interval(n-x, n, conf)).Interval
			if math.Abs(got.Low+mirror.High-1) > 1e-15 {
				t.Fatalf("%s: low %v and mirrored high %v", name, got.Low, mirror.High)
			}
			if rate := float64(x) / float64(n); !(0 <= got.Low && got.Low <= rate && rate <= got.High && got.High <= 1) {
				t.Fatalf("%s: %v of %v", name, got, rate)
			}
		}
	})
}
