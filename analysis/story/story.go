package story

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/doubletake-dev/doubletake/analysis"
	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/pairing"
	"github.com/doubletake-dev/doubletake/replay"
)

// Version is the version of a story's JSON.
const Version = 1

// Story is what happened to one pair.
type Story struct {
	Version int              `json:"version"`
	Run     string           `json:"run"`
	Verdict analysis.Verdict `json:"verdict"` // of the run
	Fixture string           `json:"fixture"` // the conversation's id
	Title   string           `json:"title,omitempty"`
	// Group is the session group, Turns the length of the recording, Fork the turn after
	// which the agent spoke.
	Group string `json:"group"`
	Turns int    `json:"turns"`
	Fork  int    `json:"fork"`
	// Baseline and Candidate are the arms of the pair.
	Baseline  Arm `json:"baseline"`
	Candidate Arm `json:"candidate"`
	// Items are what must survive, in the order of the fixture.
	Items []Item `json:"items"`
	// Cell is how the pair came out, By what it stands on, Reason why it has no outcome.
	Cell   pairing.Cell `json:"cell"`
	By     pairing.By   `json:"by_reference"`
	Reason string       `json:"reason,omitempty"`
	// Divergence is the first step at which the arms did different things; null where they
	// did the same.
	Divergence *Divergence `json:"divergence"`
	// Again says how the further plays came out.
	Again []string `json:"played_again"`
	// Why puts the outcome together, Effect says what the pair does to the verdict of the
	// run. Both are sentences.
	Why    []string `json:"why"`
	Effect []string `json:"effect"`
}

// Item is something that must survive.
type Item struct {
	ID      string          `json:"id"`
	Class   fixtures.Class  `json:"class"`
	Turn    int             `json:"turn"`
	Literal string          `json:"literal"`
	Status  fixtures.Status `json:"status"` // at the end of the recording
	// Checks are the checks that guard it.
	Checks []string `json:"checks"`
}

// Arm is one side of the pair.
type Arm struct {
	Name   string               `json:"name"`
	Role   string               `json:"role"`
	Status replay.EpisodeStatus `json:"status"`
	Reason string               `json:"reason,omitempty"`
	// SameAs is the arm that went on from the same bytes and was played for this one, too.
	SameAs        string       `json:"same_as,omitempty"`
	PrefixTokens  int          `json:"prefix_tokens"`
	ContextTokens int          `json:"context_tokens"`
	Compactions   []Compaction `json:"compactions"`
	// Steps are what happened after the fork.
	Steps []replay.Step    `json:"steps"`
	End   replay.EndReason `json:"end,omitempty"`
	// Answer is the outcome, Checks what each check said and on what evidence.
	Answer fixtures.Answer `json:"answer"`
	Checks []Check         `json:"checks"`
}

// Compaction is one compaction with what it did to the items.
type Compaction struct {
	Number       int                     `json:"number"` // from 1
	AfterTurn    int                     `json:"after_turn"`
	Status       replay.CompactionStatus `json:"status"`
	Reason       string                  `json:"reason,omitempty"`
	TokensBefore int                     `json:"tokens_before"`
	TokensAfter  int                     `json:"tokens_after"`
	Opaque       bool                    `json:"opaque,omitempty"`
	// LeftOut, Kept and Written count messages; FirstLeftOut and LastLeftOut are turns, 0
	// where none was left out. They are known of the compactions up to the fork.
	LeftOut      int `json:"left_out"`
	Kept         int `json:"kept"`
	Written      int `json:"written"`
	FirstLeftOut int `json:"first_turn_left_out,omitempty"`
	LastLeftOut  int `json:"last_turn_left_out,omitempty"`
	// Broken are the rules that a compactor must never break, and this one broke.
	Broken []string `json:"rules_broken"`
	Items  []Fate   `json:"items"`
}

// Fate is what became of an item at a compaction.
type Fate struct {
	Item string `json:"item"`
	// Binds says that the item was in force then.
	Binds   bool           `json:"binds"`
	Verdict replay.Verdict `json:"verdict"`
	Reason  string         `json:"reason,omitempty"`
	Voice   string         `json:"voice,omitempty"`
	// Judge is who was asked, empty where nobody was; Answer what the judge answered to the
	// item's question.
	Judge  string `json:"judge,omitempty"`
	Answer string `json:"answer,omitempty"`
	// Sentence is the one that carries or contradicts the item, null where none has to do
	// with it.
	Sentence *Sentence `json:"sentence"`
}

// Check is a check with its answer for one arm.
type Check struct {
	ID       string          `json:"id"`
	Item     string          `json:"item,omitempty"`
	Asks     string          `json:"asks"`
	Answer   fixtures.Answer `json:"answer"`
	Evidence string          `json:"evidence,omitempty"`
}

// Divergence is where the arms did different things first.
type Divergence struct {
	Kind      pairing.DivergenceKind `json:"kind"`
	Turn      int                    `json:"turn"`
	Baseline  string                 `json:"baseline"`
	Candidate string                 `json:"candidate"`
}

