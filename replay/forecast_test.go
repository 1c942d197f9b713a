package replay

import (
	"testing"

	"github.com/doubletake-dev/doubletake/fixtures"
)

// TestForecast goes through a conversation whose sizes can be added up by hand: the
// counter takes a byte of text for a token.
func TestForecast(t *testing.T) {
	message := func(turn int, role string, size int) fixtures.Message {
		text := make([]byte, size)
		for i := range text {
			text[i] = 'x'
		}
		return fixtures.Message{Turn: turn, Role: role, Content: string(text)}
	}
	rec := &fixtures.Recording{Messages: []fixtures.Message{
		message(0, fixtures.RoleSystem, 100),
		message(1, fixtures.RoleUser, 50),
		message(2, fixtures.RoleAssistant, 150),
		message(3, fixtures.RoleUser, 100), // compacted after this turn: 400 tokens, the budget is 200
		message(4, fixtures.RoleAssistant, 60),
		message(5, fixtures.RoleUser, 40),
		message(6, fixtures.RoleAssistant, 300),
	}}
	f := &fixtures.Fixture{ConversationID: "f", Turns: 6, CompactionsExpected: 1, CompactAfter: []int{3}, MustSurvive: []fixtures.Item{
		{ID: "a", Turn: 1}, {ID: "b", Turn: 3}, {ID: "c", Turn: 5},
	}}
	bounds := Bounds{Agent: LongAnswer, Judge: LongJudgement, AgentAssumed: true, JudgeAssumed: true}
	forecast := func(mode Mode, window int, user *User) *Forecast {
		t.Helper()
		e := &Engine{
			Settings: Settings{Window: window, StepLimit: 10, Mode: mode, SecondPass: true}, Counter: bytesCounter{}, User: user,
			Recording: func(*fixtures.Fixture) (*fixtures.Recording, error) { return rec, nil },
		}
		got, err := e.Forecast(f, bounds)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}

	got := forecast(ClosedLoop, 10_000, nil)
	if got.Fork != 3 || !got.Fits || got.PrefixTokens != 400 {
		t.Errorf("fork %d, fits %t, prefix %d", got.Fork, got.Fits, got.PrefixTokens)
	}
	// The agent speaks twice: from 400 tokens, and from 400+60+40. Compacted it begins at
	// the budget of 200.
	if want := (Demand{2, 400 + 500, 60 + 300}); got.Whole.Expected != want {
		t.Errorf("whole: %+v, want %+v", got.Whole.Expected, want)
	}
	if want := (Demand{2, 200 + 300, 60 + 300}); got.Compacted.Expected != want {
		t.Errorf("compacted: %+v, want %+v", got.Compacted.Expected, want)
	}
	// Ten calls of tools and the answer before the user's one message.
	if got.Whole.Most.Calls != 11 || got.Compacted.Most.Calls != 11 {
		t.Errorf("at most %d and %d calls, want 11", got.Whole.Most.Calls, got.Compacted.Most.Calls)
	}
	// One summary of 400 tokens, and one of the 200 that are left.
	if want := (Demand{2, 400 + 200 + 2*summaryOverhead, 200 + 100}); got.Summaries.Expected != want {
		t.Errorf("summaries: %+v, want %+v", got.Summaries.Expected, want)
	}
	// The item of turn 5 comes after the compaction.
	if want := (Demand{2, 2 * (200 + judgeOverhead), 2 * judgeAnswer}); got.Judge.Expected != want || got.Judge.Most.Calls != 4 {
		t.Errorf("judge: %+v, want %+v", got.Judge, want)
	}
	if got.User != (Outlook{}) {
		t.Errorf("a user is asked: %+v", got.User)
	}
	if user := forecast(ClosedLoop, 10_000, &User{}).User; user.Expected.Calls != 1 {
		t.Errorf("the user is asked %d times, want 1", user.Expected.Calls)
	}
	if step := forecast(StepByStep, 10_000, nil); step.Whole.Expected.Calls != 2 || step.Whole.Most.Calls != 2 {
		t.Errorf("step by step: %+v, want 2 calls and no more", step.Whole)
	}
	if small := forecast(ClosedLoop, 410, nil); small.Fits || small.Whole != (Outlook{}) {
		t.Errorf("a prefix of 400 tokens is played in a window of 410: %+v", small.Whole)
	}

	// Each of the 11 answers may be as long as the bound, and each of the 4 of the judge.
	if got.Whole.Most.AnswerTokens != 11*LongAnswer || got.Judge.Most.AnswerTokens != 4*LongJudgement {
		t.Errorf("at most %d and %d tokens of answers", got.Whole.Most.AnswerTokens, got.Judge.Most.AnswerTokens)
	}
	bounds = Bounds{Agent: 5000, Judge: 700}
	got = forecast(ClosedLoop, 1_000_000, nil)
	if got.Whole.Most.AnswerTokens != 11*5000 || got.Judge.Most.AnswerTokens != 4*700 {
		t.Errorf("bounded: at most %d and %d tokens of answers", got.Whole.Most.AnswerTokens, got.Judge.Most.AnswerTokens)
	}
	// Before each of the 11 questions come 400 tokens and the user's 40, and one answer and
	// one result of 300 more than before the last: 55 of each in all.
	if want := 11*440 + 55*(5000+300); got.Whole.Most.PromptTokens != want {
		t.Errorf("bounded: at most %d tokens of prompts, want %d", got.Whole.Most.PromptTokens, want)
	}
	// A bound below what is recorded cuts the second answer.
	bounds = Bounds{Agent: 250, Judge: 30}
	got = forecast(ClosedLoop, 10_000, nil)
	if got.Whole.Expected.AnswerTokens != 60+250 || got.Judge.Expected.AnswerTokens != 2*30 {
		t.Errorf("bounded: %d and %d tokens of answers expected", got.Whole.Expected.AnswerTokens, got.Judge.Expected.AnswerTokens)
	}
}
