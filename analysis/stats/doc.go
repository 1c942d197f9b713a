// Package stats is the arithmetic of a paired comparison: numbers in, numbers
// out. It knows nothing of recordings, arms or reports.
//
// # Words
//
// A pair is one item answered by both arms. A loss is a pair the reference
// passed and the candidate failed; a gain is the reverse. Those two are the
// discordant pairs, all others are concordant. A difference is
//
//	(losses - gains) / pairs
//
// that is, the reference's pass rate minus the candidate's: positive means
// that the candidate is worse, everywhere in this package. "Worse" in a name
// is the one-sided question "is the candidate worse?", fixed before the data.
//
// # Rules
//
// Probabilities, rates and levels lie in [0, 1], never in percent. Impossible
// input (a negative count, a level outside (0, 1)) is an error. Possible input
// for which a value does not exist is not an error: the value is a nil pointer
// and a Reason beside it says why, so that no NaN and no Inf reaches a file
// and nobody mistakes "undefined" for zero. Functions are pure and results do
// not depend on the order of clusters, labels or map keys.
//
// # Which to use
//
// [McNemar] tests independent pairs and [SignFlip] pairs that come in
// sessions; with one pair a session they are the same test. [TangoInterval]
// estimates the difference and [NonInferiority] asks whether it is below a
// margin; the two invert the same statistic, so that they contradict each other
// only where, without gains, [NonInferiority] asks for an exact test as well.
// [SmallestDetectable] says what a suite of a given size cannot see.
// [EProcess] may be looked at after every pair; none of the others may.
//
// # Caveats
//
// A large p is no evidence of safety; only [NonInferiority] gives that, and it
// speaks about the whole suite. Three catastrophes in 200 pairs pass a five
// point margin: severity needs a gate of its own, outside statistics.
package stats
