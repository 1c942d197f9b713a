package replay

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/doubletake-dev/doubletake/fixtures"
)

// gatedFile lets the first flush wait until it is told to go on, and counts them.
type gatedFile struct {
	journalFile
	begun, gate chan struct{}
	flushes     int // only one is under way at a time
}

func (f *gatedFile) Sync() error {
	f.flushes++
	if f.flushes == 1 {
		close(f.begun)
		<-f.gate
	}
	return f.journalFile.Sync()
}

func TestAppendsDuringACommitGoToTheDiskTogether(t *testing.T) {
	const waiting = 20
	path := filepath.Join(t.TempDir(), "j.jsonl")
	j := openNotes(t, path)
	file := &gatedFile{journalFile: j.file, begun: make(chan struct{}), gate: make(chan struct{})}
	j.file = file
	var group sync.WaitGroup
	add := func(n int) {
		group.Go(func() {
			if err := j.Append(note{"n", n}); err != nil {
				t.Error(err)
			}
		})
	}
	add(0)
	<-file.begun
	for n := range waiting {
		add(n + 1)
	}
	gathered := func() int {
		j.mu.Lock()
		defer j.mu.Unlock()
		if j.next == nil {
			return 0
		}
		return strings.Count(string(j.next.lines), "\n")
	}
	for gathered() < waiting {
		runtime.Gosched()
	}
	close(file.gate)
	group.Wait()
	if file.flushes != 2 {
		t.Errorf("%d records took %d flushes, want 2", waiting+1, file.flushes)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if notes, damaged := readNotes(t, path); len(notes) != waiting+1 || damaged != 0 {
		t.Errorf("the journal holds %d records and %d damaged lines, want %d and 0", len(notes), damaged, waiting+1)
	}
}

func TestARecordCountsOnlyWithItsContexts(t *testing.T) {
	dir := t.TempDir()
	contexts := NewContexts(filepath.Join(dir, "contexts"))
	path := filepath.Join(dir, "j.jsonl")
	j := openNotes(t, path)
	j.Names(contexts)
	if _, err := contexts.Put([]fixtures.Message{{Role: fixtures.RoleUser, Content: "a"}}); err != nil {
		t.Fatal(err)
	}
	appendNotes(t, j, note{"a", 1})
	if _, err := contexts.Put([]fixtures.Message{{Role: fixtures.RoleUser, Content: "b"}}); err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(dir, "contexts")
	if err := os.Rename(folder, folder+"-away"); err != nil {
		t.Fatal(err)
	}
	if err := j.Append(note{"b", 2}); err == nil || !strings.Contains(err.Error(), folder) {
		t.Errorf("a record whose context can't be flushed: %v", err)
	}
	wantNotes(t, path, []note{{"a", 1}}, 0)
	// It is tried again, and the record counts once it is there.
	if err := os.Rename(folder+"-away", folder); err != nil {
		t.Fatal(err)
	}
	appendNotes(t, j, note{"b", 2})
	wantNotes(t, path, []note{{"a", 1}, {"b", 2}}, 0)
}
