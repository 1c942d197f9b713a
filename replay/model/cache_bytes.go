package model

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay/pack"
)

// bytesEntry is what stands in the store for an answer that is no chat's.
type bytesEntry struct {
	Run    string `json:"run"` // who paid
	Answer []byte `json:"answer"`
}

// bytesAnswer is what callers who ask at the same time share.
type bytesAnswer struct {
	data   []byte
	stored bool
}

// Bytes answers a request that is no chat's, such as one for a provider's own
// compaction, by the same modes as [Cached.Complete]. Everything that determines the
// answer stands in the request. Key identifies the answer, and stored says that an
// earlier run paid for it. What ask fails with is returned as it is, and not stored.
func (c *Cached) Bytes(ctx context.Context, request []byte, ask func(context.Context) ([]byte, error)) (answer []byte, key fixtures.Hash, stored bool, err error) {
	id := pack.KeyOf("doubletake bytes 1", request)
	key = fixtures.HashBytes(append([]byte("bytes\x00"), request...))
	for {
		got, own, err := c.byBytes.do(ctx, string(id[:]), func() (bytesAnswer, error) { return c.bytes(ctx, id, ask) })
		switch {
		case err == nil:
			return got.data, key, got.stored, nil
		case !own && ctx.Err() != nil:
			return nil, "", false, context.Cause(ctx)
		case own || !ended(err): // where another caller asked and gave up, its context's end is not ours
			return nil, "", false, err
		}
	}
}

func (c *Cached) bytes(ctx context.Context, id pack.Key, ask func(context.Context) ([]byte, error)) (bytesAnswer, error) {
	if got, ok, err := c.bytesKept(ctx, id); ok || err != nil {
		return got, err
	}
	if c.mode == CacheOnly {
		return bytesAnswer{}, ErrNotStored
	}
	kept := false
	if c.shared != nil {
		release, err := c.shared.Claim(ctx, sharedID(id))
		if err != nil {
			return bytesAnswer{}, err
		}
		defer func() { release(kept) }()
		// Who had the claim before may have stored it.
		if got, ok, err := c.bytesKept(ctx, id); ok || err != nil {
			kept = ok
			return got, err
		}
	}
	data, err := ask(ctx)
	if err != nil && ctx.Err() != nil {
		return bytesAnswer{}, endedError{err}
	}
	if err != nil {
		return bytesAnswer{}, err
	}
	err = c.keepBytes(ctx, id, data)
	if kept = err == nil; !kept && c.Warn != nil {
		c.warn.Do(func() { c.Warn(err) }) // the answer is good all the same
	}
	return bytesAnswer{data: data}, nil
}

func (c *Cached) bytesKept(ctx context.Context, id pack.Key) (bytesAnswer, bool, error) {
	c.mu.Lock()
	data, ok := c.memoryBytes[id]
	c.mu.Unlock()
	if ok {
		return bytesAnswer{data: data}, true, nil
	}
	if c.mode == CacheOff {
		return bytesAnswer{}, false, nil
	}
	packed, err := c.stored(ctx, id)
	var e bytesEntry
	if err != nil || packed == nil || json.Unmarshal(packed, &e) != nil {
		return bytesAnswer{}, false, err // a damaged entry is no entry
	}
	return bytesAnswer{e.Answer, e.Run != c.run}, true, nil
}

func (c *Cached) keepBytes(ctx context.Context, id pack.Key, data []byte) error {
	if c.mode != CacheWrite {
		c.mu.Lock()
		c.memoryBytes[id] = data
		c.mu.Unlock()
		return nil
	}
	packed, err := json.Marshal(bytesEntry{c.run, data})
	if err == nil && c.shared != nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeGrace)
		defer cancel()
		return c.shared.Put(ctx, sharedID(id), packed)
	}
	if err == nil {
		err = c.store.Put(id, packed)
	}
	if err != nil {
		return fmt.Errorf("storing an answer: %w; free some space, or use --cache read or off", err)
	}
	return nil
}
