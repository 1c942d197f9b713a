package main

import (
	"testing"
	"time"
)

func TestParseAge(t *testing.T) {
	day := 24 * time.Hour
	for text, want := range map[string]time.Duration{
		"30d": 30 * day, "0.5d": 12 * time.Hour, "12h": 12 * time.Hour, "1h30m": 90 * time.Minute,
		"": 0, "d": 0, "0d": 0, "-1d": 0, "-1h": 0, "30": 0, "NaNd": 0, "Infd": 0, "1e9d": 0, "30 days": 0, "1d12h": 0,
	} {
		got, err := parseAge(text)
		if (err == nil) != (want > 0) || got != want {
			t.Errorf("%q: %v, %v; want %v", text, got, err, want)
		}
	}
}
