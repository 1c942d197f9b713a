package replay

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"pgregory.net/rapid"
)

type note struct {
	Text string `json:"text"`
	N    int    `json:"n"`
}

func openNotes(t testing.TB, path string) *Journal[note] {
	t.Helper()
	j, err := OpenJournal[note](path)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func readNotes(t testing.TB, path string) ([]note, int) {
	t.Helper()
	notes, damaged, err := ReadJournal[note](path)
	if err != nil {
		t.Fatal(err)
	}
	return notes, damaged
}

func appendNotes(t testing.TB, j *Journal[note], notes ...note) {
	t.Helper()
	if err := j.Append(notes...); err != nil {
		t.Fatal(err)
	}
}

func wantNotes(t testing.TB, path string, want []note, wantDamaged int) {
	t.Helper()
	got, damaged := readNotes(t, path)
	if !slices.Equal(got, want) || damaged != wantDamaged {
		t.Fatalf("the journal holds %v and %d damaged lines, want %v and %d", got, damaged, want, wantDamaged)
	}
}

func TestJournalKeepsWhatIsAppended(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j.jsonl")
	wantNotes(t, path, nil, 0) // a missing journal holds nothing
	j := openNotes(t, path)
	appendNotes(t, j)
	appendNotes(t, j, note{"a", 1}, note{"b < c\n\"d\" ,\"sum\":\"", 2})
	mustClose(t, j)
	j = openNotes(t, path)
	appendNotes(t, j, note{strings.Repeat("long ", 50_000), 3})
	mustClose(t, j)
	wantNotes(t, path, []note{{"a", 1}, {"b < c\n\"d\" ,\"sum\":\"", 2}, {strings.Repeat("long ", 50_000), 3}}, 0)
	if err := j.Append(note{"after closing", 4}); err == nil {
		t.Error("a closed journal takes records")
	}
}

func TestJournalIsSafeForConcurrentUse(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j.jsonl")
	j := openNotes(t, path)
	var group sync.WaitGroup
	for i := range 40 {
		group.Go(func() {
			if err := j.Append(note{strings.Repeat("x", i*10), i}); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	mustClose(t, j)
	notes, damaged := readNotes(t, path)
	slices.SortFunc(notes, func(a, b note) int { return a.N - b.N })
	for i, n := range notes {
		if n.N != i || len(n.Text) != i*10 {
			t.Fatalf("record %d is %v", i, n)
		}
	}
	if len(notes) != 40 || damaged != 0 {
		t.Errorf("%d records and %d damaged lines", len(notes), damaged)
	}
}

func TestJournalCutsATornTail(t *testing.T) {
	for name, tail := range map[string]string{
		"a few bytes":         `{"text":"half`,
		"a wrong checksum":    `{"text":"x","n":1,"sum":"0000000000000000"}`,
		"more than one chunk": `{"text":"` + strings.Repeat("y", 200_000),
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "j.jsonl")
			j := openNotes(t, path)
			appendNotes(t, j, note{"whole", 1})
			mustClose(t, j)
			extend(t, path, tail)
			wantNotes(t, path, []note{{"whole", 1}}, 1)
			j = openNotes(t, path)
			wantNotes(t, path, []note{{"whole", 1}}, 0)
			appendNotes(t, j, note{"next", 2})
			mustClose(t, j)
			wantNotes(t, path, []note{{"whole", 1}, {"next", 2}}, 0)
		})
	}
}

// A record that lacks only the end of its line is whole, and was paid for.
func TestJournalKeepsARecordWithoutLineEnd(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j.jsonl")
	line, err := SealLine(note{"paid", 1})
	if err != nil {
		t.Fatal(err)
	}
	extend(t, path, string(bytes.TrimSuffix(line, []byte("\n"))))
	j := openNotes(t, path)
	appendNotes(t, j, note{"next", 2})
	mustClose(t, j)
	wantNotes(t, path, []note{{"paid", 1}, {"next", 2}}, 0)
}

func TestJournalCountsDamagedLines(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j.jsonl")
	j := openNotes(t, path)
	appendNotes(t, j, note{"first", 1}, note{"middle", 2}, note{"last", 3})
	mustClose(t, j)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for name, damage := range map[string][]byte{
		"another value":  bytes.Replace(data, []byte("middle"), []byte("muddle"), 1),
		"another sum":    bytes.Replace(data, []byte(`"n":2,"sum":"`), []byte(`"n":2,"sum":"f`), 1),
		"no sum":         bytes.Replace(data, []byte(`"n":2,"sum"`), []byte(`"n":2,"tot"`), 1),
		"an empty line":  bytes.Replace(data, []byte(`{"text":"middle"`), []byte("\n{\"text\":\"middle\""), 1),
		"nothing behind": bytes.Replace(data, []byte(`{"text":"middle"`), []byte("\x00\x00\n{\"text\":\"middle\""), 1),
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "j.jsonl")
			extend(t, path, string(damage))
			notes, damaged := readNotes(t, path)
			if damaged != 1 || notes[0] != (note{"first", 1}) || notes[len(notes)-1] != (note{"last", 3}) {
				t.Errorf("%v and %d damaged lines", notes, damaged)
			}
			j := openNotes(t, path) // damage in the middle stays where it is
			mustClose(t, j)
			if _, again := readNotes(t, path); again != damaged {
				t.Errorf("%d damaged lines after opening", again)
			}
		})
	}
}

func TestSealLineWantsObjectsWithFields(t *testing.T) {
	for _, record := range []any{3, "text", []int{1}, nil, struct{}{}, func() {}} {
		if line, err := SealLine(record); err == nil {
			t.Errorf("%v sealed as %s", record, line)
		}
	}
}

