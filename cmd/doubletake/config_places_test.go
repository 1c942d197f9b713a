package main

import (
	"strings"
	"testing"
)

func TestWithoutKeys(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"http: http://host:80/path", "http: http://host:80/path"},
		{`{ http: "http://me:hidden@host/x" }`, `{ http: "http://*********@host/x" }`},
		{"a: https://host/x?key=hidden, b: c", "a: https://host/x?**********, b: c"},
		{"nats://a:b@x:1,nats://c:d@y:2", "nats://***@x:1,nats://***@y:2"},
		{"mail: a@b.c # why?", "mail: a@b.c # why?"},
	} {
		if got := withoutKeys(tt.text); got != tt.want {
			t.Errorf("%q becomes %q, want %q", tt.text, got, tt.want)
		}
	}
}

// TestConfigHidesKeys: an error shows the lines around its place, and no key of an address
// among them.
func TestConfigHidesKeys(t *testing.T) {
	for name, text := range map[string]string{
		"in meaning": "agent:\n  base_url: https://me:hidden@host/v1?key=hidden\n  temperature: 0.5\n",
		"in form":    "agent:\n  base_url: https://me:hidden@host/v1?key=hidden\n  temprature: 0.5\n",
		"of a type":  "agent:\n  base_url: https://me:hidden@host/v1?key=hidden\n  seed: []\n",
	} {
		_, err := parseConfig([]byte(text), "x.yaml", ".")
		if err == nil || !strings.Contains(err.Error(), "config x.yaml: [3:") || !strings.Contains(err.Error(), "base_url: https://") || strings.Contains(err.Error(), "hidden") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestPlaces: a place is that of the value, of the key of what has parts, or of the nearest
// that is there, and no file's text is too odd for it.
func TestPlaces(t *testing.T) {
	const text = "a: &x\n  b.c: 1\n  \"d\": [2]\ne: {f: 3, g: null}\nh: *x\n"
	for _, tt := range []struct {
		keys         []string
		line, column int
	}{
		{[]string{"a"}, 1, 1}, {[]string{"a", "b.c"}, 2, 8}, {[]string{"a", "d"}, 3, 3}, {[]string{"a", "nowhere"}, 1, 1},
		{[]string{"e", "f"}, 4, 8}, {[]string{"e", "g"}, 4, 11}, {[]string{"h", "b.c"}, 5, 4}, {[]string{"nowhere"}, 0, 0},
	} {
		at := tokenOf(text, tt.keys, false)
		switch {
		case at == nil && tt.line == 0:
		case at == nil:
			t.Errorf("%v is nowhere", tt.keys)
		case at.Position.Line != tt.line || at.Position.Column != tt.column:
			t.Errorf("%v at %d:%d, want %d:%d", tt.keys, at.Position.Line, at.Position.Column, tt.line, tt.column)
		}
	}
	for _, text := range []string{"", "- a", "a", "{", "\x00", "a: &a\n  b: *a", "? [x]\n: y"} {
		_ = placed(text, wrong([]string{"a", "b"}, "something"))
	}
}

// TestConfigOfOtherEditors: carriage returns at the ends of lines are not shown, and the mark
// at the beginning moves no place.
func TestConfigOfOtherEditors(t *testing.T) {
	for _, text := range []string{"agent:\n  temperature: 0.5\njudge: {}\n", "agent:\n  temprature: 0\njudge: {}\n", "set: a\n---\nset: b\n"} {
		_, want := parseConfig([]byte(text), "x.yaml", ".")
		_, got := parseConfig([]byte("\ufeff"+strings.ReplaceAll(text, "\n", "\r\n")), "x.yaml", ".")
		if want == nil || got == nil || got.Error() != want.Error() {
			t.Errorf("%q: %v; want %v", text, got, want)
		}
	}
}
