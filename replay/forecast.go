package replay

import (
	"github.com/doubletake-dev/doubletake/fixtures"
)

// Demand is what is asked of a model. Tokens are the counter's.
type Demand struct {
	Calls        int `json:"calls"`
	PromptTokens int `json:"prompt_tokens"`
	AnswerTokens int `json:"answer_tokens"`
}

// Plus is both together.
func (d Demand) Plus(o Demand) Demand {
	return Demand{d.Calls + o.Calls, d.PromptTokens + o.PromptTokens, d.AnswerTokens + o.AnswerTokens}
}

// Times is the same n times over.
func (d Demand) Times(n int) Demand {
	return Demand{d.Calls * n, d.PromptTokens * n, d.AnswerTokens * n}
}

// Outlook is what is to be expected, and what it will be at most. The most holds for the
// calls without exception; for tokens it holds as long as no model's answer is longer than
// its [Bounds], and no tool's result and no user's message after the fork longer than the
// longest message there in the recording.
type Outlook struct {
	Expected Demand `json:"expected"`
	Most     Demand `json:"most"`
}

// Plus is both together.
func (o Outlook) Plus(p Outlook) Outlook {
	return Outlook{o.Expected.Plus(p.Expected), o.Most.Plus(p.Most)}
}

// Times is the same n times over.
func (o Outlook) Times(n int) Outlook { return Outlook{o.Expected.Times(n), o.Most.Times(n)} }

// Forecast is what one play of a fixture will ask of models, going by its recording: an
// agent is expected to take as many turns as the recorded one took, and a compactor to
// fill its budget. Nothing is asked to find it.
type Forecast struct {
	// PrefixTokens is the size of the uncompacted prefix, Window the model's window for
	// this fixture. Fits says that the one leaves room in the other.
	PrefixTokens int
	Window       int
	Fits         bool
	// Points are the turns after which is compacted, Fork the one after which the agent
	// speaks.
	Points []int
	Fork   int
	// Whole is what the agent is asked where it goes on from the whole prefix, nothing
	// where the prefix doesn't fit. Compacted is the same from a compacted context.
	Whole     Outlook
	Compacted Outlook
	// User is what a simulated user is asked in one episode.
	User Outlook
	// Summaries is what a compactor asks that writes one summary at each compaction, and
	// one more where its own output is given to it again.
	Summaries Outlook
	// Judge is what the judge is asked about the compactions of one episode: at most one
	// question for each item at each compaction after it, and once more for an answer
	// that can't be read.
	Judge Outlook
}

// Bounds are the longest answers to be reckoned with, in tokens, from 1: what the models
// are told where they are told, else [LongAnswer] and [LongJudgement], which are
// assumptions.
type Bounds struct {
	Agent, Judge int
	// AgentAssumed and JudgeAssumed say that nothing bounds those answers. What the
	// recording has is reckoned with then, if it is longer.
	AgentAssumed, JudgeAssumed bool
}

// The longest answers that are reckoned with where nothing bounds them, in tokens.
const (
	LongAnswer    = 1000
	LongJudgement = 100
)

// What is assumed of texts that no recording has.
const (
	// assumedAnswer is the length of an agent's answer where the recording has none.
	assumedAnswer = 200
	// judgeOverhead is what the judge's instructions, statement and question add to a
	// context, judgeAnswer the length of its answer.
	judgeOverhead, judgeAnswer = 600, 60
	// summaryOverhead is what a summariser's instructions add, summaryAnswer the longest
	// summary.
	summaryOverhead, summaryAnswer = 1200, 4000
)

// Forecast goes through the recording of a fixture as a play of it would, with answers as
// long as in the recording, and at most as long as the bounds. The error is that of a
// recording that can't be read.
func (e *Engine) Forecast(f *fixtures.Fixture, bounds Bounds) (*Forecast, error) {
	st, err := e.stage(f)
	if err != nil {
		return nil, err
	}
	c := &forecaster{stage: st, settings: &e.Settings, counter: e.Counter, bounds: bounds}
	out := &Forecast{PrefixTokens: st.tokens, Window: st.window, Fits: st.fits(), Points: st.points, Fork: st.fork}
	for _, tool := range st.recording.Header.Tools {
		c.tools += c.counter.Count(fixtures.Message{Content: tool.Name + tool.Description + string(tool.Parameters)})
	}
	if out.Fits {
		out.Whole = c.agent(st.tokens)
	}
	out.Compacted = c.agent(c.compactions(out))
	if e.User != nil {
		out.User = c.user()
	}
	return out, nil
}

// forecaster finds the forecast of one fixture.
type forecaster struct {
	stage    *staging
	settings *Settings
	counter  Counter
	bounds   Bounds
	tools    int // tokens of the tools' definitions, which go with each question to the agent
}

