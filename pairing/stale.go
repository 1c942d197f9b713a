package pairing

import "github.com/doubletake-dev/doubletake/replay"

// EvidenceNow is what a verdict on a pair would rest on now.
func EvidenceNow(record *replay.Record, p *Pair) Evidence { return evidence(record, p) }

// Changed says which parts of what a verdict rests on are not what they were: the
// fixture, or what the first or the second arm did.
func (e Evidence) Changed(now Evidence) (fixture, first, second bool) {
	return e.Fixture != now.Fixture, e.First != now.First, e.Second != now.Second
}
