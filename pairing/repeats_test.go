package pairing

import (
	"testing"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
)

func TestRepeatsAreCountedByClass(t *testing.T) {
	again := func(number int, name string) replay.Step {
		s := call(4, number, name, "{}")
		s.MadeInTurn = 1
		return s
	}
	f := fixture("f")
	e := episode(f, "b", "ok")
	e.Steps = append(e.Steps, call(4, 1, "write_file", "{}"), again(2, "write_file"), again(3, "read_file"), again(4, "read_file"), again(5, "bash"))
	if got, want := CountRepeats(f, e), (Repeats{Reads: 2, Writes: 1, Unclear: 1}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	f.Tools = &fixtures.ToolSettings{Writes: []string{"bash", "read_file"}}
	if got, want := CountRepeats(f, e), (Repeats{Reads: 1, Writes: 3}); got != want {
		t.Errorf("by the fixture's list: %+v, want %+v", got, want)
	}
	m := Match(record([]*fixtures.Fixture{f}, episode(f, "a", "ok"), e), "a", "b")
	if p := m.Pairs[0]; p.First.Repeats != nil || p.Second.Repeats == nil || p.Second.Repeats.Writes != 3 {
		t.Errorf("the pair says %+v and %+v", p.First.Repeats, p.Second.Repeats)
	}
	if (Repeats{}).Any() || !(Repeats{Unclear: 1}).Any() {
		t.Error("any is wrong")
	}
}

// Two spellings of one path are the same call, where the fixture says so: for the
// divergence and for the checks that compare with the reference.
func TestCallsAreComparedByTheFixturesRules(t *testing.T) {
	f := fixture("f")
	f.Checks = nil // and so the same calls as the reference
	a, b := episode(f, "a", "ok"), episode(f, "b", "ok")
	a.Steps = append(a.Steps, call(4, 1, "read_file", `{"path":"./x"}`))
	b.Steps = append(b.Steps, call(4, 1, "read_file", `{"path":"/repo/x"}`))
	if p := Match(record([]*fixtures.Fixture{f}, a, b), "a", "b").Pairs[0]; p.Cell != Loss || p.Divergence == nil {
		t.Errorf("without rules: %s, divergence %+v", p.Cell, p.Divergence)
	}
	f.Tools = &fixtures.ToolSettings{Normalise: []fixtures.ToolRule{{Argument: "path", As: fixtures.AsPath, Root: "/repo"}}}
	if p := Match(record([]*fixtures.Fixture{f}, a, b), "a", "b").Pairs[0]; p.Cell != BothPass || p.Divergence != nil {
		t.Errorf("with rules: %s, divergence %+v, %+v", p.Cell, p.Divergence, p.Second.Outcome)
	}
	f.Checks = []fixtures.Check{{ID: "k", Must: "args.path startsWith '/repo'"}}
	if p := Match(record([]*fixtures.Fixture{f}, a, b), "a", "b").Pairs[0]; p.Cell != Gain {
		t.Errorf("an expression sees %s: want the arguments as they were", p.Cell)
	}
}
