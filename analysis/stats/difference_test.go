package stats

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestDifferenceGold(t *testing.T) {
	for _, row := range gold(t, "paired_diff.csv") {
		a, b, c, d := row.int("a"), row.int("b"), row.int("c"), row.int("d")
		n, conf := row.int("n"), row.float("conf")
		intervals := map[string]Estimate{
			"wald":         must(WaldInterval(b, c, n, conf)),
			"agresti_min":  must(AgrestiMinInterval(b, c, n, conf)),
			"bonett_price": must(BonettPriceInterval(b, c, n, conf)),
			"newcombe8":    must(NewcombeUncorrectedInterval(a, b, c, d, conf)),
			"newcombe10":   must(NewcombeInterval(a, b, c, d, conf)),
			"tango":        must(TangoInterval(b, c, n, conf)),
		}
		for name, estimate := range intervals {
			row.optional("delta", estimate.Value, 1e-13)
			row.interval(name, estimate.Interval, 1e-12)
		}
		row.absolute("phi10", correlation(float64(a), float64(b), float64(c), float64(d), true), 1e-13)
	}
}

func TestDifferencePublished(t *testing.T) {
	// Cavo et al., as quoted and computed by Fagerland, Lydersen, Laake,
	// Statistics in Medicine 33, 2014, p. 2850-2875: 59/6/16/80.
	cavo := must(NewcombeInterval(59, 6, 16, 80, 0.95)).Interval
	within(t, "Cavo, method 10, low", cavo.Low, -0.1186, 5e-5)
	within(t, "Cavo, method 10, high", cavo.High, -0.0046, 5e-5)
	raw := must(NewcombeUncorrectedInterval(59, 6, 16, 80, 0.95)).Interval
	within(t, "Cavo, method 8, low", raw.Low, -0.1174, 5e-5)
	within(t, "Cavo, method 8, high", raw.High, -0.0059, 5e-5)
	tango := must(TangoInterval(6, 16, 161, 0.95)).Interval
	within(t, "Cavo, Tango, low", tango.Low, -0.1240, 5e-5)
	within(t, "Cavo, Tango, high", tango.High, -0.0054, 5e-5)

	// Three catastrophes in 200: Wald all but excludes zero, Tango does not.
	wald, score := must(WaldInterval(3, 0, 200, 0.95)).Interval, must(TangoInterval(3, 0, 200, 0.95)).Interval
	within(t, "3/0 of 200, Wald, low", wald.Low, -0.0018, 5e-5)
	within(t, "3/0 of 200, Tango, low", score.Low, -0.0041, 5e-5)
	within(t, "3/0 of 200, Tango, high", score.High, 0.0432, 5e-5)

	// A clean run: z^2/(n+z^2), where Wald has no width.
	within(t, "0/0 of 40", must(TangoInterval(0, 0, 40, 0.95)).Interval.High, 0.0876, 5e-5)
	within(t, "0/0 of 200", must(TangoInterval(0, 0, 200, 0.95)).Interval.High, 0.0188, 5e-5)
}

func TestDifferenceUndefinedAndErrors(t *testing.T) {
	for name, interval := range pairIntervals() {
		got, err := interval(0, 0, 0, 0.95)
		if err != nil || got.Value != nil || got.Interval != nil || got.Reason != ReasonNoPairs {
			t.Errorf("%s of nothing: %+v, %v", name, got, err)
		}
		if _, err := interval(-1, 0, 5, 0.95); err == nil {
			t.Errorf("%s: no error for a negative count", name)
		}
		for _, conf := range []float64{0, 1, -1, 95, math.NaN()} {
			if _, err := interval(1, 1, 5, conf); err == nil {
				t.Errorf("%s: no error for confidence %v", name, conf)
			}
		}
	}
	if _, err := TangoInterval(3, 3, 5, 0.95); err == nil {
		t.Error("no error for more discordant pairs than pairs")
	}
	if _, err := NewcombeInterval(-1, 3, 3, 5, 0.95); err == nil {
		t.Error("no error for a negative concordant count")
	}
}

// pairIntervals are all intervals under one signature; the concordant pairs of
// Newcombe's are split evenly.
func pairIntervals() map[string]func(losses, gains, n int, conf float64) (Estimate, error) {
	return map[string]func(losses, gains, n int, conf float64) (Estimate, error){
		"tango":        TangoInterval,
		"wald":         WaldInterval,
		"agresti-min":  AgrestiMinInterval,
		"bonett-price": BonettPriceInterval,
		"newcombe 10": func(losses, gains, n int, conf float64) (Estimate, error) {
			rest := n - losses - gains
			return NewcombeInterval(rest/2, losses, gains, rest-rest/2, conf)
		},
		"newcombe 8": func(losses, gains, n int, conf float64) (Estimate, error) {
			rest := n - losses - gains
			return NewcombeUncorrectedInterval(rest/2, losses, gains, rest-rest/2, conf)
		},
	}
}

// table draws a paired comparison with at least one pair.
func table(t *rapid.T) (losses, gains, n int) {
	losses, gains = count(t, "losses"), count(t, "gains")
	n = losses + gains + rapid.IntRange(0, 1000).Draw(t, "concordant")
	return losses, gains, max(n, 1)
}

func TestDifferenceMirror(t *testing.T) {
	intervals := pairIntervals()
	rapid.Check(t, func(t *rapid.T) {
		losses, gains, n := table(t)
		conf := rapid.Float64Range(0.5, 0.999).Draw(t, "conf")
		for name, interval := range intervals {
			x, y := must(interval(losses, gains, n, conf)), must(interval(gains, losses, n, conf))
			if *x.Value != -*y.Value || x.Interval.Low != -y.Interval.High || x.Interval.High != -y.Interval.Low {
				t.Fatalf("%s: %v and %v are no mirror images", name, x.Interval, y.Interval)
			}
			if !(x.Interval.Low <= *x.Value && *x.Value <= x.Interval.High) && name != "agresti-min" && name != "bonett-price" {
				t.Fatalf("%s: %v not in %v", name, *x.Value, x.Interval)
			}
		}
		tango := must(TangoInterval(losses, gains, n, conf)).Interval
		if tango.Low < -1 || tango.High > 1 {
			t.Fatalf("Tango leaves [-1, 1]: %v", tango)
		}
	})
}

// At its limits the score statistic is +-z: the definition of the interval.
func TestTangoInvertsTheTest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		losses, gains, n := rapid.IntRange(0, 50).Draw(t, "losses"), rapid.IntRange(0, 50).Draw(t, "gains"), 0
		n = losses + gains + rapid.IntRange(1, 1000).Draw(t, "concordant")
		high := must(TangoInterval(losses, gains, n, 0.95)).Interval.High
		z := tangoZ(float64(losses), float64(gains), float64(n), high)
		if math.Abs(z+confZ(0.95)) > 1e-8 {
			t.Fatalf("statistic at the limit %v is %v", high, z)
		}
	})
}
