package model

import (
	"bytes"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// scrubber takes a key out of whatever may repeat it.
type scrubber struct {
	replacer *strings.Replacer // nil without a key
	// forms are the spellings that the replacer looks for. Nearly always there is none, which
	// is found out faster.
	forms []string
	// spelled finds the key where JSON writes some of its characters as numbers.
	spelled *regexp.Regexp
}

// newScrubber knows the key as it is and as JSON or an address may spell it.
func newScrubber(key string) scrubber {
	if key = strings.TrimSpace(key); key == "" {
		return scrubber{}
	}
	var forms, pairs []string
	for _, form := range []string{
		key, strings.ReplaceAll(key, "/", `\/`), url.QueryEscape(key), url.PathEscape(key),
		lowerHex(url.QueryEscape(key)), lowerHex(url.PathEscape(key)),
	} {
		if !slices.Contains(forms, form) {
			forms, pairs = append(forms, form), append(pairs, form, "[key]")
		}
	}
	var pattern strings.Builder
	for _, c := range key {
		fmt.Fprintf(&pattern, `(?:%s|\\u(?i:%04x)|\\%s)`, regexp.QuoteMeta(string(c)), c, regexp.QuoteMeta(string(c)))
	}
	spelled, err := regexp.Compile(pattern.String())
	if err != nil {
		spelled = nil // a key of thousands of characters; the spellings above are looked for
	}
	return scrubber{strings.NewReplacer(pairs...), forms, spelled}
}

// lowerHex writes the escapes of an address in small letters, as some programs do.
func lowerHex(escaped string) string {
	out := []byte(escaped)
	for i := 0; i+2 < len(out); i++ {
		if out[i] == '%' {
			copy(out[i+1:i+3], strings.ToLower(escaped[i+1:i+3]))
		}
	}
	return string(out)
}

// text is a text without the key.
func (s scrubber) text(text string) string {
	if s.replacer == nil {
		return text
	}
	return string(s.bytes([]byte(text)))
}

// bytes are bytes without the key.
func (s scrubber) bytes(data []byte) []byte {
	if s.replacer == nil {
		return data
	}
	if slices.ContainsFunc(s.forms, func(form string) bool { return bytes.Contains(data, []byte(form)) }) {
		data = []byte(s.replacer.Replace(string(data)))
	}
	if s.spelled != nil && bytes.Contains(data, []byte(`\u`)) {
		data = s.spelled.ReplaceAll(data, []byte("[key]"))
	}
	return data
}

// err is an error whose text is without the key; what it wraps stays to be asked for.
func (s scrubber) err(err error) error {
	if s.replacer == nil || err == nil {
		return err
	}
	text := err.Error()
	clean := s.text(text)
	if clean == text {
		return err
	}
	return scrubbedError{err, clean}
}

// scrubbedError is an error that repeated the key.
type scrubbedError struct {
	of   error
	text string
}

func (e scrubbedError) Error() string { return e.text }
func (e scrubbedError) Unwrap() error { return e.of }
