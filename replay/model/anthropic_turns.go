package model

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
)

// ErrConversation says that the Messages API has no form for a conversation. It is the
// request's own fault: no other try mends it.
var ErrConversation = errors.New("the Messages API cannot carry this conversation")

// openingText stands in for the user where a conversation begins with the assistant or
// holds nothing but system messages: the Messages API wants the user to speak first.
const openingText = "(The conversation goes on from here.)"

// jsonInstruction asks for what the Chat Completions API calls a JSON object answer; the
// Messages API has no such switch without a schema.
const jsonInstruction = "Answer with one JSON object and with nothing else."

// dialogue is a request in the shape of the Messages API, before it is written in the
// library's types.
type dialogue struct {
	system []string
	turns  []dialogueTurn
	ids    *aliases // of tool calls
	names  *aliases // of tools
	native bool     // there is a block that the provider made
}

// dialogueTurn is all that one side says until the other one speaks.
type dialogueTurn struct {
	role   string // user or assistant
	blocks []block
}

// block is one content block: a text, a call, a call's result, or what the provider made.
type block struct {
	kind      blockKind
	text      string // of a text or a result; empty for a result that says nothing
	id        string // of a call or a result, as it goes out
	name      string // of the tool, as it goes out
	arguments json.RawMessage
	native    json.RawMessage // the whole block, as the provider made it
}

type blockKind int

const (
	textBlock blockKind = iota
	callBlock
	resultBlock
	nativeBlock
)

// newDialogue brings a request into the shape of the Messages API:
//
//   - System messages become the system prompt, in their order, wherever they stood.
//   - What one side says in a row becomes one turn. Results of calls made at once stand
//     together at the beginning of the user's turn after them.
//   - Blank texts are left out, because the API refuses them.
//   - Where the assistant would speak first, a fixed user text goes before it.
//   - A message that Anthropic made (see [replay.Native]) goes out as its block, unchanged;
//     it may be the first.
//   - Ids of calls and names of tools that the API does not take go out under aliases.
//
// A call without a result, a result without a call, arguments that are no JSON object
// and an assistant message at the end are errors ([ErrConversation]): whatever stood in
// for them would be part of what the agent reads.
func newDialogue(request *replay.Request) (*dialogue, error) {
	d := &dialogue{ids: newAliases(), names: newAliases()}
	for _, tool := range request.Tools {
		if _, err := d.names.alias(tool.Name); err != nil {
			return nil, fmt.Errorf("%w: tool names: %w", ErrConversation, err)
		}
	}
	b := dialogueBuilder{dialogue: d, open: map[string]string{}, times: map[string]int{}, used: map[string]bool{}}
	for i := range request.Messages {
		if err := b.add(&request.Messages[i]); err != nil {
			return nil, fmt.Errorf("%w: message %d: %w", ErrConversation, i+1, err)
		}
	}
	if err := b.answered(); err != nil {
		return nil, fmt.Errorf("%w: at its end: %w", ErrConversation, err)
	}
	if len(d.turns) == 0 || d.turns[0].role != fixtures.RoleUser && d.turns[0].blocks[0].kind != nativeBlock {
		opening := dialogueTurn{fixtures.RoleUser, []block{{kind: textBlock, text: openingText}}}
		d.turns = append([]dialogueTurn{opening}, d.turns...)
	}
	if d.turns[len(d.turns)-1].role != fixtures.RoleUser {
		return nil, fmt.Errorf("%w: it ends with the assistant, and would be taken for the beginning of the answer", ErrConversation)
	}
	if request.JSON {
		d.system = append(d.system, jsonInstruction)
	}
	return d, nil
}

type dialogueBuilder struct {
	*dialogue
	open  map[string]string // calls that wait for their result: id to alias
	times map[string]int    // how often an id was called by
	used  map[string]bool   // aliases of calls
}

func (b *dialogueBuilder) add(m *fixtures.Message) error {
	if native := replay.Native(m, replay.NativeAnthropic); native != nil {
		if err := b.answered(); err != nil {
			return err
		}
		b.native = true
		b.say(fixtures.RoleAssistant, block{kind: nativeBlock, native: native})
		return nil
	}
	switch m.Role {
	case fixtures.RoleSystem:
		if !blankText(m.Content) {
			b.system = append(b.system, m.Content)
		}
		return nil
	case fixtures.RoleTool:
		alias, ok := b.open[m.ToolCallID]
		if !ok {
			return fmt.Errorf("a result of %.60q, which no call right before it has for an id", m.ToolCallID)
		}
		delete(b.open, m.ToolCallID)
		result := block{kind: resultBlock, id: alias}
		if !blankText(m.Content) {
			result.text = m.Content
		}
		b.say(fixtures.RoleUser, result)
		return nil
	case fixtures.RoleUser, fixtures.RoleAssistant:
	default:
		return fmt.Errorf("the unknown role %.40q", m.Role)
	}
	if blankText(m.Content) && len(m.ToolCalls) == 0 {
		return nil
	}
	// Calls made at once may stand in messages of their own, one after the other.
	if last := len(b.turns) - 1; last >= 0 && (m.Role == fixtures.RoleUser || b.turns[last].role == fixtures.RoleUser) {
		if err := b.answered(); err != nil {
			return err
		}
	}
	if !blankText(m.Content) {
		b.say(m.Role, block{kind: textBlock, text: m.Content})
	}
	for _, call := range m.ToolCalls {
		if err := b.call(m.Role, call); err != nil {
			return err
		}
	}
	return nil
}

