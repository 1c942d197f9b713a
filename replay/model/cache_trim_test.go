package model

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
)

func TestTrimAndMeasure(t *testing.T) {
	dir := t.TempDir()
	c := cached(t, &counted{}, dir, CacheWrite, "run")
	for i := range 3 {
		complete(t, c, ask(fmt.Sprint("model ", i)))
	}
	size, err := MeasureCache(dir)
	if err != nil || size.Dir != dir || size.Entries != 3 || size.Bytes == 0 || size.Oldest == nil || size.Newest == nil {
		t.Errorf("%+v, %v", size, err)
	}
	all := TrimLimits{MaxBytes: 1}
	// What a night stores in at the time stays.
	if trimmed, err := TrimCache(dir, all, time.Now()); err != nil || trimmed.Removed != 0 || trimmed.Left.Entries != 3 {
		t.Errorf("%+v, %v", trimmed, err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if trimmed, err := TrimCache(dir, all, time.Now()); err != nil || trimmed.Removed != 3 || trimmed.Left.Entries != 0 || trimmed.Left.Bytes != 0 {
		t.Errorf("%+v, %v", trimmed, err)
	}
	if _, err := cached(t, &counted{}, dir, CacheOnly, "other").Complete(t.Context(), ask("model 0")); !errors.Is(err, ErrNotStored) {
		t.Errorf("an answer that was taken out: %v", err)
	}
}

func TestWhatStoodOnTheWireIsKept(t *testing.T) {
	dir := t.TempDir()
	raw := &replay.Raw{Request: bytes.Repeat([]byte(`{"a":"bytes that repeat"}`), 1000), Response: []byte("\x00\xff not text")}
	c := cached(t, modelFunc(func(context.Context, *replay.Request) (*replay.Reply, error) {
		reply := say("hello")
		reply.Raw, reply.Reasoning, reply.Sent = raw, "hm", "no seed"
		return reply, nil
	}), dir, CacheWrite, "r")
	fresh := ask("m")
	fresh.Fresh = true
	for _, request := range []*replay.Request{ask("m"), fresh} {
		reply := complete(t, c, request)
		got, err := ReadRaw(dir, reply.Key)
		if err != nil || !bytes.Equal(got.Request, raw.Request) || !bytes.Equal(got.Response, raw.Response) {
			t.Errorf("%v", err)
		}
	}
	if again := complete(t, cached(t, &counted{}, dir, CacheOnly, "s"), ask("m")); again.Reasoning != "hm" || again.Sent != "no seed" || again.Raw != nil {
		t.Errorf("%+v", again)
	}
	if size, err := MeasureCache(dir); err != nil || size.Entries != 4 || size.Bytes > int64(len(raw.Request)) {
		t.Errorf("%+v, %v", size, err)
	}
	for _, at := range []string{dir, filepath.Join(dir, "none")} {
		if _, err := ReadRaw(at, "0123456789abcdef"); !errors.Is(err, ErrNoRaw) {
			t.Errorf("%s: %v", at, err)
		}
	}
}

func TestDamagedBytesOfTheWire(t *testing.T) {
	dir := t.TempDir()
	c := cached(t, &counted{}, dir, CacheWrite, "r")
	for i, damaged := range []string{"", "short", "\x00\x00\x00\x00\x00\x00\x00\x09 8 bytes", "\xff\xff\xff\xff\xff\xff\xff\xff"} {
		key := fixtures.Hash(fmt.Sprint("key ", i))
		if err := c.store.Put(rawKey(key), []byte(damaged)); err != nil {
			t.Fatal(err)
		}
		if raw, err := ReadRaw(dir, key); err == nil || errors.Is(err, ErrNoRaw) || !strings.Contains(err.Error(), "damaged") {
			t.Errorf("%q: %+v, %v", damaged, raw, err)
		}
	}
}
