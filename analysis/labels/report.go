package labels

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/doubletake-dev/doubletake/analysis/agreement"
	"github.com/doubletake-dev/doubletake/pairing/labelling"
)

// What every report ends with.
const (
	NotAssessed = "not-assessed"
	Advisory    = agreement.Advisory
)

// Report is what the labels of a run say. Agreement is that before any adjudication: there
// is none here, and a claim on which people differ stays disputed.
type Report struct {
	Run    string          `json:"run"`
	Frame  labelling.Frame `json:"pairs"`
	Cases  int             `json:"cases"` // that can be labelled
	Claims int             `json:"claims"`
	// Capture counts samples by how well their output was captured, Producer by how the
	// episode ended. Failed captures are in no other count.
	Capture  map[labelling.CaptureStatus]int `json:"capture"`
	Producer map[string]int                  `json:"producerStatus"`
	Coverage map[labelling.Coverage]int      `json:"claimCoverage"`
	// Stale counts ratings of cases that have changed since, which count nowhere else.
	Stale int `json:"stale"`
	// Unblinded counts the cases that a rater rated in the grounding stage alone: their
	// truth and quality were judged with texts in view that tell the arms apart.
	Unblinded int            `json:"unblinded"`
	Literals  []LiteralTally `json:"literalChecks"`
	People    People         `json:"human"`
	Judge     JudgeReport    `json:"judge"`
	// Rates are of people's labels alone.
	Rates []Rate   `json:"rates"`
	Notes []string `json:"notes"`

	ReleaseDecision string `json:"releaseDecision"` // always not-assessed
	JudgeUse        string `json:"judgeUse"`        // always advisory-only
}

// Tally counts what raters of one kind said.
type Tally struct {
	Raters []string `json:"raters"`
	// ReviewState counts the cases: reviewed where a rater of this kind reviewed it, else
	// withheld where one withheld, else not reviewed.
	ReviewState map[labelling.ReviewState]int `json:"reviewState"`
	// Labels counts ratings of claims, TruthGrounding the same by truth, then grounding.
	Labels         int                                             `json:"labels"`
	TruthGrounding map[labelling.Truth]map[labelling.Grounding]int `json:"truthByGrounding"`
	// Quality counts scores by criterion; null is unscored.
	Quality map[string]map[string]int `json:"quality"`
}

// People is what people said.
type People struct {
	Tally
	Truth     agreement.Report `json:"truth"`
	Grounding agreement.Report `json:"grounding"`
	// ByCriterion is the agreement on each criterion of quality.
	ByCriterion map[string]agreement.Report `json:"qualityAgreement"`
}

// JudgeReport is what judges said, and how that compares with people. It is advisory.
type JudgeReport struct {
	Tally
	// Truth and Grounding are nil without a judge.
	Truth     *agreement.Judge `json:"truth"`
	Grounding *agreement.Judge `json:"grounding"`
}

// LiteralTally counts literal checks by the text that was looked at.
type LiteralTally struct {
	Text    string `json:"text"` // output, or a role of evidence
	Present int    `json:"annotated-text-present"`
	Abstain int    `json:"abstain"`
}

// Options say how labels are looked at.
type Options struct {
	// Confidence is that of intervals, in (0, 1); 0 means 0.95.
	Confidence float64
}

const defaultConfidence = 0.95

// New finds the report of the ratings of a set. It is an error if ratings contradict each
// other in a way that [labelling.Set.Check] refuses.
func New(set *labelling.Set, batches []labelling.Batch, o Options) (*Report, error) {
	if o.Confidence == 0 {
		o.Confidence = defaultConfidence
	}
	r := &Report{
		Run: set.Key.Run, Frame: set.Key.Frame,
		Capture: map[labelling.CaptureStatus]int{}, Producer: map[string]int{}, Coverage: map[labelling.Coverage]int{},
		Notes: []string{}, ReleaseDecision: NotAssessed, JudgeUse: Advisory,
	}
	r.countSamples(set)
	ratings := r.current(set, batches)
	r.People.Tally = tally(set, ratings, labelling.Human)
	r.Judge.Tally = tally(set, ratings, labelling.Judge)
	if err := r.agree(set, ratings, o); err != nil {
		return nil, err
	}
	var err error
	if r.Rates, err = rates(set, ratings, o.Confidence); err != nil {
		return nil, err
	}
	r.note(set)
	return r, nil
}

func (r *Report) countSamples(set *labelling.Set) {
	for _, status := range labelling.CaptureStatuses() {
		r.Capture[status] = 0
	}
	literals := map[string]*LiteralTally{}
	for _, id := range slices.Sorted(maps.Keys(set.Samples)) {
		s := set.Samples[id]
		r.Capture[s.Capture.Status]++
		r.Producer[string(s.Capture.Producer)]++
		c := set.Cases[id]
		if c == nil {
			continue
		}
		r.Cases++
		r.Claims += len(c.Request.Claims)
		r.Coverage[c.ClaimCoverage]++
		for _, check := range s.Literals {
			text := check.Text
			if check.Role != "" {
				text = string(check.Role)
			}
			if literals[text] == nil {
				literals[text] = &LiteralTally{Text: text}
			}
			if check.Result == labelling.LiteralPresent {
				literals[text].Present++
			} else {
				literals[text].Abstain++
			}
		}
	}
	r.Literals = []LiteralTally{}
	for _, text := range slices.Sorted(maps.Keys(literals)) {
		r.Literals = append(r.Literals, *literals[text])
	}
}

