package judge

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
)

func TestAnswerFits(t *testing.T) {
	tests := []struct {
		answer, expect string
		want           bool
	}{
		{"yes", "yes", true},
		{"Yes, it is.", "yes", true},
		{"no", "yes", false},
		{"unknown", "no", false},
		{"No.", "no", true},
		{"It is rev 14.", "rev 14", true},
		{"rev 140", "rev 14", false},
		{"REV-14", "rev 14", true},
		{"rev", "rev 14", false},
		{"", "no", false},
		{"none yet", "none yet", true},
	}
	for _, tt := range tests {
		if got := answerFits(tt.answer, tt.expect); got != tt.want {
			t.Errorf("answerFits(%q, %q) = %v, want %v", tt.answer, tt.expect, got, tt.want)
		}
	}
}

// TestSupportedWithAWrongAnswerIsContradicted: expect is compared, too.
func TestSupportedWithAWrongAnswerIsContradicted(t *testing.T) {
	r := newRun(t, "a")
	r.play(t, "a", replay.Played, user("it speaks of the vault in other words"))
	list := r.judge(t, always(`{"verdict":"supported","answer":"no"}`))
	if list[0].Verdict != replay.Contradicted || !strings.Contains(list[0].Reason, `answered "no", not "yes"`) {
		t.Errorf("%s (%s), want contradicted", list[0].Verdict, list[0].Reason)
	}
	if list[0].Input == "" || list[0].Output == "" || list[0].Judge == "" {
		t.Errorf("what was asked and answered is not kept: %+v", list[0])
	}
	if _, err := r.Contexts.Get(list[0].Input); err != nil {
		t.Errorf("the judge's input: %v", err)
	}
}

func TestItemsThatNoLongerBind(t *testing.T) {
	const newer, older, unknown = `{"verdict":"supported","answer":"yes"}`, `{"verdict":"contradicted","answer":"no"}`, `{"verdict":"absent","answer":"unknown"}`
	tests := []struct {
		name    string
		change  func(*fixtures.Item)
		context string
		answer  string
		want    replay.Verdict
	}{
		{"superseded, and the newer value is there", superseded, "never touch the vault; later: leave the safe alone", newer, replay.Retired},
		{"superseded, and the old value stands as if in force", superseded, "never touch the vault", unknown, replay.Stale},
		{"superseded, and the context says otherwise", superseded, "never touch the vault", older, replay.Stale},
		{"superseded, and nothing of either", superseded, "other things", unknown, replay.Retired},
		{"completed, and the context says so", completed, "the vault is done with", newer, replay.Retired},
		{"completed, and it stands as if to be done", completed, "never touch the vault", `{"verdict":"supported","answer":"no"}`, replay.Stale},
		{"completed, and it stands in other words", completed, "the vault is off limits", `{"verdict":"supported","answer":"no"}`, replay.Stale},
		{"completed, and gone", completed, "other things", unknown, replay.Retired},
		{"completed only later", func(i *fixtures.Item) { i.Status, i.StatusTurn = fixtures.Completed, 9 }, "- never touch the vault", "not asked", replay.Verbatim},
		{"no answer", completed, "never touch the vault", "prose", replay.Unjudged},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := newRunOf(t, func(f *fixtures.Fixture) {
				f.MustSurvive[1] = fixtures.Item{ID: "c2", Class: fixtures.Constraint, Turn: 2, Literal: "leave the safe alone", Probe: "Is the safe off limits?", Expect: "yes"}
				tt.change(&f.MustSurvive[0])
			}, "a")
			r.play(t, "a", replay.Played, user(tt.context))
			list := r.judge(t, always(tt.answer))
			if list[0].Item != "c1" || list[0].Verdict != tt.want {
				t.Errorf("%s is %s (%s), want %s", list[0].Item, list[0].Verdict, list[0].Reason, tt.want)
			}
		})
	}
}

func superseded(i *fixtures.Item) { i.SupersededBy = "c2" }

