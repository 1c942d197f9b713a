package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/mattn/go-runewidth"
	"pgregory.net/rapid"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/pairing"
	"github.com/doubletake-dev/doubletake/replay"
)

// Whatever a recording holds, a pair fits the terminal and tells it nothing, and before the
// verdict it names no arm.
func TestAPairFitsTheTerminal(t *testing.T) {
	hostile := rapid.StringOf(rapid.OneOf(
		rapid.Rune(), rapid.SampledFrom([]rune("\x1b\x07\r\n\t\u202e\u200b漢字ぁ한 abc")),
	))
	dir := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		contexts := replay.NewContexts(filepath.Join(dir, replay.ContextsDir))
		text := func() string { return hostile.Draw(rt, "text") }
		put := func(messages ...fixtures.Message) fixtures.Hash {
			hash, err := contexts.Put(messages)
			if err != nil {
				rt.Fatal(err)
			}
			return hash
		}
		said := text()
		f := &fixtures.Fixture{
			ConversationID: "talk", Hash: "f1", Title: text(),
			MustSurvive: []fixtures.Item{{ID: "i1", Class: fixtures.Constraint, Turn: 1, Literal: said}},
			Checks:      []fixtures.Check{{ID: "k1", Final: text()}},
		}
		whole := put(fixtures.Message{Turn: 1, Role: "user", Content: text() + said + text()}, fixtures.Message{Turn: 2, Role: "assistant", Content: text()})
		short := put(fixtures.Message{Role: "user", Content: text()})
		one := &replay.Episode{Key: replay.Key{Fixture: "f1", Arm: "reference"}, Status: replay.Played, Fork: 2, Context: whole, Steps: []replay.Step{{Kind: replay.StepText, Turn: 3, Text: text()}}}
		two := &replay.Episode{
			Key: replay.Key{Fixture: "f1", Arm: "squeezer"}, Status: replay.Played, Fork: 2, Context: short, Steps: []replay.Step{{Kind: replay.StepText, Turn: 3, Text: text()}},
			Compactions: []replay.CompactionRecord{{AfterTurn: 2, Status: replay.Compacted, Before: whole, After: short}},
		}
		record := &replay.Record{
			Dir: dir, Contexts: contexts, Fixtures: []*fixtures.Fixture{f}, Episodes: []*replay.Episode{one, two},
			Judgements: []*replay.Judgement{{Key: two.Key, Item: "i1", Verdict: replay.Absent, Judge: text(), Output: text()}},
		}
		entry := pairing.Entry{Pair: pairing.Pair{
			ID: "talk", ConversationID: "talk", Fixture: "f1", Title: f.Title, Cell: pairing.Loss, By: pairing.Replayed,
			First: pairing.Side{Arm: "reference", Context: whole}, Second: pairing.Side{Arm: "squeezer", Context: short},
		}, Items: []pairing.ItemFate{{ID: "i1", Class: fixtures.Constraint, Turn: 1, Literal: said, Second: replay.Absent}}}
		entry.Differ = []pairing.DifferingCheck{{Check: "k1", First: fixtures.Result{Answer: fixtures.Pass, Evidence: text()}, Second: fixtures.Result{Answer: fixtures.Fail, Evidence: text()}}}
		entry.Divergence = &pairing.Divergence{Kind: "words", Turn: 3, First: &one.Steps[0], Second: &two.Steps[0]}
		note := pairing.Verdict{By: text(), Ruling: pairing.BothFine, Note: text()}
		var out bytes.Buffer
		s := &shownPair{
			reviewed: &reviewed{dir: "n", record: record, queue: []pairing.Entry{entry}},
			screen:   screen{out: &out, width: rapid.IntRange(50, 140).Draw(rt, "width")},
			entry:    &entry, standing: &pairing.Standing{Pair: "talk", Verdicts: []pairing.Verdict{note}, Stale: []pairing.Verdict{note}}, by: "x",
			named: rapid.Bool().Draw(rt, "named"), swapped: rapid.Bool().Draw(rt, "swapped"), full: rapid.Bool().Draw(rt, "full"),
		}
		if err := s.text(); err != nil {
			rt.Fatal(err)
		}
		for _, line := range strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n") {
			if w := runewidth.StringWidth(line); w > s.width {
				rt.Fatalf("%d columns of %d: %q", w, s.width, line)
			}
			if i := strings.IndexFunc(line, func(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) }); i >= 0 {
				rt.Fatalf("a control character: %q", line)
			}
		}
		if !s.named && strings.Contains(out.String(), "squeezer") {
			rt.Fatalf("the arm is named:\n%s", out.String())
		}
	})
}

func TestWrapped(t *testing.T) {
	for _, tt := range []struct {
		text  string
		width int
		want  string
	}{
		{"", 10, ""},
		{"one two three", 8, "one two|three"},
		{"one  two\n three", 30, "one two three"},
		{"abcdefghij", 4, "abcd|efgh|ij"},
		{"a 漢字漢字 b", 6, "a|漢字漢|字 b"},
		{"\x1b[31mred\x07", 20, "[31mred"},
	} {
		if got := strings.Join(wrapped(tt.text, tt.width), "|"); got != tt.want {
			t.Errorf("%q in %d: %q, want %q", tt.text, tt.width, got, tt.want)
		}
	}
}

func TestRulingOf(t *testing.T) {
	worse, better := pairing.CandidateWorse, pairing.CandidateBetter
	for _, tt := range []struct {
		word                string
		swapped, open, seen bool
		want                pairing.Ruling
		says                string
	}{
		{"left_worse", false, false, false, better, ""},
		{"left_worse", true, false, false, worse, ""},
		{"right_worse", false, false, false, worse, ""},
		{"right_worse", true, false, true, better, ""},
		{"both_fine", true, false, false, pairing.BothFine, ""},
		{"candidate_worse", true, true, false, worse, ""},
		{"candidate_better", false, false, true, better, ""},
		{"candidate_worse", false, false, false, "", "give left_worse or right_worse"},
		{"left_worse", false, true, false, "", "no side is left or right"},
		{"left_wrose", false, false, false, "", "did you mean left_worse"},
		{"", false, false, false, "", "want one of"},
	} {
		got, err := rulingOf(tt.word, tt.swapped, tt.open, tt.seen)
		if got != tt.want || (err == nil) != (tt.says == "") || err != nil && !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%+v: %q, %v", tt, got, err)
		}
	}
}
