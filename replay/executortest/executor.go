// Package executortest holds the conformance test of executors.
//
// Call [Test] from the test of an executor of your own: something that plays episodes
// elsewhere than in this process.
package executortest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
)

// Make makes the executor under test for a run. The engine is what plays for it, wherever
// that is: its folder of contexts is not that of the run, which is given beside.
type Make func(t *testing.T, engine *replay.Engine, set []*fixtures.Fixture, arms []replay.Arm, folder *replay.Folder) replay.Executor

// Test asserts what every executor must do.
func Test(t *testing.T, make Make) {
	t.Run("plays what this process would", func(t *testing.T) { samePlay(t, make) })
	t.Run("plays every episode once", func(t *testing.T) { once(t, make) })
	t.Run("makes a fault of the world an episode", func(t *testing.T) { faults(t, make) })
	t.Run("ends with its context", func(t *testing.T) { ends(t, make) })
}

// modelFunc is a model made of a function.
type modelFunc func(context.Context, *replay.Request) (*replay.Reply, error)

func (f modelFunc) Complete(ctx context.Context, r *replay.Request) (*replay.Reply, error) {
	return f(ctx, r)
}

// compactor keeps the last message and a note of its own.
type compactor struct{ note string }

func (c compactor) Compact(_ context.Context, r *replay.CompactRequest) (*replay.Compaction, error) {
	if c.note == "" {
		return &replay.Compaction{Status: replay.Refused, Reason: "no"}, nil
	}
	last := r.Messages[len(r.Messages)-1]
	last.Kind = replay.KindKept
	return &replay.Compaction{
		Status: replay.Compacted, Identity: replay.CompactorIdentity{Name: "keep-last"},
		Messages: []replay.CompactMessage{
			{ID: "s", Kind: replay.KindSummary, Message: fixtures.Message{Role: fixtures.RoleUser, Content: c.note}}, last,
		},
		Exchanges: []replay.Exchange{{For: "compactor", Key: fixtures.HashBytes([]byte(c.note + r.Fixture))}},
	}, nil
}

type noTools struct{}

func (noTools) Call(_ context.Context, c replay.ToolCall) (*replay.ToolResult, error) {
	return &replay.ToolResult{Content: "result of " + c.Name, Source: replay.FromTape}, nil
}

type lengths struct{}

func (lengths) Count(m fixtures.Message) int { return len(m.Content) }

// answer answers by what it is asked alone: a call first, then a text.
func answer(_ context.Context, r *replay.Request) (*replay.Reply, error) {
	data, err := fixtures.MarshalPlain(r.Messages)
	if err != nil {
		return nil, err
	}
	hash := fixtures.HashBytes(fmt.Appendf(data, "%d", r.Replicate))
	reply := &replay.Reply{Key: hash, Message: fixtures.Message{Role: fixtures.RoleAssistant, Content: "text " + string(hash)}}
	if r.Messages[len(r.Messages)-1].Role == fixtures.RoleUser {
		reply.Message.Content = ""
		reply.Message.ToolCalls = []fixtures.ToolCall{{ID: "call_1", Name: "read", Arguments: json.RawMessage("{}")}}
	}
	return reply, nil
}

// run is a run to be played.
type run struct {
	set    []*fixtures.Fixture
	arms   []replay.Arm
	engine *replay.Engine // who plays
	folder *replay.Folder
}

func newRun(t *testing.T, n int, model modelFunc) *run {
	t.Helper()
	r := &run{arms: []replay.Arm{
		{Name: "reference", Kind: replay.ReferenceArm},
		{Name: "one", Kind: replay.CompactorArm, Compactor: compactor{"a note"}},
		{Name: "the same (2)", Kind: replay.CompactorArm, Compactor: compactor{"a note"}},
		{Name: "other", Kind: replay.CompactorArm, Compactor: compactor{"another note"}},
		{Name: "refusing", Kind: replay.CompactorArm, Compactor: compactor{}},
	}}
	for i := range n {
		name := fmt.Sprintf("story-%d", i)
		r.set = append(r.set, &fixtures.Fixture{
			ConversationID: name, CompactAfter: []int{2}, CompactionsExpected: 1, Hash: fixtures.HashBytes([]byte(name)),
		})
	}
	r.engine = &replay.Engine{
		Settings: replay.Settings{Model: "m", Window: 100_000, StepLimit: 10, Concurrency: 4},
		Model:    model, Counter: lengths{}, Contexts: replay.NewContexts(t.TempDir()),
		NewTools:  func(*fixtures.Fixture, *fixtures.Recording, int) (replay.Tools, error) { return noTools{}, nil },
		Recording: recording,
	}
	plan := replay.Plan{Command: "nightly", Fixtures: n, Analysis: json.RawMessage("{}")}
	for _, arm := range r.arms {
		plan.Arms = append(plan.Arms, replay.ArmInfo{Name: arm.Name, Role: arm.Name, Kind: arm.Kind})
	}
	folder, err := replay.OpenFolder(t.TempDir(), plan, r.set, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := folder.Close(); err != nil {
			t.Error(err)
		}
	})
	r.folder = folder
	return r
}

