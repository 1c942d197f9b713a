package pairing

import (
	"fmt"
	"slices"
	"strings"

	"github.com/doubletake-dev/doubletake/fixtures"
)

// Without is the outcome by the checks that are not named. Without any other the side
// passes.
func (o Outcome) Without(checks []string) Outcome {
	rest := []fixtures.Result{}
	o.Answer = fixtures.Pass
	for _, c := range o.Checks {
		if slices.Contains(checks, c.Check) {
			continue
		}
		rest = append(rest, c)
		switch {
		case c.Answer == fixtures.Fail:
			o.Answer = fixtures.Fail
		case c.Answer == fixtures.Unscored && o.Answer == fixtures.Pass:
			o.Answer = fixtures.Unscored
		}
	}
	o.Checks = rest
	return o
}

// Remains says, in a sentence for people, why a pair still has one side that passes and one
// that fails though checks are ruled wrong: others fail. It is empty where the ruling is
// another one, or has its effect.
func (p *Pair) Remains(ruling Ruling, checks []string) string {
	if ruling != CheckWrong {
		return ""
	}
	first, second := p.First.Outcome.Without(checks), p.Second.Outcome.Without(checks)
	cell := CellOf(first.Answer, second.Answer)
	if !cell.Discordant() {
		return ""
	}
	failing := second
	if cell == Gain {
		failing = first
	}
	var names []string
	for _, c := range failing.Checks {
		if c.Answer == fixtures.Fail {
			names = append(names, c.Check)
		}
	}
	what := "check " + names[0] + " fails"
	if len(names) > 1 {
		what = "checks " + strings.Join(names, ", ") + " fail"
	}
	return fmt.Sprintf("the pair stays a %s: %s as well", cell, what)
}

// CanLose says whether the pair could be a loss if some of the checks that differ in
// another play of its fixture were ruled wrong, or is one.
func (p *Pair) CanLose(differ []DifferingCheck) bool {
	var wrong []string // the fewest without which the first side passes
	for _, c := range p.First.Outcome.Checks {
		if c.Answer == fixtures.Pass {
			continue
		}
		if !slices.ContainsFunc(differ, func(d DifferingCheck) bool { return d.Check == c.Check }) {
			return false
		}
		wrong = append(wrong, c.Check)
	}
	return p.Second.Outcome.Without(wrong).Answer == fixtures.Fail
}
