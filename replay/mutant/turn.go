package mutant

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/doubletake-dev/doubletake/fixtures"
)

func turnItem(s *Site, id string) (*change, string) {
	item := s.Fixture.Item(id)
	if item.Class == fixtures.OpenQuestion {
		return nil, "a question has no opposite"
	}
	return s.put(id, opposite(item.Literal))
}

// swap replaces what an expression finds.
type swap struct {
	find *regexp.Regexp
	with string
}

func (s swap) try(text string) (string, bool) {
	out := s.find.ReplaceAllString(text, s.with)
	return out, out != text
}

// firstOf is the text after the first swap that changes it.
func firstOf(text string, swaps []swap) (string, bool) {
	for _, s := range swaps {
		if out, ok := s.try(text); ok {
			return strings.TrimSpace(out), true
		}
	}
	return text, false
}

var (
	// refusals and demands of English, each with what says the opposite.
	englishTurns = regexp.MustCompile(`(?i)\b(?:i (?:will|shall) (?:not|only)\b|i'll (?:not|only)\b|(?:must|may|shall|should|will|would|can) only\b|(?:must|may|shall|should|will|would|can) (?:not|never)\b|cannot\b|can't\b|won't\b|mustn't\b|do not \b|don't \b|never \b|i will\b|i'll\b|must\b|shall\b)`)
	restrictive  = regexp.MustCompile(`(?i)\b(?:only|alone|no other|nowhere else|nobody else|nothing else|no sooner)\b`)
	imperative   = regexp.MustCompile(`^(?:[Aa]dd|[Aa]nswer|[Bb]ook|[Cc]hain|[Cc]opy|[Cc]heck|[Cc]ommit|[Dd]eploy|[Ff]irst|[Jj]udge|[Kk]eep|[Ll]eave|[Ll]et|[Ll]oad|[Mm]ake|[Mm]easure|[Oo]pen|[Pp]in|[Pp]ublish|[Pp]ut|[Pp]ush|[Rr]ead|[Rr]ehearse|[Rr]un|[Ss]end|[Ss]ign|[Ss]ize|[Tt]ake|[Tt]alk|[Tt]ell|[Uu]se|[Ww]ait|[Ww]ork|[Ww]rite)\b`)

	// notThat is "X and not Y".
	notThat = []swap{
		{regexp.MustCompile(`(\d\S*)( \pL+)? and not (\d\S*)`), "$3$2 and not $1"},
		{regexp.MustCompile(`(\S+) and not ([^\s,.]+)`), "$2 and not $1"},
	}
	// noneMust is a refusal by its subject, or in its first words.
	noneMust  = regexp.MustCompile(`(?i)\b(?:no|nothing|nobody)\b[^,;.]*\bmust\b|^(?:\w+ ){0,3}(?:nothing|nobody)\b`)
	noneToAll = []swap{
		{regexp.MustCompile(`\bNothing\b`), "Everything"}, {regexp.MustCompile(`\bnothing\b`), "everything"},
		{regexp.MustCompile(`\bNobody\b`), "Everybody"}, {regexp.MustCompile(`\bnobody\b`), "everybody"},
		{regexp.MustCompile(`\bNo (\pL)`), "Every $1"}, {regexp.MustCompile(`\bno (\pL)`), "every $1"},
	}
	// nowhereElse is a remark that a statement holds for nothing else.
	nowhereElse = regexp.MustCompile(`,? and (?:\w+ )?(?:no other\b[^,.;]*|nowhere else|nothing else|nobody else)`)

	englishNegations = []swap{
		{regexp.MustCompile(`\b(may|should|can|could|would|will)\b`), "$1 not"},
		{regexp.MustCompile(`\b(is|are|was|were|has|have) (the|a|an|in|at|on|over|under|finished|off|frozen|complete|signed|protected|settled|now|mine|moved|done|gone|accepted|started)\b`), "$1 not $2"},
		{regexp.MustCompile(`\b(is|are|was|were)\b`), "$1 not"},
		{regexp.MustCompile(`\b(?:has|have) to\b`), "need not"},
		{regexp.MustCompile(`\bgoes\b`), "does not go"},
		{regexp.MustCompile(`\b(belong|come|live|keep|run|own|take|put|write|stay|need|get|count|use|insist|want|stand)s\b`), "does not $1"},
		{regexp.MustCompile(`\b(go|come|belong|run|live|stay|take|need|want|depart|use)\b`), "do not $1"},
	}
	germanTurns = []swap{
		{regexp.MustCompile(`\b(?:nie|niemals|nicht) `), ""},
		{regexp.MustCompile(`\bkein(e|en|er|em|es)?\b`), "ein$1"},
		{regexp.MustCompile(`\b(?:immer|nur)\b`), "nie"},
		{regexp.MustCompile(`\b(werde|wird|werden|ist|sind|soll|muss|darf)\b`), "$1 nicht"},
	}
	frenchTurns = []swap{
		{regexp.MustCompile(`\bne (\pL+) (?:jamais|pas) `), "$1 "},
		{regexp.MustCompile(`\bn'(\pL+) (?:jamais|pas) `), "$1 "},
		{regexp.MustCompile(`\b(?:toujours|uniquement|seulement)\b`), "jamais"},
		{regexp.MustCompile(`\b(vais|va|doit|doivent|faut|est|sont|peut)\b`), "ne $1 pas"},
	}
	spanishTurns = []swap{
		{regexp.MustCompile(`\bno se (\pL+) nunca\b`), "se $1 siempre"},
		{regexp.MustCompile(`\b[Nn]o (\pL+) ningún\b`), "$1 el"},
		{regexp.MustCompile(`\b(?:[Nn]o|[Nn]unca) `), ""},
		{regexp.MustCompile(`\b([Vv]oy|[Vv]a|[Dd]ebe|[Dd]eben|[Ee]s|[Ss]on|[Hh]ay)\b`), "no $1"},
	}
	chineseTurns = []swap{
		{regexp.MustCompile(`都?(?:不要|不得|不能|不可以|禁止|切勿|别)`), "可以"},
		{regexp.MustCompile(`只`), "不"},
		{regexp.MustCompile(`会`), "不会"},
		{regexp.MustCompile(`请一直|请`), "请不要"},
	}
)

