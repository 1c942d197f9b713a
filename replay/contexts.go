package replay

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"sync"

	"github.com/klauspost/compress/zstd"

	"github.com/doubletake-dev/doubletake/fixtures"
)

// Contexts is a folder of compressed contexts, each named by its hash. It is safe for
// concurrent use.
type Contexts struct {
	dir string
	// Making a coder costs more than using it, so there is one of each.
	encoder func() (*zstd.Encoder, error)
	decoder func() (*zstd.Decoder, error)

	made func() error // makes the folder, once

	mu sync.Mutex
	// unsynced are the contexts that were written and may not be on the disk yet.
	unsynced []fixtures.Hash
}

// NewContexts uses the folder, which is made with the first context.
func NewContexts(dir string) *Contexts {
	const most = 1 << 30 // bytes that a context may unpack to
	return &Contexts{
		dir: dir,
		encoder: sync.OnceValues(func() (*zstd.Encoder, error) {
			return zstd.NewWriter(nil, zstd.WithLowerEncoderMem(true), zstd.WithEncoderLevel(zstd.SpeedFastest))
		}),
		decoder: sync.OnceValues(func() (*zstd.Decoder, error) { return zstd.NewReader(nil, zstd.WithDecoderMaxMemory(most)) }),
		made:    sync.OnceValue(func() error { return os.MkdirAll(dir, 0o755) }),
	}
}

var hashPattern = regexp.MustCompile(`^[0-9a-f]{16}$`)

func (c *Contexts) path(hash fixtures.Hash) string {
	return filepath.Join(c.dir, string(hash)+".json.zst")
}

// Put stores a context and returns its hash.
func (c *Contexts) Put(messages []fixtures.Message) (fixtures.Hash, error) {
	data, err := fixtures.MarshalMessages(messages)
	if err != nil {
		return "", fmt.Errorf("storing a context: %w", err)
	}
	hash := fixtures.HashBytes(data)
	return hash, c.write(hash, data)
}

// Has says whether the context is there.
func (c *Contexts) Has(hash fixtures.Hash) bool {
	_, err := os.Stat(c.path(hash))
	return hashPattern.MatchString(string(hash)) && err == nil
}

// Import stores a context that another folder's Export gave.
func (c *Contexts) Import(hash fixtures.Hash, data []byte) error {
	if have := fixtures.HashBytes(data); have != hash {
		return fmt.Errorf("storing the context %.20q: its content has the hash %s", hash, have)
	}
	return c.write(hash, data)
}

func (c *Contexts) write(hash fixtures.Hash, data []byte) error {
	path := c.path(hash)
	// A file without content is what a machine that stopped may leave of one.
	if info, err := os.Stat(path); err == nil && info.Size() > 0 {
		return nil
	}
	encoder, err := c.encoder()
	if err == nil {
		err = c.made()
	}
	if err == nil {
		err = fixtures.ReplaceFile(path, encoder.EncodeAll(data, nil))
	}
	if err != nil {
		return fmt.Errorf("storing a context: %w", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.unsynced = append(c.unsynced, hash)
	return nil
}

// Sync returns once all contexts that were put before are on the disk. They are flushed
// together, because that takes little longer than flushing one.
func (c *Contexts) Sync() error {
	c.mu.Lock()
	hashes := c.unsynced
	c.unsynced = nil
	c.mu.Unlock()
	if len(hashes) == 0 {
		return nil
	}
	paths := make([]string, len(hashes))
	for i, hash := range hashes {
		paths[i] = c.path(hash)
	}
	if err := fixtures.SyncFiles(c.dir, paths); err != nil {
		c.mu.Lock()
		c.unsynced = append(c.unsynced, hashes...)
		c.mu.Unlock()
		return fmt.Errorf("storing contexts: %w", err)
	}
	return nil
}

// Get reads a context back.
func (c *Contexts) Get(hash fixtures.Hash) ([]fixtures.Message, error) {
	data, err := c.Export(hash)
	if err != nil {
		return nil, err
	}
	var messages []fixtures.Message
	if err := json.Unmarshal(bytes.TrimSpace(data), &messages); err != nil {
		return nil, fmt.Errorf("reading the context %s: %w", c.path(hash), err)
	}
	return messages, nil
}

// Export reads a context back as the bytes that its hash is of.
func (c *Contexts) Export(hash fixtures.Hash) ([]byte, error) {
	if !hashPattern.MatchString(string(hash)) {
		return nil, fmt.Errorf("reading a context: %q is no hash", hash)
	}
	packed, err := os.ReadFile(c.path(hash))
	if err != nil {
		return nil, fmt.Errorf("reading a context: %w", err)
	}
	decoder, err := c.decoder()
	if err != nil {
		return nil, fmt.Errorf("reading a context: %w", err)
	}
	data, err := decoder.DecodeAll(packed, nil)
	if err == nil && fixtures.HashBytes(data) != hash {
		err = errors.New("its content does not fit its name")
	}
	if err != nil {
		return nil, fmt.Errorf("reading the context %s: %w", c.path(hash), err)
	}
	return data, nil
}
