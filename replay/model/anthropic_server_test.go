package model

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/doubletake-dev/doubletake/fixtures"
)

// messagesServer speaks the Messages API and is as strict as the documented API: what
// that refuses with status 400 it refuses, too.
type messagesServer struct {
	*httptest.Server
	mu      sync.Mutex
	bodies  []string
	headers []http.Header
	paths   []string
	// answer replaces the echo where it is set; it gets the number of the request, from 1.
	answer func(w http.ResponseWriter, r *http.Request, n int)
}

func newMessagesServer(t *testing.T) *messagesServer {
	t.Helper()
	s := &messagesServer{}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

func (s *messagesServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	s.mu.Lock()
	s.bodies, s.headers, s.paths = append(s.bodies, string(body)), append(s.headers, r.Header.Clone()), append(s.paths, r.URL.Path)
	n := len(s.bodies)
	s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	request, err := readMessagesRequest(body)
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, `{"type":"error","error":{"type":"invalid_request_error","message":%q}}`, err.Error())
		return
	}
	if s.answer != nil {
		s.answer(w, r, n)
		return
	}
	content := []any{map[string]any{"type": "text", "text": "echo " + string(fixtures.HashBytes(body))}}
	stop := "end_turn"
	last := request.Messages[len(request.Messages)-1]
	switch {
	case strings.Contains(string(request.System), jsonInstruction):
		content[0] = map[string]any{"type": "text", "text": "```json\n{\"answer\":\"yes\"}\n```"}
	case len(request.Tools) > 0 && last.Content[len(last.Content)-1].Type == "text":
		stop = "tool_use"
		content = []any{map[string]any{"type": "tool_use", "id": "toolu_1", "name": request.Tools[0].Name, "input": map[string]any{"path": "x"}}}
	}
	answer, err := json.Marshal(map[string]any{
		"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-test", "content": content, "stop_reason": stop,
		"usage": map[string]any{"input_tokens": 9, "output_tokens": 2, "cache_read_input_tokens": 3, "cache_creation_input_tokens": 1},
	})
	if err != nil {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	_, _ = w.Write(answer)
}

type sentMessages struct {
	Model       string
	MaxTokens   *int            `json:"max_tokens"`
	Temperature json.RawMessage `json:"temperature"`
	System      json.RawMessage
	Messages    []struct {
		Role    string
		Content []struct {
			Type      string
			Text      *string
			ID        string
			Name      string
			Input     json.RawMessage
			ToolUseID string `json:"tool_use_id"`
			Content   []struct{ Type, Text string }
		}
	}
	Tools []struct {
		Name   string
		Schema struct{ Type string } `json:"input_schema"`
	}
}

// readMessagesRequest says what the API would refuse in a request.
func readMessagesRequest(body []byte) (*sentMessages, error) {
	var r sentMessages
	if err := json.Unmarshal(body, &r); err != nil {
		return nil, err
	}
	if r.Model == "" || r.MaxTokens == nil || *r.MaxTokens < 1 || len(r.Messages) == 0 {
		return nil, errors.New("model, max_tokens and messages are required")
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(body, &all); err != nil {
		return nil, err
	}
	if _, ok := all["seed"]; ok {
		return nil, errors.New("seed: extra inputs are not permitted")
	}
	name := regexp.MustCompile(`^[a-zA-Z0-9_-]+$`)
	for _, tool := range r.Tools {
		if !name.MatchString(tool.Name) || len(tool.Name) > 64 || tool.Schema.Type != "object" {
			return nil, fmt.Errorf("tools: bad name or schema of %q", tool.Name)
		}
	}
	if r.Messages[0].Role != "user" {
		return nil, errors.New("messages: first message must use the user role")
	}
	var open, used map[string]bool
	used = map[string]bool{}
	for i, m := range r.Messages {
		if want := []string{"user", "assistant"}[i%2]; m.Role != want || len(m.Content) == 0 {
			return nil, fmt.Errorf("messages.%d: role %s with %d blocks", i, m.Role, len(m.Content))
		}
		next := map[string]bool{}
		texts := false
		for _, b := range m.Content {
			switch b.Type {
			case "text":
				texts = true
				if b.Text == nil || strings.TrimSpace(*b.Text) == "" {
					return nil, errors.New("text content blocks must contain non-whitespace text")
				}
			case "tool_use":
				if m.Role != "assistant" || !name.MatchString(b.ID) || !name.MatchString(b.Name) || used[b.ID] || !strings.HasPrefix(string(b.Input), "{") {
					return nil, fmt.Errorf("messages.%d: bad tool_use %q of %q", i, b.ID, b.Name)
				}
				next[b.ID], used[b.ID] = true, true
			case "tool_result":
				if m.Role != "user" || !open[b.ToolUseID] || texts {
					return nil, fmt.Errorf("messages.%d: unexpected tool_use_id %q", i, b.ToolUseID)
				}
				delete(open, b.ToolUseID)
				for _, c := range b.Content {
					if strings.TrimSpace(c.Text) == "" {
						return nil, errors.New("text content blocks must be non-empty")
					}
				}
			default:
				return nil, fmt.Errorf("messages.%d: block of type %q", i, b.Type)
			}
		}
		if len(open) > 0 {
			return nil, fmt.Errorf("messages.%d: tool_use ids were found without tool_result blocks immediately after", i)
		}
		open = next
	}
	if len(open) > 0 {
		return nil, errors.New("tool_use without result")
	}
	return &r, nil
}
