package pairing

import (
	"errors"
	"fmt"
	"io"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
)

// Trace is what an episode did after the fork, as the messages of a recording whose turns
// go on from there: what a fixture keeps as its accepted trace. Calls get ids of their
// own, since a model may give one id twice.
func Trace(e *replay.Episode) []fixtures.Message {
	var list, results []fixtures.Message
	speaking := -1 // the assistant's message of the turn, by its place
	assistant := func(turn int) *fixtures.Message {
		if speaking < 0 || list[speaking].Turn != turn {
			list = append(list, results...)
			results = nil
			list = append(list, fixtures.Message{Turn: turn, Role: fixtures.RoleAssistant})
			speaking = len(list) - 1
		}
		return &list[speaking]
	}
	for i := range e.Steps {
		s := &e.Steps[i]
		switch s.Kind {
		case replay.StepUser:
			list = append(list, results...)
			results, speaking = nil, -1
			list = append(list, fixtures.Message{Turn: s.Turn, Role: fixtures.RoleUser, Content: s.Text})
		case replay.StepText:
			assistant(s.Turn).Content += s.Text
		case replay.StepCall:
			id := fmt.Sprintf("call-%d", s.Number)
			m := assistant(s.Turn)
			m.ToolCalls = append(m.ToolCalls, fixtures.ToolCall{ID: id, Name: s.Call.Name, Arguments: s.Call.Arguments})
			results = append(results, fixtures.Message{Turn: s.Turn, Role: fixtures.RoleTool, ToolCallID: id, Content: s.Result})
		}
	}
	return append(list, results...)
}

// WriteTrace writes an episode's trace as a canonical recording.
func WriteTrace(out io.Writer, e *replay.Episode) error {
	w, err := fixtures.NewRecordWriter(out, fixtures.Header{ID: e.ConversationID})
	for _, m := range Trace(e) {
		err = errors.Join(err, w.Message(m))
	}
	if err = errors.Join(err, w.Flush()); err != nil {
		return fmt.Errorf("writing the trace of %s: %w", e.ConversationID, err)
	}
	return nil
}
