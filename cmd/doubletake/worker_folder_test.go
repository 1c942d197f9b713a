package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/gofrs/flock"
)

// TestAWorkerRemovesWhatKilledOnesLeft: a worker's folder is there as long as it runs, and
// one whose worker was killed until the next one starts.
func TestAWorkerRemovesWhatKilledOnesLeft(t *testing.T) {
	parent := t.TempDir()
	running, remove, err := workerFolder(parent)
	if err != nil {
		t.Fatal(err)
	}
	// A killed one's lock is held by nobody.
	killed := filepath.Join(parent, workerFolderPrefix+"killed")
	elsewhere := filepath.Join(t.TempDir(), "elsewhere")
	for _, dir := range []string{
		filepath.Join(killed, "set-1", "recordings"), filepath.Join(parent, workerFolderPrefix+"without-a-lock"), filepath.Join(parent, "others"), elsewhere,
	} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{
		filepath.Join(killed, workerLock), filepath.Join(killed, "set-1", "recordings", "a.jsonl"), filepath.Join(running, "file"), filepath.Join(parent, "others", workerLock), filepath.Join(elsewhere, workerLock),
	} {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(elsewhere, filepath.Join(parent, workerFolderPrefix+"link")); err != nil {
		t.Logf("no symbolic links here: %v", err)
	}
	again, removeAgain, err := workerFolder(parent)
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]bool{
		killed: false, running: true, filepath.Join(running, "file"): true, again: true, filepath.Join(parent, "others", workerLock): true,
		filepath.Join(elsewhere, workerLock): true, filepath.Join(parent, workerFolderPrefix+"without-a-lock"): true,
	} {
		if _, err := os.Lstat(path); (err == nil) != want {
			t.Errorf("%s: %v, want it there: %t", filepath.Base(path), err, want)
		}
	}
	for _, remove := range []func() error{remove, removeAgain} {
		if err := remove(); err != nil {
			t.Error(err)
		}
	}
	for _, dir := range []string{running, again} {
		if _, err := os.Lstat(dir); err == nil {
			t.Errorf("%s is left", dir)
		}
	}
}

// TestAFolderThatAnotherWorkerTookForLeft is given up.
func TestAFolderThatAnotherWorkerTookForLeft(t *testing.T) {
	dir := t.TempDir()
	other := flock.New(filepath.Join(dir, workerLock))
	if held, err := other.TryLock(); err != nil || !held {
		t.Fatal(held, err)
	}
	defer other.Close()
	remove, err := holdFolder(dir)
	if err != nil || remove != nil {
		t.Errorf("it is held twice, or %v", err)
	}
}
