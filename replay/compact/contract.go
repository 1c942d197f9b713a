package compact

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
)

// contractVersion is the version of the object that a foreign compactor reads and
// writes, whatever driver carries it.
const contractVersion = 1

// contractInput is what a foreign compactor is asked.
type contractInput struct {
	Version      int               `json:"version"`
	Fixture      string            `json:"fixture"`
	Compaction   int               `json:"compaction"`
	AfterTurn    int               `json:"after_turn"`
	System       string            `json:"system"`
	Messages     []contractMessage `json:"messages"`
	Tools        []fixtures.Tool   `json:"tools"`
	BudgetTokens int               `json:"budget_tokens"`
	Model        string            `json:"model"`
	Instructions string            `json:"instructions"`
	PriorState   json.RawMessage   `json:"prior_state"`
}

type contractMessage struct {
	ID         string              `json:"id"`
	Turn       int                 `json:"turn"`
	Role       string              `json:"role"`
	Content    string              `json:"content"`
	ToolCalls  []fixtures.ToolCall `json:"tool_calls,omitempty"`
	ToolCallID string              `json:"tool_call_id,omitempty"`
	// Raw is the message as recorded where that holds more than the fields above:
	// a list of parts, or fields that only its provider knows.
	Raw json.RawMessage `json:"raw,omitempty"`
}

func encodeInput(req *replay.CompactRequest, instructions string) ([]byte, error) {
	in := contractInput{
		Version: contractVersion, Fixture: req.Fixture, Compaction: req.Compaction, AfterTurn: req.AfterTurn,
		System: req.System, Messages: make([]contractMessage, len(req.Messages)), Tools: req.Tools,
		BudgetTokens: req.BudgetTokens, Model: req.Model, Instructions: instructions, PriorState: req.PriorState,
	}
	if in.Tools == nil {
		in.Tools = []fixtures.Tool{}
	}
	for i := range req.Messages {
		m := &req.Messages[i]
		in.Messages[i] = contractMessage{ID: m.ID, Turn: m.Turn, Role: m.Role, Content: m.Content, ToolCalls: m.ToolCalls, ToolCallID: m.ToolCallID}
		if m.Parts == nil && len(m.Extra) == 0 {
			continue
		}
		raw, err := fixtures.MarshalPlain(m.Message)
		if err != nil {
			return nil, fmt.Errorf("message %s: %w", m.ID, err)
		}
		in.Messages[i].Raw = raw
	}
	data, err := fixtures.MarshalPlain(in)
	if err != nil {
		return nil, err
	}
	return append(data, '\n'), nil
}

// contractOutput is what a foreign compactor answers.
type contractOutput struct {
	// ID repeats the request's, where several go to one process.
	ID         json.RawMessage           `json:"id"`
	Status     *string                   `json:"status"`
	Messages   *[]printedMessage         `json:"messages"`
	Reason     string                    `json:"reason"`
	Error      json.RawMessage           `json:"error"`
	DroppedIDs []string                  `json:"dropped_ids"`
	Opaque     bool                      `json:"opaque"`
	Usage      printedUsage              `json:"usage"`
	Compactor  *replay.CompactorIdentity `json:"compactor"`
	State      json.RawMessage           `json:"state"`
}

type printedMessage struct {
	ID         string          `json:"id"`
	Role       string          `json:"role"`
	Content    json.RawMessage `json:"content"`
	ToolCalls  []printedCall   `json:"tool_calls"`
	ToolCallID string          `json:"tool_call_id"`
	Kind       string          `json:"kind"`
	SourceIDs  []string        `json:"source_ids"`
}

// printedCall is a tool call in our form or in OpenAI's.
type printedCall struct {
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
	Function  *struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	} `json:"function"`
}

// printedUsage is what the compactor says that it spent, in either of two customs.
type printedUsage struct {
	PromptTokens     int `json:"prompt_tokens"`
	CompletionTokens int `json:"completion_tokens"`
	CachedTokens     int `json:"cached_tokens"`
	InputTokens      int `json:"input_tokens"`
	OutputTokens     int `json:"output_tokens"`
}

