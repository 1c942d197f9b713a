package outcomes

import (
	"bufio"
	"bytes"
	"io"
)

// plainNumbers turns NaN, Infinity and -Infinity outside of texts into null: Python
// writes them, and they are no JSON.
type plainNumbers struct {
	in      *bufio.Reader
	text    bool // inside a text
	escaped bool // behind a backslash in it
	out     []byte
}

func newPlainNumbers(in io.Reader) *plainNumbers {
	return &plainNumbers{in: bufio.NewReaderSize(in, 64<<10)}
}

// Read gives the text on.
func (p *plainNumbers) Read(into []byte) (int, error) {
	for len(p.out) == 0 {
		b, err := p.in.ReadByte()
		if err != nil {
			return 0, err
		}
		p.out = append(p.out[:0], p.next(b)...)
		// Take along what is there already.
		for n := min(p.in.Buffered(), 32<<10); n > 0 && p.in.Buffered() > 0; n-- {
			b, err := p.in.ReadByte()
			if err != nil {
				break
			}
			p.out = append(p.out, p.next(b)...)
		}
	}
	n := copy(into, p.out)
	p.out = p.out[n:]
	return n, nil
}

// next is what a byte becomes, with the rest of the word that it begins.
func (p *plainNumbers) next(b byte) []byte {
	if p.text {
		switch {
		case p.escaped:
			p.escaped = false
		case b == '\\':
			p.escaped = true
		case b == '"', b == '\n': // a line end is never inside a text
			p.text = false
		}
		return []byte{b}
	}
	for _, word := range []string{"NaN", "Infinity", "-Infinity"} {
		if b != word[0] {
			continue
		}
		rest := word[1:]
		if ahead, _ := p.in.Peek(len(rest)); bytes.Equal(ahead, []byte(rest)) {
			if _, err := p.in.Discard(len(rest)); err == nil {
				return []byte("null")
			}
		}
	}
	p.text = b == '"'
	return []byte{b}
}
