package cluster

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/doubletake-dev/doubletake/fixtures"
)

// writeAll writes files, with the folders in which they lie.
func writeAll(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func link(t *testing.T, to, path string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(to, path); err != nil {
		t.Skipf("no symbolic links here: %v", err)
	}
}

// TestAFetchedSetIsTheSame: what the manifest of a set covers is on the worker as it is on
// the leader, symbolic links, hidden files of sandboxes and empty folders of them included.
func TestAFetchedSetIsTheSame(t *testing.T) {
	dir := t.TempDir()
	writeAll(t, dir, map[string]string{
		// As Kubernetes mounts a ConfigMap: a.json -> ..data/a.json, ..data -> ..2026_03_20.
		"..2026_03_20/a.json": "{}", "..2026_03_20/manifest.json": `{"version": "1"}`,
		".git/config": "no part of a set", "sandboxes/repo/.gitignore": "*.tmp", "sandboxes/repo/.github/ci.yml": "on: push",
		"recordings/a.jsonl": "a line\n",
	})
	link(t, "..2026_03_20", filepath.Join(dir, "..data"))
	for _, name := range []string{"a.json", "manifest.json"} {
		link(t, filepath.Join("..data", name), filepath.Join(dir, name))
	}
	link(t, "recordings", filepath.Join(dir, "notes.md")) // nothing that the set needs
	link(t, "nowhere", filepath.Join(dir, "gone.md"))
	program := filepath.Join(dir, "sandboxes", "repo", "run")
	writeAll(t, dir, map[string]string{"..2026_03_20/run": "#!/bin/sh\n"})
	if err := os.Chmod(filepath.Join(dir, "..2026_03_20", "run"), 0o700); err != nil {
		t.Fatal(err)
	}
	link(t, filepath.Join("..", "..", "..data", "run"), program)
	for _, name := range []string{"sandboxes/repo/build", "sandboxes/none"} {
		if err := os.MkdirAll(filepath.Join(dir, filepath.FromSlash(name)), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	want, err := fixtures.HashFiles(os.DirFS(dir))
	if err != nil {
		t.Fatal(err)
	}

	c := one(t, Options{})
	files, err := c.PutFiles(t.Context(), os.DirFS(dir))
	if err != nil {
		t.Fatal(err)
	}
	there := t.TempDir()
	if err := c.FetchFiles(t.Context(), files, there); err != nil {
		t.Fatal(err)
	}
	got, err := fixtures.HashFiles(os.DirFS(there))
	if err != nil || len(got) != len(want) {
		t.Errorf("%d files, want %d, %v", len(got), len(want), err)
	}
	for name, hash := range want {
		if got[name] != hash {
			t.Errorf("%s: %q, want %q", name, got[name], hash)
		}
	}
	for name, mode := range map[string]fs.FileMode{"manifest.json": 0o644, "sandboxes/repo/run": 0o744, "sandboxes/repo/build": fs.ModeDir, "sandboxes/none": fs.ModeDir} {
		info, err := os.Lstat(filepath.Join(there, filepath.FromSlash(name)))
		if err != nil || info.Mode().Type() != mode.Type() || info.Mode()&0o100 != mode&0o100 && !mode.IsDir() {
			t.Errorf("%s: %v, %v, want %v", name, info, err, mode)
		}
	}
	if _, err := os.Lstat(filepath.Join(there, ".git")); err == nil {
		t.Error("a hidden folder is there")
	}
}

func TestWhatIsNoFileIsNamed(t *testing.T) {
	c := one(t, Options{})
	for name, to := range map[string]string{"folder": "recordings", "dangling": "nowhere"} {
		dir := t.TempDir()
		writeAll(t, dir, map[string]string{"recordings/a.jsonl": "a line\n"})
		link(t, to, filepath.Join(dir, name))
		if _, err := c.PutFiles(t.Context(), os.DirFS(dir)); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
