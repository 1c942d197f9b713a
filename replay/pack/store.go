package pack

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gofrs/flock"
	"github.com/klauspost/compress/zstd"
	"github.com/zeebo/xxh3"

	"github.com/doubletake-dev/doubletake/fixtures"
)

// ErrMissing says that a store holds nothing whole under a key; ErrDamaged is it, and says
// that there was something.
var (
	ErrMissing = errors.New("not in the store")
	ErrDamaged = fmt.Errorf("damaged, and so %w", ErrMissing)
)

// suffix ends the name of a segment; that of its lock has lockSuffix behind it.
const (
	suffix     = ".pack.zst"
	lockSuffix = ".lock"
)

// useNoted is how exactly the last use of a blob is known.
const useNoted = time.Hour

// maxSegment is from which size on a segment is left as it is, in bytes.
const maxSegment = 256 << 20

// maxBlob bounds what a blob may unpack to, in bytes.
const maxBlob = 1 << 30

// Options say how a store is kept.
type Options struct {
	// Private keeps other users of the machine from reading.
	Private bool
	// Uses has it noted when a blob was last read, to within an hour: for [Trim].
	Uses bool
}

// Store is a folder of blobs. It is safe for concurrent use.
type Store struct {
	dir     string
	options Options
	now     func() time.Time
	encoder func() (*zstd.Encoder, error)
	// quick is encoder without the second half of its work, which the small blobs are not
	// worth.
	quick   func() (*zstd.Encoder, error)
	decoder func() (*zstd.Decoder, error)

	mu       sync.Mutex
	segments map[string]*segment // by name
	index    map[Key]place
	own      *segment // what this store appends to; nil until it does
	// listed is the folder's time when its files were listed, at listedAt.
	listed, listedAt time.Time
	unsynced         bool // something was appended that may not be on the disk yet
}

// segment is one file of a store.
type segment struct {
	name string
	file *os.File // to read
	size int64    // of the whole records that are known

	// Of a segment that this store may append to; else nil.
	writer *os.File
	lock   *flock.Flock
}

// place is where a blob lies.
type place struct {
	segment *segment
	offset  int64
	length  uint32
	hash    uint64
	// stored and used are nanoseconds since 1970. Of two blobs of one key the one that was
	// stored later counts, wherever it lies.
	stored, used int64
}

// Open opens the store in dir, which is made with the first blob.
func Open(dir string, options Options) (*Store, error) {
	s := &Store{
		dir: dir, options: options, now: time.Now, segments: map[string]*segment{}, index: map[Key]place{},
		// Making a coder costs more than using it.
		encoder: newEncoder(false),
		quick:   newEncoder(true),
		decoder: sync.OnceValues(func() (*zstd.Decoder, error) { return zstd.NewReader(nil, zstd.WithDecoderMaxMemory(maxBlob)) }),
	}
	if err := s.refresh(); err != nil {
		return nil, errors.Join(fmt.Errorf("opening the store in %s: %w", dir, err), s.Close())
	}
	return s, nil
}

// newEncoder makes an encoder when it is first wanted.
func newEncoder(plain bool) func() (*zstd.Encoder, error) {
	return sync.OnceValues(func() (*zstd.Encoder, error) {
		return zstd.NewWriter(nil, zstd.WithLowerEncoderMem(true), zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithNoEntropyCompression(plain))
	})
}

// smallBlob is up to which size, in bytes, a blob is packed quickly: packing it tightly
// would take twice as long and save some hundred bytes.
const smallBlob = 2 << 10

// refresh learns what others appended. The store is held, or nobody else has it yet.
func (s *Store) refresh() error {
	info, err := os.Stat(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	// A folder's time is as coarse as the system's clock ticks: while it is young, something
	// may have been made in it that it does not tell of.
	const tick = 100 * time.Millisecond
	if changed := info.ModTime(); !changed.Equal(s.listed) || s.listedAt.Sub(changed) < tick {
		s.listedAt, s.listed = time.Now(), changed
		if err := s.list(); err != nil {
			return err
		}
	}
	for name, seg := range s.segments {
		if seg == s.own {
			continue
		}
		if err := s.read(seg); err != nil {
			return fmt.Errorf("reading %s: %w", name, err)
		}
	}
	return nil
}

// list learns which segments there are, and reads those that are new in their order: of two
// blobs of one key the later counts.
func (s *Store) list() error {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		name := entry.Name()
		if !strings.HasSuffix(name, suffix) || !entry.Type().IsRegular() {
			continue
		}
		if s.segments[name] != nil {
			continue
		}
		file, err := os.Open(filepath.Join(s.dir, name))
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
			continue // trimmed meanwhile; or somebody else's
		}
		if err != nil {
			return err
		}
		seg := &segment{name: name, file: file}
		s.segments[name] = seg
		if err := s.read(seg); err != nil {
			return fmt.Errorf("reading %s: %w", name, err)
		}
	}
	return nil
}

