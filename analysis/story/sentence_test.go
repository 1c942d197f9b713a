package story

import (
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/doubletake-dev/doubletake/fixtures"
)

func TestSentences(t *testing.T) {
	for _, test := range []struct {
		text string
		want []string
	}{
		{"", nil},
		{"One. Two! Three?", []string{"One.", "Two!", "Three?"}},
		{"Use v1.2 of a.go.\n- next line", []string{"Use v1.2 of a.go.", "- next line"}},
		{"第一。第二", []string{"第一。", "第二"}},
		{"bad \xff byte. Next", []string{"bad \xff byte.", "Next"}},
	} {
		if got := sentences(test.text); !reflect.DeepEqual(got, test.want) {
			t.Errorf("%q: %q, want %q", test.text, got, test.want)
		}
	}
}

func TestCarrier(t *testing.T) {
	const literal = "never touch the folder vendor"
	message := func(role, content string) []fixtures.Message {
		return []fixtures.Message{{Role: role, Content: content}}
	}
	for _, test := range []struct {
		name     string
		messages []fixtures.Message
		want     *Sentence
	}{
		{"letter for letter", message("user", "First this. The user said: never touch the folder vendor, at all. Then that."),
			&Sentence{Text: "The user said: never touch the folder vendor, at all.", Role: "user", Verbatim: true, Coverage: 1}},
		// never, touch, folder and vendor of never, touch, the, folder, vendor.
		{"turned around", message("user", "All is well. You can touch the folder vendor now."), &Sentence{Text: "You can touch the folder vendor now.", Role: "user", Coverage: 0.8}},
		{"nothing near", message("user", "It rains."), nil},
		{"the system prompt is nobody's summary", message("system", literal), nil},
		{"in a call", []fixtures.Message{{Role: "assistant", ToolCalls: []fixtures.ToolCall{{Name: "note", Arguments: []byte(`{"text":"never touch the folder vendor"}`)}}}},
			&Sentence{Text: literal, Role: "assistant", Verbatim: true, Coverage: 1}},
	} {
		if got := carrier(test.messages, literal); !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s: %+v, want %+v", test.name, got, test.want)
		}
	}
	if got := around("One. Two parts. And three. Four.", "Two parts. And"); got != "Two parts. And three." {
		t.Errorf("a literal over two sentences: %q", got)
	}
}

// Whatever text stands there, what is quoted stands in it, and no byte of it is lost.
func FuzzSentences(f *testing.F) {
	for _, seed := range []string{"One. Two", "\xff。!\n", "a.b c! ", "..."} {
		f.Add(seed, "Two")
	}
	f.Fuzz(func(t *testing.T, text, literal string) {
		whole := ""
		for _, span := range spans(text) {
			whole += text[span[0]:span[1]]
		}
		if whole != text {
			t.Fatalf("the sentences of %q make %q", text, whole)
		}
		got := carrier([]fixtures.Message{{Role: "user", Content: text}}, literal)
		if got == nil {
			return
		}
		if !got.Verbatim && !strings.Contains(text, got.Text) || utf8.ValidString(text) && !utf8.ValidString(got.Text) && utf8.ValidString(literal) {
			t.Fatalf("%q is quoted as %q", text, got.Text)
		}
	})
}
