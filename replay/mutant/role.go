package mutant

import (
	"regexp"
	"slices"
	"strings"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
)

var speaker = regexp.MustCompile(`(?i)\b(user|assistant)\b`)

// moveItem makes an item another speaker's: where a line names who said it, it names the
// other; else the words come back in a message of the other.
func moveItem(s *Site, id string) (*change, string) {
	item := s.Fixture.Item(id)
	from := s.origin(item)
	to := fixtures.RoleAssistant
	switch from {
	case "":
		return nil, "the input does not hold the item word for word"
	case fixtures.RoleAssistant:
		to = fixtures.RoleUser
	}
	if out := s.relabelled(item, from, to); out != nil {
		return &change{out, "attributed to the " + to + ": " + item.Literal}, ""
	}
	out := s.rewrite(item, "")
	if out == nil {
		return nil, notThere
	}
	at := 0
	for at < len(out) && out[at].Kind == replay.KindSummary {
		at++
	}
	moved := replay.CompactMessage{ID: "moved-" + id, Kind: replay.KindKept, Message: fixtures.Message{Turn: item.Turn, Role: to, Content: item.Literal}}
	return &change{slices.Insert(out, at, moved), "in a message of the " + to + ": " + item.Literal}, ""
}

// origin is who said an item, user or assistant, in the input or earlier.
func (s *Site) origin(item *fixtures.Item) string {
	for _, m := range s.Request.Messages {
		if m.Turn == item.Turn && m.Holds(item.Literal) {
			if m.Role == fixtures.RoleTool {
				return ""
			}
			return m.Role
		}
	}
	for _, m := range s.Request.Messages {
		for _, l := range linesOf(m.Content) {
			if name := speaker.FindString(l.label); name != "" && strings.Contains(strings.Join(l.sentences, ""), item.Literal) {
				return strings.ToLower(name)
			}
		}
	}
	return ""
}

// relabelled changes who said the item in the labels of its lines, or returns nil where
// no line has one. Kept messages that hold it lose it.
func (s *Site) relabelled(item *fixtures.Item, from, to string) []replay.CompactMessage {
	words, others := contentWords(item.Literal), s.others(item)
	out := slices.Clone(s.Output.Messages)
	found := false
	for i := range out {
		m := &out[i]
		if m.Kind != replay.KindSummary {
			if m.Holds(item.Literal) {
				*m = s.changed(*m, s.without(m.Content, item, words, others, true))
			}
			continue
		}
		lines := strings.Split(m.Content, "\n")
		for j, text := range lines {
			label := lineLabel.FindString(text)
			if !strings.Contains(text[len(label):], item.Literal) {
				continue
			}
			name := speaker.FindString(label)
			if !strings.EqualFold(name, from) {
				continue
			}
			lines[j] = strings.Replace(label, name, matchCase(to, name), 1) + text[len(label):]
			found = true
		}
		m.Content = strings.Join(lines, "\n")
	}
	if !found {
		return nil
	}
	return nonEmpty(out)
}

// matchCase writes a word as another is written.
func matchCase(word, like string) string {
	if like != strings.ToLower(like) {
		return strings.ToUpper(word[:1]) + word[1:]
	}
	return word
}
