package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestReadmeWalkThrough holds what the README's walk-through prints to what the program
// prints: every line of its text blocks stands in the output of a real night.
func TestReadmeWalkThrough(t *testing.T) {
	readme, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, walk, ok := strings.Cut(string(readme), "## A walk through one night")
	if !ok {
		t.Fatal("the README has no walk-through")
	}
	walk, _, _ = strings.Cut(walk, "\n## ")
	dir := t.TempDir()
	night := filepath.Join(dir, "night")
	var out bytes.Buffer
	for _, args := range [][]string{
		{"nightly", "--out", night, "--cache-dir", filepath.Join(dir, "cache")},
		{"review", "list", night},
		{"review", "show", night, "wrong-database", "--open"},
	} {
		cmd := doubletake(t, args...)
		cmd.Stdout = &out
		_ = cmd.Run() // the night exits with 1, as the README says
	}
	printed := map[string]bool{}
	for line := range strings.Lines(out.String()) {
		printed[strings.TrimSpace(line)] = true
	}
	inText := false
	checked := 0
	for line := range strings.Lines(walk) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "```"):
			inText = line == "```text"
		case inText && line != "" && line != "...":
			checked++
			if !printed[line] {
				t.Errorf("the README prints a line that the program does not:\n%s", line)
			}
		}
	}
	if checked < 20 {
		t.Errorf("only %d lines checked", checked)
	}
}
