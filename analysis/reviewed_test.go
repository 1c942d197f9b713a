package analysis_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/doubletake-dev/doubletake/analysis"
	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/pairing"
	"github.com/doubletake-dev/doubletake/replay"
)

// rule gives verdicts on a night's queue: pair and ruling, one after the other.
func (n *night) rule(t *testing.T, by string, rulings ...string) []pairing.Verdict {
	t.Helper()
	var list []pairing.Verdict
	for i := 0; i < len(rulings); i += 2 {
		list = append(list, pairing.Verdict{By: by, Pair: rulings[i], Ruling: pairing.Ruling(rulings[i+1])})
	}
	return n.ruleOn(t, list...)
}

func (n *night) ruleOn(t *testing.T, list ...pairing.Verdict) []pairing.Verdict {
	t.Helper()
	found, err := analysis.Analyse(n.record)
	if err != nil {
		t.Fatal(err)
	}
	review, err := pairing.OpenReview(t.TempDir(), n.record, found.Queue, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	defer review.Close()
	for _, v := range list {
		if _, err := review.Decide(v); err != nil {
			t.Fatal(err)
		}
	}
	return review.Verdicts
}

func TestReviewStandsBesideWhatWasFound(t *testing.T) {
	// f00 to f06 are losses, f07 and f08 gains.
	n := newNight(t, append(append(repeat("ppf", 7), repeat("ffp", 2)...), repeat("ppp", 91)...)...)
	before := n.analyse(t)
	verdicts := n.rule(t, "a",
		"f00", "check_wrong", "f01", "both_fine", "f02", "fixture_wrong", "f03", "both_wrong", "f04", "candidate_better", "f05", "candidate_worse", "f07", "candidate_better")
	found, err := analysis.AnalyseWith(n.record, analysis.Options{Verdicts: verdicts})
	if err != nil {
		t.Fatal(err)
	}
	r := found.Report
	if r.Test.Losses != 7 || r.Test.Gains != 2 || r.Verdict != before.Verdict {
		t.Errorf("what was found without review was changed: %+v", r.Test)
	}
	v := r.Reviewed
	if v.Queue != 9 || v.Decided != 7 || v.Undecided != 2 || len(v.Changes) != 5 {
		t.Errorf("%+v", v)
	}
	// Losses: f05 as ruled, f06 undecided. Gains: f04 as ruled, f07 as ruled, f08 undecided.
	if x := v.AsWere; x.Test.Losses != 2 || x.Test.Gains != 3 || x.Pairs.Total != 99 || x.Pairs.BothPass != 93 || x.Pairs.BothFail != 1 {
		t.Errorf("as they were: %+v, %+v", x.Test, x.Pairs)
	}
	// At worst the undecided gain f08 is a loss, and the undecided loss f06 stays.
	if x := v.AtWorst; x.Test.Losses != 3 || x.Test.Gains != 2 || x.Pairs.BothFail != 1 {
		t.Errorf("at worst: %+v, %+v", x.Test, x.Pairs)
	}
}

// A loss that blocks by a row of its own stops blocking when a person lets it pass, and
// the comparison with the incumbent follows.
func TestReviewLiftsWhatAPersonLetsPass(t *testing.T) {
	n := newNight(t, append(repeat("ppf", 8), repeat("ppp", 100)...)...)
	n.record.Fixtures[0].MustPass = true
	n.again(0, 1, "ppf")
	n.again(0, 2, "ppf")
	if r := n.analyse(t); r.Verdict != analysis.Regressed {
		t.Fatalf("%s", r.Verdict)
	}
	var rulings []string
	for _, pair := range []string{"f00", "f01", "f02", "f03", "f04", "f05", "f06", "f07"} {
		rulings = append(rulings, pair, "both_fine")
	}
	found, err := analysis.AnalyseWith(n.record, analysis.Options{Verdicts: n.rule(t, "a", rulings...)})
	if err != nil {
		t.Fatal(err)
	}
	if x := found.Report.Reviewed.AtWorst; x.Verdict != analysis.Clear {
		t.Errorf("%s, because %q", x.Verdict, x.Why)
	}
}

// A check that is wrong leaves the others in force: a pair that fails another one stays a
// loss, and its critical row, too.
func TestOneWrongCheckDoesNotClearTheOthers(t *testing.T) {
	n := newNight(t, append(repeat("ppf", 1), repeat("ppp", 60)...)...)
	f := n.record.Fixtures[0]
	f.MustPass = true
	f.Checks = append(f.Checks, fixtures.Check{ID: "k2", Final: "text startsWith 'o'"})
	n.again(0, 1, "ppf")
	verdicts := n.ruleOn(t, pairing.Verdict{By: "a", Pair: "f00", Ruling: pairing.CheckWrong, Checks: []string{"k1"}})
	found, err := analysis.AnalyseWith(n.record, analysis.Options{Verdicts: verdicts})
	if err != nil {
		t.Fatal(err)
	}
	if x := found.Report.Reviewed.AtWorst; x.Pairs.Losses != 1 || x.Verdict != analysis.Regressed {
		t.Errorf("%s, %+v: k2 still fails", x.Verdict, x.Pairs)
	}
}

func TestNoVerdictNoReview(t *testing.T) {
	if r := newNight(t, "ppf", "ppp").analyse(t); r.Reviewed != nil {
		t.Errorf("%+v", r.Reviewed)
	}
}

// playedTimes gives a night of two checks that plays each fixture so often as planned: the
// letters of reference and candidate for every play, p passes, a fails both checks, b the
// first and c the second one.
func playedTimes(t testing.TB, replicates int, plays ...[]string) *night {
	t.Helper()
	settings, err := json.Marshal(analysis.DefaultSettings())
	if err != nil {
		t.Fatal(err)
	}
	n := &night{record: &replay.Record{Run: replay.Run{ID: "run-1", Plan: replay.Plan{
		Command: "nightly", Fixtures: len(plays), Replicates: replicates, Analysis: settings,
		Lineage: replay.Lineage{SetName: "test", SetVersion: "1", SetHash: "00", AgentModel: "m", Vocabulary: "v", VocabularyOwn: true},
		Arms: []replay.ArmInfo{
			{Name: "reference", Role: analysis.RoleReference, Kind: replay.ReferenceArm},
			{Name: "new", Role: analysis.RoleCandidate, Kind: replay.CompactorArm},
		},
	}}}}
	says := map[byte]string{'p': "one two", 'a': "nil", 'b': "two", 'c': "one"}
	for i, list := range plays {
		f := &fixtures.Fixture{ConversationID: fmt.Sprintf("f%02d", i), Checks: []fixtures.Check{{ID: "k1", Final: "text contains 'one'"}, {ID: "k2", Final: "text contains 'two'"}}}
		f.Hash = fixtures.HashBytes([]byte(f.ConversationID))
		n.record.Fixtures = append(n.record.Fixtures, f)
		for k, letters := range list {
			for a, arm := range n.record.Run.Plan.Arms {
				e := n.episode(f, arm, 'p')
				e.Replicate, e.Steps[0].Text = k, says[letters[a]]
				n.record.Episodes = append(n.record.Episodes, e)
			}
		}
	}
	return n
}

// reviewedWith is what verdicts make of a night.
func (n *night) reviewedWith(t *testing.T, verdicts ...pairing.Verdict) *analysis.Reviewed {
	t.Helper()
	found, err := analysis.AnalyseWith(n.record, analysis.Options{Verdicts: n.ruleOn(t, verdicts...)})
	if err != nil {
		t.Fatal(err)
	}
	return found.Report.Reviewed
}

// A ruling on what the sides did is one on the play in the queue and on no other; that a
// check or the fixture is wrong holds for all. Every play that moves is named.
func TestARulingOnOneOfSeveralPlays(t *testing.T) {
	// The first play of f00 fails on both sides, the second is the loss in the queue, the
	// third a gain.
	plays := append([][]string{{"aa", "pa", "ap"}}, slices.Repeat([][]string{{"pp", "pp", "pp"}}, 20)...)
	for _, tt := range []struct {
		name   string
		ruling pairing.Ruling
		checks []string
		want   string
	}{
		{"as it is already", pairing.CandidateWorse, nil, ""},
		{"the other way round", pairing.CandidateBetter, nil, "f00.1 loss->gain"},
		{"both fine", pairing.BothFine, nil, "f00.1 loss->both_pass"},
		{"the fixture is wrong", pairing.FixtureWrong, nil, "f00 both_fail->excluded, f00.1 loss->excluded, f00.2 gain->excluded"},
		{"every check is wrong", pairing.CheckWrong, nil, "f00 both_fail->both_pass, f00.1 loss->both_pass, f00.2 gain->both_pass"},
		{"one of two checks is wrong", pairing.CheckWrong, []string{"k1"}, "stays f00.1 loss, stays f00.2 gain"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := playedTimes(t, 3, plays...).reviewedWith(t, pairing.Verdict{By: "a", Pair: "f00.1", Ruling: tt.ruling, Checks: tt.checks})
			var got []string
			for _, c := range r.Changes {
				got = append(got, fmt.Sprintf("%s %s->%s", c.Pair, c.From, c.To))
			}
			for _, u := range r.Unmoved {
				got = append(got, fmt.Sprintf("stays %s %s", u.Pair, u.Cell))
			}
			if text := strings.Join(got, ", "); text != tt.want {
				t.Errorf("%s, want %s", text, tt.want)
			}
		})
	}
}

