package model

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// streamEnd is the data of the last event of a stream.
const streamEnd = "[DONE]"

// streamError is a stream that holds no whole answer.
type streamError struct {
	text string
	// object is the error that stood in the stream, nil where none did.
	object json.RawMessage
}

func (e *streamError) Error() string { return e.text }

// assemble puts a streamed answer together and returns it as the one object that a
// provider answers with where nothing is streamed. An answer that came as one object all
// the same is returned as it is. A stream counts as whole when it gave a reason for its
// end; that it was closed is none.
func assemble(body io.Reader) ([]byte, error) {
	reader := bufio.NewReader(body)
	begin, err := firstByte(reader)
	switch {
	case errors.Is(err, io.EOF):
		return nil, &streamError{text: "the stream is empty"}
	case err != nil:
		return nil, err
	case begin == '{':
		return io.ReadAll(reader)
	case begin == '<' || begin == '[':
		if _, err := io.Copy(io.Discard, reader); err != nil {
			return nil, err
		}
		return nil, &streamError{text: "the answer is no JSON and no stream of events"}
	}
	var a assembly
	events := newEvents(reader)
	for {
		data, err := events.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		text := bytes.TrimSpace(data)
		if string(text) == streamEnd {
			break
		}
		if len(text) == 0 {
			continue
		}
		if err := a.add(text); err != nil {
			return nil, err
		}
	}
	return a.whole()
}

// firstByte looks at the first byte that is no space, and leaves it there.
func firstByte(reader *bufio.Reader) (byte, error) {
	for {
		c, err := reader.ReadByte()
		if err != nil {
			return 0, err
		}
		if strings.IndexByte(" \t\r\n", c) < 0 {
			return c, reader.UnreadByte()
		}
	}
}

// assembly is an answer while its pieces come in.
type assembly struct {
	id, model, fingerprint string
	seen                   bool // a first choice came
	content, refusal       strings.Builder
	reasoning              strings.Builder
	calls                  []*assembledCall
	finish                 string
	usage                  json.RawMessage
}

type assembledCall struct {
	index     int // as the provider counts, -1 where it does not
	id, name  string
	arguments strings.Builder
}

// streamed is one event of a streamed answer.
type streamed struct {
	ID          string          `json:"id"`
	Model       string          `json:"model"`
	Fingerprint string          `json:"system_fingerprint"`
	Error       json.RawMessage `json:"error"`
	Usage       json.RawMessage `json:"usage"`
	Choices     []struct {
		Index int `json:"index"`
		Delta struct {
			Content          *string        `json:"content"`
			Refusal          *string        `json:"refusal"`
			ReasoningContent *string        `json:"reasoning_content"`
			Reasoning        *string        `json:"reasoning"`
			ToolCalls        []streamedCall `json:"tool_calls"`
		} `json:"delta"`
		Finish *string `json:"finish_reason"`
	} `json:"choices"`
}

type streamedCall struct {
	Index    *int   `json:"index"`
	ID       string `json:"id"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

// add takes one event in.
func (a *assembly) add(data []byte) error {
	var event streamed
	if err := json.Unmarshal(data, &event); err != nil {
		return &streamError{text: fmt.Sprintf("an event of the stream is no part of a chat completion (%s)", cut(err.Error(), 200))}
	}
	if len(event.Error) > 0 && string(event.Error) != "null" {
		return &streamError{text: "the stream broke off with an error", object: event.Error}
	}
	for _, set := range []struct {
		to   *string
		from string
	}{{&a.id, event.ID}, {&a.model, event.Model}, {&a.fingerprint, event.Fingerprint}} {
		if set.from != "" {
			*set.to = set.from
		}
	}
	if len(event.Usage) > 0 && string(event.Usage) != "null" {
		a.usage = event.Usage // some providers count up with every event: the last one holds
	}
	for i := range event.Choices {
		c := &event.Choices[i]
		if c.Index != 0 {
			continue
		}
		a.seen = true
		appendTo(&a.content, c.Delta.Content)
		appendTo(&a.refusal, c.Delta.Refusal)
		if c.Delta.ReasoningContent != nil {
			appendTo(&a.reasoning, c.Delta.ReasoningContent)
		} else {
			appendTo(&a.reasoning, c.Delta.Reasoning)
		}
		for _, piece := range c.Delta.ToolCalls {
			a.call(&piece)
		}
		if c.Finish != nil && *c.Finish != "" {
			a.finish = *c.Finish
		}
	}
	return nil
}

func appendTo(b *strings.Builder, text *string) {
	if text != nil {
		b.WriteString(*text)
	}
}

// call takes a piece of a call in: that with its index, unless it has another id, as
// where a provider gives all calls one index; without an index the last one's.
func (a *assembly) call(piece *streamedCall) {
	var to *assembledCall
	for i := len(a.calls) - 1; i >= 0 && to == nil; i-- {
		c := a.calls[i]
		if piece.Index == nil || c.index == *piece.Index {
			to = c
		}
	}
	if to == nil || piece.ID != "" && to.id != "" && piece.ID != to.id {
		to = &assembledCall{index: -1}
		if piece.Index != nil {
			to.index = *piece.Index
		}
		a.calls = append(a.calls, to)
	}
	if to.id == "" {
		to.id = piece.ID
	}
	if piece.Function.Name != to.name { // some providers repeat the name
		to.name += piece.Function.Name
	}
	to.arguments.WriteString(piece.Function.Arguments)
}

// whole is the answer as one object.
func (a *assembly) whole() ([]byte, error) {
	switch {
	case !a.seen:
		return nil, &streamError{text: "the stream has no choices"}
	case a.finish == "":
		return nil, &streamError{text: "the stream broke off before its finish_reason"}
	}
	type function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	}
	type call struct {
		ID       string   `json:"id,omitempty"`
		Type     string   `json:"type"`
		Function function `json:"function"`
	}
	type message struct {
		Role      string `json:"role"`
		Content   string `json:"content"`
		Refusal   string `json:"refusal,omitempty"`
		Reasoning string `json:"reasoning_content,omitempty"`
		ToolCalls []call `json:"tool_calls,omitempty"`
	}
	type choice struct {
		Index   int     `json:"index"`
		Message message `json:"message"`
		Finish  string  `json:"finish_reason"`
	}
	m := message{Role: "assistant", Content: a.content.String(), Refusal: a.refusal.String(), Reasoning: a.reasoning.String()}
	for _, c := range a.calls {
		m.ToolCalls = append(m.ToolCalls, call{c.id, "function", function{c.name, c.arguments.String()}})
	}
	return json.Marshal(struct {
		ID          string          `json:"id,omitempty"`
		Object      string          `json:"object"`
		Model       string          `json:"model,omitempty"`
		Fingerprint string          `json:"system_fingerprint,omitempty"`
		Choices     []choice        `json:"choices"`
		Usage       json.RawMessage `json:"usage,omitempty"`
	}{a.id, "chat.completion", a.model, a.fingerprint, []choice{{0, m, a.finish}}, a.usage})
}
