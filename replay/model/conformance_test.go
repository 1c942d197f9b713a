package model

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
	"github.com/doubletake-dev/doubletake/replay/model/modeltest"
)

func TestModelsConform(t *testing.T) {
	chat := func(t *testing.T) *Client {
		server := httptest.NewServer(http.HandlerFunc(chatEcho))
		t.Cleanup(server.Close)
		client, err := NewClient(Endpoint{BaseURL: server.URL + "/v1", Key: testKey})
		if err != nil {
			t.Fatal(err)
		}
		return client
	}
	messages := func(t *testing.T) *Anthropic {
		server := newMessagesServer(t)
		client, err := NewAnthropic(Endpoint{BaseURL: server.URL, Key: testKey}, AnthropicOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return client
	}
	counter, err := NewCounter("gpt-4.1")
	if err != nil {
		t.Fatal(err)
	}
	store := t.TempDir()
	for name, open := range map[string]func(*testing.T) replay.Model{
		"chat completions": func(t *testing.T) replay.Model { return chat(t) },
		"messages":         func(t *testing.T) replay.Model { return messages(t) },
		"messages with marks for the cache": func(t *testing.T) replay.Model {
			client := messages(t)
			client.options.PromptCache = true
			return client
		},
		"stored": func(t *testing.T) replay.Model { return cached(t, chat(t), store, CacheWrite, "r") },
		"remembered": func(t *testing.T) replay.Model {
			c := cached(t, messages(t), "", CacheOff, "r")
			c.Dialect = messages(t).Dialect
			return c
		},
		"paid":    func(t *testing.T) replay.Model { return NewBudgeted(chat(t), NewBudget(0), nil) },
		"limited": func(t *testing.T) replay.Model { return NewLimited(messages(t), NewLimiter(0, 0), counter) },
	} {
		t.Run(name, func(t *testing.T) { modeltest.TestModel(t, open) })
	}
}

// chatEcho speaks Chat Completions: it calls the first tool where the user spoke last, and
// else answers with a hash of what it was sent.
func chatEcho(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	var request struct {
		Messages []struct{ Role string }
		Tools    []struct{ Function struct{ Name string } }
		Format   json.RawMessage `json:"response_format"`
	}
	if err := json.Unmarshal(body, &request); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	message := map[string]any{"role": "assistant", "content": "echo " + string(fixtures.HashBytes(body))}
	reason := "stop"
	switch {
	case len(request.Format) > 0:
		message["content"] = `{"answer":"yes"}`
	case len(request.Tools) > 0 && request.Messages[len(request.Messages)-1].Role == "user":
		reason = "tool_calls"
		message["content"] = nil
		message["tool_calls"] = []any{map[string]any{"id": "call_1", "type": "function", "function": map[string]any{"name": request.Tools[0].Function.Name, "arguments": `{"path":"x"}`}}}
	}
	answer, err := json.Marshal(map[string]any{
		"id": "1", "model": "m", "usage": map[string]any{"prompt_tokens": 9, "completion_tokens": 2},
		"choices": []any{map[string]any{"finish_reason": reason, "message": message}},
	})
	if err != nil {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, "%s", answer)
}
