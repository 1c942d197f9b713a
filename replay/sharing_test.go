package replay

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"github.com/doubletake-dev/doubletake/fixtures"
)

// named is an arm of that name that compacts with a compactor.
func named(name string, c compactorFunc) Arm {
	return Arm{Name: name, Kind: CompactorArm, Compactor: c}
}

// otherNote is keepLast with other words.
func otherNote(ctx context.Context, r *CompactRequest) (*Compaction, error) {
	out, err := keepLast(ctx, r)
	out.Messages[0].Content = "another note"
	return out, err
}

func TestArmsOfTheSameContextArePlayedOnce(t *testing.T) {
	set, recordings := manyFixtures(3)
	arms := []Arm{
		reference(), {Name: "control", Kind: ControlArm}, named("a", keepLast), named("b", otherNote), named("c", keepLast),
		{Name: "whole", Kind: ReferenceArm},
	}
	var asked atomic.Int64
	e := engine(t, modelFunc(func(ctx context.Context, r *Request) (*Reply, error) {
		asked.Add(1)
		return replyBy(ctx, r)
	}), nil)
	e.Recording = recordings
	dir := t.TempDir()
	folder := openFolder(t, dir, set, arms)
	defer mustClose(t, folder)
	if err := e.Play(t.Context(), folder, set, arms); err != nil {
		t.Fatal(err)
	}
	record, err := ReadRecord(dir)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"reference": "", "control": "", "a": "", "b": "", "c": "a", "whole": "reference"}
	for _, episode := range record.Episodes {
		if episode.SameAs != want[episode.Arm] {
			t.Errorf("%s is the same as %q, want %q", episode.Key, episode.SameAs, want[episode.Arm])
		}
		if episode.SameAs == "" {
			continue
		}
		other := record.Episode(Key{Fixture: episode.Fixture, Arm: episode.SameAs})
		if toJSON(t, episode.Steps) != toJSON(t, other.Steps) || episode.End != other.End || episode.Context != other.Context || episode.Digest() == "" {
			t.Errorf("%s is not what %s is", episode.Key, other.Key)
		}
	}
	// Four questions an episode, of four arms of three fixtures: two arms ask nothing.
	per := asked.Load() / int64(len(set)*4)
	if asked.Load() != per*int64(len(set)*4) || per < 2 {
		t.Errorf("%d questions", asked.Load())
	}
	if n := len(record.Exchanges()); int64(n) > asked.Load() {
		t.Errorf("%d answers of %d questions", n, asked.Load())
	}
	// Further replicates are there to differ.
	before := asked.Load()
	if err := e.PlayReplicate(t.Context(), folder, set, arms, 1); err != nil {
		t.Fatal(err)
	}
	if got := asked.Load() - before; got != per*int64(len(set)*6) {
		t.Errorf("the second replicate asked %d questions, want %d", got, per*int64(len(set)*6))
	}
}

func TestAFaultIsNotShared(t *testing.T) {
	set, recordings := manyFixtures(1)
	arms := []Arm{named("a", keepLast), named("b", keepLast)}
	e := engine(t, &script{replies: []any{errors.New("503"), say("ok"), say("ok")}}, nil)
	e.Recording, e.Settings.Concurrency = recordings, 1
	dir := t.TempDir()
	folder := openFolder(t, dir, set, arms)
	defer mustClose(t, folder)
	if err := e.Play(t.Context(), folder, set, arms); err != nil {
		t.Fatal(err)
	}
	record, err := ReadRecord(dir)
	if err != nil {
		t.Fatal(err)
	}
	if a, b := record.Episodes[0], record.Episodes[1]; a.Status != Faulted || b.Status != Played || b.SameAs != "" {
		t.Errorf("a %s, b %s same as %q", a.Status, b.Status, b.SameAs)
	}
}

// A run that was drained after any number of episodes and went on is the run that was
// never stopped; what was in flight is kept.
func TestADrainedRunGoesOn(t *testing.T) {
	set, recordings := manyFixtures(3)
	arms := []Arm{reference(), named("a", keepLast), named("b", keepLast)}
	contexts := NewContexts(t.TempDir())
	play := func(t rapid.TB, dir string, concurrency, stopAfter int) error {
		folder, err := OpenFolder(dir, planOf(set, arms), set, testTime)
		if err != nil {
			t.Fatal(err)
		}
		drain := make(chan struct{})
		var begun atomic.Int64
		e := &Engine{
			Settings: settings(), Counter: bytesCounter{}, NewTools: echoTools, Recording: recordings, Contexts: contexts, Drain: drain,
			Model: modelFunc(func(ctx context.Context, r *Request) (*Reply, error) {
				if begun.Add(1) == int64(stopAfter) {
					close(drain) // while an episode is in flight
				}
				return replyBy(ctx, r)
			}),
		}
		e.Settings.Concurrency = concurrency
		return errors.Join(e.Play(context.Background(), folder, set, arms), folder.Close())
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
	whole := t.TempDir()
	if err := play(t, whole, 1, -1); err != nil {
		t.Fatal(err)
	}
	want, n := read(t, whole)
	runs := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		parted, err := os.MkdirTemp(runs, "")
		if err != nil {
			t.Fatal(err)
		}
		concurrency := rapid.IntRange(1, 5).Draw(t, "concurrency")
		before := 0
		for range rapid.IntRange(1, 3).Draw(t, "stops") {
			err := play(t, parted, concurrency, rapid.IntRange(1, 12).Draw(t, "stop"))
			if err != nil && !errors.Is(err, ErrInterrupted) {
				t.Fatal(err)
			}
			_, now := read(t, parted)
			if now <= before && err != nil {
				t.Fatalf("%d episodes before the stop, %d after it: what was in flight is lost", before, now)
			}
			before = now
		}
		if err := play(t, parted, concurrency, -1); err != nil {
			t.Fatal(err)
		}
		if got, m := read(t, parted); got != want || m != n {
			t.Fatalf("%d lines:\n%s\nwant %d:\n%s", m, got, n, want)
		}
	})
}
