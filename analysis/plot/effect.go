package plot

import (
	"fmt"
	"math"
	"strings"

	"gonum.org/v1/plot/vg"
)

// EffectData are the comparisons of a run.
type EffectData struct {
	Rows []Difference
	// Margin is the largest tolerable difference, a share in [0, 1); 0 draws none.
	Margin float64
	// Confidence is that of the intervals, in (0, 1), for example 0.95; it may be 0 where no
	// row has an interval.
	Confidence float64
}

// Difference is (losses-gains)/pairs in one comparison, a share in [-1, 1], positive
// where the second arm is worse.
type Difference struct {
	Name string
	// Value is nil where it is undefined; Low and High where there is no interval.
	// Limits beyond -1 and 1, which some methods give, are drawn at -1 and 1.
	Value, Low, High *float64
	// Reason says why something is nil; a code of package stats or a sentence.
	Reason               string
	Pairs, Losses, Gains int
}

// maxRows is how many comparisons are drawn.
const maxRows = 200

const rowHeight vg.Length = 28

// Effect draws the difference in failures of every comparison with its interval, the
// line of no difference, and the region beyond the margin. It is an error if a number
// is not finite, a value is outside [-1, 1], limits come alone, out of order or without
// a value, a count is negative, or the margin or the confidence is out of range.
func Effect(d EffectData) (*Figure, error) {
	const title = "Difference in failures"
	if err := d.check(); err != nil {
		return nil, fmt.Errorf("drawing the effect: %w", err)
	}
	if len(d.Rows) == 0 {
		return empty(title, "There is nothing to draw: the run has no comparison."), nil
	}
	e := effect{data: d, rows: d.Rows[:min(len(d.Rows), maxRows)], title: title}
	return &Figure{title: title, description: e.describe(), height: whole(headHeight + 14 + rowHeight*vg.Length(len(e.rows)) + 50), paint: e.paint}, nil
}

func (d EffectData) check() error {
	if !(d.Margin >= 0 && d.Margin < 1) {
		return fmt.Errorf("the margin %v is not in [0, 1)", d.Margin)
	}
	if !(d.Confidence >= 0 && d.Confidence < 1) {
		return fmt.Errorf("the confidence %v is not in [0, 1)", d.Confidence)
	}
	for i, row := range d.Rows {
		if err := row.check(d.Confidence); err != nil {
			return fmt.Errorf("row %d, %q: %w", i+1, clean(row.Name), err)
		}
	}
	return nil
}

func (r Difference) check(confidence float64) error {
	switch {
	case r.Pairs < 0 || r.Losses < 0 || r.Gains < 0:
		return fmt.Errorf("a count is negative: %d pairs, %d losses, %d gains", r.Pairs, r.Losses, r.Gains)
	case (r.Low == nil) != (r.High == nil):
		return fmt.Errorf("an interval needs both limits")
	case r.Value == nil && r.Low != nil:
		return fmt.Errorf("an interval needs a value")
	case r.Value != nil && !(math.Abs(*r.Value) <= 1):
		return fmt.Errorf("the difference %v is not in [-1, 1]", *r.Value)
	case r.Low != nil && (math.IsInf(*r.Low, 0) || math.IsInf(*r.High, 0) || !(*r.Low <= *r.Value && *r.Value <= *r.High)):
		return fmt.Errorf("the limits %v and %v do not enclose the difference %v", *r.Low, *r.High, *r.Value)
	case r.Low != nil && confidence == 0:
		return fmt.Errorf("an interval needs a confidence")
	}
	return nil
}

type effect struct {
	data  EffectData
	rows  []Difference
	title string
}

func (e effect) note() string {
	note := "Of 100 pairs, how many more failed. Right of 0 the second arm of the comparison is worse."
	if e.data.Confidence > 0 {
		note += fmt.Sprintf(" The lines are %s%% intervals.", number(100*e.data.Confidence))
	}
	if e.data.Margin > 0 {
		note += fmt.Sprintf(" Shaded: worse by the margin, %s, or more.", number(100*e.data.Margin))
	}
	if left := len(e.data.Rows) - len(e.rows); left > 0 {
		note = fmt.Sprintf("%s not drawn. ", count(left, "more comparison is", "more comparisons are")) + note
	}
	return note
}

func (e effect) describe() string {
	var b strings.Builder
	b.WriteString(e.note())
	for _, row := range e.rows {
		fmt.Fprintf(&b, "\n%s: ", clean(row.Name))
		value, interval := row.figures()
		b.WriteString(value)
		if interval != "" {
			b.WriteString(" (" + interval + ")")
		}
		b.WriteString(", " + row.counts())
		if reason := row.reason(); reason != "" {
			b.WriteString(", " + reason)
		}
	}
	return b.String()
}

// figures are the value and the interval in points of 100.
func (r Difference) figures() (value, interval string) {
	if r.Value == nil {
		return "undefined", ""
	}
	if r.Low == nil {
		return signed(100 * *r.Value), "no interval"
	}
	return signed(100 * *r.Value), signed(100*inside(*r.Low)) + " to " + signed(100*inside(*r.High))
}

