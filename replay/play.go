package replay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/doubletake-dev/doubletake/fixtures"
)

// player plays one episode.
type player struct {
	engine  *Engine
	stage   *staging
	arm     Arm
	episode *Episode
	// written are the messages that compactors wrote, with their kind.
	written map[string]string
	// shared is the episode as the other arms of the fixture see it; nil where nothing
	// is shared.
	shared *sharing
}

// errFault carries a fault of the world out of an episode.
type errFault struct{ error }

func (e *Engine) play(ctx context.Context, st *staging, arm Arm, key Key, shared *sharing) (*Episode, error) {
	p := &player{engine: e, stage: st, arm: arm, written: map[string]string{}, shared: shared, episode: &Episode{
		Key: key, ConversationID: st.fixture.ConversationID,
		PrefixHash: st.hash, Fork: st.fork, PrefixTokens: st.tokens,
	}}
	err := p.run(ctx)
	if err != nil && errors.Is(context.Cause(ctx), ErrEpisodeTimeout) {
		err = errFault{context.Cause(ctx)}
	}
	var fault errFault
	if errors.As(err, &fault) {
		p.episode.Status, p.episode.Reason = Faulted, fault.Error()
		return p.episode, nil
	}
	if err != nil {
		return nil, fmt.Errorf("playing %s under %s: %w", key.Fixture, key.Arm, err)
	}
	return p.episode, nil
}

func (p *player) run(ctx context.Context) error {
	if p.arm.Kind != CompactorArm {
		return p.reference(ctx)
	}
	ran, messages, err := p.compact(ctx)
	if err != nil {
		return err
	}
	if expected := p.expected(); ran < expected {
		p.episode.Status = Void
		p.episode.Reason = fmt.Sprintf("%d of %d expected compactions ran", ran, expected)
		switch reasons := p.whyNot(); {
		case reasons != "":
			p.episode.Reason += ": " + reasons
		case len(p.stage.points) < expected:
			p.episode.Reason += fmt.Sprintf(": the context has %d tokens at the fork, and is compacted beyond %d (trigger %g of the window of %d); name compact_after, or give the fixture or the agent a smaller window",
				p.stage.tokens, int(p.engine.Settings.Trigger*float64(p.stage.window)), p.engine.Settings.Trigger, p.stage.window)
		}
		return nil
	}
	return p.speak(ctx, messages)
}

// expected is how many compactions must run for the episode to say anything: all
// of the named or recorded points, or as many as the fixture expects where only the
// size of the context tells.
func (p *player) expected() int {
	st := p.stage
	if len(st.fixture.CompactAfter) > 0 || len(st.recording.Compactions) > 0 {
		return len(st.points)
	}
	return max(st.fixture.CompactionsExpected, len(st.points))
}

func (p *player) whyNot() string {
	var reasons []string
	for _, c := range p.episode.Compactions {
		if c.Status != Compacted {
			reasons = append(reasons, fmt.Sprintf("after turn %d %s (%s)", c.AfterTurn, c.Status, c.Reason))
		}
	}
	return strings.Join(reasons, "; ")
}

func (p *player) reference(ctx context.Context) error {
	st := p.stage
	if st.fits() {
		return p.speak(ctx, st.upTo(0, st.fork))
	}
	reason := fmt.Sprintf("the prefix has %d tokens, and of the window of %d %d stay free for the turns to come", st.tokens, st.window, reserve(st.window))
	if st.fixture.Trace == nil || p.arm.Kind == ControlArm {
		p.episode.Status = LeftOut
		p.episode.Reason = reason + ", and the fixture has no accepted trace"
		if p.arm.Kind == ControlArm {
			p.episode.Reason = reason
		}
		return nil
	}
	p.episode.Status = Accepted
	p.episode.Reason = reason
	p.episode.Steps = traceSteps(st.fixture.Trace.Messages)
	p.episode.End = Answered
	return nil
}

