package pairing

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/doubletake-dev/doubletake/replay"
)

// A queue is read as it was written or not at all, and mended from what the run says.
func TestAChangedQueueIsRefused(t *testing.T) {
	_, queue := disagreeing("p", "q", "r")
	for name, change := range map[string]func(lines []string) []string{
		"another cell":       func(l []string) []string { l[1] = strings.Replace(l[1], `"cell":"loss"`, `"cell":"gain"`, 1); return l },
		"the first missing":  func(l []string) []string { return l[1:] },
		"one missing":        func(l []string) []string { return slices.Delete(l, 1, 2) },
		"the last missing":   func(l []string) []string { return l[:2] },
		"all missing":        func(l []string) []string { return nil },
		"one twice":          func(l []string) []string { return append(l, l[2]) },
		"another order":      func(l []string) []string { l[0], l[1] = l[1], l[0]; return l },
		"a torn line":        func(l []string) []string { l[2] = l[2][:len(l[2])-40]; return l },
		"no seals":           func(l []string) []string { return []string{`{"id":"p","cell":"loss"}` + "\n"} },
		"a total of its own": func(l []string) []string { return []string{strings.Replace(l[0], `"of":3`, `"of":1`, 1)} },
		"a field put in": func(l []string) []string {
			l[0] = strings.Replace(l[0], `"group"`, `"reason":"x","group"`, 1)
			return l
		},
		"another fixture in": func(l []string) []string { l[0] = strings.Replace(l[0], `"fixture":"`, `"fixture":"0`, 1); return l },
		"another divergence": func(l []string) []string { l[0] = strings.Replace(l[0], `"turn":2`, `"turn":3`, 1); return l },
		"an answer turned": func(l []string) []string {
			l[0] = strings.Replace(l[0], `"answer":"fail"`, `"answer":"pass"`, 1)
			return l
		},
		"an empty line's end": func(l []string) []string { return append(l, "{}\n") },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, replay.QueueFile)
			var pairs []Pair
			for i := range queue {
				pairs = append(pairs, queue[i].Pair)
			}
			if err := errors.Join(WriteQueue(dir, queue), WriteLines(filepath.Join(dir, replay.PairsFile), pairs)); err != nil {
				t.Fatal(err)
			}
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if back, err := ReadQueue(dir); err != nil || len(back) != 3 || back[0].Place != nil {
				t.Fatalf("%+v, %v", back, err)
			}
			if wrote, err := MendQueue(dir, queue); wrote || err != nil {
				t.Fatalf("mended what is whole: %v", err)
			}
			changed := strings.Join(change(slices.Collect(strings.Lines(string(data)))), "")
			if changed == string(data) {
				t.Fatal("nothing was changed")
			}
			if err := os.WriteFile(path, []byte(changed), 0o644); err != nil {
				t.Fatal(err)
			}
			if back, err := ReadQueue(dir); !errors.Is(err, ErrQueueChanged) {
				t.Errorf("%d entries, %v", len(back), err)
			}
			if wrote, err := MendQueue(dir, queue); !wrote || err != nil {
				t.Errorf("not mended: %v", err)
			}
			if again, err := os.ReadFile(path); err != nil || string(again) != string(data) {
				t.Errorf("mended to something else: %v", err)
			}
		})
	}
	// An empty queue, and none at all.
	dir := t.TempDir()
	if wrote, err := MendQueue(dir, nil); wrote || err != nil {
		t.Errorf("a queue was written where none was: %v", err)
	}
	if err := WriteQueue(dir, nil); err != nil {
		t.Fatal(err)
	}
	if back, err := ReadQueue(dir); err != nil || len(back) != 0 {
		t.Errorf("%+v, %v", back, err)
	}
}
