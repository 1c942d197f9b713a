package model

import (
	"fmt"
	"time"

	"github.com/doubletake-dev/doubletake/replay/pack"
)

// TrimLimits say how much of an answer cache may stay; its entries are answers, and what
// stood on the wire for them.
type TrimLimits = pack.Limits

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
	Removed      int   `json:"removed"`
	RemovedBytes int64 `json:"removed_bytes"`
	// Held counts what had to go and stays: a night stores beside it, or the folder can't
	// be written.
	Held int       `json:"held"`
	Left CacheSize `json:"left"`
}

// MeasureCache tells the size of the answer cache in dir; one that isn't there is empty.
func MeasureCache(dir string) (CacheSize, error) {
	size, err := pack.Measure(dir)
	if err != nil {
		return CacheSize{}, fmt.Errorf("measuring the answer cache: %w", err)
	}
	return sizeOf(dir, size), nil
}

// TrimCache takes entries out of the answer cache in dir until it keeps to the limits.
// Other processes may use the cache meanwhile; what one stores in at the time stays.
func TrimCache(dir string, limits TrimLimits, now time.Time) (Trimmed, error) {
	t, err := pack.Trim(dir, limits, now)
	if err != nil {
		return Trimmed{}, fmt.Errorf("trimming the answer cache: %w", err)
	}
	return Trimmed{t.Removed, t.RemovedBytes, t.Held, sizeOf(dir, t.Left)}, nil
}

func sizeOf(dir string, size pack.Size) CacheSize {
	return CacheSize{dir, size.Entries, size.Bytes, size.Oldest, size.Newest}
}
