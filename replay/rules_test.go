package replay

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/doubletake-dev/doubletake/fixtures"
)

func said(id, role, text string) CompactMessage {
	return CompactMessage{ID: id, Message: fixtures.Message{Turn: 1, Role: role, Content: text}}
}

func summary(text string, sources ...string) CompactMessage {
	return CompactMessage{ID: "s0", Kind: KindSummary, SourceIDs: sources, Message: fixtures.Message{Role: fixtures.RoleUser, Content: text}}
}

func TestRules(t *testing.T) {
	const english = "Please look at the parser again and tell me why the second test fails on the build machine while it passes here. I would rather not change the test itself, since the other team relies on its output every single morning."
	const french = "Veuillez regarder encore une fois l'analyseur et dites-moi pourquoi le deuxième test échoue sur la machine de compilation alors qu'il passe ici. Je préférerais ne pas changer le test lui-même, car l'autre équipe en dépend."
	caller := CompactMessage{ID: "m2", Message: fixtures.Message{Turn: 2, Role: fixtures.RoleAssistant, ToolCalls: []fixtures.ToolCall{{ID: "c1", Name: "read", Arguments: json.RawMessage("{}")}}}}
	result := CompactMessage{ID: "m3", Message: fixtures.Message{Turn: 2, Role: fixtures.RoleTool, ToolCallID: "c1", Content: "the file"}}
	input := []CompactMessage{said("m1", "user", english), caller, result, said("m4", "assistant", "It fails because the clock is read twice.")}
	tests := []struct {
		name   string
		output []CompactMessage
		seen   []string // by the summariser
		after  int
		want   map[Rule]string // broken, with part of the counter-example
		silent []Rule          // no evidence
	}{
		{"a good one", []CompactMessage{summary("The user asks about the parser.", "m1", "m2", "m3"), input[3]}, nil, 10, nil, []Rule{RuleLanguage}},
		{"provenance from the summariser", []CompactMessage{summary("short"), input[3]}, []string{"m1", "m2", "m3"}, 10, nil, nil},
		{"nothing known of provenance", []CompactMessage{summary("short"), input[3]}, nil, 10, nil, []Rule{RuleConservation}},
		{"a split pair", []CompactMessage{input[0], result, input[3]}, nil, 10, map[Rule]string{RulePairs: "no message before it made", RuleConservation: "turn 2"}, nil},
		{"dropped unseen", []CompactMessage{summary("short", "m2", "m3"), input[3]}, nil, 10, map[Rule]string{RuleConservation: "turn 1 (user) was dropped"}, nil},
		{"dropped without a summary", []CompactMessage{input[3]}, nil, 10, map[Rule]string{RuleConservation: "turn 1"}, nil},
		{"larger", input, nil, 120, map[Rule]string{RuleSmaller: "120 tokens, the input had 100", RuleFits: "120 tokens"}, nil},
		{"beyond the window", input, nil, 60, map[Rule]string{RuleFits: "the window 50"}, nil},
		{"another role by id", []CompactMessage{input[0], caller, result, said("m4", "user", "It fails because the clock is read twice.")}, nil, 10, map[Rule]string{RuleRole: "of the assistant and came back as of the user"}, nil},
		{"another role by text", []CompactMessage{said("x", "assistant", english), caller, result, input[3]}, nil, 10, map[Rule]string{RuleRole: "what the user said came back as of the assistant", RuleVoice: "what the user said came back as the assistant's", RuleConservation: "turn 1"}, nil},
		{"another language", []CompactMessage{summary(french, "m1", "m2", "m3", "m4")}, nil, 10, map[Rule]string{RuleLanguage: "in English, what was written anew in French"}, nil},
		{"the same language", []CompactMessage{summary(english+" It was asked.", "m1", "m2", "m3", "m4")}, nil, 10, nil, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			record := &CompactionRecord{TokensBefore: 100, TokensAfter: tt.after}
			results := checkRules(input, &Compaction{Messages: tt.output, SummariserInput: tt.seen}, record, 50)
			record.Rules = results
			got := broken(*record)
			for rule, counter := range tt.want {
				if !strings.Contains(got[rule], counter) || got[rule] == "" {
					t.Errorf("rule %s: %q, want ...%s", rule, got[rule], counter)
				}
			}
			for rule, counter := range got {
				if tt.want[rule] == "" {
					t.Errorf("rule %s is broken: %s", rule, counter)
				}
			}
			for _, rule := range tt.silent {
				for _, r := range results {
					if r.Rule == rule {
						t.Errorf("rule %s has a result: %+v", rule, r)
					}
				}
			}
		})
	}
}
