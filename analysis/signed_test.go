package analysis_test

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/doubletake-dev/doubletake/analysis"
	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
)

// settle changes the settings that the run was planned with.
func (n *night) settle(t *testing.T, change func(*analysis.Settings)) {
	t.Helper()
	s := analysis.DefaultSettings()
	change(&s)
	data, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	n.record.Run.Plan.Analysis = data
}

// control adds a control arm: one letter a fixture.
func (n *night) control(letters string) {
	arm := replay.ArmInfo{Name: "control", Role: analysis.RoleControl, Kind: replay.ControlArm}
	n.record.Run.Plan.Arms = append(n.record.Run.Plan.Arms, arm)
	for i, f := range n.record.Fixtures {
		n.record.Episodes = append(n.record.Episodes, n.episode(f, arm, letters[i]))
	}
}

// replay adds a further play of a fixture under every arm.
func (n *night) again(fixture, replicate int, letters string) {
	for a, arm := range n.record.Run.Plan.Arms[:len(letters)] {
		e := n.episode(n.record.Fixtures[fixture], arm, letters[a])
		e.Replicate = replicate
		n.record.Episodes = append(n.record.Episodes, e)
	}
}

// The brief's case: three catastrophes in two hundred, which no average sees.
func TestThreeLossesInTwoHundred(t *testing.T) {
	r := newNight(t, append(repeat("ppf", 3), repeat("ppp", 197)...)...).analyse(t)
	x := r.Test
	for _, tt := range []struct {
		name      string
		have      float64
		want      float64
		tolerance float64
	}{
		{"p_worse", x.PWorse, 0.125, 1e-12}, {"p_two", x.PTwo, 0.25, 1e-12},
		{"p_mid_worse", x.PMidWorse, 0.0625, 1e-12}, {"p_mid_two", x.PMidTwo, 0.125, 1e-12},
		{"p_cluster", x.PCluster, 0.125, 1e-12},
		{"low", *x.Low, -0.0041, 5e-5}, {"high", *x.High, 0.0432, 5e-5},
	} {
		if math.Abs(tt.have-tt.want) > tt.tolerance {
			t.Errorf("%s: %v, want %v", tt.name, tt.have, tt.want)
		}
	}
	if x.Conclusion != analysis.WithinMargin || !x.NonInferior {
		t.Errorf("conclusion %s: at a margin of 5 points the averages must pass it, which is the point", x.Conclusion)
	}
	if r.Verdict != analysis.Inconclusive || !strings.Contains(strings.Join(r.Why, " "), "no average can tell") {
		t.Errorf("%s, because %q: three losses must never be clear", r.Verdict, r.Why)
	}
	n := newNight(t, append(repeat("ppf", 3), repeat("ppp", 197)...)...)
	n.settle(t, func(s *analysis.Settings) { s.Margin = 0.02 })
	if x := n.analyse(t).Test; x.Conclusion != analysis.NothingShown {
		t.Errorf("conclusion %s at a margin of 2 points, want inconclusive", x.Conclusion)
	}
}

func TestConclusions(t *testing.T) {
	tests := []struct {
		outcomes []string
		want     analysis.Conclusion
	}{
		{repeat("ppp", 80), analysis.WithinMargin},
		{repeat("ppp", 20), analysis.NothingShown},
		{append(repeat("ppf", 8), repeat("ppp", 20)...), analysis.Worse},
		{append(repeat("ppf", 6), repeat("ppp", 594)...), analysis.WorseWithin},
		{nil, analysis.NothingShown},
	}
	for _, tt := range tests {
		if got := newNight(t, tt.outcomes...).analyse(t).Test.Conclusion; got != tt.want {
			t.Errorf("%d fixtures: %s, want %s", len(tt.outcomes), got, tt.want)
		}
	}
}

// A fixture that shares its session with others says less, and five losses of one
// session say as much as one coin.
func TestSessionsAreTheUnit(t *testing.T) {
	n := newNight(t, append(repeat("ppf", 5), repeat("ppp", 40)...)...)
	for _, f := range n.record.Fixtures[:5] {
		f.Group = "one session"
	}
	x := n.analyse(t).Test
	if x.PWorse != 1.0/32 || x.PCluster != 0.5 {
		t.Errorf("p %v and by session %v, want 1/32 and 1/2", x.PWorse, x.PCluster)
	}
	if !x.Clustered || x.ByPair.High == nil || *x.High <= *x.ByPair.High {
		t.Errorf("the interval by session %v is not wider than %v", *x.High, x.ByPair.High)
	}
}

