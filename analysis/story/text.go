package story

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/mattn/go-runewidth"

	"github.com/doubletake-dev/doubletake/analysis/report"
	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/pairing"
	"github.com/doubletake-dev/doubletake/replay"
)

// Style is how a story is printed.
type Style struct {
	// Style has the width of the terminal in characters, of which 0 leaves lines whole, so
	// that they can be searched; and whether what came out is in colour.
	report.Style
	// Full prints texts in full, which are else cut.
	Full bool
}

// Text writes a story in plain sentences. All of it is one line a sentence or broken to
// the width, without control characters.
func Text(out io.Writer, s *Story, style Style) error {
	t := &text{story: s, style: style}
	t.recording()
	t.compactions(&s.Baseline)
	t.compactions(&s.Candidate)
	t.divergence()
	t.acts(&s.Baseline)
	t.acts(&s.Candidate)
	t.checks()
	t.end()
	_, err := io.WriteString(out, t.out.String())
	return err
}

type text struct {
	out   strings.Builder
	story *Story
	style Style
}

func (t *text) head(title string) { t.out.WriteString("\n"); t.say(0, "%s", title) }

// say writes a sentence behind an indent.
func (t *text) say(indent int, format string, args ...any) {
	t.sayStatus(indent, "", "", format, args...)
}

// sayStatus writes a sentence in which a word says how something came out: the first one
// that stands behind some other words.
func (t *text) sayStatus(indent int, behind, status, format string, args ...any) {
	paint := func(line string) string {
		marked := behind + status
		if i := strings.Index(line, marked); i >= 0 && status != "" {
			line, status = line[:i]+behind+t.style.Status(status)+line[i+len(marked):], ""
		}
		return line
	}
	lead := strings.Repeat(" ", indent)
	line := report.Clean(fmt.Sprintf(format, args...))
	if t.style.Width <= 0 {
		fmt.Fprintf(&t.out, "%s%s\n", lead, paint(line))
		return
	}
	for i, part := range wrap(line, max(t.style.Width-indent-2, 20)) {
		if i == 1 {
			lead += "  "
		}
		fmt.Fprintf(&t.out, "%s%s\n", lead, paint(part))
	}
}

// wrap breaks a line at spaces.
func wrap(line string, width int) []string {
	var lines []string
	current := ""
	for _, word := range strings.Fields(line) {
		if current != "" && runewidth.StringWidth(current)+1+runewidth.StringWidth(word) > width {
			lines = append(lines, current)
			current = ""
		}
		if current != "" {
			current += " "
		}
		current += word
	}
	return append(lines, current)
}

// cut shortens a text unless all of it is wanted.
func (t *text) cut(text string, width int) string {
	if t.style.Full {
		return report.Clean(text)
	}
	return report.Shorten(text, width)
}

func (t *text) recording() {
	s := t.story
	title := ""
	if s.Title != "" {
		title = ": " + s.Title
	}
	t.say(0, "%s in run %s%s", s.Fixture, s.Run, title)
	t.head("The recording")
	t.say(2, "It has %s. The agent speaks from turn %d on; what stands before is recorded and the same for both arms. Session group: %s.", report.Plural(s.Turns, "turn"), s.Fork+1, s.Group)
	if len(s.Items) == 0 {
		t.say(2, "Nothing is annotated that must survive.")
	}
	for _, item := range s.Items {
		guards := "no check guards it"
		if len(item.Checks) > 0 {
			guards = "guarded by check " + strings.Join(item.Checks, ", ")
		}
		status := ""
		if item.Status != "" && item.Status != fixtures.Active {
			status = fmt.Sprintf(" (%s by the end)", item.Status)
		}
		t.say(2, "Item %s, %s of turn %d%s, %s: %q", item.ID, className(item.Class), item.Turn, status, guards, t.cut(item.Literal, 300))
	}
}

// className is a class with its article.
func className(class fixtures.Class) string {
	if class == fixtures.OpenQuestion {
		return "an open question"
	}
	return "a " + string(class)
}

