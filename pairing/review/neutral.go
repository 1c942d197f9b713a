package review

import (
	"fmt"
	"strings"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
)

// lookedAt says which steps of an episode a check is about, and not what it found there:
// the calls of the tools that its expression names, whether or not they satisfy it.
func lookedAt(c *fixtures.Check, steps []replay.Step) answerView {
	expression := c.Never + c.Must
	switch {
	case c.Final != "":
		return neutral("the last text of this side")
	case expression == "":
		return neutral("all calls of this side")
	}
	const most = 5 // calls that are written out
	var lines []string
	calls, named := 0, 0
	for i := range steps {
		call := steps[i].Call
		if call == nil {
			continue
		}
		calls++
		if call.Name == "" || !strings.Contains(expression, call.Name) {
			continue
		}
		named++
		if named <= most {
			lines = append(lines, brief(fmt.Sprintf("step %d called %s %s", steps[i].Number, call.Name, fixtures.CanonicalArguments(call.Arguments)), longestEvidence/most))
		}
	}
	switch {
	case named > most:
		lines = append(lines, fmt.Sprintf("and %d more calls of tools that it names", named-most))
	case named == 0:
		lines = append(lines, fmt.Sprintf("%d calls, none of a tool that it names", calls))
	}
	return neutral(strings.Join(lines, "\n"))
}

func neutral(text string) answerView { return answerView{Evidence: []piece{{Text: text}}} }
