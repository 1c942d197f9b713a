package model

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
	"github.com/doubletake-dev/doubletake/replay/pack"
)

// counted is a model that counts and answers with the count.
type counted struct{ n atomic.Int64 }

func (c *counted) Complete(context.Context, *replay.Request) (*replay.Reply, error) {
	return say(fmt.Sprint("answer ", c.n.Add(1))), nil
}

func cached(t *testing.T, model replay.Model, dir string, mode CacheMode, run string) *Cached {
	t.Helper()
	c, err := NewCached(model, "http://x/v1", dir, mode)
	if err != nil {
		t.Fatal(err)
	}
	c.BeginRun(run)
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

func complete(t *testing.T, c *Cached, r *replay.Request) *replay.Reply {
	t.Helper()
	reply, err := c.Complete(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return reply
}

func keyOf(t *testing.T, endpoint string, r *replay.Request) fixtures.Hash {
	t.Helper()
	id, key, err := (&Cached{endpoint: endpoint}).key(r)
	if err != nil || key == "" || id == (pack.Key{}) {
		t.Fatal(id, key, err)
	}
	return key
}

func TestTheKeyIsAllThatDeterminesAnAnswer(t *testing.T) {
	base := func() *replay.Request {
		return &replay.Request{
			Model: "m", Seed: 7, Tools: []fixtures.Tool{{Name: "read"}},
			Messages: []fixtures.Message{
				{Turn: 1, Role: fixtures.RoleUser, Content: "ab"},
				{Turn: 2, Role: fixtures.RoleAssistant, Content: "c", ToolCalls: []fixtures.ToolCall{{ID: "x", Name: "read", Arguments: json.RawMessage(`{"a":1}`)}}},
				{Turn: 2, Role: fixtures.RoleTool, ToolCallID: "x", Content: "r"},
			},
		}
	}
	seen := map[fixtures.Hash]string{keyOf(t, "e", base()): "the base"}
	for name, change := range map[string]func(*replay.Request){
		"model":         func(r *replay.Request) { r.Model = "n" },
		"seed":          func(r *replay.Request) { r.Seed = 8 },
		"max tokens":    func(r *replay.Request) { r.MaxTokens = 9 },
		"JSON":          func(r *replay.Request) { r.JSON = true },
		"replicate":     func(r *replay.Request) { r.Replicate = 1 },
		"tool":          func(r *replay.Request) { r.Tools[0].Description = "d" },
		"no tools":      func(r *replay.Request) { r.Tools = nil },
		"role":          func(r *replay.Request) { r.Messages[0].Role = fixtures.RoleSystem },
		"content":       func(r *replay.Request) { r.Messages[0].Content = "abx" },
		"moved content": func(r *replay.Request) { r.Messages[0].Content, r.Messages[1].Content = "a", "bc" },
		"arguments":     func(r *replay.Request) { r.Messages[1].ToolCalls[0].Arguments = json.RawMessage(`{"a":2}`) },
		"call id":       func(r *replay.Request) { r.Messages[1].ToolCalls[0].ID = "y" },
		"result of":     func(r *replay.Request) { r.Messages[2].ToolCallID = "y" },
		"fewer":         func(r *replay.Request) { r.Messages = r.Messages[:2] },
	} {
		r := base()
		change(r)
		key := keyOf(t, "e", r)
		if other, ok := seen[key]; ok {
			t.Errorf("%s makes the key of %s", name, other)
		}
		seen[key] = name
	}
	if _, ok := seen[keyOf(t, "f", base())]; ok {
		t.Error("another endpoint has the same key")
	}
	for name, change := range map[string]func(*replay.Request){
		"turn":  func(r *replay.Request) { r.Messages[0].Turn = 99 },
		"time":  func(r *replay.Request) { r.Messages[0].Time = "2026-03-20T00:00:00Z" },
		"parts": func(r *replay.Request) { r.Messages[0].Parts = json.RawMessage(`["ab"]`) },
		"extra": func(r *replay.Request) { r.Messages[0].Extra = map[string]json.RawMessage{"x": json.RawMessage("1")} },
		"fresh": func(r *replay.Request) { r.Fresh = true },
	} {
		r := base()
		change(r)
		if seen[keyOf(t, "e", r)] != "the base" {
			t.Errorf("%s, which no provider sees, makes another key", name)
		}
	}
}

// However a conversation is cut into messages, the cut is part of the key.
func TestNoTwoCutsShareAKey(t *testing.T) {
	c := &Cached{endpoint: "e"}
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string) []string {
			return rapid.SliceOfN(rapid.StringMatching(`[ab",\\]{0,3}`), 0, 4).Draw(t, name)
		}
		key := func(texts []string) fixtures.Hash {
			r := &replay.Request{}
			for _, text := range texts {
				r.Messages = append(r.Messages, fixtures.Message{Role: fixtures.RoleUser, Content: text})
			}
			_, key, err := c.key(r)
			if err != nil {
				t.Fatal(err)
			}
			return key
		}
		a, b := draw("a"), draw("b")
		if same := fmt.Sprintf("%q", a) == fmt.Sprintf("%q", b); same != (key(a) == key(b)) {
			t.Fatalf("%q and %q: same %v, same key %v", a, b, same, !same)
		}
	})
}

