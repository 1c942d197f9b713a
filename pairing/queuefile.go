package pairing

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
)

// Place is where an entry stands in the file of the queue, so that one that is changed or
// missing is noticed.
type Place struct {
	Number int `json:"number"` // from 1
	Of     int `json:"of"`     // entries in the file
	// Seal is the checksum of the entry and its place.
	Seal fixtures.Hash `json:"seal"`
}

// ErrQueueChanged says that the file of a queue is not as a report wrote it.
var ErrQueueChanged = errors.New("the queue is not as it was written: run doubletake report on the run to write it again")

// ErrQueueUnsealed says that no entry of a queue is sealed: an earlier version wrote it, or
// somebody took the seals away.
var ErrQueueUnsealed = fmt.Errorf("the queue has no seals: %w", ErrQueueChanged)

// sealed is the entry with its place.
func (e Entry) sealed(number, of int) (Entry, error) {
	e.Place = &Place{Number: number, Of: of}
	seal, err := fixtures.HashJSON(&e)
	e.Place.Seal = seal
	return e, err
}

// WriteQueue writes the queue of the run in dir, whole or not at all.
func WriteQueue(dir string, queue []Entry) error {
	lines := make([]Entry, len(queue))
	for i := range queue {
		var err error
		if lines[i], err = queue[i].sealed(i+1, len(queue)); err != nil {
			return fmt.Errorf("writing the queue: entry %d: %w", i+1, err)
		}
	}
	return WriteLines(filepath.Join(dir, replay.QueueFile), lines)
}

// MendQueue writes the queue of the run in dir again where the file is there and does not
// say the same, and says whether it did.
func MendQueue(dir string, queue []Entry) (bool, error) {
	old, err := ReadQueue(dir)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err == nil && len(old) == len(queue) {
		same := true
		for i := range queue {
			a, errA := fixtures.HashJSON(&old[i])
			b, errB := fixtures.HashJSON(&queue[i])
			same = same && errA == nil && errB == nil && a == b
		}
		if same {
			return false, nil
		}
	}
	return true, WriteQueue(dir, queue)
}

// ReadQueue reads the queue of the run in dir. The error is [ErrQueueChanged] where an entry
// is not as it was written or is missing, and [ErrQueueUnsealed], too, where it has no seal.
func ReadQueue(dir string) ([]Entry, error) {
	path := filepath.Join(dir, replay.QueueFile)
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("reading the queue: %w", err)
	}
	defer file.Close()
	var queue []Entry
	of := 0
	dec := json.NewDecoder(bufio.NewReader(file))
	for {
		var entry Entry
		err := dec.Decode(&entry)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("reading the queue: %s: entry %d: %w (%w)", path, len(queue)+1, err, ErrQueueChanged)
		}
		place := entry.Place
		if place == nil {
			return nil, fmt.Errorf("reading the queue: %s: entry %d: %w", path, len(queue)+1, ErrQueueUnsealed)
		}
		again, err := entry.sealed(len(queue)+1, place.Of)
		if err != nil {
			return nil, fmt.Errorf("reading the queue: %s: entry %d: %w", path, len(queue)+1, err)
		}
		if of == 0 {
			of = place.Of
		}
		if *place != *again.Place || place.Of != of {
			return nil, fmt.Errorf("reading the queue: %s: entry %d: its seal does not fit: %w", path, len(queue)+1, ErrQueueChanged)
		}
		entry.Place = nil
		queue = append(queue, entry)
	}
	if len(queue) == 0 {
		err = noneDisagree(dir)
	} else if len(queue) != of {
		err = fmt.Errorf("%d of %d entries: %w", len(queue), of, ErrQueueChanged)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the queue: %s: %w", path, err)
	}
	return queue, nil
}

// noneDisagree says whether the pairs of a run let its queue be empty.
func noneDisagree(dir string) error {
	pairs, err := fixtures.ReadLog[Pair](filepath.Join(dir, replay.PairsFile))
	if err != nil {
		return err
	}
	for i := range pairs {
		if pairs[i].Cell.Discordant() {
			return fmt.Errorf("it is empty, and %s disagrees: %w", pairs[i].ID, ErrQueueChanged)
		}
	}
	return nil
}
