package judge

import (
	"regexp"
	"slices"
	"strings"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
)

// standing is how a literal stands in a compacted context.
type standing uint8

const (
	nowhere standing = iota
	// amended: other words stand around it, which may take it back or weaken it, as
	// in "if possible, ..." or "... no longer applies".
	amended
	// plain: it stands as it was recorded, or alone on its line.
	plain
)

// find says how the literal stands in the messages and which message holds it.
func find(messages, recorded []fixtures.Message, literal string) (standing, *fixtures.Message) {
	best, holder := nowhere, (*fixtures.Message)(nil)
	for i := range messages {
		m := &messages[i]
		if !m.Holds(literal) {
			continue
		}
		if !strings.Contains(m.Content, literal) || standsPlain(m.Content, recorded, literal) {
			return plain, m // also where it stands in a tool call's arguments
		}
		if best == nowhere {
			best, holder = amended, m
		}
	}
	return best, holder
}

// label is what stands before an entry of a list: its mark and a bracket that says
// when and by whom.
var label = regexp.MustCompile(`^[\s\-*+•>#]*(?:\d{1,3}[.)]\s+)?(?:\[[^\]\n]*\]\s*)?`)

// standsPlain says whether some line with the literal says nothing else, or says
// only what a recorded message says.
func standsPlain(content string, recorded []fixtures.Message, literal string) bool {
	if strings.Contains(literal, "\n") {
		return true
	}
	lines := strings.Split(content, "\n")
	for i, line := range lines {
		if !strings.Contains(line, literal) || takenBackAround(lines, i) {
			continue
		}
		said := strings.TrimSpace(label.ReplaceAllString(line, ""))
		if strings.Trim(said, " \t.!?;,:\"'`*_“”„«»|") == strings.Trim(literal, " \t.!?;,:\"'`*_“”„«»|") {
			return true
		}
		if slices.ContainsFunc(recorded, func(m fixtures.Message) bool { return strings.Contains(m.Content, said) }) {
			return true
		}
	}
	return false
}

// takesBack are words with which a neighbouring line may take a literal back. They decide
// nothing: where one stands, the judge is asked.
var takesBack = regexp.MustCompile(`(?i)\b(withdrawn|withdrew|dropped|revoked|retracted|cancell?ed|lifted|obsolete|void|opposite|false|untrue|no longer|not any ?more|over|ignore|disregard|invalid|superseded|outdated)\b`)

// takenBackAround looks at two lines with text before a line and at one after it.
func takenBackAround(lines []string, at int) bool {
	return takenBackIn(lines, at, -1, 2) || takenBackIn(lines, at, 1, 1)
}

// takenBackIn looks at the next most lines with text in one direction from a line.
func takenBackIn(lines []string, at, step, most int) bool {
	for i, seen := at+step, 0; i >= 0 && i < len(lines) && seen < most; i += step {
		if strings.TrimSpace(lines[i]) == "" {
			continue
		}
		seen++
		if takesBack.MatchString(lines[i]) {
			return true
		}
	}
	return false
}

// recordedUpTo are the recorded messages that an episode had seen at a compaction:
// not what an earlier compaction made of them.
func recordedUpTo(record *replay.Record, e *replay.Episode, c *replay.CompactionRecord) []fixtures.Message {
	var recorded []fixtures.Message
	seen := -1
	for i := range e.Compactions {
		at := &e.Compactions[i]
		if at.Index > c.Index {
			break
		}
		before, err := record.Contexts.Get(at.Before)
		if err != nil {
			return recorded // then more is asked than had to be
		}
		for _, m := range before {
			if m.Turn > seen {
				recorded = append(recorded, m)
			}
		}
		seen = at.AfterTurn
	}
	return recorded
}
