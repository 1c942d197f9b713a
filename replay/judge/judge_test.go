package judge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
	"github.com/doubletake-dev/doubletake/replay/pack"
)

// oracle is a judge's model that answers by function and keeps what it was asked.
type oracle struct {
	mu     sync.Mutex
	asked  []replay.Request
	answer func(r *replay.Request, n int) (string, error)
}

func (o *oracle) Complete(ctx context.Context, r *replay.Request) (*replay.Reply, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	kept := *r
	kept.Messages = slices.Clone(r.Messages)
	o.asked = append(o.asked, kept)
	text, err := o.answer(r, len(o.asked))
	if err != nil {
		return nil, err
	}
	return &replay.Reply{Message: fixtures.Message{Role: fixtures.RoleAssistant, Content: text}, Key: fixtures.HashBytes([]byte(fmt.Sprint(len(o.asked)))), Fingerprint: "fp"}, nil
}

const supported = `{"answer":"yes","verdict":"supported"}`

// always answers every question alike.
func always(text string) *oracle {
	return &oracle{answer: func(*replay.Request, int) (string, error) { return text, nil }}
}

// run is a folder under test.
type run struct {
	*replay.Folder
	set []*fixtures.Fixture
}

func newRun(t *testing.T, arms ...string) *run {
	t.Helper()
	return newRunOf(t, func(*fixtures.Fixture) {}, arms...)
}

// newRunOf is newRun over a changed fixture.
func newRunOf(t *testing.T, change func(*fixtures.Fixture), arms ...string) *run {
	t.Helper()
	f := &fixtures.Fixture{
		ConversationID: "the-conversation", Hash: "00000000000000f1", CompactAfter: []int{4, 8}, CompactionsExpected: 2,
		MustSurvive: []fixtures.Item{
			{ID: "c1", Class: fixtures.Constraint, Turn: 1, Literal: "never touch the vault", Probe: "Is the vault off limits?", Expect: "yes"},
			{ID: "r1", Class: fixtures.Reference, Turn: 5, Literal: "the port is 9931", Probe: "Is the port 9931?", Expect: "yes"},
		},
	}
	change(f)
	plan := replay.Plan{Command: "nightly", Fixtures: 1}
	for _, arm := range arms {
		plan.Arms = append(plan.Arms, replay.ArmInfo{Name: arm, Role: arm, Kind: replay.CompactorArm})
	}
	set := []*fixtures.Fixture{f}
	folder, err := replay.OpenFolder(t.TempDir(), plan, set, time.Date(2026, 3, 20, 0, 0, 0, 0, time.UTC))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = folder.Close() })
	return &run{folder, set}
}

func user(text string) []fixtures.Message {
	return []fixtures.Message{{Role: fixtures.RoleSystem, Content: "rules"}, {Role: fixtures.RoleUser, Content: text}}
}

// play journals an episode whose compactions left the contexts given; nil stands
// for a compaction that did not run.
func (r *run) play(t *testing.T, arm string, status replay.EpisodeStatus, contexts ...[]fixtures.Message) {
	t.Helper()
	e := &replay.Episode{Key: replay.Key{Fixture: r.set[0].Hash, Arm: arm}, ConversationID: r.set[0].ConversationID, Status: status}
	for i, context := range contexts {
		c := replay.CompactionRecord{Index: i, AfterTurn: r.set[0].CompactAfter[i], Status: replay.Compacted, Compactor: replay.CompactorIdentity{Name: "the-compactor-of-" + arm}}
		if context == nil {
			c.Status = replay.Refused
		}
		var err error
		if c.After, err = r.Contexts.Put(context); err != nil {
			t.Fatal(err)
		}
		if c.Before, err = r.Contexts.Put(user("what was said before")); err != nil {
			t.Fatal(err)
		}
		e.Compactions = append(e.Compactions, c)
	}
	if err := r.Episodes.Append(e); err != nil {
		t.Fatal(err)
	}
}

func (r *run) judge(t *testing.T, model replay.Model) []*replay.Judgement {
	t.Helper()
	j := &Judge{Model: model, Name: "judge-model", Seed: 7, Concurrency: 4}
	if err := j.Run(t.Context(), r.Folder); err != nil {
		t.Fatal(err)
	}
	return r.judgements(t)
}

