package replay

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	jsonv1 "github.com/go-json-experiment/json/v1"

	"github.com/doubletake-dev/doubletake/fixtures"
)

// Journal is an append-only file of JSON records, one a line, each with a checksum
// of itself as its last field. A record counts once it is whole and its checksum
// fits. It is safe for concurrent use: what is appended while a commit is on its way to
// the disk goes there together, in the next one.
type Journal[T any] struct {
	path string
	file journalFile
	// names are the contexts that the records name; nil for none.
	names *Contexts

	mu   sync.Mutex
	next *commit // gathers what is appended meanwhile; nil for nothing

	// committing is held for a commit, and guards size.
	committing sync.Mutex
	size       int64 // of the whole lines; what lies beyond is torn
}

// commit is the lines that go to the disk together.
type commit struct {
	lines []byte
	done  chan struct{} // closed once they are there, or err says why not
	err   error
}

// journalFile is what a journal needs of its file.
type journalFile interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	Stat() (os.FileInfo, error)
	Sync() error
	Truncate(size int64) error
}

// sumField begins the checksum at the end of a line.
const sumField = `,"sum":"`

// OpenJournal opens or creates the journal at path for appending. A torn last
// line, as a killed process leaves it, is cut off; a last line that lacks nothing
// but its end gets it.
func OpenJournal[T any](path string) (*Journal[T], error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("opening the journal: %w", err)
	}
	j := &Journal[T]{path: path, file: file}
	if err := j.mend(); err != nil {
		return nil, errors.Join(fmt.Errorf("opening the journal %s: %w", path, err), file.Close())
	}
	return j, nil
}

// mend brings the file to whole lines.
func (j *Journal[T]) mend() error {
	info, err := j.file.Stat()
	if err != nil {
		return err
	}
	if j.size, err = wholeLength(j.file, info.Size()); err != nil {
		return err
	}
	tail := make([]byte, info.Size()-j.size)
	if len(tail) == 0 {
		return nil
	}
	if _, err := j.file.ReadAt(tail, j.size); err != nil {
		return err
	}
	if openLine(tail) == nil {
		return j.file.Truncate(j.size)
	}
	if _, err := j.file.WriteAt([]byte("\n"), info.Size()); err != nil {
		return err
	}
	j.size = info.Size() + 1
	return j.file.Sync()
}

// wholeLength is the length of a file of that size up to its last line end.
func wholeLength(file io.ReaderAt, size int64) (int64, error) {
	const chunk = 1 << 16
	buf := make([]byte, chunk)
	for end := size; end > 0; {
		start := max(0, end-chunk)
		n, err := file.ReadAt(buf[:end-start], start)
		if err != nil && err != io.EOF {
			return 0, err
		}
		if i := bytes.LastIndexByte(buf[:n], '\n'); i >= 0 {
			return start + int64(i) + 1, nil
		}
		end = start
	}
	return 0, nil
}

// Names says which contexts the records name: a record counts only once they are on the
// disk, too. It is to be called before the first Append.
func (j *Journal[T]) Names(contexts *Contexts) { j.names = contexts }

// Append writes records and returns once they are on disk.
func (j *Journal[T]) Append(records ...T) error {
	var lines []byte
	for _, record := range records {
		line, err := SealLine(record)
		if err != nil {
			return fmt.Errorf("journal %s: %w", j.path, err)
		}
		lines = append(lines, line...)
	}
	if len(lines) == 0 {
		return nil
	}
	j.mu.Lock()
	c := j.next
	first := c == nil
	if first {
		c = &commit{done: make(chan struct{})}
		j.next = c
	}
	c.lines = append(c.lines, lines...)
	j.mu.Unlock()
	if !first {
		<-c.done
		return c.err
	}
	// Whoever came first waits for the commit before and makes this one; until then
	// others may join it.
	j.committing.Lock()
	j.mu.Lock()
	j.next = nil
	j.mu.Unlock()
	c.err = j.write(c.lines)
	j.committing.Unlock()
	close(c.done)
	return c.err
}

// write brings lines to the disk. The commit is held.
func (j *Journal[T]) write(lines []byte) error {
	if j.names != nil {
		if err := j.names.Sync(); err != nil {
			return fmt.Errorf("journal %s: %w", j.path, err)
		}
	}
	_, err := j.file.WriteAt(lines, j.size)
	if err == nil {
		err = j.file.Sync()
	}
	if err != nil {
		// What is half-written goes. Where even that fails it is torn, and the next
		// record is written over it, or the next opening cuts it.
		_ = j.file.Truncate(j.size)
		return fmt.Errorf("journal %s: %w; what was finished before is kept, the same command goes on from there", j.path, err)
	}
	j.size += int64(len(lines))
	return nil
}

// Close closes the file.
func (j *Journal[T]) Close() error {
	if err := j.file.Close(); err != nil {
		return fmt.Errorf("closing the journal: %w", err)
	}
	return nil
}

// SealLine is the line of a record: its JSON with the checksum of that JSON as the
// last field.
func SealLine(record any) ([]byte, error) {
	body, err := fixtures.MarshalPlain(record)
	if err != nil {
		return nil, err
	}
	if len(body) < 3 || body[0] != '{' {
		return nil, fmt.Errorf("a journal holds objects with fields, not %.20s", body)
	}
	sum := fixtures.HashBytes(body)
	return fmt.Appendf(body[:len(body)-1], "%s%s\"}\n", sumField, sum), nil
}

// openLine takes a sealed line apart, or returns nil where it is damaged.
func openLine(line []byte) []byte {
	line, whole := bytes.CutSuffix(line, []byte(`"}`))
	at := bytes.LastIndex(line, []byte(sumField))
	if at < 0 || !whole {
		return nil
	}
	sum := line[at+len(sumField):]
	body := append(bytes.Clone(line[:at]), '}')
	if string(fixtures.HashBytes(body)) != string(sum) {
		return nil
	}
	return body
}

// ReadJournal reads the whole records of a journal in order. A missing file holds
// none. Damaged lines are counted, not returned.
func ReadJournal[T any](path string) (records []T, damaged int, err error) {
	file, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, fmt.Errorf("reading the journal: %w", err)
	}
	defer file.Close()
	lines := fixtures.NewLineReader(file)
	for {
		line, err := lines.Next()
		if err == io.EOF {
			return records, damaged, nil
		}
		if err != nil {
			return nil, 0, fmt.Errorf("reading the journal %s: %w", path, err)
		}
		body := openLine(line)
		var record T
		if body == nil || jsonv1.Unmarshal(body, &record) != nil {
			damaged++
			continue
		}
		records = append(records, record)
	}
}
