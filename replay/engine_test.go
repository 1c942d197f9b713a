package replay

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"github.com/doubletake-dev/doubletake/fixtures"
)

// replyBy answers by what it is asked alone, as a perfect provider would: a call
// first, then a text.
func replyBy(ctx context.Context, r *Request) (*Reply, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	last := r.Messages[len(r.Messages)-1]
	hash := fixtures.HashBytes([]byte(contents(r.Messages)))
	reply := say("text " + string(hash))
	if last.Role == fixtures.RoleUser {
		reply = callTool("call_1", "read")
	}
	reply.Key, reply.Usage.PromptTokens = hash, len(r.Messages)
	return reply, nil
}

func manyFixtures(n int) ([]*fixtures.Fixture, func(*fixtures.Fixture) (*fixtures.Recording, error)) {
	var set []*fixtures.Fixture
	for i := range n {
		set = append(set, fixtureOf(fmt.Sprintf("story-%d", i), 2))
	}
	return set, func(f *fixtures.Fixture) (*fixtures.Recording, error) {
		return recording("S rules of "+f.ConversationID, "U one", "A two", "U three", "A four", "U five"), nil
	}
}

func threeArms() []Arm {
	refusing := compacting(func(context.Context, *CompactRequest) (*Compaction, error) {
		return &Compaction{Status: Refused, Reason: "no"}, nil
	})
	refusing.Name = "refusing"
	return []Arm{reference(), compacting(keepLast), refusing}
}

func TestEveryFixtureIsPlayedOnceUnderEveryArm(t *testing.T) {
	set, recordings := manyFixtures(20)
	arms := threeArms()
	var read atomic.Int64
	var mu sync.Mutex
	heard := map[Key]int{}
	e := engine(t, modelFunc(replyBy), nil)
	e.Settings.Concurrency = 8
	e.Recording = func(f *fixtures.Fixture) (*fixtures.Recording, error) { read.Add(1); return recordings(f) }
	e.Progress = func(episode *Episode) { mu.Lock(); heard[episode.Key]++; mu.Unlock() }
	dir := t.TempDir()
	folder := openFolder(t, dir, set, arms)
	defer mustClose(t, folder)
	for range 2 { // the second time there is nothing left to play
		if err := e.Play(t.Context(), folder, set, arms); err != nil {
			t.Fatal(err)
		}
	}
	episodes, damaged, err := ReadJournal[*Episode](filepath.Join(dir, EpisodesFile))
	if err != nil || damaged != 0 || len(episodes) != 60 || len(heard) != 60 {
		t.Fatalf("%d episodes, %d heard of, %d damaged, %v", len(episodes), len(heard), damaged, err)
	}
	prefixes := map[fixtures.Hash]map[fixtures.Hash]bool{}
	for _, episode := range episodes {
		if heard[episode.Key] != 1 {
			t.Errorf("%s was heard of %d times", episode.Key, heard[episode.Key])
		}
		want := Played
		if episode.Arm == "refusing" {
			want = Void
		}
		if episode.Status != want {
			t.Errorf("%s is %s (%s)", episode.Key, episode.Status, episode.Reason)
		}
		if prefixes[episode.Fixture] == nil {
			prefixes[episode.Fixture] = map[fixtures.Hash]bool{}
		}
		prefixes[episode.Fixture][episode.PrefixHash] = true
	}
	for fixture, hashes := range prefixes {
		if len(hashes) != 1 {
			t.Errorf("fixture %s has prefix hashes %v", fixture, hashes)
		}
	}
	if read.Load() != 20 {
		t.Errorf("the recordings were read %d times", read.Load())
	}
}

func TestConcurrencyIsBounded(t *testing.T) {
	set, recordings := manyFixtures(12)
	arms := []Arm{reference()}
	var now, most atomic.Int64
	e := engine(t, modelFunc(func(ctx context.Context, r *Request) (*Reply, error) {
		n := now.Add(1)
		defer now.Add(-1)
		for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
		}
		return replyBy(ctx, r)
	}), nil)
	e.Recording = recordings
	e.Settings.Concurrency = 0 // as good as one
	folder := openFolder(t, t.TempDir(), set, arms)
	defer mustClose(t, folder)
	if err := e.Play(t.Context(), folder, set, arms); err != nil {
		t.Fatal(err)
	}
	if most.Load() != 1 {
		t.Errorf("%d episodes at once", most.Load())
	}
}

func TestOnlyWhatIsMissingIsPlayedAgain(t *testing.T) {
	set, recordings := manyFixtures(3)
	arms := threeArms()[:2]
	dir := t.TempDir()
	down := true
	var asked []string
	e := engine(t, modelFunc(func(ctx context.Context, r *Request) (*Reply, error) {
		asked = append(asked, r.Messages[0].Content)
		if down && r.Messages[0].Content == "rules of story-1" {
			return nil, errors.New("503")
		}
		return replyBy(ctx, r)
	}), nil)
	e.Recording, e.Settings.Concurrency = recordings, 1
	play := func() *Record {
		folder := openFolder(t, dir, set, arms)
		defer mustClose(t, folder)
		if err := e.Play(t.Context(), folder, set, arms); err != nil {
			t.Fatal(err)
		}
		record, err := ReadRecord(dir)
		if err != nil {
			t.Fatal(err)
		}
		return record
	}
	statuses := func(r *Record) (list []EpisodeStatus) {
		for _, e := range r.Episodes {
			list = append(list, e.Status)
		}
		return list
	}
	if got := statuses(play()); !slices.Equal(got, []EpisodeStatus{Played, Played, Faulted, Faulted, Played, Played}) {
		t.Fatalf("statuses %v", got)
	}
	down, asked = false, nil
	if got := statuses(play()); slices.Contains(got, Faulted) {
		t.Errorf("statuses %v", got)
	}
	for _, text := range asked {
		if text != "rules of story-1" {
			t.Errorf("asked again: %s", text)
		}
	}
}

