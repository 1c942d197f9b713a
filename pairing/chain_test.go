package pairing

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/doubletake-dev/doubletake/fixtures"
)

// A line that was taken out, put in or moved is found, wherever it stood; whole lines
// at the end are found by where the log is noted to end.
func TestTheChainShowsWhichLineIsMissing(t *testing.T) {
	dir := t.TempDir()
	r := reviewIn(t, dir, "p", "q")
	for _, v := range []Verdict{{By: "a", Pair: "p", Ruling: BothFine}, {By: "b", Pair: "p", Ruling: BothWrong}, {By: "a", Pair: "q", Ruling: BothFine}, {By: "a", Pair: "q"}} {
		decide(t, r, v)
	}
	r.Close()
	data, err := os.ReadFile(filepath.Join(dir, VerdictsFile))
	if err != nil {
		t.Fatal(err)
	}
	lines := slices.Collect(strings.Lines(string(data)))
	renumber := func(lines []string) string { // with an order, so that what is sealed stays
		for i, line := range lines {
			_, rest, _ := strings.Cut(line, ",")
			was := strings.TrimPrefix(line[:len(line)-len(rest)-1], `{"number":`)
			lines[i] = `{"number":` + string(rune('1'+i)) + `,"order":` + was + "," + rest
		}
		return strings.Join(lines, "")
	}
	read := func(text string) error {
		path := filepath.Join(t.TempDir(), "log.jsonl")
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := ReadVerdictLog(path)
		return err
	}
	if err := read(renumber(slices.Clone(lines))); err != nil {
		t.Fatalf("numbers with an order: %v", err)
	}
	for i := range lines[:len(lines)-1] {
		if err := read(renumber(slices.Delete(slices.Clone(lines), i, i+1))); !errors.Is(err, errChanged) {
			t.Errorf("without line %d: %v", i+1, err)
		}
	}
	swapped := slices.Clone(lines)
	swapped[1], swapped[2] = swapped[2], swapped[1]
	if err := read(renumber(swapped)); !errors.Is(err, errChanged) {
		t.Errorf("two lines in another order: %v", err)
	}
	if err := read(renumber(slices.Insert(slices.Clone(lines), 1, lines[0]))); !errors.Is(err, errChanged) {
		t.Errorf("a line twice: %v", err)
	}
}

