package cluster

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
)

// shortWait is how long a test waits for a job that is not to come.
const shortWait = 500 * time.Millisecond

// kill ends a leader as kill -9 does: nothing is taken out.
func (l *Leader) kill() {
	l.stop()
	l.watched.Wait()
}

// TestRunsWithoutALeaderWait: their jobs are neither played nor in the way of others, and
// are played once there is a leader again.
func TestRunsWithoutALeaderWait(t *testing.T) {
	c := one(t, Options{})
	dead := lead(t, c, "a dead run")
	job := jobOf("of the dead run")
	if err := dead.publish(t.Context(), job, jobName(job.Key)); err != nil {
		t.Fatal(err)
	}
	dead.kill()
	if err := c.live.Delete(t.Context(), leaderKey(dead.run)); err != nil { // as if it had run out
		t.Fatal(err)
	}
	asked := make(chan fixtures.Hash, 10)
	end := background(t, c, Worker{Name: "one", Slots: 1, Open: playing(func(ctx context.Context, key replay.Key) (*replay.Episode, error) {
		asked <- key.Fixture
		return played(ctx, key)
	})})
	l := lead(t, c, "a run")
	own := jobOf("of the run")
	if _, err := l.Play(t.Context(), own); err != nil {
		t.Error(err)
	}
	if got := <-asked; got != own.Fixture.Hash || len(asked) != 0 {
		t.Errorf("%s was played first, and %d more", got, len(asked))
	}
	status, err := c.Status(t.Context())
	if err != nil || len(status.Runs) != 2 {
		t.Fatal(status, err)
	}
	for _, r := range status.Runs {
		if led := r.Run == "a run"; r.Led != led || !led && r.Queued != 1 {
			t.Errorf("%+v", r)
		}
	}
	back := lead(t, c, "a dead run")
	if episode, err := back.Play(t.Context(), job); err != nil || episode.Status != replay.Played {
		t.Errorf("%+v, %v", episode, err)
	}
	if err := errors.Join(l.Close(t.Context()), back.Close(t.Context()), end()); err != nil {
		t.Error(err)
	}
}

// TestALeaderThatDiesIsMissed: a worker that plays for its run leaves it, and comes back with
// the next leader.
func TestALeaderThatDiesIsMissed(t *testing.T) {
	c := one(t, Options{AckWait: time.Second})
	said := make(chan string, 10)
	end := background(t, c, Worker{Name: "one", Slots: 1, Open: playing(played), Say: func(text string) { said <- text }})
	l := lead(t, c, "a run")
	if text := <-said; !strings.Contains(text, "playing for run") {
		t.Error(text)
	}
	l.kill()
	if text := <-said; !strings.Contains(text, "has no leader any more") {
		t.Error(text)
	}
	l = lead(t, c, "a run")
	if _, err := l.Play(t.Context(), jobOf("story")); err != nil {
		t.Error(err)
	}
	if err := errors.Join(l.Close(t.Context()), end()); err != nil {
		t.Error(err)
	}
}

// TestIdleRunsTakeNoSlot: runs that have leaders and no jobs leave the only slot to the one
// that has. If each of them held it for as long as one may wait for a job, this would take
// half an hour.
func TestIdleRunsTakeNoSlot(t *testing.T) {
	c := one(t, Options{})
	var idle []*Leader
	for i := range 8 {
		idle = append(idle, lead(t, c, fmt.Sprint("idle ", i)))
	}
	l := lead(t, c, "a run")
	opened := make(chan struct{}, 20)
	open := playing(played)
	end := background(t, c, Worker{Name: "one", Slots: 1, Open: func(ctx context.Context, m *Manifest) (*Player, error) {
		opened <- struct{}{}
		return open(ctx, m)
	}})
	for range len(idle) + 1 {
		<-opened
	}
	for i := range 100 {
		if _, err := l.Play(t.Context(), jobOf(fmt.Sprint("story ", i))); err != nil {
			t.Fatal(err)
		}
	}
	for _, l := range append(idle, l) {
		if err := l.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if err := end(); err != nil {
		t.Error(err)
	}
}

func TestDrop(t *testing.T) {
	c := one(t, Options{})
	l := lead(t, c, "a run")
	done, queued := jobOf("done"), jobOf("queued")
	episode, err := played(t.Context(), done.Key)
	if err == nil {
		err = errors.Join(c.store(t.Context(), l.run, done.Key, &Result{Episode: episode}), l.publish(t.Context(), queued, jobName(queued.Key)))
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Drop(t.Context(), "a run"); !errors.Is(err, ErrLed) {
		t.Errorf("%v", err)
	}
	l.kill()
	if err := c.live.Delete(t.Context(), leaderKey(l.run)); err != nil {
		t.Fatal(err)
	}
	for _, unknown := range []string{"another run", "*", ">", "", "0123456789abcdef"} {
		if _, err := c.Drop(t.Context(), unknown); !errors.Is(err, ErrUnknownRun) {
			t.Errorf("%q: %v", unknown, err)
		}
	}
	fill(t, c, "KV_doubletake_data") // it needs no room
	dropped, err := c.Drop(t.Context(), l.run)
	if err != nil || dropped != (Dropped{Jobs: 1, Results: 1}) {
		t.Errorf("%+v, %v", dropped, err)
	}
	if _, err := c.Drop(t.Context(), "a run"); !errors.Is(err, ErrUnknownRun) {
		t.Errorf("%v", err)
	}
	empty(t, c, "KV_doubletake_data")
	status, err := c.Status(t.Context())
	if err != nil || len(status.Runs) != 0 {
		t.Errorf("%+v, %v", status, err)
	}
	if _, found, err := c.get(t.Context(), c.data, resultKey(l.run, jobName(done.Key))); found != 0 || err != nil {
		t.Errorf("the result is left, %v", err)
	}
}

// TestLookMakesNothing: what only looks leaves no streams under a mistyped prefix.
func TestLookMakesNothing(t *testing.T) {
	there := one(t, Options{Prefix: "the.night"})
	_, err := Connect(t.Context(), Options{URL: there.options.URL, Prefix: "the.nihgt", Look: true})
	if !errors.Is(err, ErrNothing) || !strings.Contains(err.Error(), `"the.nihgt"`) || !strings.Contains(err.Error(), "in use: the.night") {
		t.Errorf("%v", err)
	}
	var names []string
	for name := range there.js.StreamNames(t.Context()).Name() {
		names = append(names, name)
	}
	if len(names) != 5 {
		t.Errorf("the streams are %q", names)
	}
	looking := one(t, Options{URL: there.options.URL, Prefix: "the.night", Look: true})
	if _, err := looking.Status(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestTheFirstSaysHowLongASignOfLifeLasts: others take that over.
func TestTheFirstSaysHowLongASignOfLifeLasts(t *testing.T) {
	first := one(t, Options{AckWait: 7 * time.Second})
	second := one(t, Options{URL: first.options.URL, AckWait: time.Minute})
	if got := second.options.AckWait; got != 7*time.Second {
		t.Errorf("%s", got)
	}
}
