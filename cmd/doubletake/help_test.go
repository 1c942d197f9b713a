package main

import (
	"bytes"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"
)

// helpExample is a line of a description that shows a command.
var helpExample = regexp.MustCompile(`(?m)^ {3}(doubletake .*)$`)

// TestHelpExamples: the commands, subcommands and flags of every example that --help shows
// are there, and every command but a group of others shows one.
func TestHelpExamples(t *testing.T) {
	app := newApp(io.Discard, io.Discard)
	var walk func(path string, commands []*cli.Command)
	walk = func(path string, commands []*cli.Command) {
		for _, command := range commands {
			name := path + " " + command.Name
			examples := helpExample.FindAllStringSubmatch(command.Description, -1)
			if len(examples) == 0 && len(command.Subcommands) == 0 && path != "doubletake completion" {
				t.Errorf("%s --help shows no example", name)
			}
			for _, example := range examples {
				checkExample(t, name, example[1], app.Commands)
			}
			walk(name, command.Subcommands)
		}
	}
	walk("doubletake", app.Commands)
}

func checkExample(t *testing.T, where, example string, commands []*cli.Command) {
	t.Helper()
	words := strings.Fields(example)[1:]
	var flags []cli.Flag
	for len(words) > 0 {
		at := slices.IndexFunc(commands, func(c *cli.Command) bool { return c.HasName(words[0]) })
		if at < 0 {
			break
		}
		flags, commands, words = commands[at].Flags, commands[at].Subcommands, words[1:]
	}
	if flags == nil {
		t.Errorf("%s --help: no command in %q", where, example)
	}
	for _, word := range words {
		name, _, _ := strings.Cut(strings.TrimLeft(word, "-"), "=")
		if strings.HasPrefix(word, "-") && !isFlag(flags, name) {
			t.Errorf("%s --help: no flag %s in %q", where, word, example)
		}
	}
}

// TestHelpAnywhere: every command prints its help wherever --help, -h or the word help
// stands.
func TestHelpAnywhere(t *testing.T) {
	help := func(t *testing.T, args ...string) string {
		t.Helper()
		var out, errs bytes.Buffer
		if code := run(t.Context(), append([]string{"doubletake"}, args...), &out, &errs); code != exitOK || errs.Len() > 0 {
			t.Errorf("%q: exit %d, stderr %q", args, code, errs.String())
		}
		return out.String()
	}
	var walk func(path []string, commands []*cli.Command)
	walk = func(path []string, commands []*cli.Command) {
		for _, command := range commands {
			name := append(slices.Clone(path), command.Name)
			group := len(command.Subcommands) > 0
			want := help(t, append(slices.Clone(name), "--help")...)
			if !strings.Contains(want, "doubletake "+strings.Join(name, " ")+" - ") {
				t.Fatalf("%q --help prints %.80q", name, want)
			}
			ways := [][]string{append([]string{"help"}, name...), append([]string{"--help"}, name...), append([]string{"-h"}, name...)}
			if !group || command.ArgsUsage != "" {
				for _, rest := range [][]string{{"x", "--help"}, {"--help", "x"}, {"x", "y", "-h"}, {"x", "--help", "y"}} {
					ways = append(ways, append(slices.Clone(name), rest...))
				}
			}
			for _, way := range ways {
				if got := help(t, way...); got != want {
					t.Errorf("%q prints %.80q", way, got)
				}
			}
			walk(name, command.Subcommands)
		}
	}
	walk(nil, newApp(io.Discard, io.Discard).Commands)
}
