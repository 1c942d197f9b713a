package main

import "testing"

// sampled says that a test does a part of its work, enough to see that it holds and for
// the race detector to look at: the whole is left to a run without -short and -race.
func sampled() bool { return raced || testing.Short() }

// inFull skips what is left to a run without -short and -race.
func inFull(t *testing.T) {
	t.Helper()
	if sampled() {
		t.Skip("left to a run without -short and -race")
	}
}
