package pairing

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/doubletake-dev/doubletake/fixtures"
)

// Merged is what came of merging a log of verdicts into another.
type Merged struct {
	// Added lines are new here, Known ones stood here before.
	Added int `json:"added"`
	Known int `json:"known"`
	// Stale counts the added verdicts on evidence that is not this run's, which are kept
	// and not applied; StalePairs names their pairs.
	Stale      int      `json:"stale"`
	StalePairs []string `json:"stale_pairs"`
	// By counts the added lines by reviewer.
	By map[string]int `json:"by"`
}

// Merge adds the lines of another log of the same run: of reviewers who worked on a copy.
// Each keeps who gave it and when, and its seal, and gets a number and a place in the chain of this log. A line that
// stands here already is left out, so that merging twice is merging once; and what stands
// afterwards is the same whichever log was merged into which.
//
// Nothing is added if a line has no seal or one that does not fit, if it is of another run
// or says of none, or if its pair is not in the queue.
func (r *Review) Merge(lines []Verdict) (Merged, error) {
	m := Merged{StalePairs: []string{}, By: map[string]int{}}
	if err := checkLog(lines); err != nil {
		return m, fmt.Errorf("merging verdicts: %w", err)
	}
	known := map[fixtures.Hash]bool{}
	for i := range r.Verdicts {
		known[r.Verdicts[i].identity()] = true
	}
	now, stale := map[string]Evidence{}, map[string]bool{}
	var added []Verdict
	var faults []error
	for _, v := range lines {
		if v.Run == "" {
			faults = append(faults, fmt.Errorf("verdict %d does not say of which run it is, since an earlier version wrote it: give it anew in the copy", v.Number))
			continue
		}
		if err := OfRun([]Verdict{v}, r.Record.Run.ID); err != nil {
			faults = append(faults, err)
			continue
		}
		entry, err := r.Entry(v.Pair)
		if err != nil {
			faults = append(faults, fmt.Errorf("verdict %d: %w: the log is of another run", v.Number, err))
			continue
		}
		id := v.identity()
		if known[id] {
			m.Known++
			continue
		}
		known[id] = true
		if _, ok := now[v.Pair]; !ok {
			now[v.Pair] = evidence(r.Record, &entry.Pair)
		}
		if v.Ruling != "" && v.Evidence != now[v.Pair] {
			m.Stale++
			stale[v.Pair] = true
		}
		v.Order, v.Number = v.order(), len(r.Verdicts)+len(added)+1
		if v.Order == v.Number {
			v.Order = 0
		}
		v.Prev = before(slices.Concat(r.Verdicts[max(0, len(r.Verdicts)-1):], added[max(0, len(added)-1):]), &v)
		added = append(added, v)
		m.By[v.By]++
	}
	if len(faults) > 0 {
		return Merged{}, fmt.Errorf("merging verdicts: %w", errors.Join(faults...))
	}
	m.Added, m.StalePairs = len(added), append(m.StalePairs, slices.Sorted(maps.Keys(stale))...)
	if len(added) == 0 {
		return m, nil
	}
	if err := r.log.Append(added...); err != nil {
		return Merged{}, err
	}
	r.Verdicts = append(r.Verdicts, added...)
	for _, v := range added {
		r.seen[seenBy(v.By, v.Pair)] = true
	}
	return m, r.noteHead()
}

// order is the number that a line had where it was given.
func (v *Verdict) order() int { return cmp.Or(v.Order, v.Number) }

// identity is the same for a line in whichever log it stands.
func (v *Verdict) identity() fixtures.Hash {
	bare := *v
	bare.Number, bare.Order = v.order(), 0 // earlier versions sealed the number
	return bare.seal()
}

// compareLines orders lines by when they were given. It is the same in every log that
// holds them.
func compareLines(a, b Verdict) int {
	if c := cmp.Or(a.At.Compare(b.At), cmp.Compare(a.order(), b.order())); c != 0 {
		return c
	}
	return cmp.Compare(a.identity(), b.identity())
}

// inOrder sorts a copy of lines.
func inOrder(lines []Verdict) []Verdict {
	lines = slices.Clone(lines)
	slices.SortFunc(lines, compareLines)
	return lines
}

// putLast lets a new line come after every one that its reviewer has on the pair, and after
// all of the same second, whatever the clocks of those said that were merged.
func (r *Review) putLast(v *Verdict) {
	last := 0
	for i := range r.Verdicts {
		old := &r.Verdicts[i]
		last = max(last, old.order())
		if old.Pair == v.Pair && old.At.After(v.At) && SameReviewer(old.By, v.By) {
			v.At = old.At
		}
	}
	if last >= v.Number {
		v.Order = last + 1
	}
}
