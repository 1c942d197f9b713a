package cluster

import (
	"context"
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
	"github.com/doubletake-dev/doubletake/replay/cluster/clustertest"
)

// one is a cluster of one server.
func one(t *testing.T, options Options) *Cluster {
	t.Helper()
	if options.URL == "" {
		options.URL = clustertest.Servers(t, 1)
	}
	if options.AckWait == 0 {
		options.AckWait = 2 * time.Second
	}
	c, err := Connect(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

func lead(t *testing.T, c *Cluster, run string) *Leader {
	t.Helper()
	l, err := c.Lead(t.Context(), Manifest{Run: run}, replay.NewContexts(t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func jobOf(name string) replay.Job {
	f := &fixtures.Fixture{ConversationID: name, Hash: fixtures.HashBytes([]byte(name))}
	return replay.Job{Key: replay.Key{Fixture: f.Hash, Arm: "an arm", Replicate: 1}, Fixture: f}
}

// background runs a worker until the function that it returns is called, which waits for
// its end.
func background(t *testing.T, c *Cluster, w Worker) (end func() error) {
	t.Helper()
	drain := make(chan struct{})
	w.Drain = drain
	ended := make(chan error, 1)
	go func() { ended <- c.Work(t.Context(), w) }()
	return sync.OnceValue(func() error { close(drain); return <-ended })
}

// playing opens runs with a function as their player.
func playing(play func(context.Context, replay.Key) (*replay.Episode, error)) func(context.Context, *Manifest) (*Player, error) {
	return func(context.Context, *Manifest) (*Player, error) {
		return &Player{Play: play, Contexts: replay.NewContexts(os.DevNull), Close: func() error { return nil }}, nil
	}
}

func played(_ context.Context, key replay.Key) (*replay.Episode, error) {
	return &replay.Episode{Key: key, ConversationID: "story", Status: replay.Played, Steps: []replay.Step{{Kind: replay.StepText, Text: "done"}}}, nil
}

func TestAJobThatKillsItsWorkersIsADeadLetter(t *testing.T) {
	c := one(t, Options{MaxDeliver: 2})
	l := lead(t, c, "a run")
	consumer, err := c.consumer(t.Context(), l.run)
	if err != nil {
		t.Fatal(err)
	}
	job := jobOf("story")
	var episode *replay.Episode
	done := make(chan error, 1)
	go func() {
		var err error
		episode, err = l.Play(t.Context(), job)
		done <- err
	}()
	for range 2 { // two workers begin it, and come to no end
		msg, err := consumer.Next()
		if err != nil {
			t.Fatal(err)
		}
		if err := msg.Nak(); err != nil {
			t.Fatal(err)
		}
	}
	end := background(t, c, Worker{Name: "third", Slots: 1, Open: playing(func(context.Context, replay.Key) (*replay.Episode, error) {
		return nil, errors.New("it was played again")
	})})
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if episode.Status != replay.Faulted || episode.Key != job.Key || !strings.Contains(episode.Reason, "2 workers began it") {
		t.Errorf("%+v", episode)
	}
	status, err := c.Status(t.Context())
	if err != nil || len(status.Dead) != 1 || status.Dead[0].Key != job.Key || status.Dead[0].Deliveries != 2 || len(status.Runs) != 1 || status.Runs[0].Queued != 0 {
		t.Errorf("%+v, %v", status, err)
	}
	if err := end(); err != nil {
		t.Error(err)
	}
	// A run that goes on plays it again.
	end = background(t, c, Worker{Name: "fourth", Slots: 1, Open: playing(played)})
	if episode, err = l.Play(t.Context(), job); err != nil || episode.Status != replay.Played {
		t.Errorf("%+v, %v", episode, err)
	}
	if err := errors.Join(l.Close(t.Context()), end()); err != nil {
		t.Error(err)
	}
	if status, err = c.Status(t.Context()); err != nil || len(status.Dead) != 0 || len(status.Runs) != 0 {
		t.Errorf("%+v, %v", status, err)
	}
}

func TestAWorkerThatDrainsEndsWhatItBegan(t *testing.T) {
	c := one(t, Options{})
	l := lead(t, c, "a run")
	began, goOn := make(chan struct{}), make(chan struct{})
	end := background(t, c, Worker{Name: "one", Slots: 1, Open: playing(func(ctx context.Context, key replay.Key) (*replay.Episode, error) {
		close(began)
		<-goOn
		return played(ctx, key)
	})})
	done := make(chan error, 1)
	go func() {
		_, err := l.Play(t.Context(), jobOf("story"))
		done <- err
	}()
	<-began
	ended := make(chan error, 1)
	go func() { ended <- end() }()
	close(goOn)
	if err := errors.Join(<-done, <-ended, l.Close(t.Context())); err != nil {
		t.Error(err)
	}
}

func TestALeaderThatIsDrainedTakesItsJobsBack(t *testing.T) {
	c := one(t, Options{})
	l := lead(t, c, "a run")
	drain := make(chan struct{})
	l.Drain = drain
	close(drain)
	if _, err := l.Play(t.Context(), jobOf("story")); !errors.Is(err, replay.ErrInterrupted) {
		t.Errorf("%v", err)
	}
	if err := l.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	info, err := c.jobs.Info(t.Context())
	if err != nil || info.State.Msgs != 0 {
		t.Errorf("%d jobs are left, %v", info.State.Msgs, err)
	}
}

func TestWhatIsStoredIsNotPlayed(t *testing.T) {
	c := one(t, Options{})
	l := lead(t, c, "a run")
	job := jobOf("story")
	episode, err := played(t.Context(), job.Key)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.store(t.Context(), l.run, job.Key, &Result{Episode: episode}); err != nil {
		t.Fatal(err)
	}
	// A second one, played twice by mistake, changes nothing.
	other := *episode
	other.Steps = nil
	if err := c.store(t.Context(), l.run, job.Key, &Result{Episode: &other}); err != nil {
		t.Fatal(err)
	}
	got, err := l.Play(t.Context(), job) // there is no worker
	if err != nil || got.Digest() != episode.Digest() {
		t.Errorf("%+v, %v", got, err)
	}
	// A result under another's name is refused.
	key := replay.Key{Fixture: job.Key.Fixture, Arm: "other"}
	packed, err := c.pack(t.Context(), []byte(`{"episode":{"fixture":"0123456789abcdef","arm":"x","replicate":0}}`), keepData)
	if err == nil {
		_, err = c.data.Put(t.Context(), resultKey(l.run, jobName(key)), packed)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Play(t.Context(), replay.Job{Key: key, Fixture: job.Fixture}); err == nil || !strings.Contains(err.Error(), "another episode") {
		t.Errorf("%v", err)
	}
	if err := l.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestWhoIsNotReadyForARunDoesNotPlayForIt(t *testing.T) {
	c := one(t, Options{})
	said := make(chan string, 10)
	end := background(t, c, Worker{Name: "other version", Slots: 1, Say: func(text string) { said <- text }, Open: func(context.Context, *Manifest) (*Player, error) {
		return nil, errors.New("another compactor here")
	}})
	l := lead(t, c, "a run")
	if text := <-said; !strings.Contains(text, "another compactor here") {
		t.Errorf("said %q", text)
	}
	right := background(t, c, Worker{Name: "right", Slots: 1, Open: playing(played)})
	for _, name := range []string{"a", "b", "c"} {
		if _, err := l.Play(t.Context(), jobOf(name)); err != nil {
			t.Error(err)
		}
	}
	if err := errors.Join(l.Close(t.Context()), end(), right()); err != nil {
		t.Error(err)
	}
}

func TestNothingMoreBeginsOnceTheBudgetIsSpent(t *testing.T) {
	c := one(t, Options{})
	l := lead(t, c, "a run")
	l.Spent = func(*replay.Episode) error { return errors.New("all is spent") }
	end := background(t, c, Worker{Name: "one", Slots: 1, Open: playing(played)})
	first, err := l.Play(t.Context(), jobOf("a"))
	if err != nil || first.Status != replay.Played {
		t.Errorf("%+v, %v", first, err)
	}
	second, err := l.Play(t.Context(), jobOf("b"))
	if err != nil || second.Status != replay.Faulted || second.Reason != "all is spent" {
		t.Errorf("%+v, %v", second, err)
	}
	if err := errors.Join(l.Close(t.Context()), end()); err != nil {
		t.Error(err)
	}
}

func TestAnswersAreAskedForOnce(t *testing.T) {
	url := clustertest.Servers(t, 1)
	first, second := one(t, Options{URL: url}).Answers(), one(t, Options{URL: url}).Answers()
	release, err := first.Claim(t.Context(), "id")
	if err != nil {
		t.Fatal(err)
	}
	stopped, cancel := context.WithCancelCause(t.Context())
	cancel(replay.ErrInterrupted)
	if _, err := second.Claim(stopped, "id"); err == nil {
		t.Error("two claims")
	}
	release(false) // the provider was down
	release, err = second.Claim(t.Context(), "id")
	if err != nil {
		t.Fatal(err)
	}
	large := make([]byte, 3<<20) // random, so that it stays larger than a message
	_, _ = rand.Read(large)
	if err := second.Put(t.Context(), "id", large); err != nil {
		t.Fatal(err)
	}
	release(true)
	release, err = first.Claim(t.Context(), "id")
	if err != nil {
		t.Fatal(err)
	}
	release(false)
	data, err := first.Get(t.Context(), "id")
	if err != nil || string(data) != string(large) {
		t.Errorf("%d bytes, %v", len(data), err)
	}
	if data, err := first.Get(t.Context(), "none"); data != nil || err != nil {
		t.Errorf("%d bytes, %v", len(data), err)
	}
}

func TestTheClaimOfADeadWorkerRunsOut(t *testing.T) {
	url := clustertest.Servers(t, 1)
	options := Options{URL: url, AckWait: time.Second}
	dying := one(t, options)
	if _, err := dying.Answers().Claim(t.Context(), "id"); err != nil {
		t.Fatal(err)
	}
	dying.conn.Close() // no sign of life comes from it any more
	if _, err := one(t, options).Answers().Claim(t.Context(), "id"); err != nil {
		t.Fatal(err)
	}
}

func TestFilesOfASet(t *testing.T) {
	c := one(t, Options{})
	set := fstest.MapFS{
		"a.json":              {Data: []byte("{}"), Mode: 0o644},
		"sandbox/bin/server":  {Data: []byte("#!/bin/sh\n"), Mode: 0o755},
		"recordings/a.jsonl":  {Data: []byte("a line\n"), Mode: 0o600},
		"recordings/a2.jsonl": {Data: []byte("a line\n"), Mode: 0o600},
	}
	files, err := c.PutFiles(t.Context(), set)
	if err != nil || len(files) != 4 {
		t.Fatal(files, err)
	}
	dir := t.TempDir()
	for range 2 {
		if err := c.FetchFiles(t.Context(), files, dir); err != nil {
			t.Fatal(err)
		}
	}
	for name, file := range set {
		path := filepath.Join(dir, filepath.FromSlash(name))
		data, err := os.ReadFile(path)
		if err != nil || string(data) != string(file.Data) {
			t.Errorf("%s: %q, %v", name, data, err)
		}
		info, err := os.Stat(path)
		if err != nil || info.Mode()&0o100 != file.Mode&0o100 {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
	for _, name := range []string{"../out", "/etc/out", "a/../../out", ""} {
		if err := c.FetchFiles(t.Context(), map[string]File{name: files["a.json"]}, dir); err == nil {
			t.Errorf("%q was written", name)
		}
	}
	if err := c.FetchFiles(t.Context(), map[string]File{"b": {Hash: "0123456789abcdef"}}, dir); err == nil {
		t.Error("a file that is not there")
	}
}

func TestConnectSaysWhatIsWrong(t *testing.T) {
	for want, options := range map[string]Options{
		"no nats:// or tls://":         {URL: "http://127.0.0.1:1"},
		"holds a user or a password":   {URL: "nats://me:secret@127.0.0.1:1"},
		"cluster prefix":               {URL: "nats://127.0.0.1:1", Prefix: "a b"},
		"is a NATS server with JetStr": {URL: "nats://127.0.0.1:1"},
	} {
		_, err := Connect(t.Context(), options)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%+v: %v; want %q", options, err, want)
		}
	}
}
