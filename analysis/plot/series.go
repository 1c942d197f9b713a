package plot

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"gonum.org/v1/plot/vg"
)

// SeriesData is how some values went over the nights of a lineage.
type SeriesData struct {
	// Title names the figure, Unit says in what the values are, as in "losses a night".
	Title string
	Unit  string
	// Nights name the nights in their order; the first and the last stand below the axis.
	Nights []string
	// Lines are drawn in their order, at most two.
	Lines []SeriesLine
	// Floor is drawn as a dashed line; nil for none. Ceiling says that it is one.
	Floor   *float64
	Ceiling bool
}

// SeriesLine is one value over the nights.
type SeriesLine struct {
	Name string
	// Values has one value a night, nil where it is not known: the line has a gap there.
	Values []*float64
}

// Series draws values over nights. It is an error if a line has not one value a night, if
// there are more than two lines, or if a value is not finite.
func Series(d SeriesData) (*Figure, error) {
	if len(d.Lines) == 0 || len(d.Lines) > 2 {
		return nil, fmt.Errorf("drawing %q: %d lines: want one or two", d.Title, len(d.Lines))
	}
	if d.Floor != nil && !finite(*d.Floor) {
		return nil, fmt.Errorf("drawing %q: the floor is not finite", d.Title)
	}
	known := 0
	for _, line := range d.Lines {
		if len(line.Values) != len(d.Nights) {
			return nil, fmt.Errorf("drawing %q: %d values of %s over %d nights", d.Title, len(line.Values), line.Name, len(d.Nights))
		}
		for _, v := range line.Values {
			if v == nil {
				continue
			}
			if !finite(*v) {
				return nil, fmt.Errorf("drawing %q: a value of %s is not finite", d.Title, line.Name)
			}
			known++
		}
	}
	if known == 0 {
		return empty(d.Title, "There is nothing to draw: the value is not known of any night."), nil
	}
	s := series{d}
	return &Figure{title: d.Title, description: s.describe(), height: whole(190), paint: s.paint}, nil
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

type series struct{ SeriesData }

// span is the range of all that is drawn; counts and shares begin at 0.
func (s series) span() (low, high float64) {
	if s.Floor != nil {
		low, high = min(0, *s.Floor), max(0, *s.Floor)
	}
	for _, line := range s.Lines {
		for _, v := range line.Values {
			if v != nil {
				low, high = min(low, *v), max(high, *v)
			}
		}
	}
	return low, high
}

func (s series) note() string {
	text := fmt.Sprintf("%s over %s.", s.Unit, count(len(s.Nights), "night", "nights"))
	if s.Floor != nil {
		kind := "floor"
		if s.Ceiling {
			kind = "ceiling"
		}
		text += fmt.Sprintf(" Dashed: the %s of %s.", kind, number(*s.Floor))
	}
	return text
}

func (s series) describe() string {
	text := s.note()
	for _, line := range s.Lines {
		text += fmt.Sprintf("\n%s: %s.", line.Name, valuesInWords(line.Values))
	}
	return text
}

// valuesInWords lists values, of many the last ones.
func valuesInWords(values []*float64) string {
	const most = 30
	lead := ""
	if len(values) > most {
		values, lead = values[len(values)-most:], fmt.Sprintf("the last %d: ", most)
	}
	words := make([]string, len(values))
	for i, v := range values {
		words[i] = "not known"
		if v != nil {
			words[i] = number(*v)
		}
	}
	return lead + strings.Join(words, ", ")
}

func (s series) paint(p *pen) {
	p.head(s.Title, s.note())
	low, high := s.span()
	n := panel{
		x: axis{low: 0, high: float64(max(len(s.Nights)-1, 1)), step: float64(max(len(s.Nights)-1, 1))}, y: newAxis(low, high, smallestStep(high-low)),
		area: vg.Rectangle{Min: vg.Point{X: edge + yLabels, Y: headHeight}, Max: vg.Point{X: p.width - edge - gutter, Y: 160}},
	}
	n.drawY(p, number)
	if s.Floor != nil {
		n.across(p, stroke{ink: p.ink, width: 1.2, dashes: []vg.Length{4, 3}}, *s.Floor)
	}
	var ends []endLabel
	for i, line := range s.Lines {
		if end := s.line(p, n, i, line); end != nil {
			ends = append(ends, *end)
		}
	}
	switch len(ends) {
	case 2:
		if ends[0].y > ends[1].y {
			ends[0], ends[1] = ends[1], ends[0]
		}
		p.ends(n, ends)
	case 1:
		p.mark(ends[0].shape, ends[0].ink, vg.Point{X: n.area.Max.X + 13, Y: ends[0].y}, 3)
		p.text(small, p.ink, n.area.Max.X+21, ends[0].y, left, gutter-21, ends[0].text)
	}
	if len(s.Nights) > 1 {
		half := (n.area.Max.X - n.area.Min.X) / 2
		p.text(small, p.soft, n.area.Min.X, n.area.Max.Y+12, left, half, s.Nights[0])
		p.text(small, p.soft, n.area.Max.X, n.area.Max.Y+12, right, half, s.Nights[len(s.Nights)-1])
	} else if len(s.Nights) == 1 {
		p.text(small, p.soft, n.area.Min.X, n.area.Max.Y+12, left, n.area.Max.X-n.area.Min.X, s.Nights[0])
	}
}

// line draws one line, its gaps left open, and returns the label at its end.
func (s series) line(p *pen, n panel, i int, line SeriesLine) *endLabel {
	ink, shape, look := p.loss, up, stroke{ink: p.loss, width: 1.8}
	if i == 1 {
		ink, shape, look = p.gain, down, stroke{ink: p.gain, width: 1.8, dashes: []vg.Length{5, 2}}
	}
	var run []vg.Point
	var end *endLabel
	flush := func() {
		p.line(look, run...)
		run = run[:0]
	}
	for k, v := range line.Values {
		if v == nil {
			flush()
			continue
		}
		at := n.at(float64(k), *v)
		run = append(run, at)
		if len(line.Values) <= 61 { // more marks would hide the line
			p.mark(shape, ink, at, 2.4)
		}
		end = &endLabel{at.Y, shape, ink, line.Name + " " + strconv.FormatFloat(*v, 'g', 3, 64)}
	}
	flush()
	return end
}

// smallestStep is a power of ten that gives the range a few labels.
func smallestStep(span float64) float64 {
	if !(span > 0) {
		return 1
	}
	return math.Pow(10, math.Floor(math.Log10(span))-1)
}
