package replay

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/doubletake-dev/doubletake/fixtures"
)

// sized loads a fixture whose recording is about so long.
func sized(t *testing.T, name string, bytesLong int) *fixtures.Fixture {
	t.Helper()
	rec := recording("U "+strings.Repeat("x", bytesLong), "A yes")
	rec.Header.ID = name
	var out bytes.Buffer
	if err := fixtures.WriteRecording(&out, rec); err != nil {
		t.Fatal(err)
	}
	set, err := fixtures.LoadUnmanifested(fstest.MapFS{
		name + ".json":                  {Data: fmt.Appendf(nil, `{"conversation_id":%q,"turns":2,"compactions_expected":0,"must_survive":[]}`, name)},
		"recordings/" + name + ".jsonl": {Data: out.Bytes()},
	}, "made")
	if err != nil {
		t.Fatal(err)
	}
	return set.Fixtures[0]
}

func TestRecordingsInPlayFitIntoTheRoom(t *testing.T) {
	half, small, huge := sized(t, "half", inPlay/2), sized(t, "small", 100), sized(t, "huge", inPlay+1)
	ended, end := context.WithCancel(t.Context())
	end()
	e := &Engine{Settings: Settings{Concurrency: 8}}
	s := e.newSlots()
	first := e.begin(t.Context(), s, half)
	if first == nil {
		t.Fatal("there is no room for the first")
	}
	// With its context at an end, who would have to wait gives up.
	if e.begin(ended, s, half) != nil {
		t.Error("two of more than half of the room are in play at once")
	}
	another := e.begin(t.Context(), s, small)
	if another == nil || e.begin(ended, s, huge) != nil {
		t.Error("beside a small one there is no room, or there is for a huge one")
	}
	first()
	another()
	alone := e.begin(t.Context(), s, huge)
	if alone == nil {
		t.Fatal("one that is larger than the room is never played")
	}
	alone()
	if n := len(s.free); n != 0 {
		t.Errorf("%d slots were not given back", n)
	}
	elsewhere := &Engine{Settings: Settings{Concurrency: 8}, Executor: InProcess{}}
	s = elsewhere.newSlots()
	for range 3 {
		if elsewhere.begin(t.Context(), s, half) == nil {
			t.Error("what is held elsewhere waits for room here")
		}
	}
}
