package cluster

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/doubletake-dev/doubletake/replay"
)

// bound changes the bounds of a stream.
func bound(t *testing.T, c *Cluster, stream string, change func(*jetstream.StreamConfig)) {
	t.Helper()
	s, err := c.js.Stream(t.Context(), stream)
	if err != nil {
		t.Fatal(err)
	}
	config := s.CachedInfo().Config
	change(&config)
	if _, err := c.js.UpdateStream(t.Context(), config); err != nil {
		t.Fatal(err)
	}
}

// fill has a stream take nothing more.
func fill(t *testing.T, c *Cluster, stream string) {
	t.Helper()
	s, err := c.js.Stream(t.Context(), stream)
	if err != nil {
		t.Fatal(err)
	}
	bytes := max(1, int64(s.CachedInfo().State.Bytes))
	bound(t, c, stream, func(config *jetstream.StreamConfig) {
		config.MaxBytes, config.Discard = bytes, jetstream.DiscardNew
	})
}

// empty gives it room again.
func empty(t *testing.T, c *Cluster, stream string) {
	t.Helper()
	bound(t, c, stream, func(config *jetstream.StreamConfig) { config.MaxBytes = -1 })
}

// wantFull says that an error names what is full.
func wantFull(t *testing.T, err error, name string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "is full: maximum bytes exceeded") {
		t.Errorf("%v; want one that says %q is full", err, name)
	}
}

// TestAFullBucketEndsTheNight: the leader hears at once what is full, by its worker, and a
// night that goes on once there is room comes to its end. That the job was given back is no
// try that came to no end.
func TestAFullBucketEndsTheNight(t *testing.T) {
	c := one(t, Options{MaxDeliver: 1})
	began, goOn := make(chan struct{}, 2), make(chan struct{}, 2)
	end := background(t, c, Worker{Name: "one", Slots: 1, Open: playing(func(ctx context.Context, key replay.Key) (*replay.Episode, error) {
		began <- struct{}{}
		<-goOn
		return played(ctx, key)
	})})
	l := lead(t, c, "a run")
	done := make(chan error, 1)
	go func() {
		_, err := l.Play(t.Context(), jobOf("story"))
		done <- err
	}()
	<-began
	fill(t, c, "KV_doubletake_data")
	goOn <- struct{}{}
	err := <-done
	wantFull(t, err, "the bucket doubletake_data")
	if err == nil || !strings.Contains(err.Error(), "worker one") {
		t.Errorf("%v; want one that names the worker", err)
	}
	if _, err := l.Play(t.Context(), jobOf("another")); err == nil {
		t.Error("another job was waited for")
	}
	if err := l.Close(t.Context()); err != nil {
		t.Error(err)
	}
	_, err = c.Lead(t.Context(), Manifest{Run: "a run"}, replay.NewContexts(t.TempDir()))
	wantFull(t, err, "the bucket doubletake_data")
	empty(t, c, "KV_doubletake_data")
	goOn <- struct{}{}
	l = lead(t, c, "a run")
	episode, err := l.Play(t.Context(), jobOf("story"))
	if err != nil || episode.Status != replay.Played {
		t.Errorf("%+v, %v", episode, err)
	}
	status, err := c.Status(t.Context())
	if err != nil || len(status.Dead) != 0 {
		t.Errorf("%+v, %v", status, err)
	}
	if err := errors.Join(l.Close(t.Context()), end()); err != nil {
		t.Error(err)
	}
}

// TestWhatWasPlayedIsStoredOnceThereIsRoom: a worker keeps what it played, and tells that it
// can't store it, until there is room or nobody wants it any more.
func TestWhatWasPlayedIsStoredOnceThereIsRoom(t *testing.T) {
	c := one(t, Options{})
	run := &runWork{over: make(chan struct{})}
	w := &work{Worker: &Worker{}, cluster: c, changed: make(chan struct{}, 1), status: WorkerStatus{Unstored: map[string]Unstored{}}}
	job := jobOf("story")
	episode, err := played(t.Context(), job.Key)
	if err != nil {
		t.Fatal(err)
	}
	store := func() error { return c.store(t.Context(), "run", job.Key, &Result{Episode: episode}) }
	fill(t, c, "KV_doubletake_data")
	tries := 0
	err = w.insist(t.Context(), "run", run, func() error {
		if tries++; tries == 2 {
			if of := w.status.Unstored["run"]; !of.Full || !strings.Contains(of.Why, "doubletake_data") {
				t.Errorf("it told %+v", of)
			}
			empty(t, c, "KV_doubletake_data")
		}
		return store()
	})
	if err != nil || tries != 2 || len(w.status.Unstored) != 0 {
		t.Errorf("stored in %d tries, %v; it told %v", tries, err, w.status.Unstored)
	}
	fill(t, c, "KV_doubletake_data")
	over := make(chan struct{})
	close(over)
	run.over = over
	err = w.insist(t.Context(), "run", run, func() error {
		return c.store(t.Context(), "other", job.Key, &Result{Episode: episode})
	})
	wantFull(t, err, "doubletake_data")
	if len(w.status.Unstored) != 0 {
		t.Errorf("a run that is over is said to be full: %v", w.status.Unstored)
	}
}

