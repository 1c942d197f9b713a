// Package pairing makes pairs of recorded episodes: it evaluates the checks of
// each, matches the episodes of two arms by key, says in which cell of the table
// each pair belongs and where its episodes first did different things, and puts
// the discordant pairs into the queue for a person.
//
// Everything here is a pure function of what a run left on disk.
//
// Start with [Match], for the pairs of two arms, and [Count], for their table. Whether the
// table says anything is for package analysis/stats.
package pairing
