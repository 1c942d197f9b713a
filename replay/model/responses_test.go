package model

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
	"github.com/doubletake-dev/doubletake/replay/model/modeltest"
)

const responsesKey = "sk-responses/hidden"

// responsesAt is a client of a handler, for which another try comes without a wait.
func responsesAt(t testing.TB, handler http.HandlerFunc) *Responses {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	client, err := NewResponses(Endpoint{BaseURL: server.URL + "/v1/", Key: responsesKey})
	if err != nil {
		t.Fatal(err)
	}
	client.pause = func(time.Duration) time.Duration { return 0 }
	return client
}

// responsesEcho speaks the Responses API: it calls the first tool where the user spoke
// last, and else answers with a hash of what it was sent.
func responsesEcho(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	var request struct {
		Input []struct{ Type, Role string }
		Tools []struct{ Name string }
		Text  json.RawMessage
	}
	if err := json.Unmarshal(body, &request); err != nil || r.URL.Path != "/v1/responses" {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	output := `{"id":"m","type":"message","role":"assistant","content":[{"type":"output_text","text":"echo ` + string(fixtures.HashBytes(body)) + `"}]}`
	switch last := request.Input[len(request.Input)-1]; {
	case len(request.Text) > 0:
		output = `{"type":"message","role":"assistant","content":[{"type":"output_text","text":"{\"answer\":\"yes\"}"}]}`
	case len(request.Tools) > 0 && last.Role == "user":
		output = `{"type":"reasoning","id":"r","summary":[]},{"type":"function_call","call_id":"c","name":"` + request.Tools[0].Name + `","arguments":"{\"path\":\"x\"}"}`
	}
	_, _ = io.WriteString(w, `{"id":"resp","model":"m","status":"completed","error":null,"output":[`+output+`],"usage":{"input_tokens":9,"input_tokens_details":{"cached_tokens":4},"output_tokens":2}}`)
}

func TestResponsesConform(t *testing.T) {
	modeltest.TestModel(t, func(t *testing.T) replay.Model { return responsesAt(t, responsesEcho) })
}

func TestResponsesRequest(t *testing.T) {
	var body, key string
	client := responsesAt(t, func(w http.ResponseWriter, r *http.Request) {
		data, _ := io.ReadAll(r.Body)
		body, key = string(data), r.Header.Get("Authorization")
		r.Body = io.NopCloser(strings.NewReader(body))
		responsesEcho(w, r)
	})
	item := `{"id":"cmp_1","type":"compaction","encrypted_content":"x+/="}`
	reply, err := client.Complete(t.Context(), &replay.Request{
		Model: "gpt", Seed: 7, MaxTokens: 50, JSON: true,
		Messages: []fixtures.Message{
			{Role: "system", Content: "Be careful."},
			{Role: "assistant", Content: "[a marker]", Extra: replay.NativeExtra(replay.NativeOpenAI, json.RawMessage(item))},
			{Role: "user", Content: "go on"},
			{Role: "assistant", ToolCalls: []fixtures.ToolCall{{ID: "k1", Name: "read", Arguments: json.RawMessage(`{"a":1}`)}}},
			{Role: "tool", ToolCallID: "k1", Content: ""},
		},
		Tools: []fixtures.Tool{{Name: "read", Description: "reads"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"model":"gpt","input":[{"type":"message","role":"system","content":[{"type":"input_text","text":"Be careful."}]},` + item +
		`,{"type":"message","role":"user","content":[{"type":"input_text","text":"go on"}]},{"type":"function_call","call_id":"k1","name":"read","arguments":"{\"a\":1}"},` +
		`{"type":"function_call_output","call_id":"k1","output":""}],"tools":[{"type":"function","name":"read","description":"reads","parameters":{"type":"object","properties":{}},"strict":false}],` +
		`"parallel_tool_calls":true,"temperature":0,"max_output_tokens":50,"text":{"format":{"type":"json_object"}},"store":false}`
	if body != want || key != "Bearer "+responsesKey {
		t.Errorf("it sent %s with %q, want\n%s", body, key, want)
	}
	if u := reply.Usage; u.PromptTokens != 9 || u.CachedTokens != 4 || u.CompletionTokens != 2 || reply.Model != "m" || reply.FinishReason != "stop" || reply.LatencyMS == nil {
		t.Errorf("reply %+v", reply)
	}
	if reply.Sent != "no seed" || client.Dialect(&replay.Request{Model: "gpt"}) != "no seed" || client.Dialect(&replay.Request{Model: "o3"}) != "no temperature, no seed" {
		t.Errorf("it says that it sent %q", reply.Sent)
	}
	if _, err := client.Complete(t.Context(), &replay.Request{Model: "o3", Messages: []fixtures.Message{{Role: "user", Content: "hi"}}}); err != nil || strings.Contains(body, "temperature") {
		t.Errorf("a model that refuses a temperature was sent %s, %v", body, err)
	}
	if client.Identity() == strings.TrimSuffix(client.endpoint.BaseURL, "/") {
		t.Error("its answers are stored as those of Chat Completions")
	}
}

// TestNativeItemsAreOfTheKey: two contexts that read the same but carry other items have
// two answers.
func TestNativeItemsAreOfTheKey(t *testing.T) {
	asked := 0
	client := responsesAt(t, func(w http.ResponseWriter, r *http.Request) { asked++; responsesEcho(w, r) })
	stored, err := NewCached(client, client.Identity(), t.TempDir(), CacheWrite)
	if err != nil {
		t.Fatal(err)
	}
	ask := func(item string) string {
		t.Helper()
		reply, err := stored.Complete(t.Context(), &replay.Request{Model: "gpt", Messages: []fixtures.Message{
			{Role: "assistant", Content: "[a marker]", Extra: replay.NativeExtra(replay.NativeOpenAI, json.RawMessage(item))}, {Role: "user", Content: "go on"},
		}})
		if err != nil {
			t.Fatal(err)
		}
		return reply.Message.Content
	}
	one := ask(`{"type":"compaction","encrypted_content":"x"}`)
	two := ask(`{"type":"compaction","encrypted_content":"y"}`)
	if again := ask(`{"type":"compaction","encrypted_content":"x"}`); one == two || again != one || asked != 2 {
		t.Errorf("%q, %q and %q after %d requests", one, two, again, asked)
	}
}

func TestResponsesAnswers(t *testing.T) {
	const fine = `{"status":"completed","output":[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"fine"}]}]}`
	plain := func(status int, text string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			w.WriteHeader(status)
			_, _ = io.WriteString(w, text)
		}
	}
	after := func(first http.HandlerFunc) http.HandlerFunc {
		n := 0
		return func(w http.ResponseWriter, r *http.Request) {
			if n++; n > 1 {
				first = plain(200, fine)
			}
			first(w, r)
		}
	}
	for _, c := range []struct {
		what    string
		handler http.HandlerFunc
		want    string // the content and the finish reason, or an error's part
	}{
		{"fine", plain(200, fine), "fine, stop"},
		{"busy", after(plain(429, `{"error":{"message":"slow down"}}`)), "fine, stop"},
		{"broken", after(plain(500, "")), "fine, stop"},
		{"HTML", after(plain(200, "<html>")), "fine, stop"},
		{"an error with status 200", after(plain(200, `{"error":{"message":"server_error"}}`)), "fine, stop"},
		{"failed", after(plain(200, `{"status":"failed","output":[]}`)), "fine, stop"},
		{"no answer", after(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }), "fine, stop"},
		{"cut short", plain(200, `{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"output":[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"fi"}]}]}`), "fi, length"},
		{"filtered", plain(200, `{"status":"incomplete","incomplete_details":{"reason":"content_filter"},"output":[]}`), ", content_filter"},
		{"two texts", plain(200, `{"output":[{"type":"message","role":"assistant","content":"one"},{"type":"reasoning"},{"type":"message","role":"assistant","content":"two"}]}`), "one\ntwo, stop"},
		{"refused", plain(400, `{"error":{"message":"no tool output for `+responsesKey+`"}}`), "400 Bad Request: no tool output for [key]"},
		{"garbage for ever", plain(200, "<html>"), "the answer is no response"},
		{"no output", plain(200, `{}`), "the answer has no output"},
		{"items that are none", plain(200, `{"output":[7]}`), "the answer cannot be read: item 1"},
		{"a redirect", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/other", http.StatusTemporaryRedirect)
		}, "307 Temporary Redirect"},
	} {
		t.Run(c.what, func(t *testing.T) {
			reply, err := responsesAt(t, c.handler).Complete(t.Context(), &replay.Request{Model: "gpt", Messages: []fixtures.Message{{Role: "user", Content: "hi"}}})
			got := ""
			if err == nil {
				got = reply.Message.Content + ", " + reply.FinishReason
			} else {
				got = err.Error()
			}
			if err == nil && got != c.want || err != nil && !strings.Contains(got, c.want) || strings.Contains(got, responsesKey) {
				t.Errorf("%s, want %s", got, c.want)
			}
			var provider *ProviderError
			if err != nil && !errors.As(err, &provider) {
				t.Errorf("the error %v is no provider's", err)
			}
		})
	}
	for _, base := range []string{"", "host/v1", "http://me:hidden@host/v1"} {
		if _, err := NewResponses(Endpoint{BaseURL: base}); err == nil || strings.Contains(err.Error(), "hidden") {
			t.Errorf("%q: error %v", base, err)
		}
	}
}

// FuzzResponsesAnswer reads any answer: it is a reply or a provider's error.
func FuzzResponsesAnswer(f *testing.F) {
	f.Add([]byte(`{"status":"completed","output":[{"type":"function_call","call_id":"","name":"t","arguments":"{"},{"type":"message","role":"assistant","content":[{"type":"refusal","refusal":"no"}]}],"usage":{"input_tokens":-1,"output_tokens":1e99}}`))
	f.Add([]byte(`{"error":"text","output":null}`))
	f.Add([]byte(`[]`))
	client, err := NewResponses(Endpoint{BaseURL: "http://host/v1", Key: responsesKey})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		reply, err := client.read(&http.Response{StatusCode: http.StatusOK, Header: http.Header{}}, data)
		if err != nil {
			return
		}
		if u := reply.Usage; u.PromptTokens < 0 || u.CompletionTokens < 0 || u.CachedTokens > u.PromptTokens {
			t.Errorf("usage %+v", u)
		}
		for _, call := range reply.Message.ToolCalls {
			if call.ID == "" || call.Name == "" || !json.Valid(call.Arguments) {
				t.Errorf("call %+v", call)
			}
		}
	})
}
