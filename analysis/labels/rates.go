package labels

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/doubletake-dev/doubletake/analysis/agreement"
	"github.com/doubletake-dev/doubletake/pairing/labelling"
)

// Rate is how many work items of a stratum have an error of one kind, by people's labels.
// A work item is a fixture; an error in any attempt at it counts once.
type Rate struct {
	Arm      string `json:"arm"`
	Sampling string `json:"sampling"`
	Split    string `json:"split"`
	Error    Error  `json:"error"`
	// WorkItems had an output captured that claims something; of them Unlabelled lack a
	// person's labels and Disputed have a claim on which people differ: neither is in the
	// share's total.
	WorkItems  int `json:"workItems"`
	Unlabelled int `json:"unlabelled"`
	Disputed   int `json:"disputed"`
	// UnknownGrounding have a claim whose grounding people call unknown.
	UnknownGrounding int `json:"unknownGrounding"`
	// Silent made no claim, Failed have no captured output; both are in no count above.
	Silent int `json:"silent"`
	Failed int `json:"failedCaptures"`
	agreement.Share
}

// Error is a kind of error that a claim can be.
type Error string

// The kinds of errors.
const (
	ClaimFalse       Error = "claim_false"
	ClaimUnsupported Error = "claim_unsupported" // the evidence says neither
	ClaimUngrounded  Error = "claim_ungrounded"  // the producer had no grounds for it
)

// Errors lists the kinds in the order in which reports print them.
func Errors() []Error { return []Error{ClaimFalse, ClaimUnsupported, ClaimUngrounded} }

// is says whether a claim is an error of the kind.
func (e Error) is(truth labelling.Truth, grounding labelling.Grounding) bool {
	switch e {
	case ClaimFalse:
		return truth == labelling.False
	case ClaimUnsupported:
		return truth == labelling.TruthUnsupported
	}
	return grounding == labelling.GroundingUnsupported
}

// Why a rate has no limits, beside what [agreement.Sample.Unfit] says.
const (
	reasonChosen    = "the discordant pairs were chosen by how they came out: not a random sample"
	reasonClustered = "several work items of one session: they are not independent"
	reasonSelected  = "a selection of claims, not all of them"
	reasonNone      = "no work item is labelled in full"
)

type stratum struct{ arm, sampling, split string }

// attempt is one case of a work item, with people's labels.
type attempt struct {
	sample *labelling.Sample
	form   *labelling.Case // nil where the capture failed
	people []*labelling.Rating
	judged bool
}

// rates counts errors by stratum and kind.
func rates(set *labelling.Set, ratings []*labelling.Rating, confidence float64) ([]Rate, error) {
	people, judged := map[string][]*labelling.Rating{}, map[string]bool{}
	for _, r := range ratings {
		if r.ReviewState != labelling.Reviewed {
			continue
		}
		if r.Kind == labelling.Human {
			people[r.SampleID] = append(people[r.SampleID], r)
		} else {
			judged[r.SampleID] = true
		}
	}
	strata := map[stratum]map[string][]attempt{} // by work item
	for _, id := range slices.Sorted(maps.Keys(set.Samples)) {
		s := set.Samples[id]
		key := stratum{s.Arm, s.Sampling, s.Split}
		if strata[key] == nil {
			strata[key] = map[string][]attempt{}
		}
		strata[key][string(s.Fixture)] = append(strata[key][string(s.Fixture)], attempt{s, set.Cases[id], people[id], judged[id]})
	}
	list := []Rate{}
	for _, key := range slices.SortedFunc(maps.Keys(strata), func(a, b stratum) int {
		return cmp.Or(cmp.Compare(a.arm, b.arm), cmp.Compare(a.sampling, b.sampling), cmp.Compare(a.split, b.split))
	}) {
		for _, kind := range Errors() {
			rate, err := newRate(key, set.Key.Frame, strata[key], kind, confidence)
			if err != nil {
				return nil, fmt.Errorf("rate of %s under %s: %w", kind, key.arm, err)
			}
			list = append(list, rate)
		}
	}
	return list, nil
}

