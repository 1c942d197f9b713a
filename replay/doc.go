// Package replay plays fixtures: it plans which episodes a run needs, compacts
// the prefix of each at its compaction points, lets the agent speak after the
// fork, and journals what happened so that nothing is lost or paid twice.
//
// Models, tools and compactors are reached only from here, through the small
// interfaces [Model], [Compactor], [Tools] and [Judge]; their implementations
// live in the packages below. The engine never sees a check or a grade.
package replay
