package pairing

import (
	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
)

// Repeats counts the calls of an episode that the recording had already made before the
// fork and does not make again, by their class. A read made again right after a
// compaction can be right: what it had said may be gone. A write made again is not.
type Repeats struct {
	Reads  int `json:"reads,omitempty"`
	Writes int `json:"writes,omitempty"`
	// Unclear are calls of tools that can do either.
	Unclear int `json:"unclear,omitempty"`
}

// CountRepeats counts the repeated calls of an episode of the fixture.
func CountRepeats(f *fixtures.Fixture, e *replay.Episode) Repeats {
	var r Repeats
	for i := range e.Steps {
		s := &e.Steps[i]
		if s.MadeInTurn == 0 || s.Call == nil {
			continue
		}
		switch f.CallClass(s.Call.Name) {
		case fixtures.WriteCall:
			r.Writes++
		case fixtures.ReadCall:
			r.Reads++
		default:
			r.Unclear++
		}
	}
	return r
}

// Any says whether there are any.
func (r Repeats) Any() bool { return r != Repeats{} }
