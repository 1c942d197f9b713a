package outcomes

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// mostValue is the size up to which a single sample is read.
const mostValue = 512 << 20

// skip reads past the next value without holding it.
func skip(dec *json.Decoder) error {
	depth := 0
	for {
		token, err := dec.Token()
		if err != nil {
			return err
		}
		switch token {
		case json.Delim('{'), json.Delim('['):
			depth++
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
		if depth <= 0 {
			return nil
		}
	}
}

// object reads an object whose start was read, and calls for the value of each key; each
// reads or skips it.
func object(dec *json.Decoder, each func(key string) error) error {
	for dec.More() {
		token, err := dec.Token()
		if err != nil {
			return err
		}
		key, ok := token.(string)
		if !ok {
			return fmt.Errorf("%v where a key was expected", token)
		}
		if err := each(key); err != nil {
			return err
		}
	}
	_, err := dec.Token()
	return err
}

// list reads a list whose start was read, and calls for each element.
func list(dec *json.Decoder, each func() error) error {
	for dec.More() {
		if err := each(); err != nil {
			return err
		}
	}
	_, err := dec.Token()
	return err
}

// values calls for each of the values that stand behind each other, JSON Lines or a single
// document, with its first token.
func values(dec *json.Decoder, each func(first json.Token) error) error {
	for {
		token, err := dec.Token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := each(token); err != nil {
			return err
		}
	}
}

// place says where in the file an error is, and what a cut file means.
func place(path string, dec *json.Decoder, err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return fmt.Errorf("%s: the file is cut off at byte %d: write it again, or take one that is whole", path, dec.InputOffset())
	}
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	if errors.As(err, &syntax) || errors.As(err, &kind) {
		return fmt.Errorf("%s: at byte %d: %w", path, dec.InputOffset(), err)
	}
	return fmt.Errorf("%s: %w", path, err)
}
