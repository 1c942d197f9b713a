// Package mutant breaks the output of a good compactor in one known way at a time, so
// that a set can be asked whether it would have noticed. Mutants know the items: they
// are the examiner's tools, and no compactor under test ever sees one.
package mutant
