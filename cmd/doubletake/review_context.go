package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/doubletake-dev/doubletake/analysis/report"
	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/pairing"
	"github.com/doubletake-dev/doubletake/replay"
)

// contexts prints what each arm saw: which recorded turns were replaced by what, and which
// items were lost with them.
func (s *shownPair) contexts() error {
	s.line(0, "")
	s.line(0, "What each arm saw")
	for _, side := range []pairing.Side{s.entry.First, s.entry.Second} {
		list, err := pairing.Replacements(s.record, &s.entry.Pair, side.Arm)
		if err != nil {
			return err
		}
		switch {
		case side.Context == "":
			s.line(2, "%s: a trace that a person accepted; what was in front of who made it is not known", side.Arm)
		case len(list) == 0:
			s.line(2, "%s: the recorded turns as they are, %s", side.Arm, report.Plural(side.Tokens, "token"))
		default:
			s.line(2, "%s: %s after %s", side.Arm, report.Plural(side.Tokens, "token"), report.Plural(len(list), "compaction"))
		}
		for i := range list {
			s.replaced(side.Arm, &list[i])
		}
	}
	if second := s.entry.Second.Context; second != "" {
		s.line(2, "contexts: %s, %s (doubletake explain %s --context HASH)", cmp.Or(string(s.entry.First.Context), "(accepted trace)"), second, shellPath(s.record.Dir))
	}
	return nil
}

func (s *shownPair) replaced(arm string, r *pairing.Replaced) {
	c := r.Compaction
	if c.Status != replay.Compacted {
		s.line(4, "compaction %d after turn %d: %s %s", c.Index+1, c.AfterTurn, c.Status, c.Reason)
		return
	}
	s.line(4, "compaction %d after turn %d, %d to %s: %s left out (%s), %d kept", c.Index+1, c.AfterTurn, c.TokensBefore, report.Plural(c.TokensAfter, "token"), report.Plural(len(r.Left), "message"), turnsOf(r.Left), r.Kept)
	if len(r.Written) > 0 {
		s.line(4, "in their place:")
	}
	for i := range r.Written {
		s.message(6, &r.Written[i])
	}
	for _, item := range r.Items {
		if !item.Lost() {
			continue
		}
		s.line(4, "! %s %s is %s after compaction %d: stated in turn %d", item.Class, item.Item, item.Verdict, c.Index+1, item.Turn)
		if item.Source != nil {
			s.line(8, "%s: %s", item.Source.Role, marked(item.Source.Content, item.Literal))
		} else {
			s.line(8, "»%s«; it stood there no more before this compaction", item.Literal)
		}
		s.line(8, "%s", judgesWord(item.Judgement))
	}
	var kept []string
	for _, item := range r.Items {
		if !item.Lost() {
			kept = append(kept, fmt.Sprintf("%s %s", item.Item, item.Verdict))
		}
	}
	if len(kept) > 0 {
		s.line(4, "other items: %s", strings.Join(kept, ", "))
	}
}

// judgesWord is what a verdict on an item rests on.
func judgesWord(j *replay.Judgement) string {
	who := cmp.Or(j.Judge, "no judge was asked")
	said := cmp.Or(j.Output, j.Answer)
	if said != "" {
		who += " said: " + report.Shorten(said, 600)
	}
	return fmt.Sprintf("%s (%.0f%% of its words stand in the context)", who, 100*j.Coverage)
}

// message prints a message, of a long one the beginning.
func (s *shownPair) message(indent int, m *fixtures.Message) {
	const most = 12 // lines
	text := m.Content
	for _, call := range m.ToolCalls {
		text += fmt.Sprintf("\ncalls %s %s", call.Name, fixtures.CanonicalArguments(call.Arguments))
	}
	var lines []string
	for i, part := range strings.Split(strings.TrimSpace(text), "\n") {
		if i == 0 {
			part = m.Role + ": " + part
		}
		lines = append(lines, wrapped(part, s.room(indent+2))...)
	}
	left := 0
	if len(lines) > most+1 && !s.full {
		left = len(lines) - most
		lines = lines[:most]
	}
	for _, line := range lines {
		fmt.Fprintf(s.out, "%s\n", strings.TrimRight(strings.Repeat(" ", indent)+"+ "+line, " "))
	}
	if left > 0 {
		s.line(indent, "+ ... %s more (--full)", report.Plural(left, "line"))
	}
}

// turnsOf is which recorded turns messages are of.
func turnsOf(messages []fixtures.Message) string {
	var turns []int
	for i := range messages {
		if messages[i].Turn > 0 {
			turns = append(turns, messages[i].Turn)
		}
	}
	if len(turns) == 0 {
		return "of no recorded turn"
	}
	return fmt.Sprintf("turns %d to %d", slices.Min(turns), slices.Max(turns))
}

// marked is a stretch of a text with a literal in it marked.
func marked(text, literal string) string {
	const each = 80 // characters on either side
	text, literal = report.Clean(text), report.Clean(literal)
	at := strings.Index(text, literal)
	if at < 0 {
		return report.Shorten(text, 2*each)
	}
	before, after := []rune(text[:at]), []rune(text[at+len(literal):])
	lead, tail := "", ""
	if len(before) > each {
		before, lead = before[len(before)-each:], "…"
	}
	if len(after) > each {
		after, tail = after[:each], "…"
	}
	return fmt.Sprintf("%s%s»%s«%s%s", lead, string(before), literal, string(after), tail)
}
