package history

import (
	"cmp"
	"slices"
	"time"

	"github.com/doubletake-dev/doubletake/analysis"
	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/pairing"
	"github.com/doubletake-dev/doubletake/replay"
)

// Diff is two runs held against each other. It is no comparison in the sense of a test:
// the runs may be of different lineages, and then much else may be why something moved.
type Diff struct {
	Version int      `json:"version"`
	A       RunShort `json:"a"`
	B       RunShort `json:"b"`
	// Lineage says in words why the results must not be compared; none within a lineage.
	Lineage []string `json:"lineage_differences"`
	// Changed says what else differs: the compactors, the program, the settings.
	Changed []string `json:"changed"`
	// Moves are the compaction decisions that came out otherwise, those that became worse
	// first.
	Moves []DecisionMove `json:"decisions_moved"`
	// OnlyA and OnlyB count the compaction decisions that one run alone has.
	OnlyA int `json:"decisions_only_in_a"`
	OnlyB int `json:"decisions_only_in_b"`
	// Same counts the decisions that came out alike.
	Same int `json:"decisions_same"`
	// Outcomes are the episodes that came out otherwise, by fixture and role.
	Outcomes []OutcomeMove `json:"outcomes_moved"`
	// FixturesOnlyA and FixturesOnlyB are conversations that one run alone played.
	FixturesOnlyA []string `json:"fixtures_only_in_a"`
	FixturesOnlyB []string `json:"fixtures_only_in_b"`
	// FixturesChanged are conversations whose fixture is another one in B.
	FixturesChanged []string   `json:"fixtures_changed"`
	Gates           []GateMove `json:"gates"`
}

// RunShort is a run in short.
type RunShort struct {
	Dir       string           `json:"dir"`
	Run       string           `json:"run"`
	Started   time.Time        `json:"started"`
	Command   string           `json:"command"`
	Verdict   analysis.Verdict `json:"verdict"`
	Baseline  string           `json:"baseline"`
	Candidate string           `json:"candidate"`
	Losses    int              `json:"losses"`
	Gains     int              `json:"gains"`
}

// DecisionMove is a compaction decision that came out otherwise.
type DecisionMove struct {
	Fixture string         `json:"fixture"` // the conversation's id
	Item    string         `json:"item"`
	Class   fixtures.Class `json:"class"`
	// Role is candidate or incumbent; in a compare B is the candidate and A the incumbent.
	Role       string         `json:"role"`
	Compaction int            `json:"compaction"` // from 0
	Literal    string         `json:"literal"`
	From       replay.Verdict `json:"from"`
	To         replay.Verdict `json:"to"`
	// Worse says that an item that had survived does not, or that a lost one is now
	// contradicted.
	Worse bool `json:"worse"`
}

// OutcomeMove is an episode that came out otherwise.
type OutcomeMove struct {
	Fixture string `json:"fixture"` // the conversation's id
	// Role is reference, control, candidate or incumbent, as in [DecisionMove].
	Role string `json:"role"`
	// From and To are pass, fail, unscored, void or left_out.
	From string `json:"from"`
	To   string `json:"to"`
	// Reason says why in B, where there is no outcome there.
	Reason string `json:"reason,omitempty"`
}

// GateMove is a gate's row in both runs; a value is null where a run has none.
type GateMove struct {
	Name    string              `json:"name"`
	A       *float64            `json:"a"`
	B       *float64            `json:"b"`
	StatusA analysis.GateStatus `json:"status_a,omitempty"`
	StatusB analysis.GateStatus `json:"status_b,omitempty"`
	Moved   bool                `json:"moved"`
}

// Compare holds two runs against each other, the first being the one of before.
func Compare(a, b *analysis.Night) *Diff {
	d := &Diff{
		Version: Version, A: newRunShort(a), B: newRunShort(b),
		Moves: []DecisionMove{}, Outcomes: []OutcomeMove{}, FixturesOnlyA: []string{}, FixturesOnlyB: []string{}, FixturesChanged: []string{}, Gates: []GateMove{},
	}
	nightA, nightB := &Night{plan: a.Record.Run.Plan, Command: a.Report.Command}, &Night{plan: b.Record.Run.Plan, Command: b.Report.Command}
	d.Lineage = differences(nightA, nightB)
	d.Changed = changes(&nightA.plan, &nightB.plan)
	d.fixtures(a, b)
	d.decisions(a, b)
	d.outcomes(a, b)
	d.gates(a.Report.Gates, b.Report.Gates)
	return d
}

func newRunShort(n *analysis.Night) RunShort {
	r := n.Report
	return RunShort{
		Dir: n.Record.Dir, Run: r.Run, Started: n.Record.Run.Started, Command: r.Command, Verdict: r.Verdict,
		Baseline: r.Baseline, Candidate: r.Candidate, Losses: r.Pairs.Losses, Gains: r.Pairs.Gains,
	}
}

// roleOf names the role of an arm so that it is the same in a nightly and in a compare.
func roleOf(n *analysis.Night, arm string) string {
	for _, a := range n.Record.Run.Plan.Arms {
		if a.Name == arm {
			return side(a.Role)
		}
	}
	return ""
}

