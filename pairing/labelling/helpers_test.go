package labelling

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/pairing"
	"github.com/doubletake-dev/doubletake/replay"
)

// The names that no case may hold.
const (
	incumbent = "squeezer-one"
	candidate = "squeezer-two"
	agent     = "agent-model-9"
)

// tester is what tests and properties have in common.
type tester interface {
	Helper()
	Fatal(args ...any)
}

// world is a run directory in the making.
type world struct {
	t      tester
	record *replay.Record
	pairs  []pairing.Pair
}

func newWorld(t tester, dir string) *world {
	return &world{t: t, record: &replay.Record{
		Dir: dir, Contexts: replay.NewContexts(filepath.Join(dir, replay.ContextsDir)),
		Run: replay.Run{ID: "run-77", Plan: replay.Plan{
			Lineage: replay.Lineage{AgentModel: agent, JudgeModel: "judge-model-9", SetName: "demo", SetVersion: "1", Program: "0"},
			Arms: []replay.ArmInfo{
				{Name: "reference", Role: "reference", Kind: replay.ReferenceArm},
				{Name: incumbent, Role: "incumbent", Kind: replay.CompactorArm, Compactor: incumbent, Digest: "aaaa"},
				{Name: candidate, Role: "candidate", Kind: replay.CompactorArm, Compactor: candidate, Digest: "bbbb"},
			},
		}},
	}}
}

func (w *world) put(messages ...fixtures.Message) fixtures.Hash {
	w.t.Helper()
	hash, err := w.record.Contexts.Put(messages)
	if err != nil {
		w.t.Fatal(err)
	}
	return hash
}

func say(turn int, role, text string) fixtures.Message {
	return fixtures.Message{Turn: turn, Role: role, Content: text}
}

// conversationOf is a conversation of four turns with a call.
func conversationOf(id string) []fixtures.Message {
	return []fixtures.Message{
		say(0, "system", "You help."),
		say(1, "user", "Never touch the ledger of "+strings.ToUpper(id)+"."),
		{Turn: 2, Role: "assistant", Content: "I look.", ToolCalls: []fixtures.ToolCall{{ID: "x1", Name: "read", Arguments: json.RawMessage(`{"what": "all"}`)}}},
		{Turn: 2, Role: "tool", ToolCallID: "x1", Content: "three rows"},
		say(3, "user", "Go on."),
		say(4, "assistant", "Done."),
	}
}

// summary are the messages of a conversation after a compactor had them.
func summary(text string) []fixtures.Message {
	return []fixtures.Message{say(0, "system", "You help."), say(0, "user", text)}
}

// steps are those of an agent that says text at the end.
func steps(text string) []replay.Step {
	return []replay.Step{
		{Kind: replay.StepUser, Turn: 5, Text: "And now the report."},
		{Kind: replay.StepCall, Turn: 6, Number: 1, Call: &fixtures.ToolCall{ID: "y", Name: "write", Arguments: json.RawMessage(`{"b":1,"a":2}`)}, Result: "written", Source: replay.FromTape},
		{Kind: replay.StepText, Turn: 7, Text: text},
	}
}

// fixture adds a fixture with its reference episode.
func (w *world) fixture(id, says string) *fixtures.Fixture {
	w.t.Helper()
	f := &fixtures.Fixture{
		ConversationID: id, Hash: fixtures.HashBytes([]byte(id)), Split: "held_out", Sampling: "random",
		MustSurvive: []fixtures.Item{{ID: "i1", Class: fixtures.Constraint, Turn: 1, Literal: "Never touch the ledger of " + strings.ToUpper(id)}},
	}
	w.record.Fixtures = append(w.record.Fixtures, f)
	e := w.episode(f, "reference", says)
	e.Context = w.put(conversationOf(id)...)
	return f
}

func (w *world) episode(f *fixtures.Fixture, arm, says string) *replay.Episode {
	w.t.Helper()
	hash, err := fixtures.HashJSON(conversationOf(f.ConversationID))
	if err != nil {
		w.t.Fatal(err)
	}
	cost := 0.25
	e := &replay.Episode{
		Key: replay.Key{Fixture: f.Hash, Arm: arm}, ConversationID: f.ConversationID, Status: replay.Played,
		PrefixHash: hash, Fork: 4, End: replay.Answered, Steps: steps(says),
		Exchanges: []replay.Exchange{{For: "agent", Fingerprint: "fp", CostUSD: &cost}},
	}
	w.record.Episodes = append(w.record.Episodes, e)
	return e
}

// compacting adds an episode that went on from a summary.
func (w *world) compacting(f *fixtures.Fixture, arm, context, says string) *replay.Episode {
	w.t.Helper()
	e := w.episode(f, arm, says)
	whole := w.put(conversationOf(f.ConversationID)...)
	e.Context = w.put(summary(context)...)
	e.Compactions = []replay.CompactionRecord{{AfterTurn: 4, Status: replay.Compacted, Before: whole, After: e.Context}}
	return e
}

func (w *world) pair(f *fixtures.Fixture, first, second string) {
	w.pairs = append(w.pairs, pairing.Pair{
		ID: f.ConversationID, ConversationID: f.ConversationID, Fixture: f.Hash, Group: f.SessionGroup(), Cell: pairing.Loss,
		First: pairing.Side{Arm: first}, Second: pairing.Side{Arm: second},
	})
}

// demo has n pairs of the reference and a compactor.
func demo(t tester, dir string, n int) *world {
	w := newWorld(t, dir)
	for i := range n {
		f := w.fixture(fmt.Sprintf("talk-%c", 'a'+i), "All rows stand. The ledger was left alone.")
		w.compacting(f, candidate, "They want a report.", "I changed the ledger! It has 3 rows.\n```\n---\n```")
		w.pair(f, "reference", candidate)
	}
	return w
}

func (w *world) export(o Options) ([]Case, *Key) {
	w.t.Helper()
	cases, key, err := Export(w.record, w.pairs, o)
	if err != nil {
		w.t.Fatal(err)
	}
	return cases, key
}

// caseOf is the case of an arm's episode for a fixture.
func caseOf(t *testing.T, cases []Case, key *Key, id, arm string) (*Case, *Sample) {
	t.Helper()
	for i := range key.Samples {
		s := &key.Samples[i]
		if s.ConversationID != id || s.Arm != arm {
			continue
		}
		for k := range cases {
			if cases[k].SampleID == s.SampleID {
				return &cases[k], s
			}
		}
		return nil, s
	}
	t.Fatalf("no sample of %s under %s", id, arm)
	return nil, nil
}

// rate is a complete rating of a case.
func rate(c *Case, rater string, kind Kind) Rating {
	r := Rating{CaseSHA256: c.CaseSHA256, SampleID: c.SampleID, Rater: rater, Kind: kind, Ratings: []ClaimRating{}, ReviewState: Reviewed}
	for _, claim := range c.Request.Claims {
		r.Ratings = append(r.Ratings, ClaimRating{Claim: claim.ID, Truth: True, Grounding: Supported, Evidence: []Citation{{"e1", 0, 6}}})
	}
	return r
}

func lines(t *testing.T, ratings ...Rating) string {
	t.Helper()
	var b strings.Builder
	for _, r := range ratings {
		line, err := fixtures.MarshalPlain(r)
		if err != nil {
			t.Fatal(err)
		}
		b.Write(append(line, '\n'))
	}
	return b.String()
}
