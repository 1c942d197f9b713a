package rubric

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
	"github.com/doubletake-dev/doubletake/replay/pack"
)

// oracle is a model that answers as told and remembers what it was asked.
type oracle struct {
	mu     sync.Mutex
	asked  []*replay.Request
	answer func(*replay.Request, int) (string, error)
}

func (o *oracle) Complete(_ context.Context, request *replay.Request) (*replay.Reply, error) {
	o.mu.Lock()
	copied := *request
	o.asked = append(o.asked, &copied)
	n := len(o.asked)
	o.mu.Unlock()
	text, err := o.answer(request, n)
	if err != nil {
		return nil, err
	}
	return &replay.Reply{Message: fixtures.Message{Role: fixtures.RoleAssistant, Content: text}, FinishReason: "stop", Key: fixtures.HashBytes([]byte(fmt.Sprint(n, text)))}, nil
}

func always(text string) *oracle {
	return &oracle{answer: func(*replay.Request, int) (string, error) { return text, nil }}
}

// grader scores what it is asked by the size of the context: the same question gets the
// same answer.
func grader() *oracle {
	return &oracle{answer: func(q *replay.Request, _ int) (string, error) { return grading(q), nil }}
}

func grading(q *replay.Request) string {
	text := q.Messages[1].Content
	_, tail, _ := strings.Cut(text, "<rubric_criteria-")
	_, tail, _ = strings.Cut(tail, ">\n")
	tail, _, _ = strings.Cut(tail, "\n</rubric_criteria-")
	var asked []Criterion
	if err := json.Unmarshal([]byte(tail), &asked); err != nil {
		return err.Error()
	}
	var results []map[string]any
	var scores []replay.CriterionScore
	for i, c := range asked {
		score := float64((len(text) + i) % 6)
		results = append(results, map[string]any{"criterionId": c.ID, "score": score, "reasoning": "so"})
		scores = append(scores, replay.CriterionScore{Score: score})
	}
	dimensions, overall := sums(scores, asked)
	data, err := json.Marshal(map[string]any{"criterionResults": results, "aggregateScore": overall, "dimensionScores": dimensions})
	if err != nil {
		return err.Error()
	}
	return string(data)
}

// run is a run of one fixture, whose items the rater must not look at.
type run struct {
	*replay.Folder
	fixture *fixtures.Fixture
}

func newRun(t *testing.T, arms ...string) *run {
	t.Helper()
	f := &fixtures.Fixture{
		ConversationID: "the-conversation-id", Hash: "00000000000000f1", CompactAfter: []int{6}, CompactionsExpected: 1,
		MustSurvive: []fixtures.Item{{ID: "item-one", Class: fixtures.Constraint, Turn: 4, Literal: "nowhere else", Probe: "May it be pushed elsewhere?", Expect: "surely not"}},
		Checks:      []fixtures.Check{{ID: "check-one", Never: "tool == 'push'"}},
	}
	plan := replay.Plan{Command: "nightly", Fixtures: 1, Lineage: replay.Lineage{AgentModel: "agent-model", JudgeModel: "judge-model"}}
	for _, arm := range arms {
		plan.Arms = append(plan.Arms, replay.ArmInfo{Name: arm, Role: arm, Kind: replay.CompactorArm})
	}
	folder, err := replay.OpenFolder(t.TempDir(), plan, []*fixtures.Fixture{f}, time.Date(2026, 3, 20, 0, 0, 0, 0, time.UTC))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = folder.Close() })
	return &run{folder, f}
}

func (r *run) play(t *testing.T, arm string, status replay.CompactionStatus, summary string) *replay.Episode {
	t.Helper()
	before := history()
	written := fixtures.Message{Role: fixtures.RoleUser, Content: summary, Extra: map[string]json.RawMessage{replay.KindField: json.RawMessage(`"summary"`)}}
	c := replay.CompactionRecord{AfterTurn: 7, Status: status, Compactor: replay.CompactorIdentity{Name: "the-compactor-of-" + arm}}
	var err error
	if c.Before, err = r.Contexts.Put(before); err != nil {
		t.Fatal(err)
	}
	if c.After, err = r.Contexts.Put([]fixtures.Message{before[0], written, before[len(before)-1]}); err != nil {
		t.Fatal(err)
	}
	e := &replay.Episode{
		Key: replay.Key{Fixture: r.fixture.Hash, Arm: arm}, ConversationID: r.fixture.ConversationID,
		Status: replay.Played, Compactions: []replay.CompactionRecord{c},
	}
	if err := r.Episodes.Append(e); err != nil {
		t.Fatal(err)
	}
	return e
}

