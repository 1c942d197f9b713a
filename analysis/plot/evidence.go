package plot

import (
	"fmt"
	"image/color"
	"math"

	"gonum.org/v1/plot/vg"

	"github.com/doubletake-dev/doubletake/analysis/stats"
)

// EvidenceData are the session groups of a run.
type EvidenceData struct {
	// Groups are in the order in which they were looked at, which must not depend on
	// how they came out.
	Groups []stats.Cluster
	// Alpha is the level at which the evidence is enough, in (0, 0.5).
	Alpha float64
}

// Evidence draws how losses and gains added up over the run, and below it how the
// evidence that the candidate is worse grew: the logarithm of the e-value of
// [stats.FlipEProcess] after every session group, with the line at 1/alpha and the
// place where it was crossed. It is an error if alpha is out of range or a group is
// impossible.
func Evidence(d EvidenceData) (*Figure, error) {
	const title = "Evidence over the run"
	if !(d.Alpha > 0 && d.Alpha < 0.5) {
		return nil, fmt.Errorf("drawing the evidence: the level %v is not in (0, 0.5)", d.Alpha)
	}
	if len(d.Groups) == 0 {
		return empty(title, "There is nothing to draw: no session group has a scored pair whose reference was replayed."), nil
	}
	e, err := newEvidence(d)
	if err != nil {
		return nil, fmt.Errorf("drawing the evidence: %w", err)
	}
	e.title = title
	return &Figure{title: title, description: e.describe(), height: whole(400), paint: e.paint}, nil
}

type evidence struct {
	title     string
	alpha     float64
	looks     []look // the first is before the first group
	crossed   int    // the first look at or above 1/alpha; 0 if there is none
	threshold float64
}

// look is what was known after a session group.
type look struct {
	pairs, losses, gains float64
	log10                float64 // of the e-value
}

func newEvidence(d EvidenceData) (evidence, error) {
	e := evidence{alpha: d.Alpha, looks: make([]look, 1, len(d.Groups)+1), threshold: -math.Log10(d.Alpha)}
	var process stats.FlipEProcess
	now := look{}
	for i, group := range d.Groups {
		var err error
		if process, err = process.Observe(group); err != nil {
			return e, fmt.Errorf("session group %d: %w", i+1, err)
		}
		parts := float64(max(group.Parts, 1))
		now.pairs += float64(group.Pairs)
		now.losses += float64(group.Losses) / parts
		now.gains += float64(group.Gains) / parts
		now.log10 = process.LogWorse / math.Ln10
		e.looks = append(e.looks, now)
		if e.crossed == 0 && process.LogWorse >= -math.Log(d.Alpha) {
			e.crossed = len(e.looks) - 1
		}
	}
	return e, nil
}

func (e evidence) last() look { return e.looks[len(e.looks)-1] }

func (e evidence) note() string {
	text := fmt.Sprintf("%s in %s, looked at one group after the other. ", count(int(e.last().pairs), "pair", "pairs"), count(len(e.looks)-1, "session group", "session groups"))
	if e.crossed > 0 {
		at := e.looks[e.crossed]
		return text + fmt.Sprintf("The evidence that the candidate is worse reached 1/alpha after %s, with session group %d. Once reached, it counts.", count(int(at.pairs), "pair", "pairs"), e.crossed)
	}
	return text + "The evidence that the candidate is worse did not reach 1/alpha, which does not show that it is no worse."
}

func (e evidence) describe() string {
	end := e.last()
	most := 0.0
	for _, l := range e.looks {
		most = max(most, l.log10)
	}
	return e.note() + fmt.Sprintf("\nLosses: %s, gains: %s.\nlog10 of the e-value: %.2f at the end, %.2f at most, %.2f needed (alpha %v).", number(end.losses), number(end.gains), end.log10, most, e.threshold, e.alpha)
}

const (
	yLabels vg.Length = 40
	// gutter is the space on the right for what the lines are.
	gutter vg.Length = 88
)

