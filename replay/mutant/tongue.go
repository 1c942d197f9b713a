package mutant

import (
	"slices"
	"strings"
	"unicode"
)

// tongue is a language in which items can be rewritten.
type tongue uint8

const (
	english tongue = iota
	german
	french
	spanish
	chinese
)

// tongueOf tells the language of a short text by its small words.
func tongueOf(text string) tongue {
	if mostlyHan(text) {
		return chinese
	}
	if strings.ContainsAny(text, "¿¡") {
		return spanish
	}
	small := map[tongue][]string{
		english: {"the", "to", "of", "is", "are", "will", "must", "not", "never", "for", "it", "in", "on", "be", "only", "should", "this", "that", "from", "a", "i"},
		german:  {"der", "die", "das", "den", "dem", "des", "ein", "eine", "ich", "nie", "nicht", "und", "nur", "wird", "nach", "auf", "mit", "oder", "soll", "werde", "mir", "immer", "darf", "er", "am"},
		french:  {"le", "la", "les", "de", "des", "un", "une", "je", "ne", "pas", "jamais", "il", "faut", "moi", "en", "et", "ou", "vers", "avant", "te", "que", "du"},
		spanish: {"el", "la", "los", "las", "de", "un", "una", "no", "se", "que", "por", "con", "en", "este", "ese", "voy", "nunca", "cada", "al", "del", "es", "y", "ningún", "propongo", "a"},
	}
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) })
	best, most := english, 0
	for t := english; t < chinese; t++ {
		n := 0
		for _, word := range words {
			if slices.Contains(small[t], word) {
				n++
			}
		}
		if n > most {
			best, most = t, n
		}
	}
	return best
}

// mostlyHan says whether Chinese characters are a third of the letters or more: one name
// of a key makes no Chinese text.
func mostlyHan(text string) bool {
	han, letters := 0, 0
	for _, r := range text {
		if unicode.IsLetter(r) {
			letters++
			if unicode.Is(unicode.Han, r) {
				han++
			}
		}
	}
	return han > 0 && 3*han >= letters
}
