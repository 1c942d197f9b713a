package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/doubletake-dev/doubletake/fixtures"
)

// correctionsFile is where a run keeps what its review made of fixtures, so that a
// fixture that was corrected once may be corrected once more.
const correctionsFile = "corrections.jsonl"

// correction is one change of a fixture.
type correction struct {
	Played fixtures.Hash `json:"played"` // the fixture of the run
	Now    fixtures.Hash `json:"now"`    // what it became
}

func (w *work) correctionsPath() string { return filepath.Join(w.review.dir, correctionsFile) }

// corrected says whether the fixture in the set is what this run's corrections made of
// the one that was played.
func (w *work) corrected() (bool, error) {
	made, err := fixtures.ReadLog[correction](w.correctionsPath())
	if err != nil {
		return false, fmt.Errorf("reading what was corrected: %w", err)
	}
	return slices.Contains(made, correction{w.entry.Fixture, w.fixture.Hash}), nil
}

// remember notes what the fixture became.
func (w *work) remember(set *fixtures.Set) error {
	log, _, err := fixtures.OpenLog[correction](w.correctionsPath())
	if err != nil {
		return err
	}
	for _, f := range set.Fixtures {
		if f.ConversationID == w.entry.ConversationID {
			err = log.Append(correction{w.entry.Fixture, f.Hash})
		}
	}
	return errors.Join(err, log.Close())
}
