package stats

// Bonferroni controls the probability of any false rejection under any
// dependence by min(1, m p). [Holm] does the same and rejects whatever this
// does, and more; it is here for comparison.
//
// Nil p values and errors are as for [Holm].
func Bonferroni(p []*float64) (Adjusted, error) {
	return adjust(p, func(sorted []float64) {
		for i, x := range sorted {
			sorted[i] = min(1, float64(len(sorted))*x)
		}
	})
}
