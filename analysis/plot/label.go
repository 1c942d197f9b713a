package plot

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/image/font/sfnt"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
)

// maxLabel bounds, in characters, what is kept of a name: far more than fits anywhere.
const maxLabel = 300

// maxMarks is how many marks may be stacked on a letter: more of them run into the
// lines above and below.
const maxMarks = 2

// unknown stands for a character that cannot be drawn.
const unknown = '□'

// clean makes a name fit for one line of a drawing and for XML. Control characters and
// white space become one space; what turns the direction of writing or has no width
// vanishes.
func clean(name string) string {
	var b strings.Builder
	space, marks, length := false, 0, 0
	for _, r := range name {
		switch {
		case unicode.IsSpace(r), unicode.IsControl(r), r == utf8.RuneError:
			space = length > 0
			continue
		case unicode.Is(unicode.Cf, r), unicode.Is(unicode.Noncharacter_Code_Point, r), unicode.Is(unicode.Variation_Selector, r):
			continue
		case unicode.Is(unicode.M, r):
			if marks++; marks > maxMarks || length == 0 {
				continue
			}
		default:
			marks = 0
		}
		if length >= maxLabel {
			return b.String() + "…"
		}
		if space {
			b.WriteByte(' ')
			length++
		}
		space = false
		b.WriteRune(r)
		length++
	}
	return b.String()
}

// drawable replaces what can't be drawn. With other fonts than face that is what they
// can't be trusted to draw in the space that [textWidth] counts: pictures, rare scripts,
// and ligatures as wide as a sentence.
func drawable(face font.Face, text string, otherFonts bool) string {
	var buffer sfnt.Buffer
	return strings.Map(func(r rune) rune {
		if known(face, &buffer, r) {
			return r
		}
		if !otherFonts {
			return unknown
		}
		if unicode.In(r, wideScripts()...) {
			return r
		}
		ligature := r >= 0xfb50 && r <= 0xfdff
		if r <= 0xffff && !ligature && unicode.In(r, unicode.L, unicode.M, unicode.Nd) {
			return r
		}
		return unknown
	}, text)
}

// wideScripts are written in squares of the font's size.
func wideScripts() []*unicode.RangeTable {
	return []*unicode.RangeTable{unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul}
}

func known(face font.Face, buffer *sfnt.Buffer, r rune) bool {
	index, err := face.Face.GlyphIndex(buffer, r)
	return err == nil && index != 0
}

func allKnown(face font.Face, text string) bool {
	var buffer sfnt.Buffer
	return !strings.ContainsFunc(text, func(r rune) bool { return !known(face, &buffer, r) })
}

// textWidth is the width of a text. A character that the font lacks is drawn by another
// one, and counts with the most that it may take.
func textWidth(face font.Face, text string) vg.Length {
	var buffer sfnt.Buffer
	var missing vg.Length
	drawn := strings.Map(func(r rune) rune {
		switch {
		case known(face, &buffer, r):
			return r
		case unicode.In(r, wideScripts()...):
			missing += face.Font.Size
		default:
			missing += 1.5 * face.Font.Size
		}
		return -1
	}, text)
	return face.Width(drawn) + missing
}

// shorten cuts a text that is wider than width, and says by … that it did.
func shorten(face font.Face, text string, width vg.Length) string {
	if textWidth(face, text) <= width {
		return text
	}
	runes := []rune(text)
	low, high := 0, len(runes) // low fits, as nothing is left then
	for low+1 < high {
		mid := (low + high) / 2
		if textWidth(face, cut(runes, mid)) <= width {
			low = mid
		} else {
			high = mid
		}
	}
	return cut(runes, low)
}

func cut(runes []rune, n int) string { return strings.TrimRight(string(runes[:n]), " ") + "…" }

// wrap breaks a text at spaces into at most lines lines of a width. The last is
// shortened to fit; so is a word that is wider than a line.
func wrap(face font.Face, text string, width vg.Length, lines int) []string {
	var out []string
	line := ""
	words := strings.Fields(text)
	for i, word := range words {
		longer := strings.TrimLeft(line+" "+word, " ")
		if line == "" || textWidth(face, longer) <= width {
			line = longer
			continue
		}
		if len(out) == lines-1 {
			line = strings.Join(append([]string{line}, words[i:]...), " ")
			break
		}
		out = append(out, shorten(face, line, width))
		line = word
	}
	if line == "" {
		return out
	}
	return append(out, shorten(face, line, width))
}

// visual puts the words of scripts that run from right to left, as far as the font has
// such, into the order in which they are drawn. Numbers and other scripts end a run.
func visual(text string) string {
	runes := []rune(text)
	var out []rune
	for i := 0; i < len(runes); {
		end := i // of the run, behind its last letter
		for j := i; j < len(runes) && inRun(runes[j]); j++ {
			if unicode.In(runes[j], unicode.Hebrew, unicode.Mn) {
				end = j + 1
			}
		}
		if !unicode.Is(unicode.Hebrew, runes[i]) || end == i {
			out = append(out, runes[i])
			i++
			continue
		}
		// Marks stay behind their letter.
		for last := end; last > i; {
			first := last - 1
			for first > i && unicode.Is(unicode.Mn, runes[first]) {
				first--
			}
			out = append(out, runes[first:last]...)
			last = first
		}
		i = end
	}
	return string(out)
}

// inRun says whether a character does not end a run from right to left.
func inRun(r rune) bool {
	return unicode.In(r, unicode.Hebrew, unicode.Mn) || !unicode.In(r, unicode.L, unicode.N) && r != '…'
}