func TestCacheModes(t *testing.T) {
	dir := t.TempDir()
	model := &counted{}
	if reply := complete(t, cached(t, model, dir, CacheRead, "r1"), ask("m")); reply.Stored || reply.Message.Content != "answer 1" {
		t.Errorf("read, nothing stored: %+v", reply)
	}
	if _, err := cached(t, model, dir, CacheOnly, "r1").Complete(t.Context(), ask("m")); !errors.Is(err, ErrNotStored) {
		t.Errorf("only, nothing stored: %v", err)
	}
	write := cached(t, model, dir, CacheWrite, "r1")
	first := complete(t, write, ask("m"))
	if first.Stored || first.Message.Content != "answer 2" { // nothing was stored by reading
		t.Errorf("write, nothing stored: %+v", first)
	}
	again := complete(t, write, ask("m"))
	if !reflect.DeepEqual(again, first) {
		t.Errorf("the same run got %+v and %+v", first, again)
	}
	for _, mode := range []CacheMode{CacheRead, CacheWrite, CacheOnly} {
		reply := complete(t, cached(t, model, dir, mode, "r2"), ask("m"))
		if !reply.Stored || reply.Message.Content != "answer 2" || reply.Key != first.Key || reply.Usage != first.Usage || reply.Fingerprint != "fp" || reply.FinishReason != "stop" {
			t.Errorf("%s by another run: %+v", mode, reply)
		}
	}
	if reply := complete(t, cached(t, model, dir, CacheWrite, "r1"), ask("m")); reply.Stored {
		t.Error("a run that goes on counts its own answers as another's")
	}
	off := cached(t, model, filepath.Join(dir, "none"), CacheOff, "r3")
	if a, b := complete(t, off, ask("m")), complete(t, off, ask("m")); a.Message.Content != b.Message.Content || a.Stored || b.Stored || a.Key != first.Key || b.Key != first.Key {
		t.Errorf("off: %+v, %+v; want one answer, asked for once", a, b)
	}
	if a, b := complete(t, off, ask("m")), complete(t, cached(t, model, "", CacheOff, "r3"), ask("m")); a.Message.Content == b.Message.Content {
		t.Errorf("off: two runs share %q", a.Message.Content)
	}
	if _, err := os.Stat(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("off made a folder: %v", err)
	}
}

func TestFreshAnswersPassTheStore(t *testing.T) {
	dir := t.TempDir()
	model := &counted{}
	c := cached(t, model, dir, CacheWrite, "r1")
	stored := complete(t, c, ask("m"))
	fresh := ask("m")
	fresh.Fresh = true
	reply := complete(t, c, fresh)
	if reply.Message.Content != "answer 2" || reply.Stored || reply.Key == stored.Key {
		t.Errorf("fresh %+v after %+v", reply, stored)
	}
	if again := complete(t, c, ask("m")); again.Message.Content != "answer 1" {
		t.Errorf("a fresh answer was stored over the first: %+v", again)
	}
	if second := complete(t, c, fresh); second.Message.Content != "answer 3" || second.Key == reply.Key {
		t.Errorf("a second fresh answer %+v", second)
	}
	if other := complete(t, cached(t, model, dir, CacheWrite, "r1"), fresh); other.Message.Content != "answer 4" {
		t.Errorf("a run that may ask was given %q for a fresh answer", other.Message.Content)
	}
	off := cached(t, model, "", CacheOff, "r1")
	if a, b := complete(t, off, fresh), complete(t, off, fresh); a.Message.Content == b.Message.Content {
		t.Error("off gave one answer to two who asked afresh")
	}
}

