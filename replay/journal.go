package replay

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/doubletake-dev/doubletake/fixtures"
)

// Journal is an append-only file of JSON records, one a line, each with a checksum
// of itself as its last field. A record counts once it is whole and its checksum
// fits. It is safe for concurrent use.
type Journal[T any] struct {
	mu   sync.Mutex
	path string
	file *os.File
}

// sumField begins the checksum at the end of a line.
const sumField = `,"sum":"`

// OpenJournal opens or creates the journal at path for appending. A torn last
// line, as a killed process leaves it, is cut off.
func OpenJournal[T any](path string) (*Journal[T], error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("opening the journal: %w", err)
	}
	whole, err := wholeLength(file)
	if err == nil {
		err = file.Truncate(whole)
	}
	if err == nil {
		_, err = file.Seek(whole, io.SeekStart)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("opening the journal %s: %w", path, err), file.Close())
	}
	return &Journal[T]{path: path, file: file}, nil
}

// wholeLength is the length of the file up to its last line end.
func wholeLength(file *os.File) (int64, error) {
	info, err := file.Stat()
	if err != nil {
		return 0, err
	}
	const chunk = 1 << 16
	buf := make([]byte, chunk)
	for end := info.Size(); end > 0; {
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

// Append writes records and returns once they are on disk.
func (j *Journal[T]) Append(records ...T) error {
	var buf bytes.Buffer
	for _, record := range records {
		line, err := SealLine(record)
		if err != nil {
			return fmt.Errorf("journal %s: %w", j.path, err)
		}
		buf.Write(line)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	before, err := j.file.Seek(0, io.SeekCurrent)
	if err != nil {
		return fmt.Errorf("journal %s: %w", j.path, err)
	}
	if _, err = j.file.Write(buf.Bytes()); err == nil {
		err = j.file.Sync()
	}
	if err != nil {
		// What is half-written goes, so that what comes after it is readable.
		if cut := j.file.Truncate(before); cut == nil {
			_, _ = j.file.Seek(before, io.SeekStart)
		}
		return fmt.Errorf("journal %s: %w; what was finished before is kept, the same command goes on from there", j.path, err)
	}
	return nil
}

// Close closes the file.
func (j *Journal[T]) Close() error { return j.file.Close() }

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
	at := bytes.LastIndex(line, []byte(sumField))
	if at < 0 || !bytes.HasSuffix(line, []byte(`"}`)) {
		return nil
	}
	sum := line[at+len(sumField) : len(line)-2]
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
		if body == nil || json.Unmarshal(body, &record) != nil {
			damaged++
			continue
		}
		records = append(records, record)
	}
}
