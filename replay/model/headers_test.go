package model

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

func TestWaitsThatHeadersAskFor(t *testing.T) {
	now := time.Date(2026, 3, 20, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		name    string
		headers []string
		want    time.Duration
	}{
		{"nothing", nil, 0},
		{"seconds", []string{"Retry-After", "3"}, 3 * time.Second},
		{"a date", []string{"Retry-After", now.Add(time.Minute).Format(http.TimeFormat)}, time.Minute},
		{"milliseconds", []string{"Retry-After-Ms", "250", "Retry-After", "1"}, 250 * time.Millisecond},
		{"requests used up", []string{"x-ratelimit-remaining-requests", "0", "x-ratelimit-reset-requests", "6m0s"}, 6 * time.Minute},
		{"tokens used up", []string{"x-ratelimit-remaining-tokens", "0", "x-ratelimit-reset-tokens", "20ms"}, 20 * time.Millisecond},
		{"both", []string{"x-ratelimit-remaining-requests", "0", "x-ratelimit-reset-requests", "1s", "x-ratelimit-remaining-tokens", "0", "x-ratelimit-reset-tokens", "2m59.56s"}, 2*time.Minute + 59*time.Second + 560*time.Millisecond},
		{"some left", []string{"x-ratelimit-remaining-requests", "1", "x-ratelimit-reset-requests", "6m0s"}, 0},
		{"seconds as a number", []string{"x-ratelimit-remaining-requests", "0", "x-ratelimit-reset-requests", "7.5"}, 7500 * time.Millisecond},
		{"seconds since 1970", []string{"x-ratelimit-remaining-requests", "0", "x-ratelimit-reset-requests", "1774008030"}, 30 * time.Second},
		{"Anthropic's", []string{"anthropic-ratelimit-input-tokens-remaining", "0", "anthropic-ratelimit-input-tokens-reset", "2026-03-20T12:00:09Z"}, 9 * time.Second},
		{"a time that is over", []string{"anthropic-ratelimit-requests-remaining", "0", "anthropic-ratelimit-requests-reset", "2026-03-20T11:00:00Z"}, 0},
		{"nonsense", []string{"x-ratelimit-remaining-requests", "none", "x-ratelimit-reset-requests", "soon", "Retry-After", "later"}, 0},
		{"a year", []string{"x-ratelimit-remaining-requests", "0", "x-ratelimit-reset-requests", "8760h"}, longestAsked},
	} {
		header := http.Header{}
		for i := 0; i < len(c.headers); i += 2 {
			header.Set(c.headers[i], c.headers[i+1])
		}
		if got := askedWait(header, now); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// A rate that is used up holds everybody back before anybody is refused.
func TestUsedUpRatesHoldEverybodyBack(t *testing.T) {
	p := serve(t, answers(answer(200, goodAnswer, "x-ratelimit-remaining-requests", "0", "x-ratelimit-reset-requests", "90s")))
	client, _ := connect(t, Endpoint{BaseURL: p.URL})
	limit := NewLimiter(0, 0)
	before := time.Now()
	if _, err := NewLimited(client, limit, sized(1)).Complete(t.Context(), ask("m")); err != nil {
		t.Fatal(err)
	}
	if left := limit.paused.Sub(before); left < 80*time.Second || limit.level != 1 {
		t.Errorf("paused for %v, level %v", left, limit.level)
	}
	synctest.Test(t, func(t *testing.T) {
		limit := NewLimiter(0, 0)
		limit.wait(time.Hour)
		began := time.Now()
		if err := limit.admit(t.Context(), 1); err != nil || time.Since(began) != longestPaused {
			t.Errorf("waited %v: %v", time.Since(began), err)
		}
	})
}
