package analysis_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/doubletake-dev/doubletake/analysis"
	"github.com/doubletake-dev/doubletake/analysis/report"
	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
)

// mutation is a recorded run of a good compactor and some broken ones over two
// fixtures, each with a pinned rule and a question.
type mutation struct {
	record  *replay.Record
	mutants *replay.Mutations
}

func newMutation(t *testing.T) *mutation {
	t.Helper()
	n := newNight(t)
	m := &mutation{n.record, &replay.Mutations{Version: replay.MutationsVersion, Compactor: "good", Seed: 7, Kinds: []replay.MutantKind{
		{Kind: "drop", Means: "an item is left out"}, {Kind: "empty", Means: "nothing came back"}, {Kind: "frame", Means: "an empty sentence", Harmless: true},
	}}}
	m.record.Run.Plan.Command = replay.MutateCommand
	m.record.Run.Plan.Fixtures, m.record.Run.Plan.Items = 2, 4
	m.record.Run.Plan.Arms = []replay.ArmInfo{
		{Name: "reference", Role: analysis.RoleReference, Kind: replay.ReferenceArm}, {Name: "good", Role: replay.RoleBase, Kind: replay.CompactorArm},
	}
	for _, id := range []string{"f00", "f01"} {
		f := &fixtures.Fixture{ConversationID: id, Hash: fixtures.HashBytes([]byte(id)), Checks: []fixtures.Check{{ID: "k1", Final: "text == 'ok'"}}, MustSurvive: []fixtures.Item{
			{ID: "c1", Class: fixtures.Constraint, Turn: 1, Literal: "never \x1b[31mpush", Pinned: true},
			{ID: "q1", Class: fixtures.OpenQuestion, Turn: 1, Literal: "which base?"},
		}}
		m.record.Fixtures = append(m.record.Fixtures, f)
		m.play(f, "reference", "ok", "")
		m.play(f, "good", "ok", "good")
		m.judge(f, "good", "good", replay.Verbatim, replay.Supported)
	}
	return m
}

// play adds an episode, compacted to the context of that name.
func (m *mutation) play(f *fixtures.Fixture, arm, final, after string) *replay.Episode {
	e := &replay.Episode{
		Key: replay.Key{Fixture: f.Hash, Arm: arm}, ConversationID: f.ConversationID, Status: replay.Played, PrefixHash: "p", Fork: 2,
		Steps: []replay.Step{{Kind: replay.StepText, Turn: 3, Text: final}},
	}
	if after != "" {
		e.Compactions = []replay.CompactionRecord{{AfterTurn: 2, Status: replay.Compacted, After: fixtures.Hash(after), Rules: []replay.RuleResult{{Rule: replay.RulePairs, Held: true}}}}
	}
	m.record.Episodes = append(m.record.Episodes, e)
	return e
}

// judge adds the verdicts on the rule and the question.
func (m *mutation) judge(f *fixtures.Fixture, arm, context string, verdicts ...replay.Verdict) {
	for i, v := range verdicts {
		item := f.MustSurvive[i]
		m.record.Judgements = append(m.record.Judgements, &replay.Judgement{
			Key: replay.Key{Fixture: f.Hash, Arm: arm}, AfterTurn: 2, Item: item.ID, Class: item.Class, Verdict: v, Context: fixtures.Hash(context),
		})
	}
}

// mutate adds a mutant and its episode.
func (m *mutation) mutate(f int, kind, place string, harmless bool, final, after string, verdicts ...replay.Verdict) *replay.Episode {
	fixture := m.record.Fixtures[f]
	one := replay.Mutant{Fixture: fixture.Hash, ConversationID: fixture.ConversationID, Kind: kind, Place: place, AfterTurn: 2, Harmless: harmless, Change: "some \x1b[31mchange"}
	if item := fixture.Item(place); item != nil {
		one.Item, one.Class = item.ID, item.Class
	}
	m.mutants.Mutants = append(m.mutants.Mutants, one)
	if !slices.ContainsFunc(m.record.Run.Plan.Arms, func(a replay.ArmInfo) bool { return a.Name == one.Arm() }) {
		m.record.Run.Plan.Arms = append(m.record.Run.Plan.Arms, replay.ArmInfo{Name: one.Arm(), Role: "mutant", Kind: replay.CompactorArm})
	}
	e := m.play(fixture, one.Arm(), final, after)
	m.judge(fixture, one.Arm(), after, verdicts...)
	return e
}

