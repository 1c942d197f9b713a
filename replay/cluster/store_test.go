package cluster

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"pgregory.net/rapid"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
)

// large is what no message holds, even compressed.
func large() []byte {
	data := make([]byte, 3<<20)
	_, _ = rand.Read(data) // never fails
	return data
}

// age takes all large objects out, as time does.
func age(t *testing.T, c *Cluster) {
	t.Helper()
	stream, err := c.js.Stream(t.Context(), "OBJ_"+c.options.Prefix+"_large")
	if err == nil {
		err = stream.Purge(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestLargeObjectsOutliveTheKeysThatNameThem(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		life := time.Duration(rapid.Int64Range(1, int64(keepAnswers)).Draw(t, "life"))
		keep := time.Duration(rapid.Int64Range(0, int64(2*keepLarge)).Draw(t, "keep"))
		first := time.Unix(0, rapid.Int64Range(0, 1<<62).Draw(t, "first"))
		later := time.Duration(rapid.Int64Range(1, int64(keepLarge)).Draw(t, "later"))
		same := largeTime(first, keep, life) == largeTime(first.Add(later), keep, life)
		// An object put first is there until first+keep, a key stored later until later+life.
		if same && keep > 0 && later+life > keep {
			t.Fatalf("a name is used for %s, objects stay for %s, keys for %s", later, keep, life)
		}
		if !same && keep == 0 {
			t.Fatal("two names, and objects stay for ever")
		}
	})
	c := one(t, Options{})
	if c.keepLarge != keepLarge {
		t.Errorf("large objects are kept for %s, want %s", c.keepLarge, keepLarge)
	}
	for _, life := range []time.Duration{keepData, keepAnswers} {
		if now := time.Unix(0, 0); largeTime(now, keepLarge, life) != largeTime(now.Add(24*time.Hour), keepLarge, life) {
			t.Errorf("what is stored again after a day has another name, where keys live for %s", life)
		}
	}
}

func TestASetIsStoredAgainWhereALargeFileIsGone(t *testing.T) {
	c := one(t, Options{})
	set := fstest.MapFS{"a.json": {Data: []byte("{}")}, "notes.txt": {Data: large()}}
	files, err := c.PutFiles(t.Context(), set)
	if err != nil {
		t.Fatal(err)
	}
	age(t, c)
	err = c.FetchFiles(t.Context(), files, t.TempDir())
	if !errors.Is(err, errGone) || !strings.Contains(err.Error(), "fetching notes.txt of the set") {
		t.Errorf("%v", err)
	}
	if files, err = c.PutFiles(t.Context(), set); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := c.FetchFiles(t.Context(), files, dir); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(filepath.Join(dir, "notes.txt")); err != nil || string(data) != string(set["notes.txt"].Data) {
		t.Errorf("%d bytes, %v", len(data), err)
	}
}

func TestALargeAnswerThatIsGoneIsNone(t *testing.T) {
	c := one(t, Options{})
	answers := c.Answers()
	for range 2 {
		if err := answers.Put(t.Context(), "id", large()); err != nil {
			t.Fatal(err)
		}
		if data, err := answers.Get(t.Context(), "id"); err != nil || len(data) != 3<<20 {
			t.Fatalf("%d bytes, %v", len(data), err)
		}
		age(t, c)
		if data, err := answers.Get(t.Context(), "id"); err != nil || data != nil {
			t.Fatalf("%d bytes, %v", len(data), err)
		}
	}
	// Somebody asks for it anew, and the others wait for that.
	release, err := answers.Claim(t.Context(), "id")
	if err != nil {
		t.Fatal(err)
	}
	defer release(false)
	stopped, cancel := context.WithCancelCause(t.Context())
	cancel(replay.ErrInterrupted)
	if _, err := answers.Claim(stopped, "id"); err == nil {
		t.Error("two ask for it at once")
	}
}

func TestARunWhoseLargeManifestIsGoneIsNoneInTheStatus(t *testing.T) {
	c := one(t, Options{})
	l, err := c.Lead(t.Context(), Manifest{Run: "large", Parts: fmt.Appendf(nil, `"%x"`, large())}, replay.NewContexts(t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []int{1, 0} {
		if status, err := c.Status(t.Context()); err != nil || len(status.Runs) != want {
			t.Errorf("%+v, %v, want %d runs", status, err, want)
		}
		age(t, c)
	}
	if err := l.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestAResultOfWhichSomethingIsGoneIsPlayedAgain: a run that goes on finds its results, and
// what they name may have been there long before them.
func TestAResultOfWhichSomethingIsGoneIsPlayedAgain(t *testing.T) {
	for name, play := range map[string]func(*replay.Contexts, *replay.Episode) error{
		"a large result": func(_ *replay.Contexts, e *replay.Episode) error {
			e.Steps = []replay.Step{{Kind: replay.StepText, Text: fmt.Sprintf("%x", large())}}
			return nil
		},
		"a large context": func(contexts *replay.Contexts, e *replay.Episode) (err error) {
			e.Context, err = contexts.Put([]fixtures.Message{{Role: fixtures.RoleUser, Content: fmt.Sprintf("%x", large())}})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := one(t, Options{})
			contexts := replay.NewContexts(t.TempDir())
			var times atomic.Int64
			end := background(t, c, Worker{Name: "one", Slots: 1, Open: func(context.Context, *Manifest) (*Player, error) {
				return &Player{Contexts: contexts, Close: func() error { return nil }, Play: func(ctx context.Context, key replay.Key) (*replay.Episode, error) {
					times.Add(1)
					e, err := played(ctx, key)
					return e, errors.Join(err, play(contexts, e))
				}}, nil
			}})
			for want := 1; want <= 2; want++ {
				l := lead(t, c, "a run")
				e, err := l.Play(t.Context(), jobOf("story"))
				if err != nil {
					t.Fatal(err)
				}
				if e.Context != "" && !l.contexts.Has(e.Context) {
					t.Error("the context is not there")
				}
				if got := times.Load(); got != int64(want) {
					t.Errorf("played %d times, want %d", got, want)
				}
				if err := l.Close(t.Context()); err != nil {
					t.Fatal(err)
				}
				age(t, c)
			}
			if err := end(); err != nil {
				t.Error(err)
			}
		})
	}
}