func (r *run) rate(t *testing.T, agent, judge replay.Model, change func(*Rater)) []*replay.Rating {
	t.Helper()
	rater := &Rater{Agent: agent, Judge: judge, AgentModel: "agent-model", JudgeModel: "judge-model", Seed: 7, Concurrency: 4}
	if change != nil {
		change(rater)
	}
	if err := rater.Run(t.Context(), r.Folder); err != nil {
		t.Fatal(err)
	}
	return r.ratings(t)
}

func (r *run) ratings(t *testing.T) []*replay.Rating {
	t.Helper()
	record, err := replay.ReadRecord(r.Dir)
	if err != nil {
		t.Fatal(err)
	}
	return record.Ratings
}

const probesMade = 7 // of history

func TestEveryProbeIsRatedOnce(t *testing.T) {
	r := newRun(t, "incumbent", "candidate", "refuses")
	r.play(t, "incumbent", replay.Compacted, "short")
	r.play(t, "candidate", replay.Compacted, "a longer one")
	r.play(t, "refuses", replay.Refused, "")
	agent, judge := always("It is 9931."), grader()
	var told []int
	list := r.rate(t, agent, judge, func(r *Rater) {
		r.Progress = func(done, total int) { told = append(told, done, total) }
	})
	if len(list) != 2*probesMade || len(agent.asked) != 2*probesMade || len(judge.asked) != 2*probesMade || len(told) != 4*probesMade || told[len(told)-2] != 2*probesMade {
		t.Fatalf("%d ratings, %d answers, %d grades, told %v", len(list), len(agent.asked), len(judge.asked), told)
	}
	rubric := newRubric(t)
	for i, x := range list {
		asked := rubric.criteria(x.Probe.Kind)
		if x.Status != replay.RatingScored || x.Reason != "" || x.Response != "It is 9931." || len(x.Scores) != len(asked) || len(x.Exchanges) != 2 || x.Rubric != rubric.ID() || x.Disagreement != "" || x.Input == "" {
			t.Errorf("rating %+v", x)
		}
		dimensions, overall := sums(x.Scores, asked)
		if fmt.Sprint(dimensions) != fmt.Sprint(x.Dimensions) || x.Overall == nil || *x.Overall != overall {
			t.Errorf("dimensions %v, want %v", x.Dimensions, dimensions)
		}
		if other := list[(i+probesMade)%len(list)]; other.Probe.ID != x.Probe.ID || other.Arm == x.Arm {
			t.Errorf("the arms lost the same and were asked %s and %s", x.Probe.ID, other.Probe.ID)
		}
	}
	for _, q := range agent.asked {
		if q.Model != "agent-model" || q.Seed != 7 || q.JSON || len(q.Tools) != 0 || len(q.Messages) != 4 || !strings.HasPrefix(q.Messages[3].Content, "<probe-") {
			t.Errorf("asked %+v", q)
		}
	}
	for _, q := range judge.asked {
		if q.Model != "judge-model" || q.Seed != 7 || !q.JSON || len(q.Messages) != 2 {
			t.Errorf("asked %+v", q)
		}
	}
	// What is rated is not asked again.
	if again := r.rate(t, agent, judge, nil); len(again) != len(list) || len(agent.asked) != 2*probesMade || len(judge.asked) != 2*probesMade {
		t.Errorf("%d ratings after %d answers and %d grades", len(again), len(agent.asked), len(judge.asked))
	}
}

