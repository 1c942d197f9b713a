package analysis_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/doubletake-dev/doubletake/analysis"
	"github.com/doubletake-dev/doubletake/analysis/report"
	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/pairing"
	"github.com/doubletake-dev/doubletake/replay"
)

var update = flag.Bool("update", false, "write the golden files anew")

// night builds a recorded night without a model: one fixture a letter of outcomes,
// which gives reference, incumbent and candidate in that order as p (pass), f (fail),
// u (unscored), v (void), t (accepted trace) or l (left out).
type night struct{ record *replay.Record }

func newNight(t *testing.T, outcomes ...string) *night {
	t.Helper()
	settings, err := json.Marshal(analysis.DefaultSettings())
	if err != nil {
		t.Fatal(err)
	}
	n := &night{record: &replay.Record{Run: replay.Run{ID: "run-1", Plan: replay.Plan{
		Command: "nightly", Fixtures: len(outcomes), Analysis: settings,
		Lineage: replay.Lineage{SetName: "test", SetVersion: "1", SetHash: "00", AgentModel: "m", Vocabulary: "v", VocabularyOwn: true},
		Arms: []replay.ArmInfo{
			{Name: "reference", Role: analysis.RoleReference, Kind: replay.ReferenceArm},
			{Name: "old", Role: analysis.RoleIncumbent, Kind: replay.CompactorArm},
			{Name: "new", Role: analysis.RoleCandidate, Kind: replay.CompactorArm},
		},
	}}}}
	for i, letters := range outcomes {
		f := &fixtures.Fixture{ConversationID: fmt.Sprintf("f%02d", i), Checks: []fixtures.Check{{ID: "k1", Final: "text == 'ok'"}}}
		f.Hash = fixtures.HashBytes([]byte(f.ConversationID))
		n.record.Fixtures = append(n.record.Fixtures, f)
		for a, arm := range n.record.Run.Plan.Arms {
			n.record.Episodes = append(n.record.Episodes, n.episode(f, arm, letters[a]))
		}
	}
	return n
}

func (n *night) episode(f *fixtures.Fixture, arm replay.ArmInfo, letter byte) *replay.Episode {
	e := &replay.Episode{
		Key: replay.Key{Fixture: f.Hash, Arm: arm.Name}, ConversationID: f.ConversationID, Status: replay.Played, PrefixHash: "p", Fork: 2,
		Steps:     []replay.Step{{Kind: replay.StepText, Turn: 3, Text: "ok"}},
		Exchanges: []replay.Exchange{{For: "agent", Key: fixtures.HashBytes([]byte(f.ConversationID + arm.Name)), Usage: replay.Usage{PromptTokens: 100, CompletionTokens: 10}}},
	}
	if arm.Kind == replay.CompactorArm {
		e.Compactions = []replay.CompactionRecord{{AfterTurn: 2, Status: replay.Compacted, TokensBefore: 1000, TokensAfter: 300}}
	}
	switch letter {
	case 'f':
		e.Steps[0].Text = "no"
	case 'u':
		e.Status, e.Reason, e.Steps = replay.Faulted, "the provider answered 500", nil
	case 'v':
		e.Status, e.Reason, e.Steps = replay.Void, "0 of 1 expected compactions ran", nil
		e.Compactions[0].Status, e.Compactions[0].Reason = replay.Unchanged, "nothing to do"
	case 't':
		e.Status = replay.Accepted
	case 'l':
		e.Status, e.Reason, e.Steps = replay.LeftOut, "the prefix has 9 tokens", nil
	}
	return e
}

// items adds decisions of a class: total of them on fixture 0, of which the first
// absent ones are absent under an arm and the next contradicted ones contradicted.
func (n *night) items(class fixtures.Class, arm string, total, absent, contradicted int) {
	f := n.record.Fixtures[0]
	for i := range total {
		id := fmt.Sprintf("%s%03d", class, i)
		if f.Item(id) == nil {
			f.MustSurvive = append(f.MustSurvive, fixtures.Item{ID: id, Class: class, Turn: 1, Literal: "literal of " + id})
		}
		verdict := replay.Supported
		switch {
		case i < absent:
			verdict = replay.Absent
		case i < absent+contradicted:
			verdict = replay.Contradicted
		}
		n.record.Judgements = append(n.record.Judgements, &replay.Judgement{
			Key: replay.Key{Fixture: f.Hash, Arm: arm}, ConversationID: f.ConversationID, AfterTurn: 2, Item: id, Class: class, Verdict: verdict,
		})
	}
}

