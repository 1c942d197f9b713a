package pairing

import (
	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
)

// ImpliedCheck is the id of the check that a fixture without checks has: the same
// tool calls as the reference.
const ImpliedCheck = "same_as_reference"

// Outcome is the answer of an episode: pass when every check passes, unscored when
// something that isn't the agent's fault kept a check from an answer and no check
// failed on what the agent did.
type Outcome struct {
	Answer fixtures.Answer      `json:"answer"`
	Status replay.EpisodeStatus `json:"status"`
	// Reason says why for every answer but pass and fail.
	Reason string            `json:"reason,omitempty"`
	Checks []fixtures.Result `json:"checks,omitempty"`
}

// Judge evaluates the checks of an episode. Reference is the episode of the
// reference for the same fixture, or nil.
func Judge(f *fixtures.Fixture, episode, reference *replay.Episode) Outcome {
	out := Outcome{Answer: fixtures.Unscored, Status: episode.Status, Reason: episode.Reason}
	if episode.Status == replay.Void || episode.Status == replay.LeftOut {
		return out
	}
	var expected *fixtures.Conduct
	if reference != nil && (reference.Status == replay.Played || reference.Status == replay.Accepted) {
		expected = f.Canonicalise(reference.Conduct())
	}
	conduct := f.Canonicalise(episode.Conduct())
	out.Answer, out.Reason = fixtures.Pass, ""
	checks := Checks(f)
	for i := range checks {
		result := f.Evaluate(&checks[i], conduct, expected)
		out.Checks = append(out.Checks, result)
		switch {
		case result.Answer == fixtures.Fail:
			out.Answer, out.Reason = fixtures.Fail, ""
		case result.Answer == fixtures.Unscored && out.Answer == fixtures.Pass:
			out.Answer, out.Reason = fixtures.Unscored, "check "+result.Check+": "+result.Evidence
		}
	}
	if out.Answer == fixtures.Unscored && episode.Status == replay.Faulted {
		out.Reason = episode.Reason
	}
	return out
}

// Checks are the checks of a fixture: its own, or the implied one.
func Checks(f *fixtures.Fixture) []fixtures.Check {
	if len(f.Checks) > 0 {
		return f.Checks
	}
	return []fixtures.Check{{ID: ImpliedCheck, SameAsReference: true}}
}
