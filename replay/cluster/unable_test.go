package cluster

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/doubletake-dev/doubletake/replay"
)

// sick starts a worker that can't play, and returns what it says in the end.
func sick(t *testing.T, c *Cluster) (said <-chan string, end func() error) {
	t.Helper()
	lines := make(chan string, 100)
	return lines, background(t, c, Worker{
		Name: "sick", Slots: 4, Say: func(text string) { lines <- text },
		Open: playing(func(context.Context, replay.Key) (*replay.Episode, error) {
			return nil, errors.New("no space left on device")
		}),
	})
}

// TestAWorkerThatCannotPlayLeavesItToOthers: it lets go of the run, and says why.
func TestAWorkerThatCannotPlayLeavesItToOthers(t *testing.T) {
	c := one(t, Options{})
	l := lead(t, c, "a run")
	said, end := sick(t, c)
	jobs := []string{"a", "b", "c", "d", "e", "f"}
	done := make(chan error, len(jobs))
	for _, name := range jobs {
		go func() {
			e, err := l.Play(t.Context(), jobOf(name))
			if err == nil && (e.Status != replay.Played || e.Key != jobOf(name).Key) {
				err = errors.New(name + ": " + e.Reason)
			}
			done <- err
		}()
	}
	for text := range said {
		if strings.Contains(text, "not playing for run") {
			if !strings.Contains(text, "no space left") {
				t.Errorf("said %q", text)
			}
			break
		}
	}
	endHealthy := background(t, c, Worker{Name: "healthy", Slots: 1, Open: playing(played)})
	for range jobs {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if status, err := c.Status(t.Context()); err != nil || len(status.Dead) != 0 {
		t.Errorf("%+v, %v", status, err)
	}
	if err := errors.Join(l.Close(t.Context()), end(), endHealthy()); err != nil {
		t.Error(err)
	}
}

// TestAJobThatNoWorkerCanPlay is a dead letter that says why, and ends that episode alone.
func TestAJobThatNoWorkerCanPlay(t *testing.T) {
	c := one(t, Options{MaxDeliver: 1})
	l := lead(t, c, "a run")
	said, end := sick(t, c)
	type ending struct {
		episode *replay.Episode
		err     error
	}
	first := make(chan ending, 1)
	go func() {
		e, err := l.Play(t.Context(), jobOf("story"))
		first <- ending{e, err}
	}()
	for text := range said {
		if strings.Contains(text, "not playing for run") {
			break
		}
	}
	endNext := background(t, c, Worker{Name: "next", Slots: 1, Open: playing(played)})
	const want = "worker sick could not: no space left on device"
	if got := <-first; got.err != nil || got.episode.Status != replay.Faulted || !strings.Contains(got.episode.Reason, want) {
		t.Errorf("%+v, %v", got.episode, got.err)
	}
	if status, err := c.Status(t.Context()); err != nil || len(status.Dead) != 1 || status.Dead[0].Reason != want {
		t.Errorf("%+v, %v", status, err)
	}
	if e, err := l.Play(t.Context(), jobOf("another")); err != nil || e.Status != replay.Played {
		t.Errorf("%+v, %v", e, err)
	}
	if err := errors.Join(l.Close(t.Context()), end(), endNext()); err != nil {
		t.Error(err)
	}
}
