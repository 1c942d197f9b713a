package main

import (
	"bytes"
	"context"
	"io"
	"math"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/doubletake-dev/doubletake/analysis/stats"
)

func defaults(t *testing.T, args ...string) settings {
	t.Helper()
	s, err := parse(args, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// What holds by theorem must hold in a small simulation, within four standard errors;
// and the tests that are there as a warning must be seen to fail.
func TestLevels(t *testing.T) {
	s := defaults(t)
	const runs = 1500
	limit := level + 4*math.Sqrt(level*(1-level)/runs)
	for i, w := range s.onceWorlds() {
		shares, err := count(context.Background(), runs, 3, uint64(i), len(onceTests()), w.once)
		if err != nil {
			t.Fatal(err)
		}
		gate, pairs := shares[0].rate(), shares[1].rate()
		if gate > limit {
			t.Errorf("%+v: the sign-flip test rejects %v of equal candidates", w, gate)
		}
		if w.rho == 0 && pairs > limit {
			t.Errorf("%+v: the exact test rejects %v of equal candidates", w, pairs)
		}
		if w.sessions == 8 && pairs < 2*level {
			t.Errorf("%+v: the exact test rejects only %v: the sessions aren't clustered", w, pairs)
		}
	}
}

func TestLooks(t *testing.T) {
	s := defaults(t)
	const runs = 300
	limit := level + 4*math.Sqrt(level*(1-level)/runs)
	for i, w := range s.watchedWorlds() {
		shares, err := count(context.Background(), runs, 3, uint64(i), len(watchedTests()), w.watch(s.looks))
		if err != nil {
			t.Fatal(err)
		}
		if gate := shares[0].rate(); gate > limit {
			t.Errorf("%+v: the e-process by session rejects %v of equal candidates", w, gate)
		}
		if pairs := shares[1].rate(); w.rho == 0 && pairs > limit {
			t.Errorf("%+v: the e-process by pair rejects %v of equal candidates", w, pairs)
		}
		if peeking := shares[3].rate(); peeking < 2*level {
			t.Errorf("%+v: peeking rejects only %v of equal candidates", w, peeking)
		}
	}
}

// With one pair a session the simulated power is that of the enumeration.
func TestPowerIsTheExactOne(t *testing.T) {
	const runs = 4000
	for i, w := range worseWorlds() {
		if w.pairs > 1 {
			continue
		}
		shares, err := count(context.Background(), runs, 5, uint64(i), len(powerTests()), w.find)
		if err != nil {
			t.Fatal(err)
		}
		want, err := stats.Power(w.sessions, w.loss, w.gain, level)
		if err != nil {
			t.Fatal(err)
		}
		if got := shares[0].rate(); math.Abs(got-want.Worse) > 4*shares[0].error() {
			t.Errorf("%+v: power %v, want %v", w, got, want.Worse)
		}
	}
}

func TestShareHolds(t *testing.T) {
	for _, tt := range []struct {
		rejected int
		want     string
	}{{0, "yes"}, {50, "yes"}, {55, "within 2 s.e."}, {80, "NO"}, {1000, "NO"}} {
		if got := (share{tt.rejected, 1000}).holds(); got != tt.want {
			t.Errorf("%d of 1000: %s, want %s", tt.rejected, got, tt.want)
		}
	}
}

func TestReportIsTheSameOnAnyNumberOfCores(t *testing.T) {
	s := defaults(t, "--sims", "40", "--watched", "10", "--power", "20", "--seed", "5")
	var outs [2]bytes.Buffer
	for i, cores := range []int{1, 3} {
		before := runtime.GOMAXPROCS(cores)
		err := report(context.Background(), &outs[i], s)
		runtime.GOMAXPROCS(before)
		if err != nil {
			t.Fatal(err)
		}
	}
	if outs[0].String() != outs[1].String() {
		t.Errorf("one core:\n%s\nthree cores:\n%s", &outs[0], &outs[1])
	}
	s.seed = 6
	var other bytes.Buffer
	if err := report(context.Background(), &other, s); err != nil {
		t.Fatal(err)
	}
	if other.String() == outs[0].String() {
		t.Error("another seed gives the same tables")
	}
}

// The file in the repository names a command that this program understands, and has
// the rows that it prints.
func TestResultsAreOurs(t *testing.T) {
	file, err := os.ReadFile("RESULTS.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(file), "\n$ ")
	line, _, found := strings.Cut(rest, "\n")
	args, ours := strings.CutPrefix(line, "go run ./scripts/simulate ")
	if !found || !ours {
		t.Fatalf("no command in RESULTS.md: %q", line)
	}
	s := defaults(t, strings.Fields(args)...)
	if s.command() != line {
		t.Errorf("the command is %q, and read it is %q", line, s.command())
	}
	s.sims, s.watched, s.power = 1, 1, 1
	var out bytes.Buffer
	if err := report(context.Background(), &out, s); err != nil {
		t.Fatal(err)
	}
	if got, want := worlds(string(file)), worlds(out.String()); got != want {
		t.Errorf("RESULTS.md has the rows\n%s\nwant\n%s\nmake it again", got, want)
	}
	if strings.Count(string(file), "the gate: exact sign-flip") < 10 {
		t.Error("RESULTS.md lacks the gate")
	}
	for row := range strings.Lines(string(file)) {
		if strings.Contains(row, "the gate") && strings.Contains(row, "NO") {
			t.Errorf("the gate exceeds its level: %s", row)
		}
	}
}

// worlds are the rows without their numbers.
func worlds(markdown string) string {
	var out strings.Builder
	for line := range strings.Lines(markdown) {
		cells := strings.Split(line, "|")
		if len(cells) < 3 {
			continue
		}
		for _, cell := range cells {
			cell = strings.TrimSpace(cell)
			if strings.Contains(cell, " ") && !strings.Contains(cell, "s.e.") {
				out.WriteString(cell + "; ")
			}
		}
		out.WriteString("\n")
	}
	return out.String()
}

func TestParseRefuses(t *testing.T) {
	for _, args := range []string{"--sims 0", "--watched -1", "--power 0", "--looks 0", "--discordance 0", "--discordance NaN", "--discordance 2", "--seed -1", "--sims x", "what", "--no"} {
		if s, err := parse(strings.Fields(args), io.Discard); err == nil {
			t.Errorf("%s: %+v", args, s)
		}
	}
}
