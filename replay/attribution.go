package replay

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/doubletake-dev/doubletake/fixtures"
)

// attribution is a line that says whose words it holds.
type attribution struct {
	role string
	turn int // 0 where it names none
	text string
}

const listMark = `^[\s\-*+•>#]*(?:\d{1,3}[.)]\s+)?`

var (
	// turnLabel is "[turn 3, user] text" or "(user, turn 3) text".
	turnLabel = regexp.MustCompile(`(?i)` + listMark + `[\[(]\s*(?:turn\s+(\d{1,9})\s*[, ]\s*(user|assistant)|(user|assistant)\s*[, ]\s*turn\s+(\d{1,9}))\s*[\])]\s*:?\s*(\S.*)$`)
	// nameLabel is "User: text", "The user said on turn 3: text".
	nameLabel = regexp.MustCompile(`(?i)` + listMark + `(?:the\s+)?(user|human|assistant|agent)(?:'s words)?(?:\s+(?:said|says|asked|wrote|stated|answered|replied)(?:\s+[oi]n\s+turn\s+\d{1,9})?)?\s*:\s*(\S.*)$`)
)

// readAttribution reads a line's label, if it has one.
func readAttribution(line string) (attribution, bool) {
	if m := turnLabel.FindStringSubmatch(line); m != nil {
		turn, err := strconv.Atoi(m[1] + m[4])
		if err != nil {
			return attribution{}, false
		}
		return attribution{strings.ToLower(m[2] + m[3]), turn, unquoted(m[5])}, true
	}
	if m := nameLabel.FindStringSubmatch(line); m != nil {
		role := fixtures.RoleUser
		if name := strings.ToLower(m[1]); name == "assistant" || name == "agent" {
			role = fixtures.RoleAssistant
		}
		return attribution{role: role, text: unquoted(m[2])}, true
	}
	return attribution{}, false
}

func unquoted(text string) string { return strings.Trim(strings.TrimSpace(text), `"“”„«»`) }

// The measures of the rule on voice.
const (
	tellingWords = 4   // fewer may be anybody's
	quotingLines = 3   // of a turn and a speaker, before a compactor counts as quoting
	quotingShare = 0.8 // of which must be quotes
)

// changedVoice names the first words that came back as another speaker's, or that were
// put into a speaker's mouth: a line that names the wrong speaker; a line that its
// speaker never said, among lines that nearly all quote word for word; and a message
// of the user that is called kept and was never there. Paraphrases are no finding. It is
// not known where nothing is attributed to anybody.
func changedVoice(s *speech, output []CompactMessage) (counter string, known bool) {
	var quoted []attribution
	literal := 0
	for _, m := range s.anew(output) {
		if !isWritten(m) {
			known = true
			if counter := s.foreign(m); counter != "" {
				return counter, true
			}
		}
		for line := range strings.SplitSeq(m.Content, "\n") {
			a, ok := readAttribution(line)
			if !ok {
				continue
			}
			known = true
			if counter := s.misattributed(a); counter != "" {
				return counter, true
			}
			if a.turn > 0 {
				quoted = append(quoted, a)
				if s.quotes(a) {
					literal++
				}
			}
		}
	}
	if len(quoted) < quotingLines || float64(literal) < quotingShare*float64(len(quoted)) {
		return "", known
	}
	for _, a := range quoted {
		if !s.quotes(a) {
			return fmt.Sprintf("quoted as said by the %s in turn %d, which does not say it: %.80q", a.role, a.turn, a.text), true
		}
	}
	return "", known
}

// foreign says what is wrong with a message that stands in the output as if it had been
// said and was not.
func (s *speech) foreign(m *CompactMessage) string {
	if m.Role == fixtures.RoleUser && m.Kind == KindKept && !s.spoke(m.Role, 0, wordingOf(m.Content)) {
		return fmt.Sprintf("a message of the user that the input does not hold: %.80q", m.Content)
	}
	for _, text := range sentences(m.Content) {
		if counter := s.misattributed(attribution{role: m.Role, text: text}); counter != "" {
			return counter
		}
	}
	return ""
}

// misattributed says that the words are another speaker's and not the one's that they
// are attributed to.
func (s *speech) misattributed(a attribution) string {
	for _, text := range sentences(a.text) {
		what := wordingOf(text)
		if len(what.words()) < tellingWords || s.spoke(a.role, 0, what) {
			continue
		}
		if named, noted := s.noted(what); noted {
			if named != "" && named != a.role {
				return fmt.Sprintf("what an earlier compaction wrote down as the %s's came back as the %s's: %.80q", named, a.role, text)
			}
			continue
		}
		for _, other := range []string{fixtures.RoleUser, fixtures.RoleAssistant, fixtures.RoleTool} {
			if other != a.role && s.spoke(other, 0, what) {
				return fmt.Sprintf("what the %s said came back as the %s's: %.80q", other, a.role, text)
			}
		}
	}
	return ""
}

// noted says whether an earlier compaction wrote the wording down, and as whose where
// every line that holds it names one and the same speaker.
func (s *speech) noted(what wording) (role string, noted bool) {
	open := false
	for i := range s.messages {
		if !isWritten(&s.messages[i]) || !s.wording(i).holds(what) {
			continue
		}
		noted = true
		labelled := false
		for line := range strings.SplitSeq(s.messages[i].Content, "\n") {
			if !wordingOf(line).holds(what) {
				continue
			}
			a, ok := readAttribution(line)
			open = open || !ok || role != "" && role != a.role
			role, labelled = a.role, true
		}
		open = open || !labelled
	}
	if open {
		role = ""
	}
	return role, noted
}

// quotes says whether the words stand in the turn that they are attributed to, or stood
// under the same name in what an earlier compaction wrote.
func (s *speech) quotes(a attribution) bool {
	what := wordingOf(a.text)
	if s.spoke(a.role, a.turn, what) {
		return true
	}
	for i := range s.messages {
		if !isWritten(&s.messages[i]) || !s.wording(i).holds(what) {
			continue
		}
		for line := range strings.SplitSeq(s.messages[i].Content, "\n") {
			if old, ok := readAttribution(line); ok && old.role == a.role && old.turn == a.turn && wordingOf(old.text) == what {
				return true
			}
		}
	}
	return false
}
