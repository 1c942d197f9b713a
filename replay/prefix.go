package replay

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/doubletake-dev/doubletake/fixtures"
)

// noResult stands in for the result of a call that the recording never answered,
// because providers refuse a call without one. It is the same for every arm.
const noResult = "[no result was recorded]"

// staging is what all episodes of a fixture share: where its recording is
// compacted and cut, and what stands before and after.
type staging struct {
	fixture   *fixtures.Fixture
	recording *fixtures.Recording
	// system are the system messages, body the recorded turns without them, every
	// call answered.
	system []fixtures.Message
	body   []fixtures.Message
	points []int
	fork   int
	// hash identifies the turns up to the fork, tokens is their size.
	hash   fixtures.Hash
	tokens int
	// userFirst says that the recorded user speaks first after the fork.
	userFirst bool
	users     []fixtures.Message // the recorded user's messages after the fork
	window    int
	// made are the calls that the recording makes up to the fork and not after it, with
	// the last turn that makes them.
	made map[callKey]int
}

// callKey is what makes two calls of a fixture the same.
type callKey struct{ tool, arguments string }

func keyOf(f *fixtures.Fixture, call fixtures.ToolCall) callKey {
	return callKey{call.Name, f.CanonicalCall(call.Name, call.Arguments)}
}

// madeCalls are the calls of a recording that it makes up to the fork and not after it.
// One that it makes again is its way of working, and no repetition of the agent's.
func madeCalls(f *fixtures.Fixture, rec *fixtures.Recording, fork int) map[callKey]int {
	made := map[callKey]int{}
	for i := range rec.Messages {
		m := &rec.Messages[i]
		for _, call := range m.ToolCalls {
			if m.Turn <= fork {
				made[keyOf(f, call)] = m.Turn
			} else {
				delete(made, keyOf(f, call))
			}
		}
	}
	return made
}

// stage works out compaction points and fork of a fixture.
func stage(f *fixtures.Fixture, rec *fixtures.Recording, s *Settings, counter Counter) (*staging, error) {
	st := &staging{fixture: f, recording: rec, window: s.Window}
	if f.Window > 0 {
		st.window = f.Window
	}
	for _, m := range rec.Messages {
		if m.Role == fixtures.RoleSystem {
			st.system = append(st.system, m)
		} else {
			st.body = append(st.body, m)
		}
	}
	st.body = answerCalls(st.body)
	st.points = compactionPoints(f, rec, st, s, counter)
	st.fork = forkTurn(f, rec, st.points)
	st.made = madeCalls(f, rec, st.fork)
	prefix := st.upTo(0, st.fork)
	whole := append(append([]fixtures.Message{}, st.system...), prefix...)
	data, err := fixtures.MarshalMessages(whole)
	if err != nil {
		return nil, fmt.Errorf("fixture %s: %w", f.ConversationID, err)
	}
	st.hash, st.tokens = fixtures.HashBytes(data), CountAll(counter, whole)
	after := st.upTo(st.fork, rec.LastTurn())
	for i, m := range after {
		if m.Role == fixtures.RoleUser {
			st.users = append(st.users, m)
			st.userFirst = st.userFirst || i == 0
		}
	}
	if n := len(prefix); n > 0 && prefix[n-1].Role == fixtures.RoleAssistant {
		st.userFirst = true // nothing is open for the agent to answer
	}
	return st, nil
}

// upTo returns the body's messages of the turns after from up to and including to.
func (s *staging) upTo(from, to int) []fixtures.Message {
	start, end := s.bounds(from, to)
	return s.body[start:end:end]
}

// numbered is upTo with the ids under which compactors know the messages.
func (s *staging) numbered(from, to int) []CompactMessage {
	start, end := s.bounds(from, to)
	out := make([]CompactMessage, 0, end-start)
	for i := start; i < end; i++ {
		out = append(out, CompactMessage{ID: "m" + strconv.Itoa(i+1), Message: s.body[i]})
	}
	return out
}

func (s *staging) bounds(from, to int) (start, end int) {
	start, end = len(s.body), len(s.body)
	for i, m := range s.body {
		if m.Turn > from && start == len(s.body) {
			start = i
		}
		if m.Turn > to {
			end = i
			break
		}
	}
	return min(start, end), end
}

// fits says whether the uncompacted prefix leaves room in the window to go on.
func (s *staging) fits() bool { return s.window <= 0 || s.tokens+reserve(s.window) <= s.window }

// reserve is what is kept free in a window for the turns after the fork.
func reserve(window int) int { return window / 20 }

// answerCalls gives every call a result, so that the messages can be sent.
func answerCalls(messages []fixtures.Message) []fixtures.Message {
	answered := map[string]bool{}
	for _, m := range messages {
		if m.Role == fixtures.RoleTool {
			answered[m.ToolCallID] = true
		}
	}
	whole := true
	for i := range messages {
		whole = whole && !slices.ContainsFunc(messages[i].ToolCalls, func(call fixtures.ToolCall) bool { return !answered[call.ID] })
	}
	if whole {
		return slices.Clip(messages)
	}
	var out []fixtures.Message
	var open []fixtures.Message
	for _, m := range messages {
		if m.Role != fixtures.RoleTool {
			out = append(out, open...)
			open = nil
		}
		out = append(out, m)
		for _, call := range m.ToolCalls {
			if !answered[call.ID] {
				open = append(open, fixtures.Message{Turn: m.Turn, Role: fixtures.RoleTool, ToolCallID: call.ID, Content: noResult})
			}
		}
	}
	return append(out, open...)
}

// compactionPoints are the turns after which the context is compacted: as the
// fixture says, else as recorded, else where it would pass the trigger.
func compactionPoints(f *fixtures.Fixture, rec *fixtures.Recording, st *staging, s *Settings, counter Counter) []int {
	if len(f.CompactAfter) > 0 {
		return f.CompactAfter
	}
	if points := rec.CompactionPoints(); len(points) > 0 {
		return points
	}
	trigger := int(s.Trigger * float64(st.window))
	if trigger <= 0 {
		return nil
	}
	var points []int
	size := CountAll(counter, st.system)
	for i, m := range st.body {
		size += counter.Count(m)
		turnEnds := i+1 == len(st.body) || st.body[i+1].Turn != m.Turn
		if turnEnds && size > trigger && m.Turn < rec.LastTurn() {
			points = append(points, m.Turn)
			// The next stretch starts from a context of the size that was asked for,
			// so that the points are the same for every compactor.
			size = budget(size, st.window)
		}
	}
	return points
}

// forkTurn is the turn after which the agent speaks.
func forkTurn(f *fixtures.Fixture, rec *fixtures.Recording, points []int) int {
	if f.Fork > 0 {
		return int(f.Fork)
	}
	last := rec.LastTurn()
	for i := len(points) - 1; i >= 0; i-- {
		if points[i] < last {
			return points[i]
		}
	}
	if len(points) > 0 {
		return last
	}
	// Nothing is compacted: the agent answers the last message of the user.
	for i := len(rec.Messages) - 1; i >= 0; i-- {
		if rec.Messages[i].Role == fixtures.RoleUser {
			return rec.Messages[i].Turn - 1
		}
	}
	return last
}

// budget is how large a compacted context may be: half of what came in, and at
// most half of the window.
func budget(before, window int) int {
	half := before / 2
	if window > 0 {
		half = min(half, window/2)
	}
	return max(half, 1)
}
