package replay

import (
	"errors"
	"strings"
	"testing"

	"github.com/doubletake-dev/doubletake/fixtures"
)

// closing are tools that count how often they were closed.
type closing struct {
	Tools
	closed *int
	err    error
}

// Close counts.
func (c closing) Close() error {
	*c.closed++
	return c.err
}

func TestTheToolsOfAnEpisodeAreClosed(t *testing.T) {
	for _, c := range []struct {
		name    string
		replies []any
		err     error
		status  EpisodeStatus
		reason  string
	}{
		{"at its end", []any{say("a"), say("b"), say("c")}, nil, Played, ""},
		{"after a fault", []any{errors.New("503")}, nil, Faulted, "503"},
		{"and a fault stays the reason", []any{errors.New("503")}, errors.New("the folder is busy"), Faulted, "503"},
		{"tools that don't close", []any{say("a"), say("b"), say("c")}, errors.New("the folder is busy"), Faulted, "closing the tools: the folder is busy"},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := engine(t, &script{replies: c.replies}, story())
			closed := 0
			e.NewTools = func(f *fixtures.Fixture, rec *fixtures.Recording, fork int) (Tools, error) {
				tools, err := echoTools(f, rec, fork)
				return closing{tools, &closed, c.err}, err
			}
			episode := playEpisode(t, e, fixtureOf("f", 2), reference())
			if closed != 1 || episode.Status != c.status || !strings.Contains(episode.Reason, c.reason) {
				t.Errorf("closed %d times, %s %q", closed, episode.Status, episode.Reason)
			}
		})
	}
}

func TestCallsThatTheRecordingMadeBefore(t *testing.T) {
	rec := recording("U go", "C a read", "R a one", "C b write", "R b two", "A said", "U on", "C a read", "R a three", "A done")
	call := func(name, id string) *Reply {
		r := callTool("x", name)
		r.Message.ToolCalls[0].Arguments = []byte(`{ "id" : "` + id + `" }`)
		return r
	}
	f := fixtureOf("f")
	f.Fork = 4 // after "said"
	e := engine(t, &script{replies: []any{call("read", "a"), call("write", "b"), call("write", "./b"), call("read", "new"), say("done")}}, rec)
	made := func(episode *Episode) []int {
		var list []int
		for _, s := range episode.Steps {
			if s.Kind == StepCall {
				list = append(list, s.MadeInTurn)
			}
		}
		return list
	}
	turn := rec.Messages[3].Turn
	episode := playEpisode(t, e, f, reference())
	// The recording reads a again after the fork, so reading it is no repetition.
	if got := made(episode); len(got) != 4 || got[0] != 0 || got[1] != turn || got[2] != 0 || got[3] != 0 {
		t.Errorf("made in turns %v, want only the second, in turn %d", got, turn)
	}
	plain := *episode
	plain.Steps = append([]Step{}, episode.Steps...)
	for i := range plain.Steps {
		plain.Steps[i].MadeInTurn = 0
	}
	if plain.Digest() != episode.Digest() {
		t.Error("what follows from the recording is part of the digest")
	}
	f.Tools = &fixtures.ToolSettings{Normalise: []fixtures.ToolRule{{Argument: "id", As: fixtures.AsPath}}}
	e.Model = &script{replies: []any{call("write", "./b"), say("done")}}
	if got := made(playEpisode(t, e, f, reference())); len(got) != 1 || got[0] != turn {
		t.Errorf("by the fixture's rules: made in turns %v, want %d", got, turn)
	}
}

func TestDivergentSteps(t *testing.T) {
	for _, c := range []struct {
		step Step
		want bool
	}{
		{Step{Kind: StepCall, Source: Miss}, true}, {Step{Kind: StepCall, Source: FromTape}, false},
		{Step{Kind: StepCall, Source: FromSandbox}, false}, {Step{Kind: StepText, Source: Miss}, false},
	} {
		if got := c.step.Divergent(); got != c.want {
			t.Errorf("%+v: %v", c.step, got)
		}
	}
}
