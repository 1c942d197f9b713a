package analysis

import (
	"fmt"
	"maps"
	"slices"

	"github.com/doubletake-dev/doubletake/replay"
)

// Rubric is what the advisory rubric says: how well the agent answered questions about
// what compactions cut away. No gate and no verdict looks at it.
type Rubric struct {
	Advisory bool            `json:"advisory"` // always true
	Rubric   replay.RubricID `json:"rubric"`
	Agent    string          `json:"agent"`
	Judge    string          `json:"judge"`
	// Arms holds what was rated under each arm that compacts.
	Arms map[string]RubricArm `json:"arms"`
	// Paired compares candidate and incumbent over the probes that both were asked;
	// null with a reason where there are none.
	Paired       *RubricPaired `json:"paired"`
	PairedReason string        `json:"paired_reason,omitempty"`
	Notes        []string      `json:"notes"`
}

// RubricScores are counts and means of probes.
type RubricScores struct {
	Asked    int `json:"asked"`
	Scored   int `json:"scored"`
	Unscored int `json:"unscored"`
	// Dimensions are the means over the scored probes that ask for the dimension; a
	// probe's own is the weighted mean of its criteria.
	Dimensions map[string]float64 `json:"dimensions"`
	// Overall is the plain mean of the dimensions, null where nothing is scored.
	Overall *float64 `json:"overall"`
	Reason  string   `json:"reason,omitempty"`
}

// RubricArm is what was rated under an arm, in all and by kind of probe.
type RubricArm struct {
	RubricScores
	Kinds map[replay.ProbeKind]RubricScores `json:"kinds"`
	// Reasons count why probes went unscored.
	Reasons map[string]int `json:"unscored_reasons,omitempty"`
}

// RubricPaired is the candidate minus the incumbent over shared probes.
type RubricPaired struct {
	Incumbent string `json:"incumbent"`
	Candidate string `json:"candidate"`
	// Shared counts the probes that both answered with a score; OnlyIncumbent and
	// OnlyCandidate those that the other was not asked, because it lost something else,
	// or has no score for.
	Shared        int `json:"shared"`
	OnlyIncumbent int `json:"only_incumbent"`
	OnlyCandidate int `json:"only_candidate"`
	// Better, Worse and Equal count shared probes by the candidate's overall score.
	Better int `json:"better"`
	Worse  int `json:"worse"`
	Equal  int `json:"equal"`
	// Dimensions are mean differences by dimension, Overall their plain mean.
	Dimensions map[string]float64 `json:"dimensions"`
	Overall    float64            `json:"overall"`
}

// newRubric sums up the ratings of a run; nil where the rubric was not asked for.
func newRubric(record *replay.Record, incumbent, candidate string) *Rubric {
	if len(record.Ratings) == 0 {
		return nil
	}
	// Ratings of different rubrics are not comparable. They are ordered by the last use
	// of their rubric: the last one is of the newest.
	newest := record.Ratings[len(record.Ratings)-1]
	r := &Rubric{Advisory: true, Rubric: newest.Rubric, Agent: newest.Agent, Judge: newest.Judge, Arms: map[string]RubricArm{}, Notes: []string{}}
	by := map[string][]*replay.Rating{}
	disagreements, older := 0, 0
	for _, rating := range record.Ratings {
		if rating.Rubric != newest.Rubric {
			older++
			continue
		}
		by[rating.Arm] = append(by[rating.Arm], rating)
		if rating.Disagreement != "" {
			disagreements++
		}
	}
	if older > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("%s by another rubric left out: ratings of different rubrics are not mixed, and %s (%.12s) is the newest", counted(older, "rating"), newest.Rubric.Version, newest.Rubric.SHA256))
	}
	if disagreements > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("in %s the grader's own sums are not those of its scores; ours count", counted(disagreements, "rating")))
	}
	for _, arm := range record.Run.Plan.Arms {
		if arm.Kind != replay.CompactorArm && len(by[arm.Name]) == 0 {
			continue
		}
		r.Arms[arm.Name] = newRubricArm(by[arm.Name])
	}
	r.Paired, r.PairedReason = pairRatings(incumbent, candidate, by)
	r.Notes = append(r.Notes, "advisory: probes of one conversation hang together, so no test and no interval goes with these means")
	return r
}

