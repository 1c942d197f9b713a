package plot

import (
	"bytes"
	"math"
	"strings"
	"testing"
)

func numbers(list ...float64) []*float64 {
	out := make([]*float64, len(list))
	for i := range list {
		out[i] = &list[i]
	}
	return out
}

func TestSeries(t *testing.T) {
	floor := 0.95
	gap := append(numbers(1), nil, numbers(0.5)[0])
	f, err := Series(SeriesData{Title: "Retention", Unit: "Share kept", Nights: []string{"a", "b", "c"}, Lines: []SeriesLine{{"kept", gap}, {"lost", numbers(0, 0, 0.5)}}, Floor: &floor})
	if err != nil {
		t.Fatal(err)
	}
	want := "Share kept over 3 nights. Dashed: the floor of 0.95.\nkept: 1, not known, 0.5.\nlost: 0, 0, 0.5."
	if f.Description() != want {
		t.Errorf("description %q, want %q", f.Description(), want)
	}
	for _, theme := range Themes() {
		for _, format := range []Format{SVG, PNG} {
			var out bytes.Buffer
			if err := f.Write(&out, format, theme); err != nil || out.Len() == 0 {
				t.Errorf("%s, %s: %d bytes, %v", format, theme, out.Len(), err)
			}
		}
	}
}

func TestSeriesOfManyNights(t *testing.T) {
	list := make([]float64, 1000)
	f, err := Series(SeriesData{Title: "Losses", Unit: "Pairs", Nights: make([]string, 1000), Lines: []SeriesLine{{"losses", numbers(list...)}}})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(f.Description(), "the last 30: ") {
		t.Errorf("description %q", f.Description())
	}
	var out bytes.Buffer
	if err := f.Write(&out, SVG, Light); err != nil {
		t.Fatal(err)
	}
}

func TestSeriesOfNothing(t *testing.T) {
	f, err := Series(SeriesData{Title: "Cost", Nights: []string{"a"}, Lines: []SeriesLine{{"cost", []*float64{nil}}}})
	if err != nil || !strings.Contains(f.Description(), "nothing to draw") {
		t.Errorf("%v, %v", f, err)
	}
}

func TestSeriesRefuses(t *testing.T) {
	inf := math.Inf(1)
	for name, d := range map[string]SeriesData{
		"no line":        {Nights: []string{"a"}},
		"three lines":    {Lines: make([]SeriesLine, 3)},
		"too few values": {Nights: []string{"a", "b"}, Lines: []SeriesLine{{"x", numbers(1)}}},
		"not a number":   {Nights: []string{"a"}, Lines: []SeriesLine{{"x", numbers(math.NaN())}}},
		"endless floor":  {Nights: []string{"a"}, Lines: []SeriesLine{{"x", numbers(1)}}, Floor: &inf},
	} {
		if _, err := Series(d); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
