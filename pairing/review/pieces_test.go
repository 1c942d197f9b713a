package review

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/doubletake-dev/doubletake/fixtures"
)

func TestVisible(t *testing.T) {
	tests := []struct{ in, want string }{
		{"plain <script>alert(1)</script>\n\tok", "plain <script>alert(1)</script>\n\tok"},
		{"\x1b[31mred\x1b[0m", "␛[31mred␛[0m"},
		{"a\x00b\x7f", "a␀b␡"},
		{"user\u202egnp.exe", "user[U+202E]gnp.exe"},
		{"\u2066x\u2069", "[U+2066]x[U+2069]"},
		{"zero\u200bwidth", "zero[U+200B]width"},
		{"tag\U000E0041", "tag[U+E0041]"},
		{"a\u2028b", "a[U+2028]b"},
		{"a\r\nb\rc", "a\nb␍c"},
		{"\u0085", "[U+0085]"},
		{"bad \xff byte", "bad \ufffd byte"},
		{"👩\u200d👩\u200d👧 ü 中文 עברית", "👩\u200d👩\u200d👧 ü 中文 עברית"},
	}
	for _, test := range tests {
		if got := visible(test.in); got != test.want {
			t.Errorf("%q: %q, want %q", test.in, got, test.want)
		}
	}
}

func FuzzVisible(f *testing.F) {
	f.Add("\x1b]0;title\x07 \u202e <img src=x onerror=alert(1)>")
	f.Fuzz(func(t *testing.T, text string) {
		for _, r := range visible(text) {
			if r != '\n' && r != '\t' && hidden(r) {
				t.Fatalf("%q leaves %U", text, r)
			}
		}
	})
}

// What two texts do not have marked is the same in both.
func TestUnmarkedTextIsCommon(t *testing.T) {
	word := rapid.SampledFrom([]string{"a", "the", "über", " ", "/", ".", "\n", "中", "5433", "\xff", "é"})
	text := rapid.Custom(func(t *rapid.T) string { return strings.Join(rapid.SliceOfN(word, 0, 40).Draw(t, "words"), "") })
	rapid.Check(t, func(t *rapid.T) {
		a, b := text.Draw(t, "a"), text.Draw(t, "b")
		x, y := differing(a, b)
		if p, q := unmarked(t, a, x), unmarked(t, b, y); p != q {
			t.Fatalf("%q and %q leave %q and %q", a, b, p, q)
		}
		if a == b && (len(x) > 0 || len(y) > 0) {
			t.Fatalf("%q differs from itself", a)
		}
	})
}

func unmarked(t *rapid.T, text string, marks []mark) string {
	var b strings.Builder
	at := 0
	for _, m := range marks {
		if m.from < at || m.to <= m.from || m.to > len(text) {
			t.Fatalf("mark %+v in %d bytes after %d", m, len(text), at)
		}
		b.WriteString(text[at:m.from])
		at = m.to
	}
	return b.String() + text[at:]
}

func TestDifferingMarksWords(t *testing.T) {
	tests := []struct{ a, b, want string }{
		{"/src/a.go", "/migrations/1.sql", "src a go"},
		{"rev 14", "rev 12", "14"},
		{"keep the port", "keep the old port", ""},
		{"drop table users now", "drop now", "table users "},
	}
	for _, test := range tests {
		marks, _ := differing(test.a, test.b)
		var got []string
		for _, m := range marks {
			got = append(got, test.a[m.from:m.to])
		}
		if strings.Join(got, " ") != test.want {
			t.Errorf("%q against %q: %q differ, want %q", test.a, test.b, got, test.want)
		}
	}
}

