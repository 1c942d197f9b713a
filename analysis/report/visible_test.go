package report

import (
	"html/template"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestVisible(t *testing.T) {
	for in, want := range map[string]string{
		"plain text, ö and 漢字":   "plain text, ö and 漢字",
		"two\nlines\tand a tab":  "two\nlines\tand a tab",
		"\x00\x1b[2J\r\x7f":      "␀␛[2J␍␡",
		"\u202eabc\u2066":        "[U+202E]abc[U+2066]",
		"a\u200bb\ufeffc\u2028":  "a[U+200B]b[U+FEFF]c[U+2028]",
		"\u0085\U000e0041":       "[U+0085][U+E0041]",
		"\ufffe\U0001ffff\ufdd0": "[U+FFFE][U+1FFFF][U+FDD0]",
		"bad \xff bytes \xc3":    "bad \ufffd bytes \ufffd",
	} {
		if got := visible(in); got != want {
			t.Errorf("%q is shown as %q, want %q", in, got, want)
		}
	}
}

func TestApart(t *testing.T) {
	for _, test := range []struct{ a, b, inA, inB string }{
		{`{"base": "develop"}`, `{"base": "main"}`, "develop", "main"},
		{"the same", "the same", "", ""},
		{"one and two", "one and two and three", "", " and three"},
		{"quite", "other", "", ""},
		{"Größe 12 im Hafen", "Größe 13 im Hafen", "12", "13"},
		{"Hafen zu Größe", "Hafen zu Gruße", "Größe", "Gruße"},
	} {
		x, y := apart(test.a, test.b)
		if gotA, gotB := test.a[x.from:x.to], test.b[y.from:y.to]; gotA != test.inA || gotB != test.inB {
			t.Errorf("%q and %q differ in %q and %q, want %q and %q", test.a, test.b, gotA, gotB, test.inA, test.inB)
		}
	}
}

func FuzzTake(f *testing.F) {
	f.Add("a <b> & \u202e", "b", 12)
	f.Add("\x00\xff\u200d", "", 3)
	f.Add(strings.Repeat("ö", 50), "öö", 60)
	f.Fuzz(func(t *testing.T, text, mark string, most int) {
		m := &room{1000}
		e := m.take(text, most, whereStands(text, []string{mark})...)
		whole := ""
		for _, s := range e.Spans {
			whole += s.Text
		}
		if n := len(template.HTMLEscapeString(whole)); n > max(0, min(most, 1000)) {
			t.Errorf("%d bytes of at most %d", n, most)
		}
		if !strings.HasPrefix(visible(text), whole) {
			t.Errorf("%q is shown as %q", text, whole)
		}
		if e.Cut == 0 && whole != visible(text) {
			t.Errorf("%q is cut to %q, and nothing says so", text, whole)
		}
		shown := 0 // characters of the text, each of which may be shown as several
		for i := range text {
			if len(visible(text[:i])) <= len(whole) {
				shown = utf8.RuneCountInString(text[:i])
			}
		}
		if e.Cut > 0 && e.Cut != utf8.RuneCountInString(text)-shown {
			t.Errorf("%d characters of %q are said to be cut from %q", e.Cut, text, whole)
		}
		for _, r := range whole {
			if r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r)) {
				t.Errorf("a %U is shown", r)
			}
		}
		if m.left < 0 {
			t.Errorf("%d bytes are left", m.left)
		}
	})
}
