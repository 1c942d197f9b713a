package mutant

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/doubletake-dev/doubletake/replay"
)

// each changes every text that the compactor wrote. Where a change would touch a
// literal that stood there, the text stays as it was: a rewrite that loses an item is
// not harmless.
func (s *Site) each(what string, rewrite func(string) string) (*change, string) {
	written := s.written()
	if len(written) == 0 {
		return nil, nothingWritten
	}
	out := slices.Clone(s.Output.Messages)
	for _, i := range written {
		text := rewrite(out[i].Content)
		if s.keepsLiterals(out[i].Content, text) {
			out[i].Content = text
		}
	}
	return &change{out, what}, ""
}

func (s *Site) keepsLiterals(before, after string) bool {
	for i := range s.Fixture.MustSurvive {
		if l := s.Fixture.MustSurvive[i].Literal; strings.Contains(before, l) && !strings.Contains(after, l) {
			return false
		}
	}
	return true
}

// reorder turns the order of the written messages around, and in each that of its
// paragraphs but the first, which may be a heading of all.
func reorder(s *Site, _ string) (*change, string) {
	got, reason := s.each("sections in another order", func(text string) string {
		blocks := strings.Split(text, "\n\n")
		slices.Reverse(blocks[1:])
		return strings.Join(blocks, "\n\n")
	})
	if got == nil {
		return nil, reason
	}
	written := s.written()
	moved := make([]replay.CompactMessage, len(written))
	for i, at := range written {
		moved[len(written)-1-i] = got.messages[at]
	}
	for i, at := range written {
		if got.messages[at].Role != moved[i].Role {
			return got, "" // messages of two speakers do not change places
		}
	}
	for i, at := range written {
		got.messages[at] = moved[i]
	}
	return got, ""
}

var heading = regexp.MustCompile(`^(#*\s*)([^\[\]\-*:]{3,70}):\s*$|^(Goal|Next step): `)

// retitle gives headings other words that say the same.
func retitle(s *Site, _ string) (*change, string) {
	names := map[string]string{
		"Goal": "Aim", "Next step": "What comes next", "Conversation": "What was said", "Files": "Paths that came up", "Constraints": "Rules",
		"Decisions": "What was settled", "Open questions": "Questions still open", "Progress": "Done so far", "Files and names": "Names and paths",
		"Summary of the conversation so far":        "What happened until now, in short",
		"Ledger of what binds (kept word for word)": "What holds, in the words in which it was said",
	}
	return s.each("other headings", func(text string) string {
		lines := strings.Split(text, "\n")
		for i, line := range lines {
			m := heading.FindStringSubmatch(line)
			switch {
			case m == nil:
			case m[3] != "":
				lines[i] = names[m[3]] + line[len(m[3]):]
			case names[strings.TrimSpace(m[2])] != "":
				lines[i] = m[1] + names[strings.TrimSpace(m[2])] + ":"
			default:
				lines[i] = "## " + line
			}
		}
		return strings.Join(lines, "\n")
	})
}

var (
	byTurn = regexp.MustCompile(`(?m)^([\s\-*]*)\[turn (\d+), (user|assistant)\] `)
	byName = regexp.MustCompile(`(?m)^([\s\-*]*)(User|Assistant): `)
)

// relabel says in other words who said what when.
func relabel(s *Site, _ string) (*change, string) {
	return s.each("other words for who said what", func(text string) string {
		text = byTurn.ReplaceAllString(text, "${1}(${3}, turn ${2}) ")
		return byName.ReplaceAllStringFunc(text, func(label string) string {
			m := byName.FindStringSubmatch(label)
			return m[1] + "The " + strings.ToLower(m[2]) + " said: "
		})
	})
}

// renumber numbers the lines of lists.
func renumber(s *Site, _ string) (*change, string) {
	return s.each("numbers for list marks", func(text string) string {
		lines := strings.Split(text, "\n")
		n := 0
		for i, line := range lines {
			rest, ok := strings.CutPrefix(line, "- ")
			if !ok {
				n = 0
				continue
			}
			n++
			lines[i] = fmt.Sprintf("%d. %s", n, rest)
		}
		return strings.Join(lines, "\n")
	})
}

// frame puts a sentence before and one behind, that say nothing.
func frame(s *Site, _ string) (*change, string) {
	before, behind := "These notes take the place of the older part of the conversation.", "The newest messages follow as they were."
	for i := range s.Fixture.MustSurvive {
		switch tongueOf(s.Fixture.MustSurvive[i].Literal) {
		case german:
			before, behind = "Diese Notizen stehen für den älteren Teil des Gesprächs.", "Die neuesten Nachrichten folgen so, wie sie waren."
		case french:
			before, behind = "Ces notes remplacent la partie ancienne de la conversation.", "Les derniers messages suivent tels quels."
		case spanish:
			before, behind = "Estas notas sustituyen la parte antigua de la conversación.", "Los últimos mensajes siguen tal como eran."
		case chinese:
			before, behind = "以下是对话较早部分的记录。", "最新的消息原样附在后面。"
		default:
			continue
		}
		break
	}
	return s.each("a sentence before and one behind", func(text string) string {
		return before + "\n" + text + "\n" + behind
	})
}

// paraphrase says in other words what is no item and no quotation.
func paraphrase(s *Site, _ string) (*change, string) {
	return s.each("other words where no item stands", func(text string) string {
		touched := map[[2]int]bool{}
		for i := range s.Fixture.MustSurvive {
			for at := range holding(text, s.Fixture.MustSurvive[i].Literal) {
				touched[at] = true
			}
		}
		lines := linesOf(text)
		for i := range lines {
			if byTurn.MatchString(lines[i].label) {
				continue
			}
			for j, sentence := range lines[i].sentences {
				if !touched[[2]int{i, j}] && !s.sayAnyItem(sentence) {
					lines[i].sentences[j] = plainer(sentence)
				}
			}
		}
		out := make([]string, len(lines))
		for i, l := range lines {
			out[i] = l.label + strings.Join(l.sentences, "")
		}
		return strings.Join(out, "\n")
	})
}

// sayAnyItem says whether a sentence is near to an item.
func (s *Site) sayAnyItem(sentence string) bool {
	for i := range s.Fixture.MustSurvive {
		if near(sentence, contentWords(s.Fixture.MustSurvive[i].Literal)) {
			return true
		}
	}
	return false
}

// plainer writes contractions out and puts some words in the place of others that say
// the same.
func plainer(sentence string) string {
	for _, s := range [][2]string{
		{"I'll ", "I will "}, {"I'd ", "I would "}, {"it's ", "it is "}, {"It's ", "It is "}, {"That's ", "That is "}, {"that's ", "that is "}, {"There's ", "There is "},
		{"doesn't ", "does not "}, {"don't ", "do not "}, {"isn't ", "is not "}, {"can't ", "cannot "}, {" look at ", " have a look at "}, {" takes ", " needs "},
		{" because ", " since "}, {" about ", " roughly "}, {" also ", " as well "}, {" big ", " large "}, {" fast ", " quick "}, {" whole ", " entire "},
	} {
		sentence = strings.ReplaceAll(sentence, s[0], s[1])
	}
	return sentence
}
