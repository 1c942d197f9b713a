package main

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

// csvTable reads a CSV file with a header line, as spreadsheets write it: a byte order
// mark, CRLF and quotes are fine.
type csvTable struct {
	header  []string
	reader  *csv.Reader
	record  []string
	line    int // of the record in the file
	columns string
}

// withCSV opens the file, or stdin for -, and lets read have its lines. columns says
// what is wanted, for messages.
func withCSV(path string, stdin io.Reader, columns string, read func(*csvTable) error) error {
	in := stdin
	if path != "-" {
		file, err := os.Open(path)
		if err != nil {
			return fmt.Errorf("reading --csv: %w", err)
		}
		defer file.Close()
		in = file
	}
	table, err := newCSVTable(in, columns)
	if err == nil {
		err = read(table)
	}
	if err != nil {
		return usageError("--csv %s: %w", path, err)
	}
	return nil
}

func newCSVTable(in io.Reader, columns string) (*csvTable, error) {
	buffered := bufio.NewReader(in)
	const mark = "\ufeff"
	if start, err := buffered.Peek(len(mark)); err == nil && string(start) == mark {
		if _, err := buffered.Discard(len(mark)); err != nil {
			return nil, err
		}
	}
	t := &csvTable{reader: csv.NewReader(buffered), columns: columns}
	t.reader.TrimLeadingSpace = true
	header, err := t.reader.Read()
	if errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("empty: want %s", columns)
	}
	if err != nil {
		return nil, err
	}
	for i, name := range header {
		header[i] = strings.TrimSpace(name)
		if slices.Contains(header[:i], header[i]) {
			return nil, fmt.Errorf("two columns %q: want %s", header[i], columns)
		}
	}
	t.header = header
	return t, nil
}

// has says whether there is such a column.
func (t *csvTable) has(name string) bool { return slices.Contains(t.header, name) }

// need is an error where one of the columns is missing.
func (t *csvTable) need(names ...string) error {
	for _, name := range names {
		if !t.has(name) {
			return fmt.Errorf("no column %q: want %s", name, t.columns)
		}
	}
	return nil
}

// next reads a line and returns false at the end of the file.
func (t *csvTable) next() (bool, error) {
	record, err := t.reader.Read()
	if errors.Is(err, io.EOF) && t.line == 0 {
		return false, fmt.Errorf("no line after the header: want %s", t.columns)
	}
	if errors.Is(err, io.EOF) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	for i, cell := range record {
		record[i] = strings.TrimSpace(cell)
	}
	t.record = record
	t.line, _ = t.reader.FieldPos(0)
	return true, nil
}

// cell is the line's value in a column, and empty without one.
func (t *csvTable) cell(name string) string {
	if i := slices.Index(t.header, name); i >= 0 {
		return t.record[i]
	}
	return ""
}

// count is the line's value in a column, a whole number.
func (t *csvTable) count(name string) (int, error) {
	n, err := parseCount(t.cell(name))
	if err != nil {
		return 0, fmt.Errorf("line %d, column %s: %w", t.line, name, err)
	}
	return n, nil
}