func (r *run) judgements(t *testing.T) []*replay.Judgement {
	t.Helper()
	record, err := replay.ReadRecord(r.Dir)
	if err != nil {
		t.Fatal(err)
	}
	return record.Judgements
}

func TestEveryDecisionIsJudgedOnce(t *testing.T) {
	r := newRun(t, "incumbent", "candidate", "none")
	r.play(t, "incumbent", replay.Played, user("first"), user("second"))
	r.play(t, "candidate", replay.Void, user("third"), nil)
	r.play(t, "none", replay.Played)
	model := always(supported)
	var told [][2]int
	j := &Judge{Model: model, Name: "judge-model", Seed: 7, Progress: func(done, total int) { told = append(told, [2]int{done, total}) }}
	if err := j.Run(t.Context(), r.Folder); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, j := range r.judgements(t) {
		got = append(got, fmt.Sprintf("%s %d@%d %s %s %s %s", j.Arm, j.Compaction, j.AfterTurn, j.Item, j.Class, j.Verdict, j.Answer))
		if j.Exchange == nil || j.Exchange.For != "judge" || j.Exchange.Fingerprint != "fp" || j.ConversationID != "the-conversation" || j.Context == "" {
			t.Errorf("judgement %+v", j)
		}
	}
	want := []string{ // an item counts from the compaction after its turn on
		"incumbent 0@4 c1 constraint supported yes",
		"incumbent 1@8 c1 constraint supported yes",
		"incumbent 1@8 r1 reference supported yes",
		"candidate 0@4 c1 constraint supported yes",
	}
	if !slices.Equal(got, want) {
		t.Errorf("judgements:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if len(told) != 2 || told[1] != [2]int{4, 4} {
		t.Errorf("told %v, want one word an episode, the last that all 4 are done", told)
	}
	for _, q := range model.asked {
		if q.Model != "judge-model" || q.Seed != 7 || !q.JSON || q.Fresh || len(q.Tools) != 0 || len(q.Messages) != 2 {
			t.Errorf("asked %+v", q)
		}
	}
	r.judge(t, model) // the second time there is nothing to ask
	if len(model.asked) != 4 {
		t.Errorf("asked %d times", len(model.asked))
	}
}

func TestALiteralThatStandsThereNeedsNoCall(t *testing.T) {
	r := newRun(t, "a")
	inCall := []fixtures.Message{{Role: fixtures.RoleAssistant, ToolCalls: []fixtures.ToolCall{{ID: "x", Name: "note", Arguments: json.RawMessage(`{"text":["so the port is 9931, then"]}`)}}}}
	r.play(t, "a", replay.Played, user("- [turn 2, user] never touch the vault."), append(user("never touch the vault"), inCall...))
	model := always("nothing of use")
	list := r.judge(t, model)
	var got []string
	for _, j := range list {
		got = append(got, fmt.Sprintf("%d %s %s %s", j.Compaction, j.Item, j.Verdict, j.Role))
		if j.Exchange != nil || j.Answer != "" || j.Reason != "" {
			t.Errorf("judgement %+v", j)
		}
	}
	if !slices.Equal(got, []string{"0 c1 verbatim user", "1 c1 verbatim user", "1 r1 verbatim assistant"}) || len(model.asked) != 0 {
		t.Errorf("%q after %d questions", got, len(model.asked))
	}
	// The words around it may take it back: then the judge is asked, too.
	for _, c := range []struct {
		text, answer string
		want         replay.Verdict
	}{
		{"remember: never touch the vault, ever", supported, replay.Verbatim},
		{"remember: never touch the vault, ever", `{"verdict":"absent","answer":"unknown"}`, replay.Verbatim},
		{"if possible, never touch the vault", `{"verdict":"contradicted","answer":"no"}`, replay.Contradicted},
		{"that we never touch the vault no longer applies", "nothing of use", replay.Unjudged},
	} {
		r := newRun(t, "a")
		r.play(t, "a", replay.Played, user(c.text))
		if list := r.judge(t, always(c.answer)); list[0].Verdict != c.want || list[0].Exchange == nil || list[0].Role != "user" {
			t.Errorf("%q, judge %s: %+v", c.text, c.answer, list[0])
		}
	}
	r = newRun(t, "a")
	r.play(t, "a", replay.Played, user("Never touch the vault")) // another letter is not verbatim
	if list := r.judge(t, always(`{"verdict":"absent","answer":"unknown"}`)); list[0].Verdict != replay.Absent || list[0].Answer != "unknown" {
		t.Errorf("judgement %+v", list[0])
	}
}

func TestAMalformedAnswerIsAskedForOnceMore(t *testing.T) {
	for _, c := range []struct {
		name    string
		answers []string // an answer that begins with "!" is an error
		verdict replay.Verdict
		reason  string
		asked   int
	}{
		{"good at once", []string{supported}, replay.Supported, "", 1},
		{"good the second time", []string{"I think so", `{"answer":"no","verdict":"contradicted"}`}, replay.Contradicted, "", 2},
		{"never good", []string{"I think so", "```json\n" + supported + "\n```"}, replay.Unjudged, "not the JSON asked for: \"```json", 2},
		{"another verdict twice", []string{`{"verdict":"verbatim"}`, `{"verdict":"unscored"}`}, replay.Unjudged, `the judge's verdict is "unscored": want supported, absent or contradicted`, 2},
		{"no answer", []string{"!503"}, replay.Unjudged, "503", 1},
		{"no answer the second time", []string{"", "!503"}, replay.Unjudged, "503", 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRun(t, "a")
			r.play(t, "a", replay.Played, user("text"))
			model := &oracle{answer: func(_ *replay.Request, n int) (string, error) {
				if text, broken := strings.CutPrefix(c.answers[n-1], "!"); broken {
					return "", errors.New(text)
				}
				return c.answers[n-1], nil
			}}
			j := r.judge(t, model)[0]
			if j.Verdict != c.verdict || !strings.Contains(j.Reason, c.reason) || (c.reason == "") != (j.Reason == "") || len(model.asked) != c.asked {
				t.Errorf("asked %d times: %+v", len(model.asked), j)
			}
			for i, q := range model.asked {
				if q.Fresh != (i > 0) || !reflect.DeepEqual(q.Messages, model.asked[0].Messages) {
					t.Errorf("question %d: %+v", i+1, q)
				}
			}
		})
	}
}

