package labelling

import (
	"fmt"
	"strings"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
)

// renderer writes messages and steps as text: a line that says who and when, then what
// was said, letter for letter.
type renderer struct{ strings.Builder }

// head begins an entry and returns where what follows it starts.
func (r *renderer) head(turn int, format string, args ...any) {
	if r.Len() > 0 {
		r.WriteString("\n\n")
	}
	if turn > 0 {
		fmt.Fprintf(r, "[turn %d] ", turn)
	}
	fmt.Fprintf(r, format, args...)
}

// body writes a text and returns its span. What is no UTF-8 could not be written to a
// file of JSON as it is; it is replaced here, so that digests are of what is written.
func (r *renderer) body(text string) (start, end int) {
	r.WriteByte('\n')
	start = r.Len()
	r.WriteString(strings.ToValidUTF8(text, "\uFFFD"))
	return start, r.Len()
}

func callText(c *fixtures.ToolCall) string {
	return strings.ToValidUTF8(c.Name+" "+fixtures.CanonicalArguments(c.Arguments), "\uFFFD")
}

// renderContext writes the messages of a context.
func renderContext(messages []fixtures.Message) string {
	var r renderer
	names := map[string]string{}
	for i := range messages {
		m := &messages[i]
		if m.Role == fixtures.RoleTool {
			name := names[m.ToolCallID]
			if name == "" {
				name = "a call"
			}
			r.head(m.Turn, "result of %s:", name)
			r.body(m.Content)
			continue
		}
		if m.Content != "" || len(m.ToolCalls) == 0 {
			r.head(m.Turn, "%s:", strings.ToValidUTF8(m.Role, "\uFFFD"))
			r.body(m.Content)
		}
		for k := range m.ToolCalls {
			c := &m.ToolCalls[k]
			names[c.ID] = strings.ToValidUTF8(c.Name, "\uFFFD")
			r.head(m.Turn, "%s calls %s", strings.ToValidUTF8(m.Role, "\uFFFD"), callText(c))
		}
	}
	return r.String()
}

// span is a stretch of a text in bytes.
type span struct{ start, end int }

// renderOutput writes what the agent said and called. Final is where its last text
// stands; without one it is empty.
func renderOutput(steps []replay.Step) (text string, final span) {
	var r renderer
	for i := range steps {
		s := &steps[i]
		switch {
		case s.Kind == replay.StepText:
			r.head(s.Turn, "says:")
			final.start, final.end = r.body(s.Text)
		case s.Kind == replay.StepCall && s.Call != nil:
			r.head(s.Turn, "calls %s", callText(s.Call))
		}
	}
	return r.String(), final
}

// renderWorld writes what came to the agent after the fork: the user's words and the
// results of its calls.
func renderWorld(steps []replay.Step) string {
	var r renderer
	for i := range steps {
		s := &steps[i]
		switch {
		case s.Kind == replay.StepUser:
			r.head(s.Turn, "user:")
			r.body(s.Text)
		case s.Kind == replay.StepCall && s.Call != nil:
			r.head(s.Turn, "result of %s:", callText(s.Call))
			r.body(s.Result)
		}
	}
	return r.String()
}
