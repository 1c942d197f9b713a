package pack

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"pgregory.net/rapid"
)

func open(t testing.TB, dir string) *Store {
	t.Helper()
	s, err := Open(dir, Options{Uses: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func put(t testing.TB, s *Store, key byte, data string) {
	t.Helper()
	if err := s.Put(Key{key}, []byte(data)); err != nil {
		t.Fatal(err)
	}
}

func want(t testing.TB, s *Store, key byte, data string) {
	t.Helper()
	if have, err := s.Get(Key{key}); err != nil || string(have) != data {
		t.Errorf("under %d stands %.40q (%v), want %.40q", key, have, err, data)
	}
}

func segments(t testing.TB, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*"+suffix))
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestBlobsComeBackAsTheyWere(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "made", "later")
	s := open(t, dir)
	if _, err := s.Get(Key{1}); !errors.Is(err, ErrMissing) {
		t.Errorf("nothing: %v", err)
	}
	if len(segments(t, dir)) != 0 {
		t.Error("a store that holds nothing made a file")
	}
	long := strings.Repeat("a long text \x00\xff", 100_000)
	put(t, s, 1, "one")
	put(t, s, 2, "")
	put(t, s, 3, long)
	put(t, s, 1, "one anew")
	again := open(t, dir)
	for _, s := range []*Store{s, again} {
		want(t, s, 1, "one anew")
		want(t, s, 2, "")
		want(t, s, 3, long)
	}
	// Both write, and each finds what the other wrote.
	put(t, again, 4, "of the other")
	want(t, s, 4, "of the other")
	put(t, s, 5, "of this")
	want(t, again, 5, "of this")
	if n := len(segments(t, dir)); n != 2 {
		t.Errorf("two that write at the same time have %d segments", n)
	}
}

// Whoever comes later appends to a segment that nobody has any more.
func TestSegmentsAreTakenOver(t *testing.T) {
	dir := t.TempDir()
	for i := range 5 {
		s := open(t, dir)
		put(t, s, byte(i), fmt.Sprint("blob ", i))
		for k := range i + 1 {
			want(t, s, byte(k), fmt.Sprint("blob ", k))
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(segments(t, dir)); n != 1 {
		t.Errorf("%d segments, want 1", n)
	}
}

func TestASegmentIsAZstandardFile(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	put(t, s, 1, "first,")
	put(t, s, 2, "second")
	file, err := os.Open(segments(t, dir)[0])
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	reader, err := zstd.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	if text, err := io.ReadAll(reader); err != nil || string(text) != "first,second" {
		t.Errorf("%q, %v", text, err)
	}
}

// Wherever a writer is killed or a byte is flipped, what is whole is still found, what is
// not is missing, and what is stored then is found again.
func TestDamage(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	blobs := map[byte]string{1: "one", 2: strings.Repeat("two ", 50), 3: "three"}
	for key := range byte(3) {
		put(t, s, key+1, blobs[key+1])
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(segments(t, dir)[0])
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(rt *rapid.T) {
		data := bytes.Clone(whole)
		at := rapid.IntRange(0, len(data)-1).Draw(rt, "at")
		cut := rapid.Bool().Draw(rt, "cut")
		if cut {
			data = data[:at]
		} else {
			data[at] ^= byte(rapid.IntRange(1, 255).Draw(rt, "bits"))
		}
		place, err := os.MkdirTemp(dir, "damaged-")
		if err != nil {
			rt.Fatal(err)
		}
		defer os.RemoveAll(place)
		if err := os.WriteFile(filepath.Join(place, "0-0"+suffix), data, 0o600); err != nil {
			rt.Fatal(err)
		}
		s, err := Open(place, Options{})
		if err != nil {
			rt.Fatal(err)
		}
		defer s.Close()
		lost := 0
		for key, text := range blobs {
			have, err := s.Get(Key{key})
			switch {
			case errors.Is(err, ErrMissing):
				lost++
			case err != nil || string(have) != text:
				rt.Fatalf("under %d stands %q, %v", key, have, err)
			}
		}
		if lost > 1 && !cut || lost == 0 {
			rt.Fatalf("%d blobs are lost", lost)
		}
		if err := s.Put(Key{9}, []byte("new")); err != nil {
			rt.Fatal(err)
		}
		other, err := Open(place, Options{})
		if err != nil {
			rt.Fatal(err)
		}
		defer other.Close()
		if have, err := other.Get(Key{9}); err != nil || string(have) != "new" {
			rt.Fatalf("%q, %v", have, err)
		}
	})
}

func FuzzScan(f *testing.F) {
	h := head{key: Key{1}, length: 3, at: 5, hash: 7}
	record := append(h.append(nil), "abc"...)
	f.Add(record)
	f.Add(append(bytes.Clone(record[:20]), record...))
	f.Fuzz(func(t *testing.T, data []byte) {
		var last int64
		end, err := scan(bytes.NewReader(data), 0, int64(len(data)), func(h head, offset int64) {
			if offset < last+headSize || offset+int64(h.length) > int64(len(data)) {
				t.Errorf("a blob of %d at %d, after %d, of %d bytes", h.length, offset, last, len(data))
			}
			last = offset + int64(h.length)
		})
		if err != nil || end != last {
			t.Errorf("ends at %d, the last blob at %d: %v", end, last, err)
		}
	})
}

// aged fills a store with a blob of each age, and returns the moment from which they count.
func aged(t testing.TB, dir string, ages ...time.Duration) time.Time {
	t.Helper()
	s, err := Open(dir, Options{Uses: true})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Unix(1_800_000_000, 0)
	for i, age := range ages {
		s.now = func() time.Time { return now.Add(-age) }
		put(t, s, byte(i), fmt.Sprint("blob ", i))
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return now
}

func clear(t testing.TB, dir string) {
	t.Helper()
	if _, err := Trim(dir, Limits{MaxBytes: 1}, time.Now()); err != nil {
		t.Fatal(err)
	}
}

func held(t testing.TB, dir string, n int) string {
	t.Helper()
	s, err := Open(dir, Options{Uses: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	text := ""
	for i := range n {
		if _, ok := s.index[Key{byte(i)}]; ok {
			want(t, s, byte(i), fmt.Sprint("blob ", i))
			text += fmt.Sprint(i)
		}
	}
	return text
}

func size(t testing.TB, dir string) (bytes int64) {
	t.Helper()
	for _, file := range segments(t, dir) {
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		bytes += info.Size()
	}
	return bytes
}

func TestTrim(t *testing.T) {
	day := 24 * time.Hour
	ages := []time.Duration{3 * day, 9 * day, day, 5 * day} // 1 is the oldest, then 3, 0, 2
	dir := t.TempDir()
	aged(t, dir, ages...)
	all := size(t, dir)
	for name, c := range map[string]struct {
		limits Limits
		keep   time.Duration // Limits.Keep as an age
		held   string
	}{
		"no limits":        {Limits{}, 0, "0123"},
		"age":              {Limits{MaxAge: 4 * day}, 0, "02"},
		"age of all":       {Limits{MaxAge: time.Hour}, 0, ""},
		"size of all":      {Limits{MaxBytes: all}, 0, "0123"},
		"a byte less":      {Limits{MaxBytes: all - 1}, 0, "023"},
		"half":             {Limits{MaxBytes: all / 2}, 0, "02"},
		"next to nothing":  {Limits{MaxBytes: 1}, 0, ""},
		"both":             {Limits{MaxAge: 4 * day, MaxBytes: all / 4}, 0, "2"},
		"spared from size": {Limits{MaxBytes: 1}, 4 * day, "02"},
		"spared from age":  {Limits{MaxAge: time.Hour}, 6 * day, "023"},
	} {
		t.Run(name, func(t *testing.T) {
			clear(t, dir)
			now := aged(t, dir, ages...)
			if c.keep > 0 {
				c.limits.Keep = now.Add(-c.keep)
			}
			trimmed, err := Trim(dir, c.limits, now)
			if err != nil {
				t.Fatal(err)
			}
			if held := held(t, dir, len(ages)); held != c.held {
				t.Errorf("held %s, want %s", held, c.held)
			}
			bytes := size(t, dir)
			if trimmed.Left.Entries != len(c.held) || trimmed.Left.Bytes != bytes || trimmed.Removed != len(ages)-len(c.held) || trimmed.RemovedBytes != all-bytes {
				t.Errorf("%+v, with %d bytes of %d left", trimmed, bytes, all)
			}
		})
	}
}

// Whatever the ages, the uses and the limits: what stays is within the limits.
func TestTrimKeepsToItsLimits(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		clear(t, dir)
		hours := rapid.SliceOfN(rapid.IntRange(0, 100), 0, 6).Draw(rt, "hours unused")
		ages := make([]time.Duration, len(hours))
		for i, h := range hours {
			ages[i] = time.Duration(h)*time.Hour + time.Minute
		}
		now := aged(t, dir, ages...)
		for i := range rapid.IntRange(0, len(ages)).Draw(rt, "used again") {
			s := open(t, dir)
			s.now = func() time.Time { return now }
			want(t, s, byte(i), fmt.Sprint("blob ", i))
			if err := s.Close(); err != nil {
				rt.Fatal(err)
			}
		}
		limits := Limits{
			MaxAge:   time.Duration(rapid.IntRange(0, 100).Draw(rt, "max age")) * time.Hour,
			MaxBytes: rapid.Int64Range(0, 500).Draw(rt, "max bytes"),
		}
		trimmed, err := Trim(dir, limits, now)
		if err != nil {
			rt.Fatal(err)
		}
		left := trimmed.Left
		if limits.MaxBytes > 0 && left.Bytes > limits.MaxBytes {
			rt.Fatalf("%d bytes are left of at most %d", left.Bytes, limits.MaxBytes)
		}
		if limits.MaxAge > 0 && left.Oldest != nil && now.Sub(*left.Oldest) > limits.MaxAge {
			rt.Fatalf("a blob unused since %s is left, at most %s", left.Oldest, limits.MaxAge)
		}
		if limits.MaxAge == 0 && limits.MaxBytes == 0 && trimmed.Removed > 0 {
			rt.Fatalf("%d went without a limit", trimmed.Removed)
		}
		if held := held(t, dir, len(ages)); len(held) != left.Entries {
			rt.Fatalf("%s are held, %d blobs counted", held, left.Entries)
		}
	})
}

func TestAUseKeepsABlob(t *testing.T) {
	dir := t.TempDir()
	now := aged(t, dir, 9*time.Hour, 8*time.Hour)
	s := open(t, dir)
	s.now = func() time.Time { return now.Add(-time.Hour) }
	want(t, s, 0, "blob 0")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Trim(dir, Limits{MaxAge: 2 * time.Hour}, now); err != nil {
		t.Fatal(err)
	}
	if held := held(t, dir, 2); held != "0" {
		t.Errorf("held %s, want 0", held)
	}
}

func TestTrimLeavesAloneWhatIsNotTheStores(t *testing.T) {
	dir := t.TempDir()
	now := aged(t, dir, 100*time.Hour)
	others := map[string]bool{}
	for _, name := range []string{"notes.txt", "00" + suffix + "/notes.txt", "x" + suffix + ".txt"} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("mine"), 0o600); err != nil {
			t.Fatal(err)
		}
		others[path] = true
	}
	if _, err := Trim(dir, Limits{MaxBytes: 1}, now); err != nil {
		t.Fatal(err)
	}
	for path := range maps.Keys(others) {
		if text, err := os.ReadFile(path); err != nil || string(text) != "mine" {
			t.Errorf("%s: %q, %v", path, text, err)
		}
	}
	if held := held(t, dir, 1); held != "" {
		t.Errorf("held %s", held)
	}
}

// Some fill and read a store while others trim it to nothing: a blob that goes is missing,
// and nobody sees an error or half a blob.
func TestTrimBesideOthers(t *testing.T) {
	dir := t.TempDir()
	var group sync.WaitGroup
	for range 3 {
		s := open(t, dir)
		group.Go(func() {
			for i := range 60 {
				key := Key{byte(i % 6)}
				if data, err := s.Get(key); err == nil && string(data) != fmt.Sprint("blob ", i%6) || err != nil && !errors.Is(err, ErrMissing) {
					t.Errorf("%q, %v", data, err)
				}
				if err := s.Put(key, []byte(fmt.Sprint("blob ", i%6))); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for range 2 {
		group.Go(func() {
			for range 20 {
				if _, err := Trim(dir, Limits{MaxBytes: 1}, time.Now()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
}

func TestAStoreThatCannotBeWritten(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(file, Options{}); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("a file as the folder: %v", err)
	}
	s := open(t, filepath.Join(filepath.Dir(file), "later"))
	if err := os.WriteFile(s.dir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.Put(Key{1}, []byte("x")); err == nil || !strings.Contains(err.Error(), s.dir) {
		t.Errorf("a file in the folder's place: %v", err)
	}
}

// Whichever segment the later of two blobs of one key lies in, it counts.
func TestTheLaterBlobCounts(t *testing.T) {
	dir := t.TempDir()
	a, b := open(t, dir), open(t, dir)
	put(t, a, 9, "makes the older segment")
	put(t, b, 1, "old")
	put(t, a, 1, "new")
	want(t, b, 1, "old") // it has one, and does not look for others
	want(t, open(t, dir), 1, "new")
	put(t, b, 1, "newest")
	want(t, open(t, dir), 1, "newest")
	if err := errors.Join(a.Close(), b.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := Trim(dir, Limits{MaxBytes: 1 << 20}, time.Now()); err != nil {
		t.Fatal(err)
	}
	want(t, open(t, dir), 1, "newest")
}

// A blob that is damaged is stored anew, though into an older segment than the damaged one.
func TestDamageIsHealed(t *testing.T) {
	dir := t.TempDir()
	a, b := open(t, dir), open(t, dir)
	put(t, a, 9, "makes the older segment")
	put(t, b, 1, strings.Repeat("a long text ", 100))
	name := b.own.name
	if err := errors.Join(a.Close(), b.Close()); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, name)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	data[len(data)-3] ^= 1
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	held := open(t, dir) // keeps the newer segment, so that another is stored in
	if _, err := held.Get(Key{1}); !errors.Is(err, ErrMissing) || !errors.Is(err, ErrDamaged) || held.Whole(Key{1}) || !held.Has(Key{1}) {
		t.Errorf("damaged: %v", err)
	}
	put(t, held, 8, "takes the newer segment")
	other := open(t, dir)
	put(t, other, 1, "healed")
	for range 2 {
		want(t, open(t, dir), 1, "healed")
	}
}

// What a store can't read or lock it leaves to others.
func TestWhatIsNotOursIsPassedOver(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	put(t, s, 1, "mine")
	name := s.own.name
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	elsewhere := filepath.Join(t.TempDir(), "made")
	lock := filepath.Join(dir, name+lockSuffix)
	if err := errors.Join(os.Remove(lock), os.Symlink(elsewhere, lock)); err != nil {
		t.Skip("no links here: ", err)
	}
	again := open(t, dir)
	want(t, again, 1, "mine")
	put(t, again, 2, "beside it")
	if len(segments(t, dir)) != 2 {
		t.Error("a segment whose lock is a link was taken over")
	}
	if _, err := os.Lstat(elsewhere); err == nil {
		t.Error("a link was followed")
	}
	trimmed, err := Trim(dir, Limits{MaxBytes: 1}, time.Now())
	if err != nil || trimmed.Removed != 0 || trimmed.Held != 2 {
		t.Errorf("%+v, %v", trimmed, err)
	}
	if os.Getuid() != 0 {
		if err := os.Chmod(filepath.Join(dir, name), 0); err != nil {
			t.Fatal(err)
		}
		theirs := open(t, dir)
		want(t, theirs, 2, "beside it")
		if _, err := theirs.Get(Key{1}); !errors.Is(err, ErrMissing) {
			t.Errorf("a segment that may not be read: %v", err)
		}
	}
}
