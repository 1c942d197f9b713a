package model

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/doubletake-dev/doubletake/fixtures"
)

// emptyContent stands where a model wants a text and there is none.
const emptyContent = "(empty)"

// compose makes of a chat request as the library wrote it what goes onto the wire: with
// a true zero temperature, with the empty content that protocol-strict servers want, and
// as the model's quirks have it.
func (x *exchange) compose(body []byte) ([]byte, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(body, &fields); err != nil {
		return nil, fmt.Errorf("composing the request: %w", err)
	}
	if _, chat := fields["messages"]; !chat {
		return body, nil
	}
	if err := x.composeFields(fields); err != nil {
		return nil, fmt.Errorf("composing the request: %w", err)
	}
	var messages []json.RawMessage
	if err := json.Unmarshal(fields["messages"], &messages); err != nil {
		return nil, fmt.Errorf("composing the request: %w", err)
	}
	for i, raw := range messages {
		message, err := x.composeMessage(i, raw)
		if err != nil {
			return nil, fmt.Errorf("composing message %d of the request: %w", i+1, err)
		}
		messages[i] = message
	}
	return joined(fields, messages)
}

// joined puts a request together again, with its fields in order. Its parts are JSON
// without white space already, so that they are copied as they are.
func joined(fields map[string]json.RawMessage, messages []json.RawMessage) ([]byte, error) {
	size := 2
	for name, value := range fields {
		size += len(name) + len(value) + 4
	}
	for _, message := range messages {
		size += len(message) + 1
	}
	buf := append(make([]byte, 0, size), '{')
	for i, name := range slices.Sorted(maps.Keys(fields)) {
		if i > 0 {
			buf = append(buf, ',')
		}
		key, err := fixtures.MarshalPlain(name)
		if err != nil {
			return nil, fmt.Errorf("composing the request: %w", err)
		}
		buf = append(append(buf, key...), ':')
		if name != "messages" {
			buf = append(buf, fields[name]...)
			continue
		}
		buf = append(buf, '[')
		for k, message := range messages {
			if k > 0 {
				buf = append(buf, ',')
			}
			buf = append(buf, message...)
		}
		buf = append(buf, ']')
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

// composeMessage mends one message.
func (x *exchange) composeMessage(i int, raw json.RawMessage) (json.RawMessage, error) {
	reasoning := x.reasoning[i]
	role := x.quirks.SystemRole
	if role == "system" {
		role = ""
	}
	if role == "" && reasoning == "" && !isTrue(x.quirks.NonEmptyContent) {
		if bytes.Contains(raw, []byte(`"content":`)) {
			return raw, nil
		}
		return append([]byte(`{"content":"",`), bytes.TrimPrefix(raw, []byte("{"))...), nil
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(raw, &fields); err != nil {
		return nil, err
	}
	if content := string(fields["content"]); content == "" || content == `""` {
		fields["content"] = json.RawMessage(`""`)
		if isTrue(x.quirks.NonEmptyContent) {
			fields["content"] = json.RawMessage(`"` + emptyContent + `"`)
			if _, calls := fields["tool_calls"]; calls {
				fields["content"] = json.RawMessage("null") // the calls are content enough
			}
		}
	}
	if role != "" && string(fields["role"]) == `"system"` {
		fields["role"] = json.RawMessage(`"` + role + `"`)
	}
	if reasoning != "" {
		text, err := fixtures.MarshalPlain(reasoning)
		if err != nil {
			return nil, err
		}
		fields["reasoning_content"] = text
	}
	return fixtures.MarshalPlain(fields)
}
