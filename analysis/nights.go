package analysis

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/doubletake-dev/doubletake/analysis/stats"
	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/pairing"
	"github.com/doubletake-dev/doubletake/replay"
)

// Nights is the evidence of several runs together.
type Nights struct {
	Runs        []NightRun          `json:"runs"`
	Comparisons []ComparisonOfNight `json:"comparisons"`
	Alpha       float64             `json:"alpha"`
}

// NightRun is one run among several.
type NightRun struct {
	Run string `json:"run"`
	// Comparison is the number of the comparison, from 1, that the run is a night of.
	Comparison int `json:"comparison"`
	// New counts the sessions that this run was the first to bring, Replayed those that
	// an earlier night of the same comparison had brought: they are replicates.
	New      int `json:"sessions_new"`
	Replayed int `json:"sessions_replayed"`
}

// ComparisonOfNight is one reference and one candidate, over all nights on which they
// were compared. Each build under test is a hypothesis of its own.
type ComparisonOfNight struct {
	Number    int           `json:"number"`
	Baseline  string        `json:"baseline"`
	Candidate string        `json:"candidate"`
	Digest    fixtures.Hash `json:"candidate_digest"`
	Nights    int           `json:"nights"`
	Sessions  int           `json:"sessions"`
	// Difference is the mean over the pairs of losses less gains, each pair by the mean
	// of its plays; null without a pair.
	Difference *float64 `json:"difference"`
	// PCluster is the exact sign-flip p value over sessions, on the means.
	PCluster float64 `json:"p_cluster"`
	// Log10E and PAnytime are those of the first nights of each session, which may be
	// looked at at any time.
	Log10E   float64 `json:"log10_e"`
	PAnytime float64 `json:"p_anytime"`
	// Level is alpha 6/(pi^2 t^2) for the t-th comparison: those of all nights there
	// will ever be add up to alpha. Alarm is PAnytime <= Level.
	Level float64 `json:"level"`
	Alarm bool    `json:"alarm"`
	// Drift is the decimal logarithm of max(M, 1) e, over the comparisons with the same
	// baseline so far, and DriftAlarm that it has reached 1/alpha: many small worsenings in
	// a row. It is a hint and no test: comparisons that share a baseline's plays are not
	// independent of each other, as the product would need.
	Drift      float64 `json:"log10_drift"`
	DriftAlarm bool    `json:"drift_alarm"`
}

// ErrOtherLineage says that runs must not be put together.
var ErrOtherLineage = errors.New("they are of different lineages")

// Gather puts the evidence of runs together, in the order in which they were begun. A
// session enters the evidence of a comparison once; where a later night plays it again
// under the same two builds, that is a replicate and counts into the mean of its plays.
// So the mistake of taking last night's fixtures for new trials can't be made.
//
// It is an error if the lineages differ otherwise than in the compactors, or if a run
// stands twice.
func Gather(runs []*Night) (Nights, error) {
	runs = slices.Clone(runs)
	slices.SortStableFunc(runs, func(a, b *Night) int { return a.Record.Run.Started.Compare(b.Record.Run.Started) })
	var out Nights
	var all []*gathered
	for i, n := range runs {
		for _, earlier := range runs[:i] {
			if earlier.Report.Run == n.Report.Run {
				return out, fmt.Errorf("run %s stands twice: one night is one replicate", n.Report.Run)
			}
		}
		if i > 0 {
			if d := LineageDifferences(observed(runs[0].Record), observed(n.Record)); len(d) > 0 {
				return out, fmt.Errorf("runs %s and %s: %w (%s)", runs[0].Report.Run, n.Report.Run, ErrOtherLineage, d[0])
			}
		}
		if i == 0 {
			out.Alpha = n.Report.Settings.Alpha
		} else if n.Report.Settings.Alpha != out.Alpha {
			return out, fmt.Errorf("run %s was planned at the level %g and run %s at %g: alarms over both have no level", runs[0].Report.Run, out.Alpha, n.Report.Run, n.Report.Settings.Alpha)
		}
		g := find(&all, n)
		added, replayed := g.add(n)
		out.Runs = append(out.Runs, NightRun{n.Report.Run, g.out.Number, added, replayed})
	}
	drift := map[[2]string]float64{} // log10 of M, by baseline
	for _, g := range all {
		if err := g.finish(out.Alpha); err != nil {
			return out, err
		}
		baseline := [2]string{g.key[0], g.key[1]}
		drift[baseline] = max(drift[baseline], 0) + g.out.Log10E
		g.out.Drift = drift[baseline]
		g.out.DriftAlarm = g.out.Drift >= -math.Log10(out.Alpha)
		out.Comparisons = append(out.Comparisons, g.out)
	}
	return out, nil
}

