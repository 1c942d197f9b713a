package replay

import (
	"context"

	"github.com/doubletake-dev/doubletake/fixtures"
)

// Model answers one chat request. Implementations are safe for concurrent use and
// must return the same answer for the same request as far as they can.
type Model interface {
	Complete(context.Context, *Request) (*Reply, error)
}

// Request is one question to a model. Temperature is always zero.
type Request struct {
	Model    string
	Messages []fixtures.Message
	Tools    []fixtures.Tool
	Seed     int
	// MaxTokens bounds the answer; 0 leaves it to the provider.
	MaxTokens int
	// JSON asks for an answer that is one JSON object.
	JSON bool
	// Replicate tells apart repeated plays of the same episode: it is no part of
	// what the provider sees, but answers are never shared between replicates.
	Replicate int
	// Fresh asks for an answer of the provider's own, not a stored one.
	Fresh bool
}

// Reply is a model's answer.
type Reply struct {
	Message      fixtures.Message // role assistant, no turn
	FinishReason string
	// Model and Fingerprint are what the provider says answered.
	Model       string
	Fingerprint string
	Usage       Usage
	// Key identifies the answer: equal keys are one answer, paid once.
	Key fixtures.Hash
	// Stored says that the answer came from the cache, paid by an earlier run.
	Stored bool
	// CostUSD is what the answer cost, nil where the model's price is not known.
	CostUSD *float64
	// LatencyMS is how long the provider took, in milliseconds, nil where that says
	// nothing.
	LatencyMS *float64
}

// Usage is what one answer cost in tokens.
type Usage struct {
	PromptTokens     int `json:"prompt_tokens"`
	CachedTokens     int `json:"cached_tokens,omitempty"` // of the prompt, served by the provider's prefix cache
	CompletionTokens int `json:"completion_tokens"`
}

// Exchange is the record of one answer: what report and resume need to know of it.
type Exchange struct {
	// For is agent, compactor, judge, "rubric answer" or "rubric grade".
	For         string        `json:"for"`
	Key         fixtures.Hash `json:"key"`
	Stored      bool          `json:"stored,omitempty"`
	Fingerprint string        `json:"fingerprint,omitempty"`
	Usage       Usage         `json:"usage"`
	CostUSD     *float64      `json:"cost_usd,omitempty"`
	LatencyMS   *float64      `json:"latency_ms,omitempty"`
}

// Exchange summarises the reply for the journal.
func (r *Reply) Exchange(purpose string) Exchange {
	return Exchange{For: purpose, Key: r.Key, Stored: r.Stored, Fingerprint: r.Fingerprint, Usage: r.Usage, CostUSD: r.CostUSD, LatencyMS: r.LatencyMS}
}

// Counter counts the tokens of a message as the agent's model would.
type Counter interface {
	Count(fixtures.Message) int
}

// CountAll sums the tokens of messages.
func CountAll(c Counter, messages []fixtures.Message) int {
	total := 0
	for i := range messages {
		total += c.Count(messages[i])
	}
	return total
}
