package plot

import (
	"image/color"

	xfont "golang.org/x/image/font"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/font/liberation"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// align says which end of a text stands at its point.
type align float64

const (
	left   align = 0
	centre align = 0.5
	right  align = 1
)

// textKind is the size and weight of a text.
type textKind int

const (
	heading textKind = iota
	label
	small
)

// pen draws on one canvas. Lengths are in points, and y runs downwards from the top,
// as one reads.
type pen struct {
	canvas draw.Canvas
	colours
	fonts *font.Cache
	width vg.Length
	// height is that of the canvas.
	height vg.Length
	// otherFonts says that the reader's program draws the text: it has more fonts, and
	// knows which scripts run from right to left.
	otherFonts bool
	// written is the text in the order in which it was written.
	written []writtenText
}

type writtenText struct {
	text string
	box  vg.Rectangle // y downwards
	// exact says that the box is as wide as the text, not as wide as it may become in
	// another font.
	exact bool
}

func newPen(canvas vg.CanvasSizer, c colours, otherFonts bool) *pen {
	p := &pen{canvas: draw.New(canvas), colours: c, otherFonts: otherFonts, fonts: font.NewCache(liberation.Collection())}
	p.width, p.height = canvas.Size()
	p.box(vg.Rectangle{Max: vg.Point{X: p.width, Y: p.height}}, c.paper)
	return p
}

func (p *pen) face(kind textKind) font.Face {
	f := font.Font{Typeface: "Liberation", Variant: "Sans"}
	switch kind {
	case heading:
		f.Weight, f.Size = xfont.WeightBold, 13
	case label:
		f.Size = 10
	case small:
		f.Size = 8.5
	}
	return p.fonts.Lookup(f, f.Size)
}

// text writes a line whose middle is at y, shortened to width.
func (p *pen) text(kind textKind, ink color.Color, x, y vg.Length, at align, width vg.Length, text string) {
	face := p.face(kind)
	text = shorten(face, p.drawable(face, text), width)
	box := p.textBox(face, x, y, at, text)
	if text == "" {
		return
	}
	p.written = append(p.written, writtenText{text, box, allKnown(face, text)})
	if !p.otherFonts {
		text = visual(text)
	}
	p.canvas.SetColor(ink)
	p.canvas.FillString(face, p.point(box.Min.X, box.Max.Y-face.Extents().Descent), text)
}

func (p *pen) textBox(face font.Face, x, y vg.Length, at align, text string) vg.Rectangle {
	width, extents := textWidth(face, text), face.Extents()
	start := x - vg.Length(at)*width
	half := (extents.Ascent + extents.Descent) / 2
	return vg.Rectangle{Min: vg.Point{X: start, Y: y - half}, Max: vg.Point{X: start + width, Y: y + half}}
}

// plate writes a line on a plate of paper, which keeps it apart from the lines below.
func (p *pen) plate(kind textKind, ink color.Color, x, y, width vg.Length, text string) {
	face := p.face(kind)
	box := p.textBox(face, x, y, left, shorten(face, p.drawable(face, text), width))
	p.box(vg.Rectangle{Min: vg.Point{X: box.Min.X - 2, Y: box.Min.Y}, Max: vg.Point{X: box.Max.X + 2, Y: box.Max.Y}}, p.paper)
	p.text(kind, ink, x, y, left, width, text)
}

// paragraph writes at most lines lines, the first with its middle at y, and returns
// where the middle of a next one would be.
func (p *pen) paragraph(kind textKind, ink color.Color, x, y, width vg.Length, lines int, text string) vg.Length {
	for _, line := range p.wrap(kind, text, width, lines) {
		p.text(kind, ink, x, y, left, width, line)
		y += 1.35 * p.face(kind).Font.Size
	}
	return y
}

// wrap breaks a text into at most lines lines of a width.
func (p *pen) wrap(kind textKind, text string, width vg.Length, lines int) []string {
	face := p.face(kind)
	return wrap(face, p.drawable(face, text), width, lines)
}

func (p *pen) drawable(face font.Face, text string) string {
	return drawable(face, text, p.otherFonts)
}

// point turns downward coordinates into those of the canvas.
func (p *pen) point(x, y vg.Length) vg.Point { return vg.Point{X: x, Y: p.height - y} }

// box fills a rectangle, its y downwards.
func (p *pen) box(r vg.Rectangle, fill color.Color) {
	p.polygon(fill, []vg.Point{r.Min, {X: r.Max.X, Y: r.Min.Y}, r.Max, {X: r.Min.X, Y: r.Max.Y}})
}

func (p *pen) polygon(fill color.Color, corners []vg.Point) {
	p.canvas.SetColor(fill)
	p.canvas.Fill(p.path(corners, true))
}

// stroke is the look of a line.
type stroke struct {
	ink    color.Color
	width  vg.Length
	dashes []vg.Length
}

// line draws a line through points, their y downwards.
func (p *pen) line(s stroke, points ...vg.Point) {
	if len(points) < 2 {
		return
	}
	p.canvas.SetLineStyle(draw.LineStyle{Color: s.ink, Width: s.width, Dashes: s.dashes})
	p.canvas.Stroke(p.path(points, false))
}

func (p *pen) path(points []vg.Point, closed bool) vg.Path {
	var path vg.Path
	for i, at := range points {
		if at = p.point(at.X, at.Y); i == 0 {
			path.Move(at)
		} else {
			path.Line(at)
		}
	}
	if closed {
		path.Close()
	}
	return path
}

// mark is the shape of a point.
type mark int

const (
	disc mark = iota
	square
	up   // a triangle
	down // a triangle
	diamond
)

// mark marks a place, with a rim of paper that keeps it apart from what lies below.
func (p *pen) mark(m mark, fill color.Color, at vg.Point, size vg.Length) {
	if m == disc {
		p.disc(p.paper, at, size+1)
		p.disc(fill, at, size)
		return
	}
	p.polygon(p.paper, m.corners(at, size+1.2))
	p.polygon(fill, m.corners(at, size))
}

func (p *pen) disc(fill color.Color, at vg.Point, radius vg.Length) {
	p.canvas.SetColor(fill)
	p.canvas.Fill(p.circle(at, radius))
}

// ring is an empty disc.
func (p *pen) ring(s stroke, at vg.Point, radius vg.Length) {
	p.canvas.SetLineStyle(draw.LineStyle{Color: s.ink, Width: s.width})
	p.canvas.Stroke(p.circle(at, radius))
}

func (p *pen) circle(at vg.Point, radius vg.Length) vg.Path {
	const full = 6.283185307179586
	middle := p.point(at.X, at.Y)
	var path vg.Path
	path.Move(vg.Point{X: middle.X + radius, Y: middle.Y})
	path.Arc(middle, radius, 0, full)
	path.Close()
	return path
}

func (m mark) corners(at vg.Point, r vg.Length) []vg.Point {
	by := func(x, y vg.Length) vg.Point { return vg.Point{X: at.X + x*r, Y: at.Y + y*r} }
	switch m {
	case up:
		return []vg.Point{by(0, -1.1), by(1.1, 0.9), by(-1.1, 0.9)}
	case down:
		return []vg.Point{by(0, 1.1), by(1.1, -0.9), by(-1.1, -0.9)}
	case diamond:
		return []vg.Point{by(0, -1.25), by(1.25, 0), by(0, 1.25), by(-1.25, 0)}
	default:
		return []vg.Point{by(-0.9, -0.9), by(0.9, -0.9), by(0.9, 0.9), by(-0.9, 0.9)}
	}
}

// series is the look of an arm or a curve: its mark, and its dashes.
func (p *pen) series(i int) (stroke, mark) {
	dashes := [maxSeries][]vg.Length{nil, {6, 2}, {2, 2}, {8, 2, 2, 2}, {12, 3}}
	marks := [maxSeries]mark{disc, square, up, diamond, down}
	return stroke{ink: p.colours.series[i], width: 1.6, dashes: dashes[i]}, marks[i]
}