func TestWhatStopsARun(t *testing.T) {
	set, recordings := manyFixtures(5)
	arms := []Arm{reference()}
	t.Run("a recording that cannot be read", func(t *testing.T) {
		e := engine(t, modelFunc(replyBy), nil)
		broken := errors.New("the recording is gone")
		e.Recording = func(*fixtures.Fixture) (*fixtures.Recording, error) { return nil, broken }
		folder := openFolder(t, t.TempDir(), set, arms)
		defer mustClose(t, folder)
		if err := e.Play(t.Context(), folder, set, arms); !errors.Is(err, broken) {
			t.Errorf("error %v", err)
		}
	})
	t.Run("a folder that cannot be written", func(t *testing.T) {
		e := engine(t, modelFunc(replyBy), nil)
		e.Recording = recordings
		folder := openFolder(t, t.TempDir(), set, arms)
		mustClose(t, folder)
		if err := e.Play(t.Context(), folder, set, arms); !errors.Is(err, os.ErrClosed) {
			t.Errorf("error %v", err)
		}
	})
	t.Run("a folder that cannot be read", func(t *testing.T) {
		e := engine(t, modelFunc(replyBy), nil)
		if err := e.Play(t.Context(), &Folder{Dir: t.TempDir()}, set, arms); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("error %v", err)
		}
	})
	t.Run("the user", func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		e := engine(t, modelFunc(func(ctx context.Context, r *Request) (*Reply, error) {
			cancel(ErrInterrupted)
			return replyBy(ctx, r)
		}), nil)
		e.Recording = recordings
		dir := t.TempDir()
		folder := openFolder(t, dir, set, arms)
		defer mustClose(t, folder)
		if err := e.Play(ctx, folder, set, arms); !errors.Is(err, ErrInterrupted) {
			t.Errorf("error %v", err)
		}
		if record, err := ReadRecord(dir); err != nil || len(record.Episodes) != 0 {
			t.Errorf("episodes cut short were journaled: %+v, %v", record.Episodes, err)
		}
	})
}

// A run that was stopped after any number of episodes and went on is the run that
// was never stopped.
func TestAnInterruptedRunIsTheUninterruptedOne(t *testing.T) {
	set, recordings := manyFixtures(2)
	arms := threeArms()
	contexts := NewContexts(t.TempDir())
	play := func(t rapid.TB, dir string, concurrency, stopAfter int) error {
		folder, err := OpenFolder(dir, planOf(set, arms), set, testTime)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancelCause(context.Background())
		defer cancel(nil)
		var ended atomic.Int64
		stop := func() {
			if stopAfter >= 0 && ended.Load() >= int64(stopAfter) {
				cancel(ErrInterrupted)
			}
		}
		stop()
		e := &Engine{
			Settings: settings(), Model: modelFunc(replyBy), Counter: bytesCounter{}, NewTools: echoTools,
			Recording: recordings, Contexts: contexts, Progress: func(*Episode) { ended.Add(1); stop() },
		}
		e.Settings.Concurrency = concurrency
		return errors.Join(e.Play(ctx, folder, set, arms), folder.Close())
	}
	read := func(t rapid.TB, dir string) (string, int) {
		record, err := ReadRecord(dir)
		if err != nil {
			t.Fatal(err)
		}
		lines, damaged, err := ReadJournal[*Episode](filepath.Join(dir, EpisodesFile))
		if err != nil || damaged != 0 {
			t.Fatal(damaged, err)
		}
		data, err := fixtures.MarshalPlain(record.Episodes)
		if err != nil {
			t.Fatal(err)
		}
		return string(data), len(lines)
	}
	whole, runs := t.TempDir(), t.TempDir()
	if err := play(t, whole, 1, -1); err != nil {
		t.Fatal(err)
	}
	want, n := read(t, whole)
	rapid.Check(t, func(t *rapid.T) {
		concurrency := rapid.IntRange(1, 6).Draw(t, "concurrency")
		parted, err := os.MkdirTemp(runs, "")
		if err != nil {
			t.Fatal(err)
		}
		for i, stop := range rapid.SliceOfN(rapid.IntRange(0, 4), 1, 3).Draw(t, "stops") {
			err := play(t, parted, concurrency, stop)
			if err != nil && !errors.Is(err, ErrInterrupted) {
				t.Fatalf("stop %d: %v", i, err)
			}
		}
		if err := play(t, parted, concurrency, -1); err != nil {
			t.Fatal(err)
		}
		got, m := read(t, parted)
		if got != want || n != len(set)*len(arms) || m != n {
			t.Fatalf("%d lines:\n%s\nwant %d:\n%s", m, got, n, want)
		}
	})
}
