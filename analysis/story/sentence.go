package story

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/doubletake-dev/doubletake/fixtures"
)

// Sentence is a stretch of a compacted context that has to do with an item.
type Sentence struct {
	// Text is the sentence as it stands there, Role whose message it is in.
	Text string `json:"text"`
	Role string `json:"role"`
	// Verbatim says that the item's literal stands in it letter for letter. Otherwise it is
	// the sentence that shares most of the literal's words, Coverage from 0 to 1.
	Verbatim bool    `json:"verbatim"`
	Coverage float64 `json:"coverage"`
}

// leastCoverage is the share of an item's words below which no sentence is said to have
// to do with it.
const leastCoverage = 0.3

// carrier finds the sentence of a context that carries a literal, or else the one nearest
// to it in words; nil where none is near. System messages are no part of what a compactor
// wrote.
func carrier(messages []fixtures.Message, literal string) *Sentence {
	var best *Sentence
	length := 0
	for i := range messages {
		m := &messages[i]
		if m.Role == fixtures.RoleSystem {
			continue
		}
		if m.Holds(literal) {
			return &Sentence{Text: around(m.Content, literal), Role: m.Role, Verbatim: true, Coverage: 1}
		}
		for _, text := range sentences(m.Content) {
			c := fixtures.Coverage(literal, text)
			// Of two that share as many words, the shorter one says less else.
			if c >= leastCoverage && (best == nil || c > best.Coverage || c == best.Coverage && len(text) < length) {
				best, length = &Sentence{Text: text, Role: m.Role, Coverage: c}, len(text)
			}
		}
	}
	return best
}

// around is the sentence in which a literal stands, or the sentences that it spans; the
// literal alone where it stands in the arguments of a call.
func around(text, literal string) string {
	at := strings.Index(text, literal)
	if at < 0 {
		return literal
	}
	start, end := at, at+len(literal)
	for _, span := range spans(text) {
		if span[0] <= at && at < span[1] {
			start = span[0]
		}
		if span[0] < at+len(literal) && at+len(literal) <= span[1] {
			end = span[1]
		}
	}
	return strings.TrimSpace(text[start:end])
}

// sentences are the sentences of a text, none of them empty.
func sentences(text string) []string {
	var list []string
	for _, span := range spans(text) {
		if s := strings.TrimSpace(text[span[0]:span[1]]); s != "" {
			list = append(list, s)
		}
	}
	return list
}

// spans are where sentences begin and end: at line ends, and behind a mark that ends a
// sentence where space follows or, in scripts without spaces, anything.
func spans(text string) [][2]int {
	var list [][2]int
	start := 0
	for i, r := range text {
		next := i + utf8.RuneLen(max(r, 0))
		if r == utf8.RuneError {
			continue
		}
		ends := r == '\n' || strings.ContainsRune("。！？", r)
		if strings.ContainsRune(".!?", r) && next < len(text) {
			after, _ := utf8.DecodeRuneInString(text[next:])
			ends = unicode.IsSpace(after)
		}
		if ends {
			list = append(list, [2]int{start, next})
			start = next
		}
	}
	if start < len(text) {
		list = append(list, [2]int{start, len(text)})
	}
	return list
}
