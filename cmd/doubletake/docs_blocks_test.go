package main

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// docBlock is a fenced block of a page.
type docBlock struct {
	line     int    // of the opening fence, from 1
	language string // the word behind the fence
	// file is what the line before the block calls the file that the block is, as in
	// `compact.py`: on the last line of a paragraph; empty for a block that is no file.
	file string
	text string
}

// docCommand is a command of a console block with what the page says that it prints.
type docCommand struct {
	line    int
	command string
	code    int // the exit code, which a comment tells where it isn't 0: # ... exit 1
	printed []string
}

var (
	fileLine    = regexp.MustCompile("`([A-Za-z0-9._/-]+)`:$")
	exitComment = regexp.MustCompile(`#.*\bexit (\d+)`)
)

// docBlocks are the fenced blocks of a page.
func docBlocks(page string) []docBlock {
	var blocks []docBlock
	var block *docBlock
	before := ""
	for i, line := range strings.Split(page, "\n") {
		fence := strings.HasPrefix(strings.TrimSpace(line), "```")
		switch {
		case fence && block == nil:
			block = &docBlock{line: i + 1, language: strings.TrimPrefix(strings.TrimSpace(line), "```")}
			if m := fileLine.FindStringSubmatch(before); m != nil {
				block.file = m[1]
			}
		case fence:
			blocks = append(blocks, *block)
			block, before = nil, ""
		case block != nil:
			block.text += line + "\n"
		case strings.TrimSpace(line) != "":
			before = strings.TrimSpace(line)
		}
	}
	return blocks
}

// commands are those of a console block.
func (b docBlock) commands() []docCommand {
	var list []docCommand
	for i, line := range strings.Split(strings.TrimRight(b.text, "\n"), "\n") {
		command, ok := strings.CutPrefix(line, "$ ")
		if !ok {
			if len(list) > 0 {
				last := &list[len(list)-1]
				last.printed = append(last.printed, strings.TrimRight(line, " "))
			}
			continue
		}
		c := docCommand{line: b.line + 1 + i, command: command}
		if m := exitComment.FindStringSubmatch(command); m != nil {
			c.code, _ = strconv.Atoi(m[1])
		}
		list = append(list, c)
	}
	return list
}

// docPages are the pages of the repository, by path. Results of benchmarks and what tests
// compare with are none.
func docPages(t *testing.T, root string) map[string]string {
	t.Helper()
	pages := map[string]string{}
	err := fs.WalkDir(os.DirFS(root), ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == "testdata" || entry.Name() == ".git"):
			return fs.SkipDir
		case entry.IsDir() || path.Ext(name) != ".md" || path.Base(name) == "RESULTS.md":
			return nil
		}
		data, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
		pages[name] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return pages
}

var (
	runID   = regexp.MustCompile(`\d{8}T\d{6}Z-[0-9a-f]{8}`)
	instant = regexp.MustCompile(`\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?Z?`)
)

// sameEverywhere takes out of a line what no two runs share.
func sameEverywhere(line string) string {
	line = runID.ReplaceAllString(line, "RUN")
	return strings.TrimRight(instant.ReplaceAllString(line, "TIME"), " \r")
}

// prints says whether a text is what a page shows: the same lines, where a line "..."
// stands for any number of lines and an ending " ..." for the rest of a line.
func prints(shown []string, text string) bool {
	var lines []string
	for line := range strings.Lines(strings.TrimRight(text, "\n")) {
		lines = append(lines, sameEverywhere(strings.TrimRight(line, "\n")))
	}
	want := make([]string, len(shown))
	for i, line := range shown {
		want[i] = sameEverywhere(line)
	}
	for len(want) > 0 && want[len(want)-1] == "" {
		want = want[:len(want)-1]
	}
	return linesMatch(want, lines)
}

func linesMatch(want, have []string) bool {
	if len(want) == 0 {
		return len(have) == 0
	}
	if strings.TrimSpace(want[0]) == "..." {
		for skip := range len(have) + 1 {
			if linesMatch(want[1:], have[skip:]) {
				return true
			}
		}
		return false
	}
	return len(have) > 0 && lineMatches(want[0], have[0]) && linesMatch(want[1:], have[1:])
}

func lineMatches(want, have string) bool {
	if begin, cut := strings.CutSuffix(want, " ..."); cut {
		return strings.HasPrefix(have, begin)
	}
	return want == have
}

func TestDocBlocks(t *testing.T) {
	page := "Text, and `a.json`:\n\n```json\n{}\n```\n\n```console\n$ one   # the gate: exit 1\nprinted\n...\n$ two\n```\n"
	blocks := docBlocks(page)
	if len(blocks) != 2 || blocks[0].file != "a.json" || blocks[0].text != "{}\n" || blocks[1].file != "" {
		t.Fatalf("blocks %+v", blocks)
	}
	commands := blocks[1].commands()
	if got, want := fmt.Sprint(commands), "[{8 one   # the gate: exit 1 1 [printed ...]} {11 two 0 []}]"; got != want {
		t.Errorf("commands %s: want %s", got, want)
	}
	for shown, c := range map[string]struct {
		text string
		want bool
	}{
		"a\n...\nc":           {"a\nb\nb\nc\n", true},
		"a\n...":              {"a\n", true},
		"...\nc":              {"a\nb\n", false},
		"a b ...":             {"a b c\n", true},
		"a":                   {"a\nb\n", false},
		"at 2026-01-02 03:04": {"at 2027-05-06 07:08\n", true},
	} {
		if prints(strings.Split(shown, "\n"), c.text) != c.want {
			t.Errorf("prints(%q, %q) is %v", shown, c.text, !c.want)
		}
	}
}
