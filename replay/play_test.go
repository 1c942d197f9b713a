package replay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/fixtures/adversarial"
)

// story has a fork after turn 2, and two messages of the user's after it.
func story() *fixtures.Recording {
	return recording("S rules", "U one", "A two", "U three", "A four", "U five", "A six")
}

func stepLines(e *Episode) []string {
	var lines []string
	for _, s := range e.Steps {
		line := fmt.Sprintf("%d %s", s.Turn, s.Kind)
		if s.Call != nil {
			line += fmt.Sprintf(" #%d %s(%s) = %s from %s", s.Number, s.Call.Name, s.Call.ID, s.Result, s.Source)
		}
		if s.Text != "" {
			line += " " + s.Text
		}
		lines = append(lines, line)
	}
	return lines
}

func wantSteps(t *testing.T, e *Episode, want ...string) {
	t.Helper()
	if got := stepLines(e); !slices.Equal(got, want) {
		t.Errorf("steps:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestTheReferencePlaysOnFromTheFork(t *testing.T) {
	both := callTool("c1", "read", "c2", "write")
	both.Message.Content = "let me see"
	model := &script{replies: []any{both, say("done three"), say("done five")}}
	e := engine(t, model, story())
	episode := playEpisode(t, e, fixtureOf("f", 2), reference())
	if episode.Status != Played || episode.End != Answered || episode.Reason != "" {
		t.Errorf("%s, %s (%s)", episode.Status, episode.End, episode.Reason)
	}
	wantSteps(t, episode,
		"3 user three", "4 text let me see", "4 call #1 read(c1) = result of read from tape", "4 call #2 write(c2) = result of write from tape",
		"5 text done three", "6 user five", "7 text done five")
	if len(model.asked) != 3 || len(episode.Exchanges) != 3 {
		t.Fatalf("%d requests, %d exchanges", len(model.asked), len(episode.Exchanges))
	}
	for i, want := range []string{
		"system:rules | user:one | assistant:two | user:three",
		"system:rules | user:one | assistant:two | user:three | assistant:let me see+c1+c2 | tool:result of read@c1 | tool:result of write@c2",
		"system:rules | user:one | assistant:two | user:three | assistant:let me see+c1+c2 | tool:result of read@c1 | tool:result of write@c2 | assistant:done three | user:five",
	} {
		r := model.asked[i]
		if got := contents(r.Messages); got != want {
			t.Errorf("request %d: %s\nwant %s", i+1, got, want)
		}
		if r.Model != "m" || r.Seed != 7 || r.Fresh || r.JSON || r.MaxTokens != 0 || len(r.Tools) != 1 {
			t.Errorf("request %d: %+v", i+1, r)
		}
	}
	kept, err := e.Contexts.Get(episode.Context)
	if err != nil || contents(kept) != "system:rules | user:one | assistant:two" || episode.ContextTokens != 11 || episode.PrefixTokens != 11 {
		t.Errorf("context %s of %d tokens, %v", contents(kept), episode.ContextTokens, err)
	}
}

func TestTheAgentAnswersAnOpenUserFirst(t *testing.T) {
	f := fixtureOf("f", 2)
	f.Fork = 3
	model := &script{replies: []any{say("to three"), say("to five")}}
	episode := playEpisode(t, engine(t, model, story()), f, reference())
	wantSteps(t, episode, "4 text to three", "5 user five", "6 text to five")
}

func TestNobodySpeaksAfterTheEnd(t *testing.T) {
	f := fixtureOf("f", 6)
	model := &script{}
	episode := playEpisode(t, engine(t, model, story()), f, reference())
	if episode.Status != Played || episode.End != Answered || len(episode.Steps) != 0 || len(model.asked) != 0 {
		t.Errorf("%+v after %d requests", episode, len(model.asked))
	}
}

func TestTheControlAsksAfresh(t *testing.T) {
	model := &script{replies: []any{say("a"), say("b")}}
	episode := playEpisode(t, engine(t, model, story()), fixtureOf("f", 2), Arm{Name: "control", Kind: ControlArm})
	if episode.Status != Played || !model.asked[0].Fresh || !model.asked[1].Fresh {
		t.Errorf("%s, asked %+v", episode.Status, model.asked)
	}
}

func TestACompactorsContextStandsInForThePrefix(t *testing.T) {
	rec := recording("S rules", "U one", "A two", "U three", "A four", "U five", "A six", "U seven")
	rec.Compactions = []fixtures.Compaction{{AfterTurn: 4, Context: []fixtures.Message{{Role: fixtures.RoleUser, Content: "as recorded"}}}}
	var requests []CompactRequest
	arm := compacting(func(ctx context.Context, r *CompactRequest) (*Compaction, error) {
		requests = append(requests, *r)
		out, err := keepLast(ctx, r)
		out.Exchanges = []Exchange{{For: "compactor", Key: "k"}}
		return out, err
	})
	model := &script{replies: []any{say("a"), say("b")}}
	e := engine(t, model, rec)
	episode := playEpisode(t, e, fixtureOf("f", 2, 4), arm)
	if episode.Status != Played || episode.Fork != 4 {
		t.Fatalf("%s (%s), fork %d", episode.Status, episode.Reason, episode.Fork)
	}
	if got := contents(model.asked[0].Messages); got != "system:rules | user:note | assistant:four | user:five" {
		t.Errorf("the agent was asked %s", got)
	}
	first, second := requests[0], requests[1]
	if contents(Texts(first.Messages)) != "user:one | assistant:two" || first.System != "rules" || first.AfterTurn != 2 || first.Compaction != 0 || first.PriorState != nil || first.Recorded != nil {
		t.Errorf("first request %+v", first)
	}
	if contents(Texts(second.Messages)) != "user:note | assistant:two | user:three | assistant:four" || second.AfterTurn != 4 || second.Compaction != 1 ||
		string(second.PriorState) != `{"after":2}` || second.Recorded == nil {
		t.Errorf("second request %+v", second)
	}
	if ids := fmt.Sprint(second.Messages[0].ID, second.Messages[1].ID, second.Messages[2].ID, second.Messages[3].ID); ids != "s0m2m3m4" {
		t.Errorf("ids %s", ids)
	}
	if second.Model != "m" || second.Seed != 7 || second.Fixture != "f" || second.BudgetTokens != (5+4+3+5+4)/2 {
		t.Errorf("second request %+v", second)
	}
	for i, c := range episode.Compactions {
		before, errB := e.Contexts.Get(c.Before)
		after, errA := e.Contexts.Get(c.After)
		if errA != nil || errB != nil || c.Index != i || c.Status != Compacted || c.Compactor.Name != "keep-last" || c.TokensBefore != CountAll(bytesCounter{}, before) || c.TokensAfter != CountAll(bytesCounter{}, after) {
			t.Errorf("compaction %d: %+v", i, c)
		}
	}
	if len(episode.Exchanges) != 4 {
		t.Errorf("exchanges %v", episode.Exchanges)
	}
	if episode.Context != episode.Compactions[1].After {
		t.Error("the agent's context is not what the last compaction left")
	}
}

// Compactions after the fork are made for their items; the agent goes on from the
// context at the fork.
func TestACompactionAfterTheForkDoesNotReachTheAgent(t *testing.T) {
	f := fixtureOf("f", 2, 5)
	f.Fork = 3
	model := &script{replies: []any{say("a"), say("b")}}
	episode := playEpisode(t, engine(t, model, story()), f, compacting(keepLast))
	if episode.Status != Played || len(episode.Compactions) != 2 {
		t.Fatalf("%s (%s), %d compactions", episode.Status, episode.Reason, len(episode.Compactions))
	}
	if got := contents(model.asked[0].Messages); got != "system:rules | user:note | assistant:two | user:three" {
		t.Errorf("the agent was asked %s", got)
	}
}

func TestACompactorThatDoesNotCompactMakesTheEpisodeVoid(t *testing.T) {
	for _, status := range []CompactionStatus{Unchanged, Refused, Failed} {
		t.Run(string(status), func(t *testing.T) {
			calls := 0
			arm := compacting(func(ctx context.Context, r *CompactRequest) (*Compaction, error) {
				if calls++; calls == 1 {
					return keepLast(ctx, r)
				}
				return &Compaction{Status: status, Reason: "for a reason"}, nil
			})
			model := &script{}
			episode := playEpisode(t, engine(t, model, recording("U one", "A two", "U three", "A four", "U five")), fixtureOf("f", 2, 4), arm)
			want := fmt.Sprintf("1 of 2 expected compactions ran: after turn 4 %s (for a reason)", status)
			if episode.Status != Void || episode.Reason != want || len(model.asked) != 0 || len(episode.Steps) != 0 {
				t.Errorf("%s (%s)", episode.Status, episode.Reason)
			}
			if c := episode.Compactions[1]; c.Status != status || c.After != c.Before || c.TokensAfter != c.TokensBefore || c.Reason != "for a reason" {
				t.Errorf("compaction %+v", c)
			}
		})
	}
	t.Run("the next one gets what this one left", func(t *testing.T) {
		var seen []string
		arm := compacting(func(_ context.Context, r *CompactRequest) (*Compaction, error) {
			seen = append(seen, contents(Texts(r.Messages)))
			return &Compaction{Status: Refused}, nil
		})
		playEpisode(t, engine(t, &script{}, recording("U one", "A two", "U three", "A four", "U five")), fixtureOf("f", 2, 4), arm)
		if !slices.Equal(seen, []string{"user:one | assistant:two", "user:one | assistant:two | user:three | assistant:four"}) {
			t.Errorf("seen %q", seen)
		}
	})
	t.Run("expected where no point is", func(t *testing.T) {
		f := fixtureOf("f")
		f.CompactionsExpected = 1
		episode := playEpisode(t, engine(t, &script{}, story()), f, compacting(keepLast))
		if episode.Status != Void || !strings.HasPrefix(episode.Reason, "0 of 1 expected compactions ran: the context has 20 tokens") {
			t.Errorf("%s (%s)", episode.Status, episode.Reason)
		}
	})
}

func TestSizesOfACompactionAreFindings(t *testing.T) {
	grow := compacting(func(_ context.Context, r *CompactRequest) (*Compaction, error) {
		return &Compaction{Status: Compacted, Messages: []CompactMessage{{ID: "s", Message: fixtures.Message{Role: fixtures.RoleUser, Content: strings.Repeat("x", 90)}}}}, nil
	})
	e := engine(t, &script{}, story())
	e.Settings.Window = 80
	episode := playEpisode(t, e, fixtureOf("f", 2), grow)
	if f := broken(episode.Compactions[0]); len(f) != 3 || !strings.Contains(f[RuleSmaller], "95 tokens, the input had 11") || !strings.Contains(f[RuleFits], "the window 80") || f[RuleConservation] == "" {
		t.Errorf("broken %q", f)
	}
	if episode.Status != Faulted || !strings.Contains(episode.Reason, "beyond the window of 80") {
		t.Errorf("%s (%s)", episode.Status, episode.Reason)
	}
	ok := playEpisode(t, engine(t, &script{replies: []any{say("a"), say("b")}}, recording("U "+strings.Repeat("y", 50), "A two", "U three")), fixtureOf("f", 2), compacting(keepLast))
	if f := broken(ok.Compactions[0]); f[RuleSmaller]+f[RuleFits]+f[RulePairs]+f[RuleRole] != "" {
		t.Errorf("broken %q by a compaction that shrinks", f)
	}
}

// broken are the rules that a compaction broke, with their counter-examples.
func broken(c CompactionRecord) map[Rule]string {
	out := map[Rule]string{}
	for _, r := range c.Rules {
		if !r.Held {
			out[r.Rule] = r.Counter
		}
	}
	return out
}

func TestFaultsOfTheWorld(t *testing.T) {
	down := errors.New("503 from the provider")
	noTools := func(*fixtures.Fixture, *fixtures.Recording, int) (Tools, error) {
		return toolsFunc(func(context.Context, ToolCall) (*ToolResult, error) {
			return nil, errors.New("the server of the tool is gone")
		}), nil
	}
	big := say(strings.Repeat("x", 100))
	for _, c := range []struct {
		name   string
		arm    Arm
		model  []any
		tools  func(*fixtures.Fixture, *fixtures.Recording, int) (Tools, error)
		reason string
		steps  int
	}{
		{"the provider fails", reference(), []any{down}, echoTools, "turn 4: 503 from the provider", 1},
		{"the provider fails later", reference(), []any{say("a"), down}, echoTools, "turn 6: 503", 3},
		{"an empty answer", reference(), []any{&Reply{FinishReason: "stop"}}, echoTools, `turn 4: the model answered nothing (finish reason "stop")`, 1},
		{"an answer of spaces", reference(), []any{say(" \n\t")}, echoTools, "the model answered nothing", 1},
		{"the tools fail", reference(), []any{callTool("a", "read")}, noTools, "step 1: calling read: the server of the tool is gone", 1},
		{"the context outgrows the window", reference(), []any{big}, echoTools, "turn 6: the context grew to 120 tokens, beyond the window of 100", 3},
		{"the compactor's provider fails", compacting(func(context.Context, *CompactRequest) (*Compaction, error) { return nil, down }), nil, echoTools, "compacting after turn 2: 503", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := engine(t, &script{replies: c.model}, story())
			e.NewTools, e.Settings.Window = c.tools, 100
			episode := playEpisode(t, e, fixtureOf("f", 2), c.arm)
			if episode.Status != Faulted || !strings.Contains(episode.Reason, c.reason) || episode.Finished() {
				t.Errorf("%s (%s), want %s", episode.Status, episode.Reason, c.reason)
			}
			if len(episode.Steps) != c.steps {
				t.Errorf("steps %v", stepLines(episode))
			}
			if episode.Conduct().Fault != episode.Reason {
				t.Errorf("conduct %+v", episode.Conduct())
			}
		})
	}
}

func TestWhatIsNotTheWorldsFaultStopsTheRun(t *testing.T) {
	e := engine(t, &script{}, story())
	e.NewTools = func(*fixtures.Fixture, *fixtures.Recording, int) (Tools, error) {
		return nil, errors.New("a stub of no sense")
	}
	f := fixtureOf("f", 2)
	st, err := e.stage(f)
	if err != nil {
		t.Fatal(err)
	}
	if episode, err := e.play(t.Context(), st, reference(), Key{Fixture: f.Hash, Arm: "reference"}, nil); err == nil || !strings.Contains(err.Error(), "a stub of no sense") || !strings.Contains(err.Error(), "reference") {
		t.Errorf("%+v, %v", episode, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, arm := range []Arm{reference(), compacting(func(ctx context.Context, _ *CompactRequest) (*Compaction, error) { return nil, ctx.Err() })} {
		e := engine(t, modelFunc(func(ctx context.Context, _ *Request) (*Reply, error) { return nil, ctx.Err() }), story())
		if episode, err := e.play(ctx, st, arm, Key{}, nil); !errors.Is(err, context.Canceled) {
			t.Errorf("%+v, %v", episode, err)
		}
	}
}

func TestTheStepLimitBoundsTheCalls(t *testing.T) {
	forever := modelFunc(func(context.Context, *Request) (*Reply, error) { return callTool("a", "read"), nil })
	e := engine(t, forever, story())
	e.Settings.StepLimit = 3
	episode := playEpisode(t, e, fixtureOf("f", 2), reference())
	if episode.Status != Played || episode.End != StepLimit || len(episode.Steps) != 4 || len(episode.Exchanges) != 3 {
		t.Errorf("%s, %s after %v", episode.Status, episode.End, stepLines(episode))
	}
	many := modelFunc(func(context.Context, *Request) (*Reply, error) {
		return callTool("a", "read", "b", "read", "c", "read", "d", "read", "e", "read"), nil
	})
	e = engine(t, many, story())
	e.Settings.StepLimit = 3
	episode = playEpisode(t, e, fixtureOf("f", 2), reference())
	if episode.End != StepLimit || len(episode.Steps) != 4 {
		t.Errorf("%s after %v", episode.End, stepLines(episode))
	}
}

func TestRepeatedCallIDsAreRenamed(t *testing.T) {
	rec := recording("U one", "C c read", "R c text", "A three", "U four", "A five", "U six")
	model := &script{replies: []any{callTool("c", "read", "c", "write"), callTool("c-2", "read"), say("a"), callTool("d", "read"), say("b")}}
	episode := playEpisode(t, engine(t, model, rec), fixtureOf("f", 3), reference())
	var ids []string
	for _, s := range episode.Steps {
		if s.Call != nil {
			ids = append(ids, s.Call.ID)
		}
	}
	if !slices.Equal(ids, []string{"c-2", "c-3", "c-2-2", "d"}) {
		t.Errorf("ids %v", ids)
	}
	last := model.asked[len(model.asked)-1].Messages
	answered := map[string]int{}
	for _, m := range last {
		if m.Role == fixtures.RoleTool {
			answered[m.ToolCallID]++
		}
	}
	for id, n := range answered {
		if n != 1 {
			t.Errorf("call %s is answered %d times: %s", id, n, contents(last))
		}
	}
	if len(answered) != 5 {
		t.Errorf("answered %v", answered)
	}
}

func TestAReferenceThatDoesNotFit(t *testing.T) {
	rec := recording("U "+strings.Repeat("x", 200), "A two", "U three")
	f := fixtureOf("f", 2)
	f.Window = 100
	e := engine(t, &script{}, rec)
	for _, arm := range []Arm{reference(), {Name: "control", Kind: ControlArm}} {
		episode := playEpisode(t, e, f, arm)
		if episode.Status != LeftOut || !strings.Contains(episode.Reason, "the prefix has 203 tokens, and of the window of 100") || !episode.Finished() {
			t.Errorf("%s: %s (%s)", arm.Name, episode.Status, episode.Reason)
		}
	}
	trace := recording("U three", "C a read", "+C b read", "R b two", "A done")
	f.Trace = trace
	episode := playEpisode(t, e, f, reference())
	if episode.Status != Accepted || episode.End != Answered {
		t.Fatalf("%s (%s)", episode.Status, episode.Reason)
	}
	wantSteps(t, episode, "1 user three", "2 call #1 read(a) =  from tape", "2 call #2 read(b) = two from tape", "3 text done")
	if string(episode.Steps[1].Call.Arguments) != `{"id":"a"}` || episode.Steps[1].Call == episode.Steps[2].Call {
		t.Errorf("calls %+v, %+v", episode.Steps[1].Call, episode.Steps[2].Call)
	}
	if control := playEpisode(t, e, f, Arm{Name: "control", Kind: ControlArm}); control.Status != LeftOut {
		t.Errorf("a control on an accepted trace is %s", control.Status)
	}
}

func TestThePrefixHashIsTheSameInEveryArm(t *testing.T) {
	f := fixtureOf("f", 2)
	hashes := map[fixtures.Hash]bool{}
	for _, arm := range []Arm{reference(), {Name: "control", Kind: ControlArm}, compacting(keepLast), compacting(func(context.Context, *CompactRequest) (*Compaction, error) {
		return &Compaction{Status: Refused}, nil
	})} {
		episode := playEpisode(t, engine(t, &script{replies: []any{say("a"), say("b")}}, story()), f, arm)
		hashes[episode.PrefixHash] = true
		if episode.Fork != 2 || episode.PrefixTokens != 11 {
			t.Errorf("%s: fork %d, %d tokens", arm.Name, episode.Fork, episode.PrefixTokens)
		}
	}
	if len(hashes) != 1 || hashes[""] {
		t.Errorf("prefix hashes %v", hashes)
	}
}

func TestACompactorSeesNoSystemMessages(t *testing.T) {
	rec := recording("S one rule", "U one", "A two", "U three")
	rec.Messages = append(rec.Messages, fixtures.Message{Role: fixtures.RoleSystem, Content: "another"})
	arm := compacting(func(ctx context.Context, r *CompactRequest) (*Compaction, error) {
		if r.System != "one rule\n\nanother" {
			t.Errorf("system %q", r.System)
		}
		for _, m := range r.Messages {
			if m.Role == fixtures.RoleSystem {
				t.Error("a system message among the messages")
			}
		}
		return keepLast(ctx, r)
	})
	model := &script{replies: []any{say("a")}}
	playEpisode(t, engine(t, model, rec), fixtureOf("f", 2), arm)
	if got := contents(model.asked[0].Messages); got != "system:one rule | system:another | user:note | assistant:two | user:three" {
		t.Errorf("the agent was asked %s", got)
	}
}

// texts are all the strings of a JSON value, names of fields included.
func texts(t *testing.T, value any) string {
	t.Helper()
	var tree any
	if err := json.Unmarshal([]byte(toJSON(t, value)), &tree); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	var walk func(any)
	walk = func(v any) {
		switch v := v.(type) {
		case string:
			b.WriteString(v + "\n")
			var inner any // arguments are JSON in JSON
			if json.Unmarshal([]byte(v), &inner) == nil {
				walk(inner)
			}
		case []any:
			for _, item := range v {
				walk(item)
			}
		case map[string]any:
			for name, item := range v {
				b.WriteString(name + "\n")
				walk(item)
			}
		}
	}
	walk(tree)
	return b.String()
}

// examiners is what of a fixture only the judge and the checks may know, but for
// what stands in the recording itself.
func examiners(t *testing.T, f *fixtures.Fixture, rec *fixtures.Recording) []string {
	t.Helper()
	secrets := []string{}
	for _, item := range f.MustSurvive {
		secrets = append(secrets, item.Probe)
		if len(item.Expect) > 12 { // a yes or no stands everywhere
			secrets = append(secrets, item.Expect)
		}
	}
	for _, c := range f.Checks {
		secrets = append(secrets, c.Never, c.Must, c.Final)
	}
	for _, s := range f.Stubs {
		secrets = append(secrets, s.When)
	}
	recorded := texts(t, []any{rec.Header, rec.Messages})
	return slices.DeleteFunc(secrets, func(s string) bool { return strings.Contains(recorded, s) })
}

// No request of the agent, of a summariser or of a compactor holds anything of the
// examiner's.
func TestAnnotationsNeverLeaveTheExaminer(t *testing.T) {
	own := fixtureOf("marked", 2, 4)
	own.Title = "TITLE-MARK is no business of the agent's"
	own.MustSurvive = []fixtures.Item{{ID: "ITEM-MARK", Class: fixtures.Constraint, Turn: 1, Literal: "never touch one", Probe: "PROBE-MARK is it so?", Expect: "EXPECT-MARK yes indeed"}}
	own.Checks = []fixtures.Check{{ID: "CHECK-MARK", Item: "ITEM-MARK", Never: "tool == 'NEVER-MARK'"}, {ID: "k2", Must: "tool == 'MUST-MARK'"}, {ID: "k3", Final: "text contains 'FINAL-MARK'"}}
	own.Stubs = []fixtures.Stub{{When: "tool == 'STUB-MARK'", Result: "RESULT-MARK"}}
	own.Note = json.RawMessage(`"NOTE-MARK"`)
	own.Group, own.Split = "GROUP-MARK", "regression"
	set, recordings := []*fixtures.Fixture{own}, map[fixtures.Hash]*fixtures.Recording{
		own.Hash: recording("S rules", "U never touch one", "A two", "U three", "A four", "U five", "A six", "U seven"),
	}
	files, err := adversarial.Files()
	if err != nil {
		t.Fatal(err)
	}
	shipped, err := fixtures.LoadUnmanifested(files, "adversarial")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range shipped.Fixtures {
		rec, err := shipped.Recording(f)
		if err != nil {
			t.Fatal(err)
		}
		set, recordings[f.Hash] = append(set, f), rec
	}
	for _, f := range set {
		var sent []string
		keep := func(value any) { sent = append(sent, texts(t, value)) }
		model := modelFunc(func(_ context.Context, r *Request) (*Reply, error) {
			keep(r)
			if len(r.Messages)%3 == 0 {
				return callTool("id", "read"), nil
			}
			return say("ok"), nil
		})
		arm := compacting(func(ctx context.Context, r *CompactRequest) (*Compaction, error) {
			keep(r)
			reply, err := model.Complete(ctx, &Request{Model: "summariser", Messages: append(Texts(r.Messages), fixtures.Message{Role: fixtures.RoleUser, Content: "Summarise."})})
			if err != nil {
				return nil, err
			}
			out, err := keepLast(ctx, r)
			out.Messages[0].Content = reply.Message.Content
			return out, err
		})
		e := engine(t, model, recordings[f.Hash])
		e.User = &User{Model: model, Name: "user"}
		for _, arm := range []Arm{reference(), {Name: "control", Kind: ControlArm}, arm} {
			if episode := playEpisode(t, e, f, arm); episode.Status == Faulted {
				t.Fatalf("%s under %s: %s", f.ConversationID, arm.Name, episode.Reason)
			}
		}
		if len(sent) < 3 {
			t.Fatalf("%s: only %d requests", f.ConversationID, len(sent))
		}
		secrets := examiners(t, f, recordings[f.Hash])
		if len(secrets) < len(f.MustSurvive) {
			t.Errorf("%s: nearly all of the examiner's stands in the recording: %q is left", f.ConversationID, secrets)
		}
		for _, text := range sent {
			for _, secret := range secrets {
				if strings.Contains(text, secret) {
					t.Errorf("%s: a request holds %q", f.ConversationID, secret)
				}
			}
			if strings.Contains(text, "-MARK") {
				t.Errorf("%s: a request holds a mark of the examiner's", f.ConversationID)
			}
		}
	}
}

func TestConductIsWhatTheChecksSee(t *testing.T) {
	call := &fixtures.ToolCall{ID: "a", Name: "read", Arguments: json.RawMessage(`{"p":1}`)}
	e := &Episode{Status: Played, Steps: []Step{
		{Kind: StepUser, Turn: 3, Text: "go"},
		{Kind: StepCall, Turn: 4, Number: 1, Call: call, Source: FromTape},
		{Kind: StepCall, Turn: 4, Number: 2, Call: call, Source: Miss},
		{Kind: StepText, Turn: 5, Text: "done"},
	}}
	c := e.Conduct()
	if len(c.Actions) != 3 || c.FinalText() != "done" || !slices.Equal(c.Missed, []int{2}) || c.Fault != "" {
		t.Errorf("conduct %+v", c)
	}
	if a := c.Actions[1]; a.Tool != "read" || a.Step != 2 || a.Turn != 4 || string(a.Arguments) != `{"p":1}` {
		t.Errorf("action %+v", a)
	}
}

// TestASummaryThatIsKeptStaysOne: what an earlier compaction wrote is no recorded message
// at the next.
func TestASummaryThatIsKeptStaysOne(t *testing.T) {
	arm := compacting(func(_ context.Context, r *CompactRequest) (*Compaction, error) {
		s := CompactMessage{ID: "s0", Kind: KindSummary, Message: fixtures.Message{Role: fixtures.RoleUser, Content: "the same words each time"}}
		if r.Compaction > 0 {
			s.Kind = KindKept // as a driver says that matches messages by content
		}
		return &Compaction{Status: Compacted, Messages: []CompactMessage{s}}, nil
	})
	e := engine(t, &script{}, recording("U one", "A two", "U three", "A four", "U five"))
	episode := playEpisode(t, e, fixtureOf("f", 2, 4), arm)
	for _, c := range episode.Compactions {
		if f := broken(c); f[RuleConservation] != "" {
			t.Errorf("compaction %d: %s", c.Index, f[RuleConservation])
		}
		messages, err := e.Contexts.Get(c.After)
		if err != nil {
			t.Fatal(err)
		}
		if got := string(messages[len(messages)-1].Extra[KindField]); got != `"summary"` {
			t.Errorf("compaction %d: the summary is marked %q", c.Index, got)
		}
	}
}
