package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestVerdictsAtTheTerminalAreTimed(t *testing.T) {
	dir := t.TempDir()
	at := time.Date(2026, 3, 20, 12, 0, 0, 0, time.UTC)
	noteShown(dir, "maria", "a", at.Add(-time.Hour))
	noteShown(dir, "jon", "a", at)
	noteShown(dir, "Maria", "b", at)
	noteShown(dir, "", "b", at)
	for _, c := range []struct {
		by, pair string
		after    time.Duration
		want     float64
	}{
		{"maria", "b", 12340 * time.Millisecond, 12.3},
		{"jon", "a", 30 * time.Minute, 1800},
		{"jon", "a", 30*time.Minute + time.Second, 0}, // a pause
		{"jon", "a", 300 * time.Millisecond, 0},       // a script
		{"jon", "a", -time.Minute, 0},                 // a clock that was put back
		{"maria", "a", time.Minute, 0},                // not the last that she was shown
		{"lee", "a", time.Minute, 0},
		{"", "b", time.Minute, 0},
	} {
		if got := secondsShown(dir, c.by, c.pair, at.Add(c.after)); got != c.want {
			t.Errorf("%s on %s after %v: %v seconds: want %v", c.by, c.pair, c.after, got, c.want)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, shownFile), []byte("null"), 0o644); err != nil {
		t.Fatal(err)
	}
	noteShown(dir, "maria", "a", at)
	if got := secondsShown(dir, "maria", "a", at.Add(time.Minute)); got != 60 {
		t.Errorf("after a broken file: %v seconds", got)
	}
}
