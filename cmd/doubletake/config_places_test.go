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
