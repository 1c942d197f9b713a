package model

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// TrimLimits say how much of an answer cache may stay.
type TrimLimits struct {
	// MaxAge is how long an entry may stay unused; 0 means for ever. Uses are noted to
	// within an hour.
	MaxAge time.Duration
	// MaxBytes is how large the cache may be; 0 means any size. The entries that were
	// unused for longest go first.
	MaxBytes int64
	// Keep spares what was stored or used since then; the zero time spares nothing.
	Keep time.Time
}

// CacheSize is what an answer cache holds.
type CacheSize struct {
	Dir string `json:"dir"`
	// Entries counts answers and kept exchanges; Bytes is their size on disk.
	Entries int   `json:"entries"`
	Bytes   int64 `json:"bytes"`
	// Oldest and Newest are when the entries were last used, to within an hour; nil for
	// an empty cache.
	Oldest *time.Time `json:"oldest_use"`
	Newest *time.Time `json:"newest_use"`
}

// Trimmed is what a trim took out and left.
type Trimmed struct {
	Removed      int       `json:"removed"`
	RemovedBytes int64     `json:"removed_bytes"`
	Left         CacheSize `json:"left"`
}

// cacheEntry is an entry on disk: an index file and the data that it names.
type cacheEntry struct {
	index, data string // paths; data is empty where the index is damaged
	bytes       int64
	used        time.Time
}

// MeasureCache tells the size of the answer cache in dir; one that isn't there is empty.
func MeasureCache(dir string) (CacheSize, error) {
	entries, strays, err := readCache(dir)
	if err != nil {
		return CacheSize{}, fmt.Errorf("measuring the answer cache: %w", err)
	}
	return sizeOf(dir, entries, strays), nil
}

// TrimCache takes entries out of the answer cache in dir until it keeps to the limits.
// Other processes may use the cache meanwhile: what they miss they ask for again.
func TrimCache(dir string, limits TrimLimits, now time.Time) (Trimmed, error) {
	entries, strays, err := readCache(dir)
	if err != nil {
		return Trimmed{}, fmt.Errorf("trimming the answer cache: %w", err)
	}
	slices.SortFunc(entries, func(a, b cacheEntry) int { return a.used.Compare(b.used) })
	var total int64
	shared := map[string]int{} // entries by data
	for _, e := range entries {
		total += e.bytes
		shared[e.data]++
	}
	var t Trimmed
	var left []cacheEntry
	for _, e := range entries {
		old := limits.MaxAge > 0 && now.Sub(e.used) > limits.MaxAge
		large := limits.MaxBytes > 0 && total > limits.MaxBytes
		if !old && !large || !limits.Keep.IsZero() && !e.used.Before(limits.Keep) {
			left = append(left, e)
			continue
		}
		if err := remove(e.index); err != nil {
			return t, err
		}
		if shared[e.data]--; e.data != "" && shared[e.data] == 0 {
			if err := remove(e.data); err != nil {
				return t, err
			}
		}
		total -= e.bytes
		t.Removed++
		t.RemovedBytes += e.bytes
	}
	// Data that nothing names is left by an index that was overwritten or damaged. A process
	// that stores an answer writes the data first, and names it at once.
	var kept []cacheEntry
	for _, s := range strays {
		if now.Sub(s.used) < time.Hour {
			kept = append(kept, s)
			continue
		}
		if err := remove(s.data); err != nil {
			return t, err
		}
		t.RemovedBytes += s.bytes
	}
	t.Left = sizeOf(dir, left, kept)
	return t, nil
}

// remove takes a file away, unless somebody else has.
func remove(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("trimming the answer cache: %w; it may belong to somebody else, choose another with --cache-dir", err)
	}
	return nil
}

func sizeOf(dir string, entries, strays []cacheEntry) CacheSize {
	size := CacheSize{Dir: dir, Entries: len(entries)}
	for _, e := range entries {
		size.Bytes += e.bytes
		used := e.used.UTC()
		if size.Oldest == nil || used.Before(*size.Oldest) {
			size.Oldest = &used
		}
		if size.Newest == nil || used.After(*size.Newest) {
			size.Newest = &used
		}
	}
	for _, s := range strays {
		size.Bytes += s.bytes
	}
	return size
}

// readCache lists the entries of a cache, and the data that no entry names. It goes by
// the layout of the library's folders: two hexadecimal digits, in them <hash>-a for an
// index file and <hash>-d for data; nothing else in the folder is looked at.
func readCache(dir string) (entries, strays []cacheEntry, err error) {
	data := map[string]fs.FileInfo{}
	index := map[string]fs.FileInfo{}
	for i := range 256 {
		folder := filepath.Join(dir, fmt.Sprintf("%02x", i))
		files, err := os.ReadDir(folder)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		for _, file := range files {
			name, kind, ok := strings.Cut(file.Name(), "-")
			if raw, err := hex.DecodeString(name); !ok || err != nil || len(raw) != 32 || !file.Type().IsRegular() {
				continue
			}
			info, err := file.Info()
			if err != nil {
				continue // another process took it away
			}
			switch kind {
			case "a":
				index[filepath.Join(folder, file.Name())] = info
			case "d":
				data[filepath.Join(folder, file.Name())] = info
			}
		}
	}
	named := map[string]bool{}
	for path, info := range index {
		e := cacheEntry{index: path, bytes: info.Size(), used: info.ModTime()}
		if hash := dataHash(path); hash != "" {
			at := filepath.Join(dir, hash[:2], hash+"-d")
			if info, ok := data[at]; ok {
				e.data = at
				if !named[at] {
					e.bytes += info.Size()
				}
				named[at] = true
			}
		}
		entries = append(entries, e)
	}
	for path, info := range data {
		if !named[path] {
			strays = append(strays, cacheEntry{data: path, bytes: info.Size(), used: info.ModTime()})
		}
	}
	return entries, strays, nil
}

// dataHash is the hash of the data that an index file names, "v1 <hash> <hash of data> ...",
// or empty for one that can't be read.
func dataHash(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	fields := strings.Fields(string(text))
	if len(fields) < 3 || fields[0] != "v1" || len(fields[2]) != 64 {
		return ""
	}
	if _, err := hex.DecodeString(fields[2]); err != nil {
		return ""
	}
	return fields[2]
}
