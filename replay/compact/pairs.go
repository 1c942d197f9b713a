package compact

import (
	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
)

// group is a run of messages that stay or go together, [start,end).
type group struct{ start, end int }

// groupsOf cuts messages into groups: an assistant message with its calls'
// results, wherever those stand, is one group with all that lies between; every
// other message is its own.
func groupsOf(messages []replay.CompactMessage) []group {
	caller := map[string]int{} // call id -> the last message that made it
	last := make([]int, len(messages))
	for i := range messages {
		last[i] = i
		m := &messages[i]
		for _, c := range m.ToolCalls {
			caller[c.ID] = i
		}
		if m.Role == fixtures.RoleTool {
			if from, ok := caller[m.ToolCallID]; ok {
				last[from] = i
			}
		}
	}
	var groups []group
	for i := 0; i < len(messages); {
		end := last[i]
		for j := i; j <= end; j++ {
			end = max(end, last[j])
		}
		groups = append(groups, group{i, end + 1})
		i = end + 1
	}
	return groups
}

// turnsIn counts the messages of the user and the assistant.
func turnsIn(messages []replay.CompactMessage) int {
	n := 0
	for i := range messages {
		if messages[i].Role != fixtures.RoleTool {
			n++
		}
	}
	return n
}

// history is the messages of a request with what every compactor asks of them.
type history struct {
	messages []replay.CompactMessage
	groups   []group
	tokens   []int // per group
	total    int
	must     []bool // per group: the last one, and the one of the last user message
}

func newHistory(req *replay.CompactRequest, counter replay.Counter) *history {
	h := &history{messages: req.Messages, groups: groupsOf(req.Messages)}
	h.tokens = make([]int, len(h.groups))
	h.must = make([]bool, len(h.groups))
	user := -1
	for g, span := range h.groups {
		for i := span.start; i < span.end; i++ {
			h.tokens[g] += counter.Count(h.messages[i].Message)
			if h.messages[i].Role == fixtures.RoleUser && !written(&h.messages[i]) {
				user = g
			}
		}
		h.total += h.tokens[g]
	}
	if user >= 0 {
		h.must[user] = true
	}
	if n := len(h.must); n > 0 {
		h.must[n-1] = true
	}
	return h
}

// mustTokens is the size of the groups that always stay.
func (h *history) mustTokens() int {
	n := 0
	for g, must := range h.must {
		if must {
			n += h.tokens[g]
		}
	}
	return n
}

// tail returns the first group of the longest tail that holds at most turns turns
// (0: any number) and that fits, together with the groups that always stay, in
// budget tokens. The last group is always in it.
func (h *history) tail(from, turns, budget int) int {
	used, have := h.mustTokens(), 0
	start := len(h.groups)
	for g := len(h.groups) - 1; g >= from; g-- {
		if turns > 0 && have >= turns {
			break
		}
		if !h.must[g] {
			if used+h.tokens[g] > budget {
				break
			}
			used += h.tokens[g]
		}
		have += turnsIn(h.messages[h.groups[g].start:h.groups[g].end])
		start = g
	}
	return start
}

// keep returns the messages of the groups that stay, as kept.
func (h *history) keep(stays func(g int) bool) (kept []replay.CompactMessage, dropped []string) {
	for g, span := range h.groups {
		for i := span.start; i < span.end; i++ {
			if stays(g) {
				kept = append(kept, asKept(h.messages[i]))
			} else {
				dropped = append(dropped, h.messages[i].ID)
			}
		}
	}
	return kept, dropped
}

func asKept(m replay.CompactMessage) replay.CompactMessage {
	m.Kind = replay.KindKept
	m.SourceIDs = nil
	return m
}