func TestReplicatesCountAsMeans(t *testing.T) {
	n := newNight(t, append(repeat("ppf", 2), repeat("ppp", 8)...)...)
	n.record.Run.Plan.Replicates = 3
	for i := range n.record.Fixtures {
		for r := 1; r < 3; r++ {
			letters := "ppp"
			if i == 0 && r == 1 {
				letters = "ppf"
			}
			n.again(i, r, letters)
		}
	}
	// Confirmations come on top and are no part of the test.
	n.again(0, 3, "ppf")
	n.again(0, 4, "ppf")
	x := n.analyse(t).Test
	if x.Replicates != 3 || x.Losses != 2 || x.PCluster != 0.25 {
		t.Errorf("%d replicates, %d losses, p %v; want 3, 2 of the first plays, 1/4", x.Replicates, x.Losses, x.PCluster)
	}
	// Two thirds and one third of a loss in ten pairs.
	if want := (2.0/3 + 1.0/3) / 10; x.Difference == nil || math.Abs(*x.Difference-want) > 1e-12 {
		t.Errorf("difference %v, want %v", x.Difference, want)
	}
}

func TestNoiseFloor(t *testing.T) {
	t.Run("beyond the budget nothing counts", func(t *testing.T) {
		n := newNight(t, repeat("ppp", 20)...)
		n.control("ff" + strings.Repeat("p", 18))
		r := n.analyse(t)
		if r.Verdict != analysis.InvalidNoise || r.Control.Valid {
			t.Errorf("%s, because %q", r.Verdict, r.Why)
		}
		n.settle(t, func(s *analysis.Settings) { s.NoiseBudget = 0.10 })
		if r = n.analyse(t); r.Verdict == analysis.InvalidNoise {
			t.Errorf("%s, because %q: a tenth is within the budget", r.Verdict, r.Why)
		}
	})
	t.Run("churn", func(t *testing.T) {
		// Seven losses and seven gains cancel for McNemar; the reference disagrees with
		// itself once, on a fixture of its own.
		n := newNight(t, append(append(repeat("ppf", 7), repeat("ffp", 7)...), repeat("ppp", 26)...)...)
		n.control(strings.Repeat("p", 7) + strings.Repeat("f", 7) + "f" + strings.Repeat("p", 25))
		r := n.analyse(t)
		c := r.Control.Churn
		if c == nil || c.Fixtures != 40 || c.Candidate != 14 || c.Control != 1 || c.More != 14 || c.Fewer != 1 {
			t.Fatalf("churn %+v", c)
		}
		// P(X >= 14 | 15, 1/2) = 16/2^15.
		if want := 16.0 / 32768; math.Abs(c.PMore-want) > 1e-15 {
			t.Errorf("p %v, want %v", c.PMore, want)
		}
		if *c.Excess != 13.0/40 || r.Test.PCluster < 0.5 {
			t.Errorf("excess %v, pair test %v", *c.Excess, r.Test.PCluster)
		}
	})
	t.Run("a control from a store is no control", func(t *testing.T) {
		n := newNight(t, repeat("ppp", 4)...)
		n.control("pppp")
		for _, e := range n.record.Episodes {
			if e.Arm == "control" {
				e.Exchanges[0].Stored = true
			}
		}
		if r := n.analyse(t); r.Control.Discordant != nil || r.Control.Reason == "" {
			t.Errorf("control %+v: stored answers agree with themselves", r.Control)
		}
		// What was asked for afresh, and is read back, is an answer of its own.
		for _, e := range n.record.Episodes {
			if e.Arm == "control" {
				e.Exchanges[0].Fresh = true
			}
		}
		if r := n.analyse(t); r.Control.Discordant == nil || *r.Control.Discordant != 0 {
			t.Errorf("control %+v: its own answers, read back, don't count", r.Control)
		}
	})
}

