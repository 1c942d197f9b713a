package main

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"time"

	"github.com/doubletake-dev/doubletake/pairing"
	"github.com/doubletake-dev/doubletake/replay"
)

// shownFile is where a run keeps which pair each reviewer was shown last at a terminal, so
// that a verdict there is timed as one on the page is.
const shownFile = "shown.json"

// shownAt is when a reviewer was shown a pair.
type shownAt struct {
	Pair string    `json:"pair"`
	At   time.Time `json:"at"`
}

// noteShown keeps that a pair is being shown. Times are a help and no part of a verdict:
// where they can't be kept, for nobody in particular or on a disk that takes nothing, the
// verdict has none.
func noteShown(dir, reviewer, pair string, now time.Time) {
	if reviewer == "" {
		return
	}
	shown := readShown(dir)
	shown[pairing.ReviewerKey(reviewer)] = shownAt{pair, now.UTC()}
	_ = replay.WriteJSON(filepath.Join(dir, shownFile), shown)
}

// secondsShown is for how long a pair has been before a reviewer: 0 where it was not the
// last that they were shown, or where that is more than half an hour or less than a second
// ago. The first is a pause, and the second no reading.
func secondsShown(dir, reviewer, pair string, now time.Time) float64 {
	shown, ok := readShown(dir)[pairing.ReviewerKey(reviewer)]
	since := now.Sub(shown.At)
	if !ok || shown.Pair != pair || since < time.Second || since > 30*time.Minute {
		return 0
	}
	return math.Round(since.Seconds()*10) / 10
}

func readShown(dir string) map[string]shownAt {
	var shown map[string]shownAt
	data, err := os.ReadFile(filepath.Join(dir, shownFile))
	if err != nil || json.Unmarshal(data, &shown) != nil || shown == nil {
		return map[string]shownAt{}
	}
	return shown
}
