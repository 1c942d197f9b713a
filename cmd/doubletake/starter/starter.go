// Package starter holds what "doubletake init" writes: a config, an example set, two
// compactors, and the files around them.
package starter

import (
	"embed"
	"fmt"
	"io/fs"
)

//go:embed compact.py compact.sh doubletake.yaml gitignore workflow.yml set
var files embed.FS

// Read reads one of the files. Their names are those in this folder.
func Read(name string) ([]byte, error) {
	data, err := files.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("reading what init writes: %w", err)
	}
	return data, nil
}

// Set is the example set, without a manifest.
func Set() (fs.FS, error) {
	set, err := fs.Sub(files, "set")
	if err != nil {
		return nil, fmt.Errorf("reading the example set: %w", err)
	}
	return set, nil
}
