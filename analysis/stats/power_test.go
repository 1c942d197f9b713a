package stats

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestPowerGold(t *testing.T) {
	for _, row := range gold(t, "power.csv") {
		n, loss, gain, alpha := row.int("N"), row.float("p_loss"), row.float("p_gain"), row.float("alpha")
		power := must(Power(n, loss, gain, alpha))
		row.absolute("pow_exact_worse", power.Worse, 1e-11)
		row.absolute("pow_exact_two", power.Two, 1e-11)
		row.absolute("pow_midp_worse", power.MidWorse, 1e-11)
		row.absolute("pow_midp_two", power.MidTwo, 1e-11)
		row.absolute("ni_pow_m02", must(NonInferiorityPower(n, loss, gain, 0.02, alpha)).Score, 1e-11)
		row.absolute("ni_pow_m05", must(NonInferiorityPower(n, loss, gain, 0.05, alpha)).Score, 1e-11)
		row.absolute("ni_pow_m10", must(NonInferiorityPower(n, loss, gain, 0.10, alpha)).Score, 1e-11)
	}
}

func TestSampleSizeGold(t *testing.T) {
	for _, row := range gold(t, "samplesize.csv") {
		loss, gain, alpha, power := row.float("p_loss"), row.float("p_gain"), row.float("alpha"), row.float("power")
		sides := Sides(row.int("sided"))
		if got := must(ConnorPairs(loss, gain, alpha, power, sides)); got != row.int("n_connor") {
			t.Errorf("line %d: Connor %d, want %s", row.line, got, row.text("n_connor"))
		}
		if got := must(MiettinenPairs(loss, gain, alpha, power, sides)); got != row.int("n_miettinen") {
			t.Errorf("line %d: Miettinen %d, want %s", row.line, got, row.text("n_miettinen"))
		}
	}
}

func TestPowerInline(t *testing.T) {
	// Size and power at a nominal .05, as in the design's table.
	within(t, "N=40, 5/5, exact", must(Power(40, 0.05, 0.05, 0.05)).Worse, 0.008, 5e-4)
	within(t, "N=40, 5/5, mid-p", must(Power(40, 0.05, 0.05, 0.05)).MidWorse, 0.025, 5e-4)
	within(t, "N=200, 3/0, exact", must(Power(200, 0.03, 0, 0.05)).Worse, 0.719, 5e-4)
	within(t, "N=200, 3/0, mid-p", must(Power(200, 0.03, 0, 0.05)).MidWorse, 0.853, 5e-4)
	for _, tt := range []struct {
		n            int
		rate, margin float64
		want         float64
	}{{40, 0.01, 0.02, 0.04}, {40, 0.01, 0.05, 0.23}, {40, 0.01, 0.10, 0.76},
		{200, 0.01, 0.02, 0.48}, {200, 0.05, 0.02, 0.22}, {200, 0.05, 0.05, 0.70}} {
		power := must(NonInferiorityPower(tt.n, tt.rate, tt.rate, tt.margin, 0.05))
		within(t, "NI power", power.Score, tt.want, 6e-3)
		if power.Strict > power.Score {
			t.Errorf("%+v: the strict rule passes more often: %+v", tt, power)
		}
	}
	if got := must(ConnorPairs(0.05, 0.01, 0.05, 0.8, OneSided)); got != 230 {
		t.Errorf("Connor: %d, want 230", got)
	}
}

func TestSmallestDetectable(t *testing.T) {
	for _, tt := range []struct {
		n          int
		gain, want float64
	}{{40, 0, 0.162}, {40, 0.02, 0.218}, {40, 0.05, 0.284}, {200, 0, 0.033}, {200, 0.02, 0.077}} {
		got := must(SmallestDetectable(tt.n, tt.gain, 0.05, 0.8))
		within(t, "loss rate", *got.LossRate, tt.want, 5e-4)
		within(t, "difference", *got.Difference, *got.LossRate-tt.gain, 0)
		within(t, "power there", must(Power(tt.n, *got.LossRate, tt.gain, 0.05)).Worse, 0.8, 1e-9)
	}
	// Four pairs cannot reject whatever happens.
	got := must(SmallestDetectable(4, 0, 0.05, 0.8))
	if got.LossRate != nil || got.Difference != nil || got.Reason != ReasonUnreachable {
		t.Errorf("four pairs: %+v", got)
	}
	if got := must(SmallestDetectable(0, 0, 0.05, 0.8)); got.LossRate != nil || got.Reason != ReasonUnreachable {
		t.Errorf("no pairs: %+v", got)
	}
}

func TestPairsNeeded(t *testing.T) {
	for _, tt := range []struct {
		loss, gain float64
		sides      Sides
	}{{0.05, 0.01, OneSided}, {0.05, 0.01, TwoSided}, {0.1, 0.02, OneSided}, {1, 0, OneSided}, {0.3, 0.2, TwoSided}} {
		needed := must(PairsNeeded(tt.loss, tt.gain, 0.05, 0.8, tt.sides))
		n := *needed.Pairs
		power := func(n int) float64 {
			p := must(Power(n, tt.loss, tt.gain, 0.05))
			if tt.sides == TwoSided {
				return p.Two
			}
			return p.Worse
		}
		if power(n) < 0.8 {
			t.Errorf("%+v: power %v with %d pairs", tt, power(n), n)
		}
		for less := max(n-20, 0); less < n; less++ {
			if power(less) >= 0.8 {
				t.Errorf("%+v: power %v with %d pairs, fewer than %d", tt, power(less), less, n)
			}
		}
	}
	if got := *must(PairsNeeded(1, 0, 0.05, 0.8, OneSided)).Pairs; got != 5 {
		t.Errorf("pure losses need %d pairs, want 5", got)
	}
	if got := must(PairsNeeded(1e-5, 0, 0.05, 0.8, OneSided)); got.Pairs != nil || got.Reason != ReasonUnreachable {
		t.Errorf("one in 100000: %+v", got)
	}
}

