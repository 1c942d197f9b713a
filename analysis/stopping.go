package analysis

import (
	"fmt"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
)

// Stopping is when a run that may stop early did. It follows from the recorded episodes
// and the order of the sessions alone, so that it comes out the same whenever it is
// worked out again.
type Stopping struct {
	// Looks is how often was looked, Certain whether harm was certain at the last look.
	Looks   int  `json:"looks"`
	Certain bool `json:"certain"`
	// Sessions and Fixtures count those up to the last look; with Certain the others
	// were not to be played.
	Sessions int    `json:"sessions"`
	Fixtures int    `json:"fixtures"`
	Of       int    `json:"of_fixtures"`
	Why      string `json:"why,omitempty"`
}

// Look looks at a run that may stop early, after every batch of sessions that is whole,
// up to the one at which harm was certain.
func Look(record *replay.Record) (Stopping, error) {
	a, err := newAnalyser(record, Options{Deterministic: true})
	if err != nil {
		return Stopping{}, err
	}
	return a.stopping()
}

func (a *analyser) stopping() (Stopping, error) {
	plan := &a.record.Run.Plan
	s := Stopping{Of: len(a.record.Fixtures)}
	played := map[fixtures.Hash]int{}
	for _, e := range a.record.Episodes {
		if e.Replicate < plan.Planned() {
			played[e.Fixture]++
		}
	}
	order := replay.Sessions(a.record.Fixtures, plan.Settings.Seed)
	var so []*fixtures.Fixture
	for i, session := range order {
		for _, f := range session.Fixtures {
			if played[f.Hash] < len(plan.Arms)*plan.Planned() {
				return s, nil // the batch is not whole
			}
			so = append(so, f)
		}
		if (i+1)%a.settings.LookEvery != 0 && i+1 < len(order) {
			continue
		}
		s.Looks, s.Sessions, s.Fixtures = s.Looks+1, i+1, len(so)
		why, err := a.certain(so)
		if err != nil {
			return s, err
		}
		if why != "" {
			s.Certain, s.Why = true, why
			return s, nil
		}
	}
	return s, nil
}

// certain says what makes harm certain by these fixtures; empty where nothing does.
func (a *analyser) certain(set []*fixtures.Fixture) (string, error) {
	in := map[fixtures.Hash]bool{}
	for _, f := range set {
		in[f.Hash] = true
	}
	part := &replay.Record{Dir: a.record.Dir, Run: a.record.Run, Fixtures: set, Contexts: a.record.Contexts}
	for _, e := range a.record.Episodes {
		if in[e.Fixture] {
			part.Episodes = append(part.Episodes, e)
		}
	}
	sub := analyser{record: part, settings: a.settings, deterministic: true, looking: true}
	input := gateInput{record: part, settings: a.settings, report: &sub.report, looking: true}
	if err := sub.comparisons(&input); err != nil {
		return "", err
	}
	behaviour, err := input.behaviour()
	if err != nil {
		return "", err
	}
	for _, g := range append(input.criticalRows(), behaviour...) {
		if g.Status == GateRegressed {
			return fmt.Sprintf("%s: %s", g.Name, g.Reason), nil
		}
	}
	return "", nil
}