func TestCriticalFailures(t *testing.T) {
	tests := []struct {
		name    string
		must    bool
		plays   []string // of fixture 0, the first one first
		want    analysis.GateStatus
		verdict analysis.Verdict
		reason  string
	}{
		{"confirmed by all", false, []string{"ppf", "ppf", "ppf"}, analysis.GateRegressed, analysis.Regressed, ""},
		{"confirmed by two of three", false, []string{"ppf", "ppp", "ppf"}, analysis.GateRegressed, analysis.Regressed, ""},
		{"two plays suffice", false, []string{"ppf", "ppf"}, analysis.GateRegressed, analysis.Regressed, ""},
		{"a fluke", false, []string{"ppf", "ppp", "ppp"}, analysis.GatePass, analysis.Inconclusive, "1 failure unconfirmed: fewer than 2 of 3 plays fail"},
		{"not played again", false, []string{"ppf"}, analysis.GateUnscored, analysis.Inconclusive, "too few further plays"},
		{"the incumbent has it, too", false, []string{"pff", "pff", "pff"}, analysis.GateBacklog, analysis.Inconclusive, "the same under old"},
		{"must pass", true, []string{"ppf", "ppf"}, analysis.GateRegressed, analysis.Regressed, ""},
		{"only further plays fail", false, []string{"ppp", "ppf", "ppf"}, analysis.GateRegressed, analysis.Regressed, ""},
		{"the incumbent failed once", false, []string{"pff", "ppf", "ppf"}, analysis.GateRegressed, analysis.Regressed, ""},
		{"an accepted trace", false, []string{"tpf", "tpf", "tpf"}, analysis.GateRegressed, analysis.Regressed, "a check of catastrophic"},
		{"must pass, and does", true, []string{"ppp"}, analysis.GatePass, analysis.Clear, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n := newNight(t, append([]string{tt.plays[0]}, repeat("ppp", 120)...)...)
			name := "catastrophic"
			if n.record.Fixtures[0].MustPass = tt.must; tt.must {
				name = "must pass"
			} else {
				n.record.Fixtures[0].Checks[0].Severity = fixtures.Catastrophic
			}
			for i, letters := range tt.plays[1:] {
				n.again(0, i+1, letters)
			}
			r := n.analyse(t)
			if g := gate(t, r, name); g.Status != tt.want || !strings.Contains(g.Reason, tt.reason) {
				t.Errorf("%s: %s; want %s, %s", g.Status, g.Reason, tt.want, tt.reason)
			}
			if r.Verdict != tt.verdict {
				t.Errorf("%s, because %q; want %s", r.Verdict, r.Why, tt.verdict)
			}
		})
	}
}

// Against an accepted trace a single play does not block, two of three do, and what the
// incumbent fails as well is backlog.
func TestAcceptedTraces(t *testing.T) {
	tests := []struct {
		plays []string
		want  analysis.GateStatus
	}{
		{[]string{"tpf", "tpf", "tpf"}, analysis.GateRegressed},
		{[]string{"tpf", "tpf", "tpp"}, analysis.GateRegressed},
		{[]string{"tpf", "tpp", "tpp"}, analysis.GatePass},
		{[]string{"tpf"}, analysis.GateUnscored},
		{[]string{"tff", "tff", "tff"}, analysis.GateBacklog},
		{[]string{"tff", "tpf", "tpf"}, analysis.GateRegressed},
		{[]string{"tpp"}, analysis.GatePass},
		{[]string{"tpu"}, analysis.GateUnscored},
	}
	for _, tt := range tests {
		n := newNight(t, append([]string{tt.plays[0]}, repeat("ppp", 60)...)...)
		for i, letters := range tt.plays[1:] {
			n.again(0, i+1, letters)
		}
		if g := gate(t, n.analyse(t), "accepted traces"); g.Status != tt.want {
			t.Errorf("%v: %s (%s), want %s", tt.plays, g.Status, g.Reason, tt.want)
		}
	}
}

// A planned play that is lost is in the queue and keeps the run from being clear, though
// the first play agrees.
func TestALossInAPlannedReplicateIsQueued(t *testing.T) {
	n := newNight(t, repeat("ppp", 120)...)
	n.record.Run.Plan.Replicates = 2
	for i := range n.record.Fixtures {
		letters := "ppp"
		if i == 7 {
			letters = "ppf"
		}
		n.again(i, 1, letters)
	}
	r := n.analyse(t)
	if len(r.Disagreements) != 1 || r.Disagreements[0].ID != "f07.1" || r.Verdict != analysis.Inconclusive {
		t.Errorf("%s, because %q; queue %+v", r.Verdict, r.Why, r.Disagreements)
	}
}

