// Package replay plays fixtures: it plans which episodes a run needs, compacts
// the prefix of each at its compaction points, lets the agent speak after the
// fork, and journals what happened so that nothing is lost or paid twice.
//
// Models, tools and compactors are reached only from here, through the small
// interfaces [Model], [Compactor], [Tools] and [Executor]; their implementations
// live in the packages below. The engine never sees a check or a grade.
//
// Start with package trial, which puts an [Engine] together for a set and a compactor, or
// with [Compactor] for a compactor of your own. A run is left on disk and read back with
// [ReadRecord]; what it means is found by the packages pairing and analysis, which need
// nothing else.
package replay
