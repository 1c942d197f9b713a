package pairing

import (
	"strings"
	"testing"
)

func TestEstimateTime(t *testing.T) {
	timed := func(seconds ...float64) []Verdict {
		var list []Verdict
		for _, s := range seconds {
			list = append(list, Verdict{Ruling: BothFine, Seconds: s})
		}
		return list
	}
	tests := []struct {
		name      string
		verdicts  []Verdict
		undecided int
		minutes   float64
		says      string
	}{
		{"nobody was timed", timed(0, 0), 5, 10, "about 10 minutes left (no timed verdicts yet: assuming 2 minutes each)"},
		{"the median of an odd number", timed(30, 600, 60), 3, 3, "about 3 minutes left, by 3 timed verdicts"},
		{"the median of an even number", timed(30, 90), 2, 2, "by 2 timed verdicts"},
		{"a slip is not how long it takes", timed(0.2, 0.2, 0.3), 8, 2, "about 2 minutes"},
		{"a pause is left out", timed(60, 1801, 86400), 2, 2, "by 1 timed verdict"},
		{"what was taken back is no verdict", []Verdict{{Seconds: 500}}, 1, 2, "no timed verdicts"},
		{"less than a minute", timed(20), 1, 20.0 / 60, "about 1 minute left"},
		{"nothing left", timed(60), 0, 0, "nothing left"},
	}
	for _, tt := range tests {
		got := EstimateTime(tt.verdicts, tt.undecided)
		if got.Minutes != tt.minutes || !strings.Contains(got.String(), tt.says) {
			t.Errorf("%s: %v, %q; want %v, %q", tt.name, got.Minutes, got, tt.minutes, tt.says)
		}
	}
}
