package pairing

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// copyOf is a copy of a run that somebody works on, with a clock of its own.
func copyOf(rt *rapid.T, from *Review, dir string, start time.Time) *Review {
	record, queue := disagreeing("p", "q")
	clock := start
	r, err := OpenReview(dir, record, queue, func() time.Time {
		clock = clock.Add(time.Duration(rapid.IntRange(0, 2).Draw(rt, "seconds")) * time.Second)
		return clock
	})
	if err != nil {
		rt.Fatal(err)
	}
	if from != nil {
		if _, err := r.Merge(from.Verdicts); err != nil {
			rt.Fatal(err)
		}
	}
	return r
}

// work gives and takes back verdicts.
func work(rt *rapid.T, r *Review) {
	for range rapid.IntRange(0, 6).Draw(rt, "lines") {
		by := rapid.SampledFrom([]string{"a", "b"}).Draw(rt, "by")
		if rapid.IntRange(0, 4).Draw(rt, "undo") == 0 {
			_, _ = r.Undo(by) // there may be nothing to take back
			continue
		}
		v := Verdict{By: by, Pair: rapid.SampledFrom([]string{"p", "q"}).Draw(rt, "pair"), Ruling: rapid.SampledFrom(Rulings()).Draw(rt, "ruling")}
		v.Blind = rapid.Bool().Draw(rt, "blind")
		v.Adjudicates = rapid.IntRange(0, 5).Draw(rt, "settles") == 0
		v.Evidence = evidence(r.Record, &r.Queue[r.entries[v.Pair]].Pair)
		v.Adjudicates = v.Adjudicates && r.disputed(&v) == nil
		if _, err := r.Decide(v); err != nil {
			rt.Fatal(err)
		}
	}
}

// stands is what stands after all verdicts, without the numbers that a log gave.
func stands(r *Review) string {
	var b strings.Builder
	for _, s := range Stand(r.Record, r.Queue, r.Verdicts) {
		fmt.Fprintln(&b, s.Pair, s.State, s.Ruling, s.Severity, s.Checks, s.Adjudicated)
		for _, v := range s.Verdicts {
			fmt.Fprintln(&b, v.identity())
		}
	}
	blind, open := FirstRatings(r.Record, r.Queue, r.Verdicts)
	for _, list := range [][]Verdict{blind, open} {
		for _, v := range list {
			fmt.Fprintln(&b, v.identity())
		}
	}
	return b.String()
}

// Merging twice is merging once, and what stands does not depend on which log was merged
// into which, or in which order.
func TestMergingLaws(t *testing.T) {
	root := t.TempDir()
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		dir := func(name string) string { return filepath.Join(root, fmt.Sprint(n), name) }
		day := time.Date(2026, 11, 30, 8, 0, 0, 0, time.UTC)
		base := copyOf(rt, nil, dir("base"), day)
		defer base.Close()
		work(rt, base)
		var copies []*Review
		for i := range 3 {
			start := day.Add(time.Duration(rapid.IntRange(-5, 20).Draw(rt, "clock")) * time.Second)
			r := copyOf(rt, base, dir(fmt.Sprint("copy", i)), start)
			defer r.Close()
			work(rt, r)
			copies = append(copies, r)
		}
		merged := map[string]string{}
		for _, order := range [][]int{{0, 1, 2}, {2, 1, 0}, {1, 0, 2, 0, 1}} {
			name := fmt.Sprint(order)
			into := copyOf(rt, nil, dir("into"+name), day)
			defer into.Close()
			for _, i := range order {
				if _, err := into.Merge(copies[i].Verdicts); err != nil {
					rt.Fatal(err)
				}
			}
			again, err := into.Merge(copies[order[0]].Verdicts)
			if err != nil || again.Added != 0 || again.Known != len(copies[order[0]].Verdicts) {
				rt.Fatalf("merging again: %+v, %v", again, err)
			}
			if back, err := ReadVerdicts(dir("into" + name)); err != nil || len(back) != len(into.Verdicts) {
				rt.Fatalf("the merged log: %d of %d lines, %v", len(back), len(into.Verdicts), err)
			}
			merged[name] = stands(into)
			if merged[name] != merged["[0 1 2]"] {
				rt.Fatalf("%s:\n%s\nand in order:\n%s", name, merged[name], merged["[0 1 2]"])
			}
		}
		// A log that merged the others says the same as they do of each other, and a verdict
		// given after that is the last one.
		if _, err := copies[0].Merge(copies[1].Verdicts); err != nil {
			rt.Fatal(err)
		}
		if _, err := copies[1].Merge(copies[0].Verdicts); err != nil {
			rt.Fatal(err)
		}
		if x, y := stands(copies[0]), stands(copies[1]); x != y {
			rt.Fatalf("%s\nand\n%s", x, y)
		}
		if v, err := copies[0].Decide(Verdict{By: "a", Pair: "p", Ruling: BothWrong}); err != nil {
			rt.Fatal(err)
		} else if last, err := copies[0].Undo("a"); err != nil || last.Pair == "p" && last.Number != v.Number {
			rt.Fatalf("took back %+v, %v; want %+v", last, err, v)
		}
	})
}

