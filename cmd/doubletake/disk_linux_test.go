package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// smallDisk mounts a file system of so many bytes, and returns its folder and a function
// that mounts it anew under other options.
func smallDisk(t *testing.T, options string) (string, func(flags uintptr, options string)) {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, options); err != nil {
		t.Skipf("no file system can be mounted here: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	return dir, func(flags uintptr, options string) {
		if err := syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_REMOUNT|flags, options); err != nil {
			t.Fatal(err)
		}
	}
}

// TestAFullDisk fills the disk in the middle of a night: it ends as incomplete and says
// what to do, and the same command makes the night of a disk with room.
func TestAFullDisk(t *testing.T) {
	cache := t.TempDir()
	play := func(dir string) (int, string) {
		cmd := doubletake(t, "nightly", "--out", dir, "--cache-dir", cache,
			"--fixture", "forbidden-directory", "--fixture", "quiet-afternoon", "--fixture", "wrong-database")
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		_ = cmd.Run()
		return cmd.ProcessState.ExitCode(), stderr.String()
	}
	whole := filepath.Join(t.TempDir(), "night")
	if code, text := play(whole); code != exitBlocked {
		t.Fatalf("exit code %d:\n%s", code, text)
	}
	want := strippedReport(t, whole)
	sizes := []string{"4k", "64k", "128k", "256k"}
	if sampled() {
		sizes = sizes[2:3]
	}
	for _, size := range sizes {
		t.Run(size, func(t *testing.T) {
			disk, remount := smallDisk(t, "size="+size)
			night := filepath.Join(disk, "night")
			code, text := play(night)
			if code != exitIncomplete || !strings.Contains(text, "the disk is full") || !strings.Contains(text, "no space left on device") || !strings.Contains(text, "--out "+night) {
				t.Errorf("exit code %d:\n%s", code, text)
			}
			remount(0, "size=64m")
			if code, text := play(night); code != exitBlocked {
				t.Fatalf("with room, exit code %d:\n%s", code, text)
			}
			got := strippedReport(t, night)
			if !bytes.Equal(ownUsage(got), ownUsage(want)) {
				t.Errorf("the report differs:\n%s\nwant:\n%s", got, want)
			}
		})
	}
	t.Run("standard output", func(t *testing.T) {
		full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
		if err != nil {
			t.Skip(err)
		}
		defer full.Close()
		cmd := doubletake(t, "nightly", "--out", whole, "--cache-dir", cache,
			"--fixture", "forbidden-directory", "--fixture", "quiet-afternoon", "--fixture", "wrong-database")
		var stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = full, &stderr
		_ = cmd.Run()
		if code := cmd.ProcessState.ExitCode(); code != exitIncomplete || !strings.Contains(stderr.String(), "the disk is full") {
			t.Errorf("exit code %d:\n%s", code, stderr.String())
		}
	})
	t.Run("read-only", func(t *testing.T) {
		disk, remount := smallDisk(t, "size=1m")
		remount(syscall.MS_RDONLY, "size=1m")
		code, text := play(filepath.Join(disk, "night"))
		if code != exitUsage || !strings.Contains(text, "read-only file system") || !strings.Contains(text, "choose another --out") {
			t.Errorf("exit code %d:\n%s", code, text)
		}
		if _, err := os.Stat(filepath.Join(disk, "night")); err == nil {
			t.Error("a run directory on a read-only disk")
		}
	})
}

// ownUsage leaves out which answers were stored before: the nights share a cache.
func ownUsage(report []byte) []byte {
	var out [][]byte
	inside := false
	for line := range bytes.Lines(report) {
		switch {
		case bytes.Equal(bytes.TrimSpace(line), []byte(`"usage": {`)):
			inside = true
		case inside && bytes.HasPrefix(bytes.TrimSpace(line), []byte("}")):
			inside = false
		}
		if !inside {
			out = append(out, line)
		}
	}
	return bytes.Join(out, nil)
}
