package report

import "strings"

// The colours: blue and orange keep apart for colour-blind readers.
const (
	colorBad  = "1;38;5;208"
	colorGood = "1;38;5;33"
	colorOpen = "1" // neither
)

// Status is a word that says how something came out, such as PASS, loss or REGRESSED, in its
// colour where the style has any: blue for what is well, orange for what is not, bold for
// what is open. Spaces at its end stay. Other words are left as they are.
func (s Style) Status(word string) string {
	bare := strings.TrimRight(word, " ")
	code := statusColor(bare)
	if !s.Color || code == "" {
		return word
	}
	return painted(code, bare) + word[len(bare):]
}

func painted(code, text string) string { return "\x1b[" + code + "m" + text + "\x1b[0m" }

// statusColor is empty for what is no status.
func statusColor(word string) string {
	switch strings.ToUpper(word) {
	case "PASS", "CLEAR", "GAIN":
		return colorGood
	case "FAIL", "REGRESSED", "LOSS", "CRITICAL LOSS", "LOST", "CONTRADICTED", "STALE", "NOT TRUSTED", "INCOMPLETE", "INVALID", "INVALID_NOISE", "DISPUTED":
		return colorBad
	case "WARN", "BACKLOG", "UNSCORED", "INCONCLUSIVE", "UNDECIDED", "TO DECIDE":
		return colorOpen
	}
	return ""
}