// traceSteps turns recorded messages into the steps of an episode.
func traceSteps(messages []fixtures.Message) []Step {
	var steps []Step
	at := map[string]int{}
	number := 0
	for _, m := range messages {
		switch m.Role {
		case fixtures.RoleUser:
			steps = append(steps, Step{Kind: StepUser, Turn: m.Turn, Text: m.Content})
		case fixtures.RoleAssistant:
			if m.Content != "" {
				steps = append(steps, Step{Kind: StepText, Turn: m.Turn, Text: m.Content})
			}
			for _, call := range m.ToolCalls {
				number++
				at[call.ID] = len(steps)
				steps = append(steps, Step{Kind: StepCall, Turn: m.Turn, Number: number, Call: &call, Source: FromTape})
			}
		case fixtures.RoleTool:
			if i, ok := at[m.ToolCallID]; ok {
				steps[i].Result = m.Content
			}
		}
	}
	return steps
}

// compact runs the compactions of the episode and returns how many ran and the
// context at the fork.
func (p *player) compact(ctx context.Context) (ran int, atFork []fixtures.Message, err error) {
	st := p.stage
	var current []CompactMessage
	var state json.RawMessage
	done := 0
	forked := false
	for i, point := range st.points {
		if !forked && point > st.fork {
			atFork, forked = append(marked(current), st.upTo(done, st.fork)...), true
		}
		current = append(slices.Clip(current), st.numbered(done, point)...)
		done = point
		out, record, err := p.compactOnce(ctx, i, point, current, state)
		if err != nil {
			return 0, nil, err
		}
		p.episode.Compactions = append(p.episode.Compactions, *record)
		p.logCompaction(ctx, record)
		if record.Status == Compacted {
			ran++
			current, state = out.Messages, out.State
		}
	}
	if !forked {
		atFork = append(marked(current), st.upTo(done, st.fork)...)
	}
	return ran, atFork, nil
}

func (p *player) compactOnce(ctx context.Context, index, point int, current []CompactMessage, state json.RawMessage) (*Compaction, *CompactionRecord, error) {
	st, e := p.stage, p.engine
	texts := Texts(current)
	record := &CompactionRecord{Index: index, AfterTurn: point}
	before := append(append([]fixtures.Message{}, st.system...), texts...)
	record.TokensBefore = CountAll(e.Counter, before)
	record.Budget = budget(record.TokensBefore, st.window)
	var err error
	if record.Before, err = e.Contexts.Put(before); err != nil {
		return nil, nil, err
	}
	request := &CompactRequest{
		Fixture: st.fixture.ConversationID, Compaction: index, AfterTurn: point,
		System: systemText(st.system), Messages: current, Tools: st.recording.Header.Tools,
		BudgetTokens: record.Budget, Model: e.Settings.Model, Seed: e.Settings.Seed,
		Replicate: p.episode.Replicate, PriorState: state, Recorded: recordedAt(st.recording, point),
	}
	out, err := compactGuarded(ctx, p.arm.Compactor, request)
	if err != nil {
		if ctx.Err() != nil {
			return nil, nil, ctx.Err()
		}
		return nil, nil, errFault{fmt.Errorf("compacting after turn %d: %w", point, err)}
	}
	record.Status, record.Reason = out.Status, out.Reason
	record.Compactor, record.Opaque, record.NotRecorded = out.Identity, out.Opaque, out.NotRecorded
	record.Injected = out.Injected
	p.episode.Exchanges = append(p.episode.Exchanges, out.Exchanges...)
	if out.Status != Compacted {
		record.After, record.TokensAfter = record.Before, record.TokensBefore
		if result, known := keptOnFailure(current, out); known {
			record.Rules = []RuleResult{result}
		}
		return out, record, nil
	}
	p.remember(out.Messages)
	after := append(append([]fixtures.Message{}, st.system...), marked(out.Messages)...)
	record.TokensAfter = CountAll(e.Counter, after)
	if record.After, err = e.Contexts.Put(after); err != nil {
		return nil, nil, err
	}
	record.Rules = checkRules(current, out, record, st.window)
	if result, known := keptOnFailure(current, out); known {
		record.Rules = append(record.Rules, result)
	}
	if e.Settings.SecondPass && p.episode.Replicate == 0 && index == len(st.points)-1 {
		result, err := p.secondPass(ctx, request, out)
		if err != nil {
			return nil, nil, err
		}
		if result != nil {
			record.Rules = append(record.Rules, *result)
		}
	}
	return out, record, nil
}

