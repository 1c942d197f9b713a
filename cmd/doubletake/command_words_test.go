package main

import (
	"runtime"
	"slices"
	"strings"
	"testing"
)

// TestCommandWords splits as a POSIX shell does; what is not balanced is refused.
func TestCommandWords(t *testing.T) {
	for _, tt := range []struct {
		text string
		want []string
	}{
		{"python3 compact.py", []string{"python3", "compact.py"}},
		{" a \t b\n", []string{"a", "b"}},
		{"python3 'my hi.py'", []string{"python3", "my hi.py"}},
		{`python3 "it's" x`, []string{"python3", "it's", "x"}},
		{`a ''`, []string{"a", ""}},
		{`a b'c d'"e f"`, []string{"a", "bc de f"}},
		{`a $HOME *.py ; b # c`, []string{"a", "$HOME", "*.py", ";", "b", "#", "c"}},
	} {
		if got, err := commandWords(tt.text); err != nil || !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q, %v; want %q", tt.text, got, err, tt.want)
		}
	}
	for _, text := range []string{"python3 'un", `python3 "un`, `a 'b" c`} {
		if got, err := commandWords(text); err == nil || !strings.Contains(err.Error(), "exec: [") {
			t.Errorf("%s: %q, %v; want an error", text, got, err)
		}
	}
	if runtime.GOOS == "windows" {
		if got, err := commandWords(`C:\py\python.exe "C:\my x\compact.py"`); err != nil || !slices.Equal(got, []string{`C:\py\python.exe`, `C:\my x\compact.py`}) {
			t.Errorf("%q, %v", got, err)
		}
		return
	}
	if got, err := commandWords(`my\ prog a\\b`); err != nil || !slices.Equal(got, []string{"my prog", `a\b`}) {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := commandWords(`a b\`); err == nil {
		t.Error("a backslash at the end is taken")
	}
}
