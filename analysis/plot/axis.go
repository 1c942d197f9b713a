package plot

import (
	"math"
	"strconv"
	"strings"

	"gonum.org/v1/plot/vg"
)

// axis is a range of numbers with labels at low and every step from there.
type axis struct {
	low, high, step float64
}

// slack is for sums of tenths, which may miss a multiple by their rounding.
const slack = 1e-9

// newAxis reaches from at most low to at least high, which are finite, with some three
// to eight labels.
func newAxis(low, high, smallest float64) axis {
	span := max(high-low, smallest)
	step := smallest
	// 1, 2, 5, 10, 20, ... times the smallest.
	for i := 0; span/step > 6.5; i++ {
		if i%3 == 1 {
			step *= 2.5
		} else {
			step *= 2
		}
	}
	a := axis{low: step * math.Floor(low/step+slack), high: step * math.Ceil(high/step-slack), step: step}
	if a.high-a.low < step/2 {
		a.high = a.low + step
	}
	return a
}

// ticks are the labelled values.
func (a axis) ticks() []float64 {
	n := int(math.Floor((a.high-a.low)/a.step + slack))
	list := make([]float64, 0, n+1)
	for i := range n + 1 {
		list = append(list, a.low+float64(i)*a.step)
	}
	return list
}

// share is where a value lies on the axis, from 0 to 1; values beyond lie at the ends.
func (a axis) share(value float64) vg.Length {
	return vg.Length(min(1, max(0, (value-a.low)/(a.high-a.low))))
}

// panel is an area with axes.
type panel struct {
	area vg.Rectangle // y downwards
	x, y axis
}

func (n panel) at(x, y float64) vg.Point { return vg.Point{X: n.atX(x), Y: n.atY(y)} }

func (n panel) atX(x float64) vg.Length {
	return n.area.Min.X + n.x.share(x)*(n.area.Max.X-n.area.Min.X)
}

func (n panel) atY(y float64) vg.Length {
	return n.area.Max.Y - n.y.share(y)*(n.area.Max.Y-n.area.Min.Y)
}

// across and upright draw a line through the whole panel.
func (n panel) across(p *pen, s stroke, y float64) {
	p.line(s, vg.Point{X: n.area.Min.X, Y: n.atY(y)}, vg.Point{X: n.area.Max.X, Y: n.atY(y)})
}

func (n panel) upright(p *pen, s stroke, x float64) {
	p.line(s, vg.Point{X: n.atX(x), Y: n.area.Min.Y}, vg.Point{X: n.atX(x), Y: n.area.Max.Y})
}

// drawX draws the grid and the labels of the x axis.
func (n panel) drawX(p *pen, text func(float64) string) {
	ticks := n.x.ticks()
	for _, x := range ticks {
		n.upright(p, stroke{ink: p.grid, width: 0.6}, x)
		p.text(small, p.ink, n.atX(x), n.area.Max.Y+9, centre, (n.area.Max.X-n.area.Min.X)/vg.Length(max(len(ticks)-1, 1)), text(x))
	}
}

// drawY draws the grid and the labels of the y axis.
func (n panel) drawY(p *pen, text func(float64) string) {
	for _, y := range n.y.ticks() {
		n.across(p, stroke{ink: p.grid, width: 0.6}, y)
		p.text(small, p.ink, n.area.Min.X-5, n.atY(y), right, n.area.Min.X-edge, text(y))
	}
}

// number writes a value as short as it can be, with the sign for minus that is as wide
// as the one for plus.
func number(value float64) string {
	// Multiples of a tenth are not exact.
	text := strconv.FormatFloat(math.Round(value*1e6)/1e6, 'f', -1, 64)
	if text == "-0" {
		return "0"
	}
	return strings.Replace(text, "-", "−", 1)
}

// signed writes a number that says which side of 0 it is on, to a decimal place.
func signed(value float64) string {
	text := strconv.FormatFloat(value, 'f', 1, 64)
	switch {
	case text == "0.0" || text == "-0.0":
		return "0.0"
	case value > 0:
		return "+" + text
	}
	return strings.Replace(text, "-", "−", 1)
}

// count writes a number of things: "1 loss", "3 losses".
func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}
