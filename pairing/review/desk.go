package review

import (
	"context"
	"net/http"
)

// desk is the page of a run as one reviewer has it.
type desk struct {
	*Server
	reviewer string
	// order is the queue as the reviewer goes through it, the pairs that are assigned to
	// them first, and place is where a pair of the queue stands in it.
	order, place []int
	// assigned says that the queue was shared out and something of it is theirs.
	assigned bool
}

func newDesk(s *Server, reviewer string) *desk {
	d := &desk{Server: s, reviewer: reviewer}
	queue := s.options.Review.Queue
	for _, theirs := range []bool{true, false} {
		for i := range queue {
			if d.theirs(queue[i].ID) == theirs {
				d.order = append(d.order, i)
				d.assigned = d.assigned || theirs
			}
		}
	}
	d.place = make([]int, len(d.order))
	for at, i := range d.order {
		d.place[i] = at
	}
	return d
}

// enter takes the review for one request, with what other processes recorded of it
// meanwhile. Done gives it free.
func (s *desk) enter() (done func()) {
	s.mu.Lock()
	// Where it can't be read a verdict that rests on it is refused, with the reason.
	_ = s.options.Review.Refresh()
	return s.mu.Unlock
}

// deskKey is under what the context of a request holds the reviewer's number.
type deskKey struct{}

// withReviewer marks a request as a reviewer's, by their number.
func withReviewer(r *http.Request, number int) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), deskKey{}, number))
}

// reviewerOf is the number of the reviewer whose request it is, which the gate found.
func reviewerOf(r *http.Request) int {
	number, _ := r.Context().Value(deskKey{}).(int)
	return number
}
