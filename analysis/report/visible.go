package report

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// visibleRune is what a character is shown as on a page: itself, or, for one that a
// reader cannot see or that would turn the direction of writing, its name.
func visibleRune(r rune) string {
	switch {
	case r == '\n' || r == '\t':
		return string(r)
	case r < 0x20: // the control pictures stand in the order of the controls
		return string('␀' + r)
	case r == 0x7f:
		return "␡"
	case unicode.IsControl(r), unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp), r&0xfffe == 0xfffe, r >= 0xfdd0 && r <= 0xfdef:
		return fmt.Sprintf("[U+%04X]", r)
	}
	return string(r)
}

// visible shows what a reader could not see in a text, or what would turn its direction.
// Bytes that are no UTF-8 become the replacement character. None of what it puts in has
// a meaning in HTML.
func visible(text string) string {
	if !strings.ContainsFunc(text, func(r rune) bool { return r == utf8.RuneError || visibleRune(r) != string(r) }) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		b.WriteString(visibleRune(r))
	}
	return b.String()
}

// span is a piece of text, marked or not.
type span struct {
	Text string
	Mark bool
}

// excerpt is a text as far as there is room for it.
type excerpt struct {
	Spans []span
	// Cut is how many characters of the text are left out at its end.
	Cut int
}

// room is how many bytes of a page may still be written.
type room struct{ left int }

// spend takes bytes and says whether they were there.
func (m *room) spend(n int) bool {
	if m.left < n {
		m.left = 0
		return false
	}
	m.left -= n
	return true
}

// stretch is a part of a text, in bytes.
type stretch struct{ from, to int }

// take shows a text, with at most so many bytes of it once it is escaped, and no more
// than there is room for.
func (m *room) take(text string, most int, marks ...stretch) excerpt {
	limit := min(most, m.left)
	var out excerpt
	var b strings.Builder
	marked := false
	flush := func() {
		if b.Len() > 0 {
			out.Spans = append(out.Spans, span{b.String(), marked})
			b.Reset()
		}
	}
	used := 0
	for i, r := range text {
		shown := visibleRune(r)
		if used += escapedLength(shown); used > limit {
			out.Cut = utf8.RuneCountInString(text[i:])
			break
		}
		if now := slices.ContainsFunc(marks, func(s stretch) bool { return i >= s.from && i < s.to }); now != marked {
			flush()
			marked = now
			used += len("<mark></mark>")
		}
		b.WriteString(shown)
	}
	flush()
	m.left -= min(used, m.left)
	return out
}

// escapedLength is how long a text is in HTML.
func escapedLength(text string) int {
	n := len(text)
	for i := range len(text) {
		if strings.IndexByte(`&<>"'+`, text[i]) >= 0 {
			n += len("&#34;") - 1
		}
	}
	return n
}

// whereStands finds the texts inside another one, each where it stands first.
func whereStands(text string, parts []string) []stretch {
	var list []stretch
	for _, part := range parts {
		if i := strings.Index(text, part); i >= 0 && part != "" {
			list = append(list, stretch{i, i + len(part)})
		}
	}
	return list
}

// apart finds the stretches in which two texts differ: from the first word that is not
// the same to the last. Texts that have little in common have none.
func apart(a, b string) (stretch, stretch) {
	if a == b {
		return stretch{}, stretch{}
	}
	start := 0
	for start < min(len(a), len(b)) && a[start] == b[start] {
		start++
	}
	end := 0
	for end < min(len(a), len(b))-start && a[len(a)-1-end] == b[len(b)-1-end] {
		end++
	}
	if start+end < min(len(a), len(b))/4 {
		return stretch{}, stretch{}
	}
	// Not from the middle of a word, nor to the middle of one.
	for start > 0 && wordByte(a[start-1]) && (wordAt(a, start) || wordAt(b, start)) {
		start--
	}
	for end > 0 && wordByte(a[len(a)-end]) && (wordAt(a, len(a)-end-1) || wordAt(b, len(b)-end-1)) {
		end--
	}
	return stretch{start, len(a) - end}, stretch{start, len(b) - end}
}

// wordAt says whether the text has a byte of a word at that place.
func wordAt(text string, i int) bool { return i >= 0 && i < len(text) && wordByte(text[i]) }

// wordByte says whether a byte is inside a word; all that is not ASCII is.
func wordByte(c byte) bool {
	return c >= utf8.RuneSelf || c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}
