package replay

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"sync"

	"github.com/klauspost/compress/zstd"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay/pack"
)

// Contexts is a folder of compressed contexts, each under its hash. It is safe for
// concurrent use.
type Contexts struct {
	dir   string
	store func() (*pack.Store, error) // opened with the first use
}

// NewContexts uses the folder, which is made with the first context.
func NewContexts(dir string) *Contexts {
	return &Contexts{dir: dir, store: sync.OnceValues(func() (*pack.Store, error) { return pack.Open(dir, pack.Options{}) })}
}

var hashPattern = regexp.MustCompile(`^[0-9a-f]{16}$`)

// ContextKey is where a context stands in the store that its folder is.
func ContextKey(hash fixtures.Hash) pack.Key { return pack.KeyOf("context", []byte(hash)) }

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
	if !hashPattern.MatchString(string(hash)) {
		return false
	}
	if _, err := os.Stat(c.single(hash)); err == nil {
		return true
	}
	store, err := c.store()
	if err != nil {
		return false
	}
	return store.Has(ContextKey(hash))
}

// Whole says whether the context is there and can be read back.
func (c *Contexts) Whole(hash fixtures.Hash) bool {
	if !hashPattern.MatchString(string(hash)) {
		return false
	}
	if store, err := c.store(); err == nil && store.Whole(ContextKey(hash)) {
		return true
	}
	_, err := c.Export(hash)
	return err == nil
}

// Import stores a context that another folder's Export gave.
func (c *Contexts) Import(hash fixtures.Hash, data []byte) error {
	if have := fixtures.HashBytes(data); have != hash {
		return fmt.Errorf("storing the context %.20q: its content has the hash %s", hash, have)
	}
	return c.write(hash, data)
}

func (c *Contexts) write(hash fixtures.Hash, data []byte) error {
	store, err := c.store()
	if err != nil {
		return fmt.Errorf("storing a context: %w", err)
	}
	key := ContextKey(hash)
	if store.Whole(key) {
		return nil
	}
	if err := store.Put(key, data); err != nil {
		return fmt.Errorf("storing a context: %w", err)
	}
	return nil
}

// Sync returns once all contexts that were put before are on the disk.
func (c *Contexts) Sync() error {
	store, err := c.store()
	if err == nil {
		err = store.Sync()
	}
	if err != nil {
		return fmt.Errorf("storing contexts: %w", err)
	}
	return nil
}

// Close closes the folder. It is not to be used after it.
func (c *Contexts) Close() error {
	store, err := c.store()
	if err != nil {
		return nil // it was said where it was to be used
	}
	return store.Close()
}

// Get reads a context back. The error is [fs.ErrNotExist] where it isn't there.
func (c *Contexts) Get(hash fixtures.Hash) ([]fixtures.Message, error) {
	data, err := c.Export(hash)
	if err != nil {
		return nil, err
	}
	var messages []fixtures.Message
	if err := json.Unmarshal(bytes.TrimSpace(data), &messages); err != nil {
		return nil, fmt.Errorf("reading the context %s in %s: %w", hash, c.dir, err)
	}
	return messages, nil
}

// Export reads a context back as the bytes that its hash is of.
func (c *Contexts) Export(hash fixtures.Hash) ([]byte, error) {
	if !hashPattern.MatchString(string(hash)) {
		return nil, fmt.Errorf("reading a context: %q is no hash", hash)
	}
	data, err := c.read(hash)
	if err == nil && fixtures.HashBytes(data) != hash {
		err = errors.New("its content does not fit its name")
	}
	if err != nil {
		return nil, fmt.Errorf("reading the context %s in %s: %w", hash, c.dir, err)
	}
	return data, nil
}

func (c *Contexts) read(hash fixtures.Hash) ([]byte, error) {
	store, err := c.store()
	if err != nil {
		return nil, err
	}
	data, err := store.Get(ContextKey(hash))
	if !errors.Is(err, pack.ErrMissing) || errors.Is(err, pack.ErrDamaged) {
		return data, err
	}
	return c.readSingle(hash)
}

// single is where runs of before have a context: in a file of its own.
func (c *Contexts) single(hash fixtures.Hash) string {
	return filepath.Join(c.dir, string(hash)+".json.zst")
}

func (c *Contexts) readSingle(hash fixtures.Hash) ([]byte, error) {
	const most = 1 << 30 // bytes that a context may unpack to
	file, err := os.Open(c.single(hash))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fs.ErrNotExist // the file is not what is missing
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	decoder, err := zstd.NewReader(file, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(most))
	if err != nil {
		return nil, err
	}
	defer decoder.Close()
	return io.ReadAll(decoder)
}
