package compact

import (
	"fmt"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
)

// Options are what the built-in compactors can be told. The zero value is right
// for those that ask no model.
type Options struct {
	// Model writes the summaries; summarize and ledger need one.
	Model replay.Model
	// ModelName is the model to ask; empty is the agent's own.
	ModelName string
	// Prompt is the summariser's system prompt; empty is [DefaultPrompt].
	Prompt string
	// Keep is how many of the newest turns (summarize, ledger: 4) or tool results
	// (clear-tool-results: 3) stay as they are; 0 is the default.
	Keep int
	// ToolUses is how many tool calls a context may hold that clear-tool-results leaves
	// alone; 0 clears in any.
	ToolUses int
	// ClearAtLeast is how many tokens clear-tool-results must save, or it leaves the
	// context alone; 0 for any number.
	ClearAtLeast int
	// ExcludeTools are the tools whose results clear-tool-results never clears.
	ExcludeTools []string
	// ClearToolInputs has clear-tool-results clear the arguments of a call with its
	// result.
	ClearToolInputs bool
	// Counter counts tokens; nil is [RoughCounter].
	Counter replay.Counter
}

// RoughCounter counts tokens without a vocabulary: one for four ASCII characters
// and one for every other character, and four for the frame of a message.
type RoughCounter struct{}

// Count counts the tokens of a message.
func (RoughCounter) Count(m fixtures.Message) int {
	ascii, other := 0, 0
	add := func(text string) {
		for _, r := range text {
			if r < utf8.RuneSelf {
				ascii++
			} else {
				other++
			}
		}
	}
	add(m.Content)
	for i := range m.ToolCalls {
		add(m.ToolCalls[i].Name)
		add(string(m.ToolCalls[i].Arguments))
		ascii += 8
	}
	return 4 + (ascii+3)/4 + other
}

func counterOf(c replay.Counter) replay.Counter {
	if c == nil {
		return RoughCounter{}
	}
	return c
}

// ReadPrompt reads a summariser's prompt from a file.
func ReadPrompt(path string) (string, error) {
	const most = 1 << 20
	info, err := os.Stat(path)
	if err != nil {
		return "", fmt.Errorf("reading a summariser's prompt: %w", err)
	}
	if !info.Mode().IsRegular() || info.Size() > most {
		return "", fmt.Errorf("reading a summariser's prompt: %s: want a regular file of at most 1 MB", path)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("reading a summariser's prompt: %w", err)
	}
	if !utf8.Valid(data) {
		return "", fmt.Errorf("reading a summariser's prompt: %s is no UTF-8 text", path)
	}
	text := strings.TrimSpace(string(data))
	if text == "" {
		return "", fmt.Errorf("reading a summariser's prompt: %s is empty; leave the prompt out to get the built-in one", path)
	}
	return text, nil
}