// remember marks what an earlier compaction of the episode wrote and this one kept: a
// summary stays one.
func (p *player) remember(messages []CompactMessage) {
	for i := range messages {
		m := &messages[i]
		switch {
		case m.Kind == KindSummary || m.Kind == KindOpaque:
			p.written[m.ID] = m.Kind
		case p.written[m.ID] != "":
			m.Kind = p.written[m.ID]
		}
	}
}

// marked are the messages with what the compactor wrote anew marked as such.
func marked(messages []CompactMessage) []fixtures.Message {
	out := Texts(messages)
	for i := range messages {
		if kind := messages[i].Kind; kind == KindSummary || kind == KindOpaque {
			extra := maps.Clone(out[i].Extra)
			if extra == nil {
				extra = map[string]json.RawMessage{}
			}
			extra[KindField] = json.RawMessage(`"` + kind + `"`)
			out[i].Extra = extra
		}
	}
	return out
}

// KindField is the field of a stored context's message that says what kind it is.
const KindField = "kind"

func systemText(messages []fixtures.Message) string {
	texts := make([]string, len(messages))
	for i, m := range messages {
		texts[i] = m.Content
	}
	return strings.Join(texts, "\n\n")
}

func recordedAt(rec *fixtures.Recording, turn int) *fixtures.Compaction {
	for i := len(rec.Compactions) - 1; i >= 0; i-- {
		if rec.Compactions[i].AfterTurn == turn {
			return &rec.Compactions[i]
		}
	}
	return nil
}

// speak lets the agent go on from a context until the user's turns are answered, or
// asks it for each recorded turn in step mode.
func (p *player) speak(ctx context.Context, from []fixtures.Message) (err error) {
	st, e := p.stage, p.engine
	messages := append(append([]fixtures.Message{}, st.system...), from...)
	if p.episode.Context, err = e.Contexts.Put(messages); err != nil {
		return err
	}
	p.episode.ContextTokens = CountAll(e.Counter, messages)
	p.episode.Status = Played
	same, err := p.shared.find(ctx, p.episode.Context)
	if err != nil {
		return err
	}
	if same != nil {
		p.take(same)
		return nil
	}
	if e.Settings.Mode == StepByStep {
		return p.steps(ctx, messages)
	}
	tools, err := e.NewTools(st.fixture, st.recording, st.fork)
	if err != nil {
		return err
	}
	if closer, ok := tools.(io.Closer); ok {
		defer func() {
			if failed := closer.Close(); failed != nil && err == nil {
				err = errFault{fmt.Errorf("closing the tools: %w", failed)}
			}
		}()
	}
	talk := &talk{player: p, tools: tools, messages: messages, forked: len(messages), turn: st.fork, users: st.users, ids: callIDs(messages)}
	if st.userFirst {
		// Nothing was said yet that the user could answer otherwise than recorded.
		if len(talk.users) == 0 {
			p.episode.End = Answered
			return nil
		}
		talk.userSays(talk.users[0].Content, false)
	}
	return talk.run(ctx)
}

func callIDs(messages []fixtures.Message) map[string]bool {
	ids := map[string]bool{}
	for _, m := range messages {
		for _, call := range m.ToolCalls {
			ids[call.ID] = true
		}
	}
	return ids
}

// talk is the conversation after the fork.
type talk struct {
	*player
	tools    Tools
	messages []fixtures.Message
	// forked is how many of the messages were there before the fork.
	forked int
	turn   int
	steps  int
	users  []fixtures.Message
	ids    map[string]bool
}

// userSpeaks adds the user's next message, the recorded one or one that a model makes
// of it. It says whether there was one left.
func (t *talk) userSpeaks(ctx context.Context) (bool, error) {
	if len(t.users) == 0 {
		return false, nil
	}
	text, simulated := t.users[0].Content, t.engine.User != nil
	if simulated {
		var err error
		if text, err = t.simulate(ctx); err != nil {
			return false, err
		}
	}
	t.userSays(text, simulated)
	return true, nil
}