func (n *night) analyse(t *testing.T) *analysis.Report {
	t.Helper()
	found, err := analysis.Analyse(n.record)
	if err != nil {
		t.Fatal(err)
	}
	return found.Report
}

func repeat(letters string, n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = letters
	}
	return out
}

func TestVerdict(t *testing.T) {
	tests := []struct {
		name     string
		outcomes []string
		want     analysis.Verdict
		why      string
	}{
		{"nothing differs in too few pairs", repeat("ppp", 12), analysis.Inconclusive, "12 pairs do not show"},
		{"nothing differs in many pairs", repeat("ppp", 80), analysis.Clear, "nothing blocks"},
		{"six losses and no gain", append(repeat("ppf", 6), repeat("ppp", 5)...), analysis.Regressed, "losses 6, gains 0"},
		{"five losses can't reach the level where two tests could block", append(repeat("ppf", 5), repeat("ppp", 5)...), analysis.Inconclusive, "5 losses wait in the queue"},
		{"four losses can't reach the level", append(repeat("ppf", 4), repeat("ppp", 20)...), analysis.Inconclusive, ""},
		{"three catastrophes in 200 are not clear by the aggregate alone", append(repeat("ppf", 3), repeat("ppp", 197)...), analysis.Inconclusive, "3 losses wait in the queue"},
		{"the incumbent is as bad", append(repeat("pff", 6), repeat("ppp", 6)...), analysis.Inconclusive, ""},
		{"gains and losses even out", append(repeat("ppf", 6), repeat("pfp", 6)...), analysis.Inconclusive, ""},
		{"too much unscored", append(repeat("ppu", 3), repeat("ppp", 9)...), analysis.Incomplete, "3 of 12 pairs"},
		{"too much void", append(repeat("ppv", 3), repeat("ppp", 9)...), analysis.Incomplete, "3 of 12 pairs"},
		{"a little unscored", append(repeat("ppu", 1), repeat("ppp", 79)...), analysis.Clear, ""},
		{"a loss against an accepted trace, not played again", append([]string{"tpf"}, repeat("ppp", 11)...), analysis.Inconclusive, "accepted traces: 1 failure unconfirmed"},
		{"left out by name", append(repeat("lpp", 6), repeat("ppp", 6)...), analysis.Inconclusive, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := newNight(t, tt.outcomes...).analyse(t)
			if r.Verdict != tt.want || !strings.Contains(strings.Join(r.Why, "\n"), tt.why) {
				t.Errorf("%s, because %q; want %s, because ...%s", r.Verdict, r.Why, tt.want, tt.why)
			}
		})
	}
}

func gate(t *testing.T, r *analysis.Report, name string) analysis.Gate {
	t.Helper()
	i := slices.IndexFunc(r.Gates, func(g analysis.Gate) bool { return g.Name == name })
	if i < 0 {
		t.Fatalf("no gate %s", name)
	}
	return r.Gates[i]
}

// TestNotRecorded has a candidate that answers with what was recorded, and recordings
// that do not hold it: nothing is said of the pair, and nothing against the candidate.
func TestNotRecorded(t *testing.T) {
	for _, refused := range []bool{false, true} {
		n := newNight(t, append(repeat("ppv", 1), repeat("ppp", 79)...)...)
		for _, e := range n.record.Episodes {
			if e.Status == replay.Void {
				e.Compactions[0].Status, e.Compactions[0].NotRecorded = replay.Refused, !refused
			}
		}
		r := n.analyse(t)
		g := gate(t, r, "failed compactions")
		counts := r.Compactions["new"]
		if refused {
			if g.Status != analysis.GateRegressed || counts.Refused != 1 || counts.NotRecorded != 0 {
				t.Errorf("a refusal of the compactor's: %+v, %+v", g, counts)
			}
			continue
		}
		if g.Status != analysis.GatePass || counts.Refused != 0 || counts.NotRecorded != 1 || len(counts.Findings) != 1 {
			t.Errorf("nothing recorded: %+v, %+v", g, counts)
		}
		if r.Verdict != analysis.Clear || r.Pairs.Void != 1 {
			t.Errorf("%s, %d void pairs: %q", r.Verdict, r.Pairs.Void, r.Why)
		}
	}
}