func (b *dialogueBuilder) call(role string, call fixtures.ToolCall) error {
	if role != fixtures.RoleAssistant {
		return fmt.Errorf("the %s calls the tool %.60q", role, call.Name)
	}
	if _, twice := b.open[call.ID]; twice {
		return fmt.Errorf("two calls with the id %.60q at once", call.ID)
	}
	// Ids must be unique in a conversation; a recording may count its own anew.
	key := call.ID
	if b.times[call.ID]++; b.times[call.ID] > 1 {
		key = fmt.Sprintf("%s#%d", call.ID, b.times[call.ID])
	}
	id, err := b.ids.alias(key)
	if err != nil {
		return err
	}
	if b.used[id] {
		return fmt.Errorf("a second call goes out under the id %.60q", id)
	}
	b.used[id] = true
	name, err := b.names.alias(call.Name)
	if err != nil {
		return err
	}
	arguments, err := objectArguments(call.Arguments)
	if err != nil {
		return fmt.Errorf("the call of %.60q: %w", call.Name, err)
	}
	b.open[call.ID] = id
	b.say(role, block{kind: callBlock, id: id, name: name, arguments: arguments})
	return nil
}

// answered says which call has no result.
func (b *dialogueBuilder) answered() error {
	if len(b.open) == 0 {
		return nil
	}
	return fmt.Errorf("the call %.60q has no result", slices.Sorted(maps.Keys(b.open))[0])
}

// say adds a block to the turn of a side, or begins one.
func (b *dialogueBuilder) say(role string, said block) {
	if n := len(b.turns); n > 0 && b.turns[n-1].role == role {
		b.turns[n-1].blocks = append(b.turns[n-1].blocks, said)
		return
	}
	b.turns = append(b.turns, dialogueTurn{role, []block{said}})
}

// blankText says that the API would refuse a text as empty.
func blankText(text string) bool { return strings.TrimSpace(text) == "" }

// objectArguments are a call's arguments, which must be a JSON object; no arguments at
// all are the empty one.
func objectArguments(raw json.RawMessage) (json.RawMessage, error) {
	trimmed := bytes.TrimSpace(raw)
	if len(trimmed) == 0 || string(trimmed) == "null" || string(trimmed) == `""` {
		return json.RawMessage("{}"), nil
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(trimmed, &object); err != nil || object == nil {
		return nil, fmt.Errorf("its arguments are no JSON object: %.80q", raw)
	}
	return trimmed, nil
}

// aliases are names that a protocol takes for names that it may not take, and back. What
// it takes stands for itself.
type aliases struct {
	out, in map[string]string
}

func newAliases() *aliases { return &aliases{map[string]string{}, map[string]string{}} }

// longestName is how many characters a tool's name may have.
const longestName = 64

// alias is what a name goes out as: letters, digits, underscores and hyphens. It depends
// on the name alone, so that all requests of a conversation begin alike.
func (a *aliases) alias(name string) (string, error) {
	if alias, ok := a.out[name]; ok {
		return alias, nil
	}
	alias := name
	if !plainName(name) {
		const tail = 17 // a hyphen and a hash
		clean := []byte(name[:min(len(name), longestName-tail)])
		for i, c := range clean {
			if !nameByte(c) {
				clean[i] = '_'
			}
		}
		alias = string(clean) + "-" + string(fixtures.HashBytes([]byte(name)))
	}
	if other, taken := a.in[alias]; taken {
		return "", fmt.Errorf("%.60q and %.60q go out under one name", other, name)
	}
	a.out[name], a.in[alias] = alias, name
	return alias, nil
}

// original is the name behind an alias; a name that is none is its own.
func (a *aliases) original(alias string) string {
	if name, ok := a.in[alias]; ok {
		return name
	}
	return alias
}

func plainName(name string) bool {
	for i := range len(name) {
		if !nameByte(name[i]) {
			return false
		}
	}
	return name != "" && len(name) <= longestName
}

func nameByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-'
}
