// Package review serves the local web page on which people decide the discordant pairs of
// a run. It reads what the run left, and writes verdicts through [pairing.Review] and
// nothing else.
//
// The page is blind by default: the two sides of a pair are shuffled by pair and
// reviewer, and nothing that is sent to the browser says which arm is which before the
// reviewer's verdict is in: neither names, sizes and costs, nor whether the pair is a loss
// or a gain, nor what became of the items, nor what others ruled. What the sides did and
// what the checks say of it is what is judged, and stays visible (a check for the same
// calls as the reference therefore says which side is not it). The contexts show by
// themselves which side was compacted; a reviewer who wants them before deciding ends the
// blindness of that pair, which is written to the log, and the verdict then stands there
// as not blind.
package review
