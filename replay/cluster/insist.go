package cluster

import (
	"context"
	"time"
)

// storeAgain is how often it is tried to store what was played.
const storeAgain = time.Second

// insist stores until it works, as long as the run goes on: what was played is paid for,
// and to give the job back would count as a try that came to no end. Where something is full
// the leader hears of it. Other errors than those of a cluster that is full or does not
// answer are returned at once.
func (w *work) insist(ctx context.Context, name string, run *runWork, store func() error) error {
	said := false
	for {
		err := store()
		if !lasting(err) && !passing(err) {
			if said {
				w.count(func(s *WorkerStatus) { delete(s.Unstored, name) })
			}
			return err
		}
		if w.unstored(name, run, err) {
			w.say("what was played can't be stored, and is tried again: %v", err)
		}
		said = true
		timer := time.NewTimer(storeAgain)
		select {
		case <-timer.C:
		case <-run.over:
			timer.Stop()
			return err
		case <-ctx.Done():
			timer.Stop()
			return context.Cause(ctx)
		}
	}
}

// unstored tells the fleet at once that what was played of a run can't be stored. It says
// whether that is news.
func (w *work) unstored(name string, run *runWork, err error) (news bool) {
	w.count(func(s *WorkerStatus) {
		if !run.left() { // else its leader hears no more
			_, known := s.Unstored[name]
			news = !known
			s.Unstored[name] = Unstored{err.Error(), lasting(err)}
		}
	})
	select {
	case w.changed <- struct{}{}:
	default: // that it changed is known already
	}
	return news
}

// left says whether the worker has left the run.
func (r *runWork) left() bool {
	select {
	case <-r.over:
		return true
	default:
		return false
	}
}
