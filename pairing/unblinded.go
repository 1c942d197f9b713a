package pairing

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/doubletake-dev/doubletake/fixtures"
)

// UnblindedFile is the log of who saw which arm is which in a run directory, other than
// by a verdict of their own.
const UnblindedFile = "unblinded.jsonl"

// Unblinded is one line of that log: a reviewer who saw the named arms of a pair. A later
// verdict of theirs on the pair is not blind.
type Unblinded struct {
	At   time.Time `json:"at"`
	By   string    `json:"by"`
	Pair string    `json:"pair"`
	// How they came to see it.
	How UnblindedHow `json:"how"`
}

// UnblindedHow is the way in which a reviewer saw the arms of a pair.
type UnblindedHow string

// The ways.
const (
	UnblindedOnPage UnblindedHow = "page" // a page that names the sides
	UnblindedByShow UnblindedHow = "show" // the pair printed at a terminal
	UnblindedByList UnblindedHow = "list" // the pair in a list that says how each came out
)

// Record adds the line to the log of the run in dir, unless the same reviewer saw the
// same pair before. It may be called while a server or another process has the review of
// the run open. The time is kept to the second, in UTC. It is an error if nobody or no
// pair is named, or if the run directory can't be written to.
func (u Unblinded) Record(dir string) error { return RecordUnblinded(dir, u) }

// RecordUnblinded adds several lines to the log at once, as [Unblinded.Record] does.
func RecordUnblinded(dir string, seen ...Unblinded) error {
	if len(seen) == 0 {
		return nil
	}
	seen = slices.Clone(seen)
	for i := range seen {
		u := &seen[i]
		if u.By == "" || u.Pair == "" {
			return errors.New("recording who saw the arms: want a reviewer and a pair")
		}
		name, err := ReviewerName(u.By)
		if err != nil {
			return fmt.Errorf("recording who saw the arms: %w", err)
		}
		u.By, u.At = name, u.At.UTC().Truncate(time.Second)
	}
	log, lines, err := fixtures.OpenLog[Unblinded](filepath.Join(dir, UnblindedFile))
	if err != nil {
		return fmt.Errorf("recording that %s saw the arms of %s: %w", seen[0].By, seen[0].Pair, err)
	}
	seen = slices.DeleteFunc(seen, func(u Unblinded) bool { return unblinded(lines, u.By, u.Pair) })
	if len(seen) > 0 {
		err = log.Append(seen...)
	}
	return errors.Join(err, log.Close())
}

// ReadUnblinded reads who saw which arms in the run in dir; nobody did where there is no
// such log.
func ReadUnblinded(dir string) ([]Unblinded, error) {
	lines, err := fixtures.ReadLog[Unblinded](filepath.Join(dir, UnblindedFile))
	if err != nil {
		return nil, fmt.Errorf("reading who saw the arms: %w", err)
	}
	return lines, nil
}

func unblinded(lines []Unblinded, by, pair string) bool {
	return slices.ContainsFunc(lines, func(u Unblinded) bool { return u.Pair == pair && SameReviewer(u.By, by) })
}

// unblindedSize is how long the log is; what is only added to changes its size.
func unblindedSize(dir string) int64 {
	info, err := os.Stat(filepath.Join(dir, UnblindedFile))
	if err != nil {
		return 0 // nobody saw any
	}
	return info.Size()
}
