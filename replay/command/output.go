package command

import (
	"bytes"
	"sync"
)

// Capped holds what is written to it, up to a limit in bytes.
type Capped struct {
	limit int
	over  error
	full  func()
	buf   bytes.Buffer
}

// NewCapped makes a Capped. A write beyond the limit calls full, fails with over and
// holds nothing of what it wrote.
func NewCapped(limit int, over error, full func()) *Capped {
	return &Capped{limit: limit, over: over, full: full}
}

// Write holds p where it fits whole.
func (c *Capped) Write(p []byte) (int, error) {
	if c.buf.Len()+len(p) > c.limit {
		c.full()
		return 0, c.over
	}
	return c.buf.Write(p)
}

// Bytes is what it holds. It may not be written to at the same time.
func (c *Capped) Bytes() []byte { return c.buf.Bytes() }

// Tail holds the end of what is written to it. It is safe for concurrent use.
type Tail struct {
	mu    sync.Mutex
	buf   []byte
	limit int
}

// NewTail makes a Tail that holds at most limit bytes.
func NewTail(limit int) *Tail { return &Tail{limit: limit} }

// Write holds the end of p, and as much of what came before it as the limit allows.
func (t *Tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, p...)
	if extra := len(t.buf) - t.limit; extra > 0 {
		t.buf = append(t.buf[:0], t.buf[extra:]...)
	}
	return len(p), nil
}

// All is a copy of what it holds.
func (t *Tail) All() []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	return bytes.Clone(t.buf)
}

// Reset forgets what was written.
func (t *Tail) Reset() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = t.buf[:0]
}