func TestJudgingGoesOnWithWhatIsMissing(t *testing.T) {
	r := newRun(t, "a", "b")
	r.play(t, "a", replay.Played, user("first"), user("second"))
	down := true
	model := &oracle{}
	model.answer = func(q *replay.Request, _ int) (string, error) {
		if down && strings.Contains(q.Messages[1].Content, "9931") {
			return "", errors.New("503")
		}
		return supported, nil
	}
	if list := r.judge(t, model); len(list) != 3 || list[2].Item != "r1" || list[2].Verdict != replay.Unjudged {
		t.Fatalf("judgements %+v", list)
	}
	down, model.asked = false, nil
	r.play(t, "b", replay.Played, user("third"))
	list := r.judge(t, model)
	if len(list) != 4 || len(model.asked) != 2 {
		t.Fatalf("%d judgements, asked %d times", len(list), len(model.asked))
	}
	for _, j := range list {
		if j.Verdict != replay.Supported {
			t.Errorf("judgement %+v", j)
		}
	}
}

// An episode that was cut short after its compaction and played again has another
// context, and what was said of the first says nothing of it.
func TestAnotherContextIsJudgedAnew(t *testing.T) {
	r := newRun(t, "a")
	r.play(t, "a", replay.Faulted, user("all of it"))
	if list := r.judge(t, always(supported)); len(list) != 1 || list[0].Verdict != replay.Supported {
		t.Fatalf("judgements %+v", list)
	}
	r.play(t, "a", replay.Played, user("next to nothing"))
	list := r.judge(t, always(`{"answer":"unknown","verdict":"absent"}`))
	if len(list) != 1 || list[0].Verdict != replay.Absent {
		t.Errorf("judgements %+v", list)
	}
}

