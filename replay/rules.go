package replay

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/abadojack/whatlanggo"

	"github.com/doubletake-dev/doubletake/fixtures"
)

// Rule is something that a compactor must never break, whatever it keeps. That a
// compactor leaves a short context alone needs no rule here: the engine asks for no
// compaction below the trigger.
type Rule string

// The rules.
const (
	// RulePairs: tool calls and their results stay paired.
	RulePairs Rule = "pairs"
	// RuleConservation: what was dropped went through a summariser.
	RuleConservation Rule = "conservation"
	// RuleSmaller: the output is smaller than the input.
	RuleSmaller Rule = "smaller"
	// RuleFits: the output fits the window.
	RuleFits Rule = "fits"
	// RuleRole: a message that survives keeps its role.
	RuleRole Rule = "role"
	// RuleLanguage: what is written anew is in the language of the conversation.
	RuleLanguage Rule = "language"
	// RuleVoice: what is attributed to a speaker was said by that speaker.
	RuleVoice Rule = "voice"
	// RuleApproval: what is said to be approved was approved.
	RuleApproval Rule = "approval"
	// RuleLeak: the summariser's instructions stand nowhere in the output.
	RuleLeak Rule = "leak"
	// RuleSecondPass: the compactor accepts its own output.
	RuleSecondPass Rule = "second_pass"
	// RuleFailure: where the compactor's own model fails, the history stays as it was. It
	// is put to the test by failures that are injected on purpose.
	RuleFailure Rule = "failure_leaves_history"
)

// Rules lists the rules in the order in which reports print them.
func Rules() []Rule {
	return []Rule{RulePairs, RuleConservation, RuleSmaller, RuleFits, RuleRole, RuleLanguage, RuleVoice, RuleApproval, RuleLeak, RuleSecondPass, RuleFailure}
}

// RuleResult says whether a rule held at a compaction. A rule that a compaction gives
// no evidence on has no result.
type RuleResult struct {
	Rule Rule `json:"rule"`
	Held bool `json:"held"`
	// Counter is the first counter-example, in words.
	Counter string `json:"counter,omitempty"`
}

// checkRules finds what can be said of a compaction from its input and output alone.
func checkRules(input []CompactMessage, out *Compaction, record *CompactionRecord, window int) []RuleResult {
	var results []RuleResult
	add := func(rule Rule, counter string) {
		results = append(results, RuleResult{rule, counter == "", counter})
	}
	pairs := ""
	if err := CheckPairsAfter(Texts(input), Texts(out.Messages)); err != nil {
		pairs = err.Error()
	}
	add(RulePairs, pairs)
	if counter, known := lostUnsummarised(input, out); known {
		add(RuleConservation, counter)
	}
	add(RuleSmaller, when(record.TokensAfter >= record.TokensBefore, "the output has %d tokens, the input had %d", record.TokensAfter, record.TokensBefore))
	if window > 0 {
		add(RuleFits, when(record.TokensAfter > window, "the output has %d tokens, the window %d", record.TokensAfter, window))
	}
	add(RuleRole, changedRole(input, out.Messages))
	if counter, known := changedLanguage(input, out.Messages); known {
		add(RuleLanguage, counter)
	}
	said := speechOf(input)
	if counter, known := changedVoice(said, out.Messages); known {
		add(RuleVoice, counter)
	}
	if counter, known := inventedApproval(said, out.Messages); known {
		add(RuleApproval, counter)
	}
	if counter, known := leaked(said, out.Messages, out.Instructions); known {
		add(RuleLeak, counter)
	}
	return results
}

// keptOnFailure says whether the history outlived a failure of the compactor's model. A
// compaction without an injected failure gives no evidence.
func keptOnFailure(input []CompactMessage, out *Compaction) (result RuleResult, known bool) {
	if out.Injected == "" {
		return RuleResult{}, false
	}
	if out.Status != Compacted { // the engine goes on with what it had
		return RuleResult{RuleFailure, true, ""}, true
	}
	kept := map[string]bool{}
	for _, m := range out.Messages {
		kept[m.ID] = true
	}
	for _, m := range input {
		if !kept[m.ID] {
			counter := fmt.Sprintf("its model failed (%s), and turn %d (%s) is gone: %.80q", out.Injected, m.Turn, m.Role, m.Content)
			return RuleResult{RuleFailure, false, counter}, true
		}
	}
	return RuleResult{RuleFailure, true, ""}, true
}