// However the pairs that are not decided will be ruled, it is no worse than at worst.
func TestAtWorstIsTheWorst(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		replicates := rapid.IntRange(1, 3).Draw(rt, "replicates")
		letters := rapid.SampledFrom([]string{"pp", "pa", "pb", "pc", "ap", "bp", "cp", "ab", "ba", "bc", "cb", "aa", "bb"})
		plays := rapid.SliceOfN(rapid.SliceOfN(letters, replicates, replicates), 1, 7).Draw(rt, "plays")
		n := playedTimes(t, replicates, plays...)
		for i, f := range n.record.Fixtures {
			f.Group = fmt.Sprint("s", rapid.IntRange(0, i).Draw(rt, "session"))
		}
		found, err := analysis.Analyse(n.record)
		if err != nil {
			rt.Fatal(err)
		}
		if len(found.Queue) == 0 {
			return
		}
		draw := func(e *pairing.Entry) pairing.Verdict {
			v := pairing.Verdict{By: "a", Pair: e.ID, Ruling: rapid.SampledFrom(pairing.Rulings()).Draw(rt, "ruling")}
			if v.Ruling == pairing.CheckWrong && len(e.Differ) > 1 && rapid.Bool().Draw(rt, "one") {
				v.Checks = []string{rapid.SampledFrom(e.Differ).Draw(rt, "check").Check}
			}
			return v
		}
		at := rapid.IntRange(0, len(found.Queue)-1).Draw(rt, "first decided")
		now := []pairing.Verdict{draw(&found.Queue[at])}
		var later []pairing.Verdict
		for i := range found.Queue {
			if i != at && rapid.IntRange(0, 3).Draw(rt, "decided") > 0 {
				later = append(later, draw(&found.Queue[i]))
			}
		}
		worst := n.reviewedWith(t, now...).AtWorst
		after := n.reviewedWith(t, append(now, later...)...)
		for _, x := range []analysis.Outcome{after.AsWere, after.AtWorst} {
			const rounding = 1e-12
			if x.Test.Losses > worst.Test.Losses || x.Test.Gains < worst.Test.Gains ||
				x.Test.PCluster < worst.Test.PCluster-rounding || x.Test.PWorse < worst.Test.PWorse-rounding ||
				// Without discordant pairs the mid-p value is 1 by convention, and no bound.
				worst.Test.Losses+worst.Test.Gains > 0 && x.Test.PMidWorse < worst.Test.PMidWorse-rounding {
				rt.Fatalf("at worst %d losses, %d gains, p %g and %g; %+v make it %d, %d, %g and %g", worst.Test.Losses, worst.Test.Gains, worst.Test.PCluster, worst.Test.PWorse,
					later, x.Test.Losses, x.Test.Gains, x.Test.PCluster, x.Test.PWorse)
			}
		}
	})
}

