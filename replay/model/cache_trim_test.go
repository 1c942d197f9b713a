package model

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"pgregory.net/rapid"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
)

// fillCache stores answers of the given ages, oldest entries by any order, and returns
// the moment from which the ages count.
func fillCache(t testing.TB, dir string, ages ...time.Duration) time.Time {
	t.Helper()
	c, err := NewCached(&counted{}, "http://x/v1", dir, CacheWrite)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	for i, age := range ages {
		before := cacheFiles(t, dir)
		if _, err := c.Complete(context.Background(), ask(fmt.Sprint("model ", i))); err != nil {
			t.Fatal(err)
		}
		for path := range cacheFiles(t, dir) {
			if _, old := before[path]; old {
				continue
			}
			if err := os.Chtimes(path, now.Add(-age), now.Add(-age)); err != nil {
				t.Fatal(err)
			}
		}
	}
	return now
}

// cacheFiles are the files of a cache with their sizes.
func cacheFiles(t testing.TB, dir string) map[string]int64 {
	t.Helper()
	files := map[string]int64{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		files[path] = info.Size()
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// heldAnswers says which of n answers a cache still has.
func heldAnswers(t testing.TB, dir string, n int) string {
	t.Helper()
	c, err := NewCached(&counted{}, "http://x/v1", dir, CacheOnly)
	if err != nil {
		t.Fatal(err)
	}
	held := ""
	for i := range n {
		_, err := c.Complete(context.Background(), ask(fmt.Sprint("model ", i)))
		switch {
		case err == nil:
			held += fmt.Sprint(i)
		case !errors.Is(err, ErrNotStored):
			t.Fatal(err)
		}
	}
	return held
}

func TestTrim(t *testing.T) {
	day := 24 * time.Hour
	ages := []time.Duration{3 * day, 9 * day, day, 5 * day} // 1 is the oldest, then 3, 0, 2
	dir := t.TempDir()
	fillCache(t, dir, ages...)
	var all int64
	for _, size := range cacheFiles(t, dir) {
		all += size
	}
	for name, c := range map[string]struct {
		limits TrimLimits // Keep as an age
		keep   time.Duration
		held   string
	}{
		"no limits":        {TrimLimits{}, 0, "0123"},
		"age":              {TrimLimits{MaxAge: 4 * day}, 0, "02"},
		"age of all":       {TrimLimits{MaxAge: time.Hour}, 0, ""},
		"size of all":      {TrimLimits{MaxBytes: all}, 0, "0123"},
		"a byte less":      {TrimLimits{MaxBytes: all - 1}, 0, "023"},
		"half":             {TrimLimits{MaxBytes: all / 2}, 0, "02"},
		"next to nothing":  {TrimLimits{MaxBytes: 1}, 0, ""},
		"both":             {TrimLimits{MaxAge: 4 * day, MaxBytes: all / 4}, 0, "2"},
		"spared from size": {TrimLimits{MaxBytes: 1}, 4 * day, "02"},
		"spared from age":  {TrimLimits{MaxAge: time.Hour}, 6 * day, "023"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := TrimCache(dir, TrimLimits{MaxBytes: 1}, time.Now()); err != nil {
				t.Fatal(err)
			}
			now := fillCache(t, dir, ages...)
			if c.keep > 0 {
				c.limits.Keep = now.Add(-c.keep)
			}
			trimmed, err := TrimCache(dir, c.limits, now)
			if err != nil {
				t.Fatal(err)
			}
			if held := heldAnswers(t, dir, len(ages)); held != c.held {
				t.Errorf("held %s, want %s", held, c.held)
			}
			var bytes int64
			for _, size := range cacheFiles(t, dir) {
				bytes += size
			}
			if trimmed.Left.Entries != len(c.held) || trimmed.Left.Bytes != bytes || trimmed.Removed != len(ages)-len(c.held) || trimmed.RemovedBytes != all-bytes {
				t.Errorf("%+v, with %d bytes of %d left", trimmed, bytes, all)
			}
		})
	}
}

// Whatever the ages and limits: what stays is within the limits or spared, and nothing
// that went was used later than something of its size that a limit of size let stay.
func TestTrimKeepsToItsLimits(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		if _, err := TrimCache(dir, TrimLimits{MaxBytes: 1}, time.Now()); err != nil {
			rt.Fatal(err)
		}
		hours := rapid.SliceOfN(rapid.IntRange(0, 100), 0, 6).Draw(rt, "hours unused")
		ages := make([]time.Duration, len(hours))
		for i, h := range hours {
			ages[i] = time.Duration(h)*time.Hour + time.Minute
		}
		now := fillCache(t, dir, ages...)
		limits := TrimLimits{
			MaxAge:   time.Duration(rapid.IntRange(0, 100).Draw(rt, "max age")) * time.Hour,
			MaxBytes: rapid.Int64Range(0, 3000).Draw(rt, "max bytes"),
		}
		trimmed, err := TrimCache(dir, limits, now)
		if err != nil {
			rt.Fatal(err)
		}
		left := trimmed.Left
		if limits.MaxBytes > 0 && left.Bytes > limits.MaxBytes {
			rt.Fatalf("%d bytes are left of at most %d", left.Bytes, limits.MaxBytes)
		}
		if limits.MaxAge > 0 && left.Oldest != nil && now.Sub(*left.Oldest) > limits.MaxAge {
			rt.Fatalf("an entry unused since %s is left, at most %s", left.Oldest, limits.MaxAge)
		}
		if limits.MaxAge == 0 && limits.MaxBytes == 0 && trimmed.Removed > 0 {
			rt.Fatalf("%d went without a limit", trimmed.Removed)
		}
		if held := heldAnswers(t, dir, len(ages)); len(held) != left.Entries {
			rt.Fatalf("%s are held, %d entries counted", held, left.Entries)
		}
	})
}

