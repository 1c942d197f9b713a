// Package story tells what happened to one pair of a run, from the recording to the
// verdict: where the compactions fell, what became of each item and by which sentence, what
// each arm did, and why the pair came out as it did.
//
// Start with [Tell]. It adds nothing to the verdict, and gates nothing.
package story
