package labelling

import (
	"fmt"

	"github.com/doubletake-dev/doubletake/replay"
)

// Set is an export as the run holds it now: what ratings are held against.
type Set struct {
	Key *Key
	// Cases are those of the samples that were captured, in the blind stage, by sample id;
	// Grounding are the same in the grounding stage.
	Cases, Grounding map[string]*Case
	// Samples are those of the key, made again from the run, by sample id.
	Samples map[string]*Sample
	// Gone says of a sample why it has no case any more, or never had one.
	Gone map[string]string
}

// Rebuild makes the cases of a key again from the record. A sample whose episode is gone,
// or of which a text can no longer be read, is no fault: its ratings are stale.
func Rebuild(record *replay.Record, key *Key) (*Set, error) {
	if key.Version != Version {
		return nil, fmt.Errorf("the key of the labels has version %d; this program reads %d", key.Version, Version)
	}
	if key.Run != record.Run.ID {
		return nil, fmt.Errorf("the key of the labels belongs to the run %s, this is %s: export again", key.Run, record.Run.ID)
	}
	set := &Set{Key: key, Cases: map[string]*Case{}, Grounding: map[string]*Case{}, Samples: map[string]*Sample{}, Gone: map[string]string{}}
	m := newMaker(record, key.Header)
	for i := range key.Samples {
		old := &key.Samples[i]
		if set.Samples[old.SampleID] != nil {
			return nil, fmt.Errorf("the key of the labels has the sample %s twice: export again", old.SampleID)
		}
		now, err := m.make(Sample{Pair: old.Pair, Side: old.Side, Key: old.Key, Against: old.Against})
		if err != nil {
			set.Samples[old.SampleID], set.Gone[old.SampleID] = old, err.Error()
			continue
		}
		set.Samples[old.SampleID] = &now.sample
		switch {
		case now.sample.SampleID != old.SampleID:
			return nil, fmt.Errorf("the key of the labels does not fit its seed (sample %s): export again", old.SampleID)
		case now.sample.Capture.Status == CaptureFailed:
			set.Gone[old.SampleID] = "its output was not captured"
			if n := len(now.sample.Capture.Limitations); n > 0 {
				set.Gone[old.SampleID] += ": " + now.sample.Capture.Limitations[n-1]
			}
		default:
			blind, whole := now.forms[Blind], now.forms[Grounded]
			set.Cases[old.SampleID], set.Grounding[old.SampleID] = &blind, &whole
		}
	}
	return set, nil
}

// Of is the case that a rating is of, in the stage that its digest names, or nil where no
// case is now as it was rated.
func (s *Set) Of(r *Rating) *Case {
	for _, cases := range []map[string]*Case{s.Cases, s.Grounding} {
		if c := cases[r.SampleID]; c != nil && c.CaseSHA256 == r.CaseSHA256 {
			return c
		}
	}
	return nil
}