// Neither the order of the arms nor the seed nor the concurrency changes a rating.
func TestTheOrderOfTheArmsChangesNoRating(t *testing.T) {
	ratings := func(concurrency, seed int, arms ...string) (string, string) {
		r := newRun(t, arms...)
		for _, arm := range arms {
			r.play(t, arm, replay.Compacted, "the summary of "+arm)
		}
		agent := &oracle{answer: func(q *replay.Request, _ int) (string, error) { return "I saw " + q.Messages[1].Content, nil }}
		list := r.rate(t, agent, grader(), func(r *Rater) { r.Concurrency, r.Seed = concurrency, seed })
		var lines, order []string
		for _, x := range list {
			lines = append(lines, fmt.Sprintf("%s %s %s %v", x.Arm, x.Probe.ID, x.Response, x.Scores))
		}
		for _, q := range agent.asked {
			order = append(order, q.Messages[1].Content)
		}
		slices.Sort(lines)
		return strings.Join(lines, "\n"), strings.Join(order, "\n")
	}
	want, order := ratings(1, 7, "a", "b", "c")
	if again, same := ratings(1, 7, "a", "b", "c"); again != want || same != order {
		t.Error("the same seed gives another order")
	}
	if got, _ := ratings(4, 7, "c", "b", "a"); got != want {
		t.Errorf("ratings\n%s\nwant\n%s", got, want)
	}
	got, other := ratings(1, 8, "a", "b", "c")
	if got != want {
		t.Errorf("ratings\n%s\nwant\n%s", got, want)
	}
	if other == order {
		t.Error("another seed asks in the same order")
	}
	if first, _, _ := strings.Cut(order, "\n"); strings.Count(order, first) != probesMade {
		t.Errorf("order %s", order)
	}
}

// For the same context the grader reads the same bytes, whose ever it is, and nothing
// in them is of the fixture's notes.
func TestTheGraderNeverLearnsWhichArmItReads(t *testing.T) {
	asked := map[string][]string{}
	for _, arm := range []string{"incumbent-arm", "candidate-arm"} {
		r := newRun(t, arm)
		r.play(t, arm, replay.Compacted, "something was said")
		agent, judge := always("It is so."), grader()
		r.rate(t, agent, judge, nil)
		for _, q := range slices.Concat(agent.asked, judge.asked) {
			data, err := json.Marshal(q)
			if err != nil {
				t.Fatal(err)
			}
			asked[arm] = append(asked[arm], string(data))
			for _, secret := range []string{"-arm", "compactor", "the-conversation-id", "00000000000000f1", "incumbent", "candidate", r.Dir, "item-one", "elsewhere", "surely not", "check-one", "tool =="} {
				if strings.Contains(string(data), secret) {
					t.Errorf("%s stands in what is asked: %s", secret, data)
				}
			}
		}
		slices.Sort(asked[arm])
	}
	if len(asked["incumbent-arm"]) != 2*probesMade || !slices.Equal(asked["incumbent-arm"], asked["candidate-arm"]) {
		t.Error("the arms are asked otherwise")
	}
}

func TestFaultsMakeAProbeUnscored(t *testing.T) {
	broken := errors.New("the provider is down")
	failing := &oracle{answer: func(*replay.Request, int) (string, error) { return "", broken }}
	for _, c := range []struct {
		name         string
		agent, judge *oracle
		want         string
		judged       int // questions to the grader for each probe
	}{
		{"agent down", failing, grader(), "the agent: the provider is down", 0},
		{"agent silent", always(" \n"), grader(), "the agent answered nothing", 0},
		{"grader down", always("yes"), &oracle{answer: failing.answer}, "the grader: the provider is down", 1},
		{"malformed twice", always("yes"), always("Good work!"), "is not the JSON asked for", 2},
	} {
		r := newRun(t, "a")
		r.play(t, "a", replay.Compacted, "short")
		list := r.rate(t, c.agent, c.judge, nil)
		if len(list) != probesMade || len(c.judge.asked) != c.judged*probesMade {
			t.Errorf("%s: %d ratings, %d grades", c.name, len(list), len(c.judge.asked))
		}
		for _, x := range list {
			if x.Status != replay.RatingUnscored || !strings.Contains(x.Reason, c.want) || x.Overall != nil || len(x.Scores) != 0 {
				t.Errorf("%s: %+v", c.name, x)
			}
		}
		// What is unscored is asked once more by the same command.
		agent := always("yes")
		if list = r.rate(t, agent, grader(), nil); len(list) != probesMade || len(agent.asked) != probesMade || list[0].Status != replay.RatingScored {
			t.Errorf("%s: %d ratings after %d more answers", c.name, len(list), len(agent.asked))
		}
	}
}

