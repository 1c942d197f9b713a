package pairing

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
)

// disagreeing is a record with one loss a name.
func disagreeing(names ...string) (*replay.Record, []Entry) {
	record := &replay.Record{Run: replay.Run{ID: "run-1", Plan: replay.Plan{Arms: []replay.ArmInfo{
		{Name: "reference", Role: "reference", Kind: replay.ReferenceArm}, {Name: "new", Role: "candidate", Kind: replay.CompactorArm, Digest: "d1"},
	}}}}
	for _, name := range names {
		f := &fixtures.Fixture{ConversationID: name, Checks: []fixtures.Check{{ID: "k1", Final: "text == 'ok'"}}}
		f.Hash = fixtures.HashBytes([]byte(name))
		record.Fixtures = append(record.Fixtures, f)
		for arm, text := range map[string]string{"reference": "ok", "new": "no"} {
			record.Episodes = append(record.Episodes, &replay.Episode{
				Key: replay.Key{Fixture: f.Hash, Arm: arm}, ConversationID: name, Status: replay.Played, Fork: 1,
				Steps: []replay.Step{{Kind: replay.StepText, Turn: 2, Text: text}},
			})
		}
	}
	m := Match(record, "reference", "new")
	slices.SortFunc(m.Pairs, func(a, b Pair) int { return strings.Compare(a.ID, b.ID) })
	return record, Queue(record, m.Pairs, nil, 1)
}

func reviewIn(t *testing.T, dir string, names ...string) *Review {
	t.Helper()
	record, queue := disagreeing(names...)
	clock := time.Date(2026, 11, 30, 8, 0, 0, 0, time.UTC)
	r, err := OpenReview(dir, record, queue, func() time.Time { clock = clock.Add(time.Minute); return clock })
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func decide(t *testing.T, r *Review, v Verdict) Verdict {
	t.Helper()
	v, err := r.Decide(v)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestStandings(t *testing.T) {
	tests := []struct {
		name     string
		verdicts []Verdict
		want     State
		ruling   Ruling
		severity Severity
	}{
		{"nobody", nil, Undecided, "", ""},
		{"one", []Verdict{{By: "a", Ruling: BothFine}}, Decided, BothFine, ""},
		{"a change of mind", []Verdict{{By: "a", Ruling: BothFine}, {By: "a", Ruling: CandidateWorse}}, Decided, CandidateWorse, ""},
		{"taken back", []Verdict{{By: "a", Ruling: BothFine}, {By: "a"}}, Undecided, "", ""},
		{"a change of mind taken back", []Verdict{{By: "a", Ruling: BothFine}, {By: "a", Ruling: BothWrong}, {By: "a"}}, Decided, BothFine, ""},
		{"taken back before anything was said", []Verdict{{By: "a"}, {By: "a", Ruling: BothFine}}, Decided, BothFine, ""},
		{"two agree, and the worst severity counts", []Verdict{{By: "a", Ruling: CandidateWorse, Severity: Critical}, {By: "b", Ruling: CandidateWorse, Severity: Minor}}, Decided, CandidateWorse, Critical},
		{"two do not", []Verdict{{By: "a", Ruling: BothFine}, {By: "b", Ruling: CandidateWorse}}, Disputed, "", ""},
		{"settled", []Verdict{{By: "a", Ruling: BothFine}, {By: "b", Ruling: CandidateWorse}, {By: "c", Ruling: CandidateWorse, Adjudicates: true}}, Decided, CandidateWorse, ""},
		{"one cannot tell", []Verdict{{By: "a", Ruling: BothFine}, {By: "b", Ruling: CannotTell}}, Decided, BothFine, ""},
		{"nobody can tell", []Verdict{{By: "a", Ruling: CannotTell}}, Undecided, "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := reviewIn(t, t.TempDir(), "p")
			defer r.Close()
			for _, v := range tt.verdicts {
				v.Pair = "p"
				decide(t, r, v)
			}
			s := Stand(r.Record, r.Queue, r.Verdicts)[0]
			if s.State != tt.want || s.Ruling != tt.ruling || s.Severity != tt.severity {
				t.Errorf("%+v, want %s %s %s", s, tt.want, tt.ruling, tt.severity)
			}
		})
	}
}

func TestAVerdictOnOtherEvidenceIsStale(t *testing.T) {
	dir := t.TempDir()
	r := reviewIn(t, dir, "p")
	defer r.Close()
	decide(t, r, Verdict{By: "a", Pair: "p", Ruling: BothFine})
	record, queue := disagreeing("p")
	record.Episodes[0].Steps[0].Text += "!"
	record.Episodes[1].Steps[0].Text += "!"
	s := Stand(record, queue, r.Verdicts)[0]
	if s.State != Undecided || len(s.Stale) != 1 {
		t.Errorf("%+v: what it was given on has changed", s)
	}
	// What an episode cost is no evidence.
	record, queue = disagreeing("p")
	record.Episodes[0].Exchanges = []replay.Exchange{{For: "agent"}}
	if s := Stand(record, queue, r.Verdicts)[0]; s.State != Decided {
		t.Errorf("%+v", s)
	}
}

func TestBadVerdicts(t *testing.T) {
	r := reviewIn(t, t.TempDir(), "p")
	defer r.Close()
	for want, v := range map[string]Verdict{
		"no such pair":          {By: "a", Pair: "q", Ruling: BothFine},
		"nobody is named":       {Pair: "p", Ruling: BothFine},
		`ruling "x"`:            {By: "a", Pair: "p", Ruling: "x"},
		`severity "x"`:          {By: "a", Pair: "p", Ruling: BothFine, Severity: "x"},
		`check "k9" does not`:   {By: "a", Pair: "p", Ruling: CheckWrong, Checks: []string{"k9"}},
		"a check is named":      {By: "a", Pair: "p", Ruling: BothFine, Checks: []string{"k1"}},
		"a note of 20000 bytes": {By: "a", Pair: "p", Ruling: BothFine, Note: strings.Repeat("x", 20000)},
		"taken back has no":     {By: "a", Pair: "p", Severity: Minor},
	} {
		if _, err := r.Decide(v); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want ...%s", v, err, want)
		}
	}
	if len(r.Verdicts) != 0 {
		t.Errorf("%d verdicts were kept", len(r.Verdicts))
	}
	if _, err := r.Undo("a"); err == nil {
		t.Error("there is nothing to take back")
	}
}