// TestCommonReason: what kept most pairs from an outcome is said without its place, and
// says what happened: that a compaction did not run, not that it ran.
func TestCommonReason(t *testing.T) {
	for _, tt := range []struct {
		letter string
		status replay.CompactionStatus
		reason string // of the compaction, or of the episode
		want   string
	}{
		{"v", replay.Failed, "the compactor ended with exit status 1", "new: an expected compaction did not run: error (the compactor ended with exit status 1)"},
		{"v", replay.Unchanged, "", "new: an expected compaction did not run: unchanged"},
		{"v", replay.Compacted, "", "new: 0 of 1 expected compactions ran"},
		{"u", replay.Compacted, "after turn 2: asking model m: it is overloaded", "asking model m: it is overloaded"},
		{"u", replay.Compacted, "check k1: step 2 had no recorded result: send {}", "a call had no recorded result: send {}"},
	} {
		n := newNight(t, append(repeat("pp"+tt.letter, 3), repeat("ppp", 9)...)...)
		turn := 3
		for _, e := range n.record.Episodes {
			switch e.Status {
			case replay.Void:
				turn++ // the places differ
				e.Compactions[0].AfterTurn, e.Compactions[0].Status, e.Compactions[0].Reason = turn, tt.status, tt.reason
			case replay.Faulted:
				e.Reason = tt.reason
			}
		}
		if why := n.analyse(t).Why; !slices.Contains(why, "most often because of: "+tt.want) {
			t.Errorf("%s %s %q: because %q, want %q", tt.letter, tt.status, tt.reason, why, tt.want)
		}
	}
}

// TestBacklogDoesNotBlock is a system that is not yet compliant, and a change that
// makes it no worse; then the same with a change that does.
func TestBacklogDoesNotBlock(t *testing.T) {
	incumbent := func(n *night, arm string) {
		n.items(fixtures.Constraint, arm, 80, 9-2, 2) // 71 of 80 retained, 2 contradicted
		n.items(fixtures.OpenQuestion, arm, 51, 7, 0) // 44 of 51
		n.items(fixtures.Commitment, arm, 103, 7, 0)  // 96 of 103
		n.items(fixtures.Reference, arm, 61, 3, 0)    // 58 of 61
	}
	n := newNight(t, repeat("ppp", 12)...)
	incumbent(n, "old")
	incumbent(n, "new")
	r := n.analyse(t)
	if r.Verdict == analysis.Regressed {
		t.Errorf("a change that worsens nothing is blocked: %q", r.Why)
	}
	for _, name := range []string{"constraint", "commitment", "open_question", "reference", "contradictions"} {
		if g := gate(t, r, name); g.Status != analysis.GateBacklog {
			t.Errorf("%s: %s (%s), want BACKLOG", name, g.Status, g.Reason)
		}
	}

	n = newNight(t, repeat("ppp", 12)...)
	incumbent(n, "old")
	n.items(fixtures.Constraint, "new", 80, 9-3, 3)  // one more turned around
	n.items(fixtures.OpenQuestion, "new", 51, 12, 0) // 39 of 51: five more lost
	n.items(fixtures.Commitment, "new", 103, 7, 0)
	n.items(fixtures.Reference, "new", 61, 3, 0)
	r = n.analyse(t)
	if r.Verdict != analysis.Regressed {
		t.Fatalf("verdict %s, want regressed", r.Verdict)
	}
	var blocking []string
	for _, g := range r.Gates {
		if g.Status == analysis.GateRegressed {
			blocking = append(blocking, g.Name)
		}
	}
	if want := []string{"contradictions", "open_question"}; !slices.Equal(blocking, want) {
		t.Errorf("blocked by %v, want %v", blocking, want)
	}
	if g := gate(t, r, "open_question"); len(g.NewlyLost) != 5 || !strings.Contains(g.NewlyLost[0], "literal of open_question007") {
		t.Errorf("newly lost %q, want the five items by name", g.NewlyLost)
	}
	if g := gate(t, r, "contradictions"); len(g.NewlyLost) != 1 {
		t.Errorf("newly contradicted %q, want one", g.NewlyLost)
	}
}

