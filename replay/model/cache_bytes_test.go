package model

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/doubletake-dev/doubletake/replay"
)

func TestBytesArePaidOnce(t *testing.T) {
	for _, mode := range []CacheMode{CacheOff, CacheRead, CacheWrite} {
		dir := t.TempDir()
		asked := 0
		ask := func(context.Context) ([]byte, error) {
			asked++
			return []byte{0, 255, byte(asked)}, nil
		}
		c := cached(t, &counted{}, dir, mode, "first")
		var wait sync.WaitGroup
		for range 8 {
			wait.Go(func() {
				got, key, stored, err := c.Bytes(t.Context(), []byte("request"), ask)
				if err != nil || string(got) != "\x00\xff\x01" || key == "" || stored {
					t.Errorf("%s: %q, %s, %v, %v", mode, got, key, stored, err)
				}
			})
		}
		wait.Wait()
		if asked != 1 {
			t.Errorf("%s: asked %d times", mode, asked)
		}
		_, other, _, err := c.Bytes(t.Context(), []byte("another"), ask)
		if err != nil || asked != 2 {
			t.Errorf("%s: another request is %s, %v, asked %d times", mode, other, err, asked)
		}
		later := cached(t, &counted{}, dir, CacheOnly, "second")
		got, _, stored, err := later.Bytes(t.Context(), []byte("request"), ask)
		if wrote := mode == CacheWrite; wrote != (err == nil && stored && string(got) == "\x00\xff\x01") || !wrote && !errors.Is(err, ErrNotStored) {
			t.Errorf("%s: later %q, %v, %v", mode, got, stored, err)
		}
	}
}

func TestBytesThatFail(t *testing.T) {
	c := cached(t, &counted{}, t.TempDir(), CacheWrite, "run")
	broken := errors.New("broken")
	for range 2 {
		if _, _, _, err := c.Bytes(t.Context(), []byte("r"), func(context.Context) ([]byte, error) { return nil, broken }); !errors.Is(err, broken) {
			t.Errorf("error %v", err)
		}
	}
	if got, _, _, err := c.Bytes(t.Context(), []byte("r"), func(context.Context) ([]byte, error) { return []byte("good"), nil }); err != nil || string(got) != "good" {
		t.Errorf("after failures %q, %v", got, err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, _, err := c.Bytes(ended, []byte("s"), func(ctx context.Context) ([]byte, error) { return nil, ctx.Err() }); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// TestAnswersAreBounded: the bound reaches requests that have none, and makes other answers.
func TestAnswersAreBounded(t *testing.T) {
	var bounds []int
	c := cached(t, modelFunc(func(_ context.Context, r *replay.Request) (*replay.Reply, error) {
		bounds = append(bounds, r.MaxTokens)
		return say("a"), nil
	}), t.TempDir(), CacheWrite, "run")
	own := ask("m")
	own.MaxTokens = 9
	for _, bound := range []int{0, 50} {
		c.MaxTokens = bound
		for _, r := range []*replay.Request{ask("m"), own} {
			complete(t, c, r)
		}
	}
	if want := []int{0, 9, 50}; !slices.Equal(bounds, want) {
		t.Errorf("bounds %v, want %v", bounds, want)
	}
	if own.MaxTokens != 9 || ask("m").MaxTokens != 0 {
		t.Error("a request was changed")
	}
}
