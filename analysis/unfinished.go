package analysis

import (
	"fmt"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
)

// Unfinished is how far a run came that was stopped before its end.
type Unfinished struct {
	// Episodes counts those that ended, of all that were planned.
	Episodes   int `json:"episodes"`
	OfEpisodes int `json:"of_episodes"`
	// Unplayed counts the pairs of the main comparison of which an episode is missing.
	Unplayed int `json:"unplayed_pairs"`
	// Unjudged counts the compaction decisions of those episodes that nobody was asked
	// about yet.
	Unjudged int `json:"unjudged_decisions"`
	// Shard names the part of the set that the run is, as in "shard 2 of 8". A part has no
	// verdict of its own.
	Shard string `json:"shard,omitempty"`
}

// unfinished looks for what the run was to do and did not; nil where there is nothing.
func (a *analyser) unfinished() *Unfinished {
	plan := &a.record.Run.Plan
	set := a.record.Fixtures
	if s := a.report.Stopping; s != nil && s.Certain {
		set = firstFixtures(replay.Sessions(set, plan.Settings.Seed), s.Fixtures) // the others were not to be played
	}
	var u Unfinished
	for _, f := range set {
		whole := true
		for _, arm := range plan.Arms {
			for replicate := range plan.Planned() {
				u.OfEpisodes++
				if a.record.Episode(replay.Key{Fixture: f.Hash, Arm: arm.Name, Replicate: replicate}) != nil {
					u.Episodes++
				} else if replicate == 0 && (arm.Name == a.report.Baseline || arm.Name == a.report.Candidate) {
					whole = false
				}
			}
		}
		if !whole {
			u.Unplayed++
		}
	}
	if !a.deterministic {
		for _, d := range a.lens.all(func(string) bool { return true }) {
			if d.judgement == nil {
				u.Unjudged++
			}
		}
	}
	if plan.Shard != nil {
		u.Shard = plan.Shard.String()
	}
	if u.Episodes == u.OfEpisodes && u.Unjudged == 0 && u.Shard == "" {
		return nil
	}
	return &u
}

// String says it in words.
func (u *Unfinished) String() string {
	line := fmt.Sprintf("the run is not finished: %d of %d episodes are played", u.Episodes, u.OfEpisodes)
	if u.Shard != "" {
		line = fmt.Sprintf("this is %s, and the verdict is found over all of them (doubletake merge): %d of its %d episodes are played", u.Shard, u.Episodes, u.OfEpisodes)
	}
	if u.Unplayed > 0 {
		line += fmt.Sprintf(", %s unplayed", counted(u.Unplayed, "pair"))
	}
	if u.Unjudged > 0 {
		line += fmt.Sprintf(", %s unjudged", counted(u.Unjudged, "compaction decision"))
	}
	return line
}

// firstFixtures are the first n fixtures of sessions.
func firstFixtures(sessions []replay.Session, n int) []*fixtures.Fixture {
	var list []*fixtures.Fixture
	for _, s := range sessions {
		list = append(list, s.Fixtures...)
	}
	return list[:min(n, len(list))]
}