func TestPowerErrors(t *testing.T) {
	nan := math.NaN()
	for _, bad := range []struct {
		n                 int
		loss, gain, alpha float64
	}{{-1, 0, 0, 0.05}, {maxPowerPairs + 1, 0, 0, 0.05}, {5, -0.1, 0, 0.05}, {5, 0.6, 0.6, 0.05}, {5, nan, 0, 0.05}, {5, 0, 0, 0.5}, {5, 0, 0, nan}} {
		if _, err := Power(bad.n, bad.loss, bad.gain, bad.alpha); err == nil {
			t.Errorf("Power: no error for %+v", bad)
		}
		if _, err := NonInferiorityPower(bad.n, bad.loss, bad.gain, 0.05, bad.alpha); err == nil {
			t.Errorf("NonInferiorityPower: no error for %+v", bad)
		}
	}
	if _, err := NonInferiorityPower(5, 0, 0, 0, 0.05); err == nil {
		t.Error("NonInferiorityPower: no error for margin 0")
	}
	for _, bad := range []struct{ gain, alpha, power float64 }{{-1, 0.05, 0.8}, {2, 0.05, 0.8}, {0, 0, 0.8}, {0, 0.05, 1}, {0, 0.05, nan}} {
		if _, err := SmallestDetectable(40, bad.gain, bad.alpha, bad.power); err == nil {
			t.Errorf("SmallestDetectable: no error for %+v", bad)
		}
	}
	for name, size := range map[string]func(loss, gain, alpha, power float64, sides Sides) error{
		"PairsNeeded": func(l, g, a, p float64, s Sides) error { _, err := PairsNeeded(l, g, a, p, s); return err },
		"Connor":      func(l, g, a, p float64, s Sides) error { _, err := ConnorPairs(l, g, a, p, s); return err },
		"Miettinen":   func(l, g, a, p float64, s Sides) error { _, err := MiettinenPairs(l, g, a, p, s); return err },
	} {
		if size(0.1, 0.1, 0.05, 0.8, OneSided) == nil || size(0.1, 0, 0.05, 0.8, 3) == nil ||
			size(0.1, 0, 0, 0.8, OneSided) == nil || size(0.1, 0, 0.05, 0, OneSided) == nil || size(-0.1, -0.2, 0.05, 0.8, OneSided) == nil {
			t.Errorf("%s: bad input without an error", name)
		}
	}
}

// bruteForcePower sums the trinomial distribution over every table.
func bruteForcePower(n int, loss, gain float64, rejects func(losses, gains int) bool) float64 {
	sum := 0.0
	for losses := range n + 1 {
		for gains := range n - losses + 1 {
			if rejects(losses, gains) {
				m := losses + gains
				sum += math.Exp(logBinomial(m, n, loss+gain, 1-loss-gain)) *
					math.Exp(logBinomial(losses, m, loss/(loss+gain), gain/(loss+gain)))
			}
		}
	}
	return sum
}

func TestPowerAgainstEnumeration(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 40).Draw(t, "n")
		loss, gain := rapid.Float64Range(0.01, 0.6).Draw(t, "loss"), rapid.Float64Range(0, 0.4).Draw(t, "gain")
		alpha, margin := rapid.Float64Range(0.01, 0.2).Draw(t, "alpha"), rapid.Float64Range(0.01, 0.3).Draw(t, "margin")
		power := must(Power(n, loss, gain, alpha))
		ni := must(NonInferiorityPower(n, loss, gain, margin, alpha))
		for name, tt := range map[string]struct {
			got     float64
			rejects func(losses, gains int) bool
		}{
			"worse":     {power.Worse, func(b, c int) bool { return must(McNemar(b, c)).PWorse <= alpha }},
			"two":       {power.Two, func(b, c int) bool { return must(McNemar(b, c)).PTwo <= alpha }},
			"mid worse": {power.MidWorse, func(b, c int) bool { return must(McNemar(b, c)).PMidWorse <= alpha }},
			"mid two":   {power.MidTwo, func(b, c int) bool { return must(McNemar(b, c)).PMidTwo <= alpha }},
			"score":     {ni.Score, func(b, c int) bool { return *must(NonInferiority(b, c, n, margin, alpha)).P <= alpha }},
			"strict":    {ni.Strict, func(b, c int) bool { return must(NonInferiority(b, c, n, margin, alpha)).NonInferior }},
		} {
			if want := bruteForcePower(n, loss, gain, tt.rejects); math.Abs(tt.got-want) > 1e-12 {
				t.Fatalf("%s: %v, want %v", name, tt.got, want)
			}
		}
	})
}