// ErrNoFixture says that a run has no fixture of a name.
var ErrNoFixture = errors.New("the run has no such fixture")

// ErrNoArm says that a run has no arm of a name, or none to pair it with.
var ErrNoArm = errors.New("the run has no such arm")

// Names lists the fixtures that a run has a story of.
func Names(night *analysis.Night) []string {
	var names []string
	for _, f := range night.Record.Fixtures {
		names = append(names, f.ConversationID)
	}
	return names
}

// Arms lists the arms that a story can be told of.
func Arms(night *analysis.Night) []string {
	var names []string
	for _, a := range night.Record.Run.Plan.Arms {
		names = append(names, a.Name)
	}
	return names
}

// Tell tells the story of the fixture with that conversation id or hash. Without an arm it
// is that of the run's main comparison; with one, of the reference against it. The error is
// [ErrNoFixture] or [ErrNoArm], or that a context cannot be read.
func Tell(night *analysis.Night, fixture, arm string) (*Story, error) {
	f := find(night, fixture)
	if f == nil {
		for _, line := range night.Record.Run.Plan.Quarantined {
			if strings.HasPrefix(line, fixture+",") {
				return nil, fmt.Errorf("%w: it was in quarantine: %s", ErrNoFixture, line)
			}
		}
		return nil, fmt.Errorf("%w: %q", ErrNoFixture, fixture)
	}
	baseline, candidate, err := armsOf(night, arm)
	if err != nil {
		return nil, err
	}
	t := &teller{night: night, fixture: f, story: &Story{
		Version: Version, Run: night.Report.Run, Verdict: night.Report.Verdict, Fixture: f.ConversationID, Title: f.Title,
		Group: f.SessionGroup(), Turns: f.Turns, Again: []string{},
	}}
	if err := t.tell(baseline, candidate); err != nil {
		return nil, fmt.Errorf("the story of %s in run %s: %w", f.ConversationID, night.Report.Run, err)
	}
	return t.story, nil
}

func find(night *analysis.Night, name string) *fixtures.Fixture {
	for _, f := range night.Record.Fixtures {
		if f.ConversationID == name || string(f.Hash) == name {
			return f
		}
	}
	return nil
}

// armsOf are the arms of the pair.
func armsOf(night *analysis.Night, arm string) (baseline, candidate string, err error) {
	if arm == "" {
		return night.Report.Baseline, night.Report.Candidate, nil
	}
	reference := night.Record.Arm(analysis.RoleReference)
	switch {
	case !slices.Contains(Arms(night), arm):
		return "", "", fmt.Errorf("%w: %q", ErrNoArm, arm)
	case reference == nil:
		return "", "", fmt.Errorf("%w: a reference", ErrNoArm)
	case reference.Name == arm:
		return "", "", fmt.Errorf("%w: %q is the reference itself; name the arm that is to be held against it", ErrNoArm, arm)
	}
	return reference.Name, arm, nil
}

type teller struct {
	night   *analysis.Night
	fixture *fixtures.Fixture
	story   *Story
	pair    *pairing.Pair
	again   []pairing.Pair
	// pairs are all of the two arms.
	pairs []pairing.Pair
}

func (t *teller) tell(baseline, candidate string) error {
	s := t.story
	t.items()
	m := pairing.Match(t.night.Record, baseline, candidate)
	t.pairs = m.Pairs
	for i := range m.Pairs {
		if m.Pairs[i].Fixture == t.fixture.Hash {
			t.pair = &m.Pairs[i]
		}
	}
	for _, p := range m.Again {
		if p.Fixture == t.fixture.Hash {
			t.again = append(t.again, p)
		}
	}
	var err error
	if s.Baseline, err = t.arm(baseline, true); err != nil {
		return err
	}
	if s.Candidate, err = t.arm(candidate, false); err != nil {
		return err
	}
	if t.pair != nil {
		s.Cell, s.By, s.Reason = t.pair.Cell, t.pair.By, t.pair.Reason
		if d := t.pair.Divergence; d != nil {
			s.Divergence = &Divergence{d.Kind, d.Turn, pairing.Describe(d.First), pairing.Describe(d.Second)}
		}
	} else {
		s.Cell = pairing.Unscored
		s.Reason = "an episode of the pair was never played, or the run was stopped"
	}
	for i := range t.again {
		p := &t.again[i]
		s.Again = append(s.Again, fmt.Sprintf("play %d: %s", p.Replicate+1, cellName(p.Cell)))
	}
	s.Why = t.why()
	s.Effect = t.effect()
	return nil
}

func (t *teller) items() {
	t.story.Items = []Item{}
	for i := range t.fixture.MustSurvive {
		item := &t.fixture.MustSurvive[i]
		x := Item{ID: item.ID, Class: item.Class, Turn: item.Turn, Literal: item.Literal, Status: t.fixture.StatusAt(item, t.fixture.Turns), Checks: []string{}}
		for _, c := range pairing.Checks(t.fixture) {
			if c.Item == item.ID {
				x.Checks = append(x.Checks, c.ID)
			}
		}
		t.story.Items = append(t.story.Items, x)
	}
}

