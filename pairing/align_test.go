package pairing

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
)

// script makes steps from letters: "u" is the user, "t" a text, any other letter a call
// of the tool a with that argument; capitals call the tool b.
func script(letters string) []replay.Step {
	var steps []replay.Step
	for i, r := range letters {
		s := replay.Step{Kind: replay.StepCall, Turn: i + 1, Number: i + 1}
		switch {
		case r == 'u':
			s.Kind, s.Text = replay.StepUser, "go on"
		case r == 't':
			s.Kind, s.Text = replay.StepText, "done"
		case r >= 'A' && r <= 'Z':
			s.Call = &fixtures.ToolCall{Name: "b", Arguments: json.RawMessage(fmt.Sprintf(`{"x":"%c"}`, r))}
		default:
			s.Call = &fixtures.ToolCall{Name: "a", Arguments: json.RawMessage(fmt.Sprintf(`{"x":"%c"}`, r))}
		}
		steps = append(steps, s)
	}
	return steps
}

func letter(s *replay.Step) string {
	switch {
	case s == nil:
		return "-"
	case s.Kind == replay.StepUser:
		return "u"
	case s.Kind == replay.StepText:
		return "t"
	case s.Call == nil:
		return "?"
	}
	var args struct{ X string }
	if json.Unmarshal(s.Call.Arguments, &args) != nil {
		return "?"
	}
	return args.X
}

func show(rows []Row) string {
	out := ""
	for _, r := range rows {
		sign := map[RowKind]string{RowEqual: "=", RowDiffers: "!", RowFirst: "<", RowSecond: ">"}[r.Kind]
		out += letter(r.First) + sign + letter(r.Second) + " "
	}
	return out
}

func TestAlign(t *testing.T) {
	for _, test := range []struct{ name, first, second, want string }{
		{"nothing", "", "", ""},
		{"only the first", "ucd", "", "u<- c<- d<- "},
		{"the same", "ucdt", "ucdt", "u=u c=c d=d t=t "},
		{"an extra call moves the turns", "ucdtuet", "ucXdtuet", "u=u c=c ->X d=d t=t u=u e=e t=t "},
		{"another argument", "ucdt", "ucet", "u=u c=c d!e t=t "},
		{"a call of the same tool stands beside it", "uct", "uXdt", "u=u ->X c!d t=t "},
		{"a call against words", "uct", "ut", "u=u c<- t=t "},
		{"a user's turn is a fixed point", "ucudt", "uudct", "u=u c<- u=u d=d ->c t=t "},
		{"one stopped early", "ucdtuft", "uc", "u=u c=c d<- t<- u<- f<- t<- "},
		{"exchanged order", "ucd", "udc", "u=u ->d c=c d<- "},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := show(Align(script(test.first), script(test.second))); got != test.want {
				t.Errorf("rows %s, want %s", got, test.want)
			}
		})
	}
}

func TestAlignSeesResults(t *testing.T) {
	a, b := script("uc"), script("uc")
	b[1].Result = "another answer"
	if got := show(Align(a, b)); got != "u=u c!c " {
		t.Errorf("a call that was answered otherwise is a row %s", got)
	}
	b[1].Call = nil // a journal that says of a call that it was one, and no more
	if got := show(Align(a, b)); got != "u=u c!? " {
		t.Errorf("a call without its name is a row %s", got)
	}
}

func steps(label string) *rapid.Generator[[]replay.Step] {
	return rapid.Custom(func(t *rapid.T) []replay.Step {
		return script(rapid.StringMatching(`[utcdeXY]{0,14}`).Draw(t, label))
	})
}

func TestAlignLosesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := steps("first").Draw(t, "a"), steps("second").Draw(t, "b")
		var first, second []*replay.Step
		for _, r := range Align(a, b) {
			if r.First != nil {
				first = append(first, r.First)
			}
			if r.Second != nil {
				second = append(second, r.Second)
			}
			want := RowDiffers
			switch {
			case r.First == nil && r.Second == nil:
				t.Fatal("a row has no step")
			case r.Second == nil:
				want = RowFirst
			case r.First == nil:
				want = RowSecond
			case newAlignable(r.First).whole == newAlignable(r.Second).whole:
				want = RowEqual
			}
			if r.Kind != want {
				t.Fatalf("a row is %s, want %s", r.Kind, want)
			}
		}
		for name, side := range map[string]struct {
			rows []*replay.Step
			list []replay.Step
		}{"first": {first, a}, "second": {second, b}} {
			if len(side.rows) != len(side.list) {
				t.Fatalf("the %s side has %d steps, its rows %d", name, len(side.list), len(side.rows))
			}
			for i := range side.list {
				if side.rows[i] != &side.list[i] {
					t.Fatalf("step %d of the %s side is not where it was", i, name)
				}
			}
		}
	})
}

func TestAlignMirrors(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := steps("first").Draw(t, "a"), steps("second").Draw(t, "b")
		there, back := Align(a, b), Align(b, a)
		mirror := func(r Row) Row {
			switch r.Kind {
			case RowFirst:
				r.Kind = RowSecond
			case RowSecond:
				r.Kind = RowFirst
			}
			r.First, r.Second = r.Second, r.First
			return r
		}
		for i := range back {
			back[i] = mirror(back[i])
		}
		if !slices.Equal(there, back) {
			t.Fatalf("rows %s, exchanged %s", show(there), show(back))
		}
	})
}

func TestAlignItself(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := steps("steps").Draw(t, "a")
		for _, r := range Align(a, slices.Clone(a)) {
			if r.Kind != RowEqual {
				t.Fatalf("an episode beside itself has a row %s", r.Kind)
			}
		}
	})
}

func TestAlignLongLists(t *testing.T) {
	long := func(letter string) []replay.Step {
		text := "u"
		for range 3000 {
			text += letter
		}
		return script(text + "t")
	}
	a, b := long("c"), long("d")
	rows := Align(a, b)
	if len(rows) != len(a) {
		t.Errorf("%d rows for %d steps", len(rows), len(a))
	}
}

func TestDivergenceRow(t *testing.T) {
	for _, test := range []struct {
		name, first, second string
		want                int
	}{
		{"another argument", "ucdt", "ucet", 2},
		{"an extra call", "ucdt", "ucXdt", 2},
		{"one stopped", "ucdt", "uc", 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			a, b := &replay.Episode{Steps: script(test.first)}, &replay.Episode{Steps: script(test.second)}
			d := Diverge(&fixtures.Fixture{}, a, b)
			if d == nil {
				t.Fatal("no divergence")
			}
			rows := Align(a.Steps, b.Steps)
			if got := d.Row(rows); got != test.want {
				t.Errorf("row %d of %s, want %d", got, show(rows), test.want)
			}
		})
	}
	lost := Divergence{First: &replay.Step{Kind: replay.StepText, Turn: 99}}
	if got := lost.Row(Align(script("uc"), script("uc"))); got != -1 {
		t.Errorf("a step of neither side is in row %d", got)
	}
}
