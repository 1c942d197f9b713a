package analysis_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/doubletake-dev/doubletake/analysis"
	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
)

func TestWhichDecisionsMoved(t *testing.T) {
	n := newNight(t, repeat("ppp", 3)...)
	n.items(fixtures.Constraint, "old", 4, 1, 0)
	n.items(fixtures.Constraint, "new", 4, 0, 1) // 000: absent to contradicted
	n.items(fixtures.OpenQuestion, "old", 2, 1, 1)
	n.items(fixtures.OpenQuestion, "new", 2, 0, 0) // both come back
	n.items(fixtures.Reference, "old", 3, 0, 0)
	n.items(fixtures.Reference, "new", 3, 1, 1) // the first two are lost
	var got []string
	for _, m := range n.analyse(t).Moves {
		got = append(got, fmt.Sprintf("%s %s %s %d %s>%s %v", m.Fixture, m.Item, m.Class, m.Compaction, m.From, m.To, m.Worse()))
	}
	want := []string{
		"f00 constraint000 constraint 0 absent>contradicted true",
		"f00 open_question000 open_question 0 absent>supported false",
		"f00 open_question001 open_question 0 contradicted>supported false",
		"f00 reference000 reference 0 supported>absent true",
		"f00 reference001 reference 0 supported>contradicted true",
	}
	if !slices.Equal(got, want) {
		t.Errorf("moves:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestOtherWordsAreNoMove(t *testing.T) {
	n := newNight(t, repeat("ppp", 3)...)
	n.items(fixtures.Constraint, "old", 2, 0, 0)
	for _, j := range n.record.Judgements {
		j.Verdict = replay.Verbatim
	}
	n.items(fixtures.Constraint, "new", 2, 0, 0)
	n.record.Judgements[3].Verdict = replay.Unjudged // not known is no move either
	if moves := n.analyse(t).Moves; moves == nil || len(moves) != 0 {
		t.Errorf("moves %v", moves)
	}
	n.record.Run.Plan.Arms[1].Role = "other"
	if moves := n.analyse(t).Moves; moves != nil {
		t.Errorf("without an incumbent: %v", moves)
	}
}

func TestWorse(t *testing.T) {
	for _, m := range []analysis.Move{
		{From: replay.Retired, To: replay.Stale}, {From: replay.Verbatim, To: replay.Absent},
		{From: replay.Supported, To: replay.Contradicted}, {From: replay.Absent, To: replay.Contradicted},
	} {
		back := analysis.Move{From: m.To, To: m.From}
		if !m.Worse() || back.Worse() {
			t.Errorf("%s to %s is worse: %v, back: %v", m.From, m.To, m.Worse(), back.Worse())
		}
	}
}

// acted are the steps of turns, each "turn text" or "turn tool(arguments)".
func acted(lines ...string) []replay.Step {
	var steps []replay.Step
	for _, line := range lines {
		var s replay.Step
		_, _ = fmt.Sscan(line, &s.Turn)
		_, what, _ := strings.Cut(line, " ")
		name, arguments, called := strings.Cut(strings.TrimSuffix(what, ")"), "(")
		switch {
		case called:
			s.Kind, s.Call = replay.StepCall, &fixtures.ToolCall{Name: name, Arguments: []byte(arguments)}
		case what == "user":
			s.Kind, s.Text = replay.StepUser, "go on"
		default:
			s.Kind, s.Text = replay.StepText, what
		}
		steps = append(steps, s)
	}
	return steps
}

func TestDivergenceTurnByTurn(t *testing.T) {
	n := newNight(t, "ppp", "ppp", "ppu")
	n.record.Run.Plan.Settings.Mode = replay.StepByStep
	set := func(f int, arm string, steps ...string) {
		e := n.record.Episode(replay.Key{Fixture: n.record.Fixtures[f].Hash, Arm: arm})
		e.Steps = acted(steps...)
		e.Recorded = acted("3 user", "4 read({\"a\":1})", "5 done", "6 user")
	}
	// The same call in other bytes; other words are no difference; at turn 7 one calls.
	set(0, "reference", "3 user", `4 read({"a":1})`, "5 done", "6 user", "7 ok")
	set(0, "new", "3 user", `4 looking`, `4 read({ "a": 1 })`, "5 finished", "6 user", `7 read({})`)
	// Another argument, and another call on top; the reference does not do as recorded.
	set(1, "reference", "3 user", `4 read({"a":2})`, "5 done", "6 user", "7 ok")
	set(1, "new", "3 user", `4 read({"a":1})`, `5 read({})`, `5 read({})`, "6 user", "7 ok")
	r := n.analyse(t)
	want := []analysis.TurnDivergence{
		{Turn: 2, Pairs: 2, Differ: 1, Recorded: 2, Baseline: 1, Candidate: 2},
		{Turn: 3, Pairs: 2, Differ: 1, Recorded: 2, Baseline: 2, Candidate: 1},
		{Turn: 5, Pairs: 2, Differ: 1},
	}
	if !slices.Equal(r.Divergence, want) || r.Mode != "step" {
		t.Errorf("mode %s, divergence %+v\nwant %+v", r.Mode, r.Divergence, want)
	}
	n.record.Run.Plan.Settings.Mode = replay.ClosedLoop
	if r := n.analyse(t); r.Divergence != nil || r.Mode != "closed" {
		t.Errorf("in the closed loop: %s, %v", r.Mode, r.Divergence)
	}
}

func TestIdenticalContextsAreCounted(t *testing.T) {
	n := newNight(t, repeat("ppp", 4)...)
	for i, e := range n.record.Episodes {
		e.Context = fixtures.HashBytes([]byte{byte(i)})
		if e.ConversationID < "f02" && e.Arm != "reference" {
			e.Context = "same"
		}
	}
	n.record.Episodes[2].Status = replay.Accepted // nothing was played from it
	n.record.Episodes[2].Context = ""
	r := n.analyse(t)
	if got := r.Incumbent.Candidate.Pairs.Identical; got != 1 || r.Pairs.Identical != 0 {
		t.Errorf("%d of incumbent and candidate, %d of reference and candidate", got, r.Pairs.Identical)
	}
}

func TestARunThatWasStopped(t *testing.T) {
	n := newNight(t, append(repeat("ppf", 10), repeat("ppp", 10)...)...)
	n.items(fixtures.Constraint, "old", 2, 0, 0)
	n.items(fixtures.Constraint, "new", 2, 2, 0)
	whole := n.analyse(t)
	if whole.Unfinished != nil || whole.Verdict != analysis.Regressed {
		t.Fatalf("the whole run: %s, %v", whole.Verdict, whole.Unfinished)
	}
	// The candidate's last episode, the control of nothing, and one judgement are missing.
	last := n.record.Episodes[len(n.record.Episodes)-1]
	n.record.Episodes = n.record.Episodes[:len(n.record.Episodes)-1]
	n.record.Judgements = n.record.Judgements[1:]
	stopped := &night{record: &replay.Record{Run: n.record.Run, Fixtures: n.record.Fixtures, Episodes: n.record.Episodes, Judgements: n.record.Judgements}}
	r := stopped.analyse(t)
	want := analysis.Unfinished{Episodes: 59, OfEpisodes: 60, Unplayed: 1, Unjudged: 1}
	if r.Unfinished == nil || *r.Unfinished != want || r.Verdict != analysis.Incomplete {
		t.Errorf("%s, %+v", r.Verdict, r.Unfinished)
	}
	if r.Pairs.Total != 19 {
		t.Errorf("%d pairs", r.Pairs.Total)
	}
	if text := strings.Join(r.Why, "\n"); !strings.Contains(text, "59 of 60 episodes are played, 1 pair unplayed, 1 compaction decision unjudged") || !strings.Contains(text, "so far, ") {
		t.Errorf("why: %s", text)
	}
	// An episode that the world cut short was played; it is no sign of a stop.
	last.Status, last.Reason = replay.Faulted, "503"
	stopped.record = &replay.Record{Run: n.record.Run, Fixtures: n.record.Fixtures, Episodes: append(n.record.Episodes, last)}
	stopped.items(fixtures.Constraint, "old", 2, 0, 0)
	stopped.items(fixtures.Constraint, "new", 2, 2, 0)
	if r := stopped.analyse(t); r.Unfinished != nil {
		t.Errorf("a faulted episode: %+v", r.Unfinished)
	}
}

func TestNothingIsPlayedYet(t *testing.T) {
	n := newNight(t, repeat("ppp", 4)...)
	n.record.Episodes = nil
	r := n.analyse(t)
	if r.Verdict != analysis.Incomplete || r.Unfinished.Episodes != 0 || r.Unfinished.OfEpisodes != 12 || r.Unfinished.Unplayed != 4 {
		t.Errorf("%s, %+v", r.Verdict, r.Unfinished)
	}
}
