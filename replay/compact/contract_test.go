package compact

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
)

// FuzzDecodeOutput: whatever a compactor answers, the answer is a compaction that
// can be played on or an error that can be shown.
func FuzzDecodeOutput(f *testing.F) {
	for _, seed := range []string{
		"", "{", "null", "[]", "Traceback", `{"status":"unchanged"}`, `{"status":"compacted","messages":[{"id":"m1","role":"user","content":"hi"}]}`,
		`{"status":"compacted","messages":[{"id":"m1","role":"user","content":"bye"},{"id":"m1","role":"user","content":"hi"},{"role":"user","content":["a",{"type":"image"}]}]}`,
		`{"status":"compacted","messages":[{"role":"assistant","content":null,"tool_calls":[{"id":"k","function":{"name":"t","arguments":"{}"}}]},{"role":"tool","tool_call_id":"k","content":"x"}],"state":null,"usage":{"prompt_tokens":-1}}`,
		`{"status":"compacted","messages":[{"id":"s0-1","role":"user","content":"a"},{"role":"user","content":"b","kind":"opaque"}]}{`,
		"\ufeff{\"status\":\"error\",\"error\":{\"message\":\"x\"}}", "{\"status\":\"\x00\xff\"}",
	} {
		f.Add([]byte(seed))
	}
	req := &replay.CompactRequest{Messages: []replay.CompactMessage{
		{ID: "m1", Message: fixtures.Message{Turn: 1, Role: fixtures.RoleUser, Content: "hi"}},
		{ID: "m2", Message: fixtures.Message{Turn: 2, Role: fixtures.RoleAssistant, ToolCalls: []fixtures.ToolCall{{ID: "k", Name: "t", Arguments: json.RawMessage(`{}`)}}}},
		{ID: "m3", Message: fixtures.Message{Turn: 2, Role: fixtures.RoleTool, ToolCallID: "k", Content: "x"}},
	}}
	f.Fuzz(func(t *testing.T, printed []byte) {
		out, err := decodeOutput(printed, req, source{"the compactor printed", "nothing on stdout", " (logs belong on stderr)"})
		if err != nil {
			if len(err.Error()) > 4000 || !utf8.ValidString(err.Error()) || strings.ContainsAny(err.Error(), "\x00\x1b\r") {
				t.Fatalf("an error that cannot be shown: %q", err.Error())
			}
			return
		}
		if out.Status != replay.Compacted {
			if out.Reason == "" || len(out.Messages) > 0 {
				t.Fatalf("%+v", out)
			}
			return
		}
		if err := replay.CheckPairs(replay.Texts(out.Messages)); err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		for _, m := range out.Messages {
			if m.ID == "" || seen[m.ID] || m.Kind == "" {
				t.Fatalf("message %+v in %+v", m, out.Messages)
			}
			seen[m.ID] = true
			for _, c := range m.ToolCalls {
				if !json.Valid(c.Arguments) {
					t.Fatalf("arguments %q", c.Arguments)
				}
			}
		}
	})
}

// FuzzJoinLines: whatever a file of lines holds, what is made of it is one JSON
// object or an error that can be shown.
func FuzzJoinLines(f *testing.F) {
	for _, seed := range []string{
		"", "\n", "{", "[]", "null", `{"status":"unchanged"}`, `{"role":"user","content":"x"}`, "\ufeff{\"status\":\"compacted\"}\n{\"role\":\"user\"}\r\n\n[1]",
		"{\"status\":\"compacted\",\"messages\":[]}\n{}", "{}\n{\"status\":\"error\"}", "{\"status\":null}", "\x1b\xff",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		answer, err := joinLines(data)
		if err != nil {
			if len(err.Error()) > 1000 || !utf8.ValidString(err.Error()) || strings.ContainsAny(err.Error(), "\x00\x1b\r\n") {
				t.Fatalf("an error that cannot be shown: %q", err.Error())
			}
			return
		}
		var object map[string]json.RawMessage
		if err := json.Unmarshal(answer, &object); err != nil || object["status"] == nil {
			t.Fatalf("%s: %v", answer, err)
		}
	})
}

func TestFence(t *testing.T) {
	text := "plain"
	tag := string(fixtures.HashBytes([]byte(text)))
	if got := fence(text); got != "<conversation-"+tag+">\nplain\n</conversation-"+tag+">" {
		t.Errorf("%q", got)
	}
}
