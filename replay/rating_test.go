package replay

import (
	"path/filepath"
	"testing"

	"github.com/doubletake-dev/doubletake/fixtures"
)

// Of the ratings in the journal those count that are of the run's models and of the
// contexts as they are now, one a probe and rubric; the rubric last used comes last.
func TestRatingsThatCount(t *testing.T) {
	key := Key{Fixture: "f", Arm: "a"}
	other := Key{Fixture: "f", Arm: "b"}
	one, two := RubricID{"1", "x"}, RubricID{"2", "y"}
	rating := func(key Key, probe string, rubric RubricID, status RatingStatus, change func(*Rating)) *Rating {
		r := &Rating{Key: key, Context: "c", Probe: Probe{ID: probe, Kind: ProbeRecall}, Status: status, Rubric: rubric, Agent: "agent", Judge: "judge"}
		if change != nil {
			change(r)
		}
		return r
	}
	journaled := []*Rating{
		rating(other, "p2", two, RatingScored, nil),
		rating(other, "p1", two, RatingUnscored, func(r *Rating) { r.Reason = "first" }),
		rating(key, "p1", two, RatingScored, func(r *Rating) { r.Response = "kept" }),
		rating(key, "p1", two, RatingScored, func(r *Rating) { r.Response = "too late" }),
		rating(key, "p1", one, RatingScored, nil),
		rating(key, "p3", two, RatingScored, func(r *Rating) { r.Context = "of an episode played again" }),
		rating(key, "p4", two, RatingScored, func(r *Rating) { r.Judge = "another" }),
		rating(key, "p5", two, RatingScored, func(r *Rating) { r.Agent = "another" }),
		rating(key, "p6", two, RatingScored, func(r *Rating) { r.Compaction = 1 }),
		rating(other, "p1", two, RatingScored, func(r *Rating) { r.Response = "scored at last" }),
	}
	dir := t.TempDir()
	journal, err := OpenJournal[*Rating](filepath.Join(dir, RatingsFile))
	if err != nil {
		t.Fatal(err)
	}
	if err := journal.Append(journaled...); err != nil {
		t.Fatal(err)
	}
	if err := journal.Close(); err != nil {
		t.Fatal(err)
	}
	r := &Record{Dir: dir}
	r.Run.Plan.Lineage = Lineage{AgentModel: "agent", JudgeModel: "judge"}
	for _, k := range []Key{key, other} {
		r.Episodes = append(r.Episodes, &Episode{Key: k, Compactions: []CompactionRecord{{After: fixtures.Hash("c")}}})
	}
	if err := r.readRatings(); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, x := range r.Ratings {
		got = append(got, x.Rubric.Version+" "+x.Arm+" "+x.Probe.ID+" "+x.Response)
	}
	want := []string{"1 a p1 ", "2 a p1 kept", "2 b p1 scored at last", "2 b p2 "}
	if len(got) != len(want) {
		t.Fatalf("ratings %q, want %q", got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("ratings %q, want %q", got, want)
		}
	}
}
