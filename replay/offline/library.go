package offline

import (
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/doubletake-dev/doubletake/fixtures"
)

// behaviour is the version of everything in this package that an answer depends
// on besides the request and the library. Raise it with every change that changes
// an answer: caches key on it through [Library.Digest].
const behaviour = "offline/2"

// Library is what the offline provider knows: the scripts of a set and the items
// that they and the judge ask about. It is immutable. The nil library is empty and
// gives the generic behaviour.
type Library struct {
	scripts []Script
	turns   map[string]scripted          // trimmed user text -> place
	items   map[string][]fixtures.Item   // probe -> items
	byID    map[string]map[string]string // fixture -> item id -> literal
	digest  fixtures.Hash
}

// scripted is the place of a user text in the scripts.
type scripted struct{ script, turn int }

// NewLibrary makes a library from scripts and the fixtures that they belong to,
// keyed by conversation_id, as [LoadScripts] returns them.
func NewLibrary(scripts []Script, known map[string]*fixtures.Fixture) (*Library, error) {
	for i := range scripts {
		if err := scripts[i].validate(); err != nil {
			return nil, &fixtures.SyntaxError{File: scripts[i].Path, Err: err}
		}
	}
	if err := checkScripts(scripts, known); err != nil {
		return nil, err
	}
	l := &Library{
		scripts: slices.Clone(scripts),
		turns:   map[string]scripted{},
		items:   map[string][]fixtures.Item{},
		byID:    map[string]map[string]string{},
	}
	slices.SortStableFunc(l.scripts, func(a, b Script) int { return strings.Compare(a.Fixture, b.Fixture) })
	for i, s := range l.scripts {
		for j, turn := range s.Turns {
			l.turns[strings.TrimSpace(turn.User)] = scripted{i, j}
		}
	}
	type record struct{ Fixture, ID, Literal, Probe, Expect string }
	var all []record
	for _, id := range slices.Sorted(maps.Keys(known)) {
		literals := map[string]string{}
		for _, item := range known[id].MustSurvive {
			literals[item.ID] = item.Literal
			probe := strings.TrimSpace(item.Probe)
			l.items[probe] = append(l.items[probe], item)
			all = append(all, record{id, item.ID, item.Literal, item.Probe, item.Expect})
		}
		l.byID[id] = literals
	}
	digest, err := fixtures.HashJSON([]any{behaviour, l.scripts, all})
	if err != nil {
		return nil, fmt.Errorf("hashing the scripts of the offline provider: %w", err)
	}
	l.digest = digest
	return l, nil
}

// LoadLibrary reads the scripts and fixtures of a set.
func LoadLibrary(fsys fs.FS) (*Library, error) {
	scripts, known, err := LoadScripts(fsys)
	if err != nil {
		return nil, err
	}
	return NewLibrary(scripts, known)
}

// Digest is the hash of all that an answer depends on besides the request: the
// scripts, the items, and the version of this package's behaviour.
func (l *Library) Digest() fixtures.Hash {
	if l == nil {
		return fixtures.HashBytes([]byte(behaviour))
	}
	return l.digest
}

// turn is the script and the turn that answer a user text.
func (l *Library) turn(user string) (*Script, *ScriptTurn) {
	if l == nil {
		return nil, nil
	}
	at, ok := l.turns[strings.TrimSpace(user)]
	if !ok {
		return nil, nil
	}
	return &l.scripts[at.script], &l.scripts[at.script].Turns[at.turn]
}

// literal is the literal of an item.
func (l *Library) literal(fixture, item string) string { return l.byID[fixture][item] }

// expect is the right answer to a probe. Where fixtures share the words of a
// probe, the one whose item is the statement decides.
func (l *Library) expect(probe, statement string) (string, bool) {
	if l == nil {
		return "", false
	}
	items := l.items[strings.TrimSpace(probe)]
	for _, item := range items {
		if strings.TrimSpace(item.Literal) == strings.TrimSpace(statement) {
			if item.Status == fixtures.Completed || item.Status == fixtures.Withdrawn {
				// The expected answer is the one of now; a context in which the item
				// stands as in force gives the other.
				return opposite(item.Expect), true
			}
			return item.Expect, true
		}
	}
	if len(items) == 0 {
		return "", false
	}
	return items[0].Expect, true
}
