package offline

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/doubletake-dev/doubletake/fixtures"
)

// chatRequest is the body of POST /v1/chat/completions, as far as an answer can
// depend on it. Fields that are not named here are accepted and have no effect.
type chatRequest struct {
	Model               string          `json:"model"`
	Messages            []message       `json:"messages"`
	Tools               []tool          `json:"tools"`
	ToolChoice          json.RawMessage `json:"tool_choice"`
	MaxTokens           *int            `json:"max_tokens"`
	MaxCompletionTokens *int            `json:"max_completion_tokens"`
	N                   *int            `json:"n"`
	Temperature         *float64        `json:"temperature"`
	Seed                *int64          `json:"seed"`
	Stream              bool            `json:"stream"`
	StreamOptions       *struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
}

// message is one message of a request.
type message struct {
	role   string
	text   string
	calls  []call
	callID string
	empty  bool // content was missing or null
}

// call is one call of a tool.
type call struct {
	id, name, arguments string
}

// tool is a function that the agent may call.
type tool struct {
	Type     string `json:"type"`
	Function struct {
		Name       string          `json:"name"`
		Parameters json.RawMessage `json:"parameters"`
	} `json:"function"`
}

// UnmarshalJSON reads a message of the protocol.
func (m *message) UnmarshalJSON(data []byte) error {
	var wire struct {
		Role       string          `json:"role"`
		Content    json.RawMessage `json:"content"`
		ToolCallID string          `json:"tool_call_id"`
		ToolCalls  []struct {
			ID       string `json:"id"`
			Function struct {
				Name      string `json:"name"`
				Arguments string `json:"arguments"`
			} `json:"function"`
		} `json:"tool_calls"`
	}
	if err := json.Unmarshal(data, &wire); err != nil {
		return err
	}
	text, _, err := fixtures.DecodeContent(wire.Content)
	if err != nil {
		return fmt.Errorf("content: %w", err)
	}
	content := bytes.TrimSpace(wire.Content)
	*m = message{role: wire.Role, text: text, callID: wire.ToolCallID, empty: len(content) == 0 || string(content) == "null"}
	for _, c := range wire.ToolCalls {
		m.calls = append(m.calls, call{c.ID, c.Function.Name, c.Function.Arguments})
	}
	return nil
}

// apiError is an error in the provider's shape.
type apiError struct {
	Status  int    `json:"-"`
	Message string `json:"message"`
	Type    string `json:"type"`
	Param   any    `json:"param"`
	Code    any    `json:"code"`
}

func (e *apiError) Error() string { return e.Message }

// invalid is a request that the provider refuses; param and code may be empty.
func invalid(param, code, format string, args ...any) *apiError {
	e := &apiError{Status: http.StatusBadRequest, Message: fmt.Sprintf(format, args...), Type: "invalid_request_error"}
	if param != "" {
		e.Param = param
	}
	if code != "" {
		e.Code = code
	}
	return e
}

// decodeChat reads and checks a chat request.
func decodeChat(body []byte) (*chatRequest, *apiError) {
	var req chatRequest
	if err := decodeJSON(body, &req); err != nil {
		return nil, err
	}
	if req.Model == "" {
		return nil, invalid("model", "", "you must provide a model parameter")
	}
	if req.Messages == nil {
		return nil, invalid("messages", "missing_required_parameter", "Missing required parameter: 'messages'.")
	}
	if len(req.Messages) == 0 {
		return nil, invalid("messages", "empty_array", "Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty array instead.")
	}
	if err := checkMessages(req.Messages); err != nil {
		return nil, err
	}
	for i, t := range req.Tools {
		if t.Function.Name == "" {
			return nil, invalid(fmt.Sprintf("tools[%d].function.name", i), "missing_required_parameter", "Missing required parameter: 'tools[%d].function.name'.", i)
		}
	}
	if req.N != nil && (*req.N < 1 || *req.N > 128) {
		return nil, invalid("n", "integer_out_of_range", "Invalid 'n': want 1 to 128, have %d.", *req.N)
	}
	if t := req.Temperature; t != nil && (*t < 0 || *t > 2) {
		return nil, invalid("temperature", "decimal_out_of_range", "Invalid 'temperature': want 0 to 2, have %v.", *t)
	}
	if err := atLeastOne("max_tokens", req.MaxTokens); err != nil {
		return nil, err
	}
	if err := atLeastOne("max_completion_tokens", req.MaxCompletionTokens); err != nil {
		return nil, err
	}
	return &req, nil
}

