package offline

import (
	"testing"

	"github.com/doubletake-dev/doubletake/fixtures"
)

// TestAnItemThatNoLongerBinds: where a completed item stands as if in force, the judge's
// answer is not the one of now; where the context says that it is over, it is.
func TestAnItemThatNoLongerBinds(t *testing.T) {
	const literal = "I will run make completions before the release"
	library, err := NewLibrary(nil, map[string]*fixtures.Fixture{"f": {ConversationID: "f", MustSurvive: []fixtures.Item{
		{ID: "m1", Class: fixtures.Commitment, Turn: 1, Literal: literal, Probe: "Is make completions still to be run?", Expect: "no", Status: fixtures.Completed},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	p := &provider{library: library, readings: newReadings()}
	for context, want := range map[string]string{
		literal + ".": `{"answer":"yes","verdict":"supported"}`,
		"It is no longer true that " + literal + ".": `{"answer":"no","verdict":"contradicted"}`,
		"Nothing of it.": `{"answer":"unknown","verdict":"absent"}`,
	} {
		if got := p.judge(question{context, literal, "Is make completions still to be run?"}).text; got != want {
			t.Errorf("%q: %s, want %s", context, got, want)
		}
	}
}