func TestUndoTakesBackTheReviewersOwnLast(t *testing.T) {
	r := reviewIn(t, t.TempDir(), "p", "q")
	defer r.Close()
	decide(t, r, Verdict{By: "a", Pair: "p", Ruling: BothFine})
	decide(t, r, Verdict{By: "a", Pair: "q", Ruling: BothWrong})
	decide(t, r, Verdict{By: "b", Pair: "q", Ruling: BothWrong})
	for _, want := range []string{"q", "p"} {
		if v, err := r.Undo("a"); err != nil || v.Pair != want {
			t.Errorf("%s, %v; want %s", v.Pair, err, want)
		}
	}
	if s := Stand(r.Record, r.Queue, r.Verdicts); s[0].State != Undecided || s[1].State != Decided {
		t.Errorf("%+v", s)
	}
}

// The log survives a torn line, and one process has it at a time.
func TestReviewSurvivesACrash(t *testing.T) {
	dir := t.TempDir()
	r := reviewIn(t, dir, "p")
	decide(t, r, Verdict{By: "a", Pair: "p", Ruling: BothFine})
	record, queue := disagreeing("p")
	if _, err := OpenReview(dir, record, queue, time.Now); !errors.Is(err, fixtures.ErrLogInUse) {
		t.Errorf("a second writer: %v", err)
	}
	r.Close()
	file, _ := os.OpenFile(filepath.Join(dir, VerdictsFile), os.O_APPEND|os.O_WRONLY, 0)
	file.WriteString(`{"number":2,"by":"a","pa`)
	file.Close()
	r = reviewIn(t, dir, "p")
	defer r.Close()
	if v := decide(t, r, Verdict{By: "b", Pair: "p", Ruling: BothFine}); v.Number != 2 || len(r.Verdicts) != 2 {
		t.Errorf("%+v of %d", v, len(r.Verdicts))
	}
}

// Settling a dispute, or changing one's mind, changes nothing about what was said first.
func TestFirstRatings(t *testing.T) {
	r := reviewIn(t, t.TempDir(), "p")
	defer r.Close()
	for _, v := range []Verdict{
		{By: "a", Ruling: BothFine, Blind: true}, {By: "b", Ruling: CandidateWorse, Blind: true}, {By: "b", Ruling: CandidateWorse, Adjudicates: true}, {By: "a", Ruling: CandidateWorse},
	} {
		v.Pair = "p"
		decide(t, r, v)
	}
	got, open := FirstRatings(r.Record, r.Queue, r.Verdicts)
	if len(open) != 0 || len(got) != 2 || got[0].By != "a" || got[0].Ruling != BothFine || got[1].By != "b" || got[1].Adjudicates {
		t.Errorf("%+v", got)
	}
}