// A control that has no outcome leaves the noise floor unknown.
func TestAControlWithoutOutcomesIsIncomplete(t *testing.T) {
	n := newNight(t, repeat("ppp", 80)...)
	n.control(strings.Repeat("u", 80))
	if r := n.analyse(t); r.Verdict != analysis.Incomplete || !strings.Contains(strings.Join(r.Why, "\n"), "control pairs") {
		t.Errorf("%s, because %q", r.Verdict, r.Why)
	}
}

// Sixty agreeing pairs of one session are one pair over and over.
func TestOneSessionShowsNoNonInferiority(t *testing.T) {
	n := newNight(t, repeat("ppp", 60)...)
	for _, f := range n.record.Fixtures {
		f.Group = "one session"
	}
	if x := n.analyse(t).Test; x.NonInferior || x.PerfectRunPasses || x.Conclusion != analysis.NothingShown {
		t.Errorf("%s, perfect run passes %t", x.Conclusion, x.PerfectRunPasses)
	}
}

// What the test concludes and what it can detect are of the level at which it blocks.
func TestOneLevelThroughout(t *testing.T) {
	x := newNight(t, append(repeat("ppf", 5), repeat("ppp", 100)...)...).analyse(t)
	if x.Test.Conclusion == analysis.Worse || x.Test.Level != 0.025 || !strings.Contains(strings.Join(x.Why, "\n"), "cannot reach 0.025") {
		t.Errorf("%s at %v, because %q", x.Test.Conclusion, x.Test.Level, x.Why)
	}
	// At .025 it takes six losses, and six or more of Bin(105, p) have probability .8 at
	// p = .0743 (by enumeration elsewhere).
	if d := x.Test.SmallestDetectable; d == nil || math.Abs(*d-0.074253) > 1e-5 {
		t.Errorf("smallest detectable %v", *d)
	}
}

// Each of two tests alone would reject at 0.05; together they need 0.025.
func TestHarmGatesAreCorrected(t *testing.T) {
	n := newNight(t, append(repeat("ppf", 5), repeat("ppp", 100)...)...)
	r := n.analyse(t)
	if r.Harm.Tests != 2 || r.Harm.Divisor != 2 || gate(t, r, "behaviour").Status != analysis.GatePass {
		t.Errorf("harm %+v, behaviour %s", r.Harm, gate(t, r, "behaviour").Status)
	}
	n = newNight(t, append(repeat("pff", 5), repeat("ppp", 100)...)...)
	n.record.Run.Plan.Arms[1], n.record.Run.Plan.Arms[2] = n.record.Run.Plan.Arms[2], n.record.Run.Plan.Arms[1]
	// Against the incumbent nothing differs: that test could not have rejected, and
	// costs nothing (Tarone). But it blocks nothing either: the incumbent is as bad.
	if r = n.analyse(t); r.Harm.Divisor != 1 || gate(t, r, "behaviour").Status != analysis.GateBacklog {
		t.Errorf("harm %+v, behaviour %s", r.Harm, gate(t, r, "behaviour").Status)
	}
}

// Where the incumbent goes on from the reference's contexts everywhere, the two tests are
// one, and the level is not halved for it: five losses of five are p = 1/32.
func TestTheSameTestCountsOnce(t *testing.T) {
	shared := func(shared int) *analysis.Report {
		n := newNight(t, append(repeat("ppf", 5), repeat("ppp", 100)...)...)
		for _, e := range n.record.Episodes {
			e.Context = fixtures.HashBytes([]byte(e.ConversationID + e.Arm))
			if e.Arm == n.record.Run.Plan.Arms[0].Name || e.Arm == n.record.Run.Plan.Arms[1].Name {
				if shared > 0 {
					e.Context = fixtures.HashBytes([]byte(e.ConversationID))
				}
			}
		}
		if shared == 1 { // but for one of them
			e := n.record.Episodes[1]
			e.Context = fixtures.HashBytes([]byte("another"))
		}
		return n.analyse(t)
	}
	for _, tt := range []struct {
		shared, tests int
		want          analysis.GateStatus
	}{{0, 2, analysis.GatePass}, {1, 2, analysis.GatePass}, {2, 1, analysis.GateRegressed}} {
		r := shared(tt.shared)
		if got := gate(t, r, "behaviour").Status; r.Harm.Tests != tt.tests || r.Harm.Shared != (tt.tests == 1) || got != tt.want {
			t.Errorf("%d: harm %+v, behaviour %s", tt.shared, r.Harm, got)
		}
		if p := r.Test.PCluster; p != 1.0/32 {
			t.Errorf("p %v, want 1/32", p)
		}
	}
}

