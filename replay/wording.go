package replay

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/doubletake-dev/doubletake/fixtures"
)

// wording is a text as its words alone, with a space before and after each: so that
// one text stands in another where its wording does. Characters of scripts without
// spaces count as words.
type wording string

func wordingOf(text string) wording {
	var b strings.Builder
	b.WriteByte(' ')
	inside := false
	for _, r := range strings.ToLower(text) {
		switch {
		case r < unicode.MaxASCII && ('a' <= r && r <= 'z' || '0' <= r && r <= '9'):
			b.WriteByte(byte(r))
			inside = true
		case r < unicode.MaxASCII:
			if inside {
				b.WriteByte(' ')
			}
			inside = false
		case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai):
			if inside {
				b.WriteByte(' ')
			}
			b.WriteRune(r)
			b.WriteByte(' ')
			inside = false
		case unicode.IsLetter(r), unicode.IsDigit(r), unicode.IsMark(r):
			b.WriteRune(r)
			inside = true
		case inside:
			b.WriteByte(' ')
			inside = false
		}
	}
	if inside {
		b.WriteByte(' ')
	}
	return wording(b.String())
}

func (w wording) holds(part wording) bool { return strings.Contains(string(w), string(part)) }

func (w wording) words() []string { return strings.Fields(string(w)) }

// isWritten says whether a message was written by a compactor, now or earlier.
func isWritten(m *CompactMessage) bool { return m.Kind == KindSummary || m.Kind == KindOpaque }

// sentenceEnd ends a sentence inside a line.
var sentenceEnd = regexp.MustCompile(`[.!?…]["'”»)]*\s+|[。！？]`)

// sentences cuts a text at its lines and at the ends of its sentences.
func sentences(text string) []string {
	var list []string
	for line := range strings.SplitSeq(text, "\n") {
		for line != "" {
			part := line
			if at := sentenceEnd.FindStringIndex(line); at != nil {
				part = line[:at[1]]
			}
			line = line[len(part):]
			if part = strings.TrimSpace(part); part != "" {
				list = append(list, part)
			}
		}
	}
	return list
}

// speech is who said what in a compaction's input, as wordings.
type speech struct {
	messages []CompactMessage
	wordings []wording
}

func speechOf(input []CompactMessage) *speech {
	return &speech{messages: input, wordings: make([]wording, len(input))}
}

// wording is that of a message, worked out when it is first asked for.
func (s *speech) wording(i int) wording {
	if s.wordings[i] == "" { // that of no words is a space
		s.wordings[i] = wordingOf(s.messages[i].Content)
	}
	return s.wordings[i]
}

// said says whether any message holds the wording.
func (s *speech) said(what wording) bool {
	for i := range s.messages {
		if s.wording(i).holds(what) {
			return true
		}
	}
	return false
}

// spoke says whether a message of that role, written ones aside, holds the wording; a
// turn above 0 must be the message's.
func (s *speech) spoke(role string, turn int, what wording) bool {
	for i := range s.messages {
		m := &s.messages[i]
		if m.Role == role && !isWritten(m) && (turn <= 0 || m.Turn == turn) && s.wording(i).holds(what) {
			return true
		}
	}
	return false
}

// wrote says whether an earlier compaction wrote the wording down.
func (s *speech) wrote(what wording) bool {
	for i := range s.messages {
		if isWritten(&s.messages[i]) && s.wording(i).holds(what) {
			return true
		}
	}
	return false
}

// anew lists the messages of an output that were no messages of the input.
func (s *speech) anew(output []CompactMessage) []*CompactMessage {
	ids := make(map[string]bool, len(s.messages))
	for i := range s.messages {
		ids[s.messages[i].ID] = true
	}
	var list []*CompactMessage
	for i := range output {
		m := &output[i]
		if m.Content != "" && m.Role != fixtures.RoleTool && !ids[m.ID] {
			list = append(list, m)
		}
	}
	if len(list) == 0 {
		return nil
	}
	texts := make(map[string]bool, len(s.messages))
	for i := range s.messages {
		texts[s.messages[i].Role+"\x00"+strings.TrimSpace(s.messages[i].Content)] = true
	}
	return slices.DeleteFunc(list, func(m *CompactMessage) bool { return texts[m.Role+"\x00"+strings.TrimSpace(m.Content)] })
}
