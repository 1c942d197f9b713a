package plot

import (
	"bytes"
	"encoding/xml"
	"errors"
	"image/color"
	"image/png"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/doubletake-dev/doubletake/analysis/stats"
)

func ptr(x float64) *float64 { return &x }

// samples are figures of every kind and of very different sizes.
func samples(t testing.TB) map[string]*Figure {
	t.Helper()
	figures := map[string]*Figure{}
	add := func(name string, f *Figure, err error) {
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		figures[name] = f
	}
	for name, n := range map[string]int{"0": 0, "1": 1, "3": 3, "200": 200, "300": 300} {
		f, err := Effect(manyRows(n))
		add("effect of "+name, f, err)
		f, err = Evidence(manyGroups(n, 2))
		add("evidence of "+name, f, err)
		f, err = Evidence(manyGroups(n, 1))
		add("evidence of losses alone, "+name, f, err)
		f, err = Retention(manyArms(min(n, 7), n))
		add("retention of "+name, f, err)
		f, err = Power(PowerData{Pairs: n, GainRates: []float64{0, 0.01, 0.02, 0.05, 0.1}, Alpha: 0.05, Target: 0.8, Note: "a note"})
		add("power of "+name, f, err)
	}
	f, err := Evidence(EvidenceData{Groups: []stats.Cluster{{Pairs: 1_000_000_000, Losses: 1_000_000_000}, {Pairs: 1_000_000_000, Gains: 3}}, Alpha: 1e-9})
	add("evidence of large groups", f, err)
	f, err = Effect(EffectData{Rows: []Difference{{Name: "all", Value: ptr(-1), Low: ptr(-1), High: ptr(-0.9), Pairs: 40, Gains: 40}}, Margin: 0.99, Confidence: 0.9})
	add("effect with a large margin", f, err)
	f, err = Effect(EffectData{Rows: []Difference{{Name: "tiny", Value: ptr(0), Low: ptr(-1e-7), High: ptr(1e-7), Pairs: math.MaxInt}}, Margin: 1e-6, Confidence: 0.9})
	add("effect with a small margin", f, err)
	return figures
}

func manyRows(n int) EffectData {
	d := EffectData{Margin: 0.05, Confidence: 0.95}
	for i := range n {
		row := Difference{Name: "incumbent against candidate", Pairs: 100, Losses: i % 30, Gains: 7}
		row.Value = ptr(float64(row.Losses-row.Gains) / 100)
		switch i % 5 {
		case 1:
			row.Value, row.Reason = nil, stats.ReasonNoPairs
		case 2:
			row.Reason = stats.ReasonFewClusters
		default:
			row.Low, row.High = ptr(*row.Value-0.07), ptr(*row.Value+0.09)
		}
		d.Rows = append(d.Rows, row)
	}
	return d
}

func manyGroups(n, every int) EvidenceData {
	d := EvidenceData{Alpha: 0.05}
	for i := range n {
		c := stats.Cluster{Pairs: 2 + i%3}
		if i%every == 0 {
			c.Losses = 2
		} else if i%3 == 0 {
			c.Gains = 1
		}
		d.Groups = append(d.Groups, c)
	}
	return d
}

func manyArms(arms, generations int) RetentionData {
	var d RetentionData
	names := []string{"reference", "incumbent", "candidate", "ledger", "mask", "window", "none"}
	for i := range arms {
		a := ArmRetention{Arm: names[i]}
		for _, name := range []string{"0 to 5 turns", "6 to 15 turns", "16 to 30 turns", "31 to 60 turns", "61 turns and more"} {
			a.ByAge = append(a.ByAge, Kept{name, 20 - i, 20})
		}
		for g := range generations {
			k := Kept{"compaction " + number(float64(g+1)), max(0, 20-i*g), 20}
			if i*g > 40 {
				k.Scored = 0
			}
			a.ByGeneration = append(a.ByGeneration, k)
		}
		d.Arms = append(d.Arms, a)
	}
	return d
}

