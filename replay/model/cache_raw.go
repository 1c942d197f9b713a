package model

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
	"github.com/doubletake-dev/doubletake/replay/pack"
)

// ErrNoRaw says that nothing is kept of how an answer was asked for and came.
var ErrNoRaw = errors.New("nothing is kept of what stood on the wire")

// rawKey is where the bytes of an answer's exchange stand. They are an entry of their own,
// so that looking an answer up doesn't read them.
func rawKey(key fixtures.Hash) pack.Key { return pack.KeyOf("doubletake raw 1", []byte(key)) }

func (c *Cached) putRaw(key fixtures.Hash, raw *replay.Raw) error {
	// The length of the request, the request, the answer: as base64 in JSON they would
	// hardly compress.
	data := make([]byte, 0, 8+len(raw.Request)+len(raw.Response))
	data = binary.BigEndian.AppendUint64(data, uint64(len(raw.Request)))
	data = append(append(data, raw.Request...), raw.Response...)
	return c.store.Put(rawKey(key), data)
}

// ReadRaw returns what stood on the wire for the answer with that key, as the journals of
// a run name it, from the store in dir. The error is [ErrNoRaw] where that is not kept.
func ReadRaw(dir string, key fixtures.Hash) (raw *replay.Raw, err error) {
	store, err := pack.Open(dir, pack.Options{Uses: true})
	if err != nil {
		return nil, fmt.Errorf("opening the answer cache: %w", err)
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	data, err := store.Get(rawKey(key))
	if errors.Is(err, pack.ErrMissing) {
		return nil, fmt.Errorf("answer %s: %w in %s", key, ErrNoRaw, dir)
	}
	if err != nil {
		return nil, fmt.Errorf("answer %s: %w", key, err)
	}
	const head = 8
	if len(data) < head || binary.BigEndian.Uint64(data) > uint64(len(data)-head) {
		return nil, fmt.Errorf("answer %s: what stood on the wire is damaged", key)
	}
	split := head + binary.BigEndian.Uint64(data)
	return &replay.Raw{Request: data[head:split], Response: data[split:]}, nil
}
