package pairing

import (
	"strings"
	"testing"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
)

func TestReplacements(t *testing.T) {
	record, queue := disagreeing("p")
	record.Contexts = replay.NewContexts(t.TempDir())
	record.Fixtures[0].MustSurvive = []fixtures.Item{
		{ID: "c1", Class: fixtures.Constraint, Turn: 1, Literal: "never push"},
		{ID: "c2", Class: fixtures.Commitment, Turn: 2, Literal: "by noon"},
		{ID: "c3", Class: fixtures.Reference, Turn: 3, Literal: "rev 14"},
	}
	put := func(messages ...fixtures.Message) fixtures.Hash {
		hash, err := record.Contexts.Put(messages)
		if err != nil {
			t.Fatal(err)
		}
		return hash
	}
	say := func(turn int, role, text string) fixtures.Message {
		return fixtures.Message{Turn: turn, Role: role, Content: text}
	}
	system, one, two, three := say(0, "system", "You help."), say(1, "user", "Please never push. ok"), say(2, "assistant", "Done by noon."), say(3, "user", "Take rev 14. ok")
	twice := say(3, "user", "ok")
	summary, kept := say(0, "user", "Summary: all fine."), say(0, "user", "Take rev 14. ok") // without its turn
	again := say(0, "user", "Summary: finer still.")
	var e *replay.Episode
	for _, x := range record.Episodes {
		if x.Arm == "new" {
			e = x
		}
	}
	e.Fork = 5
	e.Compactions = []replay.CompactionRecord{
		{Index: 0, AfterTurn: 3, Status: replay.Compacted, Before: put(system, one, two, three, twice, twice), After: put(system, summary, kept, twice)},
		{Index: 1, AfterTurn: 4, Status: replay.Unchanged},
		{Index: 2, AfterTurn: 5, Status: replay.Compacted, Before: put(system, summary, kept), After: put(system, again)},
		{Index: 3, AfterTurn: 9, Status: replay.Compacted, Before: "0000000000000000"}, // after the fork
	}
	for _, j := range []replay.Judgement{
		{Compaction: 0, Item: "c1", Verdict: replay.Absent, Output: "no"}, {Compaction: 0, Item: "c2", Verdict: replay.Supported}, {Compaction: 0, Item: "c3", Verdict: replay.Verbatim},
		{Compaction: 2, Item: "c1", Verdict: replay.Absent}, {Compaction: 2, Item: "c3", Verdict: replay.Contradicted},
	} {
		j.Key = e.Key
		record.Judgements = append(record.Judgements, &j)
	}
	got, err := Replacements(record, &queue[0].Pair, "new")
	if err != nil {
		t.Fatal(err)
	}
	texts := func(list []fixtures.Message) string {
		var words []string
		for _, m := range list {
			words = append(words, m.Content)
		}
		return strings.Join(words, "|")
	}
	want := []struct {
		left, written string
		kept          int
		lost          string // items with their source's turn
	}{
		{"Please never push. ok|Done by noon.|ok", "Summary: all fine.", 3, "c1@1"},
		{"", "", 0, ""},
		{"Summary: all fine.|Take rev 14. ok", "Summary: finer still.", 1, "c1@-,c3@0"},
	}
	if len(got) != len(want) {
		t.Fatalf("%d compactions, want %d", len(got), len(want))
	}
	for i, w := range want {
		var lost []string
		for _, item := range got[i].Items {
			if !item.Lost() {
				continue
			}
			place := "-"
			if item.Source != nil {
				place = string(rune('0' + item.Source.Turn))
			}
			lost = append(lost, item.Item+"@"+place)
		}
		if texts(got[i].Left) != w.left || texts(got[i].Written) != w.written || got[i].Kept != w.kept || strings.Join(lost, ",") != w.lost {
			t.Errorf("compaction %d: left %q, wrote %q, kept %d, lost %q; want %+v", i, texts(got[i].Left), texts(got[i].Written), got[i].Kept, lost, w)
		}
	}
	if got, err := Replacements(record, &queue[0].Pair, "reference"); err != nil || len(got) != 0 {
		t.Errorf("who compacted nothing: %+v, %v", got, err)
	}
	e.Compactions[0].After = "0123456789abcdef"
	if _, err := Replacements(record, &queue[0].Pair, "new"); err == nil || !strings.Contains(err.Error(), "after turn 3") {
		t.Errorf("a context that is gone: %v", err)
	}
}