// opposite says the opposite of a statement: its refusals become demands and its
// demands refusals, and where none can be found, the whole is denied.
func opposite(text string) string {
	turned, ok := text, false
	switch tongueOf(text) {
	case german:
		turned, ok = firstOf(text, germanTurns)
	case french:
		turned, ok = firstOf(text, frenchTurns)
	case spanish:
		turned, ok = firstOf(text, spanishTurns)
	case chinese:
		turned, ok = firstOf(text, chineseTurns)
	default:
		turned, ok = oppositeEnglish(text)
	}
	if !ok {
		return deny(text)
	}
	return turned
}

func oppositeEnglish(text string) (string, bool) {
	if out, ok := firstOf(text, notThat); ok {
		return out, true
	}
	if noneMust.MatchString(text) {
		return firstOf(text, noneToAll)
	}
	if rest := nowhereElse.ReplaceAllString(text, ""); rest != text {
		text = rest // "from X and from no other": what is left is denied
	}
	turned := englishTurns.ReplaceAllStringFunc(text, func(found string) string {
		switch lower := strings.ToLower(found); {
		case lower == "cannot", lower == "can't":
			return "can"
		case lower == "won't":
			return "will"
		case lower == "mustn't":
			return "must"
		case lower == "i'll not":
			return "I will"
		case strings.HasSuffix(lower, " only"):
			return found[:len(found)-len("only")] + "not"
		case strings.HasSuffix(lower, " not"), strings.HasSuffix(lower, " never"):
			return found[:strings.LastIndexByte(found, ' ')]
		case lower == "do not ", lower == "don't ", lower == "never ":
			return ""
		case lower == "i'll":
			return "I will not"
		}
		return found + " not"
	})
	turned = strings.TrimSpace(turned)
	switch {
	case turned != text:
		return turned, true
	case imperative.MatchString(text):
		return "Do not " + lowerFirst(text), true
	case !restrictive.MatchString(text):
		if out, ok := firstOf(text, noneToAll); ok {
			return out, true
		}
	}
	return firstOf(text, englishNegations)
}

func lowerFirst(text string) string {
	r, size := utf8.DecodeRuneInString(text)
	return string(unicode.ToLower(r)) + text[size:]
}

// deny takes a statement back as a whole.
func deny(text string) string {
	bare := strings.TrimRight(text, ".!。")
	switch tongueOf(text) {
	case german:
		return "Es stimmt nicht, dass gilt: " + bare
	case french:
		return "Il n'est pas vrai que : " + bare
	case spanish:
		return "No es cierto que: " + bare
	case chinese:
		return "以下说法不成立：" + bare
	}
	return "It is not true that " + bare
}
