package story

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/doubletake-dev/doubletake/analysis"
	"github.com/doubletake-dev/doubletake/analysis/report"
	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/pairing"
	"github.com/doubletake-dev/doubletake/replay"
)

// example is a story with something of everything.
func example() *Story {
	call := func(path string) *fixtures.ToolCall {
		return &fixtures.ToolCall{ID: "1", Name: "write_file", Arguments: []byte(`{"path":"` + path + `"}`)}
	}
	return &Story{
		Version: Version, Run: "20260301T020000Z-aaaaaaaa", Verdict: analysis.Regressed, Fixture: "vendor", Title: "A folder that is not to be touched", Group: "vendor", Turns: 9, Fork: 6,
		Items: []Item{
			{ID: "c1", Class: fixtures.Constraint, Turn: 2, Literal: "never touch the folder vendor", Status: fixtures.Active, Checks: []string{"k1"}},
			{ID: "q1", Class: fixtures.OpenQuestion, Turn: 4, Literal: "which port is it?", Status: fixtures.Withdrawn, Checks: []string{}},
		},
		Baseline: Arm{Name: "reference", Role: analysis.RoleReference, Status: replay.Played, PrefixTokens: 900, ContextTokens: 900, End: replay.Answered, Answer: fixtures.Pass,
			Steps:  []replay.Step{{Kind: replay.StepUser, Turn: 7, Text: "Go on."}, {Kind: replay.StepCall, Turn: 8, Number: 1, Call: call("src/a.go"), Source: replay.FromTape, Result: "ok"}, {Kind: replay.StepText, Turn: 9, Text: "Done."}},
			Checks: []Check{{ID: "k1", Item: "c1", Asks: "no call may satisfy: args.path startsWith 'vendor/'", Answer: fixtures.Pass, Evidence: "no call satisfies it"}}},
		Candidate: Arm{Name: "short", Role: analysis.RoleCandidate, Status: replay.Played, PrefixTokens: 900, ContextTokens: 300, End: replay.StepLimit, Answer: fixtures.Fail,
			Compactions: []Compaction{
				{Number: 1, AfterTurn: 4, Status: replay.Compacted, TokensBefore: 700, TokensAfter: 200, LeftOut: 4, Kept: 1, Written: 1, FirstLeftOut: 1, LastLeftOut: 3, Broken: []string{"smaller: it is not"}, Items: []Fate{
					{Item: "c1", Binds: true, Verdict: replay.Contradicted, Judge: "judge", Answer: "no", Sentence: &Sentence{Text: "The folder vendor may be touched.", Role: "user", Coverage: 0.6}},
					{Item: "q1", Verdict: replay.Retired, Judge: "judge"},
				}},
				{Number: 2, AfterTurn: 6, Status: replay.Refused, Reason: "it was asked twice"},
			},
			Steps:  []replay.Step{{Kind: replay.StepUser, Turn: 7, Text: "Go on."}, {Kind: replay.StepCall, Turn: 8, Number: 1, Call: call("vendor/a.go"), Source: replay.Miss, Result: "no result", MadeInTurn: 3}},
			Checks: []Check{{ID: "k1", Item: "c1", Asks: "no call may satisfy: args.path startsWith 'vendor/'", Answer: fixtures.Fail, Evidence: "step 1 does"}}},
		Cell: pairing.Loss, By: pairing.Replayed, Divergence: &Divergence{pairing.InCalls, 8, "called write_file src/a.go", "called write_file vendor/a.go"},
		Again: []string{"play 2: a loss"}, Why: []string{"It is a loss: reference passed and short failed."}, Effect: []string{"It is 1 of 1 loss."},
	}
}

func TestText(t *testing.T) {
	var out bytes.Buffer
	if err := Text(&out, example(), Style{Style: report.Style{Width: 100}}); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("testdata", "story.txt")
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(path, out.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if out.String() != string(want) {
		t.Errorf("the text is not that of %s:\n%s", path, out.String())
	}
}

// What recordings and models say reaches no terminal as it is.
func TestTextIsClean(t *testing.T) {
	const evil = "a\x1b[2J\x07\u202eb\r\nc"
	s := example()
	s.Title, s.Reason, s.Fixture, s.Group = evil, evil, evil, evil
	s.Items[0].Literal, s.Items[0].ID = evil, evil
	s.Candidate.Name, s.Candidate.Compactions[0].Items[0].Sentence.Text = evil, evil
	s.Candidate.Compactions[0].Items[0].Answer, s.Candidate.Compactions[0].Items[0].Reason = evil, evil
	s.Candidate.Steps[0].Text, s.Candidate.Steps[1].Result = evil, evil
	s.Candidate.Checks[0].Evidence, s.Divergence.Baseline = evil, evil
	s.Why, s.Effect = []string{evil}, []string{evil}
	for _, style := range []Style{{}, {Style: report.Style{Width: 40}}, {Full: true}} {
		var out bytes.Buffer
		if err := Text(&out, s, style); err != nil {
			t.Fatal(err)
		}
		if strings.ContainsAny(out.String(), "\x1b\x07\r\u202e") {
			t.Errorf("%+v: control characters in %q", style, out.String())
		}
	}
}

// TestTextColour: the colours are on what came out alone, and the words are the same.
func TestTextColour(t *testing.T) {
	for _, width := range []int{0, 100} {
		var plain, coloured bytes.Buffer
		for out, style := range map[*bytes.Buffer]report.Style{&plain: {Width: width}, &coloured: {Width: width, Color: true}} {
			if err := Text(out, example(), Style{Style: style}); err != nil {
				t.Fatal(err)
			}
		}
		bare := regexp.MustCompile("\x1b\\[[0-9;]*m").ReplaceAllString(coloured.String(), "")
		if bare != plain.String() {
			t.Errorf("width %d: the colours change the text", width)
		}
		for _, want := range []string{": \x1b[1;38;5;33mPASS\x1b[0m", ": \x1b[1;38;5;208mFAIL\x1b[0m", " is \x1b[1;38;5;208mCONTRADICTED\x1b[0m"} {
			if !strings.Contains(coloured.String(), want) {
				t.Errorf("width %d: no %q", width, want)
			}
		}
	}
}
