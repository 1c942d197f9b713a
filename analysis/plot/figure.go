package plot

import (
	"bytes"
	"errors"
	"fmt"
	"html"
	"io"
	"math"
	"strings"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Format is how a figure is written.
type Format string

// The formats.
const (
	SVG Format = "svg" // text stays text; has an accessible name and description
	PNG Format = "png" // 192 pixels an inch, for screens that have them
)

// figureWidth is that of all figures, 7.5 inches, in points.
const figureWidth vg.Length = 540

// edge is the empty space around a figure.
const edge vg.Length = 16

// whole rounds a height up to whole pixels of a PNG, so that no last row is half drawn.
func whole(height vg.Length) vg.Length { return 3 * vg.Length(math.Ceil(float64(height)/3)) }

// Figure is a drawing that only has to be written. Constructors make it; the zero value
// cannot be written.
type Figure struct {
	title       string
	description string
	height      vg.Length
	paint       func(*pen)
}

// Title is the accessible name of the figure, one line.
func (f *Figure) Title() string { return f.title }

// Description says in words what the figure shows, for those who cannot see it. Its
// lines are clean.
func (f *Figure) Description() string { return f.description }

// Write writes the figure. It is an error if there is no such format or theme, or if
// out fails. An SVG comes without an XML declaration, so that it can stand in a page of
// HTML as it is.
func (f *Figure) Write(out io.Writer, format Format, theme Theme) error {
	if f == nil || f.paint == nil {
		return errors.New("an empty figure can't be written: make one by a constructor of package plot")
	}
	colours, err := theme.colours()
	if err != nil {
		return err
	}
	switch format {
	case SVG:
		return f.writeSVG(out, colours)
	case PNG:
		canvas := vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(figureWidth, f.height), vgimg.UseDPI(192))}
		f.paint(newPen(canvas, colours, false))
		if _, err := canvas.WriteTo(out); err != nil {
			return fmt.Errorf("writing the figure %q: %w", f.title, err)
		}
		return nil
	}
	return fmt.Errorf("no figure format %q: want %s or %s", string(format), SVG, PNG)
}

func (f *Figure) writeSVG(out io.Writer, c colours) error {
	canvas := vgsvg.New(figureWidth, f.height)
	p := newPen(canvas, c, true)
	f.paint(p)
	var drawing bytes.Buffer
	if _, err := canvas.WriteTo(&drawing); err != nil {
		return fmt.Errorf("drawing the figure %q: %w", f.title, err)
	}
	// The library's head has no place for a name.
	_, body, found := strings.Cut(drawing.String(), "<g transform=\"scale(1, -1)")
	if !found {
		return fmt.Errorf("drawing the figure %q: the library's SVG is not of the form that is known", f.title)
	}
	body, err := fixText(body, p.written)
	if err != nil {
		return fmt.Errorf("drawing the figure %q: %w", f.title, err)
	}
	_, err = fmt.Fprintf(out, `<svg xmlns="http://www.w3.org/2000/svg" width="%gpt" height="%gpt" viewBox="0 0 %g %g" role="img">
<title>%s</title>
<desc>%s</desc>
<g transform="scale(1, -1)%s`, float64(figureWidth), float64(f.height), float64(figureWidth), float64(f.height), html.EscapeString(f.title), html.EscapeString(f.description), body)
	if err != nil {
		return fmt.Errorf("writing the figure %q: %w", f.title, err)
	}
	return nil
}

// fixText makes text as wide as it was planned, whatever font it is shown in: it names
// fonts of the same widths as the one that was measured, and says how long each text is.
func fixText(body string, written []writtenText) (string, error) {
	// A quote inside a text is escaped, so that no text is taken for this.
	const style = `style="font-family:Liberation Sans;`
	parts := strings.Split(body, style)
	if len(parts) != len(written)+1 {
		return "", fmt.Errorf("%d texts were written, but the library's SVG has %d", len(written), len(parts)-1)
	}
	var b strings.Builder
	b.WriteString(parts[0])
	for i, text := range written {
		if text.exact {
			fmt.Fprintf(&b, `textLength="%.2f" lengthAdjust="spacingAndGlyphs" `, float64(text.box.Max.X-text.box.Min.X))
		}
		b.WriteString(`style="font-family:'Liberation Sans',Arimo,Arial,Helvetica,sans-serif;`)
		b.WriteString(parts[i+1])
	}
	return b.String(), nil
}

// headHeight is the space of the title and two lines under it.
const headHeight vg.Length = 62

// head writes the title and what stands under it.
func (p *pen) head(title, note string) {
	width := p.width - 2*edge
	p.text(heading, p.ink, edge, 22, left, width, title)
	p.paragraph(small, p.soft, edge, 39, width, 2, note)
}

// empty is a figure that says why there is nothing to draw.
func empty(title, reason string) *Figure {
	return &Figure{title: title, description: reason, height: 90, paint: func(p *pen) {
		p.head(title, "")
		p.line(stroke{ink: p.grid, width: 1}, vg.Point{X: edge, Y: 40}, vg.Point{X: p.width - edge, Y: 40})
		p.paragraph(label, p.soft, edge, 62, p.width-2*edge, 4, reason)
	}}
}
