package responses_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
	"github.com/doubletake-dev/doubletake/replay/responses"
)

func TestItems(t *testing.T) {
	compaction := `{"id":"cmp_1","type":"compaction","encrypted_content":"x+/="}`
	for _, c := range []struct {
		what    string
		message fixtures.Message
		want    string
	}{
		{"system", fixtures.Message{Role: "system", Content: "Be careful."}, `{"type":"message","role":"system","content":[{"type":"input_text","text":"Be careful."}]}`},
		{"user", fixtures.Message{Role: "user", Content: "a <b>"}, `{"type":"message","role":"user","content":[{"type":"input_text","text":"a <b>"}]}`},
		{"nothing", fixtures.Message{Role: "user"}, `{"type":"message","role":"user","content":[{"type":"input_text","text":""}]}`},
		{"parts", fixtures.Message{Role: "user", Content: "look\n[image]", Parts: json.RawMessage(`[]`)}, `{"type":"message","role":"user","content":[{"type":"input_text","text":"look\n[image]"}]}`},
		{"calls", fixtures.Message{Role: "assistant", Content: "ok", ToolCalls: []fixtures.ToolCall{
			{ID: "k1", Name: "read", Arguments: json.RawMessage(`{ "a": 1 }`)}, {ID: "k2", Name: "run", Arguments: json.RawMessage(`"no json"`)},
		}}, `{"type":"message","role":"assistant","content":[{"type":"output_text","text":"ok"}]}` +
			`{"type":"function_call","call_id":"k1","name":"read","arguments":"{\"a\":1}"}{"type":"function_call","call_id":"k2","name":"run","arguments":"no json"}`},
		{"an empty result", fixtures.Message{Role: "tool", ToolCallID: "k1"}, `{"type":"function_call_output","call_id":"k1","output":""}`},
		{"native", fixtures.Message{Role: "assistant", Content: "marker", Extra: replay.NativeExtra(replay.NativeOpenAI, json.RawMessage(compaction))}, compaction},
		{"native of another", fixtures.Message{Role: "user", Content: "a summary", Extra: replay.NativeExtra(replay.NativeAnthropic, json.RawMessage(compaction))}, `{"type":"message","role":"user","content":[{"type":"input_text","text":"a summary"}]}`},
	} {
		items, err := responses.Items([]fixtures.Message{c.message})
		var got strings.Builder
		for _, raw := range items {
			got.Write(raw)
		}
		if err != nil || got.String() != c.want {
			t.Errorf("%s: %s, %v, want %s", c.what, got.String(), err, c.want)
		}
	}
	if _, err := responses.Items([]fixtures.Message{{Extra: replay.NativeExtra(replay.NativeOpenAI, json.RawMessage(`{`))}}); err == nil {
		t.Error("a native item that is no JSON is sent")
	}
}

func TestReadItems(t *testing.T) {
	for _, c := range []struct{ what, items, want string }{
		{"a text", `[{"type":"message","role":"user","content":"one"}]`, "user one"},
		{"parts", `[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"one"},{"type":"refusal","refusal":"no"}]}]`, "assistant one\nno"},
		{"calls of one message", `[{"type":"message","role":"assistant","content":"ok"},{"type":"function_call","call_id":"a","name":"t","arguments":"{}"},{"type":"function_call","call_id":"b","name":"t","arguments":""}]`, "assistant ok a:t:{} b:t:{}"},
		{"calls alone", `[{"type":"function_call","call_id":"a","name":"t","arguments":"no json"},{"type":"function_call_output","call_id":"a","output":"x"},{"type":"function_call","call_id":"b","name":"t","arguments":{"a":1}}]`, `assistant  a:t:"no json"|tool x a|assistant  b:t:{"a":1}`},
		{"an output of parts", `[{"type":"function_call_output","call_id":"a","output":[{"type":"input_text","text":"x"},{"type":"input_image"}]}]`, "tool x\n[image] a"},
		{"unknown", `[{"type":"reasoning","id":"r"}]`, "opaque [reasoning: only its provider can read it]"},
		{"hostile", `[{"type":"a\u001b[2J]\n<x>"}]`, "opaque [a__2J___x_: only its provider can read it]"},
		{"a call after an opaque item", `[{"type":"reasoning"},{"type":"function_call","call_id":"a","name":"t"}]`, "opaque [reasoning: only its provider can read it]|assistant  a:t:{}"},
		{"no object", `[1]`, "error: item 1"},
		{"a system message", `[{"type":"message","role":"developer","content":"x"}]`, "error: item 1"},
		{"a call without a name", `[{"type":"function_call","call_id":"a"}]`, "error: item 1"},
	} {
		var items []json.RawMessage
		if err := json.Unmarshal([]byte(c.items), &items); err != nil {
			t.Fatal(err)
		}
		read, err := responses.ReadItems(items)
		var got []string
		for _, r := range read {
			text := r.Message.Role + " " + r.Message.Content
			if r.Opaque {
				text = "opaque " + r.Message.Content
			}
			for _, call := range r.Message.ToolCalls {
				text += fmt.Sprintf(" %s:%s:%s", call.ID, call.Name, call.Arguments)
			}
			if r.Message.ToolCallID != "" {
				text += " " + r.Message.ToolCallID
			}
			got = append(got, text)
		}
		if have := strings.Join(got, "|"); err != nil && !strings.HasPrefix(c.want, "error: ") || err != nil && !strings.Contains("error: "+err.Error(), c.want) || err == nil && have != c.want {
			t.Errorf("%s: %q, %v, want %q", c.what, have, err, c.want)
		}
	}
}

