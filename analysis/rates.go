package analysis

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/doubletake-dev/doubletake/analysis/stats"
	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
)

// Rate is how many episodes of an arm passed, in one stratum of the set.
type Rate struct {
	Arm string `json:"arm"`
	// Sampling and Split name the stratum; empty where the fixtures do not say.
	Sampling string `json:"sampling"`
	Split    string `json:"split"`
	Share
	// Low and High are the 95% Wilson limits; null with the reason unless the stratum is
	// a random, held-out sample of whole work items.
	Low    *float64 `json:"low"`
	High   *float64 `json:"high"`
	Reason string   `json:"reason,omitempty"`
}

// rateConfidence is that of the intervals of rates.
const rateConfidence = 0.95

// rates counts what passed by arm and stratum. An interval says something about work
// that was not looked at, and only a random sample may say that.
func (a *analyser) rates() ([]Rate, error) {
	type stratum struct{ sampling, split string }
	var strata []stratum
	of := map[stratum][]*fixtures.Fixture{}
	for _, f := range a.record.Fixtures {
		s := stratum{f.Sampling, f.Split}
		if of[s] == nil {
			strata = append(strata, s)
		}
		of[s] = append(of[s], f)
	}
	slices.SortFunc(strata, func(x, y stratum) int {
		return cmp.Or(cmp.Compare(x.sampling, y.sampling), cmp.Compare(x.split, y.split))
	})
	list := []Rate{}
	for _, s := range strata {
		for _, arm := range a.record.Run.Plan.Arms {
			if arm.Kind == replay.ControlArm {
				continue
			}
			r := Rate{Arm: arm.Name, Sampling: s.sampling, Split: s.split}
			r.Share = a.success(arm.Name, of[s])
			r.Reason = a.unfit(arm.Name, of[s], r.Share)
			if r.Reason == "" {
				wilson, err := stats.WilsonInterval(r.Passed, r.Scored, rateConfidence)
				if err != nil {
					return nil, fmt.Errorf("rate of %s: %w", arm.Name, err)
				}
				if wilson.Interval != nil {
					r.Low, r.High = &wilson.Interval.Low, &wilson.Interval.High
				}
				r.Reason = wilson.Reason
			}
			list = append(list, r)
		}
	}
	return list, nil
}

// unfit says why the stratum's rate gets no interval; empty where it does.
func (a *analyser) unfit(arm string, set []*fixtures.Fixture, share Share) string {
	switch f := set[0]; {
	case f.Sampling == "":
		return "how the fixtures were drawn is not recorded"
	case f.Sampling != "random":
		return "an adversarial sample says what can go wrong, not how often it does"
	case f.Split != "held_out":
		return "not held out: these fixtures were looked at while the compactor was made"
	case a.record.Run.Plan.Planned() > 1:
		return "several attempts at each work item"
	case share.Scored < len(set):
		return fmt.Sprintf("%d of %d work items have no outcome", len(set)-share.Scored, len(set))
	case len(fingerprints(a.record)) > 1:
		return "more than one model answered: the provider's fingerprint changed during the run"
	}
	groups := map[string]bool{}
	for _, f := range set {
		if groups[f.SessionGroup()] {
			return fmt.Sprintf("the fixtures are no whole work items: session group %s has several", f.SessionGroup())
		}
		groups[f.SessionGroup()] = true
		if e := a.record.Episode(replay.Key{Fixture: f.Hash, Arm: arm}); e != nil && e.Status == replay.Accepted {
			return "some of it was not played: an accepted trace stands in, and can only pass"
		}
	}
	return ""
}