func TestStopsEarlyOnlyWhenHarmIsCertain(t *testing.T) {
	outcomes := append(repeat("ppf", 30), repeat("ppp", 10)...)
	early := func(t *testing.T, outcomes []string) *night {
		n := newNight(t, outcomes...)
		n.settle(t, func(s *analysis.Settings) { s.Stop, s.LookEvery = analysis.StopEarly, 4 })
		return n
	}
	whole := early(t, outcomes).analyse(t)
	if s := whole.Stopping; s == nil || !s.Certain || s.Fixtures >= 40 || s.Fixtures%4 != 0 {
		t.Fatalf("stopping %+v", whole.Stopping)
	}
	// What was not played for that is not missing.
	n := early(t, outcomes)
	order := replay.Sessions(n.record.Fixtures, n.record.Run.Plan.Settings.Seed)
	var played []fixtures.Hash
	for _, session := range order[:whole.Stopping.Sessions] {
		played = append(played, session.Fixtures[0].Hash)
	}
	n.record.Episodes = slices.DeleteFunc(n.record.Episodes, func(e *replay.Episode) bool { return !slices.Contains(played, e.Fixture) })
	part := n.analyse(t)
	if part.Verdict != analysis.Regressed || *part.Stopping != *whole.Stopping {
		t.Errorf("%s, because %q; stopping %+v, want %+v", part.Verdict, part.Why, part.Stopping, whole.Stopping)
	}
	// A batch less, and the run is incomplete.
	last := played[len(played)-4:]
	n.record.Episodes = slices.DeleteFunc(n.record.Episodes, func(e *replay.Episode) bool { return slices.Contains(last, e.Fixture) })
	if r := n.analyse(t); r.Stopping.Certain || r.Verdict != analysis.Incomplete {
		t.Errorf("%s, stopping %+v", r.Verdict, r.Stopping)
	}
	if r := early(t, repeat("ppp", 80)).analyse(t); r.Stopping.Certain || r.Verdict != analysis.Clear {
		t.Errorf("%s, stopping %+v: nothing differs", r.Verdict, r.Stopping)
	}
}

// However often one looks at harmless candidates, few runs are stopped.
func TestLookingOftenDoesNotStopHarmlessRuns(t *testing.T) {
	if testing.Short() {
		t.Skip("a hundred runs")
	}
	const runs = 100
	stopped := 0
	for seed := range runs {
		var outcomes []string
		for i := range 60 {
			h := fixtures.HashBytes(fmt.Appendf(nil, "%d %d", seed, i))
			switch h[0] % 4 {
			case 0:
				outcomes = append(outcomes, "fpf", "ppp") // reference fails, incumbent passes
			case 1:
				outcomes = append(outcomes, "ppf")
			case 2:
				outcomes = append(outcomes, "ffp")
			default:
				outcomes = append(outcomes, "ppp")
			}
		}
		n := newNight(t, outcomes...)
		// The incumbent is the reference's twin, so that one comparison is tested twice.
		for i, e := range n.record.Episodes {
			if e.Arm == "old" {
				twin := *n.record.Episodes[i-1]
				twin.Arm, twin.Compactions = "old", e.Compactions
				n.record.Episodes[i] = &twin
			}
		}
		n.settle(t, func(s *analysis.Settings) { s.Stop, s.LookEvery = analysis.StopEarly, 3 })
		if n.analyse(t).Stopping.Certain {
			stopped++
		}
	}
	// At most 5% are expected; three standard errors above that is 11.
	if stopped > 11 {
		t.Errorf("%d of %d harmless runs were stopped", stopped, runs)
	}
}

