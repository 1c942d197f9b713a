package review

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/pairing"
	"github.com/doubletake-dev/doubletake/replay"
)

// rowView is one line of two columns beside each other.
type rowView struct {
	Index int    `json:"index"`
	Kind  string `json:"kind"`
	// Parts says that the two sides part here for the first time.
	Parts bool  `json:"parts,omitempty"`
	Left  *cell `json:"left"`
	Right *cell `json:"right"`
}

// cell is what one column has in a row.
type cell struct {
	Who    string    `json:"who"`
	Turn   int       `json:"turn,omitempty"`
	Step   int       `json:"step,omitempty"`
	Name   string    `json:"name,omitempty"` // of the tool
	Args   []argView `json:"args,omitempty"`
	Text   []piece   `json:"text,omitempty"`
	Result []piece   `json:"result,omitempty"`
	Source string    `json:"source,omitempty"`
	// Lost are the items that were stated in the other column's message and that this
	// one's context does not have.
	Lost []lostView `json:"lost,omitempty"`
}

// argView is one argument of a call.
type argView struct {
	Key   string  `json:"key"`
	Value []piece `json:"value"`
	// State is same, differs, or only where the other call has no such argument.
	State string `json:"state"`
}

// The kinds of rows.
const (
	rowEqual   = "equal"
	rowDiffers = "differs"
	rowLeft    = "only_left"
	rowRight   = "only_right"
)

// transcript is what two episodes did, beside each other as the page shows them.
type transcript struct {
	pair        string
	rows        []pairing.Row // left in First
	left, right []replay.Step
	at          map[*replay.Step]int
	parts       int  // the row in which they part, or -1
	sources     bool // whether to tell where results came from
}

func (s *desk) transcript(e *pairing.Entry) *transcript {
	first, second := s.steps(e, e.First.Arm), s.steps(e, e.Second.Arm)
	t := &transcript{pair: s.handle(e), rows: pairing.Align(first, second), left: first, right: second, at: map[*replay.Step]int{}, parts: -1, sources: s.seen(e.ID)}
	if e.Divergence != nil {
		t.parts = e.Divergence.Row(t.rows)
	}
	if s.swapped(e) {
		t.left, t.right = second, first
		for i := range t.rows {
			t.rows[i].First, t.rows[i].Second = t.rows[i].Second, t.rows[i].First
			switch t.rows[i].Kind {
			case pairing.RowFirst:
				t.rows[i].Kind = pairing.RowSecond
			case pairing.RowSecond:
				t.rows[i].Kind = pairing.RowFirst
			}
		}
	}
	for _, steps := range [][]replay.Step{first, second} {
		for i := range steps {
			t.at[&steps[i]] = i
		}
	}
	return t
}

func (s *desk) steps(e *pairing.Entry, arm string) []replay.Step {
	if episode := s.episode(e, arm); episode != nil {
		return episode.Steps
	}
	return nil
}

func (s *desk) episode(e *pairing.Entry, arm string) *replay.Episode {
	return s.options.Review.Record.Episode(replay.Key{Fixture: e.Fixture, Arm: arm, Replicate: e.Replicate})
}

func (t *transcript) kind(i int) string {
	switch t.rows[i].Kind {
	case pairing.RowEqual:
		return rowEqual
	case pairing.RowFirst:
		return rowLeft
	case pairing.RowSecond:
		return rowRight
	}
	return rowDiffers
}

func (t *transcript) row(i int) rowView {
	v := rowView{Index: i, Kind: t.kind(i), Parts: i == t.parts}
	v.Left, v.Right = t.cells(t.rows[i].First, t.rows[i].Second)
	return v
}

// folded is the transcript with its equal stretches folded.
func (t *transcript) folded() []segment[rowView] {
	return folded(len(t.rows), func(i int) bool { return t.rows[i].Kind != pairing.RowEqual || i == t.parts }, t.kind, t.row)
}

// cells are two steps beside each other with what differs marked.
func (t *transcript) cells(a, b *replay.Step) (left, right *cell) {
	var textA, textB, resultA, resultB []mark
	if a != nil && b != nil && a.Kind == b.Kind {
		textA, textB = differing(a.Text, b.Text)
		resultA, resultB = differing(a.Result, b.Result)
	}
	return t.cell("left", a, b, textA, resultA), t.cell("right", b, a, textB, resultB)
}

func (t *transcript) cell(side string, s, other *replay.Step, text, result []mark) *cell {
	if s == nil {
		return nil
	}
	query := func(part, key string) string {
		q := url.Values{"pair": {t.pair}, "of": {"step"}, "side": {side}, "n": {strconv.Itoa(t.at[s])}, "part": {part}}
		if key != "" {
			q.Set("key", key)
		}
		return q.Encode()
	}
	c := &cell{Turn: s.Turn, Step: s.Number, Text: passage{s.Text, text, query("text", "")}.pieces(), Result: passage{s.Result, result, query("result", "")}.pieces()}
	switch s.Kind {
	case replay.StepUser:
		c.Who = "user"
	case replay.StepText:
		c.Who = "agent"
	default:
		c.Who = "call"
	}
	if t.sources {
		c.Source = string(s.Source)
		if s.MadeInTurn > 0 {
			c.Source += fmt.Sprintf("; the recording made this call in turn %d, before the fork", s.MadeInTurn)
		}
	}
	if s.Call == nil {
		return c
	}
	c.Name = visible(s.Call.Name)
	var against *fixtures.ToolCall
	if other != nil && other.Call != nil && other.Call.Name == s.Call.Name {
		against = other.Call
	}
	c.Args = arguments(s.Call, against, func(key string) string { return query("arg", key) })
	return c
}

// arguments are those of a call, by key, against those of another call of the same tool.
func arguments(call, other *fixtures.ToolCall, query func(key string) string) []argView {
	own := argumentTexts(call)
	var theirs map[string]string
	if other != nil {
		theirs = argumentTexts(other)
	}
	var out []argView
	for _, key := range slices.Sorted(maps.Keys(own)) {
		view := argView{Key: visible(key), State: "same"}
		var marks []mark
		if other != nil {
			value, there := theirs[key]
			switch {
			case !there:
				view.State, marks = "only", span(0, len(own[key]))
			case value != own[key]:
				view.State = "differs"
				marks, _ = differing(own[key], value)
			}
		}
		view.Value = passage{own[key], marks, query(key)}.pieces()
		out = append(out, view)
	}
	return out
}

// argumentTexts are the arguments of a call by name: texts as they are, other values as
// JSON. Arguments that are no object have no name.
func argumentTexts(call *fixtures.ToolCall) map[string]string {
	out := map[string]string{}
	var fields map[string]json.RawMessage
	if json.Unmarshal(call.Arguments, &fields) != nil || fields == nil {
		if len(call.Arguments) > 0 {
			out[""] = argumentText(call.Arguments)
		}
		return out
	}
	for key, raw := range fields {
		out[key] = argumentText(raw)
	}
	return out
}

func argumentText(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil && strings.HasPrefix(strings.TrimSpace(string(raw)), `"`) {
		return text
	}
	return fixtures.CanonicalArguments(raw)
}
