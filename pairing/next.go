package pairing

import "slices"

// Next is the place in the queue of the next pair that a reviewer has still to decide, or
// -1 where none is left: first those that are assigned to them, then those that are not
// decided. It looks from a place on and goes round once; pairs that keep does not satisfy
// are passed over. Assigned is nil where the queue was not shared out.
func Next(standings []Standing, assigned map[string][]string, reviewer string, from int, keep func(i int) bool) int {
	n := len(standings)
	other := -1
	for k := range n {
		i := (from + k) % n
		s := &standings[i]
		if !keep(i) || s.Mine(reviewer) != nil {
			continue
		}
		if slices.ContainsFunc(assigned[s.Pair], func(name string) bool { return SameReviewer(name, reviewer) }) {
			return i
		}
		if other < 0 && s.State != Decided {
			other = i
		}
	}
	return other
}

// Mine is the verdict of a reviewer that stands, or nil.
func (s *Standing) Mine(reviewer string) *Verdict {
	for i := range s.Verdicts {
		if SameReviewer(s.Verdicts[i].By, reviewer) {
			return &s.Verdicts[i]
		}
	}
	return nil
}
