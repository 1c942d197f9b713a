package replay

import (
	"context"
	"encoding/json"

	"github.com/doubletake-dev/doubletake/fixtures"
)

// Compactor shortens a conversation. Implementations are safe for concurrent use,
// leave their input alone, and answer the same input with the same output.
//
// What a compactor does wrong (it refuses, returns its input, prints garbage,
// exits, hangs) is a finding about it and comes back as a [Compaction] with a
// status; an error is only for what is nobody's finding, such as a cancelled
// context or a provider that is down.
type Compactor interface {
	Compact(context.Context, *CompactRequest) (*Compaction, error)
}

// CompactRequest is what a compactor sees: the contract of the exec and http
// drivers in Go. It never holds an item, a probe or a check.
type CompactRequest struct {
	Fixture string // the conversation's id
	// Compaction counts the compactions of the episode from 0.
	Compaction int
	// AfterTurn is the last turn in Messages.
	AfterTurn int
	// System is the system prompt, which stands before whatever comes back and is
	// not the compactor's to change.
	System string
	// Messages is the context without system messages.
	Messages []CompactMessage
	Tools    []fixtures.Tool
	// BudgetTokens is how large the result may be.
	BudgetTokens int
	// Model is the agent's model.
	Model string
	// Seed and Replicate go into the requests of a compactor that asks a model.
	Seed      int
	Replicate int
	// PriorState is what the compaction before this one returned as State.
	PriorState json.RawMessage
	// Recorded is what the recorded agent kept at this point, or nil.
	Recorded *fixtures.Compaction
}

// CompactMessage is a message with an id that lasts over compactions.
type CompactMessage struct {
	ID string
	fixtures.Message
	// Kind is summary, kept or opaque in the output, empty in the input.
	Kind string
	// SourceIDs are the messages that a summary was made from, where known.
	SourceIDs []string
}

// NativeField is the extra field of a message that holds it as a provider made it: a
// compaction item of OpenAI's Responses API, a compaction block of Anthropic's Messages
// API. NativeOfField names the provider. A model of that provider sends the item
// unchanged in place of the message's content; every other one reads the content.
const (
	NativeField   = "native"
	NativeOfField = "native_of"
)

// The providers whose native items are known.
const (
	NativeOpenAI    = "openai"
	NativeAnthropic = "anthropic"
)

// Native is a message as that provider made it, or nil for a message like any other.
func Native(m *fixtures.Message, provider string) json.RawMessage {
	if string(m.Extra[NativeOfField]) != `"`+provider+`"` {
		return nil
	}
	return m.Extra[NativeField]
}

// NativeExtra are the extra fields of a message that a provider made.
func NativeExtra(provider string, item json.RawMessage) map[string]json.RawMessage {
	return map[string]json.RawMessage{NativeField: item, NativeOfField: json.RawMessage(`"` + provider + `"`)}
}

// IsOpaque says whether a message of a stored context is one that only its provider can
// read.
func IsOpaque(m *fixtures.Message) bool { return string(m.Extra[KindField]) == `"`+KindOpaque+`"` }

// The kinds of messages in a compactor's output.
const (
	KindSummary = "summary"
	KindKept    = "kept"
	KindOpaque  = "opaque"
)

// CompactionStatus is what a compactor did.
type CompactionStatus string

// The statuses of a compaction.
const (
	Compacted CompactionStatus = "compacted"
	Unchanged CompactionStatus = "unchanged" // the output is the input
	Refused   CompactionStatus = "refused"   // the compactor said no
	Failed    CompactionStatus = "error"     // the compactor broke
)

// Compaction is what a compactor returned.
type Compaction struct {
	Status CompactionStatus
	// Messages is the new context without system messages; only for Compacted.
	Messages []CompactMessage
	// Reason says why for every status but Compacted.
	Reason     string
	DroppedIDs []string
	// NotRecorded says that the compactor refused because the recording does not hold
	// what it would have to answer: no fault of the compactor's.
	NotRecorded bool
	// Opaque says that the output holds what nobody but the provider can read.
	Opaque bool
	// Identity is who made it, as it says itself.
	Identity CompactorIdentity
	State    json.RawMessage
	// Exchanges are the model answers that it took.
	Exchanges []Exchange
	// SummariserInput holds what was sent to be summarised, by message id, where
	// the compactor knows.
	SummariserInput []string
	// Instructions is what the summariser was told to do, beside the messages; empty
	// where nothing was summarised or the compactor doesn't tell.
	Instructions string
	// Injected says which failure of its model the compactor was given on purpose; empty
	// for none.
	Injected string
}

// CompactorIdentity is how a compactor names itself.
type CompactorIdentity struct {
	Name         string `json:"name"`
	Version      string `json:"version,omitempty"`
	PromptSHA256 string `json:"prompt_sha256,omitempty"`
}

// Texts returns the messages without their ids.
func Texts(messages []CompactMessage) []fixtures.Message {
	out := make([]fixtures.Message, len(messages))
	for i := range messages {
		out[i] = messages[i].Message
	}
	return out
}