func TestTrimLeavesAloneWhatIsNotTheCaches(t *testing.T) {
	dir := t.TempDir()
	now := fillCache(t, dir, 100*time.Hour)
	var others []string
	for _, name := range []string{"notes.txt", "00/notes.txt", "00/zz-a", "00/" + strings.Repeat("0", 64) + "-x", "sub/" + strings.Repeat("0", 64) + "-a"} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("mine"), 0o600); err != nil {
			t.Fatal(err)
		}
		others = append(others, path)
	}
	if _, err := TrimCache(dir, TrimLimits{MaxAge: time.Second, MaxBytes: 1}, now.Add(1000*time.Hour)); err != nil {
		t.Fatal(err)
	}
	left := cacheFiles(t, dir)
	if len(left) != len(others) {
		t.Errorf("left %v, want %v", left, others)
	}
}

// Data that no index names, and an index that names none.
func TestTrimOfADamagedCache(t *testing.T) {
	dir := t.TempDir()
	now := fillCache(t, dir, 3*time.Hour, 3*time.Hour)
	for path := range cacheFiles(t, dir) {
		if strings.HasSuffix(path, "-a") {
			if err := os.WriteFile(path, []byte("v1 nonsense"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, c := range []struct {
		after time.Duration
		files int
	}{{-150 * time.Minute, 4}, {0, 2}, {100 * time.Hour, 0}} { // young data may be about to be named
		if _, err := TrimCache(dir, TrimLimits{MaxAge: 50 * time.Hour}, now.Add(c.after)); err != nil {
			t.Fatal(err)
		}
		if left := cacheFiles(t, dir); len(left) != c.files {
			t.Errorf("after %s: %v", c.after, left)
		}
	}
	if size, err := MeasureCache(filepath.Join(dir, "none")); err != nil || size.Entries != 0 || size.Oldest != nil {
		t.Errorf("a cache that isn't there: %+v, %v", size, err)
	}
}

// Some fill and read the cache while others trim it to nothing: an entry that goes is a
// miss, and nobody sees an error or half an entry.
func TestTrimBesideOthers(t *testing.T) {
	dir := t.TempDir()
	caches := make([]*Cached, 3)
	for i := range caches {
		caches[i] = cached(t, &counted{}, dir, CacheWrite, fmt.Sprint("run ", i))
		caches[i].Warn = func(err error) { t.Error(err) }
	}
	var group sync.WaitGroup
	for _, c := range caches {
		group.Go(func() {
			for i := range 60 {
				reply, err := c.Complete(context.Background(), ask(fmt.Sprint("model ", i%6)))
				if err != nil || !strings.HasPrefix(reply.Message.Content, "answer ") {
					t.Errorf("%+v, %v", reply, err)
				}
			}
		})
	}
	for range 2 {
		group.Go(func() {
			for range 20 {
				if _, err := TrimCache(dir, TrimLimits{MaxBytes: 1}, time.Now()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
}

func TestWhatStoodOnTheWireIsKept(t *testing.T) {
	dir := t.TempDir()
	raw := &replay.Raw{Request: bytes.Repeat([]byte(`{"a":"bytes that repeat"}`), 1000), Response: []byte("\x00\xff not text")}
	c := cached(t, modelFunc(func(context.Context, *replay.Request) (*replay.Reply, error) {
		reply := say("hello")
		reply.Raw, reply.Reasoning, reply.Sent = raw, "hm", "no seed"
		return reply, nil
	}), dir, CacheWrite, "r")
	fresh := ask("m")
	fresh.Fresh = true
	for _, request := range []*replay.Request{ask("m"), fresh} {
		reply := complete(t, c, request)
		got, err := ReadRaw(dir, reply.Key)
		if err != nil || !bytes.Equal(got.Request, raw.Request) || !bytes.Equal(got.Response, raw.Response) {
			t.Errorf("%v", err)
		}
	}
	if again := complete(t, cached(t, &counted{}, dir, CacheOnly, "s"), ask("m")); again.Reasoning != "hm" || again.Sent != "no seed" || again.Raw != nil {
		t.Errorf("%+v", again)
	}
	if size, err := MeasureCache(dir); err != nil || size.Entries != 4 || size.Bytes > int64(len(raw.Request)) {
		t.Errorf("%+v, %v", size, err)
	}
	for _, at := range []string{dir, filepath.Join(dir, "none")} {
		if _, err := ReadRaw(at, "0123456789abcdef"); !errors.Is(err, ErrNoRaw) {
			t.Errorf("%s: %v", at, err)
		}
	}
}

func TestDamagedBytesOfTheWire(t *testing.T) {
	dir := t.TempDir()
	c := cached(t, &counted{}, dir, CacheWrite, "r")
	writer, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, damaged := range [][]byte{
		nil, []byte("no zstd"), writer.EncodeAll([]byte("short"), nil),
		writer.EncodeAll([]byte("\x00\x00\x00\x00\x00\x00\x00\x09 8 bytes"), nil),
		writer.EncodeAll([]byte("\xff\xff\xff\xff\xff\xff\xff\xff"), nil),
	} {
		key := fixtures.Hash(fmt.Sprint("key ", i))
		id, err := rawID(key)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.store.PutBytes(id, damaged); err != nil {
			t.Fatal(err)
		}
		if raw, err := ReadRaw(dir, key); err == nil || errors.Is(err, ErrNoRaw) || !strings.Contains(err.Error(), "damaged") {
			t.Errorf("%q: %+v, %v", damaged, raw, err)
		}
	}
}
