package rubric

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"testing"

	"github.com/doubletake-dev/doubletake/replay"
)

func newRubric(t *testing.T) *Rubric {
	t.Helper()
	r, err := Shipped()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestTheShippedRubric(t *testing.T) {
	r := newRubric(t)
	got := map[string][]string{}
	for _, c := range r.Criteria {
		got[c.Dimension] = append(got[c.Dimension], c.ID)
	}
	want := map[string][]string{
		"accuracy":              {"accuracy_factual", "accuracy_technical"},
		"context_awareness":     {"context_conversation_state", "context_artifact_state"},
		"artifact_trail":        {"artifact_files_created", "artifact_files_modified", "artifact_key_details"},
		"completeness":          {"completeness_coverage", "completeness_depth"},
		"continuity":            {"continuity_work_state", "continuity_todo_state", "continuity_reasoning"},
		"instruction_following": {"instruction_format", "instruction_constraints"},
	}
	for dimension, ids := range want {
		if !slices.Equal(got[dimension], ids) {
			t.Errorf("%s has %v, want %v", dimension, got[dimension], ids)
		}
	}
	if len(got) != len(want) || len(r.Criteria) != 14 {
		t.Errorf("%d dimensions, %d criteria", len(got), len(r.Criteria))
	}
	asked := map[string]bool{}
	for _, kind := range replay.ProbeKinds() {
		for _, c := range r.criteria(kind) {
			asked[c.ID] = true
		}
	}
	if len(asked) != 14 {
		t.Errorf("the kinds of probes ask for %d criteria", len(asked))
	}
	sum := sha256.Sum256(shipped)
	if id := r.ID(); id.SHA256 != hex.EncodeToString(sum[:]) || id.Version == "" {
		t.Errorf("%+v", id)
	}
}

func TestARubricThatDoesNotHoldTogetherIsRefused(t *testing.T) {
	if other, err := Parse([]byte(strings.Replace(string(shipped), "Is what the response says", "Is all that the response says", 1))); err != nil || other.ID() == newRubric(t).ID() {
		t.Errorf("another wording has the same digest: %v", err)
	}
	for _, c := range []struct{ old, new, want string }{
		{`"version": "2026.1"`, `"version": ""`, "no version"},
		{`"rules": 1`, `"rules": 2`, "rules that make probes"},
		{`"high": 5`, `"high": 10`, "scale"},
		{`"weight": 3`, `"weight": 0`, "weight"},
		{`"dimension": "continuity"`, `"dimension": "contnuity"`, "no dimension"},
		{`"id": "accuracy_technical"`, `"id": "accuracy_factual"`, "twice"},
		{`"count": 2`, `"count": 0`, "count"},
		{`"instruction_format",`, `"instruction_forms",`, "no criterion"},
		{`"recall": "The {speaker}`, `"recal": "The {speaker}`, "none for recall"},
		{`"scale"`, `"scala"`, "unknown field"},
		{"\n}\n", "\n} {}\n", "more text"},
	} {
		data := string(shipped)
		at := strings.LastIndex(data, c.old)
		if at < 0 {
			t.Fatalf("%s does not stand in the rubric", c.old)
		}
		if _, err := Parse([]byte(data[:at] + c.new + data[at+len(c.old):])); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s for %s: %v", c.new, c.old, err)
		}
	}
}
