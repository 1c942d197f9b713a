package replay

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/doubletake-dev/doubletake/fixtures"
)

// modelFunc is a model made of a function.
type modelFunc func(context.Context, *Request) (*Reply, error)

func (f modelFunc) Complete(ctx context.Context, r *Request) (*Reply, error) { return f(ctx, r) }

// compactorFunc is a compactor made of a function.
type compactorFunc func(context.Context, *CompactRequest) (*Compaction, error)

func (f compactorFunc) Compact(ctx context.Context, r *CompactRequest) (*Compaction, error) {
	return f(ctx, r)
}

// toolsFunc is a set of tools made of a function.
type toolsFunc func(context.Context, ToolCall) (*ToolResult, error)

func (f toolsFunc) Call(ctx context.Context, c ToolCall) (*ToolResult, error) { return f(ctx, c) }

// bytesCounter counts a token a byte of content, so that tests can say sizes.
type bytesCounter struct{}

func (bytesCounter) Count(m fixtures.Message) int { return len(m.Content) }

// say is a reply of text.
func say(text string) *Reply {
	return &Reply{Message: fixtures.Message{Role: fixtures.RoleAssistant, Content: text}, Key: fixtures.HashBytes([]byte(text))}
}

// callTool is a reply of calls, each with the id and the name given and no arguments.
func callTool(idsAndNames ...string) *Reply {
	r := &Reply{Message: fixtures.Message{Role: fixtures.RoleAssistant}}
	for i := 0; i < len(idsAndNames); i += 2 {
		r.Message.ToolCalls = append(r.Message.ToolCalls, fixtures.ToolCall{
			ID: idsAndNames[i], Name: idsAndNames[i+1], Arguments: json.RawMessage("{}"),
		})
	}
	return r
}

// script answers the requests one after the other, and keeps them.
type script struct {
	mu      sync.Mutex
	replies []any // *Reply or error
	asked   []Request
}

func (s *script) Complete(_ context.Context, r *Request) (*Reply, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	kept := *r
	kept.Messages = append([]fixtures.Message{}, r.Messages...)
	s.asked = append(s.asked, kept)
	if len(s.replies) == 0 {
		return nil, fmt.Errorf("the script of the test is over")
	}
	next := s.replies[0]
	s.replies = s.replies[1:]
	if err, ok := next.(error); ok {
		return nil, err
	}
	return next.(*Reply), nil
}

// recording makes a recording of lines: "S text", "U text", "A text", "C id name"
// (a call of the assistant's with no text; several in a row are one message's only
// where they begin with "+"), "R id text".
func recording(lines ...string) *fixtures.Recording {
	rec := &fixtures.Recording{Header: fixtures.Header{Version: 1, ID: "test", Tools: []fixtures.Tool{{Name: "read"}}}}
	for _, line := range lines {
		kind, rest, _ := strings.Cut(line, " ")
		m := fixtures.Message{Content: rest}
		switch kind {
		case "S":
			m.Role = fixtures.RoleSystem
		case "U":
			m.Role = fixtures.RoleUser
		case "A":
			m.Role = fixtures.RoleAssistant
		case "C", "+C":
			id, name, _ := strings.Cut(rest, " ")
			call := fixtures.ToolCall{ID: id, Name: name, Arguments: json.RawMessage(`{"id":"` + id + `"}`)}
			if kind == "+C" {
				last := &rec.Messages[len(rec.Messages)-1]
				last.ToolCalls = append(last.ToolCalls, call)
				continue
			}
			m = fixtures.Message{Role: fixtures.RoleAssistant, ToolCalls: []fixtures.ToolCall{call}}
		case "R":
			id, text, _ := strings.Cut(rest, " ")
			m = fixtures.Message{Role: fixtures.RoleTool, ToolCallID: id, Content: text}
		default:
			panic("no such line: " + line)
		}
		rec.Messages = append(rec.Messages, m)
	}
	fixtures.NumberTurns(rec.Messages)
	return rec
}