func when(broken bool, format string, args ...any) string {
	if !broken {
		return ""
	}
	return fmt.Sprintf(format, args...)
}

// lostUnsummarised names the first message that was dropped without having been in
// front of a summariser. It is not known for a compactor that says nothing of where
// its summaries come from.
func lostUnsummarised(input []CompactMessage, out *Compaction) (counter string, known bool) {
	kept, seen := map[string]bool{}, map[string]bool{}
	summaries := false
	for _, m := range out.Messages {
		kept[m.ID] = true
		summaries = summaries || m.Kind == KindSummary || m.Kind == KindOpaque
		for _, id := range m.SourceIDs {
			seen[id] = true
		}
	}
	for _, id := range out.SummariserInput {
		seen[id] = true
	}
	if summaries && len(seen) == 0 {
		return "", false
	}
	for _, m := range input {
		if !kept[m.ID] && !seen[m.ID] {
			return fmt.Sprintf("turn %d (%s) was dropped and no summariser saw it: %.80q", m.Turn, m.Role, m.Content), true
		}
	}
	return "", true
}

// changedRole names the first message that came back in another role.
func changedRole(input, output []CompactMessage) string {
	const telling = 20 // characters, so that an "ok" of both speakers is no finding
	byID := make(map[string]*CompactMessage, len(input))
	for i := range input {
		byID[input[i].ID] = &input[i]
	}
	// Most of what comes back is what it was, and then nobody need look for its text.
	byText := sync.OnceValue(func() map[string][]string {
		roles := map[string][]string{}
		for i := range input {
			if text := strings.TrimSpace(input[i].Content); len(text) >= telling {
				roles[text] = append(roles[text], input[i].Role)
			}
		}
		return roles
	})
	for i := range output {
		m := &output[i]
		was := byID[m.ID]
		switch {
		case was != nil && was.Role != m.Role:
			return fmt.Sprintf("message %s was of the %s and came back as of the %s: %.80q", m.ID, was.Role, m.Role, m.Content)
		case was != nil && was.Content == m.Content:
			continue
		}
		roles := byText()[strings.TrimSpace(m.Content)]
		if len(roles) > 0 && !slices.Contains(roles, m.Role) {
			return fmt.Sprintf("what the %s said came back as of the %s: %.80q", roles[0], m.Role, m.Content)
		}
	}
	return ""
}

// changedLanguage compares the language of what was written anew with that of what
// the two speakers said. Short or mixed texts say nothing.
func changedLanguage(input, output []CompactMessage) (counter string, known bool) {
	// What was written anew comes first: often nothing was, and then the rest need not be
	// looked at.
	written, ok := language(output, func(m *CompactMessage) bool { return m.Kind == KindSummary })
	if !ok {
		return "", false
	}
	said, ok := language(input, func(m *CompactMessage) bool { return m.Role != fixtures.RoleTool })
	if !ok {
		return "", false
	}
	return when(said != written, "the conversation is in %s, what was written anew in %s", said.String(), written.String()), true
}

func language(messages []CompactMessage, keep func(*CompactMessage) bool) (whatlanggo.Lang, bool) {
	const least, most = 200, 20_000 // bytes: enough to tell, and no more than is needed
	var b strings.Builder
	for i := range messages {
		if keep(&messages[i]) && b.Len() < most {
			b.WriteString(messages[i].Content)
			b.WriteByte('\n')
		}
	}
	if b.Len() < least {
		return 0, false
	}
	info := whatlanggo.Detect(b.String())
	return info.Lang, info.IsReliable()
}

// secondPass gives the compactor its own output.
func (p *player) secondPass(ctx context.Context, request *CompactRequest, out *Compaction) (*RuleResult, error) {
	again := *request
	again.Compaction++
	again.Messages, again.PriorState = out.Messages, out.State
	again.BudgetTokens = budget(CountAll(p.engine.Counter, Texts(out.Messages)), p.stage.window)
	second, err := compactGuarded(ctx, p.arm.Compactor, &again)
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, nil // the world's fault says nothing of the compactor
	}
	p.episode.Exchanges = append(p.episode.Exchanges, second.Exchanges...)
	if second.Injected != "" {
		return nil, nil // its model failed on purpose, which says nothing of its output
	}
	broken := second.Status == Failed || second.Status == Refused && !second.NotRecorded
	counter := when(broken, "given its own output of turn %d it answers %s: %s", request.AfterTurn, second.Status, second.Reason)
	return &RuleResult{RuleSecondPass, !broken, counter}, nil
}
