package pairing

import "testing"

// A verdict is taken back with the notes that were added to it, and what was ruled before
// stands again.
func TestUndoTakesNotesBackWithTheirVerdict(t *testing.T) {
	review := reviewIn(t, t.TempDir(), "a", "b")
	queue := review.Queue
	for _, v := range []Verdict{
		{Ruling: BothFine, Note: "first"},
		{Ruling: CandidateWorse},
		{Ruling: CandidateWorse, Note: "added"},
		{Ruling: CandidateWorse, Note: "added", Severity: Major},
	} {
		v.By, v.Pair = "maria", queue[0].ID
		decide(t, review, v)
	}
	undone, err := review.Undo("maria")
	if err != nil || undone.Ruling != CandidateWorse || undone.Note != "added" || undone.Severity != Major {
		t.Fatalf("took back %+v, %v", undone, err)
	}
	stands := Stand(review.Record, queue, review.Verdicts)[0].Mine("maria")
	if stands == nil || stands.Ruling != BothFine || stands.Note != "first" {
		t.Errorf("what stands is %+v: want the ruling before", stands)
	}
	if undone, err = review.Undo("maria"); err != nil || undone.Ruling != BothFine {
		t.Errorf("then took back %+v, %v", undone, err)
	}
	if _, err := review.Undo("maria"); err == nil {
		t.Error("nothing was left to take back")
	}
	if n := len(review.Verdicts); n != 8 {
		t.Errorf("%d lines: want 4 and 4 that take them back", n)
	}
}
