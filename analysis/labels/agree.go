package labels

import (
	"fmt"
	"strconv"

	"github.com/doubletake-dev/doubletake/analysis/agreement"
	"github.com/doubletake-dev/doubletake/pairing/labelling"
)

// agree measures how raters agree on truth, on grounding and on each criterion.
func (r *Report) agree(set *labelling.Set, ratings []*labelling.Rating, o Options) error {
	truth, grounding, scored := labelsOf(set, ratings)
	measure := func(labels []agreement.Label, categories, positive []string) (agreement.Report, error) {
		return agreement.Measure(labels, agreement.Options{Categories: categories, Positive: positive, Confidence: o.Confidence, Seed: set.Key.Seed})
	}
	var err error
	// What a judge is there to find: claims that are not so, or that had no grounds.
	r.People.Truth, err = measure(truth, names(labelling.Truths()), names([]labelling.Truth{labelling.False, labelling.TruthUnsupported}))
	if err != nil {
		return fmt.Errorf("agreement on truth: %w", err)
	}
	known := []labelling.Grounding{labelling.Supported, labelling.GroundingUnsupported}
	r.People.Grounding, err = measure(grounding, names(known), names(known[1:]))
	if err != nil {
		return fmt.Errorf("agreement on grounding: %w", err)
	}
	r.Judge.Truth, r.People.Truth.Judge = r.People.Truth.Judge, nil
	r.Judge.Grounding, r.People.Grounding.Judge = r.People.Grounding.Judge, nil
	r.People.ByCriterion = map[string]agreement.Report{}
	var scores []string
	for score := labelling.LowestScore; score <= labelling.HighestScore; score++ {
		scores = append(scores, strconv.Itoa(score))
	}
	for _, c := range (labelling.Quality{}).Criteria() {
		report, err := measure(scored[c.Name], scores, nil)
		if err != nil {
			return fmt.Errorf("agreement on %s: %w", c.Name, err)
		}
		report.Judge = nil
		r.People.ByCriterion[c.Name] = report
	}
	return nil
}

func names[T ~string](values []T) []string {
	out := make([]string, len(values))
	for i := range values {
		out[i] = string(values[i])
	}
	return out
}

// labelsOf turns ratings into labels of units: of each claim for truth and grounding, of
// each case for the criteria. Only what was reviewed is labelled.
func labelsOf(set *labelling.Set, ratings []*labelling.Rating) (truth, grounding []agreement.Label, scored map[string][]agreement.Label) {
	scored = map[string][]agreement.Label{}
	for _, rating := range ratings {
		if rating.ReviewState != labelling.Reviewed {
			continue
		}
		label := agreement.Label{Group: set.Cases[rating.SampleID].Group, Rater: rating.Rater, Judge: rating.Kind == labelling.Judge}
		for _, x := range rating.Ratings {
			label.Unit = rating.SampleID + "/" + x.Claim
			label.Value = string(x.Truth)
			truth = append(truth, label)
			label.Value = string(x.Grounding)
			if x.Grounding == labelling.GroundingUnknown {
				label.Value = "" // could not tell
			}
			grounding = append(grounding, label)
		}
		label.Unit = rating.SampleID
		for _, c := range quality(rating) {
			label.Value = ""
			if c.Score != nil {
				label.Value = strconv.Itoa(*c.Score)
			}
			scored[c.Name] = append(scored[c.Name], label)
		}
	}
	return truth, grounding, scored
}
