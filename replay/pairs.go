package replay

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/doubletake-dev/doubletake/fixtures"
)

// CheckPairs says whether tool calls and their results stand as the chat protocol
// wants them: every result after a call with its id, every call answered once,
// and nothing but results between the two. The error is the first place where
// they do not.
func CheckPairs(messages []fixtures.Message) error {
	if faults := pairFaults(messages); len(faults) > 0 {
		return faults[0]
	}
	return nil
}

// CheckPairsAfter is CheckPairs on a compactor's output, but for what was broken
// in its input already.
func CheckPairsAfter(input, output []fixtures.Message) error {
	faults := pairFaults(output)
	if len(faults) == 0 {
		return nil
	}
	type what struct {
		kind faultKind
		id   string
	}
	before := map[what]bool{}
	for _, f := range pairFaults(input) {
		before[what{f.kind, f.id}] = true
	}
	for _, f := range faults {
		if !before[what{f.kind, f.id}] {
			return f
		}
	}
	return nil
}

type faultKind string

const (
	orphanResult faultKind = "answers a call that no message before it made"
	answeredTwo  faultKind = "answers a call that was answered before"
	unanswered   faultKind = "makes a call that has no result"
	lateResult   faultKind = "answers a call that is not directly before it"
	wrongCaller  faultKind = "calls a tool, which only the assistant may"
)

// pairFault is one broken pair of call and result.
type pairFault struct {
	kind  faultKind
	id    string // of the call
	index int    // of the message
	role  string
}

func (f *pairFault) Error() string {
	return fmt.Sprintf("message %d (%s) %s: %q", f.index, f.role, f.kind, f.id)
}

func pairFaults(messages []fixtures.Message) []*pairFault {
	type call struct{ index, block int }
	open := map[string]call{}
	answered := map[string]bool{}
	var faults []*pairFault
	add := func(kind faultKind, id string, index int) {
		faults = append(faults, &pairFault{kind, id, index, messages[index].Role})
	}
	block := 0 // the index of the last message that is no tool result
	for i := range messages {
		m := &messages[i]
		if m.Role == fixtures.RoleTool {
			c, ok := open[m.ToolCallID]
			switch {
			case ok && c.block != block:
				add(lateResult, m.ToolCallID, i)
			case !ok && answered[m.ToolCallID]:
				add(answeredTwo, m.ToolCallID, i)
			case !ok:
				add(orphanResult, m.ToolCallID, i)
			}
			delete(open, m.ToolCallID)
			answered[m.ToolCallID] = true
			continue
		}
		block = i
		for _, c := range m.ToolCalls {
			if m.Role != fixtures.RoleAssistant {
				add(wrongCaller, c.ID, i)
			}
			if o, ok := open[c.ID]; ok { // the id is used again before its answer
				add(unanswered, c.ID, o.index)
			}
			open[c.ID] = call{i, block}
			delete(answered, c.ID)
		}
	}
	for id, c := range open {
		add(unanswered, id, c.index)
	}
	slices.SortStableFunc(faults, func(a, b *pairFault) int {
		return cmp.Or(cmp.Compare(a.index, b.index), cmp.Compare(a.id, b.id))
	})
	return faults
}
