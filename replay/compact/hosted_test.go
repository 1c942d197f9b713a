package compact_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
	"github.com/doubletake-dev/doubletake/replay/compact"
	"github.com/doubletake-dev/doubletake/replay/compact/compacttest"
)

// The servers of this file were written from the providers' public documentation. They
// refuse what the real ones are documented to refuse.

func sum(data []byte) string {
	hash := sha256.Sum256(data)
	return hex.EncodeToString(hash[:8])
}

func refuse(w http.ResponseWriter, status int, format string, args ...any) {
	w.WriteHeader(status)
	body, _ := json.Marshal(map[string]any{"error": map[string]string{"type": "invalid_request_error", "message": fmt.Sprintf(format, args...)}})
	_, _ = w.Write(body)
}

// openAIItem is an input item as the server reads it.
type openAIItem struct {
	Type, Role string
	Content    []struct{ Type, Text string }
	CallID     string  `json:"call_id"`
	Name       string  `json:"name"`
	Arguments  *string `json:"arguments"`
	Output     *string `json:"output"`
	ID         string  `json:"id"`
	Encrypted  string  `json:"encrypted_content"`
}

// openAIServer answers POST /responses/compact. An item that it made must come back as
// it left.
func openAIServer(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Model    string
		Input    []json.RawMessage
		Previous any `json:"previous_response_id"`
	}
	data, _ := io.ReadAll(r.Body)
	switch {
	case r.Header.Get("Authorization") != "Bearer sk-hidden-hidden":
		refuse(w, 401, "Incorrect API key provided: %s", r.Header.Get("Authorization"))
		return
	case r.Method != http.MethodPost || r.URL.Path != "/v1/responses/compact":
		refuse(w, 404, "no such route")
		return
	case json.Unmarshal(data, &body) != nil || body.Model == "" || len(body.Input) == 0:
		refuse(w, 400, "model and input are required")
		return
	}
	open, output := map[string]bool{}, []string{}
	for _, raw := range body.Input {
		var item openAIItem
		if err := json.Unmarshal(raw, &item); err != nil {
			refuse(w, 400, "%v", err)
			return
		}
		switch item.Type {
		case "message":
			for _, part := range item.Content {
				if item.Role == "user" != (part.Type == "input_text") || item.Role == "assistant" != (part.Type == "output_text") {
					refuse(w, 400, "Invalid value: '%s' in a message of the %s", part.Type, item.Role)
					return
				}
			}
			if item.ID != "" {
				refuse(w, 400, "Item with id '%s' not found", item.ID)
				return
			}
			if item.Role == "user" {
				text, _ := json.Marshal(item.Content[0].Text)
				output = append(output, fmt.Sprintf(`{"id":"msg_%d","type":"message","status":"completed","role":"user","content":[{"type":"input_text","text":%s}]}`, len(output), text))
			}
		case "function_call":
			if item.Arguments == nil || item.CallID == "" {
				refuse(w, 400, "a function_call wants arguments and call_id")
				return
			}
			open[item.CallID] = true
		case "function_call_output":
			if !open[item.CallID] || item.Output == nil {
				refuse(w, 400, "No tool call found for function call output with call_id %s.", item.CallID)
				return
			}
			delete(open, item.CallID)
		case "compaction":
			if item.ID != "cmp_"+sum([]byte(item.Encrypted)) || string(raw) != fmt.Sprintf(`{"id":%q,"type":"compaction","encrypted_content":%q}`, item.ID, item.Encrypted) {
				refuse(w, 400, "the compaction item was changed: %s", raw)
				return
			}
		default:
			refuse(w, 400, "unknown item type %q", item.Type)
			return
		}
	}
	for id := range open {
		refuse(w, 400, "No tool output found for function call %s.", id)
		return
	}
	encrypted := "gAAAA" + sum(data) + "+/="
	output = append(output, fmt.Sprintf(`{"id":"cmp_%s","type":"compaction","encrypted_content":%q}`, sum([]byte(encrypted)), encrypted))
	_, _ = fmt.Fprintf(w, `{"id":"resp_1","object":"response.compaction","created_at":1,"output":[%s],"usage":{"input_tokens":%d,"input_tokens_details":{"cached_tokens":3},"output_tokens":10,"total_tokens":%d}}`,
		strings.Join(output, ","), len(data), len(data)+10)
}

