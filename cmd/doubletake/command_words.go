package main

import (
	"errors"
	"runtime"
	"strings"

	"github.com/kballard/go-shellquote"
)

// isCommand says whether a compactor's name that the config does not know is a command: it
// has a slash, or more words than one.
func isCommand(name string) bool {
	return strings.ContainsRune(name, '/') || len(strings.Fields(name)) > 1
}

// commandWords splits a command as a POSIX shell splits words: quotes and backslashes keep
// words together. Nothing is expanded, and no shell is run. On Windows a backslash stands
// for itself, as in paths.
func commandWords(text string) ([]string, error) {
	const instead = "; a command with odd words is best named in the config, with each word by itself, as in exec: [python3, my compact.py]"
	quoted := text
	if runtime.GOOS == "windows" {
		quoted = strings.ReplaceAll(text, `\`, `\\`)
	}
	words, err := shellquote.Split(quoted)
	switch {
	case errors.Is(err, shellquote.UnterminatedSingleQuoteError):
		return nil, usageError("the command %q has a ' that is not closed%s", text, instead)
	case errors.Is(err, shellquote.UnterminatedDoubleQuoteError):
		return nil, usageError("the command %q has a \" that is not closed%s", text, instead)
	case err != nil:
		return nil, usageError("the command %q ends in a \\ that nothing follows%s", text, instead)
	}
	return words, nil
}
