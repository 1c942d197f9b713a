package replay

import (
	"context"
	"errors"
	"fmt"

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
	// Fresh says that the answer was asked for afresh, apart from the one that is
	// stored for the same request.
	Fresh bool
	// CostUSD is what the answer cost, nil where the model's price is not known.
	CostUSD *float64
	// LatencyMS is how long the provider took, in milliseconds, nil where that says
	// nothing.
	LatencyMS *float64
	// Reasoning is what the model thought aloud before it answered. It is no part of the
	// message.
	Reasoning string
	// Sent says in words what was sent otherwise than usual, such as "temperature
	// omitted"; empty for nothing.
	Sent string
	// Raw is what stood on the wire, nil where that is not kept.
	Raw *Raw
}

// Raw is one request and its answer, byte for byte but for the key.
type Raw struct {
	Request  []byte `json:"request"`
	Response []byte `json:"response"`
}

// maxReply bounds what an answer may hold, in bytes: far more than a model writes at once,
// and little enough for everything that looks at an episode.
const maxReply = 8 << 20

// Fault says why an answer is none of the agent's doing: the provider's filter stopped
// it, or a bound that nobody asked for cut it short. Nil for an answer that counts.
func (r *Reply) Fault() error {
	size := len(r.Message.Content)
	for _, call := range r.Message.ToolCalls {
		size += len(call.Arguments)
	}
	if size > maxReply {
		return fmt.Errorf("the provider's answer holds %d bytes of text and arguments, and no model writes more than %d", size, maxReply)
	}
	switch r.FinishReason {
	case "pause_turn":
		return errors.New("the provider paused in the middle of its turn (stop reason pause_turn)")
	case "content_filter":
		return errors.New("the provider's content filter stopped the answer")
	case "length":
		if r.Message.Content == "" && len(r.Message.ToolCalls) == 0 {
			return nil // an empty answer is another matter
		}
		return fmt.Errorf("the provider cut the answer off after %d tokens (finish reason length); give the model a larger bound", r.Usage.CompletionTokens)
	}
	return nil
}

// Usage is what one answer cost in tokens.
type Usage struct {
	PromptTokens     int `json:"prompt_tokens"`
	CachedTokens     int `json:"cached_tokens,omitempty"`  // of the prompt, served by the provider's prefix cache
	WrittenTokens    int `json:"written_tokens,omitempty"` // of the prompt, taken into that cache, where the provider counts them
	CompletionTokens int `json:"completion_tokens"`
}

// Total is all tokens of the answer and its prompt.
func (u Usage) Total() int { return u.PromptTokens + u.CompletionTokens }

// Exchange is the record of one answer: what report and resume need to know of it.
type Exchange struct {
	// For is agent, user, compactor, judge, "rubric answer" or "rubric grade".
	For         string        `json:"for"`
	Key         fixtures.Hash `json:"key"`
	Stored      bool          `json:"stored,omitempty"`
	Fresh       bool          `json:"fresh,omitempty"`
	Fingerprint string        `json:"fingerprint,omitempty"`
	Usage       Usage         `json:"usage"`
	CostUSD     *float64      `json:"cost_usd,omitempty"`
	LatencyMS   *float64      `json:"latency_ms,omitempty"`
	// Sent is that of the reply.
	Sent string `json:"sent,omitempty"`
}

// Exchange summarises the reply for the journal.
func (r *Reply) Exchange(purpose string) Exchange {
	return Exchange{For: purpose, Key: r.Key, Stored: r.Stored, Fresh: r.Fresh, Fingerprint: r.Fingerprint, Usage: r.Usage, CostUSD: r.CostUSD, LatencyMS: r.LatencyMS, Sent: r.Sent}
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
