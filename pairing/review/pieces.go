package review

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// piece is a stretch of a text as the page shows it: text with what is marked about it,
// or a gap that can be asked for.
type piece struct {
	Text string `json:"text,omitempty"`
	Mark string `json:"mark,omitempty"`
	Gap  *gap   `json:"gap,omitempty"`
}

// gap is text that was left out: where to ask for it, from which byte on, how many bytes.
type gap struct {
	Query string `json:"query"`
	At    int    `json:"at"`
	Bytes int    `json:"bytes"`
}

// The marks of a piece.
const (
	markDiffers = "differs" // the other side has something else here
	markKept    = "kept"    // an item's literal that stands on the other side, too
	markLost    = "lost"    // an item's literal that the compacted context lacks
	markStale   = "stale"   // the literal of an item that no longer held, and was kept as if it did
)

// mark is something to be seen in a text, from one byte to before another.
type mark struct {
	from, to int
	kind     string
}

// passage is a text with its marks. Query asks for what is left out of it.
type passage struct {
	text  string
	marks []mark
	query string
}

// most is how many bytes of a text are shown at once; what is around a mark stays.
const most = 2400

// pieces cuts a passage to what is shown of it.
func (p passage) pieces() []piece {
	if p.text == "" {
		return nil
	}
	marks := ordered(p.marks, len(p.text))
	var out []piece
	end := 0
	for _, k := range p.kept(marks) {
		if k.from > end {
			out = append(out, piece{Gap: &gap{p.query, end, k.from - end}})
		}
		out = append(out, split(p.text, marks, k.from, k.to)...)
		end = k.to
	}
	if end < len(p.text) {
		out = append(out, piece{Gap: &gap{p.query, end, len(p.text) - end}})
	}
	return out
}

// kept are the stretches of a long text that are shown: its begin and its end, and the
// surroundings of the marks.
func (p passage) kept(marks []mark) []mark {
	if len(p.text) <= most {
		return []mark{{0, len(p.text), ""}}
	}
	const around, marked, mostMarks = 300, 900, 40
	stretches := []mark{{0, most / 2, ""}, {len(p.text) - most/4, len(p.text), ""}}
	for _, m := range marks[:min(len(marks), mostMarks)] {
		stretches = append(stretches, mark{m.from - around, min(m.to, m.from+marked) + around, ""})
	}
	for i := range stretches {
		s := &stretches[i]
		s.from, s.to = runeStart(p.text, max(0, s.from)), runeStart(p.text, min(len(p.text), s.to))
	}
	slices.SortFunc(stretches, func(a, b mark) int { return cmp.Compare(a.from, b.from) })
	const worthAGap = 200
	out := stretches[:1]
	for _, s := range stretches[1:] {
		if last := &out[len(out)-1]; s.from <= last.to+worthAGap {
			last.to = max(last.to, s.to)
		} else {
			out = append(out, s)
		}
	}
	return out
}

// ordered sorts marks and leaves out what overlaps an earlier one.
func ordered(marks []mark, length int) []mark {
	sorted := slices.Clone(marks)
	slices.SortStableFunc(sorted, func(a, b mark) int { return cmp.Compare(a.from, b.from) })
	var out []mark
	end := 0
	for _, m := range sorted {
		if m.from >= end && m.to > m.from && m.to <= length {
			out = append(out, m)
			end = m.to
		}
	}
	return out
}

// split cuts a stretch of a text where marks begin and end.
func split(text string, marks []mark, from, to int) []piece {
	var out []piece
	add := func(a, b int, kind string) {
		if a < b {
			out = append(out, piece{Text: visible(text[a:b]), Mark: kind})
		}
	}
	at := from
	for _, m := range marks {
		if m.to <= at || m.from >= to {
			continue
		}
		begin, end := max(m.from, at), min(m.to, to)
		add(at, begin, "")
		add(begin, end, m.kind)
		at = end
	}
	add(at, to, "")
	return out
}

// runeStart is the nearest byte at or before at where a character begins.
func runeStart(text string, at int) int {
	for at > 0 && at < len(text) && !utf8.RuneStart(text[at]) {
		at--
	}
	return at
}

// stretch is text from a byte on, at most so many bytes of it, and where it goes on.
func stretch(text string, from, bytes int) (shown string, next int) {
	from = runeStart(text, min(max(0, from), len(text)))
	next = runeStart(text, min(len(text), from+bytes))
	return visible(text[from:next]), next
}

// brief is a text that is shown cut where it is longer than so many bytes.
func brief(text string, bytes int) string {
	shown, next := stretch(text, 0, bytes)
	if next < len(text) {
		shown += "…"
	}
	return shown
}

// visible makes text from a recording harmless to look at: what a terminal would act
// upon, what turns the direction of writing and what is there unseen is written out.
func visible(text string) string {
	clean := true
	for _, r := range text {
		if r != '\n' && r != '\t' && (r == utf8.RuneError || hidden(r)) {
			clean = false
			break
		}
	}
	if clean {
		return text
	}
	var b strings.Builder
	text = strings.ReplaceAll(text, "\r\n", "\n")
	for _, r := range text {
		switch {
		case r == '\n' || r == '\t' || !hidden(r):
			b.WriteRune(r)
		case r < 0x20:
			b.WriteRune(0x2400 + r) // the pictures of the control characters
		case r == 0x7f:
			b.WriteRune(0x2421)
		default:
			fmt.Fprintf(&b, "[U+%04X]", r)
		}
	}
	return b.String()
}

// hidden says whether a character is not seen as itself. Joiners are part of how some
// scripts and emoji are written.
func hidden(r rune) bool {
	const nonJoiner, joiner = 0x200c, 0x200d
	return unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co) && r != nonJoiner && r != joiner
}
