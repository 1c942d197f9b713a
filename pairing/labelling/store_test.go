package labelling

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Ratings that were changed, cut or put in another order are not read as what raters said.
func TestChangedRatingsAreRefused(t *testing.T) {
	w := demo(t, t.TempDir(), 2)
	cases, key := w.export(Options{Seed: 6})
	if err := WriteKey(w.record.Dir, key); err != nil {
		t.Fatal(err)
	}
	take := func(text string) error {
		_, err := Import(w.record, Source{Name: "file", Kind: Human, In: strings.NewReader(text)})
		return err
	}
	for i, rater := range []string{"Ann", "ben", " Zoe\u0308 "} {
		if err := take(lines(t, rate(&cases[i], rater, Human))); err != nil {
			t.Fatal(err)
		}
	}
	// One rater, however the name is written, rates a case once.
	for i, rater := range []string{"ann ", "BEN", "Zo\u00eb"} {
		if err := take(lines(t, rate(&cases[i], rater, Human))); err == nil || !strings.Contains(err.Error(), "repeated") {
			t.Errorf("%q: %v", rater, err)
		}
	}
	for _, rater := range []string{"", "a\x1b[31m", "a\nb"} {
		if err := take(lines(t, rate(&cases[3], rater, Human))); err == nil || !strings.Contains(err.Error(), "printable") {
			t.Errorf("%q: %v", rater, err)
		}
	}
	path := filepath.Join(w.record.Dir, Dir, RatingsFile)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if batches, err := ReadRatings(w.record.Dir); err != nil || len(batches) != 3 || batches[2].Ratings[0].Rater != "Zo\u00eb" {
		t.Fatalf("%d imports, %v", len(batches), err)
	}
	text := slices.Collect(strings.Lines(string(whole)))
	for name, changed := range map[string]string{
		"another truth":     strings.Replace(string(whole), `"truth":"true"`, `"truth":"false"`, 1),
		"no seal":           strings.Replace(string(whole), `"seal":`, `"sale":`, 1),
		"the first missing": text[1] + text[2],
		"one missing":       text[0] + text[2],
		"another order":     text[1] + text[0] + text[2],
		"one twice":         text[0] + text[1] + text[1],
	} {
		if err := os.WriteFile(path, []byte(changed), 0o644); err != nil {
			t.Fatal(err)
		}
		if changed == string(whole) {
			t.Fatalf("%s: nothing was changed", name)
		}
		if _, err := ReadRatings(w.record.Dir); !errors.Is(err, errChanged) {
			t.Errorf("%s: %v", name, err)
		}
		if err := take(lines(t, rate(&cases[3], "lee", Human))); !errors.Is(err, errChanged) {
			t.Errorf("%s: added to it: %v", name, err)
		}
	}
	if err := os.WriteFile(path, whole[:len(whole)-40], 0o644); err != nil {
		t.Fatal(err)
	}
	if batches, err := ReadRatings(w.record.Dir); err != nil || len(batches) != 2 {
		t.Errorf("%d imports, %v", len(batches), err)
	}
	if text, err := TornRatings(w.record.Dir); err != nil || !strings.Contains(text, "is torn after") {
		t.Errorf("%q, %v", text, err)
	}
}
