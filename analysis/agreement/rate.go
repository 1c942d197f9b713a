package agreement

import (
	"fmt"

	"github.com/doubletake-dev/doubletake/analysis/stats"
)

// Sample is how a stratum of labelled work came about: what decides whether a rate over
// it says anything about work that was not looked at.
type Sample struct {
	// HeldOut and Random say that the work was kept apart and drawn at random.
	HeldOut bool
	Random  bool
	// Exhaustive says that everything in each work item was labelled, not a selection.
	Exhaustive bool
	// WholeItems says that the unit is the work item (any error in it counts once).
	WholeItems bool
	// Unlabelled, Disputed and UnknownGrounding count work items that lack a label, on
	// which people disagree, or whose grounding is not known.
	Unlabelled       int
	Disputed         int
	UnknownGrounding int
	// Models and Prompts count the different model and prompt digests; 0 is unknown.
	Models  int
	Prompts int
	// Arms counts the arms in the stratum.
	Arms int
	// Attempts are the numbers of attempts by work item.
	Attempts []int
	// JudgeOnly says that no person labelled, Provisional that labels may still change.
	JudgeOnly   bool
	Provisional bool
}

// Unfit says why a rate over the sample gets no interval, or returns the empty string.
func (s Sample) Unfit() string {
	switch {
	case !s.Random:
		return "not a random sample"
	case !s.HeldOut:
		return "not held out: the work was looked at while the change was made"
	case !s.Exhaustive:
		return "a selection of claims, not all of them"
	case !s.WholeItems:
		return "the unit is not the work item"
	case s.JudgeOnly:
		return "only a judge labelled"
	case s.Provisional:
		return "the labels are provisional"
	case s.Unlabelled > 0:
		return fmt.Sprintf("%d work items have no label", s.Unlabelled)
	case s.Disputed > 0:
		return fmt.Sprintf("%d work items are disputed", s.Disputed)
	case s.UnknownGrounding > 0:
		return fmt.Sprintf("the grounding of %d work items is unknown", s.UnknownGrounding)
	case s.Models == 0:
		return "which model answered is unknown"
	case s.Models > 1:
		return "several models answered"
	case s.Prompts == 0:
		return "which prompt was used is unknown"
	case s.Prompts > 1:
		return "several prompts were used"
	case s.Arms != 1:
		return "more than one arm"
	}
	for _, n := range s.Attempts {
		if n != s.Attempts[0] {
			return "unequal attempts"
		}
	}
	return ""
}

// Rate counts x of n work items, with Wilson limits where the sample is fit for them.
// The limits are marginal: each alone has the confidence, not all of a report together.
// It is an error if the counts are impossible or the confidence is not in (0, 1).
func (s Sample) Rate(x, n int, confidence float64) (Share, error) {
	wilson, err := stats.WilsonInterval(x, n, confidence)
	if err != nil {
		return Share{}, err
	}
	share := Share{Count: x, Total: n, Value: wilson.Value, Reason: wilson.Reason}
	if reason := s.Unfit(); reason != "" {
		share.Reason = reason
		return share, nil
	}
	if wilson.Interval != nil {
		share.Low, share.High = &wilson.Interval.Low, &wilson.Interval.High
	}
	return share, nil
}
