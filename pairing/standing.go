package pairing

import (
	"cmp"
	"slices"

	"github.com/doubletake-dev/doubletake/replay"
)

// Standing is how a pair stands after all verdicts on it.
type Standing struct {
	Pair string `json:"pair"`
	// State is decided, disputed (reviewers do not agree, and nobody has settled it) or
	// undecided.
	State State `json:"state"`
	// Ruling is what decides, empty for every other state. Someone who cannot tell does
	// not decide.
	Ruling   Ruling   `json:"ruling,omitempty"`
	Severity Severity `json:"severity,omitempty"`
	Check    string   `json:"check,omitempty"`
	// Adjudicated says that a verdict settled what reviewers did not agree on.
	Adjudicated bool `json:"adjudicated,omitempty"`
	// Verdicts are those that stand, one a reviewer, in the order of their numbers.
	Verdicts []Verdict `json:"verdicts"`
	// Stale are verdicts on evidence that has changed since.
	Stale []Verdict `json:"stale,omitempty"`
}

// State is how far a pair is decided.
type State string

// The states.
const (
	Undecided State = "undecided"
	Decided   State = "decided"
	Disputed  State = "disputed"
)

// Stand says how each pair of the queue stands, in the order of the queue.
func Stand(record *replay.Record, queue []Entry, verdicts []Verdict) []Standing {
	byPair := map[string][]Verdict{}
	for _, v := range verdicts {
		byPair[v.Pair] = append(byPair[v.Pair], v)
	}
	list := make([]Standing, len(queue))
	for i := range queue {
		list[i] = stand(evidence(record, &queue[i].Pair), queue[i].ID, byPair[queue[i].ID])
	}
	return list
}

func stand(now Evidence, pair string, verdicts []Verdict) Standing {
	s := Standing{Pair: pair, State: Undecided, Verdicts: []Verdict{}}
	last := map[string]Verdict{}
	for _, v := range verdicts {
		switch {
		case v.Ruling == "":
			delete(last, v.By)
		case v.Evidence != now:
			s.Stale = append(s.Stale, v)
			delete(last, v.By)
		default:
			last[v.By] = v
		}
	}
	for _, v := range last {
		s.Verdicts = append(s.Verdicts, v)
	}
	slices.SortFunc(s.Verdicts, func(a, b Verdict) int { return cmp.Compare(a.Number, b.Number) })
	var settled, telling []Verdict
	for _, v := range s.Verdicts {
		if v.Adjudicates {
			settled = append(settled, v)
		}
		if v.Ruling != CannotTell {
			telling = append(telling, v)
		}
	}
	switch {
	case len(settled) > 0:
		s.decide(settled[len(settled)-1])
		s.Adjudicated = true
	case len(telling) == 0:
	case slices.ContainsFunc(telling, func(v Verdict) bool { return v.Ruling != telling[0].Ruling }):
		s.State = Disputed
	default:
		s.decide(telling[len(telling)-1])
		for _, v := range telling {
			if slices.Index(Severities(), v.Severity) > slices.Index(Severities(), s.Severity) {
				s.Severity = v.Severity // the worst that was seen
			}
		}
	}
	return s
}

func (s *Standing) decide(v Verdict) {
	if v.Ruling == CannotTell {
		return // settled that nobody can tell
	}
	s.State, s.Ruling, s.Severity, s.Check = Decided, v.Ruling, v.Severity, v.Check
}

// Remembered is a verdict of an earlier night on the same disagreement.
type Remembered struct {
	Run     string  `json:"run"`
	Verdict Verdict `json:"verdict"`
}

// Remember finds, for each pair of the queue, the last verdict of other runs on the same
// disagreement; earlier is those runs' verdicts by the run's name. A verdict that was
// taken back is not remembered.
func Remember(record *replay.Record, queue []Entry, earlier map[string][]Verdict) (map[string]Remembered, error) {
	last := map[Disagreement]Remembered{}
	for run, verdicts := range earlier {
		for d, v := range agreed(verdicts) {
			if old, ok := last[d]; !ok || newer(v, run, old) {
				last[d] = Remembered{run, v}
			}
		}
	}
	found := map[string]Remembered{}
	for i := range queue {
		d, err := disagreement(record, &queue[i])
		if err != nil {
			return nil, err
		}
		if r, ok := last[d]; ok && r.Verdict.Ruling != CannotTell {
			found[queue[i].ID] = r
		}
	}
	return found, nil
}

// agreed are the verdicts of one run that decide, by disagreement: the settling one, or
// the last of those who all say the same. A disputed pair has none.
func agreed(verdicts []Verdict) map[Disagreement]Verdict {
	byReviewer := map[Disagreement]map[string]Verdict{}
	for _, v := range verdicts {
		if byReviewer[v.Disagreement] == nil {
			byReviewer[v.Disagreement] = map[string]Verdict{}
		}
		if v.Ruling == "" {
			delete(byReviewer[v.Disagreement], v.By)
			continue
		}
		byReviewer[v.Disagreement][v.By] = v
	}
	out := map[Disagreement]Verdict{}
	for d, each := range byReviewer {
		var evidence Evidence
		var list []Verdict
		for _, v := range each {
			list = append(list, v)
			if v.Number > 0 {
				evidence = v.Evidence
			}
		}
		for i := range list {
			list[i].Evidence = evidence // all of one run's, which has not changed since
		}
		s := stand(evidence, "", list)
		if s.State != Decided {
			continue
		}
		for _, v := range s.Verdicts {
			if v.Ruling == s.Ruling && (v.Adjudicates || !s.Adjudicated) {
				out[d] = v
			}
		}
	}
	return out
}

func newer(v Verdict, run string, old Remembered) bool {
	if v.Adjudicates != old.Verdict.Adjudicates {
		return v.Adjudicates
	}
	return cmp.Or(v.At.Compare(old.Verdict.At), cmp.Compare(run, old.Run), cmp.Compare(v.Number, old.Verdict.Number)) > 0
}
