package labelling

import (
	"strings"

	"github.com/doubletake-dev/doubletake/fixtures"
)

// LiteralCheck looks for the annotated text of an item in a text of a case, letter for
// letter. That it is not there says nothing: the same can be said in other words.
type LiteralCheck struct {
	Item string `json:"item"`
	// Text is the id of the evidence, or output.
	Text   string        `json:"text"`
	Role   Role          `json:"role,omitempty"`
	Result LiteralResult `json:"result"`
}

// OutputText names the output among the texts of a case.
const OutputText = "output"

// LiteralResult is what came of a literal check.
type LiteralResult string

// The results.
const (
	LiteralPresent LiteralResult = "annotated-text-present"
	LiteralAbstain LiteralResult = "abstain"
)

// checkLiterals looks for every item's literal in every text.
func checkLiterals(f *fixtures.Fixture, r *Request) []LiteralCheck {
	list := []LiteralCheck{}
	for i := range f.MustSurvive {
		item := &f.MustSurvive[i]
		list = append(list, LiteralCheck{item.ID, OutputText, "", literalIn(item.Literal, r.Output.Text)})
		for _, e := range r.Evidence {
			list = append(list, LiteralCheck{item.ID, e.ID, e.Role, literalIn(item.Literal, e.Text)})
		}
	}
	return list
}

func literalIn(literal, text string) LiteralResult {
	if literal != "" && strings.Contains(text, literal) {
		return LiteralPresent
	}
	return LiteralAbstain
}
