package compact

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
)

type anthropicTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Schema      json.RawMessage `json:"input_schema"`
}

func anthropicTools(tools []fixtures.Tool) []anthropicTool {
	var list []anthropicTool
	for _, t := range tools {
		schema := t.Parameters
		if len(schema) == 0 {
			schema = json.RawMessage(`{"type":"object"}`)
		}
		list = append(list, anthropicTool{t.Name, t.Description, schema})
	}
	return list
}

// anthropicTurn is a message of the Messages API: a role and its content blocks.
type anthropicTurn struct {
	Role    string            `json:"role"`
	Content []json.RawMessage `json:"content"`
	// native says that the content is a block that the API made.
	native bool
}

// anthropicBlock is what we write of a content block, one type or another by its fields.
type anthropicBlock struct {
	Type      string          `json:"type"`
	Text      string          `json:"text,omitempty"`
	ID        string          `json:"id,omitempty"`
	Name      string          `json:"name,omitempty"`
	Input     json.RawMessage `json:"input,omitempty"`
	ToolUseID string          `json:"tool_use_id,omitempty"`
	Content   string          `json:"content,omitempty"`
}

const (
	// anthropicStart stands before a conversation that the assistant begins, which the
	// API does not take.
	anthropicStart = "(The conversation begins with the assistant.)"
	// anthropicEmpty stands for a message without text, of which the API takes none.
	anthropicEmpty = "(empty)"
)

// anthropicTurns writes messages as the Messages API takes them: results of calls are
// the user's, messages of one role in a row are one, and a message that the API made
// goes out as it came in.
func anthropicTurns(messages []fixtures.Message) []anthropicTurn {
	var turns []anthropicTurn
	add := func(role string, native bool, blocks ...json.RawMessage) {
		if n := len(turns); n > 0 && turns[n-1].Role == role && !native && !turns[n-1].native {
			turns[n-1].Content = append(turns[n-1].Content, blocks...)
			return
		}
		turns = append(turns, anthropicTurn{role, blocks, native})
	}
	ids := callNames{}
	for i := range messages {
		m := &messages[i]
		if native := replay.Native(m, replay.NativeAnthropic); native != nil {
			add(fixtures.RoleAssistant, true, native)
			continue
		}
		if len(turns) == 0 && m.Role == fixtures.RoleAssistant {
			add(fixtures.RoleUser, false, encodeBlock(anthropicBlock{Type: "text", Text: anthropicStart}))
		}
		if m.Role == fixtures.RoleTool {
			add(fixtures.RoleUser, false, encodeBlock(anthropicBlock{Type: "tool_result", ToolUseID: ids.of(m.ToolCallID), Content: m.Content}))
			continue
		}
		var blocks []json.RawMessage
		text := m.Content
		if strings.TrimSpace(text) == "" && len(m.ToolCalls) == 0 {
			text = anthropicEmpty
		}
		if strings.TrimSpace(text) != "" {
			blocks = append(blocks, encodeBlock(anthropicBlock{Type: "text", Text: text}))
		}
		for _, call := range m.ToolCalls {
			blocks = append(blocks, encodeBlock(anthropicBlock{Type: "tool_use", ID: ids.of(call.ID), Name: call.Name, Input: objectOf(call.Arguments)}))
		}
		add(m.Role, false, blocks...)
	}
	return turns
}

// encodeBlock writes a block; its parts are JSON or text, which can always be written.
func encodeBlock(b anthropicBlock) json.RawMessage {
	raw, err := fixtures.MarshalPlain(b)
	if err != nil {
		raw = []byte(`{"type":"text","text":"` + anthropicEmpty + `"}`)
	}
	return raw
}

// objectOf is a call's arguments as the object that the API wants.
func objectOf(arguments json.RawMessage) json.RawMessage {
	var object map[string]json.RawMessage
	if json.Unmarshal(arguments, &object) == nil && object != nil {
		return arguments
	}
	if !json.Valid(arguments) {
		arguments = nil
	}
	wrapped, err := fixtures.MarshalPlain(map[string]json.RawMessage{"arguments": arguments})
	if err != nil {
		return json.RawMessage("{}")
	}
	return wrapped
}

// callNames gives calls ids of the characters that the API takes.
type callNames map[string]string

func (n callNames) of(id string) string {
	if name, ok := n[id]; ok {
		return name
	}
	name := id
	if id == "" || strings.ContainsFunc(id, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-')
	}) {
		name = fmt.Sprintf("doubletake_call_%d", len(n)+1)
	}
	n[id] = name
	return name
}
