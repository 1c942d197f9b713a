package replay

import (
	"fmt"
	"strings"
)

// leakWords is how many words in a row of the summariser's instructions make a leak: a
// heading or a turn of phrase has fewer.
const leakWords = 8

// leaked finds words of the summariser's instructions in what was written anew. It is
// not known for a compactor that doesn't tell its instructions. What the conversation
// itself says is no leak.
func leaked(s *speech, output []CompactMessage, instructions string) (counter string, known bool) {
	words := wordingOf(instructions).words()
	anew := s.anew(output)
	if len(words) < leakWords || len(anew) == 0 {
		return "", false
	}
	for _, m := range anew {
		text := wordingOf(m.Content)
		for _, run := range runs(words) {
			if !text.holds(run) || s.said(run) {
				continue
			}
			return fmt.Sprintf("the summariser's instructions stand in the output: %q", strings.TrimSpace(string(run))), true
		}
	}
	return "", true
}

// runs are all runs of [leakWords] words.
func runs(words []string) []wording {
	list := make([]wording, 0, len(words))
	for i := 0; i+leakWords <= len(words); i++ {
		list = append(list, wording(" "+strings.Join(words[i:i+leakWords], " ")+" "))
	}
	return list
}
