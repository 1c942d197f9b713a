package analysis_test

import (
	"bytes"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/doubletake-dev/doubletake/analysis"
	"github.com/doubletake-dev/doubletake/analysis/report"
	"github.com/doubletake-dev/doubletake/replay"
)

// rate adds a rating; no scores make it unscored. Scores are of accuracy and, where
// there are two, of continuity.
func (n *night) rate(fixture int, arm, probe string, kind replay.ProbeKind, rubric string, scores ...float64) *replay.Rating {
	r := &replay.Rating{
		Key:   replay.Key{Fixture: n.record.Fixtures[fixture].Hash, Arm: arm},
		Probe: replay.Probe{ID: probe, Kind: kind}, Status: replay.RatingUnscored, Reason: "the grader: down\x1b[31m <b>",
		Rubric: replay.RubricID{Version: rubric, SHA256: "0123456789abcdef"}, Agent: "m", Judge: "j",
		Exchanges: []replay.Exchange{{For: "rubric answer", Key: "same"}},
	}
	if len(scores) > 0 {
		overall := 0.0
		r.Status, r.Reason, r.Dimensions, r.Overall = replay.RatingScored, "", map[string]float64{}, &overall
		for i, s := range scores {
			r.Dimensions[[]string{"accuracy", "continuity"}[i]] = s
			overall += s / float64(len(scores))
		}
	}
	n.record.Ratings = append(n.record.Ratings, r)
	return r
}

func rated(t *testing.T) *night {
	n := newNight(t, "ppp", "ppp")
	n.rate(0, "old", "r1", replay.ProbeRecall, "1", 0, 0) // by an older rubric
	n.rate(0, "old", "r1", replay.ProbeRecall, "2", 5)
	n.rate(0, "old", "c1", replay.ProbeContinuation, "2", 4, 2)
	n.rate(0, "old", "d1", replay.ProbeDecision, "2", 1)
	n.rate(1, "old", "r1", replay.ProbeRecall, "2", 3)
	n.rate(0, "new", "r1", replay.ProbeRecall, "2", 2)
	n.rate(0, "new", "c1", replay.ProbeContinuation, "2", 4, 3)
	n.rate(1, "new", "r1", replay.ProbeRecall, "2")
	n.rate(1, "new", "r2", replay.ProbeRecall, "2", 5).Disagreement = "aggregate 4.00, by its scores 5.00"
	return n
}

func TestRubric(t *testing.T) {
	n := rated(t)
	found, err := analysis.Analyse(n.record)
	if err != nil {
		t.Fatal(err)
	}
	r := found.Report.Rubric
	if r == nil || !r.Advisory || r.Rubric.Version != "2" || r.Judge != "j" || len(r.Arms) != 2 {
		t.Fatalf("rubric %+v", r)
	}
	near := func(what string, got *float64, want float64) {
		t.Helper()
		if got == nil || math.Abs(*got-want) > 1e-12 {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	old, now := r.Arms["old"], r.Arms["new"]
	if old.Asked != 4 || old.Scored != 4 || now.Asked != 4 || now.Scored != 3 || now.Unscored != 1 || now.Kinds[replay.ProbeRecall].Unscored != 1 {
		t.Errorf("counts %+v and %+v", old, now)
	}
	// accuracy (5+4+1+3)/4, continuity 2; the dimensions weigh alike however often they
	// are asked for.
	near("old", old.Overall, (13.0/4+2)/2)
	near("old recall", old.Kinds[replay.ProbeRecall].Overall, 4)
	near("new", now.Overall, (11.0/3+3)/2)
	if k := now.Kinds[replay.ProbeArtifact]; k.Overall != nil || k.Reason != "no probe was asked" {
		t.Errorf("artifact %+v", k)
	}
	p := r.Paired
	if p == nil || p.Shared != 2 || p.OnlyIncumbent != 2 || p.OnlyCandidate != 1 || p.Better != 1 || p.Worse != 1 || p.Equal != 0 {
		t.Fatalf("paired %+v", p)
	}
	near("accuracy", ptr(p.Dimensions["accuracy"]), -1.5) // (2-5 + 4-4)/2
	near("continuity", ptr(p.Dimensions["continuity"]), 1)
	near("overall", &p.Overall, -0.25)
	if notes := strings.Join(r.Notes, "\n"); !strings.Contains(notes, "1 rating by another rubric left out") || !strings.Contains(notes, "in 1 rating the grader's own sums") || !strings.Contains(notes, "advisory") {
		t.Errorf("notes %s", notes)
	}
	if found.Report.Usage.Requests != 6+1 { // one answer, however many ratings it stands in
		t.Errorf("%d requests", found.Report.Usage.Requests)
	}
}

func ptr(v float64) *float64 { return &v }

// However the rubric comes out, verdict, gates and test are the same.
func TestNoGateLooksAtTheRubric(t *testing.T) {
	with, without := rated(t), newNight(t, "ppp", "ppp")
	a, err := analysis.Analyse(with.record)
	if err != nil {
		t.Fatal(err)
	}
	b, err := analysis.Analyse(without.record)
	if err != nil {
		t.Fatal(err)
	}
	if b.Report.Rubric != nil {
		t.Errorf("a rubric that was not asked for: %+v", b.Report.Rubric)
	}
	a.Report.Rubric, a.Report.Usage = b.Report.Rubric, b.Report.Usage
	if !reflect.DeepEqual(a.Report, b.Report) {
		t.Error("the rubric changes the rest of the report")
	}
}

func TestRubricWithoutPairs(t *testing.T) {
	n := newNight(t, "ppp")
	n.rate(0, "old", "r1", replay.ProbeRecall, "1", 3)
	n.rate(0, "new", "r2", replay.ProbeRecall, "1")
	found, err := analysis.Analyse(n.record)
	if err != nil {
		t.Fatal(err)
	}
	r := found.Report.Rubric
	if r.Paired != nil || r.PairedReason != "old and new share no scored probe" || r.Arms["new"].Overall != nil || r.Arms["new"].Reason != "no probe has a score" {
		t.Errorf("rubric %+v", r)
	}
}

func TestReportsOfTheRubric(t *testing.T) {
	found, err := analysis.Analyse(rated(t).record)
	if err != nil {
		t.Fatal(err)
	}
	var text, md, js bytes.Buffer
	for _, err := range []error{report.Text(&text, found.Report, report.Style{}), report.Markdown(&md, found.Report), report.JSON(&js, found.Report)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{"Rubric (advisory, no gate)", "new minus old", "-0.25", "over 2 probes that both were asked, new is better in 1, worse in 1"} {
		if !strings.Contains(text.String(), want) || !strings.Contains(md.String(), want) {
			t.Errorf("%q is missing:\n%s\n%s", want, text.String(), md.String())
		}
	}
	if strings.ContainsAny(text.String()+md.String(), "\x1b") || strings.Contains(md.String(), "<b>") {
		t.Error("what a provider said reaches the report raw")
	}
	gates, rubric, success := strings.Index(text.String(), "\nGates"), strings.Index(text.String(), "\nRubric"), strings.Index(text.String(), "\nTask success")
	if !(gates < rubric && rubric < success) {
		t.Errorf("gates at %d, rubric at %d, task success at %d", gates, rubric, success)
	}
	details, end := strings.Index(md.String(), "<details>"), strings.LastIndex(md.String(), "</details>")
	if at := strings.Index(md.String(), "Rubric (advisory"); at < details || at > end {
		t.Error("the rubric is not inside the details")
	}
	if !strings.Contains(js.String(), `"rubric": {`) {
		t.Error("report.json holds no rubric")
	}
}
