package model

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
)

// emptyContent stands where a model wants a text and there is none.
const emptyContent = "(empty)"

// compose makes of a chat request as the library wrote it what goes onto the wire: with a
// true zero temperature, as the model's quirks have it, and with the exchange's messages in
// the place of those that the library was given.
func (x *exchange) compose(body []byte) ([]byte, error) {
	if x.messages == nil {
		return body, nil // no chat
	}
	fields, ok := fixtures.SplitObject(body)
	if !ok {
		return nil, fmt.Errorf("composing the request: want a JSON object, have %.100s", body)
	}
	if err := x.composeFields(fields); err != nil {
		return nil, fmt.Errorf("composing the request: %w", err)
	}
	fields["messages"] = x.messages
	size := 2
	for name, value := range fields {
		size += len(name) + len(value) + 4
	}
	// The parts are JSON without white space already, so that they are copied as they are.
	buf := append(make([]byte, 0, size), '{')
	for i, name := range slices.Sorted(maps.Keys(fields)) {
		if i > 0 {
			buf = append(buf, ',')
		}
		buf = append(fixtures.AppendText(buf, name), ':')
		buf = append(buf, fields[name]...)
	}
	return append(buf, '}'), nil
}

// composeFields sets what stands beside the messages.
func (x *exchange) composeFields(fields map[string]json.RawMessage) error {
	q := x.quirks
	fields["temperature"] = json.RawMessage("0")
	if q.Temperature == Omit {
		delete(fields, "temperature")
	}
	bound := fields[MaxTokens]
	if bound == nil {
		bound = fields[MaxCompletionTokens]
	}
	delete(fields, MaxTokens)
	delete(fields, MaxCompletionTokens)
	if bound != nil && q.MaxTokens != Omit {
		name := MaxTokens
		if q.MaxTokens == MaxCompletionTokens {
			name = MaxCompletionTokens
		}
		fields[name] = bound
	}
	if isFalse(q.Seed) {
		delete(fields, parameterSeed)
	}
	if isFalse(q.JSONMode) {
		delete(fields, parameterFormat)
	}
	if _, tools := fields["tools"]; tools {
		if isFalse(q.Tools) {
			return errNoTools
		}
		if q.ParallelToolCalls != nil {
			fields[parameterParallel] = json.RawMessage(fmt.Sprint(*q.ParallelToolCalls))
		}
	}
	if x.stream {
		fields["stream"] = json.RawMessage("true")
		if !isFalse(q.StreamUsage) {
			fields[parameterUsage] = json.RawMessage(`{"include_usage":true}`)
		}
	}
	return nil
}

// composeMessages writes the messages of a chat request as they go onto the wire. The
// library would drop an empty content, which protocol-strict servers want, and knows no
// model's quirks; and it takes several passes over what is by far the most of a request.
func composeMessages(request *replay.Request, quirks Quirks, reasoning map[int]string) []byte {
	size := 2
	for i := range request.Messages {
		size += len(request.Messages[i].Content) + len(request.Messages[i].Content)/16 + 64
	}
	buf := append(make([]byte, 0, size), '[')
	for i := range request.Messages {
		if i > 0 {
			buf = append(buf, ',')
		}
		buf = appendMessage(buf, &request.Messages[i], quirks, reasoning[i])
	}
	return append(buf, ']')
}

func appendMessage(buf []byte, m *fixtures.Message, quirks Quirks, reasoning string) []byte {
	role := m.Role
	if role == fixtures.RoleSystem && quirks.SystemRole != "" {
		role = quirks.SystemRole
	}
	buf = fixtures.AppendText(append(buf, `{"role":`...), role)
	buf = append(buf, `,"content":`...)
	switch {
	case m.Content != "" || !isTrue(quirks.NonEmptyContent):
		buf = fixtures.AppendText(buf, m.Content)
	case len(m.ToolCalls) > 0:
		buf = append(buf, "null"...) // the calls are content enough
	default:
		buf = fixtures.AppendText(buf, emptyContent)
	}
	if reasoning != "" {
		buf = fixtures.AppendText(append(buf, `,"`+reasoningField+`":`...), reasoning)
	}
	for i, call := range m.ToolCalls {
		if i == 0 {
			buf = append(buf, `,"tool_calls":[`...)
		} else {
			buf = append(buf, ',')
		}
		buf = fixtures.AppendText(append(buf, `{"id":`...), call.ID)
		buf = fixtures.AppendText(append(buf, `,"type":"function","function":{"name":`...), call.Name)
		buf = fixtures.AppendText(append(buf, `,"arguments":`...), argumentsText(call.Arguments))
		buf = append(buf, "}}"...)
	}
	if len(m.ToolCalls) > 0 {
		buf = append(buf, ']')
	}
	if m.ToolCallID != "" {
		buf = fixtures.AppendText(append(buf, `,"tool_call_id":`...), m.ToolCallID)
	}
	return append(buf, '}')
}
