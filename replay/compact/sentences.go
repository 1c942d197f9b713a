package compact

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// phrase is a sentence and where it stands.
type phrase struct {
	text   string
	offset int
	first  bool // the first of its line
	item   bool // of a list
	code   bool // in a fenced block
}

var itemPattern = regexp.MustCompile(`^\s*(?:[-*+•–]|\(?(?:\d{1,3}|[A-Za-z])[.):])\s+`)

// bulletPattern is the mark of a list item that says nothing, unlike a number.
var bulletPattern = regexp.MustCompile(`^\s*[-*+•–]\s+`)

// sentencesOf cuts a text into sentences. A sentence never goes over the end of a
// line.
func sentencesOf(text string) []phrase {
	var out []phrase
	offset, code := 0, false
	for line := range strings.Lines(text) {
		start := offset
		offset += len(line)
		trimmed := strings.TrimSpace(line)
		if strings.HasPrefix(trimmed, "```") || strings.HasPrefix(trimmed, "~~~") {
			code = !code
			continue
		}
		if trimmed == "" {
			continue
		}
		item := !code && itemPattern.MatchString(line)
		if bullet := bulletPattern.FindString(line); bullet != "" && !code {
			start += len(bullet)
			line = line[len(bullet):]
		}
		first := true
		for from := 0; from < len(line); {
			end := len(line)
			if !code {
				end = sentenceEnd(line, from)
			}
			sentence := line[from:end]
			left := len(sentence) - len(strings.TrimLeftFunc(sentence, unicode.IsSpace))
			if s := strings.TrimSpace(sentence); s != "" {
				out = append(out, phrase{text: s, offset: start + from + left, first: first, item: item, code: code})
				first = false
			}
			from = end
		}
	}
	return out
}

// sentenceEnd is where the sentence that begins at from ends, in bytes.
func sentenceEnd(line string, from int) int {
	for i := from; i < len(line); {
		r, size := utf8.DecodeRuneInString(line[i:])
		i += size
		switch r {
		case '。', '！', '？':
		case '.', '!', '?':
			if r == '.' && abbreviated(line[from:i-1], line[i:]) {
				continue
			}
		default:
			continue
		}
		// What closes a sentence belongs to it; more of the same, too.
		end := i
		for end < len(line) {
			c, n := utf8.DecodeRuneInString(line[end:])
			if !strings.ContainsRune(".!?。！？\"')]»”’*_`", c) {
				break
			}
			end += n
		}
		wide := r == '。' || r == '！' || r == '？'
		if end == len(line) || wide || line[end] == ' ' || line[end] == '\t' || line[end] == '\n' || line[end] == '\r' {
			return end
		}
		i = end
	}
	return len(line)
}

// abbreviated says whether a full stop between before and after belongs to a word
// and ends no sentence.
func abbreviated(before, after string) bool {
	word := before[strings.LastIndexAny(before, " \t(")+1:]
	next, _ := utf8.DecodeRuneInString(strings.TrimLeft(after, " \t"))
	switch strings.ToLower(word) {
	case "mr", "mrs", "ms", "dr", "st":
		return true
	case "no", "nr", "fig", "sec", "vol", "p", "pp":
		return unicode.IsDigit(next)
	case "e.g", "i.e", "etc", "vs", "cf", "approx", "z.b", "d.h", "bzw", "usw", "p.ej", "al":
		return !unicode.IsUpper(next)
	}
	// The number of a list item.
	return word != "" && word == before && len(word) <= 3 && strings.Trim(word, "0123456789") == ""
}
