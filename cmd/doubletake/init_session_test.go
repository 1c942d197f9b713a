package main

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/doubletake-dev/doubletake/fixtures"
)

// letters counts a message as its letters.
type letters struct{}

func (letters) Count(m fixtures.Message) int { return len(m.Content) }

// talk is a recording with a system message of so many letters and turns of so many.
func talk(system int, turns ...int) *fixtures.Recording {
	text := func(n int) string { return fmt.Sprintf("%*s", n, "") }
	rec := &fixtures.Recording{Header: fixtures.Header{ID: "talk"}}
	if system > 0 {
		rec.Messages = append(rec.Messages, fixtures.Message{Role: fixtures.RoleSystem, Content: text(system)})
	}
	for i, n := range turns {
		role := fixtures.RoleUser
		if i%2 == 1 {
			role = fixtures.RoleAssistant
		}
		rec.Messages = append(rec.Messages, fixtures.Message{Turn: i + 1, Role: role, Content: text(n)})
	}
	return rec
}

func TestWhereASessionIsCompacted(t *testing.T) {
	for _, tt := range []struct {
		name     string
		rec      *fixtures.Recording
		recorded []int
		want     []int // nil: as recorded
		none     bool
	}{
		{"the agent's text nearest to two thirds", talk(0, 10, 10, 10, 10, 10, 10, 10, 10, 10), nil, []int{6}, false},
		{"as recorded", talk(0, 10, 10, 10, 10, 10, 10), []int{5}, nil, false},
		{"recorded at the very end", talk(0, 10, 10, 10, 10, 10, 10), []int{6}, []int{4}, false},
		{"too short", talk(0, 10, 10, 10), nil, nil, true},
		{"recorded before there is anything to leave out", talk(0, 10, 10, 10, 10, 10, 10), []int{2}, []int{4}, false},
		{"a system message that is most of it for long", talk(60, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10), nil, []int{8}, false},
		{"a system message that is most of all", talk(600, 10, 10, 10, 10, 10, 10, 10), nil, nil, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, turn := range tt.recorded {
				tt.rec.Compactions = append(tt.rec.Compactions, fixtures.Compaction{AfterTurn: turn})
			}
			f := &fixtures.Fixture{ConversationID: "talk"}
			err := (&size{letters{}, 1000}).points(f, tt.rec)
			if (err != nil) != tt.none || !slices.Equal(f.CompactAfter, tt.want) {
				t.Errorf("%v, %v; want %v", f.CompactAfter, err, tt.want)
			}
		})
	}
}

// What is kept of a session fits, is its beginning, and is all of it where that fits.
func TestASessionIsCutToTheWindow(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		rec := talk(rapid.IntRange(0, 50).Draw(rt, "system"), rapid.SliceOfN(rapid.IntRange(1, 100), 1, 12).Draw(rt, "turns")...)
		for _, turn := range rapid.SliceOfNDistinct(rapid.IntRange(1, 12), 0, 3, rapid.ID).Draw(rt, "compactions") {
			rec.Compactions = append(rec.Compactions, fixtures.Compaction{AfterTurn: turn})
		}
		z := &size{letters{}, rapid.IntRange(1, 800).Draw(rt, "room")}
		total := func(messages []fixtures.Message) (n int) {
			for _, m := range messages {
				n += len(m.Content)
			}
			return n
		}
		cut := z.cut(rec)
		last := cut.LastTurn()
		switch {
		case total(rec.Messages) <= z.room:
			if cut != rec {
				rt.Errorf("cut after turn %d, and all fits", last)
			}
			return
		case last > 0 && total(cut.Messages) > z.room, total(rec.Prefix(last+1)) <= z.room:
			rt.Errorf("cut after turn %d: %d and %d of %d", last, total(cut.Messages), total(rec.Prefix(last+1)), z.room)
		}
		for _, c := range cut.Compactions {
			if c.AfterTurn >= last {
				rt.Errorf("a compaction after turn %d of %d", c.AfterTurn, last)
			}
		}
	})
}
