package mutant

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
)

var (
	// lineLabel is what stands before the text of a line: a list mark, a bracket that
	// says when and by whom, a speaker's name.
	lineLabel = regexp.MustCompile(`^[\s\-*+•>#]*(?:\d{1,3}[.)]\s+)?(?:[\[(][^\])\n]{0,60}[\])]\s*)?(?:(?i:user|assistant|human)\s*:\s*)?`)
	// sentenceEnd ends a sentence inside a line.
	sentenceEnd = regexp.MustCompile(`[.!?…]["'”»)]*\s+|[。！？]`)
)

// line is a line of a text: its label and its sentences, each with the space behind it.
type line struct {
	label     string
	sentences []string
}

func linesOf(text string) []line {
	var lines []line
	for _, raw := range strings.Split(text, "\n") {
		l := line{label: lineLabel.FindString(raw)}
		rest := raw[len(l.label):]
		for rest != "" {
			end := len(rest)
			if at := sentenceEnd.FindStringIndex(rest); at != nil {
				end = at[1]
			}
			l.sentences = append(l.sentences, rest[:end])
			rest = rest[end:]
		}
		lines = append(lines, l)
	}
	return lines
}

// cut takes sentences out of a text. A line that loses all that it says goes whole.
func cut(text string, gone func(line, sentence int, text string) bool) string {
	var out []string
	for i, l := range linesOf(text) {
		var kept []string
		for j, s := range l.sentences {
			if !gone(i, j, s) {
				kept = append(kept, s)
			}
		}
		if len(l.sentences) > 0 && len(kept) == 0 {
			continue
		}
		out = append(out, strings.TrimRight(l.label+strings.Join(kept, ""), " "))
	}
	return strings.Join(out, "\n")
}

// holding are the sentences of a text that a literal touches, by line and sentence.
func holding(text, literal string) map[[2]int]bool {
	touched := map[[2]int]bool{}
	if literal == "" {
		return touched
	}
	type place struct{ lo, hi, line, sentence int }
	var places []place
	at := 0
	for i, l := range linesOf(text) {
		at += len(l.label)
		for j, s := range l.sentences {
			places = append(places, place{at, at + len(s), i, j})
			at += len(s)
		}
		at++ // the line break
	}
	for from := 0; ; {
		lo := strings.Index(text[from:], literal)
		if lo < 0 {
			return touched
		}
		lo += from
		for _, p := range places {
			if p.lo < lo+len(literal) && lo < p.hi {
				touched[[2]int{p.line, p.sentence}] = true
			}
		}
		from = lo + len(literal)
	}
}

// nearShare is the share of a literal's words from which on a sentence says it again.
const nearShare = 0.5

// leastWords is how many words a literal must have for a sentence to be near to it.
const leastWords = 3