func (e evidence) paint(p *pen) {
	p.head(e.title, e.note())
	end := e.last()
	x := axis{low: 0, high: end.pairs, step: newAxis(0, end.pairs, 1).step}
	area := func(top, bottom vg.Length) vg.Rectangle {
		return vg.Rectangle{Min: vg.Point{X: edge + yLabels, Y: top}, Max: vg.Point{X: p.width - edge - gutter, Y: bottom}}
	}
	walk := panel{x: x, y: newAxis(-end.gains, end.losses, 1), area: area(headHeight+22, 200)}
	growth := panel{x: x, y: e.growthAxis(), area: area(238, 350)}
	p.title(walk, "pairs lost ↑ and gained ↓, added up")
	e.steps(p, walk)
	p.title(growth, "log10 of the e-value (worse ↑)")
	e.growth(p, growth)
	if e.crossed > 0 {
		at, s := e.looks[e.crossed], stroke{ink: p.soft, width: 1, dashes: []vg.Length{2, 2}}
		walk.upright(p, s, at.pairs)
		growth.upright(p, s, at.pairs)
		ring := stroke{ink: p.ink, width: 1.5}
		p.ring(ring, growth.at(at.pairs, at.log10), 5)
		right := growth.area.Max
		p.ring(ring, vg.Point{X: right.X + 13, Y: growth.area.Min.Y - 12}, 4)
		p.text(small, p.ink, right.X+21, growth.area.Min.Y-12, left, gutter-21, "reached")
	}
	p.text(small, p.soft, (growth.area.Min.X+growth.area.Max.X)/2, growth.area.Max.Y+27, centre, growth.area.Max.X-growth.area.Min.X, "pairs, in the order in which their session groups were looked at →")
}

// title names what a panel's y axis shows, above it.
func (p *pen) title(n panel, text string) {
	p.text(small, p.ink, edge, n.area.Min.Y-12, left, p.width-2*edge, text)
}

func (e evidence) growthAxis() axis {
	low, high := 0.0, e.threshold
	for _, l := range e.looks {
		low, high = min(low, l.log10), max(high, l.log10)
	}
	return newAxis(low, 1.08*high, 0.1)
}

func (e evidence) steps(p *pen, n panel) {
	n.drawX(p, number)
	n.drawY(p, func(y float64) string { return number(math.Abs(y)) })
	n.across(p, stroke{ink: p.ink, width: 1}, 0)
	var losses, gains []vg.Point
	marks := len(e.looks) <= 61 // more of them would hide the line
	for i, l := range e.looks {
		if i > 0 {
			before := e.looks[i-1]
			losses = append(losses, n.at(l.pairs, before.losses))
			gains = append(gains, n.at(l.pairs, -before.gains))
		}
		losses = append(losses, n.at(l.pairs, l.losses))
		gains = append(gains, n.at(l.pairs, -l.gains))
	}
	p.line(stroke{ink: p.loss, width: 2}, losses...)
	p.line(stroke{ink: p.gain, width: 2, dashes: []vg.Length{5, 2}}, gains...)
	for i, l := range e.looks[1:] {
		before := e.looks[i]
		if marks && l.losses > before.losses {
			p.mark(up, p.loss, n.at(l.pairs, l.losses), 3)
		}
		if marks && l.gains > before.gains {
			p.mark(down, p.gain, n.at(l.pairs, -l.gains), 3)
		}
	}
	end := e.last()
	p.ends(n, []endLabel{
		{n.atY(end.losses), up, p.loss, number(math.Round(10*end.losses)/10) + " lost"},
		{n.atY(-end.gains), down, p.gain, number(math.Round(10*end.gains)/10) + " gained"},
	})
}

func (e evidence) growth(p *pen, n panel) {
	n.drawX(p, number)
	n.drawY(p, number)
	n.across(p, stroke{ink: p.ink, width: 1}, 0)
	n.across(p, stroke{ink: p.ink, width: 1.2, dashes: []vg.Length{4, 3}}, e.threshold)
	points := make([]vg.Point, 0, len(e.looks))
	for _, l := range e.looks {
		points = append(points, n.at(l.pairs, l.log10))
	}
	p.line(stroke{ink: p.loss, width: 2}, points...)
	if len(points) <= 61 {
		for _, at := range points[1:] {
			p.mark(disc, p.loss, at, 2.2)
		}
	}
	p.text(small, p.ink, n.area.Max.X+8, n.atY(e.threshold), left, gutter-8, fmt.Sprintf("1/alpha = %.4g", 1/e.alpha))
}

// endLabel says what a line is, at its right end.
type endLabel struct {
	y     vg.Length
	shape mark
	ink   color.RGBA
	text  string
}

// ends writes two labels beside a panel, the first above the second, apart from each
// other.
func (p *pen) ends(n panel, labels []endLabel) {
	const apart = 13
	if gap := labels[1].y - labels[0].y; gap < apart {
		labels[0].y -= (apart - gap) / 2
		labels[1].y += (apart - gap) / 2
	}
	for _, l := range labels {
		p.mark(l.shape, l.ink, vg.Point{X: n.area.Max.X + 13, Y: l.y}, 3)
		p.text(small, p.ink, n.area.Max.X+21, l.y, left, gutter-21, l.text)
	}
}
