package analysis

import (
	"fmt"
	"strings"

	"github.com/doubletake-dev/doubletake/pairing"
	"github.com/doubletake-dev/doubletake/replay"
)

// RepeatCounts are the repeated calls of an arm's first plays, and in how many
// conversations they were made.
type RepeatCounts struct {
	pairing.Repeats
	// WriteConversations are the conversations with a repeated write, Conversations
	// those with any repeated call.
	WriteConversations int `json:"write_conversations,omitempty"`
	Conversations      int `json:"conversations,omitempty"`
}

// repeats counts the repeated calls by arm; arms without any are left out, and nil is a
// run without any.
func repeats(record *replay.Record) map[string]RepeatCounts {
	var out map[string]RepeatCounts
	for _, e := range record.Episodes {
		f := record.Fixture(e.Fixture)
		if e.Replicate != 0 || f == nil {
			continue
		}
		r := pairing.CountRepeats(f, e)
		if !r.Any() {
			continue
		}
		if out == nil {
			out = map[string]RepeatCounts{}
		}
		c := out[e.Arm]
		c.Reads += r.Reads
		c.Writes += r.Writes
		c.Unclear += r.Unclear
		c.Conversations++
		if r.Writes > 0 {
			c.WriteConversations++
		}
		out[e.Arm] = c
	}
	return out
}

// noteRepeats says for each arm which calls of before the fork it made again.
func (a *analyser) noteRepeats() {
	for _, arm := range a.report.Arms {
		c, ok := a.report.Repeats[arm.Name]
		if !ok {
			continue
		}
		var parts []string
		if c.Writes > 0 {
			parts = append(parts, fmt.Sprintf("%s in %s", counted(c.Writes, "write"), counted(c.WriteConversations, "conversation")))
		}
		if c.Reads > 0 {
			parts = append(parts, counted(c.Reads, "read"))
		}
		if c.Unclear > 0 {
			parts = append(parts, counted(c.Unclear, "call")+" that may be either")
		}
		a.notes = append(a.notes, fmt.Sprintf("made again after the fork under %s: %s", arm.Name, strings.Join(parts, ", ")))
	}
}