func (t *text) compactions(arm *Arm) {
	t.head(fmt.Sprintf("What %s saw", roled(arm)))
	switch {
	case arm.Status == "":
		t.say(2, "It was never played.")
		return
	case arm.Status == replay.LeftOut:
		t.say(2, "Nothing was played: %s.", arm.Reason)
		return
	case arm.Status == replay.Accepted:
		t.say(2, "Nothing was played: %s. In its place stands a trace that a person accepted; what was in front of who made it is not known.", cmp.Or(arm.Reason, "the conversation does not fit the window"))
		return
	case len(arm.Compactions) == 0:
		t.say(2, "It compacted nothing: the recorded turns as they are, %s.", report.Plural(arm.PrefixTokens, "token"))
	}
	for i := range arm.Compactions {
		t.compaction(&arm.Compactions[i])
	}
	switch arm.Status {
	case replay.Void:
		t.say(2, "The episode is void: %s.", arm.Reason)
	case replay.Faulted:
		t.say(2, "It was cut short by something of the world: %s.", arm.Reason)
	case replay.Played:
		if len(arm.Compactions) > 0 {
			t.say(2, "The agent went on from %s, where the reference has %d.", report.Plural(arm.ContextTokens, "token"), arm.PrefixTokens)
		}
	}
	if arm.SameAs != "" {
		t.say(2, "%s went on from the same bytes: what it did counts for both.", arm.SameAs)
	}
}

// roled is an arm with its role, where that says more than the name.
func roled(arm *Arm) string {
	if arm.Role == "" || arm.Role == arm.Name {
		return arm.Name
	}
	return fmt.Sprintf("%s (%s)", arm.Name, arm.Role)
}

func (t *text) compaction(c *Compaction) {
	if c.Status != replay.Compacted {
		t.say(2, "Compaction %d after turn %d gave nothing: %s, %s.", c.Number, c.AfterTurn, c.Status, cmp.Or(c.Reason, "for no reason that is known"))
		return
	}
	line := fmt.Sprintf("Compaction %d fell after turn %d and made %s of %d", c.Number, c.AfterTurn, report.Plural(c.TokensAfter, "token"), c.TokensBefore)
	if c.LeftOut+c.Kept+c.Written > 0 {
		line += fmt.Sprintf(": it left out %s", report.Plural(c.LeftOut, "message"))
		if c.FirstLeftOut > 0 {
			line += fmt.Sprintf(" (turns %d to %d)", c.FirstLeftOut, c.LastLeftOut)
		}
		line += fmt.Sprintf(", kept %d and wrote %d", c.Kept, c.Written)
	}
	t.say(2, "%s.", line)
	if c.Opaque {
		t.say(4, "What it wrote can be read by its provider alone.")
	}
	if c.AfterTurn > t.story.Fork {
		t.say(4, "It comes after the fork: its items are judged, and no agent went on from it.")
	}
	for _, rule := range c.Broken {
		t.say(4, "It broke a rule for compactors: %s.", strings.TrimRight(rule, "."))
	}
	for i := range c.Items {
		t.fate(&c.Items[i])
	}
}

func (t *text) fate(f *Fate) {
	line := fmt.Sprintf("%s is %s", f.Item, verdictWords(f))
	if f.Judge != "" && f.Answer != "" {
		line += fmt.Sprintf(" (the judge's answer to its question: %q)", report.Shorten(f.Answer, 80))
	}
	if f.Reason != "" {
		line += ": " + strings.TrimRight(f.Reason, ".")
	}
	status, _, _ := strings.Cut(verdictWords(f), ":")
	t.sayStatus(4, " is ", status, "%s.", line)
	if f.Voice != "" {
		t.say(6, "It came back in another voice: %s.", strings.TrimRight(f.Voice, "."))
	}
	switch {
	case f.Sentence == nil:
		t.say(6, "No sentence there has to do with it.")
	case f.Sentence.Verbatim:
		t.say(6, "The sentence that carries it (%s): %q", f.Sentence.Role, t.cut(f.Sentence.Text, 240))
	default:
		t.say(6, "The sentence nearest to it, with %.0f%% of its words (%s): %q", 100*f.Sentence.Coverage, f.Sentence.Role, t.cut(f.Sentence.Text, 240))
	}
}

