package main

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/printer"
	"github.com/goccy/go-yaml/token"
)

// keyError is an error about what a key of a YAML file says.
type keyError struct {
	keys []string // from the root of the file to the key
	name bool     // whether it is about the key itself, and not what it says
	err  error
}

func (e *keyError) Error() string { return e.err.Error() }
func (e *keyError) Unwrap() error { return e.err }

// wrong is an error about the key at the end of a path of keys, which stands before it.
func wrong(keys []string, format string, args ...any) error {
	return about(fmt.Errorf(strings.ReplaceAll(strings.Join(keys, "."), "%", "%%")+": "+format, args...), keys...)
}

// about says which key an error is about. The error's text stays as it is.
func about(err error, keys ...string) error { return &keyError{keys: keys, err: err} }

// aboutName says which key is wrong by itself.
func aboutName(err error, keys ...string) error { return &keyError{keys: keys, name: true, err: err} }

// placed gives an error about a key its line, its column and the text there, as the
// parser's own errors have them. An error about no key of the file stays as it is.
func placed(text string, err error) error {
	var key *keyError
	if !errors.As(err, &key) {
		return err
	}
	at := tokenOf(text, key.keys, key.name)
	if at == nil || at.Position == nil {
		return err
	}
	return fmt.Errorf("[%d:%d] %w\n%s", at.Position.Line, at.Position.Column, err, excerptAt(at))
}

// excerptAt is the text around a token, with a mark below it, and without what may be a key.
func excerptAt(at *token.Token) string {
	var p printer.Printer
	return withoutKeys(strings.TrimRight(p.PrintErrorToken(at, false), "\n"))
}

// Where an address may hold a key: its user, and its query.
var (
	addressUser  = regexp.MustCompile(`://[^/\s"'@]+@`)
	addressQuery = regexp.MustCompile(`://[^\s"'?#]*[?#][^\s"',}\]]+`)
)

// withoutKeys puts stars over what of an address may be a key. The text stays as long as it
// is, so that a mark below it stands where it did.
func withoutKeys(text string) string {
	stars := func(text string) string { return strings.Repeat("*", utf8.RuneCountInString(text)) }
	text = addressUser.ReplaceAllStringFunc(text, func(found string) string {
		return "://" + stars(found[len("://"):len(found)-1]) + "@"
	})
	return addressQuery.ReplaceAllStringFunc(text, func(found string) string {
		from := strings.IndexAny(found, "?#") + 1
		return found[:from] + stars(found[from:])
	})
}

// wrongSince is an error that shows only once the config is in use: it names the file, and
// the place of the key that it is about. Where the config is no file the error stays as it is.
func (c *config) wrongSince(err error) error {
	var key *keyError
	if c.file == "" || !errors.As(err, &key) {
		return err
	}
	told := fmt.Errorf("config %s: %w", c.file, placed(c.text, err))
	if exit := (*exitError)(nil); errors.As(err, &exit) {
		return &exitError{exit.code, told}
	}
	return told
}

// tokenOf finds where a path of keys leads to: the value where it is a scalar, else the
// key, which may be wanted by name. Of a path that leaves the file, as a default does, it is the last key that is
// there; nil where not even the first is.
func tokenOf(text string, keys []string, name bool) *token.Token {
	file, err := parser.ParseBytes([]byte(text), 0)
	if err != nil || len(file.Docs) == 0 {
		return nil
	}
	var found *token.Token
	node := file.Docs[0].Body
	for _, key := range keys {
		entry := entryOf(node, key)
		if entry == nil {
			return found
		}
		found, node = entry.Key.GetToken(), inner(entry.Value)
		if _, scalar := node.(ast.ScalarNode); scalar && !name && node.Type() != ast.NullType {
			found = cmp.Or(node.GetToken(), found)
		}
	}
	return found
}

// entryOf is the entry of a mapping by its key, nil where there is none.
func entryOf(node ast.Node, key string) *ast.MappingValueNode {
	switch m := inner(node).(type) {
	case *ast.MappingNode:
		for _, entry := range m.Values {
			if t := entry.Key.GetToken(); t != nil && t.Value == key {
				return entry
			}
		}
	case *ast.MappingValueNode:
		if t := m.Key.GetToken(); t != nil && t.Value == key {
			return m
		}
	}
	return nil
}

// inner is a node without its anchor and its tag.
func inner(node ast.Node) ast.Node {
	for {
		switch n := node.(type) {
		case *ast.AnchorNode:
			node = n.Value
		case *ast.TagNode:
			node = n.Value
		default:
			return node
		}
	}
}

// noneOf says that a value is none of a few names, and which of them is near.
func noneOf(value string, names ...string) error {
	hint := ""
	if near := nearest(value, names); near != "" {
		hint = fmt.Sprintf("; did you mean %q?", near)
	}
	last := len(names) - 1
	return fmt.Errorf("%.40q; want %s or %s%s", value, strings.Join(names[:last], ", "), names[last], hint)
}

// secondDocument says where a second document begins.
func secondDocument(text string) string {
	const what = "a second document after the first"
	file, err := parser.ParseBytes([]byte(text), 0)
	if err != nil || len(file.Docs) < 2 || file.Docs[1].Start == nil {
		return what
	}
	at := file.Docs[1].Start
	return fmt.Sprintf("[%d:%d] %s\n%s", at.Position.Line, at.Position.Column, what, excerptAt(at))
}