// Pieces and gaps make up the text, and no piece is long.
func TestPiecesMakeUpTheText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Repeat(rapid.SampledFrom([]string{"x", "wörd ", "中", "ab\n"}).Draw(t, "word"), rapid.IntRange(0, 30_000).Draw(t, "times"))
		var marks []mark
		for range rapid.IntRange(0, 60).Draw(t, "marks") {
			from := rapid.IntRange(0, len(text)).Draw(t, "from")
			to := rapid.IntRange(from, len(text)).Draw(t, "to")
			marks = append(marks, mark{runeStart(text, from), runeStart(text, to), markLost})
		}
		at, shown := 0, 0
		for _, p := range (passage{text, marks, "q"}).pieces() {
			if p.Gap != nil {
				if p.Gap.At != at || p.Gap.Bytes <= 0 {
					t.Fatalf("a gap %+v at %d", p.Gap, at)
				}
				at += p.Gap.Bytes
				continue
			}
			if at+len(p.Text) > len(text) || text[at:at+len(p.Text)] != p.Text {
				t.Fatalf("at %d stands %q", at, p.Text)
			}
			at += len(p.Text)
			shown += len(p.Text)
		}
		if at != len(text) {
			t.Fatalf("the pieces have %d bytes of %d", at, len(text))
		}
		if most := 80_000; shown > most {
			t.Fatalf("%d bytes are shown at once", shown)
		}
	})
}

func TestStretchKeepsCharactersWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOf(rapid.RuneFrom([]rune("aü中👩"))).Draw(t, "text")
		var b strings.Builder
		for at := 0; at < len(text); {
			shown, next := stretch(text, at, rapid.IntRange(4, 9).Draw(t, "bytes"))
			if next <= at || !utf8.ValidString(shown) {
				t.Fatalf("from %d to %d: %q", at, next, shown)
			}
			b.WriteString(shown)
			at = next
		}
		if b.String() != text {
			t.Fatalf("%q came back as %q", text, b.String())
		}
	})
}

// Rows and folds cover every row once, in order, and what is worth seeing is not folded.
func TestFoldsCoverAllRows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		worth := rapid.SliceOfN(rapid.Bool(), 0, 500).Draw(t, "worth")
		kind := func(int) string { return "k" }
		at, rows := 0, 0
		for _, s := range folded(len(worth), func(i int) bool { return worth[i] }, kind, func(i int) int { return i }) {
			if s.Row != nil {
				if *s.Row != at {
					t.Fatalf("row %d stands at %d", *s.Row, at)
				}
				at++
				rows++
				continue
			}
			if s.Fold.From != at || s.Fold.Count < 1 || s.Fold.Kinds["k"] != s.Fold.Count {
				t.Fatalf("fold %+v at %d", s.Fold, at)
			}
			for i := at; i < at+s.Fold.Count && rows < mostRows; i++ {
				if worth[i] {
					t.Fatalf("row %d is folded", i)
				}
			}
			at += s.Fold.Count
		}
		if at != len(worth) {
			t.Fatalf("%d rows of %d", at, len(worth))
		}
		if rows > mostRows+3 {
			t.Fatalf("%d rows at once", rows)
		}
	})
}

// Every message of both contexts is in the rows once, in order; equal rows are equal.
func TestComparedContextsAreComplete(t *testing.T) {
	message := rapid.Custom(func(t *rapid.T) fixtures.Message {
		return fixtures.Message{
			Turn: rapid.IntRange(0, 6).Draw(t, "turn"), Role: rapid.SampledFrom([]string{"user", "tool"}).Draw(t, "role"),
			Content: rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "content"),
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.SliceOfN(message, 0, 20).Draw(t, "a"), rapid.SliceOfN(message, 0, 20).Draw(t, "b")
		i, j := 0, 0
		for _, r := range compareContexts(a, b) {
			if r.left >= 0 {
				if r.left != i {
					t.Fatalf("left %d stands at %d", r.left, i)
				}
				i++
			}
			if r.right >= 0 {
				if r.right != j {
					t.Fatalf("right %d stands at %d", r.right, j)
				}
				j++
			}
			if r.kind == rowEqual && messageText(&a[r.left]) != messageText(&b[r.right]) {
				t.Fatalf("equal rows differ: %+v", r)
			}
		}
		if i != len(a) || j != len(b) {
			t.Fatalf("%d of %d and %d of %d messages", i, len(a), j, len(b))
		}
	})
}
