package mutant

import (
	"slices"

	"github.com/doubletake-dev/doubletake/replay"
)

// echo returns the input as if it were shortened.
func echo(s *Site, _ string) (*change, string) {
	out := slices.Clone(s.Request.Messages)
	for i := range out {
		if out[i].Kind == "" {
			out[i].Kind = replay.KindKept
		}
	}
	return &change{out, "the input came back"}, ""
}

// empty returns nothing.
func empty(*Site, string) (*change, string) {
	return &change{[]replay.CompactMessage{}, "nothing came back"}, ""
}
