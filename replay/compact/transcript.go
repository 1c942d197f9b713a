package compact

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
)

// Transcript writes messages as the text that a summariser reads. Every entry
// begins on a line of its own with a marker: "[turn 3 user] ", "[turn 4
// assistant] ", "[turn 4 assistant calls read_file] " before the arguments, and
// "[turn 4 tool read_file] " before a result. A later line of a text that looks
// like a marker is indented, so that no text can pass for an entry.
func Transcript(messages []replay.CompactMessage) string {
	var b strings.Builder
	names := map[string]string{} // call id -> tool
	entry := func(turn int, who, text string) {
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "[turn %d %s] ", turn, who)
		for i, line := range strings.Split(text, "\n") {
			if i > 0 {
				b.WriteByte('\n')
				if markerPattern.MatchString(line) {
					b.WriteString("  ")
				}
			}
			b.WriteString(line)
		}
	}
	for i := range messages {
		m := &messages[i]
		switch {
		case m.Role == fixtures.RoleTool:
			entry(m.Turn, "tool "+toolName(names[m.ToolCallID]), m.Content)
		case m.Content != "" || len(m.ToolCalls) == 0:
			entry(m.Turn, m.Role, m.Content)
		}
		for _, c := range m.ToolCalls {
			names[c.ID] = c.Name
			entry(m.Turn, m.Role+" calls "+toolName(c.Name), oneLine(c.Arguments))
		}
	}
	return b.String()
}

var (
	markerPattern   = regexp.MustCompile(`^\[turn \d+ `)
	toolNamePattern = regexp.MustCompile(`[^\p{L}\p{N}_.:/-]+`)
)

// toolName is a tool's name without what could end a marker.
func toolName(name string) string {
	if name == "" {
		return "unknown"
	}
	return toolNamePattern.ReplaceAllString(name, "_")
}

// oneLine is a JSON value without line breaks.
func oneLine(value json.RawMessage) string {
	var b bytes.Buffer
	if err := json.Compact(&b, value); err != nil {
		return strings.TrimSpace(string(value))
	}
	return b.String()
}

// fence puts a transcript between tags whose name depends on it, so that nothing
// in it can close them.
func fence(transcript string) string {
	salted := transcript
	for i := 0; ; i++ {
		tag := "conversation-" + string(fixtures.HashBytes([]byte(salted)))
		if !strings.Contains(transcript, "</"+tag+">") {
			return "<" + tag + ">\n" + transcript + "\n</" + tag + ">"
		}
		salted = fmt.Sprintf("%s#%d", transcript, i)
	}
}
