package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/doubletake-dev/doubletake/replay"
)

// Nothing that somebody names as an output takes the place of a file of a run, by whatever
// link or way it is named; what can be made again, may.
func TestOutputsSpareARunsFiles(t *testing.T) {
	root := t.TempDir()
	run := filepath.Join(root, "night")
	for _, dir := range []string{"contexts", "labelling"} {
		if err := os.MkdirAll(filepath.Join(run, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range append(ownFiles(), "report.json", "contexts/0123.json.zst", "verdicts.jsonl.lock") {
		if err := os.WriteFile(filepath.Join(run, file), []byte(file), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.Symlink(run, filepath.Join(root, "link")))
	must(os.Symlink(filepath.Join(run, "verdicts.jsonl"), filepath.Join(root, "soft.jsonl")))
	must(os.Link(filepath.Join(run, "verdicts.jsonl"), filepath.Join(root, "hard.jsonl")))
	write := func(out io.Writer) error {
		_, err := io.WriteString(out, "new")
		return err
	}
	for _, file := range append(ownFiles(), "contexts/0123.json.zst", "contexts/new.json.zst", "verdicts.jsonl.lock", "../link/verdicts.jsonl", "../link/labelling/key.jsonl", "contexts/../queue.jsonl", "../soft.jsonl", "../hard.jsonl") {
		path := run + string(filepath.Separator) + filepath.FromSlash(file)
		var refused *exitError
		if err := writeNamed(path, write, run); err == nil || !errors.As(err, &refused) || refused.code != exitUsage {
			t.Errorf("%s: %v", file, err)
		}
		if data, err := os.ReadFile(path); err == nil && string(data) == "new" {
			t.Errorf("%s was written", file)
		}
	}
	for _, file := range []string{"report.json", "cases.jsonl", "../cases.jsonl", "labelling/cases.jsonl"} {
		if err := writeNamed(filepath.Join(run, file), write, run); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
	if _, err := os.Stat(filepath.Join(run, replay.RunFile)); err != nil {
		t.Error(err)
	}
}

// What is no file stays what it is: a program that runs as root could put a file in the
// place of a device.
func TestADeviceIsWrittenTo(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no devices among the files here")
	}
	before, err := os.Stat(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "null")
	if err := os.Symlink(os.DevNull, link); err != nil { // what fails leaves the device alone
		t.Fatal(err)
	}
	if err := writeNamed(link, func(out io.Writer) error {
		_, err := io.WriteString(out, "gone")
		return err
	}); err != nil {
		t.Fatal(err)
	}
	after, err := os.Stat(link)
	if err != nil || !os.SameFile(before, after) || after.Mode().IsRegular() {
		t.Errorf("%v, %v", after, err)
	}
	fault := errors.New("no more")
	if err := writeNamed(link, func(io.Writer) error { return fault }); !errors.Is(err, fault) {
		t.Error(err)
	}
}
