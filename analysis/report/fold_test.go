package report

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestFold(t *testing.T) {
	for name, c := range map[string]struct {
		text  string
		width int
		want  string
	}{
		"fits":                  {"a line\nanother\n", 20, "a line\nanother\n"},
		"no terminal":           {strings.Repeat("word ", 50), 0, strings.Repeat("word ", 50)},
		"too narrow for any":    {strings.Repeat("word ", 9), 7, strings.Repeat("word ", 9)},
		"broken and indented":   {"  one two three four five six\n", 20, "  one two three four\n      five six\n"},
		"a long word":           {"x " + strings.Repeat("y", 30) + " z", 20, "x " + strings.Repeat("y", 30) + "\n    z"},
		"colours take no room":  {"\x1b[1mone two three four\x1b[0m\n", 20, "\x1b[1mone two three four\x1b[0m\n"},
		"wide letters take two": {"字字字字 字字字字 字字字字\n", 20, "字字字字 字字字字\n    字字字字\n"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Fold(c.text, c.width); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

// Folding takes nothing away, and leaves no line too wide that could be broken.
func TestFoldKeepsTheWords(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		text := rapid.StringMatching(`( {0,6}([a-zä字]{1,12} {1,3}){0,12}\n){0,4}`).Draw(rt, "text")
		width := rapid.IntRange(20, 60).Draw(rt, "width")
		folded := Fold(text, width)
		if have, want := strings.Fields(folded), strings.Fields(text); strings.Join(have, " ") != strings.Join(want, " ") {
			rt.Fatalf("%q became %q", text, folded)
		}
		for line := range strings.Lines(folded) {
			words := strings.Fields(line)
			// What is wider than half a line may not fit behind its indent.
			long := slices.ContainsFunc(words, func(word string) bool { return cells(word) > width/2 })
			if wide := cells(strings.TrimRight(line, " \n")); wide > width && len(words) > 1 && !long {
				rt.Fatalf("%q is %d wide, at most %d", line, wide, width)
			}
		}
	})
}