// fixtureOf is a fixture of that name with compaction points.
func fixtureOf(name string, points ...int) *fixtures.Fixture {
	return &fixtures.Fixture{
		ConversationID: name, CompactAfter: points, CompactionsExpected: len(points),
		Hash: fixtures.HashBytes([]byte(name)),
	}
}

// keepLast is a compactor that keeps a note and the last message.
func keepLast(_ context.Context, r *CompactRequest) (*Compaction, error) {
	last := r.Messages[len(r.Messages)-1]
	last.Kind = KindKept
	return &Compaction{
		Status:   Compacted,
		Identity: CompactorIdentity{Name: "keep-last"},
		Messages: []CompactMessage{
			{ID: fmt.Sprintf("s%d", r.Compaction), Kind: KindSummary, Message: fixtures.Message{Role: fixtures.RoleUser, Content: "note"}},
			last,
		},
		State: json.RawMessage(fmt.Sprintf(`{"after":%d}`, r.AfterTurn)),
	}, nil
}

// missing are tools that answer with the name of the call.
func echoTools(*fixtures.Fixture, *fixtures.Recording, int) (Tools, error) {
	return toolsFunc(func(_ context.Context, c ToolCall) (*ToolResult, error) {
		return &ToolResult{Content: "result of " + c.Name, Source: FromTape}, nil
	}), nil
}

func settings() Settings {
	return Settings{Model: "m", Seed: 7, Window: 100_000, Trigger: 0.8, StepLimit: 10, Concurrency: 4}
}

// engine makes an engine that plays the one recording for every fixture.
func engine(t *testing.T, model Model, rec *fixtures.Recording) *Engine {
	t.Helper()
	return &Engine{
		Settings: settings(), Model: model, Counter: bytesCounter{}, NewTools: echoTools,
		Recording: func(*fixtures.Fixture) (*fixtures.Recording, error) { return rec, nil },
		Contexts:  NewContexts(t.TempDir()),
	}
}

// playEpisode plays one episode without a folder.
func playEpisode(t *testing.T, e *Engine, f *fixtures.Fixture, arm Arm) *Episode {
	t.Helper()
	st, err := e.stage(f)
	if err != nil {
		t.Fatal(err)
	}
	episode, err := e.play(t.Context(), st, arm, Key{Fixture: f.Hash, Arm: arm.Name}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return episode
}

func reference() Arm { return Arm{Name: "reference", Kind: ReferenceArm} }

func compacting(c compactorFunc) Arm {
	return Arm{Name: "candidate", Kind: CompactorArm, Compactor: c}
}

func planOf(set []*fixtures.Fixture, arms []Arm) Plan {
	p := Plan{Command: "nightly", Settings: settings(), Fixtures: len(set), Analysis: json.RawMessage(`{"b":1,"a":"<x>"}`)}
	p.Lineage = Lineage{Program: "test", AgentModel: "m", SetName: "s", SetHash: "0123456789abcdef"}
	for _, arm := range arms {
		p.Arms = append(p.Arms, ArmInfo{Name: arm.Name, Role: arm.Name, Kind: arm.Kind})
	}
	return p
}

func openFolder(t testing.TB, dir string, set []*fixtures.Fixture, arms []Arm) *Folder {
	t.Helper()
	folder, err := OpenFolder(dir, planOf(set, arms), set, time.Date(2026, 3, 20, 1, 2, 3, 4, time.UTC))
	if err != nil {
		t.Fatal(err)
	}
	return folder
}

// mustClose closes what a test opened.
func mustClose(t testing.TB, c interface{ Close() error }) {
	t.Helper()
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
}

// contents are the roles and contents of messages, for comparing.
func contents(messages []fixtures.Message) string {
	var list []string
	for _, m := range messages {
		text := m.Role + ":" + m.Content
		for _, call := range m.ToolCalls {
			text += "+" + call.ID
		}
		if m.ToolCallID != "" {
			text += "@" + m.ToolCallID
		}
		list = append(list, text)
	}
	return strings.Join(list, " | ")
}

func toJSON(t testing.TB, value any) string {
	t.Helper()
	data, err := fixtures.MarshalPlain(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
