package main

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"

	"github.com/doubletake-dev/doubletake/fixtures"
)

// programID tells whether two processes are the same program.
type programID struct {
	// Build is what was built, as far as builds on different machines can be told to be the
	// same: a commit without changes, or a module's version. Empty where they can't.
	Build string `json:"build,omitempty"`
	// Executable is the SHA-256 of the executable in hexadecimal digits, where Build is empty.
	Executable string `json:"executable,omitempty"`
}

// thisProgram is the program that runs.
func thisProgram() (programID, error) {
	info, _ := debug.ReadBuildInfo() // nil where the build left none
	id := programID{Build: buildID(info)}
	if id.Build != "" {
		return id, nil
	}
	var err error
	if id.Executable, err = hashExecutable(); err != nil {
		return id, fmt.Errorf("telling this program apart from others: %w", err)
	}
	return id, nil
}

// buildID says what was built, from what sources with what modules and tags; empty where
// the build does not say enough to be sure.
func buildID(info *debug.BuildInfo) string {
	if info == nil {
		return ""
	}
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	var id string
	switch commit := settings["vcs.revision"]; {
	case commit != "" && settings["vcs.modified"] == "false":
		id = "commit " + commit
	case commit == "" && info.Main.Sum != "":
		id = "module " + info.Main.Version + " " + info.Main.Sum
	default:
		return ""
	}
	var modules strings.Builder
	for _, m := range info.Deps {
		for m.Replace != nil {
			m = m.Replace
		}
		if m.Sum == "" {
			return "" // of a folder, which holds anything
		}
		fmt.Fprintln(&modules, m.Path, m.Version, m.Sum)
	}
	id += ", modules " + string(fixtures.HashBytes([]byte(modules.String())))
	if tags := settings["-tags"]; tags != "" {
		id += ", tags " + tags
	}
	return id
}

// hashExecutable hashes the file that this process was started from, by that file itself
// where the system still knows it: another one may have come to its place.
func hashExecutable() (string, error) {
	file, err := os.Open("/proc/self/exe") // Linux
	if err != nil {
		path, err := os.Executable()
		if err != nil {
			return "", err
		}
		if file, err = os.Open(path); err != nil {
			return "", err
		}
	}
	defer file.Close()
	hash := sha256.New()
	if _, err := io.Copy(hash, file); err != nil {
		return "", fmt.Errorf("reading the program's file: %w", err)
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}

func (p programID) String() string {
	if p.Build == "" && p.Executable != "" {
		return "not built from a commit without changes, executable " + p.Executable
	}
	return cmp.Or(p.Build, "one that does not say what it is")
}

// same says with an error where another program is not certainly this one.
func (p programID) same(leader programID) error {
	switch {
	case p.Build != "" && p.Build == leader.Build, p.Build == "" && leader.Build == "" && p.Executable != "" && p.Executable == leader.Executable:
		return nil
	}
	return fmt.Errorf("the run's leader may be another program than this worker (there: %s; here: %s)", leader, p)
}
