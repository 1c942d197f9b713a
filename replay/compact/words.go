package compact

import (
	"regexp"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// reading is a sentence as the rules read it.
type reading struct {
	text  string
	lower string
	// starts are the offsets in lower at which a word begins.
	starts []int
	// wide says that the text has characters beyond ASCII.
	wide bool
}

func newReading(text string) *reading {
	r := &reading{text: text, lower: strings.ToLower(text)}
	inside := false
	for i, c := range r.lower {
		r.wide = r.wide || c >= utf8.RuneSelf
		word := wordRune(c)
		if word && !inside {
			r.starts = append(r.starts, i)
		}
		inside = word
	}
	return r
}

func wordRune(c rune) bool { return c == '_' || unicode.IsLetter(c) || unicode.IsNumber(c) }

// compiledRule is a rule that can be asked.
type compiledRule struct {
	bindingRule
	phrases phrases
	regexp  *regexp.Regexp
}

var bindingRules = sync.OnceValue(func() []compiledRule {
	table := bindingTable()
	rules := make([]compiledRule, len(table))
	for i, row := range table {
		rules[i] = compiledRule{bindingRule: row, phrases: newPhrases(row.words)}
		if row.pattern != "" {
			rules[i].regexp = regexp.MustCompile(row.pattern)
		}
	}
	return rules
})

func (c *compiledRule) matches(r *reading) bool {
	if c.phrases.in(r) {
		return true
	}
	if r.wide {
		for _, part := range c.parts {
			if strings.Contains(r.text, part) {
				return true
			}
		}
	}
	return c.regexp != nil && (c.needs == "" || strings.ContainsAny(strings.TrimRight(r.text, ".:"), c.needs)) && c.regexp.MatchString(r.text)
}

// phrases finds any of a list of phrases in a sentence, as whole words. Each
// phrase is looked for only where a word begins as it does, which is many times
// faster than one expression with all of them.
type phrases map[string][]foundPhrase

// foundPhrase is a phrase: plain text, or an expression.
type foundPhrase struct {
	plain  string
	regexp *regexp.Regexp
}

// phraseKey is the most characters by which a phrase is filed.
const phraseKey = 3

func newPhrases(words []string) phrases {
	p := phrases{}
	for _, word := range words {
		plain := literalPrefix(word)
		found := foundPhrase{plain: word}
		if plain != word {
			found.regexp = regexp.MustCompile(`^(?:` + word + `)(?:[^\pL\pN_]|$)`)
		}
		key := firstRunes(plain, phraseKey)
		p[key] = append(p[key], found)
	}
	return p
}

// literalPrefix is what every text that matches an expression begins with.
func literalPrefix(expression string) string {
	end := strings.IndexAny(expression, `\.[](){}?*+|^$`)
	if end < 0 {
		return expression
	}
	plain := expression[:end]
	if strings.IndexByte("?*{", expression[end]) >= 0 { // the last character may be missing
		_, size := utf8.DecodeLastRuneInString(plain)
		plain = plain[:len(plain)-size]
	}
	return plain
}

func firstRunes(text string, n int) string {
	for i := range text {
		if n == 0 {
			return text[:i]
		}
		n--
	}
	return text
}

func (p phrases) in(r *reading) bool {
	if len(p) == 0 {
		return false
	}
	for _, start := range r.starts {
		rest := r.lower[start:]
		for n := range phraseKey + 1 {
			key := firstRunes(rest, n)
			for _, phrase := range p[key] {
				if phrase.at(rest) {
					return true
				}
			}
			if len(key) == len(rest) {
				break
			}
		}
	}
	return false
}

// at says whether a text begins with the phrase.
func (p *foundPhrase) at(text string) bool {
	if p.regexp != nil {
		return p.regexp.MatchString(text)
	}
	rest, ok := strings.CutPrefix(text, p.plain)
	if !ok {
		return false
	}
	next, size := utf8.DecodeRuneInString(rest)
	return size == 0 || !wordRune(next)
}
