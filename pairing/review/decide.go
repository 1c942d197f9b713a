package review

import (
	"cmp"
	"errors"
	"io/fs"
	"net/http"

	"github.com/doubletake-dev/doubletake/pairing"
)

// decideRequest is a verdict as the page sends it.
type decideRequest struct {
	Pair   string `json:"pair"`
	Choice string `json:"choice"`
	// Remembered takes the verdict of the earlier night, whatever Choice says; a severity
	// and a note that are given take the place of the earlier ones.
	Remembered bool `json:"remembered"`
	// Corrects changes the severity and the note of the reviewer's verdict that stands, and
	// nothing else of it.
	Corrects bool             `json:"corrects"`
	Severity pairing.Severity `json:"severity"`
	Note     string           `json:"note"`
	Check    string           `json:"check"`
	Settles  bool             `json:"settles"`
	// Seconds is how long the pair was in view.
	Seconds float64 `json:"seconds"`
}

// longestSeconds is as long as somebody can have looked at a pair.
const longestSeconds = 24 * 3600

// postDecide writes a verdict. It is on the disk when the answer goes out.
func (s *desk) postDecide(r *http.Request) (any, error) {
	var q decideRequest
	if err := receive(r, &q); err != nil {
		return nil, err
	}
	defer s.enter()()
	e, err := s.options.Review.Entry(q.Pair)
	if err != nil {
		return nil, err
	}
	if !(q.Seconds >= 0 && q.Seconds <= longestSeconds) {
		return nil, fault(http.StatusBadRequest, "%v seconds: want 0 to %d", q.Seconds, longestSeconds)
	}
	if err := s.named(e.ID); err != nil {
		return nil, err
	}
	// The review knows whether it was blind.
	v := pairing.Verdict{
		By: s.reviewer, Pair: e.ID, Severity: q.Severity, Note: q.Note, Check: q.Check,
		Adjudicates: q.Settles, Seconds: q.Seconds, Blind: true,
	}
	switch {
	case q.Corrects:
		old := s.mine(s.index[e.ID])
		if old == nil {
			return nil, fault(http.StatusConflict, "no verdict of yours stands on %q that could be corrected", e.ID)
		}
		v.Ruling, v.Check, v.Adjudicates, v.From, v.Blind = old.Ruling, old.Check, old.Adjudicates, old.From, old.Blind
	case q.Remembered:
		m, ok := s.options.Remembered[e.ID]
		if !ok {
			return nil, fault(http.StatusBadRequest, "no earlier night decided on the disagreement of %q", e.ID)
		}
		v.Ruling, v.Check, v.From = m.Verdict.Ruling, m.Verdict.Check, m.Run
		v.Severity, v.Note = cmp.Or(q.Severity, m.Verdict.Severity), cmp.Or(q.Note, m.Verdict.Note)
		v.Blind = false // nobody looked at the sides
	default:
		if v.Ruling, err = ruling(q.Choice, s.swapped(e)); err != nil {
			return nil, fault(http.StatusBadRequest, "%w", err)
		}
	}
	if v, err = s.options.Review.Decide(v); err != nil {
		return nil, decideFault(err)
	}
	return s.decided(v)
}

// postUndo takes the reviewer's last verdict back.
func (s *desk) postUndo(r *http.Request) (any, error) {
	if err := receive(r, &struct{}{}); err != nil {
		return nil, err
	}
	defer s.enter()()
	if _, err := s.options.Review.Undo(s.reviewer); err != nil {
		return nil, decideFault(err)
	}
	all := s.options.Review.Verdicts
	return s.decided(all[len(all)-1])
}

// postUnblind ends the blindness of one pair before it is decided. That is a line of the
// log without a ruling, so that the verdict is known not to be blind on any later day.
func (s *desk) postUnblind(r *http.Request) (any, error) {
	var q struct {
		Pair string `json:"pair"`
	}
	if err := receive(r, &q); err != nil {
		return nil, err
	}
	defer s.enter()()
	e, err := s.options.Review.Entry(q.Pair)
	if err != nil {
		return nil, err
	}
	if s.seen(e.ID) {
		return nil, fault(http.StatusConflict, "the sides of %q are named already", e.ID)
	}
	v, err := s.options.Review.Decide(pairing.Verdict{By: s.reviewer, Pair: e.ID})
	if err != nil {
		return nil, decideFault(err)
	}
	return s.decided(v)
}

// decideFault tells what the person got wrong from what the machine did.
func decideFault(err error) error {
	var disk *fs.PathError
	if errors.As(err, &disk) {
		return err
	}
	return fault(http.StatusBadRequest, "%w", err)
}

// decided takes a new line of the log in, and answers with the pair as it is now.
func (s *desk) decided(v pairing.Verdict) (any, error) {
	i := s.index[v.Pair]
	s.verdicts[v.Pair] = append(s.verdicts[v.Pair], v)
	s.standings[i] = pairing.Stand(s.options.Review.Record, s.options.Review.Queue[i:i+1], s.verdicts[v.Pair])[0]
	return s.pair(i)
}