// A log that was changed is not read as if it were people's word.
func TestAChangedLogIsRefused(t *testing.T) {
	for name, change := range map[string][2]string{
		"another ruling": {"both_fine", "both_wrong"}, "no ruling at all": {"both_fine", "banana"}, "another number": {`"number":1`, `"number":3`}, "another reviewer": {`"by":"a"`, `"by":"b"`},
		"another run": {`"run":"run-1"`, `"run":"run-2"`}, "another seal": {`"seal":"`, `"seal":"0`}, "no seal": {`,"seal":`, `,"sale":`},
	} {
		dir := t.TempDir()
		r := reviewIn(t, dir, "p")
		decide(t, r, Verdict{By: "a", Pair: "p", Ruling: BothFine})
		r.Close()
		path := filepath.Join(dir, VerdictsFile)
		data, _ := os.ReadFile(path)
		os.WriteFile(path, []byte(strings.Replace(string(data), change[0], change[1], 1)), 0o644)
		if _, err := ReadVerdicts(dir); err == nil || !strings.Contains(err.Error(), "the log was changed") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestRemember(t *testing.T) {
	monday := reviewIn(t, t.TempDir(), "p", "q", "r", "s")
	defer monday.Close()
	decide(t, monday, Verdict{By: "a", Pair: "p", Ruling: BothFine})
	decide(t, monday, Verdict{By: "a", Pair: "q", Ruling: BothFine})
	decide(t, monday, Verdict{By: "b", Pair: "q", Ruling: CandidateWorse})
	decide(t, monday, Verdict{By: "a", Pair: "r", Ruling: BothWrong})
	decide(t, monday, Verdict{By: "a", Pair: "r"})
	decide(t, monday, Verdict{By: "a", Pair: "s", Ruling: CannotTell})
	record, queue := disagreeing("p", "q", "r", "s")
	remember := func() map[string]Remembered {
		found, err := Remember(record, queue, map[string][]Verdict{"monday": monday.Verdicts})
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	if found := remember(); len(found) != 1 || found["p"].Verdict.Ruling != BothFine || found["p"].Run != "monday" {
		t.Errorf("%+v: only p was decided", found)
	}
	decide(t, monday, Verdict{By: "c", Pair: "q", Ruling: CandidateWorse, Adjudicates: true})
	if found := remember(); found["q"].Verdict.Ruling != CandidateWorse {
		t.Errorf("%+v: q was settled", found)
	}
	// Under another compactor, or parting in another way, it is new.
	record.Run.Plan.Arms[1].Digest = "d2"
	if found := remember(); len(found) != 0 {
		t.Errorf("%+v: another compactor", found)
	}
	record, queue = disagreeing("p")
	queue[0].Divergence.Second.Text = "something else"
	if found := remember(); len(found) != 0 {
		t.Errorf("%+v: another divergence", found)
	}
}

func TestAssignmentIsFairAndOverlaps(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(0, 60).Draw(rt, "pairs")
		var pairs []string
		for i := range n {
			pairs = append(pairs, fmt.Sprint("p", i))
		}
		names := []string{"a", "b", "c", "d"}[:rapid.IntRange(1, 4).Draw(rt, "reviewers")]
		a := Assignment{Reviewers: names, Overlap: rapid.Float64Range(0, 1).Draw(rt, "overlap"), Seed: rapid.Uint64().Draw(rt, "seed")}
		of := a.Of(rapid.Permutation(pairs).Draw(rt, "order"))
		counts := map[string]int{}
		twice := 0
		for pair, who := range of {
			if b := a.Of(pairs)[pair]; !slices.Equal(b, who) {
				rt.Fatalf("the order matters: %q and %q", who, b)
			}
			if len(who) > 1 {
				twice++
				if who[0] == who[1] {
					rt.Fatalf("%s twice on %s", who[0], pair)
				}
			}
			for _, name := range who {
				counts[name]++
			}
		}
		if len(of) != n {
			rt.Fatalf("%d of %d pairs have a reviewer", len(of), n)
		}
		if want := int(a.Overlap*float64(n) + 0.5); len(names) > 1 && twice != want {
			rt.Fatalf("%d go to two, want %d", twice, want)
		}
		low, high := n*2, 0
		for _, name := range names {
			low, high = min(low, counts[name]), max(high, counts[name])
		}
		if high-low > 1 {
			rt.Fatalf("unfair: %v", counts)
		}
	})
}
