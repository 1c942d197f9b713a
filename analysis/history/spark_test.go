package history

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func values(list ...float64) []*float64 {
	out := make([]*float64, len(list))
	for i := range list {
		out[i] = &list[i]
	}
	return out
}

func TestSparkline(t *testing.T) {
	gap := values(0, 7)
	gap = append(gap, nil)
	for _, test := range []struct {
		name           string
		values         []*float64
		unicode, ascii string
	}{
		{"none", nil, "", ""},
		{"from least to most", values(0, 1, 2, 3, 4, 5, 6, 7), "▁▂▃▄▅▆▇█", "_.-~=+*#"},
		{"equal", values(3, 3), "▅▅", "=="},
		{"all zero", values(0, 0), "▁▁", "__"},
		{"not known", gap, "▁█?", "_#?"},
		{"below zero", values(-1, 1), "▁█", "_#"},
	} {
		if got := Sparkline(test.values, true); got != test.unicode {
			t.Errorf("%s: %q, want %q", test.name, got, test.unicode)
		}
		if got := Sparkline(test.values, false); got != test.ascii {
			t.Errorf("%s, ASCII: %q, want %q", test.name, got, test.ascii)
		}
	}
}

// One character a value, whatever the values are, and the order of two values is that of
// their marks.
func TestSparklineLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOf(rapid.Float64Range(-1e12, 1e12)).Draw(t, "values")
		line := Sparkline(values(list...), false)
		if utf8.RuneCountInString(line) != len(list) {
			t.Fatalf("%d marks for %d values", len(line), len(list))
		}
		for i := range list {
			for k := range list {
				if list[i] < list[k] && strings.IndexByte("_.-~=+*#", line[i]) > strings.IndexByte("_.-~=+*#", line[k]) {
					t.Fatalf("%v is drawn above %v in %q", list[i], list[k], line)
				}
			}
		}
	})
}
