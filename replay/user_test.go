package replay

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/doubletake-dev/doubletake/fixtures"
)

// simulating is an engine whose user is the second model.
func simulating(t *testing.T, agent, user Model, rec *fixtures.Recording) *Engine {
	t.Helper()
	e := engine(t, agent, rec)
	e.User = &User{Model: user, Name: "user-model"}
	return e
}

func TestASimulatedUserSpeaksAsOftenAsTheRecordedOne(t *testing.T) {
	rec := recording("S rules", "U one", "A two", "U three", "A four", "U five", "A six", "U seven", "A eight")
	agent := &script{replies: []any{callTool("c", "read"), say("to three"), say("to five"), say("to seven")}}
	user := &script{replies: []any{say(" five in other words \n"), say("seven")}}
	episode := playEpisode(t, simulating(t, agent, user, rec), fixtureOf("f", 2), reference())
	wantSteps(t, episode,
		"3 user three", "4 call #1 read(c) = result of read from tape", "5 text to three", "6 user five in other words",
		"7 text to five", "8 user seven", "9 text to seven")
	for i, s := range episode.Steps {
		if want := s.Kind == StepUser && i > 0; s.Simulated != want { // nothing was said before the first
			t.Errorf("step %d: simulated %v", i, s.Simulated)
		}
	}
	purposes := map[string]int{}
	for _, x := range episode.Exchanges {
		purposes[x.For]++
	}
	if purposes["agent"] != 4 || purposes["user"] != 2 {
		t.Errorf("exchanges %v", purposes)
	}
	first := user.asked[0]
	if first.Model != "user-model" || first.Seed != 7 || len(first.Tools) != 0 || first.Fresh {
		t.Errorf("asked %+v", first)
	}
	text := first.Messages[1].Content
	for _, want := range []string{"[user] one\n[assistant] two\n[user] three\n[assistant] to three\n", ">\nfive\n<"} {
		if !strings.Contains(text, want) {
			t.Errorf("the question lacks %q:\n%s", want, text)
		}
	}
	for _, never := range []string{"result of read", "rules", "seven", "four"} {
		if strings.Contains(text, never) {
			t.Errorf("the question holds %q:\n%s", never, text)
		}
	}
}

func TestTheSimulatedUserSeesNoCompactedContext(t *testing.T) {
	var asked [2]string
	for i, arm := range []Arm{reference(), compacting(keepLast)} {
		user := modelFunc(func(_ context.Context, r *Request) (*Reply, error) {
			asked[i] = contents(r.Messages)
			return say("five"), nil
		})
		agent := modelFunc(func(context.Context, *Request) (*Reply, error) { return say("ok"), nil })
		if e := playEpisode(t, simulating(t, agent, user, story()), fixtureOf("f", 2), arm); e.Status != Played {
			t.Fatalf("%s: %s", e.Status, e.Reason)
		}
	}
	if asked[0] == "" || asked[0] != asked[1] {
		t.Errorf("the user is asked\n%s\nand\n%s", asked[0], asked[1])
	}
}

func TestAUserThatFailsIsTheWorldsFault(t *testing.T) {
	for name, reply := range map[string]any{"an error": errors.New("503"), "nothing": say(" \n"), "half of it": &Reply{Message: say("fi").Message, FinishReason: "length"}} {
		t.Run(name, func(t *testing.T) {
			agent := modelFunc(func(context.Context, *Request) (*Reply, error) { return say("ok"), nil })
			episode := playEpisode(t, simulating(t, agent, &script{replies: []any{reply}}, story()), fixtureOf("f", 2), reference())
			if episode.Status != Faulted || !strings.Contains(episode.Reason, "the user's message") {
				t.Errorf("%s: %s", episode.Status, episode.Reason)
			}
		})
	}
}

func TestTheControlsUserIsAskedAfresh(t *testing.T) {
	agent := modelFunc(func(context.Context, *Request) (*Reply, error) { return say("ok"), nil })
	user := &script{replies: []any{say("five")}}
	playEpisode(t, simulating(t, agent, user, story()), fixtureOf("f", 2), Arm{Name: "control", Kind: ControlArm})
	if len(user.asked) != 1 || !user.asked[0].Fresh {
		t.Errorf("asked %+v", user.asked)
	}
}