// TestNoBudgetCoversContradictions: absences have a floor, contradictions none.
func TestNoBudgetCoversContradictions(t *testing.T) {
	n := newNight(t, repeat("ppp", 12)...)
	settings := analysis.DefaultSettings()
	settings.Floors[fixtures.Constraint] = 0
	settings.Contradictions = 5
	data, err := json.Marshal(settings)
	if err != nil {
		t.Fatal(err)
	}
	n.record.Run.Plan.Analysis = data
	n.items(fixtures.Constraint, "old", 10, 0, 0)
	n.items(fixtures.Constraint, "new", 10, 3, 0)
	if r := n.analyse(t); r.Verdict == analysis.Regressed || r.Items[fixtures.Constraint].Absent != 3 || r.Contradictions != 0 {
		t.Errorf("absences within their budget: %s, %+v", r.Verdict, r.Items[fixtures.Constraint])
	}
	n.record.Judgements = nil
	n.items(fixtures.Constraint, "old", 10, 0, 0)
	n.items(fixtures.Constraint, "new", 10, 0, 1)
	if r := n.analyse(t); r.Verdict != analysis.Regressed || r.Contradictions != 1 {
		t.Errorf("a new contradiction: %s, %d contradictions; want regressed", r.Verdict, r.Contradictions)
	}
}

func TestUsageCountsEachAnswerOnce(t *testing.T) {
	n := newNight(t, "ppp", "ppp")
	shared := n.record.Episodes[1].Exchanges[0]
	n.record.Episodes[2].Exchanges = append(n.record.Episodes[2].Exchanges, shared)
	n.record.Episodes[0].Exchanges[0].Stored = true
	r := n.analyse(t)
	if r.Usage.Requests != 5 || r.Usage.Cached != 1 || r.Usage.PromptTokens != 500 {
		t.Errorf("usage %+v, want 5 requests, 1 cached, 500 prompt tokens", r.Usage)
	}
}

