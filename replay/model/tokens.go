package model

import (
	"fmt"
	"iter"
	"strings"
	"sync"
	"unicode"

	"github.com/tiktoken-go/tokenizer"
	"github.com/zeebo/xxh3"

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
	counts map[uint64]int // by the hash of a message
	words  map[string]int // by what [words] yields
}

// mostCounts bounds the counts that are remembered: a message is counted again and again
// while its conversation is played, and not after.
const mostCounts = 1 << 17

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
	return &Counter{codec: codec, Vocabulary: codec.GetName(), Exact: exact, counts: map[uint64]int{}, words: map[string]int{}}, nil
}

// Count returns the tokens of a message, its calls included.
func (c *Counter) Count(m fixtures.Message) int {
	key := xxh3.HashStringSeed(m.Content, xxh3.HashString(m.Role))
	for _, call := range m.ToolCalls {
		key = xxh3.HashSeed(call.Arguments, xxh3.HashStringSeed(call.Name, key))
	}
	c.mu.Lock()
	n, ok := c.counts[key]
	c.mu.Unlock()
	if ok {
		return n
	}
	var b strings.Builder
	b.WriteString(m.Role + "\n" + m.Content)
	for _, call := range m.ToolCalls {
		b.WriteString("\n" + call.Name)
		b.Write(call.Arguments)
	}
	text := b.String()
	n = perMessage
	var unknown []string
	c.mu.Lock()
	for part := range words(text) {
		tokens, ok := c.words[part]
		if n += tokens; !ok {
			unknown = append(unknown, part)
		}
	}
	c.mu.Unlock()
	for _, part := range unknown {
		n += c.countWord(part)
	}
	c.mu.Lock()
	if len(c.counts) >= mostCounts {
		clear(c.counts)
	}
	c.counts[key] = n
	c.mu.Unlock()
	return n
}

// The bounds of the words whose counts are remembered.
const (
	mostWords   = 1 << 15
	longestWord = 32 // bytes
)

// words cuts a text before each space that a lower-case ASCII letter follows. All the
// vocabularies cut there, too: such a space begins a piece, whatever stands before it. So
// the parts have as many tokens as the whole, and most of them are words that came before.
func words(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		start := 0
		for i := 1; i < len(text)-1; i++ {
			if text[i] == ' ' && 'a' <= text[i+1] && text[i+1] <= 'z' {
				if !yield(text[start:i]) {
					return
				}
				start = i
			}
		}
		yield(text[start:])
	}
}

func (c *Counter) countWord(word string) int {
	short := len(word) <= longestWord
	if short {
		c.mu.Lock()
		n, ok := c.words[word]
		c.mu.Unlock()
		if ok {
			return n
		}
	}
	n := 0
	for _, part := range splitRuns(word) {
		tokens, err := c.codec.Count(part)
		if err != nil {
			// The codec fails on nothing that is text; a rough count is better than none.
			tokens = len(part)/4 + 1
		}
		n += tokens
	}
	if short {
		c.mu.Lock()
		if len(c.words) >= mostWords {
			clear(c.words)
		}
		c.words[strings.Clone(word)] = n
		c.mu.Unlock()
	}
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