// anthropicServer answers POST /messages with compaction on demand.
func anthropicServer(w http.ResponseWriter, r *http.Request) {
	type block struct {
		Type, Text, ID, Name, Content, Signature string
		Input                                    map[string]any
		ToolUseID                                string `json:"tool_use_id"`
	}
	var body struct {
		Model     string
		MaxTokens int `json:"max_tokens"`
		Messages  []struct {
			Role    string
			Content []json.RawMessage
		}
		Tools []struct {
			Name   string
			Schema map[string]any `json:"input_schema"`
		}
		Compaction struct{ Type, Instructions string }
	}
	data, _ := io.ReadAll(r.Body)
	switch {
	case r.Header.Get("X-Api-Key") != "sk-hidden-hidden":
		refuse(w, 401, "invalid x-api-key %s", r.Header.Get("X-Api-Key"))
		return
	case r.Header.Get("Anthropic-Beta") != "compact-2026-09-04" || r.Header.Get("Anthropic-Version") == "":
		refuse(w, 400, "compaction: Extra inputs are not permitted")
		return
	case json.Unmarshal(data, &body) != nil || body.Model == "" || body.MaxTokens < 1 || len(body.Messages) == 0 || body.Compaction.Type != "summarize":
		refuse(w, 400, "model, max_tokens and messages are required: %.300s", data)
		return
	}
	open := map[string]bool{}
	var said []string
	for i, m := range body.Messages {
		if m.Role != "user" && m.Role != "assistant" || len(m.Content) == 0 {
			refuse(w, 400, "messages.%d: role %q, %d blocks", i, m.Role, len(m.Content))
			return
		}
		if m.Role == "assistant" && len(open) > 0 {
			refuse(w, 400, "messages.%d: `tool_use` ids were found without `tool_result` blocks immediately after", i)
			return
		}
		for k, raw := range m.Content {
			var b block
			if err := json.Unmarshal(raw, &b); err != nil {
				refuse(w, 400, "messages.%d.content.%d: %v", i, k, err)
				return
			}
			if i == 0 && k == 0 && m.Role != "user" && b.Type != "compaction" {
				refuse(w, 400, "messages: first message must use the user role")
				return
			}
			switch b.Type {
			case "text":
				if strings.TrimSpace(b.Text) == "" {
					refuse(w, 400, "messages: text content blocks must be non-empty")
					return
				}
				said = append(said, b.Text)
			case "tool_use":
				if strings.ContainsAny(b.ID, " .:/") || b.ID == "" || b.Input == nil || m.Role != "assistant" {
					refuse(w, 400, "messages.%d.content.%d: a bad tool_use: %s", i, k, raw)
					return
				}
				open[b.ID] = true
			case "tool_result":
				if !open[b.ToolUseID] || m.Role != "user" {
					refuse(w, 400, "messages.%d.content.%d: unexpected `tool_use_id` found in `tool_result` blocks: %s", i, k, b.ToolUseID)
					return
				}
				delete(open, b.ToolUseID)
			case "compaction":
				if i != 0 || k != 0 || b.Signature != sum([]byte(b.Content)) || m.Role != "assistant" {
					refuse(w, 400, "messages.%d.content.%d: the compaction block must stand first and unchanged: %s", i, k, raw)
					return
				}
				said = append(said, b.Content)
			default:
				refuse(w, 400, "unknown block type %q", b.Type)
				return
			}
		}
	}
	if len(open) > 0 {
		refuse(w, 400, "the conversation ends with tool calls that have no results")
		return
	}
	text := fmt.Sprintf("They talked %d times; at last: %.40s %s", len(said), said[len(said)-1], body.Compaction.Instructions)
	quoted, _ := json.Marshal(text)
	_, _ = fmt.Fprintf(w, `{"id":"msg_1","type":"message","role":"assistant","content":[{"type":"compaction","content":%s,"signature":%q,"encrypted_content":null}],"stop_reason":"compaction","usage":{"input_tokens":7,"cache_read_input_tokens":5,"output_tokens":9}}`,
		quoted, sum([]byte(text)))
}

const hiddenKey = "sk-hidden-hidden"

// atOnce are options for a server of a test: another try comes without a wait.
func atOnce(server *httptest.Server) compact.HostedOptions {
	return compact.HostedOptions{BaseURL: server.URL + "/v1", Key: hiddenKey, Native: true, MaxWait: time.Nanosecond}
}