func recording(f *fixtures.Fixture) (*fixtures.Recording, error) {
	rec := &fixtures.Recording{Header: fixtures.Header{Version: 1, ID: f.ConversationID, Tools: []fixtures.Tool{{Name: "read"}}}}
	for i, text := range []string{"rules of " + f.ConversationID, "one", "two", "three", "four", "five"} {
		role := fixtures.RoleSystem
		if i > 0 {
			role = []string{fixtures.RoleAssistant, fixtures.RoleUser}[i%2]
		}
		rec.Messages = append(rec.Messages, fixtures.Message{Role: role, Content: text})
	}
	fixtures.NumberTurns(rec.Messages)
	return rec, nil
}

// play plays the run by an executor, or in this process for none.
func (r *run) play(ctx context.Context, executor replay.Executor) error {
	asking := *r.engine
	asking.Contexts, asking.Executor = r.folder.Contexts, executor
	if executor != nil {
		asking.Model, asking.NewTools = nil, nil // nothing is asked here
		asking.Recording = func(*fixtures.Fixture) (*fixtures.Recording, error) { return nil, errors.New("not played here") }
	}
	return asking.Play(ctx, r.folder, r.set, r.arms)
}

// episodes are what the run's journal holds, a line an episode, in the order of the keys.
func (r *run) episodes(t *testing.T) []string {
	t.Helper()
	record, err := replay.ReadRecord(r.folder.Dir)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, e := range record.Episodes {
		line, err := fixtures.MarshalPlain(e)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, string(line))
		for _, hash := range e.ContextHashes() {
			if _, err := r.folder.Contexts.Get(hash); err != nil {
				t.Errorf("%s: %v", e.Key, err)
			}
		}
	}
	return lines
}

func samePlay(t *testing.T, make Make) {
	const n = 12
	here := newRun(t, n, answer)
	here.engine.Executor = nil
	if err := here.play(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	there := newRun(t, n, answer)
	if err := there.play(t.Context(), make(t, there.engine, there.set, there.arms, there.folder)); err != nil {
		t.Fatal(err)
	}
	want, got := here.episodes(t), there.episodes(t)
	if len(want) != n*len(here.arms) || !strings.Contains(strings.Join(want, ""), `"same_as":"one"`) {
		t.Fatalf("%d episodes in this process, or none shared", len(want))
	}
	if !slices.Equal(got, want) {
		for i := range min(len(got), len(want)) {
			if got[i] != want[i] {
				t.Errorf("played otherwise:\n%s\nwant:\n%s", got[i], want[i])
			}
		}
		t.Errorf("%d episodes, want %d", len(got), len(want))
	}
}

func once(t *testing.T, make Make) {
	var mu sync.Mutex
	asked := map[fixtures.Hash]int{}
	r := newRun(t, 20, func(ctx context.Context, request *replay.Request) (*replay.Reply, error) {
		reply, err := answer(ctx, request)
		mu.Lock()
		defer mu.Unlock()
		asked[reply.Key]++
		return reply, err
	})
	executor := make(t, r.engine, r.set, r.arms, r.folder)
	for range 2 { // the second time there is nothing left to play
		if err := r.play(t.Context(), executor); err != nil {
			t.Fatal(err)
		}
	}
	episodes, damaged, err := replay.ReadJournal[*replay.Episode](r.folder.Dir + "/" + replay.EpisodesFile)
	if err != nil || damaged > 0 || len(episodes) != len(r.set)*len(r.arms) {
		t.Errorf("%d episodes, %d damaged, %v", len(episodes), damaged, err)
	}
	for key, n := range asked {
		if n > 2 { // two arms of equal bytes may each have asked, where no answers are stored
			t.Errorf("%s was asked for %d times", key, n)
		}
	}
}

func faults(t *testing.T, make Make) {
	var broken atomic.Bool
	broken.Store(true)
	r := newRun(t, 3, func(ctx context.Context, request *replay.Request) (*replay.Reply, error) {
		if broken.Load() {
			return nil, errors.New("the provider is down")
		}
		return answer(ctx, request)
	})
	executor := make(t, r.engine, r.set, r.arms, r.folder)
	if err := r.play(t.Context(), executor); err != nil {
		t.Fatal(err)
	}
	count := func(status replay.EpisodeStatus) int {
		return strings.Count(strings.Join(r.episodes(t), "\n"), `"status":"`+string(status)+`"`)
	}
	if n := count(replay.Faulted); n != 12 || !strings.Contains(r.episodes(t)[0], "the provider is down") {
		t.Errorf("%d episodes cut short, want 12: %s", n, r.episodes(t)[0])
	}
	broken.Store(false)
	if err := r.play(t.Context(), executor); err != nil { // those are played again
		t.Fatal(err)
	}
	if n := count(replay.Played); n != 12 {
		t.Errorf("%d episodes played, want 12", n)
	}
}

func ends(t *testing.T, make Make) {
	began := atomic.Bool{}
	ctx, cancel := context.WithCancelCause(t.Context())
	r := newRun(t, 2, func(inner context.Context, _ *replay.Request) (*replay.Reply, error) {
		if began.CompareAndSwap(false, true) {
			cancel(replay.ErrInterrupted)
		}
		<-inner.Done()
		return nil, inner.Err()
	})
	err := r.play(ctx, make(t, r.engine, r.set, r.arms, r.folder))
	if !errors.Is(err, replay.ErrInterrupted) {
		t.Errorf("%v", err)
	}
}
