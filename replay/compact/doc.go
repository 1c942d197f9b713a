// Package compact holds the compactors that come with doubletake, and the drivers
// for foreign ones.
//
// [New] makes a built-in one by its name ([Names] lists them), [NewExec] one that
// runs a command at every compaction, [NewProcess] one that is a command that stays,
// [NewHTTP] one that answers by HTTP, and [NewSaved] one whose outputs were made
// before. The four read and write the same objects. [NewOpenAICompact] and
// [NewAnthropicCompact] ask for a provider's own compaction, and [NewInjected] makes a
// built-in compactor whose model fails on purpose. All of them are safe for concurrent use,
// leave their input alone, give the same output for the same input, and name all
// that their output depends on in a [Digest].
//
// The two that ask a provider are tested against servers that were written from the
// providers' public documentation, not against the providers.
//
// None of them knows an item, a probe or a check: what binds a later turn is, for
// the ledger, what [Binding] reads in the text.
//
// A compactor of your own needs none of this: implement [replay.Compactor], hold it to
// compacttest.TestCompactor, and play it with package replay/trial. README.md beside this
// file shows every way to plug one in.
package compact