func TestPortable(t *testing.T) {
	for in, want := range map[string]string{
		`{"id":"msg_1","type":"message","status":"completed","role":"user","content":"x"}`: `{"content":"x","role":"user","type":"message"}`,
		`{"id":"cmp_1","type":"compaction","encrypted_content":"x"}`:                       `{"id":"cmp_1","type":"compaction","encrypted_content":"x"}`,
		`7`: `7`,
	} {
		if got := string(responses.Portable(json.RawMessage(in))); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}

// TestRoundTrip: what is written is read back as it was, call by call.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOf(rapid.SampledFrom([]rune("ab \n\"<é好\u2028")))
		var messages []fixtures.Message
		for i := range rapid.IntRange(0, 8).Draw(t, "messages") {
			switch rapid.IntRange(0, 2).Draw(t, "kind") {
			case 0:
				messages = append(messages, fixtures.Message{Role: "user", Content: text.Draw(t, "user")})
			case 1:
				id := fmt.Sprintf("k%d", i)
				messages = append(messages, fixtures.Message{Role: "assistant", Content: text.Draw(t, "said"), ToolCalls: []fixtures.ToolCall{{ID: id, Name: "t", Arguments: json.RawMessage(`{"n":1}`)}}},
					fixtures.Message{Role: "tool", ToolCallID: id, Content: text.Draw(t, "result")})
			default:
				messages = append(messages, fixtures.Message{Role: "assistant", Content: "x" + text.Draw(t, "assistant")}, fixtures.Message{Role: "user", Content: "and?"})
			}
		}
		items, err := responses.Items(messages)
		if err != nil {
			t.Fatal(err)
		}
		read, err := responses.ReadItems(items)
		if err != nil {
			t.Fatal(err)
		}
		if len(read) != len(messages) {
			t.Fatalf("%d messages come back as %d", len(messages), len(read))
		}
		for i := range read {
			if !reflect.DeepEqual(read[i].Message, messages[i]) {
				t.Fatalf("%+v comes back as %+v", messages[i], read[i].Message)
			}
		}
	})
}

func FuzzReadItems(f *testing.F) {
	f.Add([]byte(`[{"type":"message","role":"user","content":[{"type":"input_text","text":"x"}]},{"type":"function_call","name":"t","arguments":"{"},{"type":"compaction"}]`))
	f.Add([]byte(`[{"type":"function_call_output","output":[{"type":"x"}]},{},null]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var items []json.RawMessage
		if json.Unmarshal(data, &items) != nil {
			return
		}
		read, err := responses.ReadItems(items)
		if err != nil {
			return
		}
		var messages []fixtures.Message
		for _, r := range read {
			messages = append(messages, r.Message)
		}
		if _, err := responses.Items(messages); err != nil {
			t.Errorf("what was read cannot be sent: %v", err)
		}
		for _, raw := range items {
			responses.Portable(raw)
			responses.IsCompaction(raw)
		}
	})
}
