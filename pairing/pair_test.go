package pairing

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
)

// fixture passes when the agent's last text is "ok".
func fixture(id string) *fixtures.Fixture {
	return &fixtures.Fixture{
		ConversationID: id, Hash: fixtures.HashBytes([]byte(id)),
		MustSurvive: []fixtures.Item{{ID: "c1", Class: fixtures.Constraint, Turn: 1, Literal: "never x"}},
		Checks:      []fixtures.Check{{ID: "k1", Item: "c1", Final: "text == 'ok'"}},
	}
}

func episode(f *fixtures.Fixture, arm, text string) *replay.Episode {
	return &replay.Episode{
		Key: replay.Key{Fixture: f.Hash, Arm: arm}, ConversationID: f.ConversationID, Status: replay.Played,
		PrefixHash: "p", Fork: 2, End: replay.Answered,
		Steps: []replay.Step{{Kind: replay.StepUser, Turn: 3, Text: "go"}, {Kind: replay.StepText, Turn: 4, Text: text}},
	}
}

func call(turn, number int, name, arguments string) replay.Step {
	return replay.Step{Kind: replay.StepCall, Turn: turn, Number: number, Call: &fixtures.ToolCall{ID: fmt.Sprint("c", number), Name: name, Arguments: json.RawMessage(arguments)}, Source: replay.FromTape}
}

func text(turn int, s string) replay.Step {
	return replay.Step{Kind: replay.StepText, Turn: turn, Text: s}
}

func record(list []*fixtures.Fixture, episodes ...*replay.Episode) *replay.Record {
	return &replay.Record{
		Fixtures: list, Episodes: episodes,
		Run: replay.Run{Plan: replay.Plan{Arms: []replay.ArmInfo{{Name: "a", Role: "reference"}, {Name: "b", Role: "candidate"}}}},
	}
}

func TestCells(t *testing.T) {
	with := func(change func(*replay.Episode)) func(*replay.Episode) { return change }
	same := with(func(*replay.Episode) {})
	status := func(s replay.EpisodeStatus, reason string) func(*replay.Episode) {
		return func(e *replay.Episode) { e.Status, e.Reason, e.Steps = s, reason, nil }
	}
	says := func(s string) func(*replay.Episode) {
		return func(e *replay.Episode) { e.Steps[1].Text = s }
	}
	tests := []struct {
		name          string
		first, second func(*replay.Episode)
		want          Cell
		by            By
	}{
		{"both pass", same, same, BothPass, Replayed},
		{"loss", same, says("no"), Loss, Replayed},
		{"gain", says("no"), same, Gain, Replayed},
		{"both fail", says("no"), says("no"), BothFail, Replayed},
		{"a provider's fault is no outcome", same, status(replay.Faulted, "429"), Unscored, Replayed},
		{"nor on the first side", status(replay.Faulted, "429"), says("no"), Unscored, Replayed},
		{"no compaction ran", same, status(replay.Void, "0 of 1"), Void, Replayed},
		{"no reference", status(replay.LeftOut, "too long"), same, LeftOut, Replayed},
		{"no reference and no compaction", status(replay.LeftOut, "too long"), status(replay.Void, "0 of 1"), LeftOut, Replayed},
		{"an accepted trace", func(e *replay.Episode) { e.Status = replay.Accepted }, says("no"), Loss, Accepted},
		{"an accepted trace on the second side", says("no"), func(e *replay.Episode) { e.Status = replay.Accepted }, Gain, Accepted},
		{"another prefix", same, func(e *replay.Episode) { e.PrefixHash = "q" }, Unscored, Replayed},
		{"another fork", same, func(e *replay.Episode) { e.Fork = 9 }, Unscored, Replayed},
		{"a miss before a text that fails", same, func(e *replay.Episode) {
			missed := call(4, 1, "read", "{}")
			missed.Source = replay.Miss
			e.Steps = []replay.Step{e.Steps[0], missed, text(5, "no")}
		}, Unscored, Replayed},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := fixture("f")
			a, b := episode(f, "a", "ok"), episode(f, "b", "ok")
			tt.first(a)
			tt.second(b)
			m := Match(record([]*fixtures.Fixture{f}, a, b), "a", "b")
			if len(m.Pairs) != 1 {
				t.Fatalf("%d pairs, want 1", len(m.Pairs))
			}
			p := m.Pairs[0]
			if p.Cell != tt.want || p.By != tt.by {
				t.Errorf("cell %s by %s, want %s by %s (reason %q)", p.Cell, p.By, tt.want, tt.by, p.Reason)
			}
			if needsReason := !slices.Contains([]Cell{BothPass, Loss, Gain, BothFail}, p.Cell); needsReason != (p.Reason != "") {
				t.Errorf("cell %s has reason %q", p.Cell, p.Reason)
			}
		})
	}
}

