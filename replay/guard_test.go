package replay

import (
	"context"
	"strings"
	"testing"
)

// A compactor that breaks is a finding about it, and no end of the night.
func TestACompactorThatBreaksHasFailed(t *testing.T) {
	for reason, c := range map[string]compactorFunc{
		"returned no compaction": func(context.Context, *CompactRequest) (*Compaction, error) { return nil, nil },
		"panicked: assignment":   func(context.Context, *CompactRequest) (*Compaction, error) { panic("assignment to nothing") },
	} {
		set, recordings := manyFixtures(1)
		rec, err := recordings(set[0])
		if err != nil {
			t.Fatal(err)
		}
		episode := playEpisode(t, engine(t, &script{}, rec), set[0], compacting(c))
		if episode.Status != Void || len(episode.Compactions) != 1 || episode.Compactions[0].Status != Failed || !strings.Contains(episode.Compactions[0].Reason, reason) {
			t.Errorf("%s: %s, %+v", reason, episode.Status, episode.Compactions)
		}
	}
}
