package plot

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/doubletake-dev/doubletake/analysis/stats"
)

func plan() PowerData {
	return PowerData{Pairs: 40, GainRates: []float64{0, 0.02, 0.05}, Alpha: 0.05, Target: 0.8, Note: "200 fixtures in 40 session groups"}
}

func TestPowerTexts(t *testing.T) {
	f, err := Power(plan())
	if err != nil {
		t.Fatal(err)
	}
	_, texts := checkSVG(t, written(t, f, SVG, Light))
	all := strings.Join(texts, "\n")
	for _, want := range []string{"What 40 pairs can see", "200 fixtures in 40 session groups", "true loss rate", "worse →", "gain rate 2%: finds", "wanted: 80%"} {
		if !strings.Contains(all, want) {
			t.Errorf("the figure does not say %q", want)
		}
	}
	// Four pairs can't reach 0.05 even if all are lost: 1/16.
	d := plan()
	d.Pairs = 4
	if f, err = Power(d); err != nil {
		t.Fatal(err)
	}
	if _, texts = checkSVG(t, written(t, f, SVG, Light)); !slices.Contains(texts, "gain rate 0%: finds none") {
		t.Errorf("the figure does not say that nothing is found: %q", texts)
	}
}

// The curves are those of stats, and cross the target where it says that they do.
func TestPowerCurves(t *testing.T) {
	w := power{data: plan()}
	if err := w.compute(); err != nil {
		t.Fatal(err)
	}
	for i, curve := range w.curves {
		gain, found := w.data.GainRates[i], *w.detectable[i].LossRate
		for j, at := range curve {
			if (at.power >= w.data.Target) != (at.lossRate >= found) {
				t.Errorf("gain rate %v: power %v at %v, but %v is detectable", gain, at.power, at.lossRate, found)
			}
			if j%10 != 0 {
				continue
			}
			want, err := stats.Power(w.data.Pairs, at.lossRate, gain, w.data.Alpha)
			if err != nil {
				t.Fatal(err)
			}
			if math.Abs(want.Worse-at.power) > 1e-11 {
				t.Errorf("power at %v is drawn at %v, want %v", at.lossRate, at.power, want.Worse)
			}
		}
	}
}

func TestPowerSizes(t *testing.T) {
	for _, n := range []int{1, 4, 5, 200, 2000, 10000} {
		if _, err := Power(PowerData{Pairs: n, GainRates: []float64{0, 0.05, 1}, Alpha: 0.05, Target: 0.8}); err != nil {
			t.Errorf("%d pairs: %v", n, err)
		}
	}
}

func TestPowerErrors(t *testing.T) {
	for name, change := range map[string]func(*PowerData){
		"level":            func(d *PowerData) { d.Alpha = 0.7 },
		"level NaN":        func(d *PowerData) { d.Alpha = math.NaN() },
		"level, no curves": func(d *PowerData) { d.Alpha = 0; d.GainRates = nil },
		"level, no pairs":  func(d *PowerData) { d.Alpha = 0; d.Pairs = 0 },
		"target":           func(d *PowerData) { d.Target = 1 },
		"gains":            func(d *PowerData) { d.GainRates = []float64{1.5} },
		"gains NaN":        func(d *PowerData) { d.GainRates = []float64{math.NaN()} },
		"pairs":            func(d *PowerData) { d.Pairs = -1 },
		"too many":         func(d *PowerData) { d.GainRates = make([]float64, maxSeries+1) },
	} {
		d := plan()
		change(&d)
		if _, err := Power(d); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
