package pairing

import "github.com/doubletake-dev/doubletake/fixtures"

// Swapped says whether the second arm of a pair stands on the left for a reviewer who is
// not to know which arm is which. It depends on the run's id, the reviewer and the pair
// alone, so that a page and a terminal show the same sides on any day.
func Swapped(run, reviewer, pair string) bool {
	var seed uint64
	for _, digit := range []byte(fixtures.HashBytes([]byte(run))) {
		seed = seed<<4 | uint64(digit&0xf)
	}
	lot := fixtures.Lot(seed, ReviewerKey(reviewer)+"\x00"+pair)
	return lot[len(lot)-1]&1 == 1
}

// seenKey is a reviewer, however spelled, and a pair.
type seenKey struct{ by, pair string }

func seenBy(reviewer, pair string) seenKey { return seenKey{ReviewerKey(reviewer), pair} }

// Seen says whether a reviewer knows which arm of a pair is which: a line of theirs on it
// stands in the log of verdicts, or they saw the arms named. It knows what stood in the
// run directory when the review was opened, or at the last [Review.Refresh].
func (r *Review) Seen(by, pair string) bool { return r.seen[seenBy(by, pair)] }

// Unblind records that a reviewer saw the arms of a pair named, so that a later verdict of
// theirs on it is not blind.
func (r *Review) Unblind(by, pair string, how UnblindedHow) error {
	if r.Seen(by, pair) {
		return nil
	}
	if _, err := r.Entry(pair); err != nil {
		return err
	}
	if err := (Unblinded{At: r.now(), By: by, Pair: pair, How: how}).Record(r.dir); err != nil {
		return err
	}
	r.seen[seenBy(by, pair)] = true
	return nil
}

// Refresh takes in what other processes recorded meanwhile of who saw which arms.
func (r *Review) Refresh() error {
	size := unblindedSize(r.dir)
	if size == r.unblindedSize {
		return nil
	}
	lines, err := ReadUnblinded(r.dir)
	if err != nil {
		return err
	}
	for _, u := range lines {
		r.seen[seenBy(u.By, u.Pair)] = true
	}
	r.unblindedSize = size
	return nil
}
