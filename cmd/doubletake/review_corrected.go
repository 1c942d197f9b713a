package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

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

func (w *work) corrections() ([]byte, error) {
	data, err := os.ReadFile(filepath.Join(w.review.dir, correctionsFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return data, err
}

// corrected says whether the fixture in the set is what this run's corrections made of
// the one that was played.
func (w *work) corrected() (bool, error) {
	data, err := w.corrections()
	if err != nil {
		return false, fmt.Errorf("reading what was corrected: %w", err)
	}
	lines := bufio.NewScanner(bytes.NewReader(data))
	for lines.Scan() {
		var c correction
		// A line that is none says of no fixture that it was corrected.
		if json.Unmarshal(lines.Bytes(), &c) == nil && c.Played == w.entry.Fixture && c.Now == w.fixture.Hash {
			return true, nil
		}
	}
	return false, lines.Err()
}

// remember notes what the fixture became.
func (w *work) remember(set *fixtures.Set) error {
	data, err := w.corrections()
	if err != nil {
		return err
	}
	for _, f := range set.Fixtures {
		if f.ConversationID != w.entry.ConversationID {
			continue
		}
		line, err := json.Marshal(correction{w.entry.Fixture, f.Hash})
		if err != nil {
			return err
		}
		data = append(append(data, line...), '\n')
	}
	return fixtures.WriteFileAtomic(filepath.Join(w.review.dir, correctionsFile), func(out io.Writer) error {
		_, err := out.Write(data)
		return err
	})
}
