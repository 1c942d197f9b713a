package pairing

import (
	"cmp"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

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
	Checks   []string `json:"checks,omitempty"`
	// Adjudicated says that a verdict settled what reviewers did not agree on.
	Adjudicated bool `json:"adjudicated,omitempty"`
	// Verdicts are those that stand, one a reviewer, in the order in which they were given.
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
	// Digests of episodes take long: there are some for what was decided alone, and several
	// are made at once.
	var next atomic.Int64
	var wait sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(queue)) {
		wait.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(queue); i = int(next.Add(1)) - 1 {
				on := byPair[queue[i].ID]
				var now Evidence
				if len(on) > 0 {
					now = evidence(record, &queue[i].Pair)
				}
				list[i] = stand(now, queue[i].ID, on)
			}
		})
	}
	wait.Wait()
	return list
}

func stand(now Evidence, pair string, verdicts []Verdict) Standing {
	s := Standing{Pair: pair, State: Undecided, Verdicts: []Verdict{}}
	last := map[string]Verdict{}
	all := standingLines(verdicts)
	for by, lines := range all {
		v := lines[len(lines)-1]
		if v.Evidence != now {
			s.Stale = append(s.Stale, v)
			continue
		}
		last[by] = v
	}
	slices.SortFunc(s.Stale, compareLines)
	for _, v := range last {
		s.Verdicts = append(s.Verdicts, v)
	}
	slices.SortFunc(s.Verdicts, compareLines)
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
	case len(settled) > 0 && differ(opinions(all, now)):
		s.decide(settled[len(settled)-1])
		s.Adjudicated = true
	case len(telling) == 0:
	case differ(telling):
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

// opinions are what each reviewer who could tell said last without settling anything.
func opinions(standing map[string][]Verdict, now Evidence) []Verdict {
	var said []Verdict
	for _, lines := range standing {
		for _, v := range slices.Backward(lines) {
			if v.Adjudicates || v.Evidence != now {
				continue
			}
			if v.Ruling != CannotTell {
				said = append(said, v)
			}
			break
		}
	}
	return said
}

// differ says whether not all verdicts have one ruling.
func differ(verdicts []Verdict) bool {
	return slices.ContainsFunc(verdicts, func(v Verdict) bool { return v.Ruling != verdicts[0].Ruling })
}

// standingLines are the lines on one pair that were not taken back, by reviewer: a line
// without a ruling takes the reviewer's last one back, and what stood before stands again.
func standingLines(verdicts []Verdict) map[string][]Verdict {
	lines := map[string][]Verdict{}
	for _, v := range inOrder(verdicts) {
		by := ReviewerKey(v.By)
		switch n := len(lines[by]); {
		case v.Ruling != "":
			lines[by] = append(lines[by], v)
		case n > 1:
			lines[by] = lines[by][:n-1]
		default:
			delete(lines, by)
		}
	}
	return lines
}

// FirstRatings are what each reviewer ruled on a pair before they knew what others say:
// their first ruling on it, whether it was taken back or not, since what others ruled is
// shown from then on. Who first took over the verdict of an earlier night, or settled a
// dispute, rated nothing. Lines on evidence that has changed are passed over. A reviewer
// is spelled in one way throughout.
//
// Those that are not blind are apart: their reviewer may have seen what others ruled, and
// knew in any case what an independent rater does not.
func FirstRatings(record *replay.Record, queue []Entry, verdicts []Verdict) (blind, open []Verdict) {
	byPair, spelled := map[string][]Verdict{}, map[string]string{}
	for _, v := range inOrder(verdicts) {
		if spelled[ReviewerKey(v.By)] == "" {
			spelled[ReviewerKey(v.By)] = v.By
		}
		byPair[v.Pair] = append(byPair[v.Pair], v)
	}
	for i := range queue {
		on := byPair[queue[i].ID]
		if len(on) == 0 { // digests take long
			continue
		}
		now := evidence(record, &queue[i].Pair)
		rated := map[string]bool{}
		for _, v := range on {
			by := ReviewerKey(v.By)
			if v.Ruling == "" || v.Evidence != now || rated[by] {
				continue
			}
			rated[by] = true
			if v.Adjudicates || v.From != "" {
				continue
			}
			v.By = spelled[by]
			if v.Blind {
				blind = append(blind, v)
			} else {
				open = append(open, v)
			}
		}
	}
	return blind, open
}

func (s *Standing) decide(v Verdict) {
	if v.Ruling == CannotTell {
		return // settled that nobody can tell
	}
	s.State, s.Ruling, s.Severity, s.Checks = Decided, v.Ruling, v.Severity, v.Checks
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
	if len(last) == 0 {
		return found, nil
	}
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
	byDisagreement := map[Disagreement][]Verdict{}
	for _, v := range verdicts {
		byDisagreement[v.Disagreement] = append(byDisagreement[v.Disagreement], v)
	}
	out := map[Disagreement]Verdict{}
	for d, list := range byDisagreement {
		list = inOrder(list)
		evidence := list[len(list)-1].Evidence
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