func (m *mutation) find(t *testing.T) *analysis.Mutation {
	t.Helper()
	found, err := analysis.Mutate(m.record, m.mutants)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestWhatCatchesAMutant(t *testing.T) {
	tests := []struct {
		name     string
		final    string
		after    string
		verdicts []replay.Verdict
		change   func(*replay.Episode)
		want     []string // rows
		reason   string
	}{
		{"nothing", "ok", "other", []replay.Verdict{replay.Verbatim, replay.Supported}, nil, nil, ""},
		{"the same context needs no verdicts", "ok", "good", nil, nil, nil, ""},
		{"an item lost, and its pin", "ok", "other", []replay.Verdict{replay.Absent, replay.Supported}, nil, []string{"item lost", "broken pin"}, ""},
		{"an item turned around", "ok", "other", []replay.Verdict{replay.Verbatim, replay.Contradicted}, nil, []string{"item contradicted"}, ""},
		{"a pin in other words", "ok", "other", []replay.Verdict{replay.Supported, replay.Supported}, nil, []string{"broken pin"}, ""},
		{"a question kept word for word instead", "ok", "other", []replay.Verdict{replay.Verbatim, replay.Verbatim}, nil, nil, ""},
		{"the agent fails", "no", "other", []replay.Verdict{replay.Verbatim, replay.Supported}, nil, []string{"pair lost"}, ""},
		{"a rule broken", "ok", "other", []replay.Verdict{replay.Verbatim, replay.Supported}, func(e *replay.Episode) {
			e.Compactions[0].Rules = []replay.RuleResult{{Rule: replay.RulePairs, Counter: "split"}, {Rule: replay.RuleLeak, Held: true}}
		}, []string{"rule pairs"}, ""},
		{"a compaction failed", "ok", "", nil, func(e *replay.Episode) {
			e.Status, e.Reason = replay.Void, "0 of 1 expected compactions ran"
			e.Compactions = []replay.CompactionRecord{{AfterTurn: 2, Status: replay.Failed, Reason: "it broke"}}
		}, []string{"failed compaction", "failed compaction"}, ""},
		{"the world's fault", "ok", "other", []replay.Verdict{replay.Verbatim, replay.Supported}, func(e *replay.Episode) {
			e.Status, e.Reason, e.Steps = replay.Faulted, "the provider answered 500", nil
		}, nil, "the provider answered 500"},
		{"caught before the world's fault", "ok", "other", []replay.Verdict{replay.Absent, replay.Supported}, func(e *replay.Episode) {
			e.Status, e.Reason, e.Steps = replay.Faulted, "the provider answered 500", nil
		}, []string{"item lost", "broken pin"}, ""},
		{"not judged", "ok", "other", []replay.Verdict{replay.Verbatim, replay.Unjudged}, nil, nil, "item q1 was not judged"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := newMutation(t)
			e := m.mutate(0, "drop", "c1", false, tt.final, tt.after, tt.verdicts...)
			if tt.change != nil {
				tt.change(e)
			}
			fate := m.find(t).Fates[0]
			var rows []string
			for _, by := range fate.By {
				rows = append(rows, by.Row)
			}
			if !slices.Equal(rows, tt.want) || fate.Reason != tt.reason {
				t.Errorf("caught by %q (%q), want %q (%q)", rows, fate.Reason, tt.want, tt.reason)
			}
		})
	}
}

