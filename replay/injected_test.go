package replay

import (
	"strings"
	"testing"

	"github.com/doubletake-dev/doubletake/fixtures"
)

func TestKeptOnFailure(t *testing.T) {
	message := func(id string) CompactMessage {
		return CompactMessage{ID: id, Message: fixtures.Message{Turn: 3, Role: fixtures.RoleUser, Content: "never push"}}
	}
	input := []CompactMessage{message("m1"), message("m2")}
	for _, c := range []struct {
		what    string
		out     Compaction
		known   bool
		counter string // "" where the rule held
	}{
		{"no failure", Compaction{Status: Compacted}, false, ""},
		{"failed", Compaction{Status: Failed, Injected: "error@1"}, true, ""},
		{"unchanged", Compaction{Status: Unchanged, Injected: "error@1"}, true, ""},
		{"compacted, and all is there", Compaction{Status: Compacted, Injected: "error@1", Messages: append([]CompactMessage{message("s0")}, input...)}, true, ""},
		{"compacted, and one is gone", Compaction{Status: Compacted, Injected: "garbage@1", Messages: input[:1]}, true, `its model failed (garbage@1), and turn 3 (user) is gone: "never push"`},
	} {
		result, known := keptOnFailure(input, &c.out)
		if known != c.known || known && (result.Rule != RuleFailure || result.Held != (c.counter == "") || !strings.Contains(result.Counter, c.counter)) {
			t.Errorf("%s: %+v, %v", c.what, result, known)
		}
	}
}

func TestNative(t *testing.T) {
	m := fixtures.Message{Content: "a summary", Extra: NativeExtra(NativeAnthropic, []byte(`{"type":"compaction"}`))}
	if string(Native(&m, NativeAnthropic)) != `{"type":"compaction"}` || Native(&m, NativeOpenAI) != nil || Native(&fixtures.Message{}, NativeOpenAI) != nil {
		t.Errorf("%s", m.Extra)
	}
	data, err := fixtures.MarshalPlain(m)
	if err != nil {
		t.Fatal(err)
	}
	var back fixtures.Message
	if err := back.UnmarshalJSON(data); err != nil || string(Native(&back, NativeAnthropic)) != `{"type":"compaction"}` {
		t.Errorf("%s comes back as %+v, %v", data, back, err)
	}
}