// An episode of which nothing is there but why has no prefix; why is what is told.
func TestAnEpisodeThatNobodyBegan(t *testing.T) {
	for _, side := range []int{0, 1} {
		f := fixture("f")
		sides := []*replay.Episode{episode(f, "a", "ok"), episode(f, "b", "ok")}
		e := sides[side]
		e.Status, e.Reason, e.Steps, e.PrefixHash, e.Fork = replay.Faulted, "a dead letter", nil, "", 0
		p := Match(record([]*fixtures.Fixture{f}, sides...), "a", "b").Pairs[0]
		if want := e.Arm + ": a dead letter"; p.Cell != Unscored || p.Reason != want {
			t.Errorf("cell %s, reason %q, want %q", p.Cell, p.Reason, want)
		}
	}
}

func TestMatchNamesWhatItCannotPair(t *testing.T) {
	f, g := fixture("f"), fixture("g")
	twice := episode(f, "b", "ok")
	m := Match(record([]*fixtures.Fixture{f, g}, episode(f, "a", "ok"), episode(f, "b", "ok"), twice, episode(g, "b", "ok")), "a", "b")
	if len(m.Pairs) != 1 || m.Pairs[0].ID != "f" {
		t.Errorf("pairs %+v, want f alone", m.Pairs)
	}
	if want := []replay.Key{{Fixture: g.Hash, Arm: "b"}}; !slices.Equal(m.Unmatched, want) {
		t.Errorf("unmatched %v, want %v", m.Unmatched, want)
	}
	if want := []replay.Key{twice.Key}; !slices.Equal(m.Duplicates, want) {
		t.Errorf("duplicates %v, want %v", m.Duplicates, want)
	}
}

// TestSwap holds the law that swapping the arms swaps losses and gains, whatever
// order the episodes stand in.
func TestSwap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var list []*fixtures.Fixture
		var episodes []*replay.Episode
		for i := range rapid.IntRange(1, 12).Draw(t, "fixtures") {
			f := fixture(fmt.Sprint("f", i))
			list = append(list, f)
			for _, arm := range []string{"a", "b"} {
				e := episode(f, arm, rapid.SampledFrom([]string{"ok", "no"}).Draw(t, "text"))
				if rapid.IntRange(0, 5).Draw(t, "fault") == 0 {
					e.Status, e.Reason = replay.Faulted, "500"
				}
				episodes = append(episodes, e)
			}
		}
		ab := Match(record(list, episodes...), "a", "b")
		shuffled := rapid.Permutation(episodes).Draw(t, "order")
		ba := Match(record(list, shuffled...), "b", "a")
		one, two := Count(ab.Pairs, nil), Count(ba.Pairs, nil)
		one.Losses, one.Gains = one.Gains, one.Losses
		if one != two {
			t.Fatalf("a against b %+v, b against a %+v", one, two)
		}
		discordant := one.Losses + one.Gains
		if n := len(Queue(record(list, episodes...), ab.Pairs, nil, 1)); n != discordant {
			t.Fatalf("%d pairs in the queue, %d are discordant", n, discordant)
		}
	})
}

func TestDiverge(t *testing.T) {
	user := replay.Step{Kind: replay.StepUser, Turn: 3, Text: "go"}
	tests := []struct {
		name          string
		first, second []replay.Step
		kind          DivergenceKind // empty: none
		turn          int
		a, b          string
	}{
		{"nothing", []replay.Step{user, call(4, 1, "read", `{"p":1}`), text(5, "done")}, []replay.Step{user, call(4, 1, "read", `{"p":1.0}`), text(5, "done")}, "", 0, "", ""},
		{"other arguments", []replay.Step{user, call(4, 1, "read", `{"p":1}`), text(5, "x")}, []replay.Step{user, call(4, 1, "read", `{"p":2}`), text(5, "x")}, InCalls, 4, `called read {"p":1}`, `called read {"p":2}`},
		{"a call instead of a text", []replay.Step{user, text(4, "may I?")}, []replay.Step{user, call(4, 1, "edit", `{}`), text(5, "done")}, InCalls, 4, "said: may I?", "called edit {}"},
		{"other words", []replay.Step{user, text(4, "a")}, []replay.Step{user, text(4, "b")}, InWords, 4, "said: a", "said: b"},
		{"calls count before words", []replay.Step{user, text(4, "a"), user, call(6, 1, "x", "{}")}, []replay.Step{user, text(4, "b"), user, call(6, 1, "y", "{}")}, InCalls, 6, "called x {}", "called y {}"},
		{"words beside a call bind nobody", []replay.Step{user, text(4, "let me see"), call(4, 1, "x", "{}")}, []replay.Step{user, call(4, 1, "x", "{}")}, "", 0, "", ""},
		{"one ended", []replay.Step{user, call(4, 1, "x", "{}"), text(5, "a")}, []replay.Step{user, call(4, 1, "x", "{}")}, InCalls, 5, "said: a", "had ended"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := Diverge(&fixtures.Fixture{}, &replay.Episode{Steps: tt.first}, &replay.Episode{Steps: tt.second})
			if tt.kind == "" {
				if d != nil {
					t.Fatalf("divergence %+v, want none", d)
				}
				return
			}
			if d == nil {
				t.Fatal("no divergence")
			}
			if d.Kind != tt.kind || d.Turn != tt.turn || Describe(d.First) != tt.a || Describe(d.Second) != tt.b {
				t.Errorf("%s in turn %d: %q and %q; want %s in turn %d: %q and %q", d.Kind, d.Turn, Describe(d.First), Describe(d.Second), tt.kind, tt.turn, tt.a, tt.b)
			}
			back := Diverge(&fixtures.Fixture{}, &replay.Episode{Steps: tt.second}, &replay.Episode{Steps: tt.first})
			if back == nil || back.Turn != d.Turn || Describe(back.First) != Describe(d.Second) {
				t.Errorf("the other way round it is %+v", back)
			}
		})
	}
}