// What was asked for afresh is read back where the provider may not be asked, and by the
// run that paid for it; in the order in which it was asked for.
func TestFreshAnswersAreReadBack(t *testing.T) {
	dir := t.TempDir()
	model := &counted{}
	fresh := ask("m")
	fresh.Fresh = true
	texts := func(c *Cached) (list []string) {
		for range 2 {
			reply := complete(t, c, fresh)
			if !reply.Fresh {
				t.Errorf("%+v is not said to be fresh", reply)
			}
			list = append(list, fmt.Sprint(reply.Message.Content, " ", reply.Stored))
		}
		return list
	}
	want := []string{"answer 1 false", "answer 2 false"}
	if got := texts(cached(t, model, dir, CacheWrite, "r1")); !reflect.DeepEqual(got, want) {
		t.Fatalf("asked %q, want %q", got, want)
	}
	again := cached(t, model, dir, CacheWrite, "")
	again.ResumeRun("r1")
	if got := texts(again); !reflect.DeepEqual(got, want) {
		t.Errorf("the run that goes on got %q, want %q", got, want)
	}
	only := cached(t, model, dir, CacheOnly, "r2")
	if got, want := texts(only), []string{"answer 1 true", "answer 2 true"}; !reflect.DeepEqual(got, want) {
		t.Errorf("only got %q, want %q", got, want)
	}
	if _, err := only.Complete(t.Context(), fresh); !errors.Is(err, ErrNotStored) {
		t.Errorf("only, a third: %v", err)
	}
	other := cached(t, model, dir, CacheWrite, "")
	other.ResumeRun("r3")
	if got, want := texts(other), []string{"answer 3 false", "answer 4 false"}; !reflect.DeepEqual(got, want) {
		t.Errorf("another run that goes on got %q, want %q", got, want)
	}
}

// A call that failed takes no place among the fresh answers.
func TestAFailedCallIsNoFreshAnswer(t *testing.T) {
	dir := t.TempDir()
	n := 0
	c := cached(t, modelFunc(func(context.Context, *replay.Request) (*replay.Reply, error) {
		if n++; n == 1 {
			return nil, errors.New("503")
		}
		return say("good"), nil
	}), dir, CacheWrite, "r")
	fresh := ask("m")
	fresh.Fresh = true
	if _, err := c.Complete(t.Context(), fresh); err == nil {
		t.Fatal("no error")
	}
	complete(t, c, fresh)
	if reply := complete(t, cached(t, &counted{}, dir, CacheOnly, "s"), fresh); reply.Message.Content != "good" {
		t.Errorf("only got %+v", reply)
	}
}

func TestADialectIsPartOfTheKey(t *testing.T) {
	c := &Cached{endpoint: "e"}
	plain := keyOf(t, "e", ask("m"))
	for _, dialect := range []string{"", "no temperature"} {
		c.Dialect = func(*replay.Request) string { return dialect }
		if _, key, err := c.key(ask("m")); err != nil || (key == plain) != (dialect == "") {
			t.Errorf("dialect %q: key %s beside %s, %v", dialect, key, plain, err)
		}
	}
}

func TestReplicatesDoNotShareAnswers(t *testing.T) {
	c := cached(t, &counted{}, t.TempDir(), CacheWrite, "r")
	second := ask("m")
	second.Replicate = 1
	if a, b := complete(t, c, ask("m")), complete(t, c, second); a.Message.Content == b.Message.Content {
		t.Errorf("both got %s", a.Message.Content)
	}
}

func TestBlankAnswersAndErrorsAreNotStored(t *testing.T) {
	replies := []any{say(""), say(" \n"), errors.New("503"), &replay.Reply{Message: fixtures.Message{ToolCalls: []fixtures.ToolCall{{ID: "a", Name: "read", Arguments: json.RawMessage("{}")}}}}}
	n := 0
	c := cached(t, modelFunc(func(context.Context, *replay.Request) (*replay.Reply, error) {
		n++
		if err, ok := replies[n-1].(error); ok {
			return nil, err
		}
		return replies[n-1].(*replay.Reply), nil
	}), t.TempDir(), CacheWrite, "r")
	for range 2 {
		complete(t, c, ask("m"))
	}
	if _, err := c.Complete(t.Context(), ask("m")); err == nil || err.Error() != "503" {
		t.Errorf("error %v", err)
	}
	for range 3 { // calls without text are no blank answer
		if reply := complete(t, c, ask("m")); len(reply.Message.ToolCalls) != 1 || n != 4 {
			t.Errorf("%+v after %d requests", reply, n)
		}
	}
}