type closer interface {
	replay.Compactor
	compact.Digester
	io.Closer
}

func newPreset(name string, options compact.HostedOptions) (closer, error) {
	if name == compact.PresetOpenAI {
		return compact.NewOpenAICompact(options)
	}
	return compact.NewAnthropicCompact(options)
}

// preset makes a preset that asks a handler.
func preset(t testing.TB, name string, handler http.HandlerFunc, change func(*compact.HostedOptions)) closer {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	options := atOnce(server)
	if change != nil {
		change(&options)
	}
	c, err := newPreset(name, options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func presetServers() map[string]http.HandlerFunc {
	return map[string]http.HandlerFunc{compact.PresetOpenAI: openAIServer, compact.PresetAnthropic: anthropicServer}
}

func TestPresetConformance(t *testing.T) {
	for name, handler := range presetServers() {
		t.Run(name, func(t *testing.T) {
			compacttest.TestCompactor(t, func(t *testing.T) replay.Compactor { return preset(t, name, handler, nil) })
		})
	}
	t.Run("anthropic keeps turns", func(t *testing.T) {
		compacttest.TestCompactor(t, func(t *testing.T) replay.Compactor {
			return preset(t, compact.PresetAnthropic, anthropicServer, func(o *compact.HostedOptions) { o.Keep = 3 })
		})
	})
}

func TestOpenAICompactTwice(t *testing.T) {
	var bodies []string
	c := preset(t, compact.PresetOpenAI, func(w http.ResponseWriter, r *http.Request) {
		data, _ := io.ReadAll(r.Body)
		bodies = append(bodies, string(data))
		r.Body = io.NopCloser(strings.NewReader(string(data)))
		openAIServer(w, r)
	}, func(o *compact.HostedOptions) { o.Instructions = "Mind the rules." })
	req := request(100, "u never push", "c k1 read_file", "r k1 x", "a done")
	req.System = "Be careful."
	first, err := c.Compact(t.Context(), req)
	if err != nil || first.Status != replay.Compacted {
		t.Fatalf("%+v, %v", first, err)
	}
	want := `{"model":"agent-model","input":[` +
		`{"type":"message","role":"user","content":[{"type":"input_text","text":"never push"}]},` +
		`{"type":"function_call","call_id":"k1","name":"read_file","arguments":"{\"path\":\"a.go\"}"},` +
		`{"type":"function_call_output","call_id":"k1","output":"x"},` +
		`{"type":"message","role":"assistant","content":[{"type":"output_text","text":"done"}]}],"instructions":"Be careful.\n\nMind the rules."}`
	if bodies[0] != want {
		t.Errorf("it sent\n%s\nwant\n%s", bodies[0], want)
	}
	if got := ids(first.Messages); got != "m1 s0-1" || first.Messages[0].Kind != replay.KindKept || first.Messages[1].Kind != replay.KindOpaque || !first.Opaque {
		t.Errorf("messages %s: %+v", got, first.Messages)
	}
	if u := first.Exchanges[0].Usage; u.PromptTokens != len(want) || u.CachedTokens != 3 || u.CompletionTokens != 10 {
		t.Errorf("usage %+v", u)
	}
	if got := strings.Join(first.DroppedIDs, " "); got != "m2 m3 m4" || len(first.SummariserInput) != 4 {
		t.Errorf("dropped %s, summarised %v", got, first.SummariserInput)
	}
	if strings.Contains(first.Messages[1].Content, "gAAAA") || !strings.Contains(first.Messages[1].Content, "only its provider can read it") {
		t.Errorf("the opaque message reads %q", first.Messages[1].Content)
	}
	item := string(replay.Native(&first.Messages[1].Message, replay.NativeOpenAI))
	if !strings.Contains(string(first.State), item) {
		t.Errorf("the state %s lacks %s", first.State, item)
	}
	second := *req
	second.Compaction, second.PriorState = 1, first.State
	second.Messages = append(first.Messages[:2:2], replay.CompactMessage{ID: "m5", Message: fixtures.Message{Role: fixtures.RoleUser, Content: "go on"}})
	again, err := c.Compact(t.Context(), &second)
	if err != nil || again.Status != replay.Compacted || ids(again.Messages) != "m1 m5 s1-2" {
		t.Fatalf("%+v, %v", again, err)
	}
	if want := `"text":"never push"}],"role":"user","type":"message"},` + item + `,{"type":"message","role":"user","content":[{"type":"input_text","text":"go on"}]}]`; !strings.Contains(bodies[1], want) {
		t.Errorf("the second request is %s, want %s in it", bodies[1], want)
	}
	if next := string(replay.Native(&again.Messages[2].Message, replay.NativeOpenAI)); next == item || next == "" {
		t.Errorf("the second compaction carries the item %s, the first %s", next, item)
	}
	// What is not this compactor's state is said so.
	second.PriorState = json.RawMessage(`[1]`)
	if out, err := c.Compact(t.Context(), &second); err != nil || out.Status != replay.Failed {
		t.Errorf("%+v, %v", out, err)
	}
}

func TestOpenAICompactNeedsAModelThatCarriesIt(t *testing.T) {
	c := preset(t, compact.PresetOpenAI, func(http.ResponseWriter, *http.Request) { t.Error("it asked") }, func(o *compact.HostedOptions) { o.Native = false })
	out, err := c.Compact(t.Context(), request(0, "u one"))
	if err != nil || out.Status != replay.Refused || !strings.Contains(out.Reason, "set agent.api: responses") {
		t.Errorf("%+v, %v", out, err)
	}
}

func TestAnthropicCompactTwice(t *testing.T) {
	var bodies []string
	c := preset(t, compact.PresetAnthropic, func(w http.ResponseWriter, r *http.Request) {
		data, _ := io.ReadAll(r.Body)
		bodies = append(bodies, string(data))
		r.Body = io.NopCloser(strings.NewReader(string(data)))
		anthropicServer(w, r)
	}, func(o *compact.HostedOptions) { o.Keep, o.Instructions, o.Model = 1, "Keep names.", "claude-x" })
	req := request(100, "a hello", "u never push", "c k.1 read_file", "r k.1 x", "a done")
	req.System, req.Tools = "Be careful.", []fixtures.Tool{{Name: "read_file"}}
	first, err := c.Compact(t.Context(), req)
	if err != nil || first.Status != replay.Compacted {
		t.Fatalf("%+v, %v", first, err)
	}
	want := `{"model":"claude-x","max_tokens":1024,"system":"Be careful.","tools":[{"name":"read_file","input_schema":{"type":"object"}}],"messages":[` +
		`{"role":"user","content":[{"type":"text","text":"(The conversation begins with the assistant.)"}]},` +
		`{"role":"assistant","content":[{"type":"text","text":"hello"}]},` +
		`{"role":"user","content":[{"type":"text","text":"never push"}]},` +
		`{"role":"assistant","content":[{"type":"tool_use","id":"doubletake_call_1","name":"read_file","input":{"path":"a.go"}}]},` +
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"doubletake_call_1","content":"x"}]}],` +
		`"compaction":{"type":"summarize","instructions":"Keep names."}}`
	if bodies[0] != want {
		t.Errorf("it sent\n%s\nwant\n%s", bodies[0], want)
	}
	if got := ids(first.Messages); got != "s0 m5" || first.Opaque || first.Messages[0].Kind != replay.KindSummary {
		t.Errorf("messages %s: %+v", got, first.Messages)
	}
	summary := first.Messages[0]
	if !strings.Contains(summary.Content, "at last: never push Keep names.") || len(summary.SourceIDs) != 4 || first.Instructions != "Keep names." {
		t.Errorf("the summary is %+v", summary)
	}
	if u := first.Exchanges[0].Usage; u.PromptTokens != 12 || u.CachedTokens != 5 || u.CompletionTokens != 9 {
		t.Errorf("usage %+v", u)
	}
	second := *req
	second.Compaction, second.PriorState = 1, first.State
	second.Messages = append(first.Messages[:2:2], request(0, "u go on", "a yes").Messages...)
	second.Messages[2].ID, second.Messages[3].ID = "m6", "m7"
	again, err := c.Compact(t.Context(), &second)
	if err != nil || again.Status != replay.Compacted || ids(again.Messages) != "s1 m7" {
		t.Fatalf("%+v, %v", again, err)
	}
	native := string(replay.Native(&summary.Message, replay.NativeAnthropic))
	if !strings.Contains(bodies[1], `"messages":[{"role":"assistant","content":[`+native+`]},{"role":"assistant"`) {
		t.Errorf("the second request is %s, want %s first", bodies[1], native)
	}
	// Its own output with nothing new is left alone, without a request.
	second.Compaction, second.Messages = 2, again.Messages
	if out, err := c.Compact(t.Context(), &second); err != nil || out.Status != replay.Unchanged || len(bodies) != 2 {
		t.Errorf("%+v, %v after %d requests", out, err, len(bodies))
	}
}

// TestAnthropicCompactKeepsWhatWaits: the block is the assistant's, so that what the
// agent has still to answer must stand after it.
func TestAnthropicCompactKeepsWhatWaits(t *testing.T) {
	for _, c := range []struct {
		keep  int
		lines []string
		want  string
	}{
		{0, []string{"u one", "a two", "u three"}, "s0 m3"},
		{0, []string{"u one", "a two", "u three", "c k1 t", "r k1 x"}, "s0 m4 m5"},
		{2, []string{"u one", "a two", "u three", "c k1 t", "r k1 x"}, "s0 m3 m4 m5"},
		{0, []string{"u one", "a two"}, "s0"},
		{0, []string{"u one"}, "unchanged: the newest 1 turn are all there is"},
	} {
		compactor := preset(t, compact.PresetAnthropic, anthropicServer, func(o *compact.HostedOptions) { o.Keep = c.keep })
		out, err := compactor.Compact(t.Context(), request(0, c.lines...))
		if err != nil {
			t.Fatal(err)
		}
		got := ids(out.Messages)
		if out.Status != replay.Compacted {
			got = string(out.Status) + ": " + out.Reason
		}
		if got != c.want {
			t.Errorf("keep %d of %q: %s, want %s", c.keep, c.lines, got, c.want)
		}
	}
}

// answers is a handler that gives one answer after the other, the last one again.
func answers(list ...http.HandlerFunc) http.HandlerFunc {
	n := 0
	return func(w http.ResponseWriter, r *http.Request) {
		handler := list[min(n, len(list)-1)]
		n++
		handler(w, r)
	}
}

func TestPresetFindings(t *testing.T) {
	busy := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Retry-After", "86400") // MaxWait bounds it
		refuse(w, 429, "slow down, "+hiddenKey)
	}
	abort := func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }
	short := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "1000")
		_, _ = io.WriteString(w, `{"output":[`)
	}
	huge := func(w http.ResponseWriter, r *http.Request) {
		block := []byte(strings.Repeat(" ", 1<<20))
		for range 66 {
			if _, err := w.Write(block); err != nil {
				return
			}
		}
	}
	const failure = replay.CompactionStatus("an error")
	for _, c := range []struct {
		what   string
		preset string // "" for both
		server http.HandlerFunc
		status replay.CompactionStatus
		want   string
	}{
		{"busy, then fine", "", nil, replay.Compacted, ""},
		{"busy for ever", "", busy, failure, "429 Too Many Requests: slow down, [secret]"},
		{"broken for ever", "", saying(503, "\x1b[31mdown"), failure, "503 Service Unavailable: [31mdown"},
		{"overloaded", compact.PresetAnthropic, saying(529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`), failure, "529 : Overloaded"},
		{"no answer", "", abort, failure, "EOF"},
		{"half an answer", "", short, failure, "broke off"},
		{"a wrong key", "", func(w http.ResponseWriter, r *http.Request) { refuse(w, 401, "bad key %s", hiddenKey) }, failure, "401 Unauthorized: bad key [secret]"},
		{"no such model", "", func(w http.ResponseWriter, r *http.Request) { refuse(w, 404, "no such model") }, failure, "404 Not Found: no such model"},
		{"a redirect", "", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/other", http.StatusTemporaryRedirect)
		}, failure, "307 Temporary Redirect"},
		{"a refusal", "", func(w http.ResponseWriter, r *http.Request) { refuse(w, 400, "context too long") }, replay.Refused, "400 Bad Request: context too long"},
		{"too large", "", saying(413, "too large"), replay.Refused, "413 Request Entity Too Large: too large"},
		{"garbage", "", saying(200, "<html>"), replay.Failed, "answered with no JSON: "},
		{"nothing", "", saying(200, ""), replay.Failed, "an empty body"},
		{"a list", "", saying(200, "[]"), replay.Failed, "another shape"},
		{"huge", "", huge, replay.Failed, "more than 64 MiB"},
		{"an error with status 200", "", saying(200, `{"error":{"message":"server_error"}}`), replay.Failed, "an error: server_error"},
		{"no output", compact.PresetOpenAI, saying(200, `{}`), replay.Failed, `an object without "output"`},
		{"no items", compact.PresetOpenAI, saying(200, `{"output":[]}`), replay.Failed, "nothing would be left"},
		{"no compaction", compact.PresetOpenAI, saying(200, `{"output":[{"type":"message","role":"user","content":"one"}]}`), replay.Failed, "none of which is a compaction"},
		{"a system message", compact.PresetOpenAI, saying(200, `{"output":[{"type":"message","role":"system","content":"one"}]}`), replay.Failed, "item 1"},
		{"an item that is none", compact.PresetOpenAI, saying(200, `{"output":[7]}`), replay.Failed, "item 1"},
		{"an orphaned result", compact.PresetOpenAI, saying(200, `{"output":[{"type":"function_call_output","call_id":"k9","output":"x"},{"type":"compaction"}]}`), replay.Failed, "do not belong together"},
		{"a hostile type", compact.PresetOpenAI, saying(200, `{"output":[{"type":"x\u001b[31m\n/etc"},{"type":"compaction"}]}`), replay.Compacted, ""},
		{"a reply instead", compact.PresetAnthropic, saying(200, `{"content":[{"type":"text","text":"hi"}],"stop_reason":"end_turn"}`), replay.Failed, `the stop reason "end_turn"`},
		{"refused by the model", compact.PresetAnthropic, saying(200, `{"content":[],"stop_reason":"refusal"}`), replay.Refused, "refused"},
		{"cut short", compact.PresetAnthropic, saying(200, `{"content":[],"stop_reason":"max_tokens"}`), replay.Failed, "cut short"},
		{"two blocks", compact.PresetAnthropic, saying(200, `{"content":[{},{}],"stop_reason":"compaction"}`), replay.Failed, "2 content blocks, want one"},
		{"another block", compact.PresetAnthropic, saying(200, `{"content":[{"type":"text"}],"stop_reason":"compaction"}`), replay.Failed, `of the type "text"`},
		{"a failed compaction", compact.PresetAnthropic, saying(200, `{"content":[{"type":"compaction","content":null}],"stop_reason":"compaction"}`), replay.Failed, "without a summary"},
		{"an empty summary", compact.PresetAnthropic, saying(200, `{"content":[{"type":"compaction","content":" "}],"stop_reason":"compaction"}`), replay.Failed, "an empty summary"},
	} {
		for name, fine := range presetServers() {
			if c.preset != "" && c.preset != name {
				continue
			}
			t.Run(c.what+"/"+name, func(t *testing.T) {
				handler := c.server
				if handler == nil {
					handler = answers(busy, abort, short, fine)
				}
				req := request(0, "u one", "c k1 t", "r k1 x", "a four")
				out, err := preset(t, name, handler, nil).Compact(t.Context(), req)
				if c.status == failure {
					if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), hiddenKey) || strings.ContainsRune(err.Error(), '\x1b') {
						t.Errorf("%+v, error %v, want one with %q", out, err, c.want)
					}
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				if out.Status != c.status || !strings.Contains(out.Reason, c.want) {
					t.Errorf("%s (%s), want %s with %q", out.Status, out.Reason, c.status, c.want)
				}
				if err := compacttest.Check(req, out); err != nil {
					t.Error(err)
				}
				for _, m := range out.Messages {
					if strings.ContainsRune(m.Content, '\x1b') {
						t.Errorf("a message holds a control character: %q", m.Content)
					}
				}
			})
		}
	}
}

