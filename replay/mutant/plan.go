package mutant

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
)

// change is what became of a compaction.
type change struct {
	messages []replay.CompactMessage
	what     string // in words
}

// Made is a mutant with its output.
type Made struct {
	replay.Mutant
	Output *replay.Compaction
}

// Options say which mutants to make.
type Options struct {
	// Kinds are the kinds to make, harmless ones among them; empty for all.
	Kinds []Kind
	// Sample is how many to take at random by Seed; 0 for all.
	Sample int
	Seed   int
}

// Plan are the mutants of a set.
type Plan struct {
	Made    []Made
	NotMade []replay.NotMade
	// Candidates is how many there were before a sample was taken.
	Candidates int
}

// Make makes the mutants of fixtures, given the sites of each. A mutant that would be
// the good compactor's output again is not made.
func Make(sites [][]*Site, options Options) *Plan {
	p := &Plan{NotMade: []replay.NotMade{}}
	kinds := options.Kinds
	if len(kinds) == 0 {
		kinds = slices.Concat(Kinds(), Rewrites())
	}
	table := operations()
	for _, list := range sites {
		for _, kind := range kinds {
			if len(list) == 0 {
				p.notMade(kind, "no compaction ran before the fork")
				continue
			}
			last := list[len(list)-1]
			for _, place := range table[kind].places(last) {
				p.make(last, kind, place, table[kind])
			}
		}
	}
	p.Candidates = len(p.Made)
	p.sample(options)
	slices.SortStableFunc(p.NotMade, func(a, b replay.NotMade) int {
		return cmp.Or(cmp.Compare(slices.Index(kinds, Kind(a.Kind)), slices.Index(kinds, Kind(b.Kind))), cmp.Compare(a.Reason, b.Reason))
	})
	return p
}

// make makes one mutant where it applies.
func (p *Plan) make(s *Site, kind Kind, place string, op operation) {
	item := s.Fixture.Item(place)
	if item != nil {
		if reason := s.outOfForce(item); reason != "" {
			p.notMade(kind, reason)
			return
		}
	}
	got, reason := op.apply(s, place)
	if got == nil {
		p.notMade(kind, reason)
		return
	}
	if same(got.messages, s.Output.Messages) {
		p.notMade(kind, "the output would be the same")
		return
	}
	out := copyOf(s.Output)
	out.Messages = got.messages
	m := Made{Output: out, Mutant: replay.Mutant{
		Fixture: s.Fixture.Hash, ConversationID: s.Fixture.ConversationID, Kind: string(kind), Place: place,
		Compaction: s.Request.Compaction, AfterTurn: s.Request.AfterTurn, Harmless: kind.Harmless(), Change: clip(got.what),
	}}
	if item != nil {
		m.Item, m.Class = item.ID, item.Class
	}
	p.Made = append(p.Made, m)
}

func clip(text string) string {
	const most = 400 // characters
	if short := clipTo(text, most); short != text {
		return short + "..."
	}
	return text
}

// clipTo is at most so many characters from the beginning of a text.
func clipTo(text string, most int) string {
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most])
	}
	return text
}

// outOfForce says why an item is not to be broken, or "".
func (s *Site) outOfForce(item *fixtures.Item) string {
	switch {
	case item.Turn > s.Request.AfterTurn:
		return "the item is stated after the compaction"
	case s.Fixture.StatusAt(item, s.Request.AfterTurn) != fixtures.Active:
		return "the item is not in force"
	}
	return ""
}

// same says whether two outputs are the same to a reader.
func same(a, b []replay.CompactMessage) bool {
	return slices.EqualFunc(a, b, func(x, y replay.CompactMessage) bool {
		return x.Role == y.Role && x.Content == y.Content && len(x.ToolCalls) == len(y.ToolCalls) &&
			slices.EqualFunc(x.ToolCalls, y.ToolCalls, func(c, d fixtures.ToolCall) bool { return c.ID == d.ID && string(c.Arguments) == string(d.Arguments) })
	})
}

func (p *Plan) notMade(kind Kind, reason string) {
	for i := range p.NotMade {
		if p.NotMade[i].Kind == string(kind) && p.NotMade[i].Reason == reason {
			p.NotMade[i].Count++
			return
		}
	}
	p.NotMade = append(p.NotMade, replay.NotMade{Kind: string(kind), Reason: reason, Count: 1})
}

// sample keeps some at random, in their order.
func (p *Plan) sample(options Options) {
	if options.Sample <= 0 || options.Sample >= len(p.Made) {
		return
	}
	random := rand.New(rand.NewPCG(uint64(options.Seed), 0x6d757461))
	chosen := random.Perm(len(p.Made))[:options.Sample]
	slices.Sort(chosen)
	kept := make([]Made, len(chosen))
	for i, at := range chosen {
		kept[i] = p.Made[at]
	}
	p.Made = kept
}

// Arms are the arms under which the mutants are played: one a kind and place, over all
// fixtures that have it.
func (p *Plan) Arms(base *Base) []replay.Arm {
	var arms []replay.Arm
	at := map[string]*compactor{}
	for i := range p.Made {
		m := &p.Made[i]
		name := m.Arm()
		if at[name] == nil {
			at[name] = &compactor{base: base, made: map[string]*Made{}}
			arms = append(arms, replay.Arm{Name: name, Kind: replay.CompactorArm, Compactor: at[name]})
		}
		at[name].made[m.ConversationID] = m
	}
	return arms
}

// compactor is a good one but for one compaction of each fixture.
type compactor struct {
	base *Base
	made map[string]*Made // by conversation
}

// Compact returns the mutant at its compaction, and what the good compactor makes
// everywhere else.
func (c *compactor) Compact(ctx context.Context, req *replay.CompactRequest) (*replay.Compaction, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m := c.made[req.Fixture]
	if m == nil {
		return nil, fmt.Errorf("no mutant was made of fixture %s; play it only under the arms of its mutants", req.Fixture)
	}
	if m.Compaction == req.Compaction {
		return copyOf(m.Output), nil
	}
	return c.base.Compact(ctx, req)
}
