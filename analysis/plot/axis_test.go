package plot

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestAxis(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		low := rapid.Float64Range(-1e6, 1e6).Draw(t, "low")
		high := low + rapid.Float64Range(0, 1e9).Draw(t, "span")
		smallest := rapid.SampledFrom([]float64{0.1, 0.5, 1}).Draw(t, "smallest")
		a := newAxis(low, high, smallest)
		tolerance := 1e-6 * a.step
		if a.low > low+tolerance || a.high < high-tolerance {
			t.Fatalf("%v to %v is not within %+v", low, high, a)
		}
		ticks := a.ticks()
		if len(ticks) < 2 || len(ticks) > 10 {
			t.Fatalf("%+v has %d labels", a, len(ticks))
		}
		for _, x := range ticks {
			if x < a.low-tolerance || x > a.high+tolerance {
				t.Fatalf("%+v has a label at %v", a, x)
			}
			if multiple := x / a.step; math.Abs(multiple-math.Round(multiple)) > 1e-6 {
				t.Fatalf("%v is no multiple of %v", x, a.step)
			}
		}
	})
}

func TestNumbers(t *testing.T) {
	for _, tt := range []struct {
		got, want string
	}{
		{number(0), "0"}, {number(math.Copysign(0, -1)), "0"}, {number(-5), "−5"}, {number(0.1 + 0.2), "0.3"}, {number(-1e-9), "0"},
		{signed(0), "0.0"}, {signed(-0.01), "0.0"}, {signed(4.25), "+4.2"}, {signed(-12.5), "−12.5"},
		{count(1, "pair", "pairs"), "1 pair"}, {count(0, "pair", "pairs"), "0 pairs"},
	} {
		if tt.got != tt.want {
			t.Errorf("%q, want %q", tt.got, tt.want)
		}
	}
}
