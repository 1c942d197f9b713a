package offline

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// sentencesOf cuts a text into its sentences as they stand, without bullets. A
// line is at least one sentence; fenced code is left out.
func sentencesOf(text string) []string {
	var sentences []string
	fenced := false
	for line := range strings.SplitSeq(text, "\n") {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			fenced = !fenced
			continue
		}
		if fenced {
			continue
		}
		rest := strings.TrimSpace(trimBullet(line))
		for rest != "" {
			end := sentenceEnd(rest)
			if sentence := strings.TrimSpace(rest[:end]); sentence != "" {
				sentences = append(sentences, sentence)
			}
			rest = strings.TrimSpace(rest[end:])
		}
	}
	return sentences
}

// sentenceEnd is where the first sentence of a line ends.
func sentenceEnd(line string) int {
	for i, r := range line {
		switch r {
		case '。', '！', '？':
			return i + utf8.RuneLen(r)
		case '.', '!', '?', '…':
		default:
			continue
		}
		end := i + utf8.RuneLen(r)
		for end < len(line) && strings.IndexByte(".!?\"')]*_`", line[end]) >= 0 {
			end++
		}
		if end == len(line) {
			return end
		}
		if next, _ := utf8.DecodeRuneInString(line[end:]); !unicode.IsSpace(next) {
			continue
		}
		if start := strings.LastIndexFunc(line[:i], unicode.IsSpace) + 1; r == '.' && isAbbreviation(line[start:end]) {
			continue
		}
		return end
	}
	return len(line)
}

// firstWords are at most n words of a text.
func firstWords(text string, n int) string {
	words := strings.Fields(text)
	if len(words) <= n {
		return strings.Join(words, " ")
	}
	return strings.Join(words[:n], " ")
}

// binds says whether a sentence tells someone what to do or to leave, now or later.
func binds(sentence string) bool {
	words := lex([]string{sentence}).tokens
	for i, t := range words {
		if t.mark&(markNegates|markStress|markDemands|markExcept) != 0 {
			return true
		}
		switch t.raw {
		case "must", "only", "shall", "should", "forbidden", "required", "until", "leave", "keep":
			return true
		case "wait":
			return i == 0 || i+1 < len(words) && (words[i+1].raw == "for" || words[i+1].raw == "until")
		}
	}
	return false
}

// asks says whether a sentence is a question.
func asks(sentence string) bool {
	return strings.HasSuffix(strings.TrimRight(sentence, " \"')]*_`"), "?")
}
