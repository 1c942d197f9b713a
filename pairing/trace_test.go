package pairing

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
)

// What a trace did, as the checks see it, is what the episode did.
func TestTraceDoesWhatTheEpisodeDid(t *testing.T) {
	f := fixture("f")
	e := episode(f, "a", "done")
	twice := call(4, 2, "write", `{"path":"b"}`)
	twice.Call.ID = "c1" // a model may give one id twice
	e.Steps = []replay.Step{
		{Kind: replay.StepUser, Turn: 3, Text: "go"},
		{Kind: replay.StepText, Turn: 4, Text: "I will write."},
		call(4, 1, "write", `{"path":"a"}`), twice, call(5, 3, "read", `{}`),
		text(6, "done"),
		{Kind: replay.StepUser, Turn: 7, Text: "thanks"}, text(8, "ok"),
	}
	messages := Trace(e)
	want, _ := json.Marshal(e.Conduct().Actions)
	have, _ := json.Marshal(fixtures.RecordedConduct(messages).Actions)
	if !bytes.Equal(want, have) {
		t.Errorf("%s\nwant\n%s", have, want)
	}
	var out bytes.Buffer
	if err := WriteTrace(&out, e); err != nil {
		t.Fatal(err)
	}
	rec := fixtures.NewRecordReader(&out, "trace")
	n := 0
	for {
		r, err := rec.Next()
		if err != nil {
			break
		}
		if r.Message != nil {
			n++
		}
	}
	// Two users, three speakers and the calls' results.
	if n != 2+4+3 {
		t.Errorf("%d messages", n)
	}
}
