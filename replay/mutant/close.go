package mutant

import (
	"regexp"
	"strings"

	"github.com/doubletake-dev/doubletake/fixtures"
)

func closeItem(s *Site, id string) (*change, string) {
	item := s.Fixture.Item(id)
	if item.Class != fixtures.OpenQuestion {
		return nil, "the item is no open question"
	}
	if !open(item.Literal) {
		return nil, "nothing in the item's words says that it is open"
	}
	return s.put(id, settled(item.Literal))
}

var (
	alternative = regexp.MustCompile(`(?i)[,;]?\s+(?:or|oder|ou|o)\s+|，?还是`)
	asking      = regexp.MustCompile(`(?i)^(?:¿\s*)?(?:and )?(?:should|shall|do|does|did|would|could|can|is|are|will|soll|sollen|faut-il)\s+`)
	weWill      = regexp.MustCompile(`(?i)\bshould (we|i|they)\b`)
	hedges      = regexp.MustCompile(`(?i),? ?\bI (?:suspect|think|guess|believe|assume)(?: that)?\b,?|\b(?:maybe|perhaps|probably|possibly)\b ?|,? (?:but )?(?:this is |it is )?not (?:yet )?confirmed(?: so far| yet)?|,? I will say when|\bI would (?:go with|prefer)\b|\bPropongo\b`)
)

// open says whether a text asks, chooses or doubts.
func open(text string) bool {
	return strings.ContainsAny(text, "?？") || alternative.MatchString(text) || hedges.MatchString(text)
}

// settled answers an open question: with its first option where it has two, else as
// if what was only suspected, or proposed, were certain.
func settled(text string) string {
	plain := hedges.ReplaceAllString(text, "")
	plain = weWill.ReplaceAllString(plain, "$1 will")
	plain = strings.NewReplacer("要不要", "要", "是不是", "是", "能不能", "能", "会不会", "会").Replace(plain)
	plain = strings.Trim(plain, " ?？¿.")
	if at := alternative.FindStringIndex(plain); at != nil {
		plain = plain[:at[0]]
	}
	plain = strings.Trim(asking.ReplaceAllString(plain, ""), " ,;，")
	switch tongueOf(text) {
	case german:
		return "Entschieden: " + plain + "."
	case french:
		return "Décidé : " + plain + "."
	case spanish:
		return "Decidido: " + plain + "."
	case chinese:
		return "已决定：" + plain + "。"
	}
	return "Decided: " + plain + "."
}
