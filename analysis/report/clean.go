package report

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Clean makes text from a recording or a model fit for one line of a terminal:
// control characters (escape sequences with them), line ends, and characters that
// turn the direction of writing become a space or vanish.
func Clean(text string) string {
	var b strings.Builder
	space := false
	for _, r := range text {
		switch {
		case r == utf8.RuneError, unicode.IsSpace(r), unicode.IsControl(r):
			space = true
			continue
		case unicode.Is(unicode.Cf, r): // bidirectional marks, zero-width characters
			continue
		}
		if space && b.Len() > 0 {
			b.WriteByte(' ')
		}
		space = false
		b.WriteRune(r)
	}
	return b.String()
}

// Shorten cleans text and cuts it to at most width characters.
func Shorten(text string, width int) string {
	text = Clean(text)
	if utf8.RuneCountInString(text) <= width {
		return text
	}
	runes := []rune(text)
	return strings.TrimRight(string(runes[:max(width-1, 1)]), " ") + "…"
}
