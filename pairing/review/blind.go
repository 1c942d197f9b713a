package review

import (
	"errors"
	"fmt"
	"slices"

	"github.com/doubletake-dev/doubletake/pairing"
)

// side is where a half of a pair stands on the page.
type side string

// The sides.
const (
	left  side = "left"
	right side = "right"
)

// The choices that name a side; the others are the rulings themselves.
const (
	leftWorse  = "left_worse"
	rightWorse = "right_worse"
)

// choice is what is offered for a verdict on the page.
type choice struct {
	Value string `json:"value"`
	Key   string `json:"key"`
	Label string `json:"label"`
}

// choices lists what is offered, in the order of the keys 1 to 7.
func choices(blind bool) []choice {
	worse := []choice{{leftWorse, "l", "left is worse"}, {rightWorse, "r", "right is worse"}}
	if !blind {
		worse = []choice{{rightWorse, "w", "candidate worse"}, {leftWorse, "b", "candidate better"}}
	}
	return append(worse,
		choice{string(pairing.BothFine), "f", "both fine"},
		choice{string(pairing.BothWrong), "x", "both wrong"},
		choice{string(pairing.FixtureWrong), "i", "fixture is wrong"},
		choice{string(pairing.CheckWrong), "c", "check is wrong"},
		choice{string(pairing.CannotTell), "t", "can't tell"},
	)
}

var errNoChoice = errors.New("no such choice")

// ruling is what a choice on the page means for the candidate, which is the second arm.
func ruling(value string, swap bool) (pairing.Ruling, error) {
	switch {
	case value == leftWorse && swap, value == rightWorse && !swap:
		return pairing.CandidateWorse, nil
	case value == leftWorse, value == rightWorse:
		return pairing.CandidateBetter, nil
	}
	r := pairing.Ruling(value)
	if r == pairing.CandidateWorse || r == pairing.CandidateBetter || !slices.Contains(pairing.Rulings(), r) {
		return "", fmt.Errorf("%w: %q", errNoChoice, value)
	}
	return r, nil
}

// chosen is the choice that a ruling came of.
func chosen(r pairing.Ruling, swap bool) string {
	switch {
	case r == pairing.CandidateWorse && swap, r == pairing.CandidateBetter && !swap:
		return leftWorse
	case r == pairing.CandidateWorse, r == pairing.CandidateBetter:
		return rightWorse
	}
	return string(r)
}
