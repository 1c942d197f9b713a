package review

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"slices"
	"strings"

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
	// Checks are those that are wrong; none of them means all that differ.
	Checks  []string `json:"checks"`
	Settles bool     `json:"settles"`
	// Last is the line of the reviewer on the pair that they have on their page, as
	// [pairAnswer] gave it. Where another of their pages has added one since, nothing is
	// written, and the answer shows it.
	Last *int `json:"last"`
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
	i, err := s.find(q.Pair)
	if err != nil {
		return nil, err
	}
	e := &s.options.Review.Queue[i]
	if q.Last != nil && *q.Last != s.last(e.ID) {
		return nil, s.overtaken(i)
	}
	if !(q.Seconds >= 0 && q.Seconds <= longestSeconds) {
		return nil, fault(http.StatusBadRequest, "%v seconds: want 0 to %d", q.Seconds, longestSeconds)
	}
	if err := s.named(e.ID); err != nil {
		return nil, err
	}
	// The review knows whether it was blind.
	v := pairing.Verdict{
		By: s.reviewer, Pair: e.ID, Severity: q.Severity, Note: q.Note, Checks: q.Checks,
		Adjudicates: q.Settles, Seconds: q.Seconds, Blind: true,
	}
	switch {
	case q.Corrects:
		old := s.mine(i)
		if old == nil {
			return nil, fault(http.StatusConflict, "no verdict of yours stands on this pair that could be corrected")
		}
		v.Ruling, v.Checks, v.Adjudicates, v.From, v.Blind = old.Ruling, old.Checks, old.Adjudicates, old.From, old.Blind
	case q.Remembered:
		m, ok := s.options.Remembered[e.ID]
		if !ok {
			return nil, fault(http.StatusBadRequest, "no earlier night decided on the disagreement of this pair")
		}
		v.Ruling, v.Checks, v.From = m.Verdict.Ruling, m.Verdict.Checks, m.Run
		v.Severity, v.Note = cmp.Or(q.Severity, m.Verdict.Severity), cmp.Or(q.Note, m.Verdict.Note)
		v.Blind = false // nobody looked at the sides
	default:
		if v.Ruling, err = ruling(q.Choice, s.swapped(e)); err != nil {
			return nil, fault(http.StatusBadRequest, "%w", err)
		}
	}
	if v, err = s.options.Review.Decide(v); err != nil {
		return nil, s.unnamed(e, decideFault(err))
	}
	return s.decided(v)
}

// last is the number of the reviewer's last line on a pair, 0 where there is none.
func (s *desk) last(pair string) int {
	for _, v := range slices.Backward(s.verdicts[pair]) {
		if pairing.SameReviewer(v.By, s.reviewer) {
			return v.Number
		}
	}
	return 0
}

// overtaken refuses a verdict on a pair on which another page of the reviewer's was
// quicker, with the pair as it is now.
func (s *desk) overtaken(i int) error {
	now, err := s.pair(i)
	if err != nil {
		return err
	}
	said := "your verdict was taken back"
	if now.Mine != nil {
		said = "you said: " + now.Mine.Choice
	}
	return &faultError{status: http.StatusConflict, err: fmt.Errorf("on another page of yours %s; it is shown now, and your next verdict takes its place", said), pair: now}
}

// unnamed keeps the name of a pair out of what went wrong with it, where its reviewer does
// not know it yet.
func (s *desk) unnamed(e *pairing.Entry, err error) error {
	if s.seen(e.ID) {
		return err
	}
	status := http.StatusInternalServerError
	if f, ok := errors.AsType[*faultError](err); ok {
		status = f.status
	}
	return fault(status, "%s", strings.ReplaceAll(err.Error(), e.ID, s.row(s.index[e.ID]).Name))
}

// postUndo takes the reviewer's last verdict back, and says what it was.
func (s *desk) postUndo(r *http.Request) (any, error) {
	if err := receive(r, &struct{}{}); err != nil {
		return nil, err
	}
	defer s.enter()()
	before := len(s.options.Review.Verdicts)
	undone, err := s.options.Review.Undo(s.reviewer)
	if err != nil && len(s.options.Review.Verdicts) == before {
		return nil, decideFault(err)
	}
	var now *pairAnswer
	for _, v := range s.options.Review.Verdicts[before:] { // its notes go with a verdict
		var failed error
		if now, failed = s.decided(v); failed != nil {
			return nil, failed
		}
	}
	if err != nil {
		return nil, decideFault(err)
	}
	view := s.verdict(&s.options.Review.Queue[s.index[undone.Pair]], &undone)
	now.Undone = &view
	return now, nil
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
	i, err := s.find(q.Pair)
	if err != nil {
		return nil, err
	}
	e := &s.options.Review.Queue[i]
	if s.seen(e.ID) {
		return nil, fault(http.StatusConflict, "the sides of this pair are named already")
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
func (s *desk) decided(v pairing.Verdict) (*pairAnswer, error) {
	i := s.index[v.Pair]
	s.verdicts[v.Pair] = append(s.verdicts[v.Pair], v)
	s.standings[i] = pairing.Stand(s.options.Review.Record, s.options.Review.Queue[i:i+1], s.verdicts[v.Pair])[0]
	return s.pair(i)
}
