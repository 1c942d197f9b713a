package analysis_test

import (
	"testing"
	"time"

	"github.com/doubletake-dev/doubletake/analysis"
	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/pairing"
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
	// At worst the undecided gain f08 is none, and the undecided loss f06 stays.
	if x := v.AtWorst; x.Test.Losses != 2 || x.Test.Gains != 2 || x.Pairs.BothFail != 2 {
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
	verdicts := n.ruleOn(t, pairing.Verdict{By: "a", Pair: "f00", Ruling: pairing.CheckWrong, Check: "k1"})
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
