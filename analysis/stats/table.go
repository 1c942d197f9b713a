package stats

import "fmt"

// PointProbability returns P(X = losses) for X ~ Bin(losses+gains, 1/2), the mass
// that the mid-p values of [McNemar] count by half. It is the same, to the last
// bit, for swapped arguments, and 1 without a discordant pair.
//
// It is an error if a count is negative or above 10^9.
func PointProbability(losses, gains int) (float64, error) {
	if err := checkCounts(losses, gains); err != nil {
		return 0, err
	}
	return fairTails(min(losses, gains), losses+gains).point, nil
}

// Correlation returns phi of the table of both arms, its numerator corrected for
// continuity as in [NewcombeInterval]. It is 0 where an arm passed everything or
// nothing.
//
// It is an error if a count is negative or above 10^9.
func Correlation(bothPass, losses, gains, bothFail int) (float64, error) {
	if err := checkCounts(losses, gains); err != nil {
		return 0, err
	}
	if err := checkCounts(bothPass, bothFail); err != nil {
		return 0, fmt.Errorf("concordant pairs: %w", err)
	}
	return correlation(float64(bothPass), float64(losses), float64(gains), float64(bothFail), true), nil
}
