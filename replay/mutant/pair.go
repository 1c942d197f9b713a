package mutant

import (
	"slices"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
)

// splitPair takes the first tool result from its call, or the call from its results.
func splitPair(s *Site, place string) (*change, string) {
	out := slices.Clone(s.Output.Messages)
	at := slices.IndexFunc(out, func(m replay.CompactMessage) bool {
		if place == placeResult {
			return m.Role == fixtures.RoleTool
		}
		return len(m.ToolCalls) > 0
	})
	if at < 0 {
		return nil, "the output holds no tool pair"
	}
	what := "the call stands without its result"
	if place == placeCall {
		what = "the results stand without their call"
	}
	return &change{slices.Delete(out, at, at+1), what}, ""
}