func (r Difference) counts() string {
	return count(r.Pairs, "pair", "pairs") + ": " + count(r.Losses, "loss", "losses") + ", " + count(r.Gains, "gain", "gains")
}

// reason is why something is missing; empty where nothing is.
func (r Difference) reason() string {
	if r.Value != nil && r.Low != nil {
		return ""
	}
	if reason := clean(strings.ReplaceAll(r.Reason, "_", " ")); reason != "" {
		return reason
	}
	return "no reason is given"
}

// inside cuts a limit at the ends of what is possible.
func inside(share float64) float64 { return min(1, max(-1, share)) }

// axis holds all limits, 0, the margin, and some of the better side.
func (e effect) axis() axis {
	low, high := 0.0, 1.3*e.data.Margin
	for _, row := range e.rows {
		for _, share := range []*float64{row.Value, row.Low, row.High} {
			if share != nil {
				low, high = min(low, inside(*share)), max(high, inside(*share))
			}
		}
	}
	high = max(high, 0.01, -low/3)
	low = min(low, -high/3)
	a := newAxis(100*max(low, -1), 100*min(high, 1), 0.5)
	a.low, a.high = max(a.low, -100), min(a.high, 100)
	return a
}

const (
	nameWidth   vg.Length = 170
	figureSpace vg.Length = 92
)

func (e effect) paint(p *pen) {
	p.head(e.title, e.note())
	top := headHeight + 14
	n := panel{x: e.axis(), area: vg.Rectangle{
		Min: vg.Point{X: edge + nameWidth + 14, Y: top},
		Max: vg.Point{X: p.width - edge - figureSpace - 12, Y: top + rowHeight*vg.Length(len(e.rows))},
	}}
	margin := 100 * e.data.Margin
	if e.data.Margin > 0 {
		beyond := n.area
		beyond.Min.X = n.atX(margin)
		p.box(beyond, p.shade)
	}
	n.drawX(p, number)
	n.upright(p, stroke{ink: p.ink, width: 1.2}, 0)
	if e.data.Margin > 0 {
		n.upright(p, stroke{ink: p.ink, width: 1.2, dashes: []vg.Length{4, 3}}, margin)
		p.text(small, p.ink, n.atX(margin), top-9, centre, 2*(p.width-edge-n.area.Max.X), "margin "+number(margin))
	}
	for i, row := range e.rows {
		e.row(p, n, row, top+rowHeight*vg.Length(i))
	}
	p.line(stroke{ink: p.grid, width: 0.6}, vg.Point{X: edge, Y: n.area.Max.Y}, vg.Point{X: p.width - edge, Y: n.area.Max.Y})
	half := (n.area.Max.X - n.area.Min.X) / 2
	y := n.area.Max.Y + 25
	p.text(small, p.ink, n.area.Min.X, y, left, half-4, "← better")
	p.text(small, p.ink, n.area.Max.X, y, right, half-4, "worse →")
	p.text(small, p.soft, n.area.Min.X+half, y+14, centre, 2*half, "losses less gains, of 100 pairs")
}

func (e effect) row(p *pen, n panel, row Difference, y vg.Length) {
	first, second := y+9, y+20
	p.line(stroke{ink: p.grid, width: 0.6}, vg.Point{X: edge, Y: y}, vg.Point{X: p.width - edge, Y: y})
	p.text(label, p.ink, edge, first, left, nameWidth, clean(row.Name))
	p.text(small, p.soft, edge, second, left, nameWidth, row.counts())
	value, interval := row.figures()
	p.text(label, p.ink, p.width-edge, first, right, figureSpace, value)
	p.text(small, p.soft, p.width-edge, second, right, figureSpace, interval)
	width := n.area.Max.X - n.area.Min.X
	if row.Value == nil {
		p.plate(small, p.ink, n.area.Min.X+5, (first+second)/2, width-10, "undefined: "+row.reason())
		return
	}
	middle := (first + second) / 2
	if row.Low == nil {
		middle = first - 1
		p.plate(small, p.soft, n.area.Min.X+5, second, width-10, row.reason())
	}
	ink, shape := p.ink, square
	switch {
	case *row.Value > 0:
		ink, shape = p.loss, up
	case *row.Value < 0:
		ink, shape = p.gain, down
	}
	if row.Low != nil {
		from, to := n.atX(100*inside(*row.Low)), n.atX(100*inside(*row.High))
		s := stroke{ink: ink, width: 2}
		p.line(s, vg.Point{X: from, Y: middle}, vg.Point{X: to, Y: middle})
		for _, x := range []vg.Length{from, to} {
			p.line(s, vg.Point{X: x, Y: middle - 3.5}, vg.Point{X: x, Y: middle + 3.5})
		}
	}
	p.mark(shape, ink, vg.Point{X: n.atX(100 * *row.Value), Y: middle}, 4)
}
