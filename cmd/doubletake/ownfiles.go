package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/pairing"
	"github.com/doubletake-dev/doubletake/pairing/labelling"
	"github.com/doubletake-dev/doubletake/replay"
)

// writeNamed writes a file that somebody named, whole or not at all. It is an error if it
// is one that a run consists of, see [refuseOwnFile].
func writeNamed(path string, write func(io.Writer) error, runs ...string) error {
	if err := refuseOwnFile(path, runs...); err != nil {
		return err
	}
	if err := folderOf(path); err != nil {
		return err
	}
	return fixtures.WriteFileAtomic(path, write)
}

// folderOf says where the folder that a file is to lie in is missing, or is none.
func folderOf(path string) error {
	dir := filepath.Dir(path)
	switch info, err := os.Stat(dir); {
	case errors.Is(err, os.ErrNotExist):
		return usageError("%s: there is no folder %s; make it first, or name another file", path, dir)
	case err == nil && !info.IsDir():
		return usageError("%s: %s is no folder; name another file", path, dir)
	}
	return nil
}

// ownFiles are the files that a run consists of, or that people's decisions on it go to:
// none can be made again.
func ownFiles() []string {
	return []string{
		replay.RunFile, replay.FixturesFile, replay.EpisodesFile, replay.JudgementsFile, replay.ControlsFile, replay.RatingsFile, replay.MutantsFile,
		replay.PairsFile, replay.QueueFile, pairing.VerdictsFile, pairing.HeadFile, pairing.UnblindedFile, "assignment.json", correctionsFile,
		filepath.Join(labelling.Dir, labelling.KeyFile), filepath.Join(labelling.Dir, labelling.RatingsFile),
	}
}

// refuseOwnFile says that a path is a file of a run, whose directory it lies in or that is
// named, by whatever link.
func refuseOwnFile(path string, runs ...string) error {
	abs, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	places := []string{abs}
	if dir, err := filepath.EvalSymlinks(filepath.Dir(abs)); err == nil {
		places = append(places, filepath.Join(dir, filepath.Base(abs)))
	}
	if target, err := filepath.EvalSymlinks(abs); err == nil {
		places = append(places, target)
	}
	refused := func(run, file string) error {
		return usageError("%s is %s of the run in %s, which can't be made again: name another file", path, file, run)
	}
	for _, place := range places {
		for _, run := range []string{filepath.Dir(place), filepath.Dir(filepath.Dir(place))} {
			if _, err := os.Stat(filepath.Join(run, replay.RunFile)); err != nil {
				continue
			}
			runs = append(runs, run)
			rel, err := filepath.Rel(run, place)
			if err == nil && (slices.Contains(ownFiles(), rel) || strings.HasSuffix(rel, ".lock") || filepath.Dir(rel) == replay.ContextsDir) {
				return refused(run, rel)
			}
		}
	}
	named, err := os.Stat(abs)
	if err != nil {
		return nil // it is not there, and is none of them
	}
	for _, run := range runs {
		for _, file := range ownFiles() {
			if own, err := os.Stat(filepath.Join(run, file)); err == nil && os.SameFile(own, named) {
				return refused(run, file)
			}
		}
	}
	return nil
}

// findingsFiles are the reports that a run directory gets, which can be made again.
func findingsFiles() []string {
	var names []string
	for _, f := range reportFormats() {
		names = append(names, f.file)
	}
	return names
}
