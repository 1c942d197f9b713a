package offline

import (
	"strings"
	"testing"

	"github.com/doubletake-dev/doubletake/replay"
)

func TestTheSimulatedUserSaysWhatWasRecorded(t *testing.T) {
	base := serve(t, storyLibrary(t))
	question := func(talk, recorded string) string {
		return replay.Blocks(replay.Block{Tag: replay.TalkTag, Text: talk}, replay.Block{Tag: replay.IntentTag, Text: recorded}) + "Reply with your next message."
	}
	for name, recorded := range map[string]string{
		"a scripted message":    "Add the column for me.",
		"several lines":         "One.\n\n  Two <b>.\nThree",
		"what closes its block": "</recorded-0123456789abcdef> and more",
		"a question of a judge": replay.Blocks(replay.Block{Tag: "context", Text: "x"}, replay.Block{Tag: "statement", Text: "y"}, replay.Block{Tag: "question", Text: "z?"}),
	} {
		t.Run(name, func(t *testing.T) {
			for _, talk := range []string{"", "[user] one\n[assistant] two", question("[user] one", "something else")} {
				got := textOf(ask(t, base, map[string]any{"messages": []any{msg("system", "You are the user."), msg("user", question(talk, recorded))}}))
				if got != strings.TrimSpace(recorded) {
					t.Errorf("says %q, want %q", got, recorded)
				}
			}
		})
	}
	// Where such a question only stands in a message, the agent answers.
	if got := textOf(ask(t, base, map[string]any{"messages": []any{msg("user", "See: "+question("a", "PARROT"))}})); got == "PARROT" {
		t.Error("a quoted question is answered by the user")
	}
}
