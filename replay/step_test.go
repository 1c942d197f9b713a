package replay

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/doubletake-dev/doubletake/fixtures"
)

// stepping is an engine in step mode.
func stepping(t *testing.T, model Model, rec *fixtures.Recording) *Engine {
	t.Helper()
	e := engine(t, model, rec)
	e.Settings.Mode = StepByStep
	e.NewTools = func(*fixtures.Fixture, *fixtures.Recording, int) (Tools, error) {
		return nil, errors.New("nothing is called in step mode")
	}
	return e
}

// errand is a recording with calls after the fork, which is turn 2.
func errand() *fixtures.Recording {
	return recording("S rules", "U one", "A two", "U three", "C r1 read", "+C r2 read", "R r1 first", "R r2 second", "A five", "U six")
}

func TestEachRecordedTurnIsAskedOnce(t *testing.T) {
	same := callTool("x1", "read", "x2", "write")
	same.Message.ToolCalls[0].Arguments = json.RawMessage(`{ "id": "r2" }`) // the recorded one in other bytes
	model := &script{replies: []any{same, say("own five"), say("own seven")}}
	episode := playEpisode(t, stepping(t, model, errand()), fixtureOf("f", 2), reference())
	if episode.Status != Played || episode.End != Answered {
		t.Fatalf("%s, %s: %s", episode.Status, episode.End, episode.Reason)
	}
	wantSteps(t, episode,
		"3 user three", "4 call #1 read(x1) = second from tape", "4 call #2 write(x2) =  from not_called",
		"5 text own five", "6 user six", "7 text own seven")
	prefix := "system:rules | user:one | assistant:two | user:three"
	calls := prefix + " | assistant:+r1+r2 | tool:first@r1 | tool:second@r2"
	for i, want := range []string{prefix, calls, calls + " | assistant:five | user:six"} {
		if got := contents(model.asked[i].Messages); got != want {
			t.Errorf("request %d: %s\nwant %s", i+1, got, want)
		}
	}
	recorded := &Episode{Steps: episode.Recorded}
	wantSteps(t, recorded, "3 user three", "4 call #1 read(r1) = first from tape", "4 call #2 read(r2) = second from tape", "5 text five", "6 user six")
}

func TestAStepDoesNotDrift(t *testing.T) {
	// What the agent does at one turn stands in no later question: only the arm's context
	// before the fork differs.
	var asked [2][]string
	for i, arm := range []Arm{reference(), compacting(keepLast)} {
		model := modelFunc(func(_ context.Context, r *Request) (*Reply, error) {
			asked[i] = append(asked[i], contents(r.Messages))
			return say("something else entirely"), nil
		})
		if e := playEpisode(t, stepping(t, model, errand()), fixtureOf("f", 2), arm); e.Status != Played {
			t.Fatalf("%s: %s", e.Status, e.Reason)
		}
	}
	if len(asked[0]) != 3 || len(asked[1]) != 3 {
		t.Fatalf("%d and %d questions", len(asked[0]), len(asked[1]))
	}
	for k := range asked[0] {
		first, _ := strings.CutPrefix(asked[0][k], "system:rules | user:one | assistant:two")
		second, _ := strings.CutPrefix(asked[1][k], "system:rules | user:note | assistant:two")
		if first != second || strings.Contains(first, "something else") {
			t.Errorf("question %d:\n%s\n%s", k+1, asked[0][k], asked[1][k])
		}
	}
}

func TestStepsAtTheEdges(t *testing.T) {
	tests := []struct {
		name string
		rec  *fixtures.Recording
		fork int
		asks int
	}{
		{"nothing after the fork, and nothing open", recording("U one", "A two"), 2, 0},
		{"nothing after the fork, and the user waits", recording("U one", "A two", "U three"), 3, 1},
		{"the recording ends with a result", recording("U one", "A two", "U three", "C c read", "R c x"), 2, 2},
		{"the recording ends with the agent's word", recording("U one", "A two", "U three", "A four"), 2, 1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			asks := 0
			model := modelFunc(func(context.Context, *Request) (*Reply, error) { asks++; return say("ok"), nil })
			f := fixtureOf("f", 2)
			f.Fork = fixtures.Fork(test.fork)
			episode := playEpisode(t, stepping(t, model, test.rec), f, reference())
			if episode.Status != Played || asks != test.asks {
				t.Errorf("%s, %d questions, want %d", episode.Status, asks, test.asks)
			}
		})
	}
}

func TestAFaultOfTheWorldInAStep(t *testing.T) {
	model := &script{replies: []any{say("ok"), errors.New("503")}}
	episode := playEpisode(t, stepping(t, model, errand()), fixtureOf("f", 2), reference())
	if episode.Status != Faulted || !strings.Contains(episode.Reason, "turn 5") {
		t.Errorf("%s: %s", episode.Status, episode.Reason)
	}
}

func TestParseMode(t *testing.T) {
	for name, want := range map[string]Mode{"": ClosedLoop, "closed": ClosedLoop, "step": StepByStep} {
		if got, err := ParseMode(name); err != nil || got != want {
			t.Errorf("%q: %v, %v", name, got, err)
		}
		if want.String() != "closed" && want.String() != "step" {
			t.Errorf("%q is called %q", name, want)
		}
	}
	if _, err := ParseMode("open"); err == nil || !strings.Contains(err.Error(), "closed") {
		t.Errorf("error %v", err)
	}
	if text := toJSON(t, Settings{}); strings.Contains(text, `"mode"`) {
		t.Errorf("the closed loop is stored: %s", text)
	}
}

func TestAnotherModeIsAnotherPlan(t *testing.T) {
	set := []*fixtures.Fixture{fixtureOf("f", 2)}
	arms := []Arm{reference()}
	dir := t.TempDir()
	mustClose(t, openFolder(t, dir, set, arms))
	plan := planOf(set, arms)
	plan.Settings.Mode = StepByStep
	if _, err := OpenFolder(dir, plan, set, testTime); !errors.Is(err, ErrOtherPlan) || !strings.Contains(err.Error(), "mode closed there, step now") {
		t.Errorf("error %v", err)
	}
	plan = planOf(set, arms)
	plan.Lineage.UserModel = "u"
	if _, err := OpenFolder(dir, plan, set, testTime); !errors.Is(err, ErrOtherPlan) || !strings.Contains(err.Error(), "the recorded user there, a user simulated by u now") {
		t.Errorf("error %v", err)
	}
}