// compactions fills in what the compactions ask for, and returns the size of the context
// from which the agent goes on.
func (c *forecaster) compactions(out *Forecast) int {
	st := c.stage
	system := CountAll(c.counter, st.system)
	size, done, atFork, forked := system, 0, 0, false
	for i, point := range st.points {
		if !forked && point > st.fork {
			atFork, forked = size+CountAll(c.counter, st.upTo(done, st.fork)), true
		}
		size += CountAll(c.counter, st.upTo(done, point))
		done = point
		after := budget(size, st.window)
		out.Summaries = out.Summaries.Plus(oneSummary(size, after))
		if c.settings.SecondPass && i == len(st.points)-1 {
			out.Summaries = out.Summaries.Plus(oneSummary(after, budget(after, st.window)))
		}
		for k := range st.fixture.MustSurvive {
			if st.fixture.MustSurvive[k].Turn > point {
				continue
			}
			// A compactor that gives nothing leaves the context as large as it was.
			out.Judge.Expected = out.Judge.Expected.Plus(Demand{1, after + judgeOverhead, min(judgeAnswer, c.bounds.Judge)})
			out.Judge.Most = out.Judge.Most.Plus(Demand{2, 2 * (size + judgeOverhead), 2 * c.bounds.Judge})
		}
		size = max(after, system)
	}
	if !forked {
		atFork = size + CountAll(c.counter, st.upTo(done, st.fork))
	}
	return atFork
}

func oneSummary(before, after int) Outlook {
	return Outlook{
		Expected: Demand{1, before + summaryOverhead, min(after, summaryAnswer)},
		Most:     Demand{1, before + summaryOverhead, max(after, summaryAnswer)},
	}
}

// agent is what the agent is asked from a context of a size.
func (c *forecaster) agent(size int) Outlook {
	st := c.stage
	after := st.upTo(st.fork, st.recording.LastTurn())
	if c.settings.Mode != StepByStep && st.userFirst && len(st.users) == 0 {
		return Outlook{} // nothing is left to play
	}
	answer := func(tokens int) int { // as long as it may be
		if c.bounds.AgentAssumed {
			return tokens
		}
		return min(tokens, c.bounds.Agent)
	}
	var out Outlook
	grown, longest, users, unanswered := size, assumedAnswer, 0, open(st.upTo(0, st.fork))
	for _, m := range after {
		tokens := c.counter.Count(m)
		switch m.Role {
		case fixtures.RoleAssistant:
			out.Expected = out.Expected.Plus(Demand{1, grown + c.tools, answer(tokens)})
			unanswered = false
		case fixtures.RoleUser:
			users += tokens
			unanswered = true
		default:
			unanswered = true
		}
		grown += tokens
		longest = max(longest, tokens)
	}
	if unanswered {
		out.Expected = out.Expected.Plus(Demand{1, grown + c.tools, answer(assumedAnswer)})
	}
	longestAnswer := c.bounds.Agent
	if c.bounds.AgentAssumed {
		longestAnswer = max(longestAnswer, longest)
	}
	if c.settings.Mode == StepByStep {
		out.Most = out.Expected
		out.Most.AnswerTokens = out.Expected.Calls * longestAnswer
		return out
	}
	// Each question ends in a call, of which there are as many as the step limit, or in
	// a text, after which the user speaks.
	calls := c.settings.StepLimit + len(st.users)
	if st.userFirst {
		calls-- // the user has spoken once before the first
	}
	out.Most.Calls, out.Most.AnswerTokens = calls, calls*longestAnswer
	for i := range calls {
		// An answer and a result come on top of what was there.
		most := size + users + i*(longestAnswer+longest)
		if st.window > 0 {
			most = min(most, st.window) // a context beyond it is not sent
		}
		out.Most.PromptTokens += most + c.tools
	}
	out.Most.PromptTokens = max(out.Most.PromptTokens, out.Expected.PromptTokens)
	return out
}

// user is what a simulated user is asked: for each recorded message but one that comes
// right after the fork, with the last of the talk before it.
func (c *forecaster) user() Outlook {
	st := c.stage
	users := st.users
	if st.userFirst && len(users) > 0 {
		users = users[1:]
	}
	before := spoken(st.upTo(0, st.fork))
	size := CountAll(c.counter, before[max(0, len(before)-userPrefix):]) + CountAll(c.counter, spoken(st.upTo(st.fork, st.recording.LastTurn())))
	size += c.counter.Count(fixtures.Message{Content: userInstructions})
	var out Outlook
	for _, m := range users {
		tokens := c.counter.Count(m)
		out.Expected = out.Expected.Plus(Demand{1, size + tokens, tokens})
	}
	out.Most = out.Expected.Plus(Demand{0, out.Expected.PromptTokens, out.Expected.AnswerTokens})
	return out
}
