package plot

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/doubletake-dev/doubletake/analysis/stats"
)

// With groups of one lost pair the wealth is the mean over the bets of (1+lambda)^k:
// computed here apart from package stats.
func TestEvidenceCrossing(t *testing.T) {
	wealth := func(k int) float64 {
		sum := 0.0
		for _, lambda := range []float64{0.1, 0.3, 0.5, 0.8} {
			sum += math.Pow(1+lambda, float64(k))
		}
		return sum / 4
	}
	for _, alpha := range []float64{0.05, 0.01, 0.4} {
		want := 1
		for wealth(want) < 1/alpha {
			want++
		}
		d := EvidenceData{Alpha: alpha}
		for range 30 {
			d.Groups = append(d.Groups, stats.Cluster{Pairs: 1, Losses: 1})
		}
		e, err := newEvidence(d)
		if err != nil {
			t.Fatal(err)
		}
		if e.crossed != want {
			t.Errorf("alpha %v: reached with group %d, want %d", alpha, e.crossed, want)
		}
		for k, l := range e.looks {
			if math.Abs(l.log10-math.Log10(wealth(k))) > 1e-12 || l.pairs != float64(k) || l.losses != float64(k) || l.gains != 0 {
				t.Errorf("alpha %v: after group %d: %+v, want log10 %v", alpha, k, l, math.Log10(wealth(k)))
			}
		}
	}
}

func TestEvidenceTexts(t *testing.T) {
	d := EvidenceData{Alpha: 0.05, Groups: []stats.Cluster{{Pairs: 4, Losses: 1, Gains: 2, Parts: 2}}}
	f, err := Evidence(d)
	if err != nil {
		t.Fatal(err)
	}
	_, texts := checkSVG(t, written(t, f, SVG, Light))
	for _, want := range []string{"0.5 lost", "1 gained", "1/alpha = 20", "log10 of the e-value (worse ↑)"} {
		if !slices.Contains(texts, want) {
			t.Errorf("the figure does not say %q: %q", want, texts)
		}
	}
	if !strings.Contains(f.Description(), "did not reach 1/alpha") {
		t.Errorf("the description is %q", f.Description())
	}
	for range 30 {
		d.Groups = append(d.Groups, stats.Cluster{Pairs: 1, Losses: 1})
	}
	if f, err = Evidence(d); err != nil {
		t.Fatal(err)
	}
	_, texts = checkSVG(t, written(t, f, SVG, Light))
	if !slices.Contains(texts, "reached") || !strings.Contains(f.Description(), "reached 1/alpha after") {
		t.Errorf("the figure does not say where 1/alpha was reached: %q", texts)
	}
}

func TestEvidenceErrors(t *testing.T) {
	for name, d := range map[string]EvidenceData{
		"no level":         {},
		"level NaN":        {Alpha: math.NaN()},
		"level large":      {Alpha: 0.5},
		"no pairs":         {Alpha: 0.05, Groups: []stats.Cluster{{}}},
		"too many losses":  {Alpha: 0.05, Groups: []stats.Cluster{{Pairs: 1, Losses: 2}}},
		"negative":         {Alpha: 0.05, Groups: []stats.Cluster{{Pairs: 1, Gains: -1}}},
		"impossible parts": {Alpha: 0.05, Groups: []stats.Cluster{{Pairs: 1, Parts: -1}}},
	} {
		if _, err := Evidence(d); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
