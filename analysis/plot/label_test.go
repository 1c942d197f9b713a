package plot

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"gonum.org/v1/plot/vg/vgsvg"
	"pgregory.net/rapid"
)

func testPen(t *testing.T, otherFonts bool) *pen {
	t.Helper()
	light, err := Light.colours()
	if err != nil {
		t.Fatal(err)
	}
	return newPen(vgsvg.New(100, 100), light, otherFonts)
}

func TestClean(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"candidate", "candidate"},
		{"  two \t\n words ", "two words"},
		{"\x1b[31mred\x1b[0m", "[31mred [0m"},
		{"abc\u202egnp.exe", "abcgnp.exe"},
		{"zero\u200bwidth\ufeff", "zerowidth"},
		{"bad \xff\xfe bytes", "bad bytes"},
		{"non\uffff\ufffecharacter", "noncharacter"},
		{"e\u0301\u0301\u0301\u0301\u0301", "e\u0301\u0301"},
		{"\u0301x", "x"},
		{"שלום", "שלום"},
		{strings.Repeat("x", 10000), strings.Repeat("x", maxLabel) + "…"},
		{"", ""},
		{"\n\x00", ""},
	} {
		if got := clean(tt.in); got != tt.want {
			t.Errorf("clean(%q) = %q, want %q", tt.in, got, tt.want)
		}
	}
}

func TestDrawable(t *testing.T) {
	for _, tt := range []struct{ in, png, svg string }{
		{"a → b − é Ж ש", "a → b − é Ж ש", "a → b − é Ж ש"},
		{"日本", "□□", "日本"},
		{"🙂 \ufdfd \U00012031", "□ □ □", "□ □ □"},
	} {
		for other, want := range map[bool]string{false: tt.png, true: tt.svg} {
			p := testPen(t, other)
			if got := p.drawable(p.face(small), tt.in); got != want {
				t.Errorf("%q with other fonts %t: %q, want %q", tt.in, other, got, want)
			}
		}
	}
}

func TestVisual(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"plain", "plain"},
		{"אבג", "גבא"},
		{"a אב גד 12 b", "a דג בא 12 b"},
		{"אב…", "בא…"},
		{"א\u05b0ב", "בא\u05b0"},
		{"", ""},
	} {
		if got := visual(tt.in); got != tt.want {
			t.Errorf("visual(%q) = %q, want %q", tt.in, got, tt.want)
		}
	}
}

func TestWrap(t *testing.T) {
	p := testPen(t, true)
	face := p.face(small)
	for _, tt := range []struct {
		in    string
		width float64 // in letters x
		want  []string
	}{
		{"", 10, nil},
		{"xx xx", 10, []string{"xx xx"}},
		{"xxxx xxxx", 6, []string{"xxxx", "xxxx"}},
		{"xxxx xxxx xxxx", 7, []string{"xxxx", "xxxx…"}},
		{"xxxxxxxxxxxx xx", 6, []string{"xxxx…", "xx"}},
	} {
		width := textWidth(face, strings.Repeat("x", int(tt.width)))
		got := wrap(face, tt.in, width, 2)
		if len(got) != len(tt.want) {
			t.Errorf("%q: %q, want %q", tt.in, got, tt.want)
			continue
		}
		for i := range got {
			// How many letters stand before … depends on the font.
			if textWidth(face, got[i]) > width || strings.HasSuffix(tt.want[i], "…") != strings.HasSuffix(got[i], "…") {
				t.Errorf("%q: %q, want %q", tt.in, got, tt.want)
			}
		}
	}
}

func hostile() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.String(),
		rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }),
		rapid.SampledFrom([]string{
			strings.Repeat("W", 10000), strings.Repeat("日", 10000), strings.Repeat("e\u0301", 5000), "a" + strings.Repeat("\u0316", 9000),
			"</text></svg><script>alert(1)</script>", `" style="font-family:Liberation Sans;`, "]]>&amp;<!--", "\u202e\u2066txt", "שלום עולם", "\x1b]0;x\x07", "\x00", "\ufffe\uffff", "𒐫﷽꧅",
		}),
	)
}

// Whatever a name is, the SVG is XML with clean texts that neither overlap nor leave it.
func TestHostileLabels(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := func() string { return hostile().Draw(t, "name") }
		effect, err := Effect(EffectData{Rows: []Difference{
			{Name: name(), Value: ptr(0.1), Low: ptr(0), High: ptr(0.2), Pairs: 10, Losses: 1},
			{Name: name(), Value: ptr(-0.1), Reason: name(), Pairs: 10, Gains: 1},
			{Name: name(), Reason: name()},
		}, Margin: 0.05, Confidence: 0.95})
		if err != nil {
			t.Fatal(err)
		}
		retention, err := Retention(RetentionData{Arms: []ArmRetention{
			{name(), []Kept{{name(), 1, 2}, {name(), 0, 3}}, []Kept{{name(), 3, 3}}},
			{name(), []Kept{{name(), 1, 2}}, nil},
		}})
		if err != nil {
			t.Fatal(err)
		}
		power, err := Power(PowerData{Pairs: 10, GainRates: []float64{0}, Alpha: 0.05, Target: 0.8, Note: name()})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range []*Figure{effect, retention, power} {
			var out strings.Builder
			if err := f.Write(&out, SVG, Light); err != nil {
				t.Fatal(err)
			}
			_, texts := checkSVG(t, []byte(out.String()))
			if strings.Contains(out.String(), "<script") {
				t.Errorf("a name became an element")
			}
			for _, text := range append(texts, strings.Split(f.Description(), "\n")...) {
				if !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) }) {
					t.Errorf("the text %q is not clean", text)
				}
			}
			for _, problem := range layout(f) {
				t.Errorf("%s: %s", f.Title(), problem)
			}
		}
	})
}
