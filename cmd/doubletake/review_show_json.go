package main

import (
	"io"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/pairing"
	"github.com/doubletake-dev/doubletake/replay"
)

// pairNamed is a pair whose arms may be named, as JSON.
type pairNamed struct {
	pairing.Entry
	Blind bool `json:"blind"`
	// Left names the arm that stands on the left.
	Left       string                        `json:"left"`
	Standing   pairing.Standing              `json:"standing"`
	Remembered *pairing.Remembered           `json:"remembered"`
	Replaced   map[string][]pairing.Replaced `json:"replaced"` // by arm
}

// pairBlind is a pair before its reviewer has decided, as JSON.
type pairBlind struct {
	// ID is the pair's handle, Number its place in the queue from 1: names and titles tell.
	ID     string      `json:"id"`
	Number int         `json:"number"`
	Blind  bool        `json:"blind"`
	Items  []itemBlind `json:"items"`
	// Checks are those on which the sides differ, without the answers.
	Checks     []checkBlind     `json:"checks_differ"`
	Divergence *divergenceBlind `json:"divergence"`
	Left       []replay.Step    `json:"left"`
	Right      []replay.Step    `json:"right"`
	// Remembered is the earlier night that decided on the same disagreement.
	Remembered string   `json:"remembered,omitempty"`
	Rulings    []string `json:"rulings"`
}

type itemBlind struct {
	ID      string         `json:"id"`
	Class   fixtures.Class `json:"class"`
	Turn    int            `json:"turn"`
	Literal string         `json:"literal"`
}

type checkBlind struct {
	Check string `json:"check"`
	Item  string `json:"item,omitempty"`
	Asks  string `json:"asks"`
}

type divergenceBlind struct {
	Kind  pairing.DivergenceKind `json:"kind"`
	Turn  int                    `json:"turn"`
	Left  *replay.Step           `json:"left"`
	Right *replay.Step           `json:"right"`
}

// withoutSource is a step without where its result came from, or nil.
func withoutSource(step *replay.Step) *replay.Step {
	if step == nil {
		return nil
	}
	return &withoutSources([]replay.Step{*step})[0]
}

func (s *shownPair) json(out io.Writer) error {
	e := s.entry
	remembered, recalled := s.remembered[e.ID]
	if s.named {
		left, _ := sides(s, e.First.Arm, e.Second.Arm)
		row := pairNamed{Entry: *e, Left: left, Standing: s.shownStanding(), Replaced: map[string][]pairing.Replaced{}}
		if recalled {
			row.Remembered = &remembered
		}
		for _, arm := range []string{e.First.Arm, e.Second.Arm} {
			list, err := pairing.Replacements(s.record, &e.Pair, arm)
			if err != nil {
				return err
			}
			row.Replaced[arm] = list
		}
		return printJSONLines(out, []pairNamed{row})
	}
	row := pairBlind{
		ID: s.called(), Number: s.number, Blind: true,
		Items: []itemBlind{}, Checks: []checkBlind{}, Remembered: remembered.Run, Rulings: blindRulings(),
	}
	for _, item := range e.Items {
		row.Items = append(row.Items, itemBlind{item.ID, item.Class, item.Turn, item.Literal})
	}
	asks := s.asks()
	for _, c := range e.Differ {
		row.Checks = append(row.Checks, checkBlind{c.Check, c.Item, asks[c.Check]})
	}
	if d := e.Divergence; d != nil {
		row.Divergence = &divergenceBlind{Kind: d.Kind, Turn: d.Turn}
		row.Divergence.Left, row.Divergence.Right = sides(s, withoutSource(d.First), withoutSource(d.Second))
	}
	row.Left, row.Right, _, _ = s.steps()
	return printJSONLines(out, []pairBlind{row})
}
