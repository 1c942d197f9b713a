package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

// keys reads single keys from a terminal, and lines from anything else: the first
// character of a line is the key.
type keys struct {
	in       *bufio.Reader
	out      io.Writer
	terminal int // file descriptor, -1 where there is none
	former   *term.State
}

func newKeys(in io.Reader, out io.Writer) *keys {
	k := &keys{in: bufio.NewReader(in), out: out, terminal: -1}
	if file, ok := in.(*os.File); ok && term.IsTerminal(int(file.Fd())) {
		k.terminal = int(file.Fd())
	}
	return k
}

// one reads a key.
func (k *keys) one(prompt string) (rune, error) {
	fmt.Fprint(k.out, prompt)
	if k.terminal < 0 {
		line, err := k.read()
		fmt.Fprintln(k.out)
		if err != nil {
			return 0, err
		}
		for _, r := range strings.TrimSpace(line) {
			return r, nil
		}
		return '\n', nil
	}
	state, err := term.MakeRaw(k.terminal)
	if err != nil {
		return 0, fmt.Errorf("reading a key: %w", err)
	}
	k.former = state
	r, _, err := k.in.ReadRune()
	k.close()
	fmt.Fprintln(k.out)
	return r, err
}

// line reads a line.
func (k *keys) line(prompt string) (string, error) {
	fmt.Fprint(k.out, prompt)
	line, err := k.read()
	if k.terminal < 0 {
		fmt.Fprintln(k.out)
	}
	return line, err
}

func (k *keys) read() (string, error) {
	line, err := k.in.ReadString('\n')
	if errors.Is(err, io.EOF) && line != "" {
		err = nil
	}
	return strings.TrimRight(line, "\r\n"), err
}

// close leaves the terminal as it was found.
func (k *keys) close() {
	if k.former != nil {
		_ = term.Restore(k.terminal, k.former) // there is nothing left to do about it
		k.former = nil
	}
}
