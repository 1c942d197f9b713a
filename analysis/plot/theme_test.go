package plot

import (
	"image/color"
	"math"
	"testing"
)

// contrast is the ratio of WCAG 2.2, from 1 to 21.
func contrast(a, b color.RGBA) float64 {
	luminance := func(c color.RGBA) float64 {
		linear := func(v uint8) float64 {
			s := float64(v) / 255
			if s <= 0.04045 {
				return s / 12.92
			}
			return math.Pow((s+0.055)/1.055, 2.4)
		}
		return 0.2126*linear(c.R) + 0.7152*linear(c.G) + 0.0722*linear(c.B)
	}
	x, y := luminance(a), luminance(b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

func TestContrast(t *testing.T) {
	// 21:1 for black on white, and 4.54:1 for #767676, are in every text on WCAG.
	if got := contrast(rgb(0), rgb(0xffffff)); math.Abs(got-21) > 1e-9 {
		t.Fatalf("black on white is %v:1", got)
	}
	if got := contrast(rgb(0x767676), rgb(0xffffff)); math.Abs(got-4.54) > 0.005 {
		t.Fatalf("#767676 on white is %v:1", got)
	}
	for _, theme := range Themes() {
		c, err := theme.colours()
		if err != nil {
			t.Fatal(err)
		}
		// Text, 1.4.3 (AA).
		for name, ink := range map[string]color.RGBA{"ink": c.ink, "soft": c.soft} {
			if got := contrast(ink, c.paper); got < 4.5 {
				t.Errorf("%s: text in %s has a contrast of %.2f:1", theme, name, got)
			}
		}
		// Graphics, 1.4.11, on the paper and on the region beyond the margin.
		for _, ink := range append(c.series[:], c.loss, c.gain) {
			if got := contrast(ink, c.paper); got < 3 {
				t.Errorf("%s: %v on the paper has a contrast of %.2f:1", theme, ink, got)
			}
		}
		for _, ink := range []color.RGBA{c.loss, c.gain, c.ink} {
			if got := contrast(ink, c.shade); got < 3 {
				t.Errorf("%s: %v on the shade has a contrast of %.2f:1", theme, ink, got)
			}
		}
	}
}
