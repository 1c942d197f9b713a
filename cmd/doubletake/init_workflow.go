package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/doubletake-dev/doubletake/cmd/doubletake/starter"
)

// workflow writes the workflow where GitHub reads it: at the root of the repository that
// the suite lies in, else in the suite's folder, which may become a root yet.
func (s *suite) workflow() error {
	data, err := starter.Read("workflow.yml")
	if err != nil {
		return err
	}
	s.workflowAt = s.path(workflowFile)
	root, err := s.repository()
	if err != nil {
		return fmt.Errorf("looking for the repository that %s lies in: %w", s.dir, err)
	}
	folder, in := "", func(path string) string { return path }
	if s.below != "" {
		s.workflowAt = filepath.Join(root, filepath.FromSlash(workflowFile))
		folder = "defaults:\n  run:\n    working-directory: " + strconv.Quote(s.below) + "\n"
		in = func(path string) string { return strconv.Quote(s.below + "/" + path) }
	}
	for _, put := range []struct{ at, text string }{
		{"@VERSION@", version}, {"@FOLDER@", folder},
		{"@PREFIX@.doubletake/cache", in(".doubletake/cache")}, {"@PREFIX@runs/ci", in("runs/ci")},
	} {
		data = bytes.ReplaceAll(data, []byte(put.at), []byte(put.text))
	}
	return s.fileAt(s.workflowAt, data, 0o644)
}

// repository finds the root of the git repository that the suite lies in, as seen from
// here, and notes where the suite lies below it. The root is empty where there is none.
func (s *suite) repository() (string, error) {
	here, err := os.Getwd()
	if err != nil {
		return "", err
	}
	if here, err = filepath.EvalSymlinks(here); err != nil {
		return "", err
	}
	dir, err := filepath.Abs(s.dir)
	if err != nil {
		return "", err
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return "", err
	}
	for root := dir; ; root = filepath.Dir(root) {
		if _, err := os.Lstat(filepath.Join(root, ".git")); err != nil { // not there, or none that can be seen
			if root == filepath.Dir(root) {
				return "", nil
			}
			continue
		}
		below, err := filepath.Rel(root, dir)
		if err != nil {
			return "", err
		}
		if below != "." {
			s.below = filepath.ToSlash(below)
		}
		if seen, err := filepath.Rel(here, root); err == nil {
			return seen, nil
		}
		return root, nil
	}
}
