package report

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/pairing"
	"github.com/doubletake-dev/doubletake/replay"
)

// rows lays the transcripts beside each other.
func (d *detailView) rows(p *pairOf, left *room) {
	var steps [2][]replay.Step
	for i, side := range p.sides {
		if side.episode != nil {
			steps[i] = side.episode.Steps
		}
	}
	rows := pairing.Align(steps[0], steps[1])
	parts := -1
	if p.Divergence != nil {
		parts = p.Divergence.Row(rows)
	}
	for i := 0; i < len(rows); {
		end := i + 1
		if rows[i].Kind == pairing.RowEqual && i != parts {
			for end < len(rows) && rows[end].Kind == pairing.RowEqual && end != parts {
				end++
			}
		}
		if left.left < rowBytes {
			d.RowsCut = len(rows) - i
			return
		}
		v := d.row(rows[i:end], left)
		if i == parts {
			v.Parts = fmt.Sprintf("First divergence, in %s, turn %d", p.Divergence.Kind, p.Divergence.Turn)
		}
		d.Rows = append(d.Rows, v)
		i = end
	}
}

// row shows one row that differs, or a stretch of equal ones.
func (d *detailView) row(rows []pairing.Row, left *room) rowView {
	var v rowView
	if first := rows[0]; first.Kind != pairing.RowEqual {
		var marks [2]stretch
		if a, b := first.First, first.Second; a != nil && b != nil && a.Kind == b.Kind {
			marks[0], marks[1] = apart(bodyOf(a), bodyOf(b))
		}
		left.spend(rowBytes)
		v.Sides = []stepView{newStepView(d.First, first.First, left, marks[0]), newStepView(d.Second, first.Second, left, marks[1])}
		return v
	}
	for i, r := range rows {
		if !left.spend(rowBytes) {
			v.Same = append(v.Same, stepView{None: true, Head: fmt.Sprintf("%s more, cut to keep the page small", Plural(len(rows)-i, "equal step"))})
			break
		}
		step := newStepView("", r.First, left)
		if r.First.Turn != r.Second.Turn {
			step.Head = fmt.Sprintf("turns %d and %d: %s", r.First.Turn, r.Second.Turn, what(r.First))
		}
		v.Same = append(v.Same, step)
	}
	if len(rows) > 1 || len(bodyOf(rows[0].First))+len(rows[0].First.Result) >= foldFrom {
		v.Fold = fmt.Sprintf("%s the same on both sides, %s", Plural(len(rows), "step"), turnSpan(rows))
	}
	return v
}

// turnSpan names the turns of equal rows.
func turnSpan(rows []pairing.Row) string {
	span := func(from, to int) string {
		if from == to {
			return fmt.Sprintf("turn %d", from)
		}
		return fmt.Sprintf("turns %d to %d", from, to)
	}
	last := rows[len(rows)-1]
	first := span(rows[0].First.Turn, last.First.Turn)
	if second := span(rows[0].Second.Turn, last.Second.Turn); second != first {
		return first + " and " + second
	}
	return first
}

func newStepView(arm string, s *replay.Step, left *room, marks ...stretch) stepView {
	if s == nil {
		return stepView{Arm: arm, None: true, Head: "nothing here"}
	}
	v := stepView{Arm: arm, Head: fmt.Sprintf("turn %d: %s", s.Turn, what(s)), Body: left.take(bodyOf(s), mostText, marks...)}
	if s.Kind != replay.StepCall {
		return v
	}
	v.Source = sourceName(s.Source)
	if s.MadeInTurn > 0 {
		v.Source += fmt.Sprintf("; the recording made this call in turn %d, before the fork", s.MadeInTurn)
	}
	result := left.take(s.Result, mostText/2)
	v.Result = &result
	return v
}

func sourceName(s replay.ToolSource) string {
	switch s {
	case replay.FromTape:
		return "from the tape"
	case replay.FromStub:
		return "from a stub"
	case replay.FromSimulator:
		return "from the simulator"
	case replay.FromSandbox:
		return "from the sandbox"
	case replay.Miss:
		return "no answer on the tape"
	case replay.NotCalled:
		return "not called: the recording did something else"
	}
	return Shorten(string(s), 40)
}

// what says who did what in a step.
func what(s *replay.Step) string {
	switch s.Kind {
	case replay.StepUser:
		if s.Simulated {
			return "the simulated user says"
		}
		return "the user says"
	case replay.StepText:
		return "the agent says"
	}
	name := "a tool"
	if s.Call != nil {
		name = Shorten(s.Call.Name, 120)
	}
	return fmt.Sprintf("call %d, %s", s.Number, name)
}

// bodyOf is the text of a step: what was said, or the arguments of the call.
func bodyOf(s *replay.Step) string {
	if s.Kind != replay.StepCall {
		return s.Text
	}
	if s.Call == nil {
		return ""
	}
	return indented(s.Call.Arguments)
}

// indented writes arguments a field a line, in one order.
func indented(arguments json.RawMessage) string {
	canonical := fixtures.CanonicalArguments(arguments)
	var b bytes.Buffer
	if err := json.Indent(&b, []byte(canonical), "", "  "); err != nil {
		return canonical
	}
	return b.String()
}