func written(t testing.TB, f *Figure, format Format, theme Theme) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := f.Write(&out, format, theme); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// checkSVG parses an SVG and returns its title and its texts.
func checkSVG(t interface{ Errorf(string, ...any) }, svg []byte) (title string, texts []string) {
	decoder := xml.NewDecoder(bytes.NewReader(svg))
	var in []string
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return title, texts
		}
		if err != nil {
			t.Errorf("the SVG is no XML: %v", err)
			return title, texts
		}
		switch token := token.(type) {
		case xml.StartElement:
			in = append(in, token.Name.Local)
			for _, a := range token.Attr {
				if strings.Contains(a.Value, "NaN") || strings.Contains(a.Value, "Inf") {
					t.Errorf("<%s %s=%q>", token.Name.Local, a.Name.Local, a.Value)
				}
			}
		case xml.EndElement:
			in = in[:len(in)-1]
		case xml.CharData:
			switch strings.Join(in, " ") {
			case "svg title":
				title += string(token)
			case "svg g text":
				texts = append(texts, string(token))
			}
		}
	}
}

func TestFiguresSVG(t *testing.T) {
	for name, f := range samples(t) {
		light := written(t, f, SVG, Light)
		title, texts := checkSVG(t, light)
		if title == "" || title != f.Title() {
			t.Errorf("%s: the title is %q", name, title)
		}
		if len(texts) < 2 || texts[0] != f.Title() {
			t.Errorf("%s: the texts are %q", name, texts)
		}
		if !strings.HasPrefix(string(light), "<svg ") || !strings.Contains(string(light), `role="img"`) {
			t.Errorf("%s: no accessible picture: %.80s", name, light)
		}
		if !bytes.Equal(light, written(t, f, SVG, Light)) {
			t.Errorf("%s: the same figure gives other bytes", name)
		}
		if bytes.Equal(light, written(t, f, SVG, Dark)) {
			t.Errorf("%s: both themes give the same bytes", name)
		}
	}
}

func TestFiguresPNG(t *testing.T) {
	figures, drawn := samples(t), 0
	for _, name := range slices.Sorted(maps.Keys(figures)) {
		f := figures[name]
		if strings.HasSuffix(name, "300") || strings.Contains(name, "alone") {
			continue // as good as the others, and slow
		}
		if drawn++; testing.Short() && drawn > 2 {
			break // an image takes a second
		}
		for theme, paper := range map[Theme]color.RGBA{Light: {0xff, 0xff, 0xff, 0xff}, Dark: {0x16, 0x18, 0x1d, 0xff}} {
			tall := f.height > 1000 // takes a second
			if tall && (theme == Dark || testing.Short()) {
				continue
			}
			data := written(t, f, PNG, theme)
			image, err := png.Decode(bytes.NewReader(data))
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			bounds := image.Bounds()
			if bounds.Dx() != 1440 || bounds.Dy() != int(math.Round(float64(f.height)*192/72)) {
				t.Errorf("%s: %v pixels for %v points", name, bounds.Size(), f.height)
			}
			for _, corner := range [][2]int{{0, 0}, {bounds.Dx() - 1, 0}, {0, bounds.Dy() - 1}, {bounds.Dx() - 1, bounds.Dy() - 1}} {
				if got := color.RGBAModel.Convert(image.At(corner[0], corner[1])); got != paper {
					t.Errorf("%s, %s: the corner %v is %v, not %v", name, theme, corner, got, paper)
				}
			}
			if !tall && theme == Dark && !bytes.Equal(data, written(t, f, PNG, theme)) {
				t.Errorf("%s: the same figure gives other bytes", name)
			}
		}
	}
}

