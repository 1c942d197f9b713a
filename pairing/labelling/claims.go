package labelling

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/clipperhouse/uax29/v2/sentences"
)

// claimsOf cuts a stretch of the output into sentences by Unicode's rules (UAX #29), which
// also end one at a line's end. What has neither letter nor digit, such as a rule or a
// fence of code, claims nothing. With most above 0 no more are returned, and the coverage
// says whether some were left out.
func claimsOf(output string, within span, most int) ([]Claim, Coverage) {
	claims := []Claim{}
	at := within.start
	for it := sentences.FromString(output[within.start:within.end]); it.Next(); {
		raw := it.Value()
		start := at + len(raw) - len(strings.TrimLeftFunc(raw, unicode.IsSpace))
		at += len(raw)
		text := strings.TrimSpace(raw)
		if !strings.ContainsFunc(text, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) {
			continue
		}
		if most > 0 && len(claims) == most {
			return claims, Selected
		}
		claims = append(claims, Claim{
			ID: fmt.Sprintf("c%d", len(claims)+1), Start: start, End: start + len(text), Text: text, SHA256: digest(text),
		})
	}
	return claims, Exhaustive
}
