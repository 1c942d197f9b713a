package model

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

// events reads server-sent events, as https://html.spec.whatwg.org/multipage/server-sent-events.html
// defines them, and as servers write them that forget the empty line between two.
type events struct {
	from    *bufio.Reader
	started bool
	ended   bool
	// returned says that the last line ended in CR, to which a line feed may belong.
	returned bool
	// waiting is a line that was read and belongs to the next event.
	waiting []byte
}

func newEvents(from *bufio.Reader) *events { return &events{from: from} }

// next returns the data of the next event; io.EOF after the last one.
func (e *events) next() ([]byte, error) {
	data := e.waiting
	e.waiting = nil
	lines := 0
	if data != nil {
		lines = 1
	}
	for !e.ended {
		line, err := e.line()
		if errors.Is(err, io.EOF) {
			e.ended = true
		} else if err != nil {
			return nil, err
		}
		if len(line) == 0 {
			if lines > 0 {
				return data, nil
			}
			continue
		}
		value, ok := dataOf(line)
		switch {
		case !ok: // a comment, or what says nothing of the answer
			continue
		case lines == 1 && whole(data):
			e.waiting = value
			return data, nil
		case lines > 0:
			data = append(data, '\n')
		}
		data = append(data, value...)
		lines++
	}
	if lines > 0 {
		return data, nil
	}
	return nil, io.EOF
}

// whole says that a piece of data is complete by itself.
func whole(data []byte) bool { return string(data) == streamEnd || json.Valid(data) }

// dataOf is the value of a line that holds data.
func dataOf(line []byte) ([]byte, bool) {
	value, ok := bytes.CutPrefix(line, []byte("data"))
	if !ok {
		return nil, false
	}
	if len(value) == 0 {
		return []byte{}, true
	}
	if value, ok = bytes.CutPrefix(value, []byte(":")); !ok {
		return nil, false
	}
	return bytes.TrimPrefix(value, []byte(" ")), true
}

// line reads a line that ends in CR, LF or both, or at the end.
func (e *events) line() ([]byte, error) {
	var line []byte
	for {
		c, err := e.from.ReadByte()
		if err != nil {
			return e.first(line), err
		}
		after := e.returned
		e.returned = c == '\r'
		switch {
		case c == '\n' && after:
			continue
		case c == '\n', c == '\r':
			return e.first(line), nil
		}
		line = append(line, c)
	}
}

// first takes the byte order mark off the first line.
func (e *events) first(line []byte) []byte {
	if !e.started {
		e.started = true
		return bytes.TrimPrefix(line, []byte("\ufeff"))
	}
	return line
}
