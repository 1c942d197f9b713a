package report

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/pairing"
	"github.com/doubletake-dev/doubletake/replay"
)

// pairOf is a discordant pair with what its two arms saw and did.
type pairOf struct {
	*pairing.Entry
	sides [2]sideOf
	// stated are the messages in which the items were stated, as far as an uncompacted
	// context of the run still holds them, by item.
	stated map[string]*fixtures.Message
}

// sideOf is one arm's part of a pair.
type sideOf struct {
	arm    string
	tokens int
	// episode is nil where the run has none.
	episode *replay.Episode
	// context is what the agent went on from; nil where missing says why it isn't known.
	context []fixtures.Message
	missing string
}

// readPair reads what a page shows of a discordant pair. A context that is no longer in
// the run directory is no error; the page says so.
func readPair(record *replay.Record, entry *pairing.Entry) *pairOf {
	p := &pairOf{Entry: entry, stated: map[string]*fixtures.Message{}}
	contexts := &contextReader{from: record.Contexts, read: map[fixtures.Hash][]fixtures.Message{}}
	for i, side := range []pairing.Side{entry.First, entry.Second} {
		s := sideOf{arm: Clean(side.Arm), tokens: side.Tokens}
		s.episode = record.Episode(replay.Key{Fixture: entry.Fixture, Arm: side.Arm, Replicate: entry.Replicate})
		s.context, s.missing = contexts.get(side.Context)
		p.sides[i] = s
	}
	p.findStated(contexts)
	return p
}

// contextReader reads each context once.
type contextReader struct {
	from *replay.Contexts
	read map[fixtures.Hash][]fixtures.Message
}

// get reads a context, or says why it can't.
func (c *contextReader) get(hash fixtures.Hash) ([]fixtures.Message, string) {
	if hash == "" {
		return nil, "no context: this side is a trace that a person accepted, or nothing was played"
	}
	if messages, ok := c.read[hash]; ok {
		return messages, ""
	}
	if c.from == nil {
		return nil, "the contexts of the run are not at hand"
	}
	messages, err := c.from.Get(hash)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Sprintf("the context %s is no longer in the run directory", hash)
	case err != nil:
		return nil, fmt.Sprintf("the context %s in the run directory is damaged", hash)
	}
	c.read[hash] = messages
	return messages, ""
}

// findStated looks for the messages of the items in the contexts that nothing had been
// cut from yet.
func (p *pairOf) findStated(contexts *contextReader) {
	for _, side := range p.sides {
		if side.episode == nil {
			continue
		}
		whole := side.context
		if len(compactionsBefore(side.episode)) > 0 {
			whole, _ = contexts.get(side.episode.Compactions[0].Before)
		}
		for _, item := range p.Items {
			if p.stated[item.ID] != nil {
				continue
			}
			i := slices.IndexFunc(whole, func(m fixtures.Message) bool { return m.Turn == item.Turn && m.Holds(item.Literal) })
			if i >= 0 {
				p.stated[item.ID] = &whole[i]
			}
		}
	}
}

// compactionsBefore are the compactions up to the fork.
func compactionsBefore(e *replay.Episode) []replay.CompactionRecord {
	for i := range e.Compactions {
		if e.Compactions[i].AfterTurn > e.Fork {
			return e.Compactions[:i]
		}
	}
	return e.Compactions
}