func (d *Diff) fixtures(a, b *analysis.Night) {
	hashes := map[string]fixtures.Hash{}
	for _, f := range a.Record.Fixtures {
		hashes[f.ConversationID] = f.Hash
	}
	seen := map[string]bool{}
	for _, f := range b.Record.Fixtures {
		seen[f.ConversationID] = true
		switch hash, both := hashes[f.ConversationID]; {
		case !both:
			d.FixturesOnlyB = append(d.FixturesOnlyB, f.ConversationID)
		case hash != f.Hash:
			d.FixturesChanged = append(d.FixturesChanged, f.ConversationID)
		}
	}
	for _, f := range a.Record.Fixtures {
		if !seen[f.ConversationID] {
			d.FixturesOnlyA = append(d.FixturesOnlyA, f.ConversationID)
		}
	}
}

// place is a compaction decision over runs.
type place struct {
	fixture, item, role string
	compaction          int
}

func (d *Diff) decisions(a, b *analysis.Night) {
	before := map[place]analysis.Decision{}
	for _, x := range a.Decisions() {
		before[place{x.ConversationID, x.Item, roleOf(a, x.Arm), x.Compaction}] = x
	}
	for _, x := range b.Decisions() {
		at := place{x.ConversationID, x.Item, roleOf(b, x.Arm), x.Compaction}
		old, both := before[at]
		if !both {
			d.OnlyB++
			continue
		}
		delete(before, at)
		if rank(old.Verdict) == rank(x.Verdict) {
			d.Same++
			continue
		}
		d.Moves = append(d.Moves, DecisionMove{
			Fixture: x.ConversationID, Item: x.Item, Class: x.Class, Role: at.role, Compaction: x.Compaction, Literal: x.Literal,
			From: old.Verdict, To: x.Verdict, Worse: rank(old.Verdict) >= 0 && rank(old.Verdict) < rank(x.Verdict),
		})
	}
	d.OnlyA = len(before)
	// The set's order stays among those that moved alike.
	slices.SortStableFunc(d.Moves, func(x, y DecisionMove) int {
		return cmp.Or(cmp.Compare(order(x), order(y)), cmp.Compare(x.Role, y.Role))
	})
}

// order puts what became worse first, then what became better, then what nothing is known of.
func order(m DecisionMove) int {
	switch {
	case m.Worse:
		return 0
	case rank(m.From) < 0 || rank(m.To) < 0:
		return 2
	}
	return 1
}

// rank orders verdicts from what should be to what should not; -1 is no verdict.
func rank(v replay.Verdict) int {
	switch v {
	case replay.Verbatim, replay.Supported, replay.Retired:
		return 0
	case replay.Absent:
		return 1
	case replay.Contradicted, replay.Stale:
		return 2
	}
	return -1
}

// result is how an episode came out.
type result struct{ state, reason string }

// results finds how every episode of the first plays came out, by conversation and role.
func results(n *analysis.Night) map[[2]string]result {
	found := map[[2]string]result{}
	expected := map[fixtures.Hash]*replay.Episode{}
	if reference := n.Record.Arm(analysis.RoleReference); reference != nil {
		for _, e := range n.Record.Episodes {
			if e.Arm == reference.Name && e.Replicate == 0 {
				expected[e.Fixture] = e
			}
		}
	}
	for _, e := range n.Record.Episodes {
		f := n.Record.Fixture(e.Fixture)
		if e.Replicate > 0 || f == nil {
			continue
		}
		outcome := pairing.Judge(f, e, expected[e.Fixture])
		state := string(outcome.Answer)
		if e.Status == replay.Void || e.Status == replay.LeftOut {
			state = string(e.Status)
		}
		found[[2]string{e.ConversationID, roleOf(n, e.Arm)}] = result{state, outcome.Reason}
	}
	return found
}

func (d *Diff) outcomes(a, b *analysis.Night) {
	before := results(a)
	for at, now := range results(b) {
		old, both := before[at]
		if !both || old.state == now.state {
			continue
		}
		d.Outcomes = append(d.Outcomes, OutcomeMove{Fixture: at[0], Role: at[1], From: old.state, To: now.state, Reason: now.reason})
	}
	slices.SortFunc(d.Outcomes, func(x, y OutcomeMove) int {
		return cmp.Or(cmp.Compare(x.Fixture, y.Fixture), cmp.Compare(x.Role, y.Role))
	})
}

func (d *Diff) gates(a, b []analysis.Gate) {
	row := func(list []analysis.Gate, name string) *analysis.Gate {
		i := slices.IndexFunc(list, func(g analysis.Gate) bool { return g.Name == name })
		if i < 0 {
			return nil
		}
		return &list[i]
	}
	var names []string
	for _, g := range slices.Concat(a, b) {
		if !slices.Contains(names, g.Name) {
			names = append(names, g.Name)
		}
	}
	for _, name := range names {
		m := GateMove{Name: name}
		if g := row(a, name); g != nil {
			m.A, m.StatusA = g.Value, g.Status
		}
		if g := row(b, name); g != nil {
			m.B, m.StatusB = g.Value, g.Status
		}
		m.Moved = m.StatusA != m.StatusB || (m.A == nil) != (m.B == nil) || m.A != nil && *m.A != *m.B
		d.Gates = append(d.Gates, m)
	}
}
