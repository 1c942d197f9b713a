package main

import (
	"bytes"
	"context"
	"io"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay/offline"
)

func TestParse(t *testing.T) {
	s, err := parse(nil, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	again, err := parse(strings.Fields(s.command())[3:], io.Discard)
	if err != nil || again.command() != s.command() {
		t.Errorf("%q, %v; want %q", again.command(), err, s.command())
	}
	for _, args := range []string{"--nights 0", "--fixtures 0", "--flips 0", "--flips 1.5", "--flips NaN", "--flips 0.1,", "night"} {
		if _, err := parse(strings.Fields(args), io.Discard); err == nil {
			t.Errorf("%q: no error", args)
		}
	}
}

// RESULTS.md names the command that parse understands.
func TestResultsNameTheCommand(t *testing.T) {
	s, err := parse(nil, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	results, err := os.ReadFile("RESULTS.md")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(results, []byte("$ "+s.command()+"\n")) {
		t.Errorf("RESULTS.md was not made by %s", s.command())
	}
}

func TestMean(t *testing.T) {
	if m, se := mean([]float64{0, 0, 1, 1}); m != 0.5 || math.Abs(se-math.Sqrt(1.0/3/4)) > 1e-12 {
		t.Errorf("mean %v, s.e. %v", m, se)
	}
	if m, se := mean([]float64{0.25}); m != 0.25 || se != 0 {
		t.Errorf("mean %v, s.e. %v", m, se)
	}
}

func TestHolds(t *testing.T) {
	for p, want := range map[float64]string{0: "yes", 0.05: "yes", 0.08: "within 2 s.e.", 0.09: "NO"} {
		if have := holds(p, 200); have != want {
			t.Errorf("%v of 200: %q, want %q", p, have, want)
		}
	}
}

// Two fixtures of 1 and 2 answers at a rate of one half: 1-1/4 and 1-1/16.
func TestFlippedPairs(t *testing.T) {
	st := &stage{
		playing: []*fixtures.Fixture{{Hash: "a"}, {Hash: "b"}},
		answers: map[fixtures.Hash]int{"a": 1, "b": 2, "left out": 9},
	}
	if have := st.flippedPairs(0.5); have != (0.75+0.9375)/2 {
		t.Errorf("have %v", have)
	}
}

// Without flips nothing disagrees; with them a seed gives one night.
func TestNights(t *testing.T) {
	if testing.Short() {
		t.Skip("plays the shipped set")
	}
	st, err := newStage(context.Background(), settings{fixtures: 6, compactor: "ledger"}, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	still, err := st.night(context.Background(), offline.Flip{Seed: 1})
	if err != nil || still != (outcome{}) {
		t.Errorf("without flips: %+v, %v", still, err)
	}
	flip := offline.Flip{Rate: 0.5, Seed: 1}
	first, err := st.night(context.Background(), flip)
	if err != nil {
		t.Fatal(err)
	}
	second, err := st.night(context.Background(), flip)
	if err != nil || first != second {
		t.Errorf("%+v, then %+v, %v", first, second, err)
	}
	if first.discordance == 0 {
		t.Errorf("half of all answers flipped, and the control agrees throughout: %+v", first)
	}
	if _, err := newStage(context.Background(), settings{fixtures: 1000, compactor: "ledger"}, t.TempDir()); err == nil || !strings.Contains(err.Error(), "--fixtures") {
		t.Errorf("1000 fixtures: %v", err)
	}
}
