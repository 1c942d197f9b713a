package pairing

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
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
)

// Record adds the line to the log of the run in dir, unless the same reviewer saw the
// same pair before. It may be called while a server or another process has the review of
// the run open. The time is kept to the second, in UTC. It is an error if nobody or no
// pair is named, or if the run directory can't be written to.
func (u Unblinded) Record(dir string) error {
	if strings.TrimSpace(u.By) == "" || u.Pair == "" {
		return errors.New("recording who saw the arms: want a reviewer and a pair")
	}
	log, lines, err := openUnblinded(dir)
	if err != nil {
		return fmt.Errorf("recording that %s saw the arms of %s: %w", u.By, u.Pair, err)
	}
	if !unblinded(lines, u.By, u.Pair) {
		u.At = u.At.UTC().Truncate(time.Second)
		err = log.Append(u)
	}
	return errors.Join(err, log.Close())
}

// openUnblinded opens the log for one line. Others have it for a moment only, which is
// waited for.
func openUnblinded(dir string) (log *fixtures.Log[Unblinded], lines []Unblinded, err error) {
	const tries, pause = 100, 20 * time.Millisecond
	for range tries {
		log, lines, err = fixtures.OpenLog[Unblinded](filepath.Join(dir, UnblindedFile))
		if !errors.Is(err, fixtures.ErrLogInUse) {
			break
		}
		time.Sleep(pause)
	}
	return log, lines, err
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
	return slices.ContainsFunc(lines, func(u Unblinded) bool { return u.By == by && u.Pair == pair })
}

// unblindedSize is how long the log is; what is only added to changes its size.
func unblindedSize(dir string) int64 {
	info, err := os.Stat(filepath.Join(dir, UnblindedFile))
	if err != nil {
		return 0 // nobody saw any
	}
	return info.Size()
}
