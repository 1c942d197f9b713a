package plot

import (
	"math"
	"slices"
	"strings"
	"testing"
)

func TestEffectTexts(t *testing.T) {
	f, err := Effect(EffectData{Rows: []Difference{
		{Name: "reference → candidate", Value: ptr(0.0425), Low: ptr(-0.01), High: ptr(0.1), Pairs: 40, Losses: 3, Gains: 1},
		{Name: "incumbent → candidate", Reason: "no_pairs"},
		{Name: "few", Value: ptr(0), Reason: "fewer_than_10_clusters", Pairs: 1},
		{Name: "wide", Value: ptr(0.9), Low: ptr(0.7), High: ptr(1.2), Pairs: 10, Losses: 9},
	}, Margin: 0.05, Confidence: 0.95})
	if err != nil {
		t.Fatal(err)
	}
	_, texts := checkSVG(t, written(t, f, SVG, Light))
	for _, want := range []string{
		"reference → candidate", "40 pairs: 3 losses, 1 gain", "+4.2", "−1.0 to +10.0", "margin 5", "← better", "worse →",
		"undefined: no pairs", "undefined", "0 pairs: 0 losses, 0 gains", "fewer than 10 clusters", "no interval", "+70.0 to +100.0",
	} {
		if !slices.Contains(texts, want) {
			t.Errorf("the figure does not say %q: %q", want, texts)
		}
		if !strings.Contains(want, "margin") && !strings.Contains(want, "←") && !strings.Contains(f.Description(), strings.TrimPrefix(want, "undefined: ")) && want != "worse →" {
			t.Errorf("the description does not say %q", want)
		}
	}
}

// The axis holds all that is drawn, and both sides of 0.
func TestEffectAxis(t *testing.T) {
	for name, tt := range map[string]struct {
		row    Difference
		margin float64
	}{
		"nothing":     {},
		"undefined":   {margin: 0.05},
		"all lost":    {row: Difference{Value: ptr(1), Low: ptr(0.8), High: ptr(1)}},
		"all gained":  {row: Difference{Value: ptr(-1), Low: ptr(-1.4), High: ptr(-0.8)}, margin: 0.05},
		"tiny":        {row: Difference{Value: ptr(1e-9), Low: ptr(-1e-9), High: ptr(2e-9)}, margin: 1e-9},
		"wide margin": {margin: 0.999},
	} {
		a := effect{data: EffectData{Margin: tt.margin}, rows: []Difference{tt.row}}.axis()
		if !(a.low >= -100 && a.low < 0 && a.high > 0 && a.high <= 100) {
			t.Errorf("%s: the axis is %+v", name, a)
		}
		for _, x := range []*float64{tt.row.Value, tt.row.Low, tt.row.High, &tt.margin} {
			if x != nil && (100*inside(*x) < a.low-1e-9 || 100*inside(*x) > a.high+1e-9) {
				t.Errorf("%s: %v is not on the axis %+v", name, *x, a)
			}
		}
	}
}

func TestEffectErrors(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	good := Difference{Value: ptr(0.1), Low: ptr(0), High: ptr(0.2), Pairs: 10}
	for name, change := range map[string]func(*EffectData){
		"value NaN":          func(d *EffectData) { d.Rows[0].Value = &nan },
		"value large":        func(d *EffectData) { d.Rows[0].Value = ptr(1.1); d.Rows[0].High = ptr(2) },
		"low NaN":            func(d *EffectData) { d.Rows[0].Low = &nan },
		"high Inf":           func(d *EffectData) { d.Rows[0].High = &inf },
		"low above value":    func(d *EffectData) { d.Rows[0].Low = ptr(0.15) },
		"high below value":   func(d *EffectData) { d.Rows[0].High = ptr(0.05) },
		"low alone":          func(d *EffectData) { d.Rows[0].High = nil },
		"interval alone":     func(d *EffectData) { d.Rows[0].Value = nil },
		"negative losses":    func(d *EffectData) { d.Rows[0].Losses = -1 },
		"margin NaN":         func(d *EffectData) { d.Margin = nan },
		"margin 1":           func(d *EffectData) { d.Margin = 1 },
		"margin negative":    func(d *EffectData) { d.Margin = -0.1 },
		"confidence NaN":     func(d *EffectData) { d.Confidence = nan },
		"confidence percent": func(d *EffectData) { d.Confidence = 95 },
		"confidence missing": func(d *EffectData) { d.Confidence = 0 },
	} {
		d := EffectData{Rows: []Difference{good}, Margin: 0.05, Confidence: 0.95}
		change(&d)
		if _, err := Effect(d); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// What is not drawn is said.
func TestEffectManyRows(t *testing.T) {
	f, err := Effect(manyRows(maxRows + 3))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(f.Description(), "3 more comparisons are not drawn.") {
		t.Errorf("the description begins with %.80q", f.Description())
	}
}
