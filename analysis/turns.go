package analysis

import (
	"maps"
	"slices"
	"strings"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/pairing"
	"github.com/doubletake-dev/doubletake/replay"
)

// TurnDivergence is how often the arms of the main comparison did different things at one
// turn, in step mode. Two arms did the same where they made the same calls with the same
// arguments in the same order; words differ easily and bind nobody.
type TurnDivergence struct {
	// Turn counts the turns after the fork from 1.
	Turn int `json:"turn_after_fork"`
	// Pairs were both asked at this turn; in Differ of them the arms did different things.
	Pairs  int `json:"pairs"`
	Differ int `json:"differ"`
	// Recorded counts the pairs whose recording has this turn, the other two in how many
	// of them each arm did what the recording did.
	Recorded  int `json:"recorded"`
	Baseline  int `json:"baseline_as_recorded"`
	Candidate int `json:"candidate_as_recorded"`
}

// divergence measures the pairs turn by turn, in the order of the turns; nil in the
// closed loop, where what comes after the first difference drifts.
func divergence(record *replay.Record, pairs []pairing.Pair) []TurnDivergence {
	if record.Run.Plan.Settings.Mode != replay.StepByStep {
		return nil
	}
	turns := map[int]TurnDivergence{}
	for i := range pairs {
		p := &pairs[i]
		first := record.Episode(replay.Key{Fixture: p.Fixture, Arm: p.First.Arm, Replicate: p.Replicate})
		second := record.Episode(replay.Key{Fixture: p.Fixture, Arm: p.Second.Arm, Replicate: p.Replicate})
		if first == nil || second == nil || first.Status != replay.Played || second.Status != replay.Played {
			continue
		}
		one, two, recorded := callsByTurn(first.Steps), callsByTurn(second.Steps), callsByTurn(first.Recorded)
		for turn, calls := range one {
			other, both := two[turn]
			if !both {
				continue
			}
			t := turns[turn-first.Fork]
			t.Turn = turn - first.Fork
			t.Pairs++
			if calls != other {
				t.Differ++
			}
			if then, ok := recorded[turn]; ok {
				t.Recorded++
				if calls == then {
					t.Baseline++
				}
				if other == then {
					t.Candidate++
				}
			}
			turns[t.Turn] = t
		}
	}
	list := []TurnDivergence{}
	for _, turn := range slices.Sorted(maps.Keys(turns)) {
		list = append(list, turns[turn])
	}
	return list
}

// callsByTurn are the calls of each turn at which the agent did something, as one text.
func callsByTurn(steps []replay.Step) map[int]string {
	calls := map[int][]string{}
	for i := range steps {
		s := &steps[i]
		switch s.Kind {
		case replay.StepText:
			calls[s.Turn] = append(calls[s.Turn], "")
		case replay.StepCall:
			calls[s.Turn] = append(calls[s.Turn], s.Call.Name+"\x00"+fixtures.CanonicalArguments(s.Call.Arguments))
		}
	}
	out := map[int]string{}
	for turn, list := range calls {
		made := slices.DeleteFunc(list, func(call string) bool { return call == "" })
		out[turn] = strings.Join(made, "\x01")
	}
	return out
}