func newRate(key stratum, frame labelling.Frame, items map[string][]attempt, kind Error, confidence float64) (Rate, error) {
	r := Rate{Arm: key.arm, Sampling: key.sampling, Split: key.split, Error: kind}
	sample := agreement.Sample{
		Random: key.sampling == "random", HeldOut: key.split == "held_out", Exhaustive: true, WholeItems: true, Arms: 1,
	}
	producers := newProducers()
	sessions := map[string]int{}
	errors, total, labelled, judged := 0, 0, false, false
	for _, name := range slices.Sorted(maps.Keys(items)) {
		w := look(items[name], kind)
		if w.captured == 0 {
			r.Failed++
			continue
		}
		if w.claims == 0 {
			r.Silent++
			continue
		}
		r.WorkItems++
		sample.Attempts = append(sample.Attempts, w.captured)
		sample.Exhaustive = sample.Exhaustive && w.exhaustive
		producers.add(items[name])
		sessions[items[name][0].sample.SessionGroup]++
		labelled, judged = labelled || w.labelled, judged || w.judged
		r.UnknownGrounding += count(w.unknown)
		r.Unlabelled += count(w.missing)
		r.Disputed += count(w.disputed && !w.missing)
		if !w.missing && !w.disputed {
			total++
			errors += count(w.errors)
		}
	}
	sample.Unlabelled, sample.Disputed, sample.UnknownGrounding = r.Unlabelled, r.Disputed, r.UnknownGrounding
	sample.Models, sample.Prompts = producers.counts()
	sample.JudgeOnly = judged && !labelled
	if !sample.Exhaustive { // not even a value: what was left out may hold an error
		r.Share = agreement.Share{Reason: reasonSelected}
		return r, nil
	}
	var err error
	if r.Share, err = sample.Rate(errors, total, confidence); err != nil {
		return r, err
	}
	switch {
	case sample.Random && frame != labelling.AllPairs:
		r.suppress(reasonChosen)
	case sample.Unfit() == "" && slices.ContainsFunc(slices.Collect(maps.Values(sessions)), func(n int) bool { return n > 1 }):
		r.suppress(reasonClustered)
	case total == 0 && sample.Unfit() == "":
		r.suppress(reasonNone)
	}
	return r, nil
}

func (r *Rate) suppress(reason string) { r.Low, r.High, r.Reason = nil, nil, reason }

func count(b bool) int {
	if b {
		return 1
	}
	return 0
}

// workItem is what people say about all attempts at a work item.
type workItem struct {
	captured, claims                                                 int
	exhaustive, labelled, judged, missing, disputed, unknown, errors bool
}

func look(attempts []attempt, kind Error) workItem {
	w := workItem{exhaustive: true}
	for _, a := range attempts {
		if a.form == nil {
			continue
		}
		w.captured++
		w.claims += len(a.form.Request.Claims)
		w.exhaustive = w.exhaustive && a.form.ClaimCoverage == labelling.Exhaustive
		w.judged = w.judged || a.judged
		if len(a.people) == 0 {
			w.missing = true
			continue
		}
		w.labelled = true
		for _, claim := range a.form.Request.Claims {
			w.claim(a.people, claim.ID, kind)
		}
	}
	return w
}

// claim adds what people say about one claim. They have all rated it: what is reviewed is
// complete.
func (w *workItem) claim(people []*labelling.Rating, id string, kind Error) {
	var first *labelling.ClaimRating
	for _, r := range people {
		i := slices.IndexFunc(r.Ratings, func(x labelling.ClaimRating) bool { return x.Claim == id })
		if i < 0 {
			w.missing = true
			continue
		}
		x := &r.Ratings[i]
		if first == nil {
			first = x
		}
		w.disputed = w.disputed || x.Truth != first.Truth || x.Grounding != first.Grounding
		w.unknown = w.unknown || x.Grounding == labelling.GroundingUnknown
		w.errors = w.errors || kind.is(x.Truth, x.Grounding)
	}
}

// producers gathers which models and prompts made the outputs of a stratum.
type producers struct {
	models, prompts map[string]bool
	unknownModel    bool
	unknownPrompt   bool
}

func newProducers() *producers {
	return &producers{models: map[string]bool{}, prompts: map[string]bool{}}
}

func (p *producers) add(attempts []attempt) {
	for _, a := range attempts {
		if a.form == nil {
			continue
		}
		from := a.sample.Provenance
		if from.Model == nil {
			p.unknownModel = true
		} else {
			name := *from.Model
			if from.Fingerprint != nil {
				name += "\x00" + *from.Fingerprint
			}
			p.models[name] = true
		}
		if from.PromptDigest == nil {
			p.unknownPrompt = true
		} else {
			p.prompts[*from.PromptDigest] = true
		}
	}
}

// counts is how many models and prompts there are; 0 where one is not known.
func (p *producers) counts() (models, prompts int) {
	models, prompts = len(p.models), len(p.prompts)
	if p.unknownModel {
		models = 0
	}
	if p.unknownPrompt {
		prompts = 0
	}
	return models, prompts
}