// Who takes most of the set away is left with another set, and with no answer.
func TestTooManyExcluded(t *testing.T) {
	n := newNight(t, append(repeat("ppf", 12), repeat("ppp", 90)...)...)
	for _, tt := range []struct {
		fixtures int
		want     analysis.Verdict
	}{{10, analysis.Inconclusive}, {11, analysis.Incomplete}, {12, analysis.Incomplete}} {
		var rulings []string
		for i := range 12 {
			ruling := "fixture_wrong"
			if i >= tt.fixtures {
				ruling = "both_fine"
			}
			rulings = append(rulings, fmt.Sprintf("f%02d", i), ruling)
		}
		found, err := analysis.AnalyseWith(n.record, analysis.Options{Verdicts: n.rule(t, "a", rulings...)})
		if err != nil {
			t.Fatal(err)
		}
		x := found.Report.Reviewed.AtWorst
		if over := tt.fixtures > 10; x.Excluded != tt.fixtures || (x.Verdict == analysis.Incomplete) != over || strings.Contains(x.Why[0], "excluded") != over {
			t.Errorf("%d fixtures: %d excluded, %s because %q", tt.fixtures, x.Excluded, x.Verdict, x.Why)
		}
	}
}

// Further plays that cancel what the first ones showed are no fault of the run.
func TestPlaysThatCancel(t *testing.T) {
	n := playedTimes(t, 2, []string{"pa", "ap"}, []string{"ap", "pa"})
	for _, f := range n.record.Fixtures {
		f.Group = "s"
	}
	if r := n.analyse(t); r.Test.Losses != 1 || r.Test.Gains != 1 || r.Test.PCluster < 0.5 {
		t.Errorf("%+v", r.Test)
	}
}