// read takes in the records of a segment that are not known yet.
func (s *Store) read(seg *segment) error {
	info, err := seg.file.Stat()
	if err != nil || info.Size() <= seg.size {
		return err
	}
	seg.size, err = scan(seg.file, seg.size, info.Size(), func(h head, offset int64) { s.add(seg, h, offset) })
	return err
}

// add takes in a record.
func (s *Store) add(seg *segment, h head, offset int64) {
	p, known := s.index[h.key]
	if h.length == 0 { // a note of use
		if known {
			p.used = max(p.used, h.at)
			s.index[h.key] = p
		}
		return
	}
	if known && h.at < p.stored {
		return
	}
	s.index[h.key] = place{seg, offset, h.length, h.hash, h.at, max(p.used, h.at)}
}

// Get returns the blob of a key. The error is [ErrMissing] where there is none that is
// whole.
func (s *Store) Get(key Key) ([]byte, error) {
	p, ok, err := s.find(key)
	if err != nil {
		return nil, fmt.Errorf("reading from the store in %s: %w", s.dir, err)
	}
	if !ok {
		return nil, ErrMissing
	}
	packed, err := p.read()
	if err != nil {
		return nil, err
	}
	decoder, err := s.decoder()
	if err != nil {
		return nil, err
	}
	data, err := decoder.DecodeAll(packed, nil)
	if err != nil {
		return nil, ErrDamaged
	}
	return data, nil
}

// read reads the frame of a blob.
func (p *place) read() ([]byte, error) {
	packed := make([]byte, p.length)
	if _, err := p.segment.file.ReadAt(packed, p.offset); err != nil || xxh3.Hash(packed) != p.hash {
		return nil, ErrDamaged
	}
	return packed, nil
}

// find looks a key up, and notes its use.
func (s *Store) find(key Key) (place, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, ok := s.index[key]
	if !ok {
		if err := s.refresh(); err != nil {
			return p, false, err
		}
		if p, ok = s.index[key]; !ok {
			return p, false, nil
		}
	}
	if now := s.now(); s.options.Uses && now.Sub(time.Unix(0, p.used)) > useNoted {
		h := head{key: key, at: now.UnixNano()}
		// Who may not write reads all the same; its use is noted for itself alone.
		_, _ = s.append(h.append(nil))
		p.used = h.at
		s.index[key] = p
	}
	return p, true, nil
}

// Put stores a blob under a key, in place of what was there. It is safe from the end of
// this process, though not from that of the machine.
func (s *Store) Put(key Key, data []byte) error {
	pick, size := s.encoder, headSize+len(data)/2+64
	if len(data) <= smallBlob {
		pick, size = s.quick, headSize+len(data)+64
	}
	encoder, err := pick()
	if err != nil {
		return err
	}
	record := make([]byte, headSize, size)
	record = encoder.EncodeAll(data, record)
	packed := record[headSize:]
	if int64(len(packed)) > maxBlob {
		return fmt.Errorf("storing %d bytes in %s: too large", len(data), s.dir)
	}
	h := head{key: key, length: uint32(len(packed)), at: s.now().UnixNano(), hash: xxh3.Hash(packed)}
	h.append(record[:0])
	s.mu.Lock()
	defer s.mu.Unlock()
	offset, err := s.append(record)
	if err != nil {
		return fmt.Errorf("storing in %s: %w", s.dir, err)
	}
	s.add(s.own, h, offset+headSize)
	return nil
}

// Has says whether a blob is stored under a key, as far as this store knows: what others
// appended since it was opened or last missed something may not be known.
func (s *Store) Has(key Key) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.index[key]
	return ok
}

// Whole is Has for what can be read back.
func (s *Store) Whole(key Key) bool {
	s.mu.Lock()
	p, ok := s.index[key]
	s.mu.Unlock()
	if ok {
		_, err := p.read()
		ok = err == nil
	}
	return ok
}