func completed(i *fixtures.Item) { i.Status = fixtures.Completed }

func TestVoice(t *testing.T) {
	marked := fixtures.Message{Role: fixtures.RoleUser, Extra: map[string]json.RawMessage{replay.KindField: json.RawMessage(`"summary"`)}}
	tests := []struct {
		origin string
		holder fixtures.Message
		want   string
	}{
		{"user", fixtures.Message{Role: "user"}, ""},
		{"user", fixtures.Message{Role: "assistant"}, "came back as of the assistant"},
		{"user", marked, ""},
		{"assistant", marked, ""},
		{"assistant", fixtures.Message{Role: "user"}, "as the user's order"},
		{"tool", fixtures.Message{Role: "user"}, "as the user's order"},
		{"assistant", fixtures.Message{Role: "assistant"}, ""},
		{"user", fixtures.Message{Role: "system"}, ""},
		{"", fixtures.Message{Role: "assistant"}, ""},
	}
	for _, tt := range tests {
		if got := voice(tt.origin, &tt.holder); (tt.want == "") != (got == "") || !strings.Contains(got, tt.want) {
			t.Errorf("of %s in %s: %q, want ...%s", tt.origin, tt.holder.Role, got, tt.want)
		}
	}
}

func TestCoverageAsJudge(t *testing.T) {
	r := newRun(t, "a")
	r.play(t, "a", replay.Played, user("one should not touch that vault, never ever"))
	model := always("not asked")
	j := &Judge{Model: model, Name: replay.CoverageJudge, Controls: 3}
	if err := j.Run(t.Context(), r.Folder); err != nil {
		t.Fatal(err)
	}
	list := r.judgements(t)
	if list[0].Verdict != replay.Supported || list[0].Coverage != 0.75 || len(model.asked) != 0 {
		t.Errorf("%s with coverage %v after %d questions, want supported, 0.75, none", list[0].Verdict, list[0].Coverage, len(model.asked))
	}
}

// TestControlsMeasureTheJudge: a judge that always says the same gets only those
// controls right where that is so.
func TestControlsMeasureTheJudge(t *testing.T) {
	tests := []struct {
		answer string
		right  []replay.ControlKind
	}{
		{supported, []replay.ControlKind{replay.PlantedPresent}},
		{`{"verdict":"absent","answer":"unknown"}`, []replay.ControlKind{replay.PlantedNever, replay.PlantedHedged, replay.PlantedForged}},
		{`{"verdict":"contradicted","answer":"no"}`, []replay.ControlKind{replay.PlantedTurned, replay.PlantedHedged}},
		{"I would say that it is there.", nil},
	}
	for _, tt := range tests {
		r := newRun(t, "a")
		r.play(t, "a", replay.Played, user("first"), user("second"))
		j := &Judge{Model: always(tt.answer), Name: "judge-model", Controls: 1}
		if err := j.Run(t.Context(), r.Folder); err != nil {
			t.Fatal(err)
		}
		record, err := replay.ReadRecord(r.Dir)
		if err != nil {
			t.Fatal(err)
		}
		if len(record.Controls) != len(replay.ControlKinds()) {
			t.Fatalf("%d controls, want one of each of %d kinds", len(record.Controls), len(replay.ControlKinds()))
		}
		for _, c := range record.Controls {
			want := false
			for _, kind := range tt.right {
				want = want || kind == c.Kind
			}
			if c.Right != want {
				t.Errorf("judge %s: control %s is %v (%s)", tt.answer, c.ID, c.Right, c.Verdict)
			}
		}
		before := len(record.Controls)
		asked := always(tt.answer)
		if err := (&Judge{Model: asked, Name: "judge-model", Controls: 1}).Run(t.Context(), r.Folder); err != nil {
			t.Fatal(err)
		}
		if tt.right != nil && len(asked.asked) != 0 {
			t.Errorf("scored controls are asked again: %d questions after %d controls", len(asked.asked), before)
		}
	}
}