// current keeps the ratings of cases as they are now: one a rater and case, joined of the
// last one of each stage. A rating follows another of its stage only where that one
// reviewed nothing.
func (r *Report) current(set *labelling.Set, batches []labelling.Batch) (list []*labelling.Rating) {
	type who struct{ sample, rater string }
	at := map[who]int{}
	var stages [][2]*labelling.Rating // the blind one, the one with all evidence
	for _, b := range batches {
		for i := range b.Ratings {
			rating := &b.Ratings[i]
			form := set.Of(rating)
			if form == nil {
				r.Stale++
				continue
			}
			key := who{rating.SampleID, rating.Rater}
			k, ok := at[key]
			if !ok {
				k = len(stages)
				at[key] = k
				stages = append(stages, [2]*labelling.Rating{})
			}
			if form.Request.Stage == labelling.Grounded {
				stages[k][1] = rating
			} else {
				stages[k][0] = rating
			}
		}
	}
	for _, s := range stages {
		joined := joinStages(s[0], s[1])
		if joined == s[1] && joined.ReviewState == labelling.Reviewed {
			r.Unblinded++
		}
		list = append(list, joined)
	}
	return list
}

// joinStages is what a rater says about a case in both stages: truth and quality as judged
// blind, grounding as judged with everything in view. Either may be nil.
func joinStages(blind, whole *labelling.Rating) *labelling.Rating {
	switch {
	case whole == nil || blind != nil && whole.ReviewState != labelling.Reviewed:
		return blind
	case blind == nil || blind.ReviewState != labelling.Reviewed:
		return whole
	}
	joined := *blind
	joined.Ratings = slices.Clone(blind.Ratings)
	for i := range joined.Ratings {
		x := &joined.Ratings[i]
		if k := slices.IndexFunc(whole.Ratings, func(y labelling.ClaimRating) bool { return y.Claim == x.Claim }); k >= 0 {
			x.Grounding, x.Evidence = whole.Ratings[k].Grounding, whole.Ratings[k].Evidence
		}
	}
	return &joined
}

func tally(set *labelling.Set, ratings []*labelling.Rating, kind labelling.Kind) Tally {
	t := Tally{
		Raters: []string{}, ReviewState: map[labelling.ReviewState]int{},
		TruthGrounding: map[labelling.Truth]map[labelling.Grounding]int{}, Quality: map[string]map[string]int{},
	}
	for _, truth := range labelling.Truths() {
		t.TruthGrounding[truth] = map[labelling.Grounding]int{}
		for _, grounding := range labelling.Groundings() {
			t.TruthGrounding[truth][grounding] = 0
		}
	}
	for _, c := range (labelling.Quality{}).Criteria() {
		t.Quality[c.Name] = map[string]int{}
	}
	states := map[string]labelling.ReviewState{}
	for _, rating := range ratings {
		if rating.Kind != kind {
			continue
		}
		if !slices.Contains(t.Raters, rating.Rater) {
			t.Raters = append(t.Raters, rating.Rater)
		}
		if old := states[rating.SampleID]; old == "" || rank(rating.ReviewState) < rank(old) {
			states[rating.SampleID] = rating.ReviewState
		}
		if rating.ReviewState != labelling.Reviewed {
			continue
		}
		for _, x := range rating.Ratings {
			t.Labels++
			t.TruthGrounding[x.Truth][x.Grounding]++
		}
		for _, c := range quality(rating) {
			t.Quality[c.Name][scoreName(c.Score)]++
		}
	}
	slices.Sort(t.Raters)
	for _, state := range labelling.ReviewStates() {
		t.ReviewState[state] = 0
	}
	for id := range set.Cases {
		state := states[id]
		if state == "" {
			state = labelling.NotReviewed
		}
		t.ReviewState[state]++
	}
	return t
}

// rank orders the states: one rater who reviewed a case makes it reviewed.
func rank(s labelling.ReviewState) int { return slices.Index(labelling.ReviewStates(), s) }

func quality(r *labelling.Rating) []labelling.Criterion {
	if r.ExpectedQuality == nil {
		return labelling.Quality{}.Criteria()
	}
	return r.ExpectedQuality.Criteria()
}

// unscored is the name of no score.
const unscored = "null"

// scoreName is a score by its name.
func scoreName(score *int) string {
	if score == nil {
		return unscored
	}
	return strconv.Itoa(*score)
}

func (r *Report) note(set *labelling.Set) {
	if r.Stale > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("%s of cases that have changed since left out", counted(r.Stale, "rating")))
	}
	if r.Unblinded > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("%s given in the grounding stage alone: their truth and quality are of raters who could see which side was compacted", counted(r.Unblinded, "rating")))
	}
	if set.Key.Frame == labelling.Discordant {
		r.Notes = append(r.Notes, "the pairs were chosen by how they came out: rates over them describe these pairs, and no others")
	}
	if r.Judge.Labels > 0 && r.People.Labels == 0 {
		r.Notes = append(r.Notes, "only a judge labelled: there is nothing to hold it against")
	}
	sessions := map[string]bool{}
	for _, c := range set.Cases {
		sessions[c.Group] = true
	}
	if r.People.Labels > 0 && r.Claims > len(sessions) {
		r.Notes = append(r.Notes, fmt.Sprintf("the claims, %d of them, come from %s: intervals of kappa take claims for independent, and are too narrow by as much as they are not", r.Claims, counted(len(sessions), "session")))
	}
	if n := r.Coverage[labelling.Selected]; n > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("in %s only some of the claims were asked about: no rate over whole answers", counted(n, "case")))
	}
}