func TestPresetTimeLimitAndCancel(t *testing.T) {
	for name := range presetServers() {
		hang := func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			<-r.Context().Done()
		}
		c := preset(t, name, hang, func(o *compact.HostedOptions) { o.Timeout, o.Tries = 50*time.Millisecond, 2 })
		if out, err := c.Compact(t.Context(), request(0, "u one", "a two")); err == nil || !strings.Contains(err.Error(), "no answer within 50ms") {
			t.Errorf("%s: %+v, %v", name, out, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		c = preset(t, name, func(w http.ResponseWriter, r *http.Request) { cancel(); hang(w, r) }, nil)
		if out, err := c.Compact(ctx, request(0, "u one", "a two")); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %+v, %v", name, out, err)
		}
	}
}

func TestNewPreset(t *testing.T) {
	for _, c := range []struct {
		name    string
		options compact.HostedOptions
		want    string
	}{
		{compact.PresetOpenAI, compact.HostedOptions{}, "OPENAI_API_KEY is not set"},
		{compact.PresetAnthropic, compact.HostedOptions{}, "ANTHROPIC_API_KEY is not set"},
		{compact.PresetOpenAI, compact.HostedOptions{Keep: 2, Key: "k"}, "no choice of what stays"},
		{compact.PresetAnthropic, compact.HostedOptions{Keep: -1, Key: "k"}, "keep is -1"},
		{compact.PresetAnthropic, compact.HostedOptions{Key: "a\nb"}, "no header may"},
		{compact.PresetAnthropic, compact.HostedOptions{Key: "k", Timeout: -1}, "timeout"},
		{compact.PresetOpenAI, compact.HostedOptions{BaseURL: "https://me:hidden@host/v1"}, "has a user"},
		{compact.PresetOpenAI, compact.HostedOptions{BaseURL: "https://host/v1?key=hidden"}, "a query"},
		{compact.PresetOpenAI, compact.HostedOptions{BaseURL: "host:80/v1"}, "no http or https address"},
		{compact.PresetOpenAI, compact.HostedOptions{BaseURL: "http://%zz"}, "no URL"},
	} {
		if _, err := newPreset(c.name, c.options); err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "hidden") {
			t.Errorf("%s %+v: error %v, want one with %q", c.name, c.options, err, c.want)
		}
	}
}

