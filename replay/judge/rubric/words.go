package rubric

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/doubletake-dev/doubletake/fixtures"
)

// sentences cuts a text into sentences as they stand, without bullets. A line is at
// least one sentence; fenced code is left out.
func sentences(text string) []string {
	var list []string
	fenced := false
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "```") {
			fenced = !fenced
			continue
		}
		if fenced {
			continue
		}
		line = strings.TrimLeft(line, "-*•># \t")
		for line != "" {
			end := sentenceEnd(line)
			list = append(list, strings.TrimSpace(line[:end]))
			line = strings.TrimSpace(line[end:])
		}
	}
	return list
}

// sentenceEnd is where the first sentence of a line ends: behind a mark that a space
// and no small letter follow.
func sentenceEnd(line string) int {
	for i, c := range line {
		switch c {
		case '。', '！', '？':
			return i + utf8.RuneLen(c)
		case '.', '!', '?', '…':
		default:
			continue
		}
		end := i + utf8.RuneLen(c)
		for end < len(line) && strings.IndexByte(".!?\"')]*_`", line[end]) >= 0 {
			end++
		}
		rest := strings.TrimLeftFunc(line[end:], unicode.IsSpace)
		if rest == "" {
			return len(line)
		}
		if next, _ := utf8.DecodeRuneInString(rest); len(rest) < len(line[end:]) && !unicode.IsLower(next) {
			return end
		}
	}
	return len(line)
}

// clip cuts a text to at most n bytes, between characters.
func clip(text string, n int) string {
	text = strings.TrimSpace(text)
	if len(text) <= n {
		return text
	}
	return strings.ToValidUTF8(text[:n], "") + " ..."
}

// details are what a sentence holds that no other words can stand for, the most
// telling first: a path or address, an identifier, something quoted, a number.
var details = []*regexp.Regexp{
	regexp.MustCompile(`/?[\w.@~-]*[\w@~-](?:/[\w.@{}+-]*\w)+|\b[\w-]+(?:\.[\w-]+)*\.[a-z]{2,12}(?::\d{2,5})\b`),
	regexp.MustCompile(`\b[A-Za-z][\w]*-?\d[\w-]*\b|\b[a-z]+(?:_[a-z0-9]+)+\b|\b[A-Z]{2,}(?:_[A-Z0-9]+)+\b|\b[\w-]+\.(?:go|py|ts|js|rs|java|md|json|ya?ml|toml|sql|sh|txt|csv)\b|--[a-z][\w-]+`),
	regexp.MustCompile("`[^`\n]{2,60}`"),
	regexp.MustCompile(`\b\d[\d,.:%-]*[\dA-Za-z%]\b`),
}

// detailOf is the most telling detail of a sentence and its rank, or nothing.
func detailOf(sentence string) (detail string, rank int) {
	for rank, pattern := range details {
		for _, found := range pattern.FindAllString(sentence, -1) {
			if rank > 0 || strings.Count(found, "/") != 1 || strings.ContainsAny(found, ".-_0123456789") || found[0] == '/' {
				return found, rank
			} // and/or is no path
		}
	}
	return "", 0
}

var (
	promise  = regexp.MustCompile(`(?i)\b(?:i will|i'll|i would next|next i|i am going to|i'm going to|i promise|remaining|still (?:to do|missing|open|needed)|not (?:yet|done)|to be done|todo|as the (?:very )?last step|once (?:the|that|this|it|you|we|i)|later on)\b`)
	deferral = regexp.MustCompile(`(?i)\b(?:later|afterwards|another day|tomorrow|next week|wait(?: for| until)?|until i|until we|before (?:we|you|that)|come back to|once (?:the|that|this|it|you|we|i)|at the end|then (?:carry|go) on|not yet|hold off|remind me)\b`)

	chosen = regexp.MustCompile(`(?i)\b(?:decided|decision|instead of|rather than|go with|going with|went with|chose|choose|prefer|settled on|we(?:'ll| will) use|let us|let's|agreed|approved?|go ahead|left it|leave it|stick (?:to|with)|not needed|out of scope|should (?:be|stay|go|use)|is given up)\b`)
	orders = regexp.MustCompile(`^(?i)(?:(?:ok(?:ay)?|yes|no|fine|good|agreed|right|sure|please|then|and|so)\b[,.:]? *)*(?:use|keep|put|take|leave|make|go|do not|don't|never|only|always|drop|skip|write|add|move|rename|ship|send|start|stop|wait|accept|reject|refuse|run)\b`)
	answer = regexp.MustCompile(`^(?i)(?:ok(?:ay)?|yes|yep|no|nope|fine|agreed|right|sure|sensible|fair enough|go ahead|not now|neither|both)\b`)
	reason = regexp.MustCompile(`(?i)\b(?:because|since|so that|as it|as they|otherwise|in order to|the reason)\b`)
	offers = regexp.MustCompile(`(?i)\b(?:would|could|should|either|option|options|propose|suggest|recommend|two ways|shall i|may i|prefer)\b`)
)

// putsOff says whether a sentence announces, promises or puts off something.
func putsOff(role, sentence string) bool {
	if asks(sentence) {
		return false
	}
	if role == fixtures.RoleAssistant {
		return promise.MatchString(sentence)
	}
	return deferral.MatchString(sentence)
}

// decides says whether a sentence settles something: for the user also by a mere answer
// to what was proposed, or by an order.
func decides(role, sentence string, proposed bool) bool {
	if asks(sentence) {
		return false
	}
	if chosen.MatchString(sentence) {
		return true
	}
	if role != fixtures.RoleUser {
		return false
	}
	return orders.MatchString(sentence) && len(strings.Fields(sentence)) >= 4 || proposed && answer.MatchString(sentence)
}

func asks(sentence string) bool { return strings.HasSuffix(strings.TrimRight(sentence, " \"')"), "?") }

// gives says whether a sentence gives a reason.
func gives(sentence string) bool { return reason.MatchString(sentence) }

// cueOf is what of a message a decision probe quotes, and whether it asks or proposes:
// its last such sentence, else its last ones as far as they are short.
func cueOf(text string) (cue string, proposes bool) {
	const most = 40 // words
	list := sentences(text)
	for i := len(list) - 1; i >= 0; i-- {
		if (asks(list[i]) || offers.MatchString(list[i])) && len(strings.Fields(list[i])) <= most {
			return list[i], true
		}
	}
	words := 0
	start := len(list)
	for start > 0 {
		words += len(strings.Fields(list[start-1]))
		if words > most {
			break
		}
		start--
	}
	return strings.Join(list[start:], " "), false
}