func TestImpliedCheck(t *testing.T) {
	f := fixture("f")
	f.Checks = nil
	reference, same, other := episode(f, "a", "ok"), episode(f, "b", "different words"), episode(f, "b", "ok")
	other.Steps = append(other.Steps, call(6, 1, "edit", "{}"))
	if got := Judge(f, same, reference).Answer; got != fixtures.Pass {
		t.Errorf("the same calls: %s, want pass", got)
	}
	if got := Judge(f, other, reference).Answer; got != fixtures.Fail {
		t.Errorf("another call: %s, want fail", got)
	}
	if got := Judge(f, same, nil).Answer; got != fixtures.Unscored {
		t.Errorf("no reference: %s, want unscored", got)
	}
}

func TestQueueSaysWhatBecameOfItems(t *testing.T) {
	f := fixture("f")
	a, b := episode(f, "a", "ok"), episode(f, "b", "no")
	b.Fork = 2
	b.Compactions = []replay.CompactionRecord{{Index: 0, AfterTurn: 1}, {Index: 1, AfterTurn: 2}, {Index: 2, AfterTurn: 8}}
	r := record([]*fixtures.Fixture{f}, a, b)
	for i, v := range []replay.Verdict{replay.Verbatim, replay.Absent, replay.Contradicted} {
		r.Judgements = append(r.Judgements, &replay.Judgement{Key: b.Key, Compaction: i, Item: "c1", Class: fixtures.Constraint, Verdict: v})
	}
	queue := Queue(r, Match(r, "a", "b").Pairs, nil, 1)
	if len(queue) != 1 {
		t.Fatalf("%d entries, want 1", len(queue))
	}
	e := queue[0]
	if len(e.Items) != 1 || e.Items[0].Second != replay.Absent || e.Items[0].First != "" {
		t.Errorf("items %+v, want c1 absent under b by the fork, and nothing said of a", e.Items)
	}
	if len(e.Differ) != 1 || e.Differ[0].Check != "k1" {
		t.Errorf("differing checks %+v, want k1", e.Differ)
	}
	dir := t.TempDir()
	if err := WriteQueue(dir, queue); err != nil {
		t.Fatal(err)
	}
	back, err := ReadQueue(dir)
	if err != nil || len(back) != 1 || back[0].ID != "f" || back[0].Cell != Loss {
		t.Errorf("read back %+v, %v", back, err)
	}
}

func TestConfirm(t *testing.T) {
	f := fixture("f")
	tests := []struct {
		name string
		// again are the last texts of a and b in further replicates.
		again [][2]string
		want  *Confirmation
	}{
		{"not played again", nil, nil},
		{"three times the same", [][2]string{{"ok", "no"}, {"ok", "no"}, {"ok", "no"}}, &Confirmation{3, 3, Stable}},
		{"once another way", [][2]string{{"ok", "no"}, {"ok", "ok"}}, &Confirmation{2, 1, Flaky}},
		{"turned around", [][2]string{{"no", "ok"}}, &Confirmation{1, 0, Flaky}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			episodes := []*replay.Episode{episode(f, "a", "ok"), episode(f, "b", "no")}
			for i, texts := range tt.again {
				a, b := episode(f, "a", texts[0]), episode(f, "b", texts[1])
				a.Replicate, b.Replicate = i+1, i+1
				episodes = append(episodes, a, b)
			}
			r := record([]*fixtures.Fixture{f}, episodes...)
			m := Match(r, "a", "b")
			if len(m.Pairs) != 1 || m.Pairs[0].Cell != Loss {
				t.Fatalf("pairs %+v, want the first play alone, a loss", m.Pairs)
			}
			got := Queue(r, m.Pairs, m.Again, 1)[0].Confirmed
			if (got == nil) != (tt.want == nil) || got != nil && *got != *tt.want {
				t.Errorf("confirmed %+v, want %+v", got, tt.want)
			}
		})
	}
}
