package main

import (
	"testing"

	"github.com/vbauerster/mpb/v8/decor"
)

// TestBarsStay: what stands beside a bar is as wide at the end as at the beginning, for bars
// of all kinds, and also once more plays have been added.
func TestBarsStay(t *testing.T) {
	width := func(parts []decor.Decorator, at decor.Statistics) int {
		sum := 0
		for _, part := range parts {
			_, w := part.Decor(at)
			sum += w
		}
		return sum
	}
	for _, total := range []int{1, 53, 9_999, 99_999, 1_234_567} {
		var first int
		for _, name := range []string{"episodes", "decisions", "probes"} {
			before, after := besideBar(name, total)
			begun, ended := decor.Statistics{Total: int64(total)}, decor.Statistics{Total: int64(total) * 2, Current: int64(total) * 2}
			if a, b := width(before, begun), width(before, ended); a != b {
				t.Errorf("%s of %d: %d wide before the bar, then %d", name, total, a, b)
			} else if first == 0 {
				first = a
			} else if a != first {
				t.Errorf("%s of %d begins at %d, the bar before it at %d", name, total, a, first)
			}
			if a, b := width(after, begun), width(after, ended); a != b {
				t.Errorf("%s of %d: %d wide behind the bar, then %d", name, total, a, b)
			}
		}
	}
}
