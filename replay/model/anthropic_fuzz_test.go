package model

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
)

// FuzzAnthropicAnswer: whatever an answer holds, it is a reply that makes sense or a fault
// of the provider.
func FuzzAnthropicAnswer(f *testing.F) {
	f.Add(200, []byte(goodMessage))
	f.Add(200, []byte(`{"type":"message","content":[{"type":"tool_use","id":"","name":"x","input":[1]}],"stop_reason":"tool_use","usage":{"input_tokens":-5,"cache_read_input_tokens":9e99}}`))
	f.Add(200, []byte(`{"type":"message","content":[{"type":"text","text":7},null],"stop_reason":"odd"}`))
	f.Add(529, []byte(`{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`))
	f.Add(400, []byte(`{"error":"temperature is not supported"}`))
	f.Add(302, []byte(`<html>`))
	type said struct {
		status int
		body   []byte
	}
	var next atomic.Pointer[said]
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		now := next.Load()
		w.WriteHeader(now.status)
		_, _ = w.Write(now.body)
	}))
	f.Cleanup(server.Close)
	f.Fuzz(func(t *testing.T, status int, body []byte) {
		if status < 200 || status > 599 || status == 204 || status == 304 {
			t.Skip("no answer of a server")
		}
		next.Store(&said{status, body})
		client, err := NewAnthropic(Endpoint{BaseURL: server.URL, Tries: 1}, AnthropicOptions{})
		if err != nil {
			t.Fatal(err)
		}
		defer client.wire.client.CloseIdleConnections()
		request := ask("m")
		request.JSON = true
		reply, err := client.Complete(t.Context(), request)
		var provider *ProviderError
		switch {
		case err != nil && !errors.As(err, &provider):
			t.Fatalf("an error of nobody: %v", err)
		case err != nil:
			return
		case status != 200:
			t.Fatalf("a reply with status %d: %+v", status, reply)
		}
		u := reply.Usage
		if u.PromptTokens < 0 || u.CompletionTokens < 0 || u.CachedTokens < 0 || u.CachedTokens > u.PromptTokens || reply.FinishReason == "" || reply.Message.Role != fixtures.RoleAssistant {
			t.Fatalf("%+v", reply)
		}
		for _, call := range reply.Message.ToolCalls {
			if !json.Valid(call.Arguments) || call.ID == "" {
				t.Fatalf("call %+v", call)
			}
		}
	})
}

// FuzzAnthropicConversation: whatever messages hold, they go out in a form that the API
// takes, or are refused before anything is sent.
func FuzzAnthropicConversation(f *testing.F) {
	f.Add([]byte(`[{"role":"user","content":"a"},{"role":"assistant","tool_calls":[{"id":"x.1","name":"fs.read","arguments":{"a":1}}]},{"role":"tool","tool_call_id":"x.1","content":""}]`))
	f.Add([]byte(`[{"role":"assistant","content":"Summary"},{"role":"user","content":"go on"},{"role":"system","content":"x"}]`))
	f.Add([]byte(`[{"role":"user","content":"a"},{"role":"assistant","tool_calls":[{"id":"","name":"","arguments":"{\"a\":1}"}]},{"role":"tool","content":" "},{"role":"user","content":"b"}]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var messages []fixtures.Message
		if json.Unmarshal(data, &messages) != nil {
			t.Skip("no messages")
		}
		for i := range messages {
			messages[i].Extra = nil // what a provider made goes out as it is
		}
		client, err := NewAnthropic(Endpoint{BaseURL: "http://x"}, AnthropicOptions{PromptCache: true})
		if err != nil {
			t.Fatal(err)
		}
		request := &replay.Request{Model: "claude-sonnet-4-6", Messages: messages}
		said, err := newDialogue(request)
		if err != nil {
			if !errors.Is(err, ErrConversation) {
				t.Fatal(err)
			}
			return
		}
		params, err := client.params(request, said)
		if err != nil {
			t.Fatal(err)
		}
		body, err := json.Marshal(params)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := readMessagesRequest(body); err != nil {
			t.Fatalf("%s\nfor %s: %v", body, data, err)
		}
	})
}