func TestJournalOfAnUnknownPlace(t *testing.T) {
	dir := t.TempDir()
	if _, err := OpenJournal[note](filepath.Join(dir, "none", "j.jsonl")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("opening in no folder: %v", err)
	}
	if _, err := OpenJournal[note](dir); err == nil {
		t.Error("a folder opened as a journal")
	}
	if _, _, err := ReadJournal[note](dir); err == nil {
		t.Error("a folder read as a journal")
	}
}

// faultyFile fails as a full or broken disk does.
type faultyFile struct {
	journalFile
	room        int // bytes that can still be written; negative for any number
	sync, trunc error
}

func (f *faultyFile) WriteAt(data []byte, at int64) (int, error) {
	if f.room < 0 || len(data) <= f.room {
		return f.journalFile.WriteAt(data, at)
	}
	n, err := f.journalFile.WriteAt(data[:f.room], at)
	return n, errors.Join(err, syscall.ENOSPC)
}

func (f *faultyFile) Sync() error {
	if f.sync != nil {
		return f.sync
	}
	return f.journalFile.Sync()
}

func (f *faultyFile) Truncate(size int64) error {
	if f.trunc != nil {
		return f.trunc
	}
	return f.journalFile.Truncate(size)
}

func TestJournalAfterAWriteError(t *testing.T) {
	broken := errors.New("input/output error")
	for name, fault := range map[string]faultyFile{
		"a full disk":                           {room: 20},
		"a full disk that cannot be cut either": {room: 20, trunc: broken},
		"a flush that fails":                    {room: -1, sync: broken},
		"a flush and a cut that fail":           {room: -1, sync: broken, trunc: broken},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "j.jsonl")
			j := openNotes(t, path)
			appendNotes(t, j, note{"kept", 1})
			file := j.file
			fault.journalFile = file
			j.file = &fault
			err := j.Append(note{"lost, and quite long at that", 2})
			if err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "the same command goes on") {
				t.Fatalf("error %v", err)
			}
			if notes, _ := readNotes(t, path); notes[0] != (note{"kept", 1}) {
				t.Errorf("the journal reads as %v", notes)
			}
			j.file = file // there is room again
			appendNotes(t, j, note{"short", 3})
			mustClose(t, j)
			// Where the torn bytes could not be cut, some may stand behind.
			if notes, _ := readNotes(t, path); !slices.Equal(notes, []note{{"kept", 1}, {"short", 3}}) {
				t.Errorf("the journal reads as %v", notes)
			}
			j = openNotes(t, path)
			appendNotes(t, j, note{"more", 4})
			mustClose(t, j)
			if notes, _ := readNotes(t, path); !slices.Equal(notes, []note{{"kept", 1}, {"short", 3}, {"more", 4}}) {
				t.Errorf("reopened, the journal reads as %v", notes)
			}
		})
	}
}

// Wherever a process is killed, what is on disk reads as the first so many records,
// and goes on from there.
func TestAnyPrefixOfAJournalIsAPrefixOfItsRecords(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		texts := rapid.SliceOfN(rapid.String(), 1, 8).Draw(t, "texts")
		var data []byte
		var notes []note
		for i, text := range texts {
			n := note{strings.ToValidUTF8(text, "?"), i}
			line, err := SealLine(n)
			if err != nil {
				t.Fatal(err)
			}
			data, notes = append(data, line...), append(notes, n)
		}
		kept := data[:rapid.IntRange(0, len(data)).Draw(t, "cut")]
		path := filepath.Join(dir, "j.jsonl")
		if err := os.WriteFile(path, kept, 0o644); err != nil {
			t.Fatal(err)
		}
		got, damaged, err := ReadJournal[note](path)
		if err != nil || damaged > 1 || len(got) > len(notes) || !slices.Equal(got, notes[:len(got)]) {
			t.Fatalf("read %v, %d damaged, %v of %v", got, damaged, err, notes)
		}
		if whole := bytes.Count(kept, []byte("\n")); len(got) < whole {
			t.Fatalf("%d whole lines, and only %d records", whole, len(got))
		}
		j, err := OpenJournal[note](path)
		if err != nil {
			t.Fatal(err)
		}
		err = errors.Join(j.Append(note{"more", -1}), j.Close())
		if err != nil {
			t.Fatal(err)
		}
		again, damaged, err := ReadJournal[note](path)
		if err != nil || damaged != 0 || !slices.Equal(again, append(got, note{"more", -1})) {
			t.Fatalf("after appending read %v, %d damaged, %v", again, damaged, err)
		}
	})
}

// Whatever lies there, a journal opens, takes a record and gives it back.
func FuzzOpenJournal(f *testing.F) {
	line, err := SealLine(note{"a", 1})
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range [][]byte{nil, line, line[:len(line)-1], line[:5], append([]byte("\n\n"), line...), []byte("\ufeff{}\r\n"), []byte(`x,"sum":""}` + "\n"), []byte(`,"sum":"}`)} {
		f.Add(seed)
	}
	path := filepath.Join(f.TempDir(), "j.jsonl")
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
		before, _ := readNotes(t, path)
		j := openNotes(t, path)
		appendNotes(t, j, note{"last", 9})
		mustClose(t, j)
		after, _ := readNotes(t, path)
		if !slices.Equal(after, append(before, note{"last", 9})) {
			t.Errorf("%v became %v", before, after)
		}
	})
}

func extend(t testing.TB, path, text string) {
	t.Helper()
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.WriteString(text); err != nil {
		t.Fatal(err)
	}
	mustClose(t, file)
}
