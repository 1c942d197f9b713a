package model

import (
	"fmt"
	"sync"
	"unicode"

	"github.com/tiktoken-go/tokenizer"

	"github.com/doubletake-dev/doubletake/fixtures"
)

// Counter counts tokens with the vocabulary of an OpenAI model, each message once.
// It is safe for concurrent use.
type Counter struct {
	codec tokenizer.Codec
	// Vocabulary is the name of the vocabulary in use; Exact says whether it is
	// the named model's own.
	Vocabulary string
	Exact      bool

	mu     sync.Mutex
	counts map[fixtures.Hash]int
}

// perMessage is what the protocol adds around each message, as OpenAI documents it
// for its chat models.
const perMessage = 3

// NewCounter returns the counter for a model. A model that the tokenizer does not
// know is counted with o200k_base, and Exact is false.
func NewCounter(modelName string) (*Counter, error) {
	codec, err := tokenizer.ForModel(tokenizer.Model(modelName))
	exact := err == nil
	if err != nil {
		if codec, err = tokenizer.Get(tokenizer.O200kBase); err != nil {
			return nil, fmt.Errorf("loading the vocabulary for token counts: %w", err)
		}
	}
	return &Counter{codec: codec, Vocabulary: codec.GetName(), Exact: exact, counts: map[fixtures.Hash]int{}}, nil
}

// Count returns the tokens of a message, its calls included.
func (c *Counter) Count(m fixtures.Message) int {
	text := m.Role + "\n" + m.Content
	for _, call := range m.ToolCalls {
		text += "\n" + call.Name + string(call.Arguments)
	}
	key := fixtures.HashBytes([]byte(text))
	c.mu.Lock()
	n, ok := c.counts[key]
	c.mu.Unlock()
	if ok {
		return n
	}
	n = perMessage
	for _, part := range splitRuns(text) {
		tokens, err := c.codec.Count(part)
		if err != nil {
			// The codec fails on nothing that is text; a rough count is better than none.
			tokens = len(part)/4 + 1
		}
		n += tokens
	}
	c.mu.Lock()
	c.counts[key] = n
	c.mu.Unlock()
	return n
}

// longestRun bounds what the codec gets as one piece, because its time grows with
// the square of a piece: a megabyte of dashes would take it minutes. Ordinary text
// has no such runs and is counted as it is.
const longestRun = 2000

// splitRuns cuts a text inside runs of one kind of character that are longer than
// longestRun bytes.
func splitRuns(text string) []string {
	var parts []string
	start, run, was := 0, 0, runeKind(-1)
	for i, r := range text {
		kind := kindOf(r)
		if kind != was {
			run, was = i, kind
		}
		if i-run >= longestRun {
			parts = append(parts, text[start:i])
			start, run = i, i
		}
	}
	return append(parts, text[start:])
}

type runeKind int

// kindOf tells apart what the vocabularies never join into one piece.
func kindOf(r rune) runeKind {
	switch {
	case unicode.IsLetter(r) || unicode.IsMark(r):
		return 0
	case unicode.IsNumber(r):
		return 1
	case unicode.IsSpace(r):
		return 2
	}
	return 3
}
