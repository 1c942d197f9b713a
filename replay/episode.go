package replay

import (
	"fmt"
	"slices"

	"github.com/doubletake-dev/doubletake/fixtures"
)

// Key is an episode's identity, everywhere.
type Key struct {
	Fixture   fixtures.Hash `json:"fixture"`
	Arm       string        `json:"arm"`
	Replicate int           `json:"replicate"`
}

func (k Key) String() string { return fmt.Sprintf("%s/%s/%d", k.Fixture, k.Arm, k.Replicate) }

// EpisodeStatus is how an episode ended.
type EpisodeStatus string

// The statuses of episodes.
const (
	// Played: the agent spoke from the fork to the end.
	Played EpisodeStatus = "played"
	// Accepted: nothing was played; the steps are those of the accepted trace.
	Accepted EpisodeStatus = "accepted"
	// Void: a compaction was expected and none ran.
	Void EpisodeStatus = "void"
	// LeftOut: the whole conversation does not fit the window, and no trace was
	// accepted in its place.
	LeftOut EpisodeStatus = "left_out"
	// Faulted: something of the world (provider, budget, time) cut it short.
	Faulted EpisodeStatus = "faulted"
)

// Episode is one fixture played once under one arm.
type Episode struct {
	Key
	ConversationID string        `json:"conversation_id"`
	Status         EpisodeStatus `json:"status"`
	// Reason says why, for every status but played and accepted.
	Reason string `json:"reason,omitempty"`
	// PrefixHash is the hash of the recorded turns up to the fork: the same for
	// both episodes of a pair.
	PrefixHash fixtures.Hash `json:"prefix_hash"`
	Fork       int           `json:"fork"`
	// PrefixTokens is the size of the uncompacted prefix, ContextTokens the size of
	// the context from which the agent went on.
	PrefixTokens  int                `json:"prefix_tokens"`
	ContextTokens int                `json:"context_tokens"`
	Context       fixtures.Hash      `json:"context,omitempty"`
	Compactions   []CompactionRecord `json:"compactions,omitempty"`
	Steps         []Step             `json:"steps,omitempty"`
	// Recorded is what the recording did after the fork, in step mode; the turns of
	// Steps are its turns.
	Recorded []Step `json:"recorded,omitempty"`
	// SameAs is the arm whose agent went on from the same bytes. Nothing was asked for a
	// second time: steps, end and exchanges are that arm's.
	SameAs string `json:"same_as,omitempty"`
	// End says whether all recorded user turns were answered or the step limit came first.
	End       EndReason  `json:"end,omitempty"`
	Exchanges []Exchange `json:"exchanges,omitempty"`
}

// EndReason is why a played episode ended.
type EndReason string

// The reasons.
const (
	Answered  EndReason = "answered"
	StepLimit EndReason = "step_limit"
)

// CompactionRecord is one compaction of an episode.
type CompactionRecord struct {
	Index     int              `json:"index"` // from 0
	AfterTurn int              `json:"after_turn"`
	Status    CompactionStatus `json:"status"`
	Reason    string           `json:"reason,omitempty"`
	// Before and After are the contexts' hashes in the run's contexts.
	Before       fixtures.Hash     `json:"before"`
	After        fixtures.Hash     `json:"after,omitempty"`
	TokensBefore int               `json:"tokens_before"`
	TokensAfter  int               `json:"tokens_after"`
	Budget       int               `json:"budget_tokens"`
	Compactor    CompactorIdentity `json:"compactor,omitzero"`
	Opaque       bool              `json:"opaque,omitempty"`
	// NotRecorded says that the compactor refused for want of it in the recording.
	NotRecorded bool `json:"not_recorded,omitempty"`
	// Injected is the failure of its model that the compactor was given on purpose.
	Injected string `json:"injected,omitempty"`
	// Rules are what the compactor must never break, and whether it did.
	Rules []RuleResult `json:"rules,omitempty"`
}

// StepKind is who did what in a step.
type StepKind string

// The kinds of steps.
const (
	StepCall StepKind = "call" // the agent called a tool
	StepText StepKind = "text" // the agent spoke
	StepUser StepKind = "user" // the user spoke
)

// Step is one thing that happened after the fork.
type Step struct {
	Kind StepKind `json:"kind"`
	Turn int      `json:"turn"`
	// Number counts the tool calls from 1.
	Number int                `json:"step,omitempty"`
	Call   *fixtures.ToolCall `json:"call,omitempty"`
	Result string             `json:"result,omitempty"`
	Source ToolSource         `json:"source,omitempty"`
	Text   string             `json:"text,omitempty"`
	// Simulated says that a model wrote what the user says.
	Simulated bool `json:"simulated,omitempty"`
	// MadeInTurn is the last turn up to the fork in which the recording made the same
	// call, by the fixture's canonical arguments; 0 where it made none, or made it again
	// after the fork.
	MadeInTurn int `json:"made_in_turn,omitempty"`
}

// Divergent says that nothing could answer the call: what the agent did from there on it
// did on a made-up footing.
func (s *Step) Divergent() bool { return s.Kind == StepCall && s.Source == Miss }

// Conduct is what the checks see of the episode.
func (e *Episode) Conduct() *fixtures.Conduct {
	var c fixtures.Conduct
	if e.Status == Faulted {
		c.Fault = e.Reason
	}
	for _, s := range e.Steps {
		switch s.Kind {
		case StepCall:
			c.Actions = append(c.Actions, fixtures.Action{Tool: s.Call.Name, Arguments: s.Call.Arguments, Step: s.Number, Turn: s.Turn})
			if s.Divergent() {
				c.Missed = append(c.Missed, s.Number)
			}
		case StepText:
			c.Actions = append(c.Actions, fixtures.Action{Text: s.Text, Turn: s.Turn})
		}
	}
	return &c
}

// ContextHashes are the contexts that the episode names, each once.
func (e *Episode) ContextHashes() []fixtures.Hash {
	var list []fixtures.Hash
	add := func(hash fixtures.Hash) {
		if hash != "" && !slices.Contains(list, hash) {
			list = append(list, hash)
		}
	}
	for i := range e.Compactions {
		add(e.Compactions[i].Before)
		add(e.Compactions[i].After)
	}
	add(e.Context)
	return list
}

// Finished says whether the episode is a result: one that a fault of the world cut
// short is not, and is played again when its run goes on.
func (e *Episode) Finished() bool { return e.Status != Faulted }

// Digest identifies what happened in the episode: the prefix, the contexts, what the
// agent did, how it ended. What it cost, how long it took, and whether it was asked for
// or taken from another arm are no part of it.
func (e *Episode) Digest() fixtures.Hash {
	parts := *e
	parts.Exchanges, parts.SameAs = nil, ""
	parts.Replicate = 0
	parts.Steps = slices.Clone(e.Steps)
	for i := range parts.Steps {
		parts.Steps[i].MadeInTurn = 0 // follows from the recording and the call
	}
	hash, err := fixtures.HashJSON(parts)
	if err != nil {
		return "" // an episode is made of what JSON can hold
	}
	return hash
}
