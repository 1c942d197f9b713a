package pairing

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/doubletake-dev/doubletake/fixtures"
)

func TestPairsAreFoundByNameHandleAndNumber(t *testing.T) {
	var queue []Entry
	for i := range 2000 {
		id := fmt.Sprintf("forbidden-%d", i)
		queue = append(queue, Entry{Pair: Pair{ID: id, Fixture: fixtures.HashBytes([]byte(id)), Replicate: i % 2}})
	}
	seen := map[string]bool{}
	for i := range queue {
		handle := Handle("night-1", &queue[i])
		if seen[handle] || len(handle) != 11 || strings.Contains(handle, "forbidden") {
			t.Fatalf("the handle of %s is %q", queue[i].ID, handle)
		}
		seen[handle] = true
		if Handle("night-2", &queue[i]) == handle {
			t.Errorf("the handle of %s is the same in another run", queue[i].ID)
		}
		if testing.Short() && i%50 != 0 {
			continue // each looks through all of them
		}
		for _, called := range []string{handle, queue[i].ID, fmt.Sprint(i + 1)} {
			if at, err := FindPair("night-1", queue, called); err != nil || at != i {
				t.Fatalf("%q is pair %d, %v: want %d", called, at, err, i)
			}
		}
	}
	queue[5].ID = "3"
	for called, want := range map[string]error{"3": ErrAmbiguous, "0": ErrNoPair, "-1": ErrNoPair, "2001": ErrNoPair, "": ErrNoPair, "nosuch": ErrNoPair} {
		if _, err := FindPair("night-1", queue, called); !errors.Is(err, want) {
			t.Errorf("%q: %v: want %v", called, err, want)
		}
	}
	if at, err := FindPair("night-1", queue, Handle("night-1", &queue[5])); err != nil || at != 5 {
		t.Errorf("the pair named 3 is found at %d, %v", at, err)
	}
}