func TestADamagedEntryIsAMiss(t *testing.T) {
	for name, damage := range map[string]func([]byte) []byte{
		"cut":             func(b []byte) []byte { return b[:len(b)-1] },
		"half":            func(b []byte) []byte { return b[:len(b)/2] },
		"a bit of it":     func(b []byte) []byte { b[len(b)-3] ^= 4; return b },
		"a bit of a head": func(b []byte) []byte { b[9] ^= 4; return b },
		"emptied":         func([]byte) []byte { return nil },
	} {
		for _, anew := range []bool{false, true} {
			t.Run(fmt.Sprint(name, ", opened anew: ", anew), func(t *testing.T) {
				dir := t.TempDir()
				model := &counted{}
				c := cached(t, model, dir, CacheWrite, "r")
				complete(t, c, ask("m"))
				files, err := filepath.Glob(filepath.Join(dir, "*.zst"))
				if err != nil || len(files) != 1 {
					t.Fatal(files, err)
				}
				data, err := os.ReadFile(files[0])
				if err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(files[0], damage(data), 0o600); err != nil {
					t.Fatal(err)
				}
				want := "answer 2"
				if name == "a bit of a head" && !anew {
					want = "answer 1" // it is known where the answer lies
				}
				if anew {
					if err := c.Close(); err != nil {
						t.Fatal(err)
					}
					c = cached(t, model, dir, CacheWrite, "r")
				}
				for range 2 { // and it is stored anew
					if reply := complete(t, c, ask("m")); reply.Message.Content != want {
						t.Errorf("got %s, want %s", reply.Message.Content, want)
					}
				}
			})
		}
	}
	t.Run("no JSON of ours", func(t *testing.T) {
		c := cached(t, &counted{}, t.TempDir(), CacheWrite, "r")
		id, _, err := c.key(ask("m"))
		if err != nil {
			t.Fatal(err)
		}
		if err := c.store.Put(id, []byte("[]")); err != nil {
			t.Fatal(err)
		}
		if reply := complete(t, c, ask("m")); reply.Message.Content != "answer 1" {
			t.Errorf("got %+v", reply)
		}
	})
}

func TestThoseWhoAskAtOnceShareOneAnswer(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		var asked atomic.Int64
		c := cached(t, modelFunc(func(context.Context, *replay.Request) (*replay.Reply, error) {
			asked.Add(1)
			<-release
			return say("shared"), nil
		}), dir, CacheWrite, "r")
		var group sync.WaitGroup
		for range 20 {
			group.Go(func() {
				reply, err := c.Complete(context.Background(), ask("m"))
				if err != nil || reply.Message.Content != "shared" || reply.Stored {
					t.Errorf("%+v, %v", reply, err)
					return
				}
				reply.Message.Content = "changed" // is the caller's own
			})
		}
		synctest.Wait()
		close(release)
		group.Wait()
		if asked.Load() != 1 {
			t.Errorf("asked %d times", asked.Load())
		}
	})
}

// The context of the one who asks is not that of those who wait.
func TestOneWhoGivesUpTakesNobodyAlong(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int64
		c := cached(t, modelFunc(func(ctx context.Context, _ *replay.Request) (*replay.Reply, error) {
			if asked.Add(1) == 1 {
				<-ctx.Done()
				return nil, fmt.Errorf("asking: %w", ctx.Err())
			}
			return say("second"), nil
		}), dir, CacheWrite, "r")
		leader, giveUp := context.WithCancel(context.Background())
		var group sync.WaitGroup
		group.Go(func() {
			if _, err := c.Complete(leader, ask("m")); !errors.Is(err, context.Canceled) {
				t.Errorf("the one who gave up got %v", err)
			}
		})
		synctest.Wait()
		for range 5 {
			group.Go(func() {
				if reply, err := c.Complete(context.Background(), ask("m")); err != nil || reply.Message.Content != "second" {
					t.Errorf("%+v, %v", reply, err)
				}
			})
		}
		synctest.Wait()
		giveUp()
		group.Wait()
		if asked.Load() != 2 {
			t.Errorf("asked %d times", asked.Load())
		}
	})
}

