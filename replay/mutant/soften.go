package mutant

import (
	"regexp"

	"github.com/doubletake-dev/doubletake/fixtures"
)

var prohibits = regexp.MustCompile(`(?i)\b(?:never|not|no|none|nothing|nobody|nowhere|cannot|don't|mustn't|can't|only|alone|without|frozen|untouched|forbidden|nie|niemals|nicht|kein\pL*|nur|jamais|pas|uniquement|nunca|ningún|ninguna|solo|sólo)\b|不|勿|别|只|禁止`)

func softenItem(s *Site, id string) (*change, string) {
	item := s.Fixture.Item(id)
	if item.Class != fixtures.Constraint || !prohibits.MatchString(item.Literal) {
		return nil, "the item is no prohibition"
	}
	return s.put(id, softer(item.Literal))
}

var (
	englishSofter = []swap{
		{regexp.MustCompile(`(?i)\b(must|may|should|shall|will|can) never\b`), "should preferably not"},
		{regexp.MustCompile(`(?i)\b(?:must|may|shall|should|can) not\b|\bcannot\b`), "should preferably not"},
		{regexp.MustCompile(`(?i)\bnever (as|a|an|the|beyond|straight|on|in|to|into)\b`), "preferably not $1"},
		{regexp.MustCompile(`^(?:Never|Do not|Don't) `), "Try not to "},
		{regexp.MustCompile(`(?i)\b(?:never|do not|don't) `), "try not to "},
	}
	germanSofter  = []swap{{regexp.MustCompile(`\b(nie|niemals|nicht|kein\pL*|nur)\b`), "möglichst $1"}}
	chineseSofter = []swap{{regexp.MustCompile(`(不要|不得|不能|别|只)`), "尽量$1"}}
)

// softer makes a wish of a prohibition.
func softer(text string) string {
	soft, ok, wish := text, false, "If possible, "
	switch tongueOf(text) {
	case german:
		wish = "Wenn möglich: "
		soft, ok = firstOf(text, germanSofter)
	case french:
		wish = "Si possible : "
	case spanish:
		wish = "Si es posible: "
	case chinese:
		wish = "如果可以的话，"
		soft, ok = firstOf(text, chineseSofter)
	default:
		soft, ok = firstOf(text, englishSofter)
	}
	if !ok {
		return wish + text
	}
	return soft
}
