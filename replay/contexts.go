package replay

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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
}

// NewContexts uses the folder, which is made with the first context.
func NewContexts(dir string) *Contexts {
	const most = 1 << 30 // bytes that a context may unpack to
	return &Contexts{
		dir:     dir,
		encoder: sync.OnceValues(func() (*zstd.Encoder, error) { return zstd.NewWriter(nil) }),
		decoder: sync.OnceValues(func() (*zstd.Decoder, error) { return zstd.NewReader(nil, zstd.WithDecoderMaxMemory(most)) }),
	}
}

var hashPattern = regexp.MustCompile(`^[0-9a-f]{16}$`)

func (c *Contexts) path(hash fixtures.Hash) string {
	return filepath.Join(c.dir, string(hash)+".json.zst")
}

// Put stores a context and returns its hash.
func (c *Contexts) Put(messages []fixtures.Message) (fixtures.Hash, error) {
	data, err := fixtures.MarshalPlain(messages)
	if err != nil {
		return "", fmt.Errorf("storing a context: %w", err)
	}
	hash := fixtures.HashBytes(data)
	path := c.path(hash)
	if _, err := os.Stat(path); err == nil {
		return hash, nil
	}
	if err := os.MkdirAll(c.dir, 0o755); err != nil {
		return "", fmt.Errorf("storing a context: %w", err)
	}
	encoder, err := c.encoder()
	if err != nil {
		return "", fmt.Errorf("storing a context: %w", err)
	}
	packed := encoder.EncodeAll(data, nil)
	err = fixtures.WriteFileAtomic(path, func(out io.Writer) error {
		_, err := out.Write(packed)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("storing a context: %w", err)
	}
	return hash, nil
}

// Get reads a context back.
func (c *Contexts) Get(hash fixtures.Hash) ([]fixtures.Message, error) {
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
	var messages []fixtures.Message
	if err := json.Unmarshal(bytes.TrimSpace(data), &messages); err != nil {
		return nil, fmt.Errorf("reading the context %s: %w", c.path(hash), err)
	}
	return messages, nil
}