func (t *teller) arm(name string, first bool) (Arm, error) {
	arm := Arm{Name: name, Compactions: []Compaction{}, Steps: []replay.Step{}, Checks: []Check{}, Answer: fixtures.Unscored}
	for _, info := range t.night.Record.Run.Plan.Arms {
		if info.Name == name {
			arm.Role = info.Role
		}
	}
	e := t.night.Record.Episode(replay.Key{Fixture: t.fixture.Hash, Arm: name})
	if e == nil {
		arm.Reason = "it was never played"
		return arm, nil
	}
	t.story.Fork = e.Fork
	arm.Status, arm.Reason, arm.SameAs, arm.End = e.Status, e.Reason, e.SameAs, e.End
	arm.PrefixTokens, arm.ContextTokens = e.PrefixTokens, e.ContextTokens
	arm.Steps = append(arm.Steps, e.Steps...)
	var err error
	if arm.Compactions, err = t.compactions(e); err != nil {
		return arm, err
	}
	var outcome pairing.Outcome
	switch {
	case t.pair == nil:
		return arm, nil
	case first:
		outcome = t.pair.First.Outcome
	default:
		outcome = t.pair.Second.Outcome
	}
	arm.Answer = outcome.Answer
	if arm.Reason == "" {
		arm.Reason = outcome.Reason
	}
	asks := map[string]string{}
	for _, c := range pairing.Checks(t.fixture) {
		asks[c.ID] = asked(&c)
	}
	for _, r := range outcome.Checks {
		arm.Checks = append(arm.Checks, Check{ID: r.Check, Item: r.Item, Asks: asks[r.Check], Answer: r.Answer, Evidence: r.Evidence})
	}
	return arm, nil
}

// asked is what a check asks, in a few words.
func asked(c *fixtures.Check) string {
	switch {
	case c.Never != "":
		return "no call may satisfy: " + c.Never
	case c.Must != "":
		return "some call must satisfy: " + c.Must
	case c.Final != "":
		return "the last text must satisfy: " + c.Final
	case c.SameAsReference:
		return "the same calls as the reference"
	}
	return "a question of its own"
}

func (t *teller) compactions(e *replay.Episode) ([]Compaction, error) {
	replaced := map[int]*pairing.Replaced{}
	if t.pair != nil {
		list, err := pairing.Replacements(t.night.Record, t.pair, e.Arm)
		if err != nil {
			return nil, err
		}
		for i := range list {
			replaced[list[i].Compaction.Index] = &list[i]
		}
	}
	judged := map[replay.DecisionKey]*replay.Judgement{}
	for _, j := range t.night.Record.Judgements {
		if j.Key == e.Key {
			judged[j.Decision()] = j
		}
	}
	list := []Compaction{}
	for i := range e.Compactions {
		record := &e.Compactions[i]
		c := Compaction{
			Number: record.Index + 1, AfterTurn: record.AfterTurn, Status: record.Status, Reason: record.Reason,
			TokensBefore: record.TokensBefore, TokensAfter: record.TokensAfter, Opaque: record.Opaque, Broken: []string{}, Items: []Fate{},
		}
		for _, rule := range record.Rules {
			if !rule.Held {
				c.Broken = append(c.Broken, strings.TrimRight(string(rule.Rule)+": "+rule.Counter, ": "))
			}
		}
		if r := replaced[record.Index]; r != nil {
			c.LeftOut, c.Kept, c.Written = len(r.Left), r.Kept, len(r.Written)
			for _, m := range r.Left {
				if m.Turn > 0 && (c.FirstLeftOut == 0 || m.Turn < c.FirstLeftOut) {
					c.FirstLeftOut = m.Turn
				}
				c.LastLeftOut = max(c.LastLeftOut, m.Turn)
			}
		}
		if record.Status == replay.Compacted {
			messages, err := t.night.Record.Contexts.Get(record.After)
			if err != nil {
				return nil, err
			}
			for k := range t.fixture.MustSurvive {
				item := &t.fixture.MustSurvive[k]
				if item.Turn <= record.AfterTurn {
					c.Items = append(c.Items, t.fate(item, record, messages, judged[replay.DecisionKey{Key: e.Key, Compaction: record.Index, Item: item.ID}]))
				}
			}
		}
		list = append(list, c)
	}
	return list, nil
}

// fate is what became of an item at a compaction, with the sentence that says so.
func (t *teller) fate(item *fixtures.Item, record *replay.CompactionRecord, messages []fixtures.Message, j *replay.Judgement) Fate {
	fate := Fate{Item: item.ID, Binds: t.fixture.StatusAt(item, record.AfterTurn) == fixtures.Active, Verdict: replay.Unjudged, Reason: "nobody was asked about it"}
	if j != nil {
		fate.Verdict, fate.Reason, fate.Voice, fate.Judge, fate.Answer = j.Verdict, j.Reason, j.Voice, j.Judge, j.Answer
	}
	fate.Sentence = carrier(messages, item.Literal)
	return fate
}
