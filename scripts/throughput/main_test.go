package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/doubletake-dev/doubletake/fixtures/recording"
)

// The log that is made is one that the importer reads whole.
func TestTheLogIsReadable(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "log.jsonl")
	if err := writeLog(path, 1<<20, 1); err != nil {
		t.Fatal(err)
	}
	summary, err := recording.Import(t.Context(), []string{path}, recording.Options{OutDir: filepath.Join(dir, "out")})
	if err != nil {
		t.Fatal(err)
	}
	total := summary.Total
	if summary.Recordings == 0 || total.Calls != 100*summary.Recordings || total.Paired != total.Calls || total.Compactions != summary.Recordings {
		t.Errorf("%d recordings, %+v", summary.Recordings, total)
	}
	if info, err := os.Stat(path); err != nil || info.Size() < 1<<20 {
		t.Errorf("%v, %v", info, err)
	}
}
