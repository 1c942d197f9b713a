package model

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/klauspost/compress/zstd"
	"github.com/rogpeppe/go-internal/cache"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
)

// ErrNoRaw says that nothing is kept of how an answer was asked for and came.
var ErrNoRaw = errors.New("nothing is kept of what stood on the wire")

// maxRaw bounds how much of an exchange is unpacked, in bytes.
const maxRaw = 2 * maxBody

// rawID is where the bytes of an answer's exchange stand. They are an entry of their own,
// so that looking an answer up doesn't read them.
func rawID(key fixtures.Hash) (cache.ActionID, error) {
	hash := cache.NewHash("doubletake raw 1")
	if _, err := hash.Write([]byte(key)); err != nil {
		return cache.ActionID{}, err
	}
	return hash.Sum(), nil
}

// newPacker makes what packs exchanges. Making one costs more than using it.
func newPacker() (*zstd.Encoder, error) {
	return zstd.NewWriter(nil, zstd.WithLowerEncoderMem(true), zstd.WithEncoderLevel(zstd.SpeedFastest))
}

func (c *Cached) putRaw(key fixtures.Hash, raw *replay.Raw) error {
	id, err := rawID(key)
	if err != nil {
		return err
	}
	packer, err := c.packer()
	if err != nil {
		return err
	}
	// The length of the request, the request, the answer: as base64 in JSON they would
	// hardly compress.
	data := make([]byte, 0, 8+len(raw.Request)+len(raw.Response))
	data = binary.BigEndian.AppendUint64(data, uint64(len(raw.Request)))
	data = append(append(data, raw.Request...), raw.Response...)
	return c.store.PutBytes(id, packer.EncodeAll(data, nil))
}

// ReadRaw returns what stood on the wire for the answer with that key, as the journals of
// a run name it, from the store in dir. The error is [ErrNoRaw] where that is not kept.
func ReadRaw(dir string, key fixtures.Hash) (*replay.Raw, error) {
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("answer %s: %w in %s", key, ErrNoRaw, dir)
	}
	store, err := cache.Open(dir)
	if err != nil {
		return nil, fmt.Errorf("opening the answer cache: %w", err)
	}
	id, err := rawID(key)
	if err != nil {
		return nil, err
	}
	packed, _, err := store.GetBytes(id)
	if err != nil {
		return nil, fmt.Errorf("answer %s: %w in %s", key, ErrNoRaw, dir)
	}
	reader, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxRaw))
	if err != nil {
		return nil, err
	}
	defer reader.Close()
	data, err := reader.DecodeAll(packed, nil)
	if err != nil {
		return nil, fmt.Errorf("answer %s: unpacking what stood on the wire: %w; the entry is damaged, and doubletake cache trim takes it out in time", key, err)
	}
	const head = 8
	if len(data) < head || binary.BigEndian.Uint64(data) > uint64(len(data)-head) {
		return nil, fmt.Errorf("answer %s: what stood on the wire is damaged", key)
	}
	split := head + binary.BigEndian.Uint64(data)
	return &replay.Raw{Request: data[head:split], Response: data[split:]}, nil
}
