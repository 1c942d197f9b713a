package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/doubletake-dev/doubletake/fixtures/adversarial"
	"github.com/doubletake-dev/doubletake/replay/offline"
)

// stopProvider names a script's value that holds the providers to stop.
type stopProvider struct{}

// provider runs a provider on a port, as scripts know no other way to learn its address:
//
//	provider start            PROVIDER becomes its base URL, which ends in /v1
//	provider start messages   the same through Anthropic's Messages API
//	provider stop             nobody listens there any more
func provider(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 || len(args) > 2 || args[0] != "start" && args[0] != "stop" {
		ts.Fatalf("usage: provider start [messages] | provider stop")
	}
	servers, _ := ts.Value(stopProvider{}).(*[]*httptest.Server)
	if args[0] == "stop" {
		for _, s := range *servers {
			s.Close()
		}
		*servers = nil
		return
	}
	files, err := adversarial.Files()
	ts.Check(err)
	library, err := offline.LoadLibrary(files)
	ts.Check(err)
	handler := http.Handler(offline.NewHandler(library))
	if len(args) == 2 {
		handler = &messagesProvider{chat: handler}
	}
	server := httptest.NewServer(handler)
	*servers = append(*servers, server)
	ts.Setenv("PROVIDER", server.URL+"/v1")
	ts.Defer(server.Close)
}

// sameReport fails where two report.json differ in anything but the name of the run and
// what its answers cost.
func sameReport(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: samereport REPORT.json REPORT.json")
	}
	var texts [2]string
	for i, name := range args {
		var fields map[string]json.RawMessage
		ts.Check(json.Unmarshal([]byte(ts.ReadFile(name)), &fields))
		delete(fields, "run")
		delete(fields, "usage")
		data, err := json.MarshalIndent(fields, "", " ")
		ts.Check(err)
		texts[i] = string(data)
	}
	if texts[0] != texts[1] {
		a, b := strings.Split(texts[0], "\n"), strings.Split(texts[1], "\n")
		for i := range min(len(a), len(b)) {
			if a[i] != b[i] {
				ts.Fatalf("%s and %s differ:\n%s\n%s", args[0], args[1], a[i], b[i])
			}
		}
		ts.Fatalf("%s and %s differ in length", args[0], args[1])
	}
}

// messagesProvider speaks the Messages API and has the questions answered by a provider of
// Chat Completions.
type messagesProvider struct{ chat http.Handler }

type messagesBlock struct {
	Type      string          `json:"type"`
	Text      string          `json:"text,omitempty"`
	ID        string          `json:"id,omitempty"`
	Name      string          `json:"name,omitempty"`
	Input     json.RawMessage `json:"input,omitempty"`
	ToolUseID string          `json:"tool_use_id,omitempty"`
	Content   []messagesBlock `json:"content,omitempty"`
}

func (p *messagesProvider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	fail := func(status int, text string) {
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(map[string]any{"type": "error", "error": map[string]any{"type": "invalid_request_error", "message": text}})
	}
	if r.URL.Path != "/v1/messages" || r.Header.Get("Anthropic-Version") == "" || r.Header.Get("X-Api-Key") != "key-of-the-test" {
		fail(http.StatusUnauthorized, "want POST /v1/messages with a version and a key, have "+r.URL.Path)
		return
	}
	var request struct {
		Model       string          `json:"model"`
		MaxTokens   int             `json:"max_tokens"`
		Temperature json.RawMessage `json:"temperature"`
		System      []messagesBlock `json:"system"`
		Messages    []struct {
			Role    string          `json:"role"`
			Content []messagesBlock `json:"content"`
		} `json:"messages"`
		Tools []struct {
			Name        string          `json:"name"`
			Description string          `json:"description,omitempty"`
			Schema      json.RawMessage `json:"input_schema"`
		} `json:"tools"`
	}
	body, err := io.ReadAll(r.Body)
	if err == nil {
		err = json.Unmarshal(body, &request)
	}
	if err != nil || string(request.Temperature) != "0" || request.MaxTokens < 1 {
		fail(http.StatusBadRequest, "want max_tokens and a temperature of 0")
		return
	}
	type m = map[string]any
	var messages, tools []m
	const asJSON = "Answer with one JSON object and with nothing else."
	chat := m{"model": request.Model, "temperature": 0, "seed": 7}
	for _, b := range request.System {
		if b.Text == asJSON {
			chat["response_format"] = m{"type": "json_object"}
			continue
		}
		messages = append(messages, m{"role": "system", "content": b.Text})
	}
	for _, turn := range request.Messages {
		text, calls := "", []m{}
		for _, b := range turn.Content {
			switch b.Type {
			case "tool_result":
				result := ""
				for _, c := range b.Content {
					result += c.Text
				}
				messages = append(messages, m{"role": "tool", "tool_call_id": b.ToolUseID, "content": result})
			case "tool_use":
				calls = append(calls, m{"id": b.ID, "type": "function", "function": m{"name": b.Name, "arguments": string(b.Input)}})
			default:
				text += b.Text
			}
		}
		switch {
		case len(calls) > 0:
			messages = append(messages, m{"role": turn.Role, "content": text, "tool_calls": calls})
		case text != "":
			messages = append(messages, m{"role": turn.Role, "content": text})
		}
	}
	for _, tool := range request.Tools {
		tools = append(tools, m{"type": "function", "function": m{"name": tool.Name, "description": tool.Description, "parameters": tool.Schema}})
	}
	chat["messages"] = messages
	if len(tools) > 0 {
		chat["tools"] = tools
	}
	data, err := json.Marshal(chat)
	if err != nil {
		fail(http.StatusBadRequest, err.Error())
		return
	}
	inner := httptest.NewRequest(http.MethodPost, "/v1/chat/completions", bytes.NewReader(data))
	inner.Header.Set("Content-Type", "application/json")
	answer := httptest.NewRecorder()
	p.chat.ServeHTTP(answer, inner)
	var got struct {
		Choices []struct {
			Message struct {
				Content string `json:"content"`
				Calls   []struct {
					ID       string `json:"id"`
					Function struct{ Name, Arguments string }
				} `json:"tool_calls"`
			}
		}
		Usage struct {
			Prompt     int `json:"prompt_tokens"`
			Completion int `json:"completion_tokens"`
		}
	}
	if err := json.Unmarshal(answer.Body.Bytes(), &got); err != nil || answer.Code != http.StatusOK || len(got.Choices) == 0 {
		fail(http.StatusBadRequest, answer.Body.String())
		return
	}
	content, stop := []messagesBlock{}, "end_turn"
	if said := got.Choices[0].Message.Content; said != "" {
		content = append(content, messagesBlock{Type: "text", Text: said})
	}
	for _, call := range got.Choices[0].Message.Calls {
		stop = "tool_use"
		content = append(content, messagesBlock{Type: "tool_use", ID: call.ID, Name: call.Function.Name, Input: json.RawMessage(call.Function.Arguments)})
	}
	_ = json.NewEncoder(w).Encode(m{
		"id": "msg_1", "type": "message", "role": "assistant", "model": request.Model, "content": content, "stop_reason": stop,
		"usage": m{"input_tokens": got.Usage.Prompt, "output_tokens": got.Usage.Completion},
	})
}
