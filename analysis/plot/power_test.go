package plot

import (
	"bytes"
	"encoding/xml"
	"errors"
	"image/png"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/doubletake-dev/doubletake/analysis/stats"
)

func example() Power {
	return Power{Pairs: 40, GainRates: []float64{0, 0.02, 0.05}, Alpha: 0.05, Target: 0.8, Note: "200 fixtures in 40 session groups"}
}

func TestPowerSVG(t *testing.T) {
	var once, again bytes.Buffer
	for _, out := range []io.Writer{&once, &again} {
		if err := example().Write(out, "svg"); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(once.Bytes(), again.Bytes()) {
		t.Error("the same plot gives other bytes")
	}
	for _, text := range []string{"What 40 pairs can see", "200 fixtures in 40 session groups", "true loss rate", "gain rate 2%", "wanted: 80%"} {
		if !strings.Contains(once.String(), text) {
			t.Errorf("the plot does not say %q", text)
		}
	}
	for decoder := xml.NewDecoder(&once); ; {
		if _, err := decoder.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

func TestPowerPNG(t *testing.T) {
	var out bytes.Buffer
	if err := example().Write(&out, "png"); err != nil {
		t.Fatal(err)
	}
	image, err := png.Decode(&out)
	if err != nil {
		t.Fatal(err)
	}
	if r, g, b, _ := image.At(2, 2).RGBA(); r != 0xffff || g != 0xffff || b != 0xffff {
		t.Errorf("the background is %v, not white", image.At(2, 2))
	}
	if width := image.Bounds().Dx(); width < 1000 {
		t.Errorf("the plot is %d pixels wide", width)
	}
}

// The curves are those of stats, and cross the target where it says that they do.
func TestPowerCurves(t *testing.T) {
	p := example()
	far, err := p.reach()
	if err != nil {
		t.Fatal(err)
	}
	curves, err := p.curves(far)
	if err != nil {
		t.Fatal(err)
	}
	for i, curve := range curves {
		d, err := stats.SmallestDetectable(p.Pairs, p.GainRates[i], p.Alpha, p.Target)
		if err != nil {
			t.Fatal(err)
		}
		for _, point := range curve {
			power, err := stats.Power(p.Pairs, point.X/100, p.GainRates[i], p.Alpha)
			if err != nil {
				t.Fatal(err)
			}
			if math.Abs(100*power.Worse-point.Y) > 1e-9 {
				t.Errorf("power at %v%% is drawn at %v, want %v", point.X, point.Y, 100*power.Worse)
			}
			if above := point.Y >= 100*p.Target; above != (point.X/100 >= *d.LossRate) {
				t.Errorf("gain rate %v: power %v at %v%%, but %v is detectable", p.GainRates[i], point.Y, point.X, *d.LossRate)
			}
		}
	}
}

func TestPowerSizes(t *testing.T) {
	for _, n := range []int{1, 4, 5, 200, 2000, 10000} {
		p := Power{Pairs: n, GainRates: []float64{0, 0.05}, Alpha: 0.05, Target: 0.8}
		if err := p.Write(io.Discard, "svg"); err != nil {
			t.Errorf("%d pairs: %v", n, err)
		}
	}
}

func TestPowerErrors(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*Power)
		format string
	}{
		"format":   {func(*Power) {}, "gif"},
		"level":    {func(p *Power) { p.Alpha = 0.7 }, "svg"},
		"target":   {func(p *Power) { p.Target = 1 }, "svg"},
		"gains":    {func(p *Power) { p.GainRates = []float64{1.5} }, "svg"},
		"pairs":    {func(p *Power) { p.Pairs = -1 }, "svg"},
		"too many": {func(p *Power) { p.GainRates = make([]float64, 9) }, "svg"},
	} {
		p := example()
		tt.change(&p)
		if err := p.Write(io.Discard, tt.format); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
