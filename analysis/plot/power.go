// Package plot draws what analysis/stats computes.
package plot

import (
	"fmt"
	"image/color"
	"io"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/doubletake-dev/doubletake/analysis/stats"
)

// Power is the plot of a test's power over the loss rate, a curve for every gain rate.
type Power struct {
	Pairs     int
	GainRates []float64 // at most as many as there are colours
	Alpha     float64   // one-sided level of the exact test
	Target    float64   // the wanted power, drawn as a line
	// Note stands under the title, if it is not empty.
	Note string
}

// colours are told apart by people who confuse red and green, and dark enough for
// white paper (Okabe and Ito's palette).
var colours = []color.RGBA{
	{0x00, 0x72, 0xb2, 0xff}, {0xd5, 0x5e, 0x00, 0xff}, {0x00, 0x9e, 0x73, 0xff}, {0xcc, 0x79, 0xa7, 0xff}, {0x56, 0xb4, 0xe9, 0xff},
}

var (
	ink  = color.RGBA{0x22, 0x22, 0x22, 0xff}
	pale = color.RGBA{0xdd, 0xdd, 0xdd, 0xff}
)

// points is how many there are in a curve.
const points = 81

// Write writes the plot in a format, svg or png.
func (p Power) Write(out io.Writer, format string) error {
	if format != "svg" && format != "png" {
		return fmt.Errorf("no plot format %q: want svg or png", format)
	}
	if len(p.GainRates) > len(colours) {
		return fmt.Errorf("%d curves are too many: want at most %d", len(p.GainRates), len(colours))
	}
	far, err := p.reach()
	if err != nil {
		return err
	}
	curves, err := p.curves(far)
	if err != nil {
		return err
	}
	drawing, err := p.draw(far, curves)
	if err != nil {
		return err
	}
	const width, height = 18 * vg.Centimeter, 12 * vg.Centimeter
	var canvas interface {
		vg.CanvasSizer
		io.WriterTo
	}
	if format == "svg" {
		canvas = vgsvg.New(width, height)
	} else {
		// Twice the usual resolution, for screens that have it.
		canvas = vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(192))}
	}
	drawing.Draw(draw.New(canvas))
	_, err = canvas.WriteTo(out)
	return err
}

// curves are loss rates up to far, and power, both in percent.
func (p Power) curves(far float64) ([]plotter.XYs, error) {
	var curves []plotter.XYs
	for _, gain := range p.GainRates {
		var rates []float64
		for i := range points {
			// Rounding must not push the sum of both rates above 1.
			if rate := far * float64(i) / (points - 1); rate+gain <= 1 {
				rates = append(rates, rate)
			}
		}
		power, err := stats.PowerCurve(p.Pairs, rates, gain, p.Alpha)
		if err != nil {
			return nil, err
		}
		curve := make(plotter.XYs, len(rates))
		for i, rate := range rates {
			curve[i] = plotter.XY{X: 100 * rate, Y: 100 * power[i]}
		}
		curves = append(curves, curve)
	}
	return curves, nil
}

// reach is the loss rate up to which to draw: a good way beyond the last point where
// a curve reaches the target, rounded up to something with labels.
func (p Power) reach() (float64, error) {
	far := 0.005
	for _, gain := range p.GainRates {
		d, err := stats.SmallestDetectable(p.Pairs, gain, p.Alpha, p.Target)
		if err != nil {
			return 0, err
		}
		if d.LossRate == nil {
			return 1, nil
		}
		far = max(far, 1.5**d.LossRate)
	}
	step := tickStep(far)
	return min(1, math.Ceil(far/step-1e-9)*step), nil
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

func (p Power) draw(far float64, curves []plotter.XYs) (*plot.Plot, error) {
	d := plot.New()
	d.BackgroundColor = color.White
	d.Title.Text = fmt.Sprintf("What %d pairs can see (exact one-sided test at %v)", p.Pairs, p.Alpha)
	if p.Note != "" {
		d.Title.Text += "\n" + p.Note
	}
	d.Title.Padding = vg.Points(8)
	d.X.Label.Text = "true loss rate, % of pairs"
	d.Y.Label.Text = "probability of finding it, %"
	d.Y.Min, d.Y.Max = 0, 100
	d.X.Min, d.X.Max = 0, 100*far
	d.X.Tick.Marker, d.Y.Tick.Marker = ticks(100*far, 100*tickStep(far)), ticks(100, 20)
	sans(&d.Title.TextStyle.Font, 13)
	for _, axis := range []*plot.Axis{&d.X, &d.Y} {
		sans(&axis.Label.TextStyle.Font, 11)
		sans(&axis.Tick.Label.Font, 10)
		axis.Color, axis.Label.TextStyle.Color, axis.Tick.Label.Color, axis.Tick.Color = ink, ink, ink, ink
		axis.Label.Padding = vg.Points(4)
	}
	d.Title.TextStyle.Color = ink
	sans(&d.Legend.TextStyle.Font, 10)
	d.Legend.Padding = vg.Points(3)
	d.Legend.ThumbnailWidth = vg.Points(28)
	d.Legend.TextStyle.Color = ink
	// In the lower right corner no curve is left, as all of them rise.
	d.Legend.XOffs, d.Legend.YOffs = -vg.Points(6), vg.Points(8)

	grid := plotter.NewGrid()
	grid.Horizontal.Color, grid.Vertical.Color = pale, pale
	d.Add(grid)

	for i, curve := range curves {
		line, err := plotter.NewLine(curve)
		if err != nil {
			return nil, err
		}
		line.Color, line.Width = colours[i], vg.Points(2)
		// Dashes tell the curves apart in print, too.
		if i > 0 {
			line.Dashes = []vg.Length{vg.Points(2 + 3*float64(i)), vg.Points(2)}
		}
		d.Add(line)
		d.Legend.Add(fmt.Sprintf("gain rate %.3g%%", 100*p.GainRates[i]), line)
	}
	target := plotter.NewFunction(func(float64) float64 { return 100 * p.Target })
	target.LineStyle = draw.LineStyle{Color: ink, Width: vg.Points(0.8), Dashes: []vg.Length{vg.Points(1), vg.Points(2)}}
	d.Add(target)
	d.Legend.Add(fmt.Sprintf("wanted: %.3g%%", 100*p.Target), target)
	return d, nil
}

// ticks are labelled from 0 to top.
func ticks(top, step float64) plot.ConstantTicks {
	var list plot.ConstantTicks
	for i := 0; float64(i)*step <= top+step/2; i++ {
		value := float64(i) * step
		list = append(list, plot.Tick{Value: value, Label: fmt.Sprintf("%.3g", value)})
	}
	return list
}

func sans(f *font.Font, points float64) {
	f.Variant, f.Size = "Sans", vg.Points(points)
}