func (u printedUsage) usage() replay.Usage {
	return replay.Usage{
		PromptTokens:     max(u.PromptTokens, u.InputTokens, 0),
		CachedTokens:     max(u.CachedTokens, 0),
		CompletionTokens: max(u.CompletionTokens, u.OutputTokens, 0),
	}
}

// source says where an answer came from, in the words of its errors.
type source struct {
	says  string // what comes before what is wrong: "the compactor printed"
	empty string // what nothing at all is called: "nothing on stdout"
	hint  string // what to mind where there is more than the answer
}

// decodeOutput reads an answer. The error says what is wrong with it, in words
// that follow the source's.
func decodeOutput(printed []byte, req *replay.CompactRequest, from source) (*replay.Compaction, error) {
	var out contractOutput
	if err := decodeOne(printed, &out, from); err != nil {
		return nil, err
	}
	return out.compaction(fixtures.HashBytes(printed), req)
}

// compaction makes a compaction of the answer to a request. The key names the
// exchange in the journal.
func (out *contractOutput) compaction(key fixtures.Hash, req *replay.CompactRequest) (*replay.Compaction, error) {
	result := &replay.Compaction{Opaque: out.Opaque, State: out.State, Reason: out.Reason}
	if string(result.State) == "null" {
		result.State = nil
	}
	if out.Compactor != nil {
		result.Identity = *out.Compactor
	}
	if usage := out.Usage.usage(); usage != (replay.Usage{}) {
		result.Exchanges = []replay.Exchange{{For: "compactor", Key: key, Usage: usage}}
	}
	if out.Status == nil {
		return nil, errors.New(`an object without "status"; it must be compacted, unchanged, refused or error`)
	}
	result.Status = replay.CompactionStatus(*out.Status)
	switch result.Status {
	case replay.Compacted:
	case replay.Unchanged, replay.Refused, replay.Failed:
		if result.Reason == "" {
			result.Reason = errorText(out.Error)
		}
		if result.Reason == "" {
			result.Reason = fmt.Sprintf("the compactor says %q and gives no reason", *out.Status)
		}
		return result, nil
	default:
		return nil, fmt.Errorf("the status %q, which is none of compacted, unchanged, refused and error", excerpt(*out.Status, 40))
	}
	if out.Messages == nil {
		return nil, errors.New(`the status "compacted" and no "messages"`)
	}
	if len(*out.Messages) == 0 {
		return nil, errors.New(`the status "compacted" and an empty list of messages: nothing would be left of the conversation`)
	}
	messages := make([]replay.CompactMessage, 0, len(*out.Messages))
	for i := range *out.Messages {
		m, err := (*out.Messages)[i].message()
		if err != nil {
			return nil, fmt.Errorf("a message that cannot be read: messages[%d]: %w", i, err)
		}
		if m.Role == fixtures.RoleSystem && m.Content == req.System {
			continue // the system prompt stands before the output anyway
		}
		if err := knownRole(m.Role); err != nil {
			return nil, fmt.Errorf("messages[%d] with %w", i, err)
		}
		messages = append(messages, m)
	}
	if len(messages) == 0 {
		return nil, errors.New("the system prompt and nothing else: nothing would be left of the conversation")
	}
	settled, dropped := settle(req, messages)
	if err := replay.CheckPairsAfter(replay.Texts(req.Messages), replay.Texts(settled)); err != nil {
		return nil, fmt.Errorf("calls and results that do not belong together: %w", err)
	}
	result.Messages, result.DroppedIDs = settled, dropped
	if len(dropped) == 0 && sameIDs(settled, req.Messages) {
		result.Status, result.Messages = replay.Unchanged, nil
		note(result, "the compactor says compacted, but its output is its input")
	}
	return result, nil
}