// verdictWords says a verdict in words.
func verdictWords(f *Fate) string {
	switch f.Verdict {
	case replay.Verbatim:
		return "kept letter for letter"
	case replay.Supported:
		return "kept in other words"
	case replay.Absent:
		return "LOST: nothing there says it"
	case replay.Contradicted:
		return "CONTRADICTED: something there says otherwise"
	case replay.Stale:
		return "STALE: it no longer binds and survives as if it did"
	case replay.Retired:
		return "rightly retired: it no longer binds"
	}
	return "unscored"
}

func (t *text) divergence() {
	s := t.story
	if s.Baseline.Status == "" || s.Candidate.Status == "" || !spoke(&s.Baseline) || !spoke(&s.Candidate) {
		return
	}
	t.head("Where they parted")
	d := s.Divergence
	if d == nil {
		t.say(2, "Nowhere: both did and said the same.")
		return
	}
	what := "They made different calls"
	if d.Kind == pairing.InWords {
		what = "They made the same calls throughout, and said different things"
	}
	t.say(2, "%s, first in turn %d.", what, d.Turn)
	t.say(2, "%s %s", s.Baseline.Name, t.cut(d.Baseline, 600))
	t.say(2, "%s %s", s.Candidate.Name, t.cut(d.Candidate, 600))
}

func spoke(arm *Arm) bool {
	return arm.Status == replay.Played || arm.Status == replay.Accepted || arm.Status == replay.Faulted
}

func (t *text) acts(arm *Arm) {
	if len(arm.Steps) == 0 {
		return
	}
	t.head(fmt.Sprintf("What %s did", roled(arm)))
	for i := range arm.Steps {
		s := &arm.Steps[i]
		switch s.Kind {
		case replay.StepUser:
			who := "the user"
			if s.Simulated {
				who = "the simulated user"
			}
			t.say(2, "turn %d: %s said %q", s.Turn, who, t.cut(s.Text, 160))
		case replay.StepText:
			t.say(2, "turn %d: it said %q", s.Turn, t.cut(s.Text, 240))
		case replay.StepCall:
			if s.Call == nil {
				continue
			}
			line := fmt.Sprintf("turn %d: it called %s %s", s.Turn, s.Call.Name, t.cut(fixtures.CanonicalArguments(s.Call.Arguments), 240))
			if s.MadeInTurn > 0 {
				line += fmt.Sprintf(", as the recording had in turn %d", s.MadeInTurn)
			}
			t.say(2, "%s", line)
			t.say(4, "%s: %q", source(s.Source), t.cut(s.Result, 120))
		}
	}
	if arm.End == replay.StepLimit {
		t.say(2, "Then it came to the step limit.")
	}
}

// source says who answered a call.
func source(s replay.ToolSource) string {
	switch s {
	case replay.FromTape:
		return "answered from the tape"
	case replay.Miss:
		return "nothing could answer it"
	case replay.NotCalled:
		return "not carried out"
	}
	return fmt.Sprintf("answered by %s", cmp.Or(string(s), "something unknown"))
}

func (t *text) checks() {
	s := t.story
	var ids []string
	for _, arm := range []*Arm{&s.Baseline, &s.Candidate} {
		for _, c := range arm.Checks {
			if !slices.Contains(ids, c.ID) {
				ids = append(ids, c.ID)
			}
		}
	}
	if len(ids) == 0 {
		return
	}
	t.head("The checks")
	for _, id := range ids {
		named := false
		for _, arm := range []*Arm{&s.Baseline, &s.Candidate} {
			for _, c := range arm.Checks {
				if c.ID != id {
					continue
				}
				if !named {
					guards := ""
					if c.Item != "" {
						guards = " (guards item " + c.Item + ")"
					}
					t.say(2, "%s%s: %s", c.ID, guards, c.Asks)
					named = true
				}
				answer := strings.ToUpper(string(c.Answer))
				t.sayStatus(4, ": ", answer, "%s: %s, %s", arm.Name, answer, cmp.Or(c.Evidence, "no evidence"))
			}
		}
	}
}

func (t *text) end() {
	t.head("Why it came out so")
	for _, line := range t.story.Why {
		t.say(2, "%s", line)
	}
	if len(t.story.Again) > 0 {
		t.say(2, "Played again: %s.", strings.Join(t.story.Again, "; "))
	}
	t.head("What it does to the verdict")
	for _, line := range t.story.Effect {
		t.say(2, "%s", line)
	}
}
