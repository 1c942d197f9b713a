package report

import (
	"io"
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

// Printable is a writer that passes text on with what a terminal would act upon made
// visible: control characters but for line ends and tabs, and characters that turn the
// direction of writing.
func Printable(out io.Writer) io.Writer { return printable{out} }

type printable struct{ out io.Writer }

func (p printable) Write(text []byte) (int, error) {
	safe := strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r):
			return utf8.RuneError
		}
		return r
	}, string(text))
	if _, err := io.WriteString(p.out, safe); err != nil {
		return 0, err
	}
	return len(text), nil
}
