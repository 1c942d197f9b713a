package analysis

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
)

func TestRepeatsByArm(t *testing.T) {
	f, g := &fixtures.Fixture{ConversationID: "f", Hash: "f"}, &fixtures.Fixture{ConversationID: "g", Hash: "g"}
	play := func(f *fixtures.Fixture, arm string, replicate int, names ...string) *replay.Episode {
		e := &replay.Episode{Key: replay.Key{Fixture: f.Hash, Arm: arm, Replicate: replicate}}
		for _, name := range names {
			e.Steps = append(e.Steps, replay.Step{Kind: replay.StepCall, MadeInTurn: 2, Call: &fixtures.ToolCall{Name: name, Arguments: json.RawMessage(`{}`)}})
		}
		return e
	}
	record := &replay.Record{Fixtures: []*fixtures.Fixture{f, g}, Episodes: []*replay.Episode{
		play(f, "reference", 0), play(g, "reference", 0),
		play(f, "old", 0, "read"), play(g, "old", 0),
		play(f, "new", 0, "write", "write", "read"), play(g, "new", 0, "read", "bash"), play(g, "new", 1, "write"),
	}}
	got := repeats(record)
	if len(got) != 2 {
		t.Fatalf("%+v: want two arms", got)
	}
	if c := got["new"]; c.Writes != 2 || c.Reads != 2 || c.Unclear != 1 || c.WriteConversations != 1 || c.Conversations != 2 {
		t.Errorf("new: %+v", c)
	}
	a := &analyser{report: Report{Arms: []replay.ArmInfo{{Name: "reference"}, {Name: "old"}, {Name: "new"}}, Repeats: got}}
	a.noteRepeats()
	want := "made again after the fork under old: 1 read\nmade again after the fork under new: 2 writes in 1 conversation, 2 reads, 1 call that may be either"
	if notes := strings.Join(a.notes, "\n"); notes != want {
		t.Errorf("notes\n%s\nwant\n%s", notes, want)
	}
	if none := repeats(&replay.Record{Fixtures: record.Fixtures, Episodes: record.Episodes[:2]}); none != nil {
		t.Errorf("a run without any: %+v", none)
	}
}
