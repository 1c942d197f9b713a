package judge

import (
	"errors"
	"testing"

	"github.com/doubletake-dev/doubletake/replay"
)

func TestContextsOfTheSameBytesAreJudgedOnce(t *testing.T) {
	same, other := user("something was said of a vault"), user("something else was said")
	r := newRun(t, "a", "b", "c")
	r.play(t, "a", replay.Played, same, same)
	r.play(t, "b", replay.Played, same, same)
	r.play(t, "c", replay.Played, same, other)
	model := always(supported)
	list := r.judge(t, model)
	// Two items of the same context, and two of the other.
	if len(model.asked) != 4 || len(list) != 9 {
		t.Errorf("%d questions for %d judgements", len(model.asked), len(list))
	}
	for _, j := range list {
		if j.Verdict != replay.Supported || j.Exchange == nil {
			t.Errorf("%+v", j)
		}
	}
}

func TestAnAnswerThatDoesNotCountIsNotShared(t *testing.T) {
	same := user("something was said of a vault")
	r := newRun(t, "a", "b")
	r.play(t, "a", replay.Played, same)
	r.play(t, "b", replay.Played, same)
	model := &oracle{answer: func(_ *replay.Request, n int) (string, error) {
		if n == 1 {
			return "", errors.New("503")
		}
		return supported, nil
	}}
	scored := 0
	for _, j := range r.judge(t, model) {
		if j.Verdict == replay.Supported {
			scored++
		}
	}
	if scored != 1 || len(model.asked) != 2 {
		t.Errorf("%d scored by %d questions", scored, len(model.asked))
	}
}

func TestADrainedJudgeKeepsWhatWasInFlight(t *testing.T) {
	r := newRun(t, "a")
	r.play(t, "a", replay.Played, user("something was said of a vault"), user("and of a port"))
	drain := make(chan struct{})
	model := &oracle{answer: func(_ *replay.Request, n int) (string, error) {
		if n == 1 {
			close(drain)
		}
		return supported, nil
	}}
	j := &Judge{Model: model, Name: "judge-model", Concurrency: 1, Drain: drain}
	if err := j.Run(t.Context(), r.Folder); !errors.Is(err, replay.ErrInterrupted) {
		t.Errorf("error %v", err)
	}
	if list := r.judgements(t); len(list) != 1 || len(model.asked) != 1 {
		t.Errorf("%d judgements of %d questions", len(list), len(model.asked))
	}
	j.Drain = nil
	if err := j.Run(t.Context(), r.Folder); err != nil {
		t.Error(err)
	}
	if list := r.judgements(t); len(list) != 3 {
		t.Errorf("%d judgements in the end", len(list))
	}
	// The controls are not begun, either.
	j = &Judge{Model: model, Name: "judge-model", Concurrency: 1, Controls: 1, Drain: drain}
	before := len(model.asked)
	if err := j.Run(t.Context(), r.Folder); !errors.Is(err, replay.ErrInterrupted) || len(model.asked) != before {
		t.Errorf("error %v after %d questions", err, len(model.asked)-before)
	}
}