// Sync returns once all that was stored before is safe from the end of the machine, too.
func (s *Store) Sync() error {
	s.mu.Lock()
	own, unsynced := s.own, s.unsynced
	s.unsynced = false
	s.mu.Unlock()
	if own == nil || !unsynced {
		return nil
	}
	// A second handle: the store may let go of its own meanwhile.
	if err := fixtures.SyncFile(filepath.Join(s.dir, own.name)); err != nil {
		s.mu.Lock()
		s.unsynced = true
		s.mu.Unlock()
		return fmt.Errorf("flushing the store in %s: %w", s.dir, err)
	}
	return nil
}

// append writes a record behind the others of the store's own segment, and returns where.
// The store is held.
func (s *Store) append(record []byte) (int64, error) {
	if s.own == nil || s.own.size > maxSegment {
		if err := s.take(); err != nil {
			return 0, err
		}
	}
	at := s.own.size
	if _, err := s.own.writer.WriteAt(record, at); err != nil {
		// What is half-written goes. Where even that fails, the next record is written over it.
		_ = s.own.writer.Truncate(at)
		return 0, err
	}
	s.own.size += int64(len(record))
	s.unsynced = true
	return at, nil
}

// take makes a segment the store's own: the newest that nobody has and that isn't large,
// else a new one.
func (s *Store) take() error {
	if s.own != nil {
		own := s.own
		if err := own.writer.Sync(); err != nil { // Sync knows of the new one alone
			return err
		}
		s.own = nil
		if err := own.release(); err != nil {
			return err
		}
	}
	folder := os.FileMode(0o755)
	if s.options.Private {
		folder = 0o700
	}
	if err := os.MkdirAll(s.dir, folder); err != nil {
		return err
	}
	names := slices.Sorted(maps.Keys(s.segments))
	for _, name := range slices.Backward(names) {
		seg := s.segments[name]
		if seg.size > maxSegment {
			continue
		}
		taken, err := s.takeOver(seg)
		if err != nil {
			return err
		}
		if taken {
			s.own = seg
			return nil
		}
	}
	return s.create()
}

// takeOver makes a segment of before the store's to append to, and says whether it could:
// not where somebody has it, or where it can't be written.
func (s *Store) takeOver(seg *segment) (bool, error) {
	path := filepath.Join(s.dir, seg.name)
	// Opening a pipe would wait, and a link leads elsewhere.
	if info, err := os.Lstat(path + lockSuffix); err == nil && !info.Mode().IsRegular() {
		return false, nil
	}
	lock := flock.New(path + lockSuffix)
	if locked, err := lock.TryLock(); err != nil || !locked {
		return false, nil
	}
	// Without making it: it may have been trimmed away meanwhile. No other ever takes its
	// name, so that it is the file that is known.
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return false, lock.Unlock()
	}
	seg.writer, seg.lock = file, lock
	if err := s.read(seg); err != nil {
		return false, errors.Join(fmt.Errorf("reading %s: %w", seg.name, err), seg.release())
	}
	if err := file.Truncate(seg.size); err != nil {
		return false, seg.release()
	}
	return true, nil
}

// create makes a segment of the store's own.
func (s *Store) create() error {
	name := segmentName(fmt.Sprintf("%016x", time.Now().UnixNano()))
	path := filepath.Join(s.dir, name)
	lock := flock.New(path + lockSuffix)
	locked, err := lock.TryLock()
	if err == nil && !locked {
		err = errors.New("somebody else has a segment of the same name")
	}
	if err != nil {
		return fmt.Errorf("locking %s: %w", path, err)
	}
	mode := os.FileMode(0o644)
	if s.options.Private {
		mode = 0o600
	}
	seg := &segment{name: name, lock: lock}
	if seg.writer, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, mode); err == nil {
		seg.file, err = os.Open(path)
	}
	if err != nil {
		return errors.Join(err, seg.release())
	}
	s.own, s.segments[name] = seg, seg
	return nil
}

// segmentName makes a name that no other segment has, and that is listed by its begin.
func segmentName(begin string) string {
	return fmt.Sprintf("%s-%08x%s", begin, rand.Uint32(), suffix)
}

// Close closes the files. The store is not to be used after it.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var faults []error
	for _, seg := range s.segments {
		faults = append(faults, seg.release(), seg.file.Close())
	}
	s.segments, s.own, s.index = map[string]*segment{}, nil, map[Key]place{}
	if err := errors.Join(faults...); err != nil {
		return fmt.Errorf("closing the store in %s: %w", s.dir, err)
	}
	return nil
}

// release lets others append to a segment.
func (g *segment) release() error {
	var faults []error
	if g.writer != nil {
		faults = append(faults, g.writer.Close())
	}
	if g.lock != nil {
		faults = append(faults, g.lock.Unlock())
	}
	g.writer, g.lock = nil, nil
	return errors.Join(faults...)
}
