package compact

import (
	"fmt"
	"strings"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
)

func unchanged(name, reason string) *replay.Compaction {
	return &replay.Compaction{Status: replay.Unchanged, Reason: reason, Identity: identity(name)}
}

// newIDs gives the messages that a compactor writes ids that depend on nothing
// but the request: s0 for the first compaction of an episode, s1 for the second.
type newIDs struct {
	base string
	used map[string]bool
}

func newIDsFor(req *replay.CompactRequest) *newIDs {
	ids := &newIDs{base: fmt.Sprintf("s%d", req.Compaction), used: map[string]bool{}}
	for i := range req.Messages {
		ids.used[req.Messages[i].ID] = true
	}
	return ids
}

// next returns an id that no message has: the base, with suffix if there is one.
func (n *newIDs) next(suffix string) string {
	want := n.base
	if suffix != "" {
		want += "-" + suffix
	}
	id := want
	for i := 2; n.used[id]; i++ {
		id = fmt.Sprintf("%s.%d", want, i)
	}
	n.used[id] = true
	return id
}

// userMessage is a message that a compactor writes.
func userMessage(id, text string, sources []string) replay.CompactMessage {
	return replay.CompactMessage{
		ID: id, Kind: replay.KindSummary, SourceIDs: sources,
		Message: fixtures.Message{Role: fixtures.RoleUser, Content: text},
	}
}

// The first lines of the messages that the built-in compactors write.
const (
	summaryHeading = "Summary of the conversation so far:\n"
	ledgerHeading  = "Ledger of what binds (kept word for word):\n"
)

// written says whether a message was written by a built-in compactor and not by
// the user in whose role it stands.
func written(m *replay.CompactMessage) bool {
	return isSummary(m) || isLedger(m) || isGapNote(m)
}

func isSummary(m *replay.CompactMessage) bool {
	return m.Role == fixtures.RoleUser && strings.HasPrefix(m.Content, summaryHeading)
}

func isLedger(m *replay.CompactMessage) bool {
	return m.Role == fixtures.RoleUser && strings.HasPrefix(m.Content, ledgerHeading)
}

// leading is how many messages at the beginning were written by an earlier
// compaction.
func leading(messages []replay.CompactMessage) int {
	n := 0
	for n < len(messages) && (isSummary(&messages[n]) || isLedger(&messages[n])) {
		n++
	}
	return n
}

func idsOf(messages []replay.CompactMessage) []string {
	ids := make([]string, len(messages))
	for i := range messages {
		ids[i] = messages[i].ID
	}
	return ids
}

func tokensOf(counter replay.Counter, messages []replay.CompactMessage) int {
	n := 0
	for i := range messages {
		n += counter.Count(messages[i].Message)
	}
	return n
}

// plural writes "1 message" or "3 messages".
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	if stem, ok := strings.CutSuffix(noun, "y"); ok {
		return fmt.Sprintf("%d %sies", n, stem)
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