// gathered is a comparison being put together.
type gathered struct {
	out ComparisonOfNight
	key [4]string
	// plays are the plays of each fixture, first the plays of its first night.
	plays map[fixtures.Hash]*played
	order []replay.Session
}

type played struct {
	group        string
	first, plays stats.Replicates
}

func find(all *[]*gathered, n *Night) *gathered {
	arm := func(name string) replay.ArmInfo {
		for _, a := range n.Report.Arms {
			if a.Name == name {
				return a
			}
		}
		return replay.ArmInfo{}
	}
	a, b := arm(n.Report.Baseline), arm(n.Report.Candidate)
	key := [4]string{string(a.Kind), string(a.Digest), string(b.Kind), string(b.Digest)}
	for _, g := range *all {
		if g.key == key {
			return g
		}
	}
	g := &gathered{key: key, plays: map[fixtures.Hash]*played{}}
	g.out = ComparisonOfNight{Number: len(*all) + 1, Baseline: n.Report.Baseline, Candidate: n.Report.Candidate, Digest: b.Digest}
	*all = append(*all, g)
	return g
}

// add takes a night's pairs and says how many sessions were new.
func (g *gathered) add(n *Night) (added, replayed int) {
	known := map[string]bool{}
	for _, p := range g.plays {
		known[p.group] = true
	}
	seen := map[string]bool{}
	first := map[fixtures.Hash]bool{} // that this night is the first to bring
	for _, p := range n.planned() {
		if !isReplayed(p) || !p.Cell.Scored() {
			continue
		}
		if !seen[p.Group] {
			seen[p.Group] = true
			if known[p.Group] {
				replayed++
			} else {
				added++
			}
		}
		x := g.plays[p.Fixture]
		if x == nil {
			x = &played{group: p.Group}
			g.plays[p.Fixture], first[p.Fixture] = x, true
		}
		if first[p.Fixture] {
			note(&x.first, p.Cell)
		}
		note(&x.plays, p.Cell)
	}
	if g.out.Nights++; g.out.Nights == 1 {
		g.order = replay.Sessions(n.Record.Fixtures, n.Record.Run.Plan.Settings.Seed)
	}
	return added, replayed
}

// planned are the night's pairs with those of further planned replicates.
func (n *Night) planned() []*pairing.Pair {
	var list []*pairing.Pair
	for i := range n.Pairs {
		list = append(list, &n.Pairs[i])
	}
	for i := range n.again {
		if n.again[i].Replicate < n.Record.Run.Plan.Planned() {
			list = append(list, &n.again[i])
		}
	}
	return list
}

func note(r *stats.Replicates, c pairing.Cell) {
	r.RefRuns++
	r.CandRuns++
	if c == pairing.BothPass || c == pairing.Loss {
		r.RefPassed++
	}
	if c == pairing.BothPass || c == pairing.Gain {
		r.CandPassed++
	}
}

func (g *gathered) finish(alpha float64) error {
	groups := func(plays func(*played) stats.Replicates) ([]group, error) {
		byGroup := map[string][]stats.Replicates{}
		for _, p := range g.plays {
			byGroup[p.group] = append(byGroup[p.group], plays(p))
		}
		var list []group
		for name, items := range byGroup {
			c, err := stats.ReplicatedCluster(items)
			if err != nil {
				return nil, fmt.Errorf("session group %s: %w", name, err)
			}
			list = append(list, group{name, c})
		}
		slices.SortFunc(list, func(a, b group) int { return cmp.Compare(a.name, b.name) })
		return list, nil
	}
	means, err := groups(func(p *played) stats.Replicates { return p.plays })
	if err != nil {
		return err
	}
	first, err := groups(func(p *played) stats.Replicates { return p.first })
	if err != nil {
		return err
	}
	flip, err := stats.SignFlip(counts(means))
	if err != nil {
		return fmt.Errorf("comparison %d: %w", g.out.Number, err)
	}
	interval, err := stats.ClusterTangoInterval(counts(means), 0.95)
	if err != nil {
		return fmt.Errorf("comparison %d: %w", g.out.Number, err)
	}
	evidence, err := newSequential(first, g.order)
	if err != nil {
		return err
	}
	g.out.Sessions, g.out.PCluster, g.out.Difference = len(means), flip.PWorse, interval.Value
	g.out.Log10E, g.out.PAnytime = evidence.Log10E, evidence.PAnytime
	t := float64(g.out.Number)
	g.out.Level = alpha * 6 / (math.Pi * math.Pi * t * t)
	g.out.Alarm = g.out.PAnytime <= g.out.Level
	return nil
}
