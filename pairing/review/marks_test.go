package review

import (
	"encoding/json"
	"testing"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
)

// What no longer holds is not marked as what was rightly kept.
func TestTheMarksOfItems(t *testing.T) {
	const literal = "never modify anything under /migrations"
	for verdict, want := range map[replay.Verdict]string{
		replay.Verbatim: markKept, replay.Absent: markLost, replay.Stale: markStale, replay.Retired: "",
	} {
		record, queue := night(t, 1)
		messages := []fixtures.Message{{Role: "user", Content: "Summary: " + literal, Extra: map[string]json.RawMessage{replay.KindField: json.RawMessage(`"summary"`)}}}
		if verdict == replay.Absent {
			messages[0].Content = "Summary: nothing."
		}
		hash, err := record.Contexts.Put(messages)
		if err != nil {
			t.Fatal(err)
		}
		record.Episode(replay.Key{Fixture: queue[0].Fixture, Arm: candidate}).Context = hash
		queue[0].Items[0].Second = verdict
		s := serve(t, record, queue, nil)
		var p pairAnswer
		s.post("/api/decide", `{"pair":"pair-00000","choice":"both_fine"}`, &p)
		var c contextAnswer
		s.get("/api/context?pair=pair-00000&a=recorded&b="+string(p.Sides.Candidate), &c)
		found := map[string]int{}
		for _, segment := range c.Segments {
			if segment.Row == nil {
				continue
			}
			for _, cell := range []*cell{segment.Row.Left, segment.Row.Right} {
				if cell == nil {
					continue
				}
				for _, piece := range cell.Text {
					if piece.Text == literal {
						found[piece.Mark]++
					}
				}
			}
		}
		sides := 2
		if verdict == replay.Absent {
			sides = 1
		}
		if want == "" && len(found) > 0 || want != "" && (len(found) != 1 || found[want] != sides) {
			t.Errorf("an item that is %s is marked %v: want %q on %d sides", verdict, found, want, sides)
		}
	}
}
