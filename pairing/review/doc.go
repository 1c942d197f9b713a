// Package review serves the local web page on which people decide the discordant pairs of
// a run. It reads what the run left, and writes verdicts through [pairing.Review], with
// who saw which arms, and nothing else.
//
// # Blindness
//
// The page is blind by default: the two sides of a pair are shuffled by pair and reviewer,
// and what is sent to the browser before the reviewer's verdict is in says neither which
// arm is which nor what to think:
//
//   - no names of arms, sizes and costs, nor whether the pair is a loss or a gain;
//   - not what became of the items, nor in the list which classes of items were lost;
//   - not what the checks found on a side. What each check asks is shown, with whether the
//     sides differ in it, and which calls of each side it looks at: the calls of the tools
//     that its expression names, whether they satisfy it or not. A check for the same calls
//     as the reference therefore doesn't say which side the reference is;
//   - not the fixture's name, title and group, which tell what goes wrong there after a
//     compaction: a pair is called by its number, and by a handle in addresses;
//   - not what others ruled, even where the sides are named, and not that they did, unless
//     they dispute the pair; and of a verdict that an earlier night gave on the same
//     disagreement only that there is one. A key takes it unseen; the verdict then stands
//     in the log as not blind, and the page shows what was taken, which can be undone.
//
// What the sides did and said is what is judged, and is shown whole. The contexts show by
// themselves which side was compacted; a reviewer who wants them before deciding ends the
// blindness of that pair, which is a line of the log without a ruling.
//
// A verdict is kept as blind only where nothing in the run directory says that its reviewer
// knew the arms of the pair by then: no earlier line of theirs on it in the log of verdicts,
// and none in [pairing.UnblindedFile], to which a page that names the sides writes each pair
// that it opens, and the terminal each pair that it prints with its arms. Such a pair is
// shown with its sides named. A note or a severity that is changed later does not unmake
// that the ruling was blind.
//
// # Reviewers
//
// One server is the only writer of the log, and may serve several people. Each has a token,
// which is in the address that they are given. It is exchanged for a session, whose number
// means nothing elsewhere; what changes something shows the token as well. Who decides
// follows from that alone, never from what a request says. Each sees first the pairs that
// are assigned to them, and knows only what they saw themselves.
package review
