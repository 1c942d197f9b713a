package model

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// longestAsked bounds what a provider can ask for: nobody waits longer, and a duration
// cannot hold everything.
const longestAsked = 24 * time.Hour

// askedWait is how long the headers of an answer ask to wait: as Retry-After says, else
// until what is used up is there again. 0 where they ask for nothing.
func askedWait(header http.Header, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(header.Get("Retry-After-Ms"), 64); err == nil && ms > 0 {
		return seconds(ms / 1000)
	}
	if wait := retryAfter(header, now); wait > 0 {
		return wait
	}
	return usedUp(header, now)
}

// retryAfter reads the Retry-After header, in seconds or as a date.
func retryAfter(header http.Header, now time.Time) time.Duration {
	value := header.Get("Retry-After")
	if value == "" {
		return 0
	}
	if n, err := strconv.ParseFloat(value, 64); err == nil {
		return seconds(n)
	}
	if date, err := http.ParseTime(value); err == nil {
		return until(date, now)
	}
	return 0
}

// usedUp is the time until the last of the rates that the headers call used up is there
// again. They are those of OpenAI (https://platform.openai.com/docs/guides/rate-limits)
// and of Anthropic (https://docs.anthropic.com/en/api/rate-limits), which others write, too.
func usedUp(header http.Header, now time.Time) time.Duration {
	var wait time.Duration
	for _, name := range []string{"requests", "tokens"} {
		if none(header.Get("X-Ratelimit-Remaining-" + name)) {
			wait = max(wait, resetIn(header.Get("X-Ratelimit-Reset-"+name), now))
		}
	}
	for _, name := range []string{"requests", "tokens", "input-tokens", "output-tokens"} {
		if none(header.Get("Anthropic-Ratelimit-" + name + "-Remaining")) {
			wait = max(wait, resetIn(header.Get("Anthropic-Ratelimit-"+name+"-Reset"), now))
		}
	}
	return wait
}

// none says that a header counts down to nothing.
func none(value string) bool {
	n, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
	return err == nil && n <= 0
}

// resetIn reads when a rate is there again: a duration such as 6m0s, a number of seconds,
// or a time, which may be written as seconds since 1970.
func resetIn(value string, now time.Time) time.Duration {
	value = strings.TrimSpace(value)
	if wait, err := time.ParseDuration(value); err == nil {
		return min(max(wait, 0), longestAsked)
	}
	const epoch = 1e9 // more seconds than that are no wait
	if n, err := strconv.ParseFloat(value, 64); err == nil && n < epoch {
		return seconds(n)
	} else if err == nil && n < 1e12 {
		return until(time.Unix(int64(n), 0), now)
	}
	if at, err := time.Parse(time.RFC3339, value); err == nil {
		return until(at, now)
	}
	return 0
}

// seconds is a number of seconds as a duration; 0 for what is none.
func seconds(n float64) time.Duration {
	if n > 0 { // which not-a-number isn't
		return time.Duration(min(n, longestAsked.Seconds()) * float64(time.Second))
	}
	return 0
}

func until(at, now time.Time) time.Duration {
	return min(max(at.Sub(now), 0), longestAsked)
}
