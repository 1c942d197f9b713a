package pairing

import (
	"fmt"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
)

// DivergenceKind is in what two episodes differ first.
type DivergenceKind string

// The kinds of divergence.
const (
	// InCalls: another call, or a call where the other episode spoke.
	InCalls DivergenceKind = "calls"
	// InWords: the same calls throughout, and another text.
	InWords DivergenceKind = "words"
)

// Divergence is the first step at which two episodes did different things.
type Divergence struct {
	Kind DivergenceKind `json:"kind"`
	Turn int            `json:"turn"`
	// First and Second are what each did there, nil where it had ended.
	First  *replay.Step `json:"first"`
	Second *replay.Step `json:"second"`
}

// Diverge finds the first divergence of two episodes of a fixture, or returns nil where
// they did and said the same. Calls are compared by the fixture's rules. A difference in
// calls counts before a difference in words, however late it comes: words differ easily
// and bind nobody.
func Diverge(f *fixtures.Fixture, first, second *replay.Episode) *Divergence {
	a, b := acts(first), acts(second)
	sameAct := func(a, b *replay.Step) bool { return sameAct(f, a, b) }
	if d := compare(a, b, InCalls, sameAct); d != nil {
		return d
	}
	return compare(a, b, InWords, sameWords)
}

// acts are the agent's own steps.
func acts(e *replay.Episode) []*replay.Step {
	var list []*replay.Step
	for i := range e.Steps {
		if e.Steps[i].Kind != replay.StepUser {
			list = append(list, &e.Steps[i])
		}
	}
	return list
}

// closing leaves out the texts that an agent speaks beside its calls, but for those
// that end its turn.
func closing(list []*replay.Step) []*replay.Step {
	var out []*replay.Step
	for i, s := range list {
		beside := s.Kind == replay.StepText && i+1 < len(list) && list[i+1].Turn == s.Turn
		if !beside {
			out = append(out, s)
		}
	}
	return out
}

func compare(a, b []*replay.Step, kind DivergenceKind, same func(a, b *replay.Step) bool) *Divergence {
	a, b = closing(a), closing(b)
	for i := range max(len(a), len(b)) {
		d := &Divergence{Kind: kind}
		if i < len(a) {
			d.First, d.Turn = a[i], a[i].Turn
		}
		if i < len(b) {
			d.Second, d.Turn = b[i], b[i].Turn
		}
		if d.First == nil || d.Second == nil || !same(d.First, d.Second) {
			if d.First != nil && d.Second != nil {
				d.Turn = min(d.First.Turn, d.Second.Turn)
			}
			return d
		}
	}
	return nil
}

func sameAct(f *fixtures.Fixture, a, b *replay.Step) bool {
	if a.Kind != b.Kind {
		return false
	}
	if a.Kind == replay.StepText {
		return true
	}
	return a.Call.Name == b.Call.Name &&
		f.CanonicalCall(a.Call.Name, a.Call.Arguments) == f.CanonicalCall(b.Call.Name, b.Call.Arguments)
}

func sameWords(a, b *replay.Step) bool { return a.Text == b.Text }

// Describe says in one line what a step did; nil is an episode that had ended.
func Describe(s *replay.Step) string {
	switch {
	case s == nil:
		return "had ended"
	case s.Kind == replay.StepCall:
		return fmt.Sprintf("called %s %s", s.Call.Name, fixtures.CanonicalArguments(s.Call.Arguments))
	}
	return "said: " + s.Text
}