func atLeastOne(name string, value *int) *apiError {
	if value == nil || *value >= 1 {
		return nil
	}
	return invalid(name, "integer_below_min_value", "Invalid '%s': integer below minimum value. Expected a value >= 1, but got %d instead.", name, *value)
}

// decodeJSON reads one JSON value and says what is wrong with it.
func decodeJSON(body []byte, into any) *apiError {
	dec := json.NewDecoder(bytes.NewReader(body))
	if err := dec.Decode(into); err != nil {
		var kind *json.UnmarshalTypeError
		switch {
		case errors.As(err, &kind):
			return invalid(kind.Field, "invalid_type", "Invalid type for '%s': have %s, want %s.", kind.Field, kind.Value, kind.Type)
		case errors.Is(err, io.EOF):
			return invalid("", "", "We could not parse the JSON body of your request: the body is empty.")
		}
		return invalid("", "", "We could not parse the JSON body of your request: %v.", err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return invalid("", "", "We could not parse the JSON body of your request: more text follows the JSON value.")
	}
	return nil
}

// checkMessages checks roles, contents and the pairing of tool calls with results.
func checkMessages(messages []message) *apiError {
	open := map[string]bool{} // calls that wait for their result
	var order []string
	for i, m := range messages {
		at := func(field string) string { return fmt.Sprintf("messages[%d].%s", i, field) }
		if m.role != "tool" && len(open) > 0 {
			return unanswered(i, order, open)
		}
		switch m.role {
		case "system", "developer", "user":
		case "assistant":
			if m.empty && len(m.calls) == 0 {
				return invalid(at("content"), "missing_required_parameter", "Invalid value for 'content' of message %d: expected a string or tool calls, got null.", i)
			}
		case "tool":
			if m.callID == "" {
				return invalid(at("tool_call_id"), "missing_required_parameter", "Missing required parameter: 'messages[%d].tool_call_id'.", i)
			}
			if !open[m.callID] {
				return invalid(at("role"), "", "Invalid parameter: messages with role 'tool' must be a response to a preceding message with 'tool_calls' (message %d answers call %q).", i, m.callID)
			}
			delete(open, m.callID)
		case "":
			return invalid(at("role"), "missing_required_parameter", "Missing required parameter: 'messages[%d].role'.", i)
		default:
			return invalid(at("role"), "invalid_value", "Invalid value: '%s'. Supported values are: 'system', 'assistant', 'user', 'tool', and 'developer'.", m.role)
		}
		if m.empty && m.role != "assistant" {
			return invalid(at("content"), "missing_required_parameter", "Missing required parameter: 'messages[%d].content'.", i)
		}
		if len(m.calls) > 0 && m.role != "assistant" {
			return invalid(at("tool_calls"), "invalid_value", "Invalid value for 'tool_calls': only messages with role 'assistant' call tools.")
		}
		if len(m.calls) > 0 {
			order = order[:0]
		}
		for j, c := range m.calls {
			if c.id == "" || c.name == "" {
				return invalid(at(fmt.Sprintf("tool_calls[%d]", j)), "missing_required_parameter", "A tool call needs an id and a function name (message %d, call %d).", i, j)
			}
			open[c.id] = true
			order = append(order, c.id)
		}
	}
	if len(open) > 0 {
		return unanswered(len(messages), order, open)
	}
	return nil
}

// unanswered names the calls without a result before message i.
func unanswered(i int, order []string, open map[string]bool) *apiError {
	var missing []string
	for _, id := range order {
		if open[id] {
			missing = append(missing, id)
		}
	}
	return invalid(fmt.Sprintf("messages[%d].role", i), "", "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: %s", strings.Join(missing, ", "))
}

// limit is the most tokens that the reply may have, or 0.
func (r *chatRequest) limit() int {
	switch {
	case r.MaxCompletionTokens != nil:
		return *r.MaxCompletionTokens
	case r.MaxTokens != nil:
		return *r.MaxTokens
	}
	return 0
}

// offers says whether the agent may call the tool: it is in the list, or the
// request has none.
func (r *chatRequest) offers(name string) bool {
	if string(r.ToolChoice) == `"none"` {
		return false
	}
	if r.Tools == nil {
		return true
	}
	for i := range r.Tools {
		if r.Tools[i].Function.Name == name {
			return true
		}
	}
	return false
}

// reply is what the provider answers, before it is put on the wire.
type reply struct {
	text   string
	calls  []call
	finish string // stop, tool_calls or length
}

// usage is the token count of an answer.
type usage struct {
	PromptTokens     int `json:"prompt_tokens"`
	CompletionTokens int `json:"completion_tokens"`
	TotalTokens      int `json:"total_tokens"`
}

// wireCall is a tool call on the wire. Index is set in streams alone.
type wireCall struct {
	Index    *int         `json:"index,omitempty"`
	ID       string       `json:"id,omitempty"`
	Type     string       `json:"type,omitempty"`
	Function wireFunction `json:"function"`
}

type wireFunction struct {
	Name      string `json:"name,omitempty"`
	Arguments string `json:"arguments"`
}

// wireMessage is the assistant's message on the wire.
type wireMessage struct {
	Role      string     `json:"role"`
	Content   *string    `json:"content"`
	Refusal   *string    `json:"refusal"`
	ToolCalls []wireCall `json:"tool_calls,omitempty"`
}

type choice struct {
	Index        int         `json:"index"`
	Message      wireMessage `json:"message"`
	Logprobs     any         `json:"logprobs"`
	FinishReason string      `json:"finish_reason"`
}

// completion is the body of a plain answer.
type completion struct {
	ID                string   `json:"id"`
	Object            string   `json:"object"`
	Created           int64    `json:"created"`
	Model             string   `json:"model"`
	Choices           []choice `json:"choices"`
	Usage             usage    `json:"usage"`
	SystemFingerprint string   `json:"system_fingerprint"`
}

// wire turns a reply into the assistant's message.
func (r *reply) wire() wireMessage {
	m := wireMessage{Role: "assistant"}
	if r.text != "" || len(r.calls) == 0 {
		m.Content = &r.text
	}
	for _, c := range r.calls {
		m.ToolCalls = append(m.ToolCalls, wireCall{ID: c.id, Type: "function", Function: wireFunction{c.name, c.arguments}})
	}
	return m
}

// promptTokens counts a request: 4 for each message, and its texts, calls and tools.
func (r *chatRequest) promptTokens() int {
	n := 3
	for i := range r.Messages {
		m := &r.Messages[i]
		n += 4 + CountTokens(m.text)
		for _, c := range m.calls {
			n += 4 + CountTokens(c.name) + CountTokens(c.arguments)
		}
	}
	for i := range r.Tools {
		n += 4 + CountTokens(r.Tools[i].Function.Name) + CountTokens(string(r.Tools[i].Function.Parameters))
	}
	return n
}

func (r *reply) tokens() int {
	n := CountTokens(r.text)
	for _, c := range r.calls {
		n += 4 + CountTokens(c.name) + CountTokens(c.arguments)
	}
	return n
}

// CountTokens is the count that the offline provider bills and keeps budgets by: a
// word is a token and one more for every 6 characters beyond 7, digits are one for
// every 3, letters and digits mixed one for every 2, four punctuation marks are
// three, a line break is one. Over the texts of a summary it lies a little above the
// count of common vocabularies, so that a budget kept by it is kept by them.
func CountTokens(text string) int {
	words, marks := 0, 0
	run, digits := 0, 0
	flush := func() {
		switch {
		case run == 0:
		case digits == run:
			words += (digits + 2) / 3
		case digits > 0:
			words += (run + 1) / 2
		default:
			words += 1 + max(0, run-7+5)/6
		}
		run, digits = 0, 0
	}
	for i := 0; i < len(text); {
		c := text[i]
		if c < utf8.RuneSelf {
			i++
			switch {
			case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z':
				run++
			case '0' <= c && c <= '9':
				run++
				digits++
			case c == '\n':
				flush()
				words++
			case c == ' ' || c == '\t' || c == '\r':
				flush()
			default:
				flush()
				marks++
			}
			continue
		}
		r, size := utf8.DecodeRuneInString(text[i:])
		i += size
		switch {
		case isUnspaced(r):
			flush()
			words++
		case unicode.IsLetter(r), unicode.IsMark(r):
			run += 2 // other scripts take more tokens for a letter
		default:
			flush()
			marks++
		}
	}
	flush()
	return words + (3*marks+3)/4
}

// cutTokens returns the longest prefix of text of at most limit tokens, cut
// between characters.
func cutTokens(text string, limit int) string {
	if CountTokens(text) <= limit {
		return text
	}
	lo, hi := 0, len(text) // the prefix of lo bytes fits, that of hi bytes does not
	for hi-lo > 1 {
		mid := (lo + hi) / 2
		for mid > lo && !utf8.RuneStart(text[mid]) {
			mid--
		}
		if mid == lo {
			break
		}
		if CountTokens(text[:mid]) <= limit {
			lo = mid
		} else {
			hi = mid
		}
	}
	return text[:lo]
}
