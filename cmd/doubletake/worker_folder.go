package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/gofrs/flock"
)

const (
	// workerFolderPrefix begins the names of workers' folders.
	workerFolderPrefix = "doubletake-worker-"
	// workerLock is the file in a worker's folder that it holds locked as long as it runs.
	workerLock = "lock"
)

// workerFolder makes a folder for a worker's own files below parent, and removes those that
// workers left there which were killed. What it returns removes the folder.
func workerFolder(parent string) (dir string, remove func() error, err error) {
	sweepWorkers(parent)
	for remove == nil && err == nil {
		if dir, err = os.MkdirTemp(parent, workerFolderPrefix); err == nil {
			remove, err = holdFolder(dir)
		}
	}
	if err != nil {
		return "", nil, fmt.Errorf("making the worker's folder: %w; name another place with TMPDIR", err)
	}
	return dir, remove, nil
}

// holdFolder locks a new folder. It returns nothing where another worker that has just
// begun took it for left.
func holdFolder(dir string) (remove func() error, err error) {
	path := filepath.Join(dir, workerLock)
	lock := flock.New(path)
	held, err := lock.TryLock()
	if err != nil {
		// Locks do not work here: without the file nobody takes the folder for left.
		return func() error { return os.RemoveAll(dir) }, errors.Join(lock.Close(), remaining(os.Remove(path)))
	}
	if _, err := os.Stat(path); held && err == nil {
		return func() error { return removeLocked(dir, lock) }, nil
	}
	return nil, errors.Join(lock.Close(), os.RemoveAll(dir))
}

// remaining is an error, but for that something is not there.
func remaining(err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

// sweepWorkers removes the folders below parent of workers that run no more. What can't be
// removed, such as somebody else's, stays.
func sweepWorkers(parent string) {
	entries, err := os.ReadDir(parent)
	if err != nil {
		return // it is said where a folder is made there
	}
	for _, entry := range entries {
		if !entry.IsDir() || !strings.HasPrefix(entry.Name(), workerFolderPrefix) {
			continue
		}
		dir := filepath.Join(parent, entry.Name())
		path := filepath.Join(dir, workerLock)
		if info, err := os.Lstat(path); err != nil || !info.Mode().IsRegular() {
			continue
		}
		lock := flock.New(path, flock.SetFlag(os.O_RDWR))
		if left, err := lock.TryLock(); err == nil && left {
			_ = removeLocked(dir, lock)
			continue
		}
		_ = lock.Close()
	}
}

// removeLocked removes a folder whose lock is held, the lock at last: what fails in between
// is found by the next worker.
func removeLocked(dir string, lock *flock.Flock) error {
	entries, err := os.ReadDir(dir)
	for _, entry := range entries {
		if entry.Name() != workerLock {
			err = errors.Join(err, os.RemoveAll(filepath.Join(dir, entry.Name())))
		}
	}
	if err != nil {
		return errors.Join(err, lock.Close())
	}
	return errors.Join(lock.Close(), os.RemoveAll(dir))
}

// leastRoom is how many bytes a worker's folder must take, or the worker plays nothing.
const leastRoom = 1 << 20

// hasRoom says with an error that a worker's folder takes no files, or hardly any.
func hasRoom(dir string) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("there is no room in this worker's folder (%w); make some, or name another place with TMPDIR", err)
		}
	}()
	file, err := os.CreateTemp(dir, "room-")
	if err != nil {
		return err
	}
	_, err = file.Write(make([]byte, leastRoom))
	if err == nil {
		err = file.Sync() // some file systems say it only then
	}
	return errors.Join(err, file.Close(), os.Remove(file.Name()))
}
