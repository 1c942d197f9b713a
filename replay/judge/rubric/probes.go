package rubric

import (
	"cmp"
	"slices"
	"strings"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
)

// Probes makes the probes of one compaction, from what stood in the context before and
// does not stand in it after. The same history gives the same probes; arms that lost
// the same are asked the same.
func (r *Rubric) Probes(before, after []fixtures.Message) []replay.Probe {
	lost := truncated(before, after)
	makers := map[replay.ProbeKind]func([]said) []replay.Probe{
		replay.ProbeRecall: r.recall, replay.ProbeArtifact: r.artifact,
		replay.ProbeContinuation: r.continuation, replay.ProbeDecision: r.decision,
	}
	var list []replay.Probe
	for _, kind := range replay.ProbeKinds() {
		made := makers[kind](lost)
		for _, p := range made[:min(len(made), r.Kinds[kind].Count)] {
			p.Kind = kind
			p.ID = string(kind) + "-" + string(digest(string(kind), p.Question, truthText(&p)))[:8]
			if !slices.ContainsFunc(list, func(o replay.Probe) bool { return o.ID == p.ID }) {
				list = append(list, p)
			}
		}
	}
	return list
}

func digest(parts ...string) fixtures.Hash {
	return fixtures.HashBytes([]byte(strings.Join(parts, "\x00")))
}

// said is a recorded message that was cut away, with the text message that it answers.
type said struct {
	fixtures.Message
	answers string // the text of the other side before it
}

// truncated are the recorded messages of before that do not stand in after. What an
// earlier compaction wrote is no recorded message, and no system message is anybody's
// to compact.
func truncated(before, after []fixtures.Message) []said {
	stands := map[string]int{}
	for i := range after {
		stands[identity(&after[i])]++
	}
	lost := make([]bool, len(before))
	for i := len(before) - 1; i >= 0; i-- { // of equal messages the later ones were kept
		id := identity(&before[i])
		if stands[id] > 0 {
			stands[id]--
			continue
		}
		lost[i] = recorded(&before[i])
	}
	var list []said
	last := map[string]string{} // by role
	for i, m := range before {
		if lost[i] {
			list = append(list, said{m, last[other(m.Role)]})
		}
		if m.Content != "" && recorded(&m) {
			last[m.Role] = m.Content
		}
	}
	return list
}

// recorded says whether a message was said, not written by a compactor.
func recorded(m *fixtures.Message) bool {
	_, written := m.Extra[replay.KindField]
	return m.Turn > 0 && m.Role != fixtures.RoleSystem && !written
}

func other(role string) string {
	if role == fixtures.RoleUser {
		return fixtures.RoleAssistant
	}
	return fixtures.RoleUser
}

// identity is what makes a message the same one in two contexts; compactors need not
// keep its turn.
func identity(m *fixtures.Message) string {
	parts := []string{m.Role, m.Content, m.ToolCallID}
	for _, call := range m.ToolCalls {
		parts = append(parts, call.Name, fixtures.CanonicalArguments(call.Arguments))
	}
	return strings.Join(parts, "\x00")
}

func (s *said) fact(text string) replay.Fact {
	return replay.Fact{Turn: s.Turn, Role: s.Role, Text: clip(text, 600)}
}

func (s *said) speaks() bool {
	return s.Content != "" && (s.Role == fixtures.RoleUser || s.Role == fixtures.RoleAssistant)
}

// ask fills in a template of the rubric.
func (r *Rubric) ask(template string, pairs ...string) string {
	return strings.NewReplacer(pairs...).Replace(r.Questions[template])
}

// candidate is a probe with how well it suits.
type candidate struct {
	probe replay.Probe
	rank  int // the lower, the sooner
}

// choose orders candidates by rank and, within a rank, by a hash, which prefers no part
// of the conversation.
func choose(list []candidate) []replay.Probe {
	key := func(c candidate) fixtures.Hash { return digest(c.probe.Question, truthText(&c.probe)) }
	slices.SortStableFunc(list, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(key(a), key(b)))
	})
	probes := make([]replay.Probe, len(list))
	for i := range list {
		probes[i] = list[i].probe
	}
	return probes
}

// The words of a sentence that a probe can be made of.
const (
	fewestWords = 6
	mostWords   = 45
)

func fit(sentence string) bool {
	n := len(strings.Fields(sentence))
	return n >= fewestWords && n <= mostWords
}

// recall leaves a detail out of a sentence and asks for it: of what the user said and
// of what the assistant said by turns.
func (r *Rubric) recall(lost []said) []replay.Probe {
	by := map[string][]candidate{}
	for i := range lost {
		s := &lost[i]
		if !s.speaks() {
			continue
		}
		for _, sentence := range sentences(s.Content) {
			detail, rank := detailOf(sentence)
			if detail == "" || !fit(sentence) || strings.Contains(sentence, gap) {
				continue
			}
			by[s.Role] = append(by[s.Role], candidate{replay.Probe{
				Question: r.ask(askRecall, "{speaker}", s.Role, "{cue}", strings.ReplaceAll(sentence, detail, gap)),
				Answer:   detail, Truth: []replay.Fact{s.fact(sentence)},
			}, rank})
		}
	}
	users, assistants := choose(by[fixtures.RoleUser]), choose(by[fixtures.RoleAssistant])
	var probes []replay.Probe
	for i := range max(len(users), len(assistants)) {
		for _, list := range [][]replay.Probe{users, assistants} {
			if i < len(list) {
				probes = append(probes, list[i])
			}
		}
	}
	return probes
}

// gap stands for the detail that a recall probe asks for.
const gap = "[...]"

// mostFacts bounds the truth of a probe.
const mostFacts = 8

// continuation asks for what the work is for and for what is still open.
func (r *Rubric) continuation(lost []said) []replay.Probe {
	var probes []replay.Probe
	if i := slices.IndexFunc(lost, func(s said) bool { return s.Role == fixtures.RoleUser }); i >= 0 && lost[i].answers == "" && lost[i].Turn == 1 {
		probes = append(probes, replay.Probe{Question: r.ask(askGoal), Truth: []replay.Fact{lost[i].fact(lost[i].Content)}})
	}
	var open []replay.Fact
	for i := range lost {
		if !lost[i].speaks() {
			continue
		}
		for _, sentence := range sentences(lost[i].Content) {
			if putsOff(lost[i].Role, sentence) {
				open = append(open, lost[i].fact(sentence))
			}
		}
	}
	if len(open) > 0 {
		open = open[max(0, len(open)-mostFacts):]
		probes = append(probes, replay.Probe{Question: r.ask(askOpen), Truth: open})
	}
	return probes
}

// decision quotes what was asked or proposed and asks what was decided.
func (r *Rubric) decision(lost []said) []replay.Probe {
	var list []candidate
	for i := range lost {
		s := &lost[i]
		if !s.speaks() || s.answers == "" {
			continue
		}
		cue, proposes := cueOf(s.answers)
		told := sentences(s.Content)
		at := slices.IndexFunc(told, func(sentence string) bool { return decides(s.Role, sentence, proposes) })
		if at < 0 || cue == "" {
			continue
		}
		rank := 2
		switch {
		case s.Role == fixtures.RoleUser && proposes:
			rank = 0 // the answer to a question or to options
		case proposes || gives(told[at]):
			rank = 1
		}
		end := min(at+3, len(told))
		list = append(list, candidate{replay.Probe{
			Question: r.ask(askDecision, "{speaker}", other(s.Role), "{cue}", cue),
			Truth:    []replay.Fact{s.fact(strings.Join(told[at:end], " "))},
		}, rank})
	}
	return choose(list)
}
