// Package compact holds the compactors that come with doubletake, and the driver
// for compactors that are commands of their own.
//
// [New] makes a built-in one by its name ([Names] lists them), [NewExec] one that
// runs a command at every compaction. All of them are safe for concurrent use,
// leave their input alone, give the same output for the same input, and name all
// that their output depends on in a [Digest].
//
// None of them knows an item, a probe or a check: what binds a later turn is, for
// the ledger, what [Binding] reads in the text.
package compact
