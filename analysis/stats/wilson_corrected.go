package stats

import "math"

// WilsonCorrectedInterval is Wilson's interval with a continuity correction,
// Newcombe's method 4:
//
//	(2x + z^2 -+ 1 -+ z sqrt(z^2 -+ 2 - 1/n + 4 p (n(1-p) +- 1))) / (2 (n + z^2))
//
// It is wider than [WilsonInterval] and covers nearly as surely as
// [ClopperPearsonInterval]. The lower limit is exactly 0 for x = 0 and the upper
// exactly 1 for x = n; swapping x and n-x mirrors the interval.
//
//	R. Newcombe, Statistics in Medicine 17, 1998, p. 857-872.
//
// Undefined values and errors are those of [WilsonInterval].
func WilsonCorrectedInterval(x, n int, conf float64) (Estimate, error) {
	return proportionInterval(x, n, conf, func() (low, high float64) {
		z := confZ(conf)
		return wilsonCorrectedLower(x, n, z), 1 - wilsonCorrectedLower(n-x, n, z)
	})
}

func wilsonCorrectedLower(x, n int, z float64) float64 {
	if x == 0 {
		return 0
	}
	hits, misses, total := float64(x), float64(n-x), float64(n)
	root := math.Sqrt(z*z - 2 - 1/total + 4*hits*(misses+1)/total)
	return max(0, (2*hits+z*z-1-z*root)/(2*(total+z*z)))
}