func TestPresetDigest(t *testing.T) {
	seen := map[fixtures.Hash]string{}
	for what, o := range map[string]compact.HostedOptions{
		"plain":        {},
		"model":        {Model: "another"},
		"instructions": {Instructions: "Keep names."},
		"keep":         {Keep: 2},
		"elsewhere":    {BaseURL: "http://host/v1"},
		"native":       {Native: true},
	} {
		o.Key = hiddenKey
		if o.BaseURL != "" {
			bare := o
			bare.BaseURL = strings.TrimSuffix(o.BaseURL, "v1")
			a, errA := compact.NewAnthropicCompact(o)
			b, errB := compact.NewAnthropicCompact(bare)
			if errA != nil || errB != nil || a.Digest() != b.Digest() {
				t.Errorf("%s and %s are two addresses: %v, %v", o.BaseURL, bare.BaseURL, errA, errB)
			}
		}
		c, err := compact.NewAnthropicCompact(o)
		if err != nil {
			t.Fatal(err)
		}
		if other, taken := seen[c.Digest()]; taken {
			t.Errorf("%s and %s have one digest", what, other)
		}
		seen[c.Digest()] = what
		o.Key = "another-key"
		if same, err := compact.NewAnthropicCompact(o); err != nil || same.Digest() != c.Digest() {
			t.Errorf("%s: the digest depends on the key", what)
		}
	}
}

