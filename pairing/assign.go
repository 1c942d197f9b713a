package pairing

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
)

// Assignment says who looks at which pair.
type Assignment struct {
	Reviewers []string `json:"reviewers"`
	// Overlap is the share of pairs that a second reviewer looks at as well, 0 to 1, so
	// that agreement can be measured.
	Overlap float64 `json:"overlap"`
	Seed    uint64  `json:"seed"`
}

// Of names the reviewers of each pair, the first one first. It depends on the names of
// pairs and reviewers and on the seed alone. Each reviewer gets as many pairs as any
// other, give or take one.
func (a Assignment) Of(pairs []string) map[string][]string {
	reviewers := slices.Sorted(slices.Values(a.Reviewers))
	reviewers = slices.Compact(reviewers)
	out := map[string][]string{}
	if len(reviewers) == 0 {
		return out
	}
	order := slices.Clone(pairs)
	slices.SortFunc(order, func(x, y string) int {
		return cmp.Or(cmp.Compare(fixtures.Lot(a.Seed, x), fixtures.Lot(a.Seed, y)), cmp.Compare(x, y))
	})
	twice := int(a.Overlap*float64(len(order)) + 0.5)
	if len(reviewers) == 1 {
		twice = 0
	}
	n := 0
	next := func() string {
		r := reviewers[n%len(reviewers)]
		n++
		return r
	}
	for i, pair := range order {
		out[pair] = []string{next()}
		if i < twice {
			out[pair] = append(out[pair], next())
		}
	}
	return out
}

// assignmentFile is where a run keeps who looks at what.
const assignmentFile = "assignment.json"

// check says what is wrong with an assignment.
func (a Assignment) check() error {
	if !(a.Overlap >= 0 && a.Overlap <= 1) {
		return fmt.Errorf("overlap %v is not between 0 and 1", a.Overlap)
	}
	for i, name := range a.Reviewers {
		if kept, err := ReviewerName(name); err != nil {
			return err
		} else if kept != name || slices.ContainsFunc(a.Reviewers[:i], func(other string) bool { return SameReviewer(other, name) }) {
			return fmt.Errorf("reviewer %.40q: want each name once, without spaces around it", name)
		}
	}
	return nil
}

// WriteAssignment keeps an assignment in the run in dir. It is an error if a name is none
// or stands twice, however spelled, or if the overlap is not a share.
func WriteAssignment(dir string, a Assignment) error {
	if err := a.check(); err != nil {
		return err
	}
	return replay.WriteJSON(filepath.Join(dir, assignmentFile), a)
}

// ReadAssignment reads the assignment of the run in dir. It is an error if it is not one
// that [WriteAssignment] would write.
func ReadAssignment(dir string) (Assignment, error) {
	var a Assignment
	path := filepath.Join(dir, assignmentFile)
	data, err := os.ReadFile(path)
	if err != nil {
		return a, fmt.Errorf("reading who looks at what: %w; doubletake review assign shares the queue out", err)
	}
	if err := json.Unmarshal(data, &a); err != nil {
		return a, fmt.Errorf("reading who looks at what: %s: %w", path, err)
	}
	if err := a.check(); err != nil {
		return Assignment{}, fmt.Errorf("reading who looks at what: %s: %w; doubletake review assign shares the queue out anew", path, err)
	}
	return a, nil
}