func TestAContextThatCannotBeReadIsUnscored(t *testing.T) {
	r := newRun(t, "a")
	r.play(t, "a", replay.Played, user("first"), user("second"))
	first := r.judgementsContext(t, 0)
	store, err := pack.Open(filepath.Join(r.Dir, replay.ContextsDir), pack.Options{})
	if err == nil {
		err = errors.Join(store.Put(replay.ContextKey(fixtures.Hash(first)), []byte("damage")), store.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	r.Contexts = replay.NewContexts(filepath.Join(r.Dir, replay.ContextsDir))
	list := r.judge(t, always(supported))
	if len(list) != 3 || list[0].Verdict != replay.Unjudged || !strings.Contains(list[0].Reason, first) || list[1].Verdict != replay.Supported {
		t.Errorf("judgements %+v, %+v", list[0], list[1])
	}
}

func (r *run) judgementsContext(t *testing.T, compaction int) string {
	t.Helper()
	record, err := replay.ReadRecord(r.Dir)
	if err != nil {
		t.Fatal(err)
	}
	return string(record.Episodes[0].Compactions[compaction].After)
}

func TestTheEndOfTheContextStopsJudging(t *testing.T) {
	r := newRun(t, "a")
	r.play(t, "a", replay.Played, user("first"), user("second"))
	cause := errors.New("interrupted")
	ctx, cancel := context.WithCancelCause(t.Context())
	model := &oracle{answer: func(_ *replay.Request, n int) (string, error) {
		if n == 2 {
			cancel(cause)
			return "", context.Canceled
		}
		return supported, nil
	}}
	j := &Judge{Model: model, Name: "judge-model", Concurrency: 1}
	if err := j.Run(ctx, r.Folder); !errors.Is(err, cause) {
		t.Errorf("error %v", err)
	}
	// What was paid for is kept.
	if list := r.judgements(t); len(list) == 0 || list[0].Verdict != replay.Supported {
		t.Errorf("judgements %+v", list)
	}
	model.asked = nil
	model.answer = func(*replay.Request, int) (string, error) { return supported, nil }
	if list := r.judge(t, model); len(list) != 3 || len(model.asked) != 2 {
		t.Errorf("%d judgements after %d more questions", len(list), len(model.asked))
	}
}

func TestAFolderThatCannotBeWritten(t *testing.T) {
	r := newRun(t, "a")
	r.play(t, "a", replay.Played, user("first"))
	if err := r.Judgements.Close(); err != nil {
		t.Fatal(err)
	}
	j := &Judge{Model: always(supported)}
	if err := j.Run(t.Context(), r.Folder); !errors.Is(err, os.ErrClosed) {
		t.Errorf("error %v", err)
	}
	if err := j.Run(t.Context(), &replay.Folder{Dir: t.TempDir()}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error %v", err)
	}
}

// The judge cannot lean towards an arm: for the same context it reads the same bytes,
// and nothing in them says whose context it is.
func TestTheJudgeNeverLearnsWhichArmItReads(t *testing.T) {
	context := append(user("something was said of a vault"), fixtures.Message{Role: fixtures.RoleAssistant, Content: "and of a port"})
	asked := map[string][]string{}
	for _, arm := range []string{"incumbent-arm", "candidate-arm"} {
		r := newRun(t, arm)
		r.play(t, arm, replay.Played, context, context)
		model := always(supported)
		r.judge(t, model)
		for _, q := range model.asked {
			data, err := json.Marshal(q)
			if err != nil {
				t.Fatal(err)
			}
			asked[arm] = append(asked[arm], string(data))
			for _, secret := range []string{"arm", "compactor", "the-conversation", "00000000000000f1", "incumbent", "candidate", r.Dir, `"expect`, "c1", "r1"} {
				if strings.Contains(string(data), secret) {
					t.Errorf("%s stands in what the judge is asked: %s", secret, data)
				}
			}
		}
		slices.Sort(asked[arm]) // they are asked at once
	}
	if len(asked["incumbent-arm"]) != 2 || !slices.Equal(asked["incumbent-arm"], asked["candidate-arm"]) {
		t.Errorf("the arms are asked\n%s\nand\n%s", asked["incumbent-arm"], asked["candidate-arm"])
	}
}

func TestOneQuestionHoldsOneProbe(t *testing.T) {
	r := newRun(t, "a")
	r.play(t, "a", replay.Played, user("first"), user("second"))
	model := always(supported)
	r.judge(t, model)
	for _, q := range model.asked {
		text := q.Messages[0].Content + q.Messages[1].Content
		probes := 0
		for _, item := range r.set[0].MustSurvive {
			if strings.Contains(text, item.Probe) {
				probes++
				if !strings.Contains(text, item.Literal) {
					t.Errorf("a probe without its statement: %s", text)
				}
			}
		}
		if probes != 1 {
			t.Errorf("%d probes in %s", probes, text)
		}
	}
}
