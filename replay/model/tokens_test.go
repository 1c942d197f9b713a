package model

import (
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/doubletake-dev/doubletake/fixtures"
)

func counter(t *testing.T, name string) *Counter {
	t.Helper()
	c, err := NewCounter(name)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// The counts are those that tiktoken gives; its tests and OpenAI's cookbook publish
// the tokens of these texts.
func TestKnownTokenCounts(t *testing.T) {
	for _, c := range []struct {
		model, text string
		want        int
	}{
		{"gpt-4", "hello world", 2},
		{"gpt-4", "tiktoken is great!", 6},
		{"gpt-4", "antidisestablishmentarianism", 6},
		{"gpt-4", "2 + 2 = 4", 7},
		{"gpt-4", "お誕生日おめでとう", 9},
		{"gpt-4", "We know what we are, but know not what we may be.", 14},
		{"gpt-4o", "hello world", 2},
		{"gpt-4o", "tiktoken is great!", 6},
		{"gpt-4o", "antidisestablishmentarianism", 6},
		{"gpt-4o", "2 + 2 = 4", 7},
		{"gpt-4o", "お誕生日おめでとう", 8},
		{"gpt-4.1", "supercalifragilistic", 6},
		{"gpt-4.1", "We know what we are, but know not what we may be.", 14},
	} {
		n, err := counter(t, c.model).codec.Count(c.text)
		if err != nil || n != c.want {
			t.Errorf("%s: %q has %d tokens, want %d: %v", c.model, c.text, n, c.want, err)
		}
	}
	// A message is its role, a line end, its text, and what the protocol adds.
	if n := counter(t, "gpt-4").Count(fixtures.Message{Role: fixtures.RoleUser, Content: "hello world"}); n != 1+1+2+3 {
		t.Errorf("a message has %d tokens", n)
	}
}

func TestVocabularies(t *testing.T) {
	for name, want := range map[string]struct {
		vocabulary string
		exact      bool
	}{
		"gpt-4":             {"cl100k_base", true},
		"gpt-4o-2024-08-06": {"o200k_base", true},
		"gpt-4.1":           {"o200k_base", true},
		"gpt-5-mini":        {"o200k_base", true},
		"o3":                {"o200k_base", true},
		"qwen3-coder":       {"o200k_base", false},
		"offline-agent":     {"o200k_base", false},
		"":                  {"o200k_base", false},
	} {
		if c := counter(t, name); c.Vocabulary != want.vocabulary || c.Exact != want.exact {
			t.Errorf("%q: %s, exact %v", name, c.Vocabulary, c.Exact)
		}
	}
}

func TestCallsCount(t *testing.T) {
	c := counter(t, "gpt-4.1")
	bare := c.Count(fixtures.Message{Role: fixtures.RoleAssistant})
	with := c.Count(fixtures.Message{Role: fixtures.RoleAssistant, ToolCalls: []fixtures.ToolCall{{ID: "x", Name: "read_file", Arguments: json.RawMessage(`{"path":"a/b/c.go"}`)}}})
	if with < bare+5 {
		t.Errorf("%d tokens with a call, %d without", with, bare)
	}
	if c.Count(fixtures.Message{Role: fixtures.RoleUser, Content: "<|endoftext|>"}) < 4 {
		t.Error("a special token inside a text counts as one")
	}
}

func TestTheCounterIsSafeForConcurrentUse(t *testing.T) {
	c := counter(t, "gpt-4.1")
	want := counter(t, "gpt-4.1").Count(fixtures.Message{Content: "the same text"})
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for _, text := range []string{"the same text", strings.Repeat("and another ", 50)} {
				if n := c.Count(fixtures.Message{Content: text}); text == "the same text" && n != want {
					t.Errorf("%d tokens, want %d", n, want)
				}
			}
		})
	}
	group.Wait()
}

// A megabyte of one character would take the codec minutes.
func TestLongRunsAreCountedInParts(t *testing.T) {
	c := counter(t, "gpt-4.1")
	for _, text := range []string{"=", "a", " ", "\n", "界", "-+", "é", "กำ"} {
		n := c.Count(fixtures.Message{Content: strings.Repeat(text, 100_000)})
		if n < 500 || n > 300_000 {
			t.Errorf("%q a hundred thousand times has %d tokens", text, n)
		}
	}
}

func TestRunsAreCutNowhereElse(t *testing.T) {
	ordinary := strings.Repeat("func main() { fmt.Println(\"tab\\t\") } // 123\n", 500)
	if parts := splitRuns(ordinary); len(parts) != 1 || parts[0] != ordinary {
		t.Errorf("%d parts of an ordinary text", len(parts))
	}
	if parts := splitRuns(""); len(parts) != 1 {
		t.Errorf("%q", parts)
	}
	rapid.Check(t, func(t *rapid.T) {
		var b strings.Builder
		for _, piece := range rapid.SliceOf(rapid.StringN(0, 3, -1)).Draw(t, "pieces") {
			b.WriteString(strings.Repeat(piece, rapid.IntRange(1, 3000).Draw(t, "times")))
		}
		parts := splitRuns(b.String())
		if strings.Join(parts, "") != b.String() {
			t.Fatal("the parts are not the whole")
		}
		for _, part := range parts[:len(parts)-1] {
			if len(part) < longestRun {
				t.Fatalf("a part of %d bytes", len(part))
			}
		}
	})
}