// Text stays as wide as planned in whatever font an SVG is shown; where the width is not
// known, as the font lacks a character, none is asked for.
func TestSVGTextLength(t *testing.T) {
	f, err := Effect(EffectData{Rows: []Difference{{Name: "known"}, {Name: "日本"}}})
	if err != nil {
		t.Fatal(err)
	}
	svg := string(written(t, f, SVG, Light))
	for name, want := range map[string]bool{"known": true, "日本": false} {
		before, _, found := strings.Cut(svg[strings.Index(svg, "</desc>"):], ">"+name+"</text>")
		element := before[strings.LastIndex(before, "<text"):]
		if !found || strings.Contains(element, "textLength=") != want {
			t.Errorf("%s: %s", name, element)
		}
	}
}

// layout reports texts that overlap or leave the figure, with either kind of font.
func layout(f *Figure) []string {
	var out []string
	light, _ := Light.colours()
	for _, other := range []bool{false, true} {
		var canvas vg.CanvasSizer = vgsvg.New(figureWidth, f.height)
		if !other {
			canvas = vgimg.NewWith(vgimg.UseWH(figureWidth, f.height), vgimg.UseDPI(1))
		}
		p := newPen(canvas, light, other)
		f.paint(p)
		whole := vg.Rectangle{Min: vg.Point{X: 4, Y: 4}, Max: vg.Point{X: figureWidth - 4, Y: f.height - 4}}
		for i, a := range p.written {
			if a.box.Min.X < whole.Min.X || a.box.Max.X > whole.Max.X || a.box.Min.Y < whole.Min.Y || a.box.Max.Y > whole.Max.Y {
				out = append(out, "outside: "+a.text)
			}
			for _, b := range p.written[:i] {
				if min(a.box.Max.X, b.box.Max.X)-max(a.box.Min.X, b.box.Min.X) > 0.01 && min(a.box.Max.Y, b.box.Max.Y)-max(a.box.Min.Y, b.box.Min.Y) > 0.01 {
					out = append(out, "overlap: "+a.text+" | "+b.text)
				}
			}
		}
	}
	return out
}

func TestFiguresLayout(t *testing.T) {
	for name, f := range samples(t) {
		for _, problem := range layout(f) {
			t.Errorf("%s: %s", name, problem)
		}
	}
}

func TestFigureErrors(t *testing.T) {
	f, err := Effect(EffectData{})
	if err != nil {
		t.Fatal(err)
	}
	for name, err := range map[string]error{
		"format":     f.Write(io.Discard, "gif", Light),
		"no format":  f.Write(io.Discard, "", Light),
		"theme":      f.Write(io.Discard, SVG, "sepia"),
		"no theme":   f.Write(io.Discard, PNG, ""),
		"zero value": new(Figure).Write(io.Discard, SVG, Light),
		"nil":        (*Figure)(nil).Write(io.Discard, SVG, Light),
		"svg writer": f.Write(full{}, SVG, Light),
		"png writer": f.Write(full{}, PNG, Light),
	} {
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// full is a full disk.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left") }

// Nothing to draw is said, with the reason.
func TestEmptyFigures(t *testing.T) {
	for name, make := range map[string]func() (*Figure, error){
		"no comparison":    func() (*Figure, error) { return Effect(EffectData{}) },
		"no session group": func() (*Figure, error) { return Evidence(EvidenceData{Alpha: 0.05}) },
		"no item in force": func() (*Figure, error) {
			return Retention(RetentionData{Arms: []ArmRetention{{Arm: "candidate", ByAge: []Kept{{"0 to 5 turns", 0, 0}}}}})
		},
		"without a pair": func() (*Figure, error) {
			return Power(PowerData{GainRates: []float64{0}, Alpha: 0.05, Target: 0.8})
		},
		"no gain rate": func() (*Figure, error) { return Power(PowerData{Pairs: 10, Alpha: 0.05, Target: 0.8}) },
	} {
		f, err := make()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if _, texts := checkSVG(t, written(t, f, SVG, Dark)); !strings.Contains(strings.Join(texts, " "), name) {
			t.Errorf("the figure does not say %q: %q", name, texts)
		}
	}
}
