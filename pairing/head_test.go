package pairing

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Whole lines taken off the end are missed, also once the log was written to again, until
// they are back.
func TestLinesCutFromTheEnd(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, VerdictsFile)
	says := func(want ...string) {
		t.Helper()
		got, err := CutVerdicts(dir)
		if err != nil || (got == "") != (len(want) == 0) {
			t.Fatalf("%q, %v", got, err)
		}
		for _, text := range want {
			if !strings.Contains(got, text) {
				t.Errorf("%q does not say %q", got, text)
			}
		}
	}
	says()
	r := reviewIn(t, dir, "p", "q")
	decide(t, r, Verdict{By: "a", Pair: "p", Ruling: BothFine})
	says() // while it is open
	decide(t, r, Verdict{By: "a", Pair: "q", Ruling: BothFine})
	decide(t, r, Verdict{By: "b", Pair: "p", Ruling: BothWrong})
	r.Close()
	says()
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := slices.Collect(strings.Lines(string(whole)))
	for n := range lines {
		if err := os.WriteFile(path, []byte(strings.Join(lines[:n], "")), 0o644); err != nil {
			t.Fatal(err)
		}
		says("has "+string(rune('0'+n))+" lines", "ended with verdict 3")
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	says("has 0 lines")

	// One line is left, another is given, and is cut as well.
	if err := os.WriteFile(path, []byte(lines[0]), 0o644); err != nil {
		t.Fatal(err)
	}
	r = reviewIn(t, dir, "p", "q")
	decide(t, r, Verdict{By: "c", Pair: "q", Ruling: BothWrong})
	r.Close()
	says("has 2 lines", "ended with verdict 3,")
	if err := os.WriteFile(path, []byte(lines[0]), 0o644); err != nil {
		t.Fatal(err)
	}
	says("verdict 3, and with verdict 2,")

	// A copy brings back what it holds.
	r = reviewIn(t, dir, "p", "q")
	copied := filepath.Join(t.TempDir(), "copy.jsonl")
	if err := os.WriteFile(copied, whole, 0o644); err != nil {
		t.Fatal(err)
	}
	log, err := ReadVerdictLog(copied)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Merge(log); err != nil {
		t.Fatal(err)
	}
	r.Close()
	says("has 3 lines", "ended with verdict 2,")
	if err := os.Remove(filepath.Join(dir, HeadFile)); err != nil {
		t.Fatal(err)
	}
	says() // as in a run of an earlier version
}

// What a crash between the two files leaves is no cut: the log is written first.
func TestALogPastItsHead(t *testing.T) {
	dir := t.TempDir()
	r := reviewIn(t, dir, "p", "q")
	decide(t, r, Verdict{By: "a", Pair: "p", Ruling: BothFine})
	noted, err := os.ReadFile(filepath.Join(dir, HeadFile))
	if err != nil {
		t.Fatal(err)
	}
	decide(t, r, Verdict{By: "a", Pair: "q", Ruling: BothFine})
	r.Close()
	if err := os.WriteFile(filepath.Join(dir, HeadFile), noted, 0o644); err != nil {
		t.Fatal(err)
	}
	if got, err := CutVerdicts(dir); got != "" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}

func FuzzCutVerdicts(f *testing.F) {
	f.Add([]byte(`{"lines":3,"seal":"0123456789abcdef","cut":[{"lines":1,"seal":"f"}]}`), []byte(""))
	f.Add([]byte(`{"lines":-1}`), []byte("{\"number\":1}\n{"))
	f.Add([]byte(""), []byte("{}\n"))
	f.Fuzz(func(t *testing.T, noted, log []byte) {
		dir := t.TempDir()
		for name, data := range map[string][]byte{HeadFile: noted, VerdictsFile: log} {
			if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if text, err := CutVerdicts(dir); text != "" && err != nil {
			t.Errorf("%q and %v", text, err)
		}
	})
}
