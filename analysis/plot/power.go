package plot

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot/vg"

	"github.com/doubletake-dev/doubletake/analysis/stats"
)

// PowerData is a plan: a number of pairs, and what is asked of them.
type PowerData struct {
	Pairs     int       // 0..100000
	GainRates []float64 // a curve each, at most five
	Alpha     float64   // one-sided level of the exact test, in (0, 0.5)
	Target    float64   // the wanted power, in (0, 1), drawn as a line
	// Note stands under the title, if it is not empty.
	Note string
}

// Power draws the power of the exact one-sided test over the loss rate. It is an error
// if there are more gain rates than can be told apart, or if a number is out of the
// range that [stats.SmallestDetectable] takes.
func Power(d PowerData) (*Figure, error) {
	if len(d.GainRates) > maxSeries {
		return nil, fmt.Errorf("drawing the power: %d curves are too many: want at most %d", len(d.GainRates), maxSeries)
	}
	if _, err := stats.SmallestDetectable(d.Pairs, 0, d.Alpha, d.Target); err != nil {
		return nil, fmt.Errorf("drawing the power: %w", err)
	}
	w := power{data: d, title: fmt.Sprintf("What %s can see", count(d.Pairs, "pair", "pairs"))}
	if d.Pairs == 0 {
		return empty(w.title, "There is nothing to draw: without a pair nothing can be found."), nil
	}
	if len(d.GainRates) == 0 {
		return empty(w.title, "There is nothing to draw: no gain rate is given."), nil
	}
	if err := w.compute(); err != nil {
		return nil, fmt.Errorf("drawing the power: %w", err)
	}
	return &Figure{title: w.title, description: w.describe(), height: whole(352), paint: w.paint}, nil
}

type power struct {
	data       PowerData
	title      string
	detectable []stats.Detectable // by gain rate
	curves     [][]powerAt        // by gain rate
	far        float64            // the largest loss rate that is drawn
}

// powerAt is the probability of finding a loss rate.
type powerAt struct{ lossRate, power float64 }

// curvePoints is how many points a curve has.
const curvePoints = 81

func (w *power) compute() error {
	d := w.data
	for _, gain := range d.GainRates {
		detectable, err := stats.SmallestDetectable(d.Pairs, gain, d.Alpha, d.Target)
		if err != nil {
			return err
		}
		w.detectable = append(w.detectable, detectable)
	}
	w.far = reach(w.detectable)
	for _, gain := range d.GainRates {
		var rates []float64
		for i := range curvePoints {
			// Rounding must not push the sum of both rates above 1.
			if rate := w.far * float64(i) / (curvePoints - 1); rate+gain <= 1 {
				rates = append(rates, rate)
			}
		}
		found, err := stats.PowerCurve(d.Pairs, rates, gain, d.Alpha)
		if err != nil {
			return err
		}
		curve := make([]powerAt, len(rates))
		for i, rate := range rates {
			curve[i] = powerAt{rate, found[i]}
		}
		w.curves = append(w.curves, curve)
	}
	return nil
}

// reach is the loss rate up to which to draw: a good way beyond the last point where
// a curve reaches the target, rounded up to something with a label.
func reach(list []stats.Detectable) float64 {
	far := 0.005
	for _, d := range list {
		if d.LossRate == nil {
			return 1
		}
		far = max(far, 1.5**d.LossRate)
	}
	step := tickStep(far)
	return min(1, math.Ceil(far/step-1e-9)*step)
}

// tickStep gives an axis of shares that ends at far some five to ten labels.
func tickStep(far float64) float64 {
	for _, step := range []float64{0.001, 0.002, 0.005, 0.01, 0.02, 0.05} {
		if far/step <= 10 {
			return step
		}
	}
	return 0.1
}

func (w power) note() string {
	note := fmt.Sprintf("The exact one-sided test at alpha = %v: how often it finds a candidate that loses a share of the pairs, at several rates of gains.", w.data.Alpha)
	if added := clean(w.data.Note); added != "" {
		note = added + ". " + note
	}
	return note
}

func (w power) describe() string {
	var b strings.Builder
	b.WriteString(w.note())
	for _, d := range w.detectable {
		fmt.Fprintf(&b, "\nGain rate %s%%: ", number(100*d.GainRate))
		if d.LossRate == nil {
			fmt.Fprintf(&b, "no loss rate is found with probability %v.", w.data.Target)
		} else {
			fmt.Fprintf(&b, "a loss rate of %.3g%% is found with probability %v.", 100**d.LossRate, w.data.Target)
		}
	}
	return b.String()
}

func (w power) paint(p *pen) {
	p.head(w.title, w.note())
	far := 100 * w.far
	n := panel{
		x:    axis{low: 0, high: far, step: 100 * tickStep(w.far)},
		y:    axis{low: 0, high: 100, step: 20},
		area: vg.Rectangle{Min: vg.Point{X: edge + yLabels, Y: headHeight + 22}, Max: vg.Point{X: p.width - edge - 12, Y: 276}},
	}
	p.title(n, "probability of finding it, % (better ↑)")
	n.drawX(p, number)
	n.drawY(p, number)
	wanted := stroke{ink: p.ink, width: 1, dashes: []vg.Length{1, 2}}
	n.across(p, wanted, 100*w.data.Target)
	// The first curve last, as it lies over the others where they meet.
	for i, curve := range slices.Backward(w.curves) {
		points := make([]vg.Point, len(curve))
		for j, c := range curve {
			points[j] = n.at(100*c.lossRate, 100*c.power)
		}
		s, _ := p.series(i)
		s.width = 2
		p.line(s, points...)
	}
	p.text(small, p.soft, (n.area.Min.X+n.area.Max.X)/2, n.area.Max.Y+26, centre, n.area.Max.X-n.area.Min.X, "true loss rate, % of pairs (worse →)")
	w.legend(p, wanted, n.area.Max.Y+46)
}

// legend says what the lines are and which loss rates they find, three in a row.
func (w power) legend(p *pen, wanted stroke, y vg.Length) {
	const columns, sample vg.Length = 3, 34
	width := (p.width - 2*edge) / columns
	entry := func(i int, s stroke, text string) {
		x, y := edge+width*vg.Length(i%int(columns)), y+14*vg.Length(i/int(columns))
		p.line(s, vg.Point{X: x, Y: y}, vg.Point{X: x + sample, Y: y})
		p.text(small, p.ink, x+sample+6, y, left, width-sample-10, text)
	}
	for i, gain := range w.data.GainRates {
		s, _ := p.series(i)
		s.width = 2
		found := "none"
		if rate := w.detectable[i].LossRate; rate != nil {
			found = fmt.Sprintf("%.3g%%", 100**rate)
		}
		entry(i, s, fmt.Sprintf("gain rate %.3g%%: finds %s", 100*gain, found))
	}
	entry(len(w.data.GainRates), wanted, fmt.Sprintf("wanted: %.3g%%", 100*w.data.Target))
}
