package replay

import (
	"context"

	"github.com/doubletake-dev/doubletake/fixtures"
)

// steps asks the agent once for each recorded turn of its own after the fork, with the
// arm's context and the recorded turns since then before it, and once more where the
// recording ends with something unanswered. What the agent does goes into the episode and
// into no later question. The step limit does not count: nothing is called, and the
// recording bounds the turns.
func (p *player) steps(ctx context.Context, from []fixtures.Message) error {
	recorded := p.stage.upTo(p.stage.fork, p.stage.recording.LastTurn())
	p.episode.Recorded = traceSteps(recorded)
	t := &talk{player: p, messages: from, forked: len(from), turn: p.stage.fork, ids: callIDs(from)}
	for len(recorded) > 0 {
		n := 1
		for n < len(recorded) && recorded[n].Turn == recorded[0].Turn {
			n++
		}
		turn := recorded[:n]
		recorded = recorded[n:]
		t.turn = turn[0].Turn
		switch turn[0].Role {
		case fixtures.RoleUser:
			t.episode.Steps = append(t.episode.Steps, Step{Kind: StepUser, Turn: t.turn, Text: turn[0].Content})
		case fixtures.RoleAssistant:
			if err := t.step(ctx, turn); err != nil {
				return err
			}
		}
		t.messages = append(t.messages, turn...)
	}
	p.episode.End = Answered
	if !open(t.messages) {
		return nil
	}
	t.turn++
	return t.step(ctx, nil)
}

// open says that the messages end with something for the agent to answer.
func open(messages []fixtures.Message) bool {
	if len(messages) == 0 {
		return false
	}
	last := messages[len(messages)-1].Role
	return last == fixtures.RoleUser || last == fixtures.RoleTool
}

// step asks for one turn. A call that the recording made at this turn, too, has its
// recorded result.
func (t *talk) step(ctx context.Context, recorded []fixtures.Message) error {
	reply, err := t.ask(ctx)
	if err != nil {
		return err
	}
	if reply.Content != "" {
		t.episode.Steps = append(t.episode.Steps, Step{Kind: StepText, Turn: t.turn, Text: reply.Content})
	}
	used := map[string]bool{}
	for _, call := range reply.ToolCalls {
		t.steps++
		step := Step{Kind: StepCall, Turn: t.turn, Number: t.steps, Call: &call, Source: NotCalled}
		if id := sameCall(recorded, &call, used); id != "" {
			used[id] = true
			step.Result, step.Source = resultOf(recorded, id), FromTape
		}
		t.episode.Steps = append(t.episode.Steps, step)
	}
	return nil
}

// sameCall is the id of a recorded call of the same tool with the same arguments that was
// not used yet, or empty.
func sameCall(recorded []fixtures.Message, call *fixtures.ToolCall, used map[string]bool) string {
	arguments := fixtures.CanonicalArguments(call.Arguments)
	for _, m := range recorded {
		for _, c := range m.ToolCalls {
			if !used[c.ID] && c.Name == call.Name && fixtures.CanonicalArguments(c.Arguments) == arguments {
				return c.ID
			}
		}
	}
	return ""
}

func resultOf(recorded []fixtures.Message, id string) string {
	for _, m := range recorded {
		if m.Role == fixtures.RoleTool && m.ToolCallID == id {
			return m.Content
		}
	}
	return ""
}
