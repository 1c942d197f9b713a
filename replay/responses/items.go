package responses

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
)

// item is what we write of an item, one type or another by its fields.
type item struct {
	Type      string     `json:"type"`
	Role      string     `json:"role,omitempty"`
	Content   []textPart `json:"content,omitempty"`
	CallID    string     `json:"call_id,omitempty"`
	Name      string     `json:"name,omitempty"`
	Arguments *string    `json:"arguments,omitempty"`
	Output    *string    `json:"output,omitempty"`
}

type textPart struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// The types of items and parts that this package writes.
const (
	typeMessage    = "message"
	typeCall       = "function_call"
	typeOutput     = "function_call_output"
	typeCompaction = "compaction"
	partInput      = "input_text"
	partOutput     = "output_text"
)

// Items writes messages as the input of a request. A message with a native item is that
// item, unchanged; of any other the text goes out, with the calls after it. Parts that
// are no text stand as in the message's content: "[image]".
func Items(messages []fixtures.Message) ([]json.RawMessage, error) {
	list := make([]json.RawMessage, 0, len(messages))
	for i := range messages {
		m := &messages[i]
		if native := replay.Native(m, replay.NativeOpenAI); native != nil {
			if !json.Valid(native) {
				return nil, fmt.Errorf("message %d: its native item is no JSON", i+1)
			}
			list = append(list, native)
			continue
		}
		for _, it := range itemsOf(m) {
			raw, err := fixtures.MarshalPlain(it)
			if err != nil {
				return nil, fmt.Errorf("message %d: %w", i+1, err)
			}
			list = append(list, raw)
		}
	}
	return list, nil
}

func itemsOf(m *fixtures.Message) []item {
	if m.Role == fixtures.RoleTool {
		return []item{{Type: typeOutput, CallID: m.ToolCallID, Output: &m.Content}}
	}
	var list []item
	if m.Content != "" || len(m.ToolCalls) == 0 {
		kind := partInput
		if m.Role == fixtures.RoleAssistant {
			kind = partOutput
		}
		list = append(list, item{Type: typeMessage, Role: m.Role, Content: []textPart{{kind, m.Content}}})
	}
	for _, call := range m.ToolCalls {
		arguments := argumentsText(call.Arguments)
		list = append(list, item{Type: typeCall, CallID: call.ID, Name: call.Name, Arguments: &arguments})
	}
	return list
}

// argumentsText is the text form that the API wants; what was kept as a JSON string
// because it was no JSON goes out as it came in.
func argumentsText(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var compact bytes.Buffer
	if json.Compact(&compact, raw) != nil {
		return string(raw)
	}
	return compact.String()
}

// readItem is what we read of an item.
type readItem struct {
	Type      string          `json:"type"`
	Role      string          `json:"role"`
	Content   json.RawMessage `json:"content"`
	CallID    string          `json:"call_id"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
	Output    json.RawMessage `json:"output"`
}

// Read is a message that was read from items, with the items that it was read from.
type Read struct {
	Message fixtures.Message
	Items   []json.RawMessage
	// Opaque says that nobody but the provider can read the message.
	Opaque bool
}

// ReadItems reads items as messages: what the assistant says with its calls is one
// message. The error names the item that cannot be read.
func ReadItems(items []json.RawMessage) ([]Read, error) {
	var list []Read
	for i, raw := range items {
		var it readItem
		if err := json.Unmarshal(raw, &it); err != nil {
			return nil, fmt.Errorf("item %d: %w", i+1, err)
		}
		m, opaque, err := it.message(raw)
		if err != nil {
			return nil, fmt.Errorf("item %d (%.40q): %w", i+1, it.Type, err)
		}
		if n := len(list); n > 0 && it.Type == typeCall && !list[n-1].Opaque && list[n-1].Message.Role == fixtures.RoleAssistant {
			list[n-1].Message.ToolCalls = append(list[n-1].Message.ToolCalls, m.ToolCalls...)
			list[n-1].Items = append(list[n-1].Items, raw)
			continue
		}
		list = append(list, Read{m, []json.RawMessage{raw}, opaque})
	}
	return list, nil
}

func (it *readItem) message(raw json.RawMessage) (m fixtures.Message, opaque bool, err error) {
	switch it.Type {
	case typeMessage, "":
		if it.Role != fixtures.RoleUser && it.Role != fixtures.RoleAssistant {
			return m, false, fmt.Errorf("a message of the role %.40q, want user or assistant", it.Role)
		}
		m.Role = it.Role
		if m.Content, _, err = fixtures.DecodeContent(it.Content); err != nil {
			return m, false, fmt.Errorf("content: %w", err)
		}
		return m, false, nil
	case typeCall:
		if it.Name == "" {
			return m, false, fmt.Errorf("a call without a name")
		}
		m.Role = fixtures.RoleAssistant
		m.ToolCalls = []fixtures.ToolCall{{ID: it.CallID, Name: it.Name, Arguments: arguments(it.Arguments)}}
		return m, false, nil
	case typeOutput:
		m.Role, m.ToolCallID = fixtures.RoleTool, it.CallID
		if m.Content, _, err = fixtures.DecodeContent(it.Output); err != nil {
			return m, false, fmt.Errorf("output: %w", err)
		}
		return m, false, nil
	}
	m.Role = fixtures.RoleAssistant
	m.Content = Marker(it.Type)
	m.Extra = replay.NativeExtra(replay.NativeOpenAI, raw)
	return m, true, nil
}

// Marker is what stands in place of an item that only its provider can read.
func Marker(kind string) string {
	return fmt.Sprintf("[%.40s: only its provider can read it]", printable(kind))
}

// printable leaves of a name what names are made of.
func printable(name string) string {
	return string(bytes.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' || r == '.' {
			return r
		}
		return '_'
	}, []byte(name)))
}

// IsCompaction says whether an item is one that stands for compacted items.
func IsCompaction(raw json.RawMessage) bool {
	var it readItem
	return json.Unmarshal(raw, &it) == nil && it.Type == typeCompaction
}

// Portable is an item as another request may carry it: a message without the id and the
// status under which the provider knew it, which it need not have stored. Every other
// item is left as it is.
func Portable(raw json.RawMessage) json.RawMessage {
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil || string(fields["type"]) != `"`+typeMessage+`"` {
		return raw
	}
	delete(fields, "id")
	delete(fields, "status")
	plain, err := fixtures.MarshalPlain(fields)
	if err != nil {
		return raw
	}
	return plain
}

// arguments keeps what a model wrote as arguments: JSON as it is, anything else as a
// JSON string.
func arguments(raw json.RawMessage) json.RawMessage {
	var text string
	if json.Unmarshal(raw, &text) != nil { // an object instead of its text
		if len(raw) == 0 || string(raw) == "null" {
			return json.RawMessage("{}")
		}
		return raw
	}
	inner := bytes.TrimSpace([]byte(text))
	switch {
	case len(inner) == 0:
		return json.RawMessage("{}")
	case json.Valid(inner):
		return inner
	}
	return raw
}
