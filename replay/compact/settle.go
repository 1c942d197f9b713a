package compact

import (
	"slices"
	"strconv"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
)

// settle gives the messages that a foreign compactor returned their place among
// those it got. A message that says what one of the input says, in the same role
// and with the same calls, is that message: it gets its id, its turn and whatever
// else the input had and the compactor may not have repeated. It is found by its
// id or, without one, by its content, each message of the input once. Every other
// message is new; an id that is not its own is replaced.
func settle(req *replay.CompactRequest, printed []replay.CompactMessage) (messages []replay.CompactMessage, dropped []string) {
	byID := map[string]int{}
	byContent := map[fixtures.Hash][]int{}
	for i := range req.Messages {
		byID[req.Messages[i].ID] = i
		hash := contentHash(&req.Messages[i].Message)
		byContent[hash] = append(byContent[hash], i)
	}
	taken := make([]bool, len(req.Messages))
	from := make([]int, len(printed)) // the message of the input, or -1
	for i := range printed {
		from[i] = -1
		if at, ok := byID[printed[i].ID]; ok && printed[i].ID != "" && !taken[at] &&
			contentHash(&printed[i].Message) == contentHash(&req.Messages[at].Message) {
			from[i], taken[at] = at, true
		}
	}
	last := -1
	for i := range printed {
		if from[i] < 0 {
			if at := pick(byContent[contentHash(&printed[i].Message)], taken, last); at >= 0 {
				from[i], taken[at] = at, true
			}
		}
		last = max(last, from[i])
	}
	ids := newIDsFor(req)
	messages = make([]replay.CompactMessage, len(printed))
	for i, m := range printed {
		if from[i] >= 0 {
			messages[i] = asKept(req.Messages[from[i]])
			if m.Kind == replay.KindOpaque {
				messages[i].Kind = replay.KindOpaque
			}
			continue
		}
		if m.Kind != replay.KindOpaque {
			m.Kind = replay.KindSummary
		}
		if m.ID == "" || ids.used[m.ID] {
			m.ID = ids.next(strconv.Itoa(i))
		}
		ids.used[m.ID] = true
		messages[i] = m
	}
	for i, stays := range taken {
		if !stays {
			dropped = append(dropped, req.Messages[i].ID)
		}
	}
	return messages, dropped
}

// pick is the first free message after last or, if there is none, the first free
// one at all, or -1.
func pick(candidates []int, taken []bool, last int) int {
	free := func(at int) bool { return !taken[at] }
	if i := slices.IndexFunc(candidates, func(at int) bool { return free(at) && at > last }); i >= 0 {
		return candidates[i]
	}
	if i := slices.IndexFunc(candidates, free); i >= 0 {
		return candidates[i]
	}
	return -1
}

// contentHash identifies a message by what it says.
func contentHash(m *fixtures.Message) fixtures.Hash {
	parts := []string{m.Role, m.Content, m.ToolCallID}
	for _, c := range m.ToolCalls {
		arguments := string(c.Arguments)
		if canonical, err := fixtures.CanonicalJSON(c.Arguments); err == nil {
			arguments = string(canonical)
		}
		parts = append(parts, c.ID, c.Name, arguments)
	}
	if native := m.Extra[replay.NativeField]; native != nil { // two of them may share a marker
		parts = append(parts, "native", string(native))
	}
	return digestOf(parts...)
}