// What an earlier version wrote stays readable, and further lines go behind it. The line is
// one that such a version wrote.
func TestLinesOfEarlierVersions(t *testing.T) {
	old, err := os.ReadFile("testdata/verdicts_earlier.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	path := filepath.Join(dir, VerdictsFile)
	if err := os.WriteFile(path, old, 0o644); err != nil {
		t.Fatal(err)
	}
	lines, err := ReadVerdicts(dir)
	if err != nil || len(lines) != 2 || !slices.Equal(lines[0].Checks, []string{"k1"}) || lines[0].Ruling != CheckWrong || lines[0].Run != "" {
		t.Fatalf("%+v, %v", lines, err)
	}
	r := reviewIn(t, dir, "p")
	if v := decide(t, r, Verdict{By: "x", Pair: "p", Ruling: BothFine}); v.Prev != lines[1].Seal || v.Run != "run-1" {
		t.Errorf("%+v", v)
	}
	r.Close()
	if lines, err := ReadVerdicts(dir); err != nil || len(lines) != 3 {
		t.Errorf("%d, %v", len(lines), err)
	}
	for name, change := range map[string][2]string{"another check": {`"check":"k1"`, `"check":"k2"`}, "several": {`"check":"k1"`, `"checks":["k1","k2"]`}} {
		if err := os.WriteFile(path, []byte(strings.Replace(string(old), change[0], change[1], 1)), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadVerdicts(dir); !errors.Is(err, errChanged) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// Nothing in it says of which run it is.
	into := reviewIn(t, t.TempDir(), "p")
	defer into.Close()
	if _, err := into.Merge(lines[:2]); err == nil || !strings.Contains(err.Error(), "of which run") {
		t.Errorf("%v", err)
	}
}

// A log that lies in another run is not read as that run's.
func TestALogOfAnotherRunIsRefused(t *testing.T) {
	dir := t.TempDir()
	r := reviewIn(t, dir, "p")
	decide(t, r, Verdict{By: "a", Pair: "p", Ruling: BothFine})
	r.Close()
	record, queue := disagreeing("p")
	record.Run.ID = "run-2"
	if _, err := OpenReview(dir, record, queue, time.Now); !errors.Is(err, ErrOtherRun) {
		t.Errorf("%v", err)
	}
}

// Where the file is not the one that was opened any more, a verdict is refused rather than
// lost.
func TestAReplacedLogIsNotWrittenTo(t *testing.T) {
	for name, change := range map[string]func(path string) error{
		"removed": os.Remove,
		"replaced": func(path string) error {
			return errors.Join(os.Rename(path, path+".old"), os.WriteFile(path, nil, 0o644))
		},
		"written to": func(path string) error { return os.WriteFile(path, []byte("{}\n"), 0o644) },
	} {
		dir := t.TempDir()
		r := reviewIn(t, dir, "p")
		if err := change(filepath.Join(dir, VerdictsFile)); err != nil {
			t.Fatal(err)
		}
		if _, err := r.Decide(Verdict{By: "a", Pair: "p", Ruling: BothFine}); !errors.Is(err, fixtures.ErrLogReplaced) || len(r.Verdicts) != 0 {
			t.Errorf("%s: %v", name, err)
		}
		r.Close()
	}
}

// What somebody said first is what they said before the others' verdicts were shown to
// them, taken back or not.
func TestFirstRatingsAreIndependent(t *testing.T) {
	for _, tt := range []struct {
		name  string
		lines []Verdict
		want  string
		open  string // not blind
	}{
		{"taken back, and given like the other's", []Verdict{{By: "b", Ruling: BothFine, Blind: true}, {By: "a", Ruling: BothWrong, Blind: true}, {By: "a"}, {By: "a", Ruling: BothFine}}, "b both_fine, a both_wrong", ""},
		{"taken back for good", []Verdict{{By: "a", Ruling: BothWrong, Blind: true}, {By: "a"}}, "a both_wrong", ""},
		{"taken over from an earlier night", []Verdict{{By: "a", Ruling: BothFine, From: "monday"}, {By: "b", Ruling: BothFine, From: "monday"}}, "", ""},
		{"taken over first", []Verdict{{By: "a", Ruling: BothFine, From: "monday"}, {By: "a", Ruling: BothWrong}}, "", ""},
		{"unblinded first", []Verdict{{By: "a"}, {By: "a", Ruling: BothFine, Blind: true}}, "", "a both_fine"},
		{"one of them with the arms named", []Verdict{{By: "b", Ruling: BothFine, Blind: true}, {By: "a", Ruling: BothFine}}, "b both_fine", "a both_fine"},
		{"spelled in two ways", []Verdict{{By: "Ann", Ruling: BothFine, Blind: true}, {By: "ANN ", Ruling: BothWrong}}, "Ann both_fine", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := reviewIn(t, t.TempDir(), "p")
			defer r.Close()
			for _, v := range tt.lines {
				v.Pair = "p"
				decide(t, r, v)
			}
			told := func(list []Verdict) string {
				var texts []string
				for _, v := range list {
					texts = append(texts, v.By+" "+string(v.Ruling))
				}
				return strings.Join(texts, ", ")
			}
			blind, open := FirstRatings(r.Record, r.Queue, r.Verdicts)
			if told(blind) != tt.want || told(open) != tt.open {
				t.Errorf("%q and %q, want %q and %q", told(blind), told(open), tt.want, tt.open)
			}
		})
	}
}

// Only what reviewers do not agree on can be settled.
func TestSettling(t *testing.T) {
	settles := Verdict{By: "c", Ruling: BothWrong, Adjudicates: true}
	for _, tt := range []struct {
		name  string
		lines []Verdict
		want  string
	}{
		{"nobody has ruled", nil, "0 of the two"},
		{"the only one settles", []Verdict{{By: "c", Ruling: BothFine}}, "1 of the two"},
		{"one cannot tell", []Verdict{{By: "a", Ruling: BothFine}, {By: "b", Ruling: CannotTell}}, "1 of the two"},
		{"all say the same", []Verdict{{By: "a", Ruling: BothFine}, {By: "b", Ruling: BothFine}}, "all who have ruled say both_fine"},
		{"taken back", []Verdict{{By: "a", Ruling: BothFine}, {By: "b", Ruling: BothWrong}, {By: "b"}}, "1 of the two"},
		{"disputed", []Verdict{{By: "a", Ruling: BothFine}, {By: "b", Ruling: BothWrong}}, ""},
		{"by one of the two", []Verdict{{By: "a", Ruling: BothFine}, {By: "c", Ruling: BothWrong}}, ""},
		{"settled before", []Verdict{{By: "a", Ruling: BothFine}, {By: "b", Ruling: BothWrong}, {By: "d", Ruling: BothFine, Adjudicates: true}}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := reviewIn(t, t.TempDir(), "p")
			defer r.Close()
			for _, v := range tt.lines {
				v.Pair = "p"
				decide(t, r, v)
			}
			v := settles
			v.Pair = "p"
			_, err := r.Decide(v)
			switch {
			case tt.want == "" && err != nil, tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
				t.Errorf("%v, want %q", err, tt.want)
			}
			if s := Stand(r.Record, r.Queue, r.Verdicts)[0]; tt.want == "" && (!s.Adjudicated || s.Ruling != BothWrong) {
				t.Errorf("%+v", s)
			}
		})
	}
	// A line of an earlier version that settles what nobody disputes is a verdict like any.
	r := reviewIn(t, t.TempDir(), "p")
	defer r.Close()
	decide(t, r, Verdict{By: "solo", Pair: "p", Ruling: BothFine})
	decide(t, r, Verdict{By: "b", Pair: "p", Ruling: BothWrong})
	lines := slices.Clone(r.Verdicts)
	lines[0].Adjudicates = true
	if s := Stand(r.Record, r.Queue, lines)[0]; s.State != Disputed {
		t.Errorf("%+v", s)
	}
}

func TestWrongChecks(t *testing.T) {
	record, _ := disagreeing("p")
	record.Fixtures[0].Checks = append(record.Fixtures[0].Checks, fixtures.Check{ID: "k2", Final: "text startsWith 'o'"}, fixtures.Check{ID: "k3", Final: "len(text) == 2"})
	queue := Queue(record, Match(record, "reference", "new").Pairs, nil, 1)
	for _, tt := range []struct {
		given, want []string
		remains     string
	}{
		{nil, []string{"k1", "k2"}, ""},
		{[]string{"k2", "k1"}, []string{"k2", "k1"}, ""},
		{[]string{"k1"}, []string{"k1"}, "the pair stays a loss: check k2 fails as well"},
	} {
		r, err := OpenReview(t.TempDir(), record, queue, time.Now)
		if err != nil {
			t.Fatal(err)
		}
		v := decide(t, r, Verdict{By: "a", Pair: "p", Ruling: CheckWrong, Checks: tt.given})
		if s := Stand(record, queue, r.Verdicts)[0]; !slices.Equal(v.Checks, tt.want) || !slices.Equal(s.Checks, tt.want) {
			t.Errorf("%q: %q and %q, want %q", tt.given, v.Checks, s.Checks, tt.want)
		}
		if text := queue[0].Remains(v.Ruling, v.Checks); text != tt.remains {
			t.Errorf("%q: %q, want %q", tt.given, text, tt.remains)
		}
		for _, bad := range [][]string{{"k3"}, {"k1", "k1"}, {""}} {
			if _, err := r.Decide(Verdict{By: "a", Pair: "p", Ruling: CheckWrong, Checks: bad}); err == nil {
				t.Errorf("%q was taken", bad)
			}
		}
		r.Close()
	}
}

func TestReviewerNames(t *testing.T) {
	for _, tt := range []struct{ typed, want string }{
		{"ann", "ann"}, {"  Ann Lee ", "Ann Lee"}, {"Zoe\u0308", "Zo\u00eb"}, {"", ""}, {" \t", ""}, {"a\x1b[31m", ""}, {"a\nb", ""}, {"a\xff", ""}, {"a\u202eb", ""}, {strings.Repeat("x", 101), ""},
	} {
		got, err := ReviewerName(tt.typed)
		if got != tt.want || (err == nil) != (tt.want != "") {
			t.Errorf("%q: %q, %v; want %q", tt.typed, got, err, tt.want)
		}
	}
	rapid.Check(t, func(rt *rapid.T) {
		name, err := ReviewerName(rapid.String().Draw(rt, "typed"))
		if err != nil {
			return
		}
		if again, err := ReviewerName(name); again != name || err != nil {
			rt.Fatalf("%q becomes %q, %v", name, again, err)
		}
		if !SameReviewer(name, " "+name+" ") {
			rt.Fatalf("%q is another one with spaces around it", name)
		}
	})
	// One reviewer, however they write their name: with one verdict, spelled as at first.
	r := reviewIn(t, t.TempDir(), "p")
	defer r.Close()
	decide(t, r, Verdict{By: "Zo\u00eb", Pair: "p", Ruling: BothFine})
	if v := decide(t, r, Verdict{By: " ZOE\u0308", Pair: "p", Ruling: BothWrong, Blind: true}); v.By != "Zo\u00eb" || v.Blind {
		t.Errorf("%+v", v)
	}
	if s := Stand(r.Record, r.Queue, r.Verdicts)[0]; len(s.Verdicts) != 1 || s.Ruling != BothWrong || s.Mine("zo\u00eb") == nil {
		t.Errorf("%+v", s)
	}
	if Swapped("run-1", "Ann", "p") != Swapped("run-1", "ann ", "p") {
		t.Error("the sides depend on how a name is written")
	}
	if v, err := r.Undo("zo\u00eb"); err != nil || v.Ruling != BothWrong {
		t.Errorf("%+v, %v", v, err)
	}
}

func TestAssignmentsThatAreNone(t *testing.T) {
	for _, text := range []string{`{"reviewers":["a"],"overlap":7}`, `{"reviewers":["a"],"overlap":-1}`, `{"reviewers":["a","A"]}`, `{"reviewers":[" a"]}`, `{"reviewers":[""]}`} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, assignmentFile), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if a, err := ReadAssignment(dir); err == nil {
			t.Errorf("%s was read: %+v", text, a)
		}
	}
}