// decodeOne reads exactly one JSON object.
func decodeOne(printed []byte, into any, from source) error {
	printed = bytes.TrimPrefix(printed, []byte("\ufeff"))
	if len(bytes.TrimSpace(printed)) == 0 {
		return errors.New(from.empty)
	}
	dec := json.NewDecoder(bytes.NewReader(printed))
	err := dec.Decode(into)
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return fmt.Errorf("JSON that ends early, after %s: ...%s", plural(len(printed), "byte"), quoted(tail(printed, excerptBytes)))
	case errors.As(err, &syntax):
		return fmt.Errorf("no JSON%s: %v at byte %d: %s", from.hint, err, syntax.Offset, around(printed, syntax.Offset))
	case errors.As(err, &kind):
		place := kind.Field
		if place == "" {
			place = "the value"
		}
		return fmt.Errorf("JSON of another shape: %s is a %s, at byte %d", place, kind.Value, kind.Offset)
	case err != nil:
		return fmt.Errorf("JSON that cannot be used: %w", err)
	}
	end := dec.InputOffset()
	if rest := bytes.TrimSpace(printed[end:]); len(rest) > 0 {
		return fmt.Errorf("more than one JSON value%s: after byte %d comes %s", from.hint, end, quoted(rest[:min(len(rest), excerptBytes)]))
	}
	if first := bytes.TrimSpace(printed)[0]; first != '{' {
		return errors.New("a JSON value that is no object")
	}
	return nil
}

const excerptBytes = 60

// around is a short excerpt on both sides of an offset.
func around(data []byte, offset int64) string {
	at := int(min(max(offset, 0), int64(len(data))))
	from, to := max(0, at-excerptBytes/2), min(len(data), at+excerptBytes/2)
	return quoted(data[from:to])
}

// quoted is text in quotes, without line breaks or anything that moves a cursor.
func quoted(data []byte) string { return fmt.Sprintf("%q", data) }

func tail(data []byte, n int) []byte { return data[max(0, len(data)-n):] }

// errorText reads "error", which is a text for some and an object for others.
func errorText(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var object struct {
		Message string `json:"message"`
	}
	if json.Unmarshal(raw, &object) == nil {
		return object.Message
	}
	return ""
}

func knownRole(role string) error {
	switch role {
	case fixtures.RoleUser, fixtures.RoleAssistant, fixtures.RoleTool:
		return nil
	case fixtures.RoleSystem, "developer":
		return fmt.Errorf("role %q: the system prompt is not the compactor's to change, and a summary belongs in a user message", role)
	case "":
		return errors.New("no role")
	}
	return fmt.Errorf("the unknown role %q, want user, assistant or tool", excerpt(role, 40))
}

func (p *printedMessage) message() (replay.CompactMessage, error) {
	m := replay.CompactMessage{ID: p.ID, Kind: p.Kind, SourceIDs: p.SourceIDs}
	m.Role, m.ToolCallID = p.Role, p.ToolCallID
	switch p.Kind {
	case "", replay.KindSummary, replay.KindKept, replay.KindOpaque:
	default:
		return m, fmt.Errorf("kind %q: want summary, kept or opaque", excerpt(p.Kind, 40))
	}
	var err error
	if m.Content, m.Parts, err = fixtures.DecodeContent(p.Content); err != nil {
		return m, fmt.Errorf("content: %w", err)
	}
	for i, c := range p.ToolCalls {
		call, err := c.call()
		if err != nil {
			return m, fmt.Errorf("tool_calls[%d]: %w", i, err)
		}
		m.ToolCalls = append(m.ToolCalls, call)
	}
	return m, nil
}

func (c printedCall) call() (fixtures.ToolCall, error) {
	call := fixtures.ToolCall{ID: c.ID, Name: c.Name, Arguments: c.Arguments}
	if c.Function != nil {
		call.Name, call.Arguments = c.Function.Name, c.Function.Arguments
	}
	if call.Name == "" {
		return call, errors.New("no name")
	}
	// OpenAI writes the arguments as a string that holds JSON.
	var text string
	if json.Unmarshal(call.Arguments, &text) == nil && json.Valid([]byte(text)) {
		call.Arguments = json.RawMessage(strings.TrimSpace(text))
	}
	if len(call.Arguments) == 0 || string(call.Arguments) == "null" {
		call.Arguments = json.RawMessage("{}")
	}
	return call, nil
}

func sameIDs(a, b []replay.CompactMessage) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].ID != b[i].ID || a[i].Kind == replay.KindOpaque {
			return false
		}
	}
	return true
}
