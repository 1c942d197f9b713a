package pack

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/doubletake-dev/doubletake/fixtures"
)

// Limits say how much of a store may stay.
type Limits struct {
	// MaxAge is how long a blob may stay unused; 0 means for ever. Uses are noted to
	// within an hour.
	MaxAge time.Duration
	// MaxBytes is how large the store may be; 0 means any size. The blobs that were unused
	// for longest go first.
	MaxBytes int64
	// Keep spares what was stored or used since then; the zero time spares nothing.
	Keep time.Time
}

// Size is what a store holds.
type Size struct {
	// Entries counts blobs; Bytes is the size of the files.
	Entries int
	Bytes   int64
	// Oldest and Newest are when the blobs were last used, to within an hour; nil for an
	// empty store.
	Oldest, Newest *time.Time
}

// Trimmed is what a trim took out and left.
type Trimmed struct {
	Removed      int
	RemovedBytes int64
	// Held counts what had to go and stays: it lies where others store at the time, or where
	// nothing can be written.
	Held int
	Left Size
}

// Measure tells the size of the store in dir; one that isn't there is empty.
func Measure(dir string) (Size, error) {
	s, err := Open(dir, Options{})
	if err != nil {
		return Size{}, err
	}
	size, err := s.measure()
	return size, errors.Join(err, s.Close())
}

func (s *Store) measure() (Size, error) {
	size := Size{Entries: len(s.index)}
	for _, p := range s.index {
		used := time.Unix(0, p.used).UTC()
		if size.Oldest == nil || used.Before(*size.Oldest) {
			size.Oldest = &used
		}
		if size.Newest == nil || used.After(*size.Newest) {
			size.Newest = &used
		}
	}
	for _, seg := range s.segments {
		info, err := seg.file.Stat()
		if err != nil {
			return Size{}, fmt.Errorf("measuring the store in %s: %w", s.dir, err)
		}
		size.Bytes += info.Size()
	}
	return size, nil
}

// entry is a blob with its key.
type entry struct {
	Key
	place
}

// bytes is what the blob takes in a segment that holds nothing else of it.
func (e *entry) bytes() int64 {
	size := headSize + int64(e.length)
	if e.used > e.stored {
		size += headSize
	}
	return size
}

// Trim takes blobs out of the store in dir until it keeps to the limits. What lies in
// segments that others append to at the time stays. Others may read meanwhile.
func Trim(dir string, limits Limits, now time.Time) (Trimmed, error) {
	t, err := trim(dir, limits, now)
	if err != nil {
		return t, fmt.Errorf("trimming the store in %s: %w", dir, err)
	}
	return t, nil
}

func trim(dir string, limits Limits, now time.Time) (t Trimmed, err error) {
	s, err := Open(dir, Options{})
	if err != nil {
		return t, err
	}
	before, err := s.measure()
	// Each segment that nobody has is this store's for the while.
	free := map[*segment]bool{}
	for _, seg := range s.segments {
		taken, takeErr := s.takeOver(seg)
		err = errors.Join(err, takeErr)
		free[seg] = taken
	}
	if err == nil {
		t.Removed, t.Held, err = s.drop(free, limits, now)
	}
	if err = errors.Join(err, s.Close()); err != nil {
		return t, err
	}
	sweep(dir, time.Now())
	t.Left, err = Measure(dir)
	t.RemovedBytes = max(0, before.Bytes-t.Left.Bytes) // others may have appended
	return t, err
}

// drop takes out what the limits say, of what lies in free segments, and returns how many
// blobs that were, and how many had to go and lie elsewhere.
func (s *Store) drop(free map[*segment]bool, limits Limits, now time.Time) (removed, held int, err error) {
	var total int64
	spent := map[*segment]int64{} // what notes of use and blobs that were replaced take
	for _, seg := range s.segments {
		total += seg.size
		spent[seg] = seg.size
	}
	entries := make([]entry, 0, len(s.index))
	for key, p := range s.index {
		e := entry{key, p}
		entries = append(entries, e)
		spent[e.segment] -= e.bytes()
	}
	slices.SortFunc(entries, func(a, b entry) int {
		return cmp.Or(cmp.Compare(a.used, b.used), slices.Compare(a.Key[:], b.Key[:]))
	})
	over := func() bool { return limits.MaxBytes > 0 && total > limits.MaxBytes }
	shrunk := map[*segment]bool{}
	for seg, bytes := range spent {
		if over() && free[seg] && bytes > 0 {
			total -= bytes
			shrunk[seg] = true
		}
	}
	stay := map[*segment][]entry{}
	for _, e := range entries {
		used := time.Unix(0, e.used)
		old := limits.MaxAge > 0 && now.Sub(used) > limits.MaxAge
		spared := !limits.Keep.IsZero() && !used.Before(limits.Keep)
		goes := (old || over()) && !spared
		if goes && !free[e.segment] {
			held++
		}
		if !goes || !free[e.segment] {
			stay[e.segment] = append(stay[e.segment], e)
			continue
		}
		if !shrunk[e.segment] {
			total -= spent[e.segment]
			shrunk[e.segment] = true
		}
		total -= e.bytes()
		removed++
	}
	for seg := range shrunk {
		if err := s.shrink(seg, stay[seg]); err != nil {
			return removed, held, err
		}
	}
	return removed, held, nil
}

// shrink leaves of a segment what is to stay. It goes to a new one, so that who has the old
// one open goes on reading it.
func (s *Store) shrink(seg *segment, stay []entry) error {
	slices.SortFunc(stay, func(a, b entry) int { return cmp.Compare(a.offset, b.offset) })
	begin, _, _ := strings.Cut(seg.name, "-")
	write := func(out io.Writer) error {
		buffered := bufio.NewWriter(out)
		for _, e := range stay {
			record := make([]byte, headSize+int(e.length), e.bytes())
			h := head{key: e.Key, length: e.length, at: e.stored, hash: e.hash}
			h.append(record[:0])
			if _, err := seg.file.ReadAt(record[headSize:], e.offset); err != nil {
				return err
			}
			if e.used > e.stored {
				h = head{key: e.Key, at: e.used}
				record = h.append(record)
			}
			if _, err := buffered.Write(record); err != nil {
				return err
			}
		}
		return buffered.Flush()
	}
	if len(stay) > 0 {
		if err := fixtures.WriteFileAtomic(filepath.Join(s.dir, segmentName(begin)), write); err != nil {
			return err
		}
	}
	// Not every system removes what is open; the lock keeps others from it meanwhile.
	delete(s.segments, seg.name)
	err := errors.Join(seg.file.Close(), seg.writer.Close())
	seg.writer = nil
	if removeErr := os.Remove(filepath.Join(s.dir, seg.name)); removeErr != nil && !errors.Is(removeErr, fs.ErrNotExist) {
		err = errors.Join(err, fmt.Errorf("%w; it may belong to somebody else, choose another folder", removeErr))
	}
	return errors.Join(err, seg.release())
}

// sweep removes the locks of segments that are long gone. Whoever makes a segment locks it
// first, so that a lock without one may be of one that is about to be made.
func sweep(dir string, now time.Time) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		name, isLock := strings.CutSuffix(e.Name(), lockSuffix)
		if !isLock || !strings.HasSuffix(name, suffix) {
			continue
		}
		info, err := e.Info()
		if _, gone := os.Stat(filepath.Join(dir, name)); err != nil || !errors.Is(gone, fs.ErrNotExist) || now.Sub(info.ModTime()) < time.Hour {
			continue
		}
		_ = os.Remove(filepath.Join(dir, e.Name())) // left, it does no harm
	}
}