// TestWhatIsFullIsNamed: whatever is to be stored.
func TestWhatIsFullIsNamed(t *testing.T) {
	c := one(t, Options{})
	for stream, store := range map[string]func() error{
		"KV_doubletake_answers": func() error { return c.Answers().Put(t.Context(), "id", []byte("an answer")) },
		"KV_doubletake_live": func() error {
			_, err := c.Answers().Claim(t.Context(), "id")
			return err
		},
		"KV_doubletake_data": func() error { return c.Limit("endpoint", 10, 0).Take(t.Context(), 1) },
		"OBJ_doubletake_large": func() error {
			return c.put(t.Context(), c.answers, "large", random(3<<20))
		},
	} {
		t.Run(stream, func(t *testing.T) {
			fill(t, c, stream)
			defer empty(t, c, stream)
			err := store()
			wantFull(t, err, stream)
			if full := new(FullError); !errors.As(err, &full) || full.Stream != stream {
				t.Errorf("%+v", full)
			}
		})
	}
}

// TestAQueueThatIsFull is waited for as long as jobs of the same run leave it, and no longer.
func TestAQueueThatIsFull(t *testing.T) {
	c := one(t, Options{})
	bound(t, c, "doubletake_jobs", func(config *jetstream.StreamConfig) {
		config.MaxMsgs, config.Discard = 1, jetstream.DiscardNew
	})
	l := lead(t, c, "a run")
	done := make(chan error, 3)
	for _, name := range []string{"a", "b", "c"} {
		go func() {
			_, err := l.Play(t.Context(), jobOf(name))
			done <- err
		}()
	}
	end := background(t, c, Worker{Name: "one", Slots: 1, Open: playing(played)})
	for range cap(done) {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if err := end(); err != nil {
		t.Error(err)
	}
	if _, err := c.js.Publish(t.Context(), c.subject("other", "job"), nil); err != nil {
		t.Fatal(err)
	}
	_, err := l.Play(t.Context(), jobOf("d"))
	if as := new(FullError); !errors.As(err, &as) || as.Stream != "doubletake_jobs" {
		t.Errorf("%v", err)
	}
	if err := l.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestJobsThatAreGivenToNobodyArePublishedAgain: such as those that a queue of an earlier
// version gave up, and those whose queue is gone.
func TestJobsThatAreGivenToNobodyArePublishedAgain(t *testing.T) {
	c := one(t, Options{})
	manifest := Manifest{Run: "a run"}
	run := manifest.name()
	job := jobOf("story")
	config := jetstream.ConsumerConfig{Durable: run, FilterSubject: c.subject(run, "*"), AckPolicy: jetstream.AckExplicitPolicy, MaxDeliver: 1}
	consumer, err := c.jobs.CreateOrUpdateConsumer(t.Context(), config)
	if err == nil {
		_, err = c.js.Publish(t.Context(), c.subject(run, jobName(job.Key)), []byte("{}"))
	}
	if err != nil {
		t.Fatal(err)
	}
	giveUp := func() {
		t.Helper()
		msg, err := consumer.Next()
		if err == nil {
			err = msg.Nak()
		}
		if err == nil { // asking once more has the queue see that it was given out too often
			_, err = consumer.Next(jetstream.FetchMaxWait(shortWait))
			if errors.Is(err, jetstream.ErrNoMessages) || strings.Contains(err.Error(), "timeout") {
				err = nil
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	giveUp()
	if idle, err := c.idle(t.Context(), run); !idle || err != nil {
		t.Fatalf("idle %t, %v", idle, err)
	}
	l := lead(t, c, "a run")
	if jobs, err := c.queued(t.Context(), run); len(jobs) != 0 || err != nil {
		t.Errorf("%v is left, %v", jobs, err)
	}
	// While it is led the queue goes.
	if err := l.publish(t.Context(), job, jobName(job.Key)); err != nil {
		t.Fatal(err)
	}
	if err := c.jobs.DeleteConsumer(t.Context(), run); err != nil {
		t.Fatal(err)
	}
	if err := l.mend(t.Context()); err != nil {
		t.Fatal(err)
	}
	if jobs, err := c.queued(t.Context(), run); len(jobs) != 1 || err != nil {
		t.Errorf("%v is queued, %v", jobs, err)
	}
	end := background(t, c, Worker{Name: "one", Slots: 1, Open: playing(played)})
	if episode, err := l.Play(t.Context(), job); err != nil || episode.Status != replay.Played {
		t.Errorf("%+v, %v", episode, err)
	}
	if err := errors.Join(l.Close(t.Context()), end()); err != nil {
		t.Error(err)
	}
}

// random are bytes that can't be compressed.
func random(n int) []byte {
	data := make([]byte, n)
	_, _ = rand.Read(data)
	return data
}
