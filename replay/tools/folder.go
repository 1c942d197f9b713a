package tools

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/doubletake-dev/doubletake/fixtures"
)

// folder is an episode's own place on the disk: a copy of the sandbox to work in, copies
// of the programs, and a home without anybody's settings. It is made when it is needed
// first.
type folder struct {
	parent  string
	files   fs.FS
	sandbox string // in the set; empty is an empty folder
	dir     string // empty until it is made
}

func (f *folder) work() string { return filepath.Join(f.dir, "sandbox") }

// env is the environment of the programs: where to find others, and no more of ours.
// A key that is not there can't leak.
func (f *folder) env() []string {
	home := filepath.Join(f.dir, "home")
	env := []string{"HOME=" + home, "TMPDIR=" + home, "TMP=" + home, "TEMP=" + home, "LANG=C.UTF-8", "TZ=UTC"}
	for _, name := range []string{"PATH", "PATHEXT", "SystemRoot", "ComSpec"} {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// open makes the folder.
func (f *folder) open() error {
	if f.dir != "" {
		return nil
	}
	dir, err := os.MkdirTemp(f.parent, "doubletake-episode-")
	if err != nil {
		return fmt.Errorf("making the episode's folder: %w", err)
	}
	if f.dir, err = filepath.Abs(dir); err != nil {
		return err
	}
	for _, path := range []string{f.work(), filepath.Join(f.dir, "home")} {
		if err := os.Mkdir(path, 0o755); err != nil {
			return fmt.Errorf("making the episode's folder: %w", err)
		}
	}
	if f.sandbox == "" {
		return nil
	}
	err = fs.WalkDir(f.files, f.sandbox, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		to := filepath.Join(f.work(), filepath.FromSlash(strings.TrimPrefix(name, f.sandbox)))
		if entry.IsDir() {
			return os.MkdirAll(to, 0o755)
		}
		return f.copy(name, to, false)
	})
	if err != nil {
		return fmt.Errorf("copying the sandbox %s: %w", f.sandbox, err)
	}
	return nil
}

// program copies the files of a command into a folder of that name and returns the
// command with their places.
func (f *folder) program(name string, words, further []string) ([]string, error) {
	if err := f.open(); err != nil {
		return nil, err
	}
	named, err := fixtures.CommandFiles(f.files, words, further)
	if err != nil {
		return nil, err
	}
	at := map[string]string{}
	for _, file := range named {
		at[file] = filepath.Join(f.dir, name, filepath.FromSlash(file))
		if err := f.copy(file, at[file], file == words[0]); err != nil {
			return nil, fmt.Errorf("copying the program %s: %w", file, err)
		}
	}
	out := make([]string, len(words))
	for i, word := range words {
		if out[i] = word; at[word] != "" {
			out[i] = at[word]
		}
	}
	return out, nil
}

func (f *folder) copy(name, to string, executable bool) (err error) {
	in, err := f.files.Open(name)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	mode := info.Mode().Perm()&0o111 | 0o644
	if executable {
		mode |= 0o755
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// remove removes the folder with all that is in it.
func (f *folder) remove() error {
	if f.dir == "" {
		return nil
	}
	if os.RemoveAll(f.dir) == nil {
		return nil
	}
	// A program may have closed its folders to us.
	_ = filepath.WalkDir(f.dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			_ = os.Chmod(path, 0o700)
		}
		return nil
	})
	if err := os.RemoveAll(f.dir); err != nil {
		return fmt.Errorf("removing the episode's folder: %w", err)
	}
	return nil
}