// userSays adds what the user says in place of the next recorded message.
func (t *talk) userSays(text string, simulated bool) {
	t.turn++
	t.users = t.users[1:]
	t.messages = append(t.messages, fixtures.Message{Turn: t.turn, Role: fixtures.RoleUser, Content: text})
	t.episode.Steps = append(t.episode.Steps, Step{Kind: StepUser, Turn: t.turn, Text: text, Simulated: simulated})
}

func (t *talk) run(ctx context.Context) error {
	for {
		if t.steps >= t.engine.Settings.StepLimit {
			t.episode.End = StepLimit
			return nil
		}
		t.turn++
		reply, err := t.ask(ctx)
		if err != nil {
			return err
		}
		t.say(reply)
		if len(reply.ToolCalls) > 0 {
			if err := t.call(ctx, reply.ToolCalls); err != nil {
				return err
			}
			continue
		}
		spoke, err := t.userSpeaks(ctx)
		if err != nil {
			return err
		}
		if !spoke {
			t.episode.End = Answered
			return nil
		}
	}
}

func (t *talk) ask(ctx context.Context) (*fixtures.Message, error) {
	s := t.engine.Settings
	if size := CountAll(t.engine.Counter, t.messages); t.stage.window > 0 && size > t.stage.window {
		return nil, errFault{fmt.Errorf("turn %d: the context grew to %d tokens, beyond the window of %d", t.turn, size, t.stage.window)}
	}
	reply, err := t.engine.Model.Complete(ctx, &Request{
		Model: s.Model, Messages: t.messages, Tools: t.stage.recording.Header.Tools, Seed: s.Seed,
		Replicate: t.episode.Replicate, Fresh: t.arm.Kind == ControlArm,
	})
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, errFault{fmt.Errorf("turn %d: %w", t.turn, err)}
	}
	t.episode.Exchanges = append(t.episode.Exchanges, reply.Exchange("agent"))
	if err := reply.Fault(); err != nil {
		return nil, errFault{fmt.Errorf("turn %d: %w", t.turn, err)}
	}
	if strings.TrimSpace(reply.Message.Content) == "" && len(reply.Message.ToolCalls) == 0 {
		return nil, errFault{fmt.Errorf("turn %d: the model answered nothing (finish reason %q)", t.turn, reply.FinishReason)}
	}
	m := reply.Message
	m.Turn = t.turn
	m.ToolCalls = t.uniqueIDs(m.ToolCalls)
	return &m, nil
}

// uniqueIDs renames calls whose id the conversation already holds, as some
// providers count theirs anew in each answer.
func (t *talk) uniqueIDs(calls []fixtures.ToolCall) []fixtures.ToolCall {
	out := make([]fixtures.ToolCall, len(calls))
	for i, call := range calls {
		id := call.ID
		for n := 2; t.ids[id]; n++ {
			id = fmt.Sprintf("%s-%d", call.ID, n)
		}
		t.ids[id] = true
		out[i] = call
		out[i].ID = id
	}
	return out
}

func (t *talk) say(m *fixtures.Message) {
	t.messages = append(t.messages, *m)
	if m.Content != "" {
		t.episode.Steps = append(t.episode.Steps, Step{Kind: StepText, Turn: t.turn, Text: m.Content})
	}
}

func (t *talk) call(ctx context.Context, calls []fixtures.ToolCall) error {
	for _, call := range calls {
		if t.steps >= t.engine.Settings.StepLimit {
			return nil // the episode ends before the next question
		}
		t.steps++
		result, err := t.tools.Call(ctx, ToolCall{call, t.steps, t.turn})
		if err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return errFault{fmt.Errorf("step %d: calling %s: %w", t.steps, call.Name, err)}
		}
		t.messages = append(t.messages, fixtures.Message{Turn: t.turn, Role: fixtures.RoleTool, ToolCallID: call.ID, Content: result.Content})
		t.episode.Steps = append(t.episode.Steps, Step{
			Kind: StepCall, Turn: t.turn, Number: t.steps, Call: &call, Result: result.Content, Source: result.Source,
			MadeInTurn: t.stage.made[keyOf(t.stage.fixture, call)],
		})
	}
	return nil
}
