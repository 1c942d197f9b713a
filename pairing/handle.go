package pairing

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/doubletake-dev/doubletake/fixtures"
)

// Handle is a short name for a pair that tells nothing of it: names of fixtures tell what
// goes wrong there. It follows from the run, the fixture and the replicate, and is the
// same for everybody.
func Handle(run string, e *Entry) string {
	const digits = 10
	hash := fixtures.HashBytes(fmt.Appendf(nil, "%s\x00%s\x00%d", run, e.Fixture, e.Replicate))
	return "p" + string(hash[:digits])
}

// ErrAmbiguous says that a word stands for several pairs.
var ErrAmbiguous = errors.New("it stands for several pairs: give the short id of the one that is meant")

// FindPair is the place in the queue of a pair that is called by its name, by its handle
// or by its number, which counts from 1. It is [ErrNoPair] if none is called so, and
// [ErrAmbiguous] if one pair's name is another's number.
func FindPair(run string, queue []Entry, called string) (int, error) {
	number, err := strconv.Atoi(called)
	if err != nil {
		number = 0
	}
	found := -1
	for i := range queue {
		if queue[i].ID != called && i+1 != number && Handle(run, &queue[i]) != called {
			continue
		}
		if found >= 0 {
			return 0, fmt.Errorf("pair %.60q: %w", called, ErrAmbiguous)
		}
		found = i
	}
	if found < 0 {
		return 0, fmt.Errorf("pair %.60q: %w", called, ErrNoPair)
	}
	return found, nil
}
