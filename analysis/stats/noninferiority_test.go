package stats

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestNonInferiorityGold(t *testing.T) {
	margins := map[string]float64{"m02": 0.02, "m05": 0.05, "m10": 0.10}
	for _, row := range gold(t, "paired_diff.csv") {
		for name, margin := range margins {
			test, err := NonInferiority(row.int("b"), row.int("c"), row.int("n"), margin, 0.05)
			if err != nil {
				t.Fatalf("line %d: %v", row.line, err)
			}
			row.absolute("ni_z_"+name, *test.Z, 1e-13*max(1, math.Abs(*test.Z)))
			row.relative("ni_p_"+name, *test.P, 1e-12)
			if row.text("conf") == "0.90" {
				row.absolute("tango_hi", *test.Upper, 1e-12)
			}
		}
	}
}

// The smallest clean run that passes, and the largest number of losses that
// does without a gain.
func TestNonInferiorityThresholds(t *testing.T) {
	passes := func(losses, n int, margin float64) (score, strict bool) {
		test := must(NonInferiority(losses, 0, n, margin, 0.05))
		return *test.P <= 0.05, test.NonInferior
	}
	for _, tt := range []struct {
		margin        float64
		score, strict int
	}{{0.02, 133, 149}, {0.05, 52, 59}, {0.10, 25, 29}} {
		for n := 1; n <= 200; n++ {
			score, strict := passes(0, n, tt.margin)
			if score != (n >= tt.score) || strict != (n >= tt.strict) {
				t.Errorf("margin %v, clean run of %d: score %v, strict %v", tt.margin, n, score, strict)
			}
		}
	}
	for _, tt := range []struct {
		n     int
		score map[float64]int // most losses; -1 if even a perfect run fails
	}{
		{40, map[float64]int{0.02: -1, 0.05: -1, 0.10: 0}},
		{200, map[float64]int{0.02: 0, 0.05: 4, 0.10: 13}},
	} {
		for margin, most := range tt.score {
			for losses := range 30 {
				if score, _ := passes(losses, tt.n, margin); score != (losses <= most) {
					t.Errorf("%d losses of %d at margin %v: %v", losses, tt.n, margin, score)
				}
			}
			if perfect := must(NonInferiority(5, 0, tt.n, margin, 0.05)).PerfectRunPasses; perfect && most < 0 {
				t.Errorf("%d pairs at margin %v: a perfect run passes", tt.n, margin)
			}
		}
	}
	// Three catastrophes in 200 pass a margin of 5 points and not one of 2.
	five, two := must(NonInferiority(3, 0, 200, 0.05, 0.05)), must(NonInferiority(3, 0, 200, 0.02, 0.05))
	if !five.NonInferior || two.NonInferior {
		t.Errorf("3 of 200: %v at 5%%, %v at 2%%", five.NonInferior, two.NonInferior)
	}
	within(t, "p at 5%", *five.P, 0.0116, 5e-5)
	within(t, "p at 2%", *two.P, 0.307, 5e-4)
}

func TestNonInferiorityUndefinedAndErrors(t *testing.T) {
	got := must(NonInferiority(0, 0, 0, 0.05, 0.05))
	if got.Z != nil || got.P != nil || got.PExact != nil || got.Upper != nil || got.NonInferior || got.Reason != ReasonNoPairs {
		t.Errorf("nothing: %+v", got)
	}
	for _, bad := range []struct {
		losses, gains, n int
		margin, alpha    float64
	}{
		{-1, 0, 5, 0.05, 0.05}, {3, 3, 5, 0.05, 0.05}, {0, 0, 5, 0, 0.05}, {0, 0, 5, 1, 0.05},
		{0, 0, 5, math.NaN(), 0.05}, {0, 0, 5, 0.05, 0}, {0, 0, 5, 0.05, 0.5}, {0, 0, 5, 0.05, math.NaN()},
	} {
		if _, err := NonInferiority(bad.losses, bad.gains, bad.n, bad.margin, bad.alpha); err == nil {
			t.Errorf("%+v: no error", bad)
		}
	}
}

func TestNonInferiorityAgreesWithTheInterval(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		losses, gains, n := table(t)
		margin := rapid.Float64Range(0.001, 0.5).Draw(t, "margin")
		alpha := rapid.SampledFrom([]float64{0.01, 0.025, 0.05, 0.1}).Draw(t, "alpha")
		test := must(NonInferiority(losses, gains, n, margin, alpha))
		upper := must(TangoInterval(losses, gains, n, 1-2*alpha)).Interval.High
		if math.Abs(upper-*test.Upper) > 1e-12 {
			t.Fatalf("upper limit %v, interval %v", *test.Upper, upper)
		}
		if math.Abs(upper-margin) < 1e-12 {
			return // a coin on its edge
		}
		if passes := *test.P <= alpha; passes != (*test.Upper < margin) {
			t.Fatalf("p %v at level %v, upper limit %v, margin %v", *test.P, alpha, *test.Upper, margin)
		}
		want := *test.Upper < margin && (test.PExact == nil || *test.PExact <= alpha)
		if test.NonInferior != want {
			t.Fatalf("verdict %v, want %v: %+v", test.NonInferior, want, test)
		}
		if (test.PExact == nil) != (gains > 0) {
			t.Fatalf("exact p %v with %d gains", test.PExact, gains)
		}
	})
}