// TestReports holds the printed reports to golden files, hostile text included.
func TestReports(t *testing.T) {
	n := newNight(t, append([]string{"ppf", "fpp", "tpf", "ppu", "ppv", "lpp"}, repeat("ppp", 6)...)...)
	n.record.Fixtures[0].Title = "a \x1b[31mred\x1b[0m title | with <script>alert(1)</script> and \u202eturned text"
	n.items(fixtures.Constraint, "old", 4, 0, 0)
	n.items(fixtures.Constraint, "new", 4, 1, 1)
	n.items(fixtures.Reference, "old", 3, 0, 0)
	n.items(fixtures.Reference, "new", 3, 0, 0)
	found, err := analysis.Analyse(n.record)
	if err != nil {
		t.Fatal(err)
	}
	for name, write := range map[string]func(*bytes.Buffer) error{
		"report.txt":  func(b *bytes.Buffer) error { return report.Text(b, found.Report, report.Style{}) },
		"report.md":   func(b *bytes.Buffer) error { return report.Markdown(b, found.Report) },
		"report.json": func(b *bytes.Buffer) error { return report.JSON(b, found.Report) },
	} {
		t.Run(name, func(t *testing.T) {
			var got, again bytes.Buffer
			if err := write(&got); err != nil {
				t.Fatal(err)
			}
			if err := write(&again); err != nil || !bytes.Equal(got.Bytes(), again.Bytes()) {
				t.Errorf("a second time it is different (%v)", err)
			}
			if name != "report.json" && bytes.ContainsAny(got.Bytes(), "\x1b\u202e") {
				t.Error("control characters of a recording reach the report")
			}
			if name == "report.md" && bytes.Contains(got.Bytes(), []byte("<script")) {
				t.Error("HTML of a recording reaches the report")
			}
			path := filepath.Join("testdata", name)
			if *update {
				if err := os.MkdirAll("testdata", 0o755); err != nil {
					t.Fatal(err)
				}
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
		})
	}
}

// TestPairsAreApartByReference: accepted traces are counted, and no part of the test.
func TestPairsAreApartByReference(t *testing.T) {
	r := newNight(t, append([]string{"tpf", "tpf", "ppf"}, repeat("ppp", 3)...)...).analyse(t)
	if r.Pairs.Losses != 3 || r.Test.Losses != 1 || r.Test.Pairs != 4 {
		t.Errorf("losses %d in all, %d of %d in the test; want 3, 1 of 4", r.Pairs.Losses, r.Test.Losses, r.Test.Pairs)
	}
	if accepted := r.Pairs.ByReference[pairing.Accepted]; accepted.Losses != 2 || accepted.Total != 2 {
		t.Errorf("accepted %+v, want 2 losses of 2", accepted)
	}
}

// TestJudgeThatFailsItsControls: none of its verdicts counts, and the run says nothing.
func TestJudgeThatFailsItsControls(t *testing.T) {
	n := newNight(t, repeat("ppp", 80)...)
	n.items(fixtures.Constraint, "old", 10, 0, 0)
	n.items(fixtures.Constraint, "new", 10, 0, 0)
	lineage := &n.record.Run.Plan.Lineage
	lineage.JudgeModel = "parrot"
	for _, j := range n.record.Judgements {
		j.Judge = lineage.Judge()
	}
	n.record.Judgements[len(n.record.Judgements)-1].Verdict = replay.Verbatim // that it found nothing wrong around a literal is its word, too
	for _, kind := range replay.ControlKinds() {
		right := kind == replay.PlantedPresent // it says supported, whatever it is asked
		n.record.Controls = append(n.record.Controls, &replay.Control{
			ID: string(kind), Kind: kind, Judge: lineage.Judge(), Verdict: replay.Supported, Right: right, Expect: replay.Absent,
		})
	}
	r := n.analyse(t)
	c := r.Items[fixtures.Constraint]
	if r.Verdict != analysis.Incomplete || c.Supported != 0 || c.Unscored != 10 || r.Judge.Trusted {
		t.Errorf("%s, %+v; want incomplete and all ten unscored", r.Verdict, c)
	}
	if r.Metrics.FalsehoodRejection == nil || *r.Metrics.FalsehoodRejection != 0 {
		t.Errorf("falsehood_rejection %v, want 0", r.Metrics.FalsehoodRejection)
	}
	for _, c := range n.record.Controls {
		c.Right, c.Verdict = true, c.Expect
	}
	if r := n.analyse(t); r.Verdict != analysis.Clear || r.Items[fixtures.Constraint].Retained() != 10 {
		t.Errorf("with all controls right: %s, %+v; want clear", r.Verdict, r.Items[fixtures.Constraint])
	}
}

// TestAbsentAndContradictedAreDifferentRows: dropping an item and turning it around.
func TestAbsentAndContradictedAreDifferentRows(t *testing.T) {
	for _, tt := range []struct {
		absent, contradicted int
		blocking             []string
	}{
		{1, 0, []string{"constraint"}},
		{0, 1, []string{"contradictions", "constraint"}},
	} {
		n := newNight(t, repeat("ppp", 80)...)
		n.items(fixtures.Constraint, "old", 10, 0, 0)
		n.items(fixtures.Constraint, "new", 10, tt.absent, tt.contradicted)
		r := n.analyse(t)
		var blocking []string
		for _, g := range r.Gates {
			if g.Status == analysis.GateRegressed {
				blocking = append(blocking, g.Name)
			}
		}
		if !slices.Equal(blocking, tt.blocking) {
			t.Errorf("%d absent, %d contradicted: blocked by %v, want %v", tt.absent, tt.contradicted, blocking, tt.blocking)
		}
		if m := r.Moved[fixtures.Constraint]; m.KeptLost != 1 || m.LostKept != 0 || m.PWorse == nil || *m.PWorse != 0.5 {
			t.Errorf("moved %+v, want one kept and lost, p 0.5 in one group", m)
		}
	}
}

func TestPinsAndStaleItems(t *testing.T) {
	n := newNight(t, repeat("ppp", 80)...)
	n.items(fixtures.Constraint, "old", 3, 0, 0)
	n.items(fixtures.Constraint, "new", 3, 0, 0)
	f := n.record.Fixtures[0]
	f.MustSurvive[0].Pinned = true // supported by a paraphrase under both
	f.MustSurvive[2].Status = fixtures.Completed
	for _, j := range n.record.Judgements {
		switch {
		case j.Arm == "old" && j.Item == "constraint000":
			j.Verdict = replay.Verbatim
		case j.Item == "constraint002":
			j.Verdict = replay.Retired
			if j.Arm == "new" {
				j.Verdict = replay.Stale
			}
		}
	}
	r := n.analyse(t)
	if len(r.Pins) != 1 || !strings.Contains(r.Pins[0], "constraint000") {
		t.Errorf("broken pins %q, want constraint000", r.Pins)
	}
	for _, name := range []string{"broken pins", "stale items"} {
		if g := gate(t, r, name); g.Status != analysis.GateRegressed || len(g.NewlyLost) != 1 {
			t.Errorf("%s: %s, newly %q", name, g.Status, g.NewlyLost)
		}
	}
	if c := r.Items[fixtures.Constraint]; c.Total != 2 || c.Stale != 1 || c.Absent != 0 || c.Contradicted != 0 {
		t.Errorf("%+v, want two in force and one stale, apart", c)
	}
}

func TestRetention(t *testing.T) {
	n := newNight(t, "ppp")
	f := n.record.Fixtures[0]
	e := n.record.Episodes[2]
	e.Compactions = []replay.CompactionRecord{
		{Index: 0, AfterTurn: 10, Status: replay.Compacted, TokensBefore: 10, TokensAfter: 5},
		{Index: 1, AfterTurn: 70, Status: replay.Compacted, TokensBefore: 10, TokensAfter: 5},
	}
	f.MustSurvive = []fixtures.Item{{ID: "c1", Class: fixtures.Constraint, Turn: 8}}
	for i, v := range []replay.Verdict{replay.Verbatim, replay.Absent} {
		n.record.Judgements = append(n.record.Judgements, &replay.Judgement{Key: e.Key, Compaction: i, AfterTurn: e.Compactions[i].AfterTurn, Item: "c1", Class: fixtures.Constraint, Verdict: v})
	}
	got := n.analyse(t).Retention["new"]
	if k := got.ByAge[0]; k.Kept != 1 || k.Scored != 1 {
		t.Errorf("young %+v, want 1 of 1", k)
	}
	if k := got.ByAge[len(got.ByAge)-1]; k.Kept != 0 || k.Scored != 1 {
		t.Errorf("old %+v, want 0 of 1", k)
	}
	if len(got.ByGeneration) != 2 || got.ByGeneration[0].Kept != 1 || got.ByGeneration[1].Kept != 0 {
		t.Errorf("by generation %+v", got.ByGeneration)
	}
}

// TestBaselineArmsOnlyWithinItsLineage names the part that differs, and gates nothing.
func TestBaselineArmsOnlyWithinItsLineage(t *testing.T) {
	make := func(lost int, change func(*replay.Plan)) *analysis.Night {
		n := newNight(t, repeat("ppp", 80)...)
		n.items(fixtures.Constraint, "old", 40, 0, 0)
		n.items(fixtures.Constraint, "new", 40, lost, 0)
		change(&n.record.Run.Plan)
		found, err := analysis.Analyse(n.record)
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	same := func(*replay.Plan) {}
	base := make(1, same)
	if b := make(1, same).Against(base); len(b.Differences) != 0 || len(b.Gates) == 0 || regressed(b) != 0 {
		t.Errorf("the same night: %+v", b)
	}
	if b := make(5, same).Against(base); regressed(b) != 2 { // the class and the recall
		t.Errorf("four items more lost: %d rows regressed of %+v", regressed(b), b.Gates)
	}
	b := make(5, func(p *replay.Plan) { p.Lineage.JudgeModel = "another" }).Against(base)
	if len(b.Gates) != 0 || len(b.Differences) != 1 || !strings.Contains(b.Differences[0], "judge model") {
		t.Errorf("another judge: %+v, want no row and the difference by name", b)
	}
	for name, change := range map[string]func(*replay.Plan){
		"set version":  func(p *replay.Plan) { p.Lineage.SetVersion = "2" },
		"set hash":     func(p *replay.Plan) { p.Lineage.SetHash = "11" },
		"agent model":  func(p *replay.Plan) { p.Lineage.AgentModel = "x" },
		"judge prompt": func(p *replay.Plan) { p.Lineage.JudgePrompt = "x" },
		"seed":         func(p *replay.Plan) { p.Lineage.Seed = 99 },
		"window":       func(p *replay.Plan) { p.Settings.Window = 99 },
	} {
		if b := make(1, change).Against(base); len(b.Gates) != 0 || len(b.Differences) == 0 || !strings.HasPrefix(b.Differences[0], name) {
			t.Errorf("another %s: %+v", name, b)
		}
	}
}

func regressed(b analysis.Baseline) int {
	n := 0
	for _, g := range b.Gates {
		if g.Status == analysis.GateRegressed {
			n++
		}
	}
	return n
}

// TestMissingJudgementsAreUnscored: a decision without a verdict is no decision less.
func TestMissingJudgementsAreUnscored(t *testing.T) {
	n := newNight(t, repeat("ppp", 80)...)
	n.items(fixtures.Constraint, "old", 10, 0, 0)
	n.items(fixtures.Constraint, "new", 10, 3, 1)
	n.record.Judgements = nil
	r := n.analyse(t)
	if c := r.Items[fixtures.Constraint]; c.Total != 10 || c.Unscored != 10 || r.Verdict != analysis.Incomplete {
		t.Errorf("%s, %+v; want incomplete, ten of ten unscored", r.Verdict, c)
	}
}