func newRubricArm(ratings []*replay.Rating) RubricArm {
	arm := RubricArm{RubricScores: newRubricScores(ratings), Kinds: map[replay.ProbeKind]RubricScores{}, Reasons: map[string]int{}}
	for _, kind := range replay.ProbeKinds() {
		var of []*replay.Rating
		for _, rating := range ratings {
			if rating.Probe.Kind == kind {
				of = append(of, rating)
			}
		}
		arm.Kinds[kind] = newRubricScores(of)
	}
	for _, rating := range ratings {
		if rating.Status != replay.RatingScored {
			arm.Reasons[rating.Reason]++
		}
	}
	return arm
}

func newRubricScores(ratings []*replay.Rating) RubricScores {
	s := RubricScores{Asked: len(ratings)}
	var scored []map[string]float64
	for _, rating := range ratings {
		if rating.Status == replay.RatingScored {
			scored = append(scored, rating.Dimensions)
		}
	}
	s.Scored, s.Unscored = len(scored), len(ratings)-len(scored)
	s.Dimensions = meansOf(scored)
	switch {
	case len(s.Dimensions) > 0:
		overall := plainMean(s.Dimensions)
		s.Overall = &overall
	case s.Asked == 0:
		s.Reason = "no probe was asked"
	default:
		s.Reason = "no probe has a score"
	}
	return s
}

// meansOf is the mean of each dimension over the maps that have it.
func meansOf(list []map[string]float64) map[string]float64 {
	total, n := map[string]float64{}, map[string]int{}
	for _, dimensions := range list {
		for name, v := range dimensions {
			total[name] += v
			n[name]++
		}
	}
	for name := range total {
		total[name] /= float64(n[name])
	}
	return total
}

// plainMean is the unweighted mean of the dimensions, summed in the order of their names:
// a sum of floats depends on its order.
func plainMean(dimensions map[string]float64) float64 {
	total := 0.0
	for _, name := range slices.Sorted(maps.Keys(dimensions)) {
		total += dimensions[name]
	}
	return total / float64(len(dimensions))
}

func pairRatings(incumbent, candidate string, by map[string][]*replay.Rating) (*RubricPaired, string) {
	if incumbent == "" {
		return nil, "no incumbent"
	}
	at := func(r *replay.Rating) replay.RatingKey {
		key := r.Identity()
		key.Arm = "" // the same question, whoever answers
		return key
	}
	scored := func(arm string) map[replay.RatingKey]*replay.Rating {
		found := map[replay.RatingKey]*replay.Rating{}
		for _, rating := range by[arm] {
			if rating.Status == replay.RatingScored && len(rating.Dimensions) > 0 {
				found[at(rating)] = rating
			}
		}
		return found
	}
	old, now := scored(incumbent), scored(candidate)
	p := &RubricPaired{Incumbent: incumbent, Candidate: candidate}
	var differences []map[string]float64
	for _, rating := range by[incumbent] { // in the order of the record
		theirs, ours := old[at(rating)], now[at(rating)]
		if theirs != rating || ours == nil {
			continue
		}
		difference := map[string]float64{}
		for name, v := range ours.Dimensions {
			if before, ok := theirs.Dimensions[name]; ok {
				difference[name] = v - before
			}
		}
		differences = append(differences, difference)
		p.Shared++
		switch d := plainMean(ours.Dimensions) - plainMean(theirs.Dimensions); {
		case d > 0:
			p.Better++
		case d < 0:
			p.Worse++
		default:
			p.Equal++
		}
	}
	p.OnlyIncumbent, p.OnlyCandidate = len(old)-p.Shared, len(now)-p.Shared
	if p.Dimensions = meansOf(differences); len(p.Dimensions) == 0 {
		return nil, fmt.Sprintf("%s and %s share no scored probe", incumbent, candidate)
	}
	p.Overall = plainMean(p.Dimensions)
	return p, ""
}
