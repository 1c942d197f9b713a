package model

import (
	"fmt"
	"sync"

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
	n, err := c.codec.Count(text)
	if err != nil {
		// The codec fails on nothing that is text; a rough count is better than none.
		n = len(text)/4 + 1
	}
	n += perMessage
	c.mu.Lock()
	c.counts[key] = n
	c.mu.Unlock()
	return n
}