func TestMergeKeepsWhoAndWhen(t *testing.T) {
	here, there := t.TempDir(), t.TempDir()
	maria := reviewIn(t, there, "p", "q")
	decide(t, maria, Verdict{By: "maria", Pair: "p", Ruling: BothFine, Note: "as it should be"})
	decide(t, maria, Verdict{By: "maria", Pair: "q", Ruling: CandidateWorse, Severity: Major})
	maria.Close()
	lines, err := ReadVerdicts(there)
	if err != nil {
		t.Fatal(err)
	}
	r := reviewIn(t, here, "p", "q")
	defer r.Close()
	decide(t, r, Verdict{By: "jon", Pair: "p", Ruling: CandidateWorse})
	m, err := r.Merge(lines)
	if err != nil || m.Added != 2 || m.Known != 0 || m.Stale != 0 || m.By["maria"] != 2 {
		t.Fatalf("%+v, %v", m, err)
	}
	v := r.Verdicts[1]
	if v.Number != 2 || v.By != "maria" || !v.At.Equal(lines[0].At) || v.Note != "as it should be" {
		t.Errorf("%+v", v)
	}
	if s := Stand(r.Record, r.Queue, r.Verdicts); s[0].State != Disputed || s[1].Ruling != CandidateWorse {
		t.Errorf("%+v", s)
	}
	// On evidence that has changed since they are kept and not applied.
	record, queue := disagreeing("p", "q")
	record.Episodes[0].Steps[0].Text += "!"
	record.Episodes[1].Steps[0].Text += "!"
	other, err := OpenReview(t.TempDir(), record, queue, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if m, err := other.Merge(lines); err != nil || m.Added != 2 || m.Stale != 1 || len(m.StalePairs) != 1 || m.StalePairs[0] != "p" {
		t.Errorf("%+v, %v", m, err)
	}
}

func TestMergeRefuses(t *testing.T) {
	there := t.TempDir()
	maria := reviewIn(t, there, "p")
	decide(t, maria, Verdict{By: "maria", Pair: "p", Ruling: BothFine})
	maria.Close()
	for want, change := range map[string]func([]Verdict){
		"seal does not fit": func(v []Verdict) { v[0].Ruling = BothWrong },
		"has no seal":       func(v []Verdict) { v[0].Seal = "" },
		"of another run":    func(v []Verdict) { v[0].Pair = "z"; v[0].Seal = v[0].seal() },
		"is of the run":     func(v []Verdict) { v[0].Run = "run-2"; v[0].Seal = v[0].seal() },
		"of which run":      func(v []Verdict) { v[0].Run = ""; v[0].Seal = v[0].seal() },
		"does not follow":   func(v []Verdict) { v[0].Prev = "0000000000000000" },
		"has the number 7":  func(v []Verdict) { v[0].Number = 7 },
		"order -1":          func(v []Verdict) { v[0].Order = -1 },
	} {
		lines, err := ReadVerdicts(there)
		if err != nil {
			t.Fatal(err)
		}
		change(lines)
		r := reviewIn(t, t.TempDir(), "p")
		if _, err := r.Merge(lines); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want ...%s", err, want)
		}
		if len(r.Verdicts) != 0 {
			t.Errorf("%s: %d lines were added", want, len(r.Verdicts))
		}
		r.Close()
	}
	if lines, err := ReadVerdictLog(filepath.Join(t.TempDir(), "none")); err != nil || lines != nil {
		t.Errorf("%v, %v", lines, err)
	}
}

// Whatever stands in another log, it is taken as it was written or not at all.
func FuzzMerge(f *testing.F) {
	dir := f.TempDir()
	record, queue := disagreeing("p", "q")
	clock := time.Date(2026, 11, 30, 8, 0, 0, 0, time.UTC)
	there, err := OpenReview(filepath.Join(dir, "there"), record, queue, func() time.Time { return clock })
	if err != nil {
		f.Fatal(err)
	}
	for _, v := range []Verdict{{By: "a", Pair: "p", Ruling: BothFine}, {By: "a", Pair: "p"}, {By: "b", Pair: "q", Ruling: CandidateWorse, Severity: Major}} {
		if _, err := there.Decide(v); err != nil {
			f.Fatal(err)
		}
	}
	if err := there.Close(); err != nil {
		f.Fatal(err)
	}
	good, err := os.ReadFile(filepath.Join(dir, "there", VerdictsFile))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(good))
	f.Add(`{"number":1,"order":9,"by":"x","pair":"p"}` + "\n")
	f.Add("{}\n\n[]")
	f.Fuzz(func(t *testing.T, text string) {
		path := filepath.Join(t.TempDir(), "log.jsonl")
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		lines, err := ReadVerdictLog(path)
		if err != nil {
			return
		}
		here := filepath.Join(t.TempDir(), "here")
		r, err := OpenReview(here, record, queue, func() time.Time { return clock })
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		m, err := r.Merge(lines)
		if err != nil {
			if len(r.Verdicts) > 0 {
				t.Fatalf("refused, and %d lines were added", len(r.Verdicts))
			}
			return
		}
		back, err := ReadVerdicts(here)
		if err != nil || len(back) != m.Added {
			t.Fatalf("%d lines came back of %+v: %v", len(back), m, err)
		}
		if again, err := r.Merge(lines); err != nil || again.Added != 0 {
			t.Fatalf("a second time: %+v, %v", again, err)
		}
	})
}
