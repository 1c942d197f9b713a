package report

import (
	"fmt"
	"strings"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
)

// newContextView shows the context of a side, the items' literals in it marked.
func newContextView(p *pairOf, i int, left *room) contextView {
	side := &p.sides[i]
	v := contextView{Arm: side.arm, Missing: side.missing}
	var literals []string
	for _, item := range p.Items {
		literals = append(literals, item.Literal)
		verdict := []replay.Verdict{item.First, item.Second}[i]
		if verdict == replay.Absent || verdict == replay.Contradicted || verdict == replay.Stale {
			if len(v.Lost) == mostInPair {
				continue
			}
			line := fmt.Sprintf("%s: %s %s of turn %d: “%s”", verdict, item.Class, item.ID, item.Turn, item.Literal)
			v.Lost = append(v.Lost, Shorten(line, 400))
			left.spend(rowBytes + escapedLength(line))
		}
	}
	compacted := false
	if e := side.episode; e != nil {
		for i := range e.Compactions {
			v.Compactions = append(v.Compactions, compactionLines(&e.Compactions[i])...)
		}
		compacted = len(compactionsBefore(e)) > 0
	}
	v.Compactions = some(v.Compactions)
	if side.context == nil {
		v.Summary = "not shown"
		return v
	}
	v.Summary = fmt.Sprintf("%s in %s", Plural(side.tokens, "token"), Plural(len(side.context), "message"))
	most := mostContext
	if !compacted {
		// Nothing was lost in it; what the items are about stands beside them.
		v.Summary += ", not compacted"
		most /= 8
	}
	context := &room{min(most, left.left)}
	before := context.left
	for k := range side.context {
		if !context.spend(rowBytes) {
			v.Cut = len(side.context) - k
			break
		}
		text := messageText(&side.context[k])
		v.Messages = append(v.Messages, messageView{
			Head: messageHead(&side.context[k]),
			Body: context.take(text, 4*mostText, whereStands(text, literals)...),
		})
	}
	left.left -= before - context.left
	return v
}

// compactionLines say what a compaction did, and which rules it broke.
func compactionLines(c *replay.CompactionRecord) []string {
	line := fmt.Sprintf("compaction %d, after turn %d: %s", c.Index+1, c.AfterTurn, c.Status)
	if c.Status == replay.Compacted {
		line += fmt.Sprintf(", %s before, %d after", Plural(c.TokensBefore, "token"), c.TokensAfter)
	}
	if c.Reason != "" {
		line += " (" + c.Reason + ")"
	}
	lines := []string{line}
	for _, rule := range c.Rules {
		if !rule.Held {
			lines = append(lines, fmt.Sprintf("breaks %s: %s", rule.Rule, rule.Counter))
		}
	}
	return lines
}

func messageHead(m *fixtures.Message) string {
	head := Shorten(m.Role, 40)
	if m.Turn > 0 {
		head = fmt.Sprintf("%s, turn %d", head, m.Turn)
	}
	return head
}

// messageText is the text of a message with its calls.
func messageText(m *fixtures.Message) string {
	parts := []string{}
	if m.Content != "" {
		parts = append(parts, m.Content)
	}
	for _, call := range m.ToolCalls {
		parts = append(parts, "calls "+call.Name+" "+fixtures.CanonicalArguments(call.Arguments))
	}
	return strings.Join(parts, "\n")
}