func TestOneWhoWaitsMayGiveUp(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		c := cached(t, modelFunc(func(context.Context, *replay.Request) (*replay.Reply, error) {
			<-release
			return say("late"), nil
		}), dir, CacheWrite, "r")
		var group sync.WaitGroup
		group.Go(func() {
			if _, err := c.Complete(context.Background(), ask("m")); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
		cause := errors.New("interrupted")
		ctx, cancel := context.WithCancelCause(context.Background())
		waiting := make(chan error)
		go func() {
			_, err := c.Complete(ctx, ask("m"))
			waiting <- err
		}()
		synctest.Wait()
		cancel(cause)
		if err := <-waiting; !errors.Is(err, cause) {
			t.Errorf("error %v", err)
		}
		close(release)
		group.Wait()
	})
}

// A provider's own "canceled" is its error, not the end of anybody's context.
func TestAnErrorIsNotMistakenForAnEnd(t *testing.T) {
	n := 0
	c := cached(t, modelFunc(func(context.Context, *replay.Request) (*replay.Reply, error) {
		n++
		return nil, context.Canceled
	}), t.TempDir(), CacheWrite, "r")
	if _, err := c.Complete(t.Context(), ask("m")); !errors.Is(err, context.Canceled) || n != 1 {
		t.Errorf("asked %d times, %v", n, err)
	}
}

func TestCacheModesByName(t *testing.T) {
	for _, name := range []string{"off", "read", "write", "only"} {
		if mode, err := ParseCacheMode(name); err != nil || string(mode) != name {
			t.Errorf("%s: %s, %v", name, mode, err)
		}
	}
	if _, err := ParseCacheMode("on"); err == nil || !strings.Contains(err.Error(), "want off, read, write or only") {
		t.Errorf("error %v", err)
	}
}

func TestACacheThatCannotBeOpened(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := NewCached(&counted{}, "e", file, CacheWrite); err == nil || !strings.Contains(err.Error(), "--cache-dir") {
		t.Errorf("error %v", err)
	}
}

func TestAnAnswerThatCannotBeStored(t *testing.T) {
	dir := t.TempDir()
	c := cached(t, &counted{}, dir, CacheWrite, "r")
	if err := errors.Join(os.RemoveAll(dir), os.WriteFile(dir, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	var warnings []error
	c.Warn = func(err error) { warnings = append(warnings, err) }
	for _, name := range []string{"m", "n"} { // an answer that was paid for is good all the same
		if _, err := c.Complete(t.Context(), ask(name)); err != nil {
			t.Errorf("error %v", err)
		}
	}
	if len(warnings) != 1 || !strings.Contains(warnings[0].Error(), "--cache read or off") {
		t.Errorf("warnings %v, want one", warnings)
	}
}

func TestARequestThatIsNoJSON(t *testing.T) {
	c := cached(t, &counted{}, t.TempDir(), CacheWrite, "r")
	r := ask("m")
	r.Messages[0].ToolCalls = []fixtures.ToolCall{{Arguments: json.RawMessage("{")}}
	if _, err := c.Complete(t.Context(), r); err == nil || !strings.Contains(err.Error(), "asking model m") {
		t.Errorf("error %v", err)
	}
}

// cacheHelper is set for the second process of TestTwoProcessesShareTheStore.
const cacheHelper = "DOUBLETAKE_TEST_CACHE"

func TestTwoProcessesShareTheStore(t *testing.T) {
	request := func(i int) *replay.Request { return ask(fmt.Sprintf("model-%d", i)) }
	fill := func(dir, run string) []string {
		c := cached(t, &counted{}, dir, CacheWrite, run)
		var texts []string
		for i := range 40 {
			texts = append(texts, complete(t, c, request(i)).Message.Content)
		}
		return texts
	}
	if dir := os.Getenv(cacheHelper); dir != "" {
		fill(dir, "other")
		return
	}
	dir := t.TempDir()
	other := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestTwoProcessesShareTheStore$")
	other.Env = append(os.Environ(), cacheHelper+"="+dir)
	var out bytes.Buffer
	other.Stdout, other.Stderr = &out, &out
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	fill(dir, "own")
	if err := other.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	// Whoever came first, every answer is there now, and is one of theirs.
	only := cached(t, &counted{}, dir, CacheOnly, "third")
	for i := range 40 {
		if reply := complete(t, only, request(i)); !reply.Stored || !strings.HasPrefix(reply.Message.Content, "answer ") {
			t.Errorf("answer %d: %+v", i, reply)
		}
	}
}
