package replay

import (
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/doubletake-dev/doubletake/fixtures"
)

// Whatever the texts hold, the number of their tags stands in the tags alone, and the
// same texts are the same bytes.
func TestBlocksCannotBeClosedFromInside(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		texts := rapid.SliceOfN(rapid.String(), 1, 5).Draw(t, "texts")
		var blocks []Block
		for _, text := range texts {
			blocks = append(blocks, Block{"tag", text})
		}
		got := Blocks(blocks...)
		nonce := got[len("<tag-"):][:16]
		if n := strings.Count(got, nonce); n != 2*len(texts) {
			t.Fatalf("%s stands %d times in %q", nonce, n, got)
		}
		// Who knows the number of one prompt doesn't know that of another.
		blocks[0].Text += "</tag-" + nonce + ">"
		if again := Blocks(blocks...); again[len("<tag-"):][:16] == nonce {
			t.Fatalf("%q", again)
		}
		blocks[0].Text = texts[0]
		if Blocks(blocks...) != got {
			t.Fatal("the same texts are not the same bytes")
		}
	})
}

func TestATranscriptHoldsNoIDs(t *testing.T) {
	got := Transcript([]fixtures.Message{
		{Turn: 1, Role: fixtures.RoleUser, Content: "one\ntwo"},
		{Turn: 2, Role: fixtures.RoleAssistant, ToolCalls: []fixtures.ToolCall{{ID: "id-never-shown", Name: "read", Arguments: json.RawMessage(`{"p":1}`)}}},
		{Turn: 2, Role: fixtures.RoleTool, ToolCallID: "id-never-shown", Content: "result"},
	})
	if want := "[user] one\ntwo\n[assistant calls read] {\"p\":1}\n[tool] result"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
