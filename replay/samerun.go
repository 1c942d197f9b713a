package replay

import "fmt"

// SameRun says with an error in what the plan of somebody who is to play for a run differs
// from the run's.
func (p *Plan) SameRun(other Plan) error {
	difference, err := planDifference(*p, other)
	if err == nil && difference != "" {
		err = fmt.Errorf("%w (%s)", ErrOtherPlan, difference)
	}
	return err
}