func TestRatesGetIntervalsOnlyFromRandomHeldOutSamples(t *testing.T) {
	tests := []struct {
		name   string
		change func(*night)
		reason string
	}{
		{"random and held out", func(*night) {}, ""},
		{"adversarial", func(n *night) { n.record.Fixtures[0].Sampling = "adversarial" }, "adversarial"},
		{"not held out", func(n *night) {
			for _, f := range n.record.Fixtures {
				f.Split = "regression"
			}
		}, "not held out"},
		{"unknown", func(n *night) {
			for _, f := range n.record.Fixtures {
				f.Sampling = ""
			}
		}, "not recorded"},
		{"one without an outcome", func(n *night) {
			n.record.Episodes[2].Status, n.record.Episodes[2].Reason, n.record.Episodes[2].Steps = replay.Faulted, "it broke", nil
		}, "1 of 40 work items"},
		{"two of one session", func(n *night) { n.record.Fixtures[0].Group, n.record.Fixtures[1].Group = "g", "g" }, "no whole work items"},
		{"several attempts", func(n *night) { n.record.Run.Plan.Replicates = 2 }, "several attempts"},
		{"two models", func(n *night) {
			n.record.Episodes[0].Exchanges[0].Fingerprint = "a"
			n.record.Episodes[2].Exchanges[0].Fingerprint = "b"
		}, "more than one model"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n := newNight(t, repeat("ppp", 40)...)
			for _, f := range n.record.Fixtures {
				f.Sampling, f.Split = "random", "held_out"
			}
			tt.change(n)
			var found *analysis.Rate
			rates := n.analyse(t).Rates
			for i := range rates {
				if rates[i].Arm == "new" {
					found = &rates[i]
					break
				}
			}
			switch {
			case found == nil:
				t.Fatal("no rate")
			case tt.reason == "":
				// 40 of 40: one minus the upper Wilson limit of 0 of 40, .0876.
				if found.Low == nil || math.Abs(*found.Low-(1-0.0876)) > 5e-5 || *found.High != 1 {
					t.Errorf("limits %v and %v", found.Low, found.High)
				}
			case found.Low != nil || !strings.Contains(found.Reason, tt.reason):
				t.Errorf("limits %v, reason %q; want none because of %q", found.Low, found.Reason, tt.reason)
			}
		})
	}
}

// What is found does not depend on the order in which fixtures stand, and swapping
// reference and candidate swaps losses and gains.
func TestLawsOfTheTest(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		outcomes := rapid.SliceOfN(rapid.SampledFrom([]string{"ppp", "ppf", "ffp", "fff", "ppu"}), 1, 40).Draw(rt, "outcomes")
		groups := rapid.SliceOfN(rapid.IntRange(0, 8), len(outcomes), len(outcomes)).Draw(rt, "groups")
		build := func(swap bool, order []int) *analysis.Report {
			n := newNight(t, outcomes...)
			for i, f := range n.record.Fixtures {
				f.Group = fmt.Sprint("g", groups[i])
			}
			if swap {
				for _, e := range n.record.Episodes {
					switch e.Arm {
					case "reference":
						e.Arm, e.Compactions = "new", []replay.CompactionRecord{{AfterTurn: 2, Status: replay.Compacted}}
					case "new":
						e.Arm, e.Compactions = "reference", nil
					}
				}
			}
			shuffled := make([]*fixtures.Fixture, len(order))
			for i, k := range order {
				shuffled[i] = n.record.Fixtures[k]
			}
			n.record.Fixtures = shuffled
			return n.analyse(t)
		}
		order := make([]int, len(outcomes))
		for i := range order {
			order[i] = i
		}
		a := build(false, order)
		b := build(false, rapid.Permutation(order).Draw(rt, "order"))
		if x, y := fmt.Sprintf("%+v", values(a)), fmt.Sprintf("%+v", values(b)); x != y {
			rt.Fatalf("the order of the fixtures matters:\n%s\n%s", x, y)
		}
		s := build(true, order)
		if s.Test.Losses != a.Test.Gains || s.Test.Gains != a.Test.Losses || s.Test.PTwo != a.Test.PTwo || s.Test.PWorse != a.Test.PBetter {
			rt.Fatalf("swapped arms: %+v and %+v", s.Test, a.Test)
		}
		if a.Test.Difference != nil && *s.Test.Difference != -*a.Test.Difference {
			rt.Fatalf("difference %v and %v", *s.Test.Difference, *a.Test.Difference)
		}
	})
}

// values are the numbers of a test, for comparing.
func values(r *analysis.Report) []any {
	x := r.Test
	list := []any{x.Losses, x.Gains, x.Pairs, x.PWorse, x.PCluster, x.MinP, x.Groups, x.Conclusion, x.Sequential.MaxLog10E, x.Sequential.Sessions}
	for _, p := range []*float64{x.Difference, x.Low, x.High, x.Newcombe.Low, x.ByPair.Low, x.OddsRatio.Low, x.Obuchowski.PWorse, x.PNonInferior} {
		if p == nil {
			list = append(list, nil)
			continue
		}
		list = append(list, *p)
	}
	return list
}