// TestGoodCompactorsOwnFaultsCountForNothing: what the good compactor does, too, is not
// the mutant's doing.
func TestGoodCompactorsOwnFaultsCountForNothing(t *testing.T) {
	m := newMutation(t)
	for _, e := range m.record.Episodes {
		if e.Arm == "good" {
			e.Steps[0].Text = "no"
			e.Compactions[0].Rules[0].Held = false
		}
	}
	m.record.Judgements[0].Verdict = replay.Absent
	e := m.mutate(0, "drop", "c1", false, "no", "other", replay.Absent, replay.Supported)
	e.Compactions[0].Rules[0].Held = false
	found := m.find(t)
	if len(found.Fates[0].By) > 0 || len(found.Alive) != 1 {
		t.Errorf("caught: %+v", found.Fates[0])
	}
}

func TestUndefinedScoresAreNull(t *testing.T) {
	m := newMutation(t)
	e := m.mutate(0, "drop", "c1", false, "ok", "other", replay.Verbatim, replay.Supported)
	e.Status, e.Reason = replay.Faulted, "down"
	found := m.find(t)
	if found.Mutants.Share != nil || found.Rewrites.Share != nil || found.Mutants.Unknown != 1 {
		t.Errorf("%+v and %+v", found.Mutants, found.Rewrites)
	}
	var b bytes.Buffer
	if err := report.MutationJSON(&b, found); err != nil || !strings.Contains(b.String(), `"share": null`) {
		t.Errorf("%v: %s", err, b.String())
	}
}

func TestOtherRunsAreNoMutationRuns(t *testing.T) {
	n := newNight(t, "ppp")
	if _, err := analysis.Mutate(n.record, &replay.Mutations{}); err == nil || !strings.Contains(err.Error(), "no run of fixtures mutate") {
		t.Errorf("a nightly is taken for a mutation run: %v", err)
	}
	if _, err := analysis.Analyse(newMutation(t).record); err == nil || !strings.Contains(err.Error(), "fixtures mutate --report") {
		t.Errorf("a mutation run is given a verdict: %v", err)
	}
}

// TestMutationReport holds the printed report to a golden file, hostile text included.
func TestMutationReport(t *testing.T) {
	m := newMutation(t)
	m.mutants.Sample, m.mutants.Candidates = 6, 40
	m.mutants.NotMade = []replay.NotMade{{Kind: "drop", Reason: "the item is not in force", Count: 3}, {Kind: "frame", Reason: "the compactor wrote nothing anew", Count: 1}}
	m.mutate(0, "drop", "c1", false, "no", "a", replay.Absent, replay.Supported)
	m.mutate(0, "drop", "q1", false, "ok", "b", replay.Verbatim, replay.Supported)
	byRule := m.mutate(1, "drop", "q1", false, "ok", "c", replay.Verbatim, replay.Supported)
	byRule.Compactions[0].Rules[0] = replay.RuleResult{Rule: replay.RulePairs, Counter: "message 1 is \x1b[31malone"}
	down := m.mutate(1, "empty", "whole", false, "ok", "d", replay.Verbatim, replay.Supported)
	down.Status, down.Reason, down.Steps = replay.Faulted, "the provider answered 500", nil
	m.mutate(0, "frame", "summary", true, "ok", "e", replay.Verbatim, replay.Verbatim)
	m.mutate(1, "frame", "summary", true, "no", "f", replay.Verbatim, replay.Verbatim)
	found := m.find(t)
	var got bytes.Buffer
	if err := report.MutationText(&got, found, report.Style{}); err != nil {
		t.Fatal(err)
	}
	if bytes.ContainsRune(got.Bytes(), '\x1b') {
		t.Error("control characters reach the terminal")
	}
	path := filepath.Join("testdata", "mutation.txt")
	if *update {
		if err := os.WriteFile(path, got.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got.Bytes(), want) {
		t.Errorf("differs from %s (go test ./analysis -update writes it anew):\n%s", path, got.String())
	}
}