// contentWords are the words of a text that say what it is about.
func contentWords(text string) []string {
	var list []string
	for _, word := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_'
	}) {
		if han := hanOf(word); len(han) > 0 {
			list = append(list, han...)
			continue
		}
		if len(word) > 2 && !slices.Contains(stopWords(), word) {
			list = append(list, stemOf(word))
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// hanOf cuts a word of a script without spaces into pairs of characters.
func hanOf(word string) []string {
	runes := []rune(word)
	var pairs []string
	for i := 0; i+1 < len(runes); i++ {
		if unicode.Is(unicode.Han, runes[i]) && unicode.Is(unicode.Han, runes[i+1]) {
			pairs = append(pairs, string(runes[i:i+2]))
		}
	}
	return pairs
}

func stemOf(word string) string {
	for _, ending := range []string{"ing", "ed", "es", "s"} {
		if rest, ok := strings.CutSuffix(word, ending); ok && len(rest) >= 4 {
			return rest
		}
	}
	return word
}

func stopWords() []string {
	return []string{"the", "and", "for", "are", "was", "has", "have", "had", "not", "but", "you", "your", "will", "with", "that", "this", "they", "them", "from", "into",
		"its", "our", "his", "her", "she", "who", "what", "when", "may", "must", "can", "all", "any", "one", "out", "only", "never", "before", "after", "until", "nothing",
		"der", "die", "das", "und", "ist", "nicht", "ein", "eine", "auf", "mit", "les", "des", "une", "est", "pas", "que", "los", "las", "una", "con", "por", "para"}
}

// near says whether a sentence holds most words of a literal.
func near(sentence string, words []string) bool {
	if len(words) < leastWords {
		return false
	}
	have := contentWords(sentence)
	n := 0
	for _, word := range words {
		if slices.Contains(have, word) {
			n++
		}
	}
	return float64(n) >= nearShare*float64(len(words))
}

// others are the literals of the fixture's other items: what holds one of them is never
// taken for another way to say an item.
func (s *Site) others(item *fixtures.Item) []string {
	var list []string
	for i := range s.Fixture.MustSurvive {
		if o := &s.Fixture.MustSurvive[i]; o.ID != item.ID && !strings.Contains(item.Literal, o.Literal) {
			list = append(list, o.Literal)
		}
	}
	return list
}

// rewrite puts a text in the place of an item wherever the output says it; an empty one
// takes it out. It returns nil where the output does not hold the item.
func (s *Site) rewrite(item *fixtures.Item, text string) []replay.CompactMessage {
	words := contentWords(item.Literal)
	others := s.others(item)
	out := slices.Clone(s.Output.Messages)
	found := false
	for i := range out {
		m := &out[i]
		content := s.without(m.Content, item, words, others, text == "")
		if text != "" {
			content = strings.ReplaceAll(content, item.Literal, text)
		}
		calls := replaceInCalls(m.ToolCalls, item.Literal, text)
		if content == m.Content && calls == nil {
			continue
		}
		found = found || m.Holds(item.Literal)
		*m = s.changed(*m, content)
		if calls != nil {
			m.ToolCalls = calls
		}
	}
	if !found {
		return nil
	}
	return nonEmpty(out)
}

// without takes the sentences out of a text that say an item in nearly its words, and
// those that hold its literal where literal is set.
func (s *Site) without(text string, item *fixtures.Item, words, others []string, literal bool) string {
	mine := holding(text, item.Literal)
	foreign := map[[2]int]bool{}
	for _, o := range others {
		for at := range holding(text, o) {
			foreign[at] = true
		}
	}
	gone := false
	cutText := cut(text, func(line, sentence int, text string) bool {
		at := [2]int{line, sentence}
		out := !mine[at] && !foreign[at] && near(text, words)
		if mine[at] && literal {
			out = !foreign[at]
		}
		gone = gone || out
		return out
	})
	if !gone {
		cutText = text
	}
	if literal { // a sentence that holds another item, too, loses the literal alone
		cutText = strings.ReplaceAll(cutText, item.Literal, "")
	}
	return cutText
}

// replaceInCalls puts a text in the place of a literal among the arguments of calls, or
// returns nil where it stands in none.
func replaceInCalls(calls []fixtures.ToolCall, literal, text string) []fixtures.ToolCall {
	old, err := json.Marshal(literal)
	if err != nil {
		return nil
	}
	with, err := json.Marshal(text)
	if err != nil {
		return nil
	}
	var out []fixtures.ToolCall
	for i := range calls {
		arguments := strings.ReplaceAll(string(calls[i].Arguments), string(old[1:len(old)-1]), string(with[1:len(with)-1]))
		if arguments == string(calls[i].Arguments) {
			continue
		}
		if out == nil {
			out = slices.Clone(calls)
		}
		out[i].Arguments = json.RawMessage(arguments)
	}
	return out
}

// changed is a message with another content. One that was kept is written anew, and
// says what it was made from where the compactor says such things, so that nothing but
// the change can be noticed.
func (s *Site) changed(m replay.CompactMessage, content string) replay.CompactMessage {
	if m.Kind != replay.KindSummary {
		if s.tellsSources() {
			m.SourceIDs = append(slices.Clone(m.SourceIDs), m.ID)
		}
		m.ID, m.Kind = m.ID+"-changed", replay.KindSummary
	}
	m.Content = content
	return m
}

// tellsSources says whether the compactor says what its texts were made from.
func (s *Site) tellsSources() bool {
	return len(s.Output.SummariserInput) > 0 || slices.ContainsFunc(s.Output.Messages, func(m replay.CompactMessage) bool { return len(m.SourceIDs) > 0 })
}

// nonEmpty leaves out messages that say and do nothing any more.
func nonEmpty(messages []replay.CompactMessage) []replay.CompactMessage {
	return slices.DeleteFunc(messages, func(m replay.CompactMessage) bool {
		return m.Role != fixtures.RoleTool && strings.TrimSpace(m.Content) == "" && len(m.ToolCalls) == 0
	})
}

// written are the indices of the readable messages that the compactor wrote.
func (s *Site) written() []int {
	var list []int
	for i := range s.Output.Messages {
		if m := &s.Output.Messages[i]; m.Kind == replay.KindSummary && m.Content != "" && m.Role != fixtures.RoleTool {
			list = append(list, i)
		}
	}
	return list
}