// FuzzPresetAnswer gives both presets any answer: nothing panics, and what comes back
// keeps what every compaction must.
func FuzzPresetAnswer(f *testing.F) {
	f.Add([]byte(`{"output":[{"type":"message","role":"user","content":[{"type":"input_text","text":"one"}]},{"type":"compaction","encrypted_content":"x"}],"usage":{"input_tokens":-1}}`))
	f.Add([]byte(`{"output":[{"type":"function_call","call_id":"k1","name":"t","arguments":"{"},{"type":"function_call_output","call_id":"k1","output":[{"type":"input_text","text":"x"}]},{"type":"reasoning"},{"type":"compaction"}]}`))
	f.Add([]byte(`{"content":[{"type":"compaction","content":"a summary","signature":"x"}],"stop_reason":"compaction","usage":{"output_tokens":1e3}}`))
	f.Add([]byte(`{"content":null,"stop_reason":"refusal","error":null}`))
	var answer []byte
	handler := func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = w.Write(answer)
	}
	presets := map[string]closer{}
	for name := range presetServers() {
		presets[name] = preset(f, name, handler, nil)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		answer = data
		for name, c := range presets {
			req := request(0, "u one", "c k1 t", "r k1 x", "a four")
			out, err := c.Compact(t.Context(), req)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if err := compacttest.Check(req, out); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
	})
}