func TestAMalformedGradeIsAskedForOnceMore(t *testing.T) {
	r := newRun(t, "a")
	r.play(t, "a", replay.Compacted, "short")
	seen := map[string]bool{}
	judge := &oracle{}
	judge.answer = func(q *replay.Request, _ int) (string, error) {
		judge.mu.Lock()
		defer judge.mu.Unlock()
		if text := q.Messages[1].Content; !seen[text] {
			seen[text] = true
			return "Sure! " + grading(q), nil
		}
		if !q.Fresh {
			return "", errors.New("the stored answer was asked for again")
		}
		return grading(q), nil
	}
	for _, x := range r.rate(t, always("yes"), judge, nil) {
		if x.Status != replay.RatingScored || x.Reason != "" || len(x.Exchanges) != 3 {
			t.Errorf("rating %+v", x)
		}
	}
}

func TestAnotherRubricRatesAnew(t *testing.T) {
	r := newRun(t, "a")
	r.play(t, "a", replay.Compacted, "short")
	r.rate(t, always("yes"), grader(), nil)
	other, err := Parse([]byte(strings.Replace(string(shipped), `"version": "2026.1"`, `"version": "2026.2"`, 1)))
	if err != nil {
		t.Fatal(err)
	}
	list := r.rate(t, always("yes"), grader(), func(r *Rater) { r.Rubric = other })
	if len(list) != 2*probesMade || list[0].Rubric.Version != "2026.1" || list[len(list)-1].Rubric != other.ID() {
		t.Errorf("%d ratings, the last by %+v", len(list), list[len(list)-1].Rubric)
	}
}

func TestAContextThatCannotBeReadIsUnscored(t *testing.T) {
	r := newRun(t, "a")
	e := r.play(t, "a", replay.Compacted, "short")
	store, err := pack.Open(filepath.Join(r.Dir, replay.ContextsDir), pack.Options{})
	if err == nil {
		err = errors.Join(store.Put(replay.ContextKey(e.Compactions[0].Before), []byte("damage")), store.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	r.Contexts = replay.NewContexts(filepath.Join(r.Dir, replay.ContextsDir))
	list := r.rate(t, always("yes"), grader(), nil)
	if len(list) != 1 || list[0].Status != replay.RatingUnscored || !strings.Contains(list[0].Reason, "no probe was made") {
		t.Errorf("ratings %+v", list)
	}
}

// What was rated before the end is kept, and the same command goes on from there.
func TestTheEndOfTheContextStopsRating(t *testing.T) {
	r := newRun(t, "a", "b")
	r.play(t, "a", replay.Compacted, "short")
	r.play(t, "b", replay.Compacted, "shorter")
	cause := errors.New("interrupted")
	ctx, cancel := context.WithCancelCause(t.Context())
	agent := &oracle{answer: func(_ *replay.Request, n int) (string, error) {
		if n == 5 {
			cancel(cause)
			return "", context.Canceled
		}
		return "yes", nil
	}}
	rater := &Rater{Agent: agent, Judge: grader(), AgentModel: "agent-model", JudgeModel: "judge-model", Concurrency: 1}
	if err := rater.Run(ctx, r.Folder); !errors.Is(err, cause) {
		t.Errorf("error %v", err)
	}
	if list := r.ratings(t); len(list) != 4 {
		t.Fatalf("%d ratings", len(list))
	}
	more := always("yes")
	if list := r.rate(t, more, grader(), nil); len(list) != 2*probesMade || len(more.asked) != 2*probesMade-4 {
		t.Errorf("%d ratings after %d more answers", len(list), len(more.asked))
	}
}

func TestAFolderThatCannotBeRead(t *testing.T) {
	rater := &Rater{Agent: always("x"), Judge: always("x")}
	if err := rater.Run(t.Context(), &replay.Folder{Dir: t.TempDir()}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error %v", err)
	}
}
