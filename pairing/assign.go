package pairing

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

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

// WriteAssignment keeps an assignment in the run in dir. It is an error if a name is
// empty or stands twice, or if the overlap is not a share.
func WriteAssignment(dir string, a Assignment) error {
	if !(a.Overlap >= 0 && a.Overlap <= 1) {
		return fmt.Errorf("overlap %v is not between 0 and 1", a.Overlap)
	}
	for i, name := range a.Reviewers {
		if strings.TrimSpace(name) == "" || slices.Contains(a.Reviewers[:i], name) {
			return fmt.Errorf("reviewer %q: want each name once", name)
		}
	}
	return replay.WriteJSON(filepath.Join(dir, assignmentFile), a)
}

// ReadAssignment reads the assignment of the run in dir.
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
	return a, nil
}
