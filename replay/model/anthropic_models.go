package model

import (
	"strconv"
	"strings"
)

// TakesTemperature says whether a model takes the parameter temperature, going by its
// name. Anthropic's models refuse it with status 400 from Opus 4.7, Sonnet 5 and the
// first Haiku after 4.5 on, and so do the families that came later. A name that isn't
// Claude's takes it, as most models do.
func TakesTemperature(name string) bool {
	at := strings.Index(name, "claude-")
	if at < 0 {
		return true
	}
	parts := strings.FieldsFunc(name[at+len("claude-"):], func(r rune) bool { return r == '-' || r == '.' || r == '@' || r == ':' })
	if len(parts) == 0 {
		return true
	}
	if major, err := strconv.Atoi(strings.TrimPrefix(parts[0], "v")); err == nil || parts[0] == "instant" {
		return parts[0] == "instant" || major < 4 // claude-3-5-sonnet and before: the version stood first
	}
	last, known := map[string]int{"opus": 406, "sonnet": 406, "haiku": 405}[parts[0]]
	if !known || len(parts) == 1 {
		return false
	}
	return modelVersion(parts[1:]) <= last
}

// modelVersion is a version such as 4-6 as a number, 406. What follows the version may be
// a date, which has eight digits.
func modelVersion(parts []string) int {
	version := 0
	for i := range 2 {
		version *= 100
		if i >= len(parts) {
			continue
		}
		n, err := strconv.Atoi(parts[i])
		if err != nil || n > 99 {
			if i == 0 {
				return 9999
			}
			continue
		}
		version += n
	}
	return version
}
