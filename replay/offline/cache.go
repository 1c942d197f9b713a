package offline

import (
	"container/list"
	"sync"

	"github.com/zeebo/xxh3"
)

// The bounds of the contexts that a handler keeps prepared.
const (
	cachedReadings = 64
	cachedBytes    = 16 << 20
)

// readings keeps the contexts that were asked about last, so that many questions
// about one context prepare it once. It changes no answer.
type readings struct {
	mu    sync.Mutex
	order *list.List // of *cachedReading, latest first
	byKey map[xxh3.Uint128]*list.Element
	bytes int
}

type cachedReading struct {
	key     xxh3.Uint128
	size    int
	once    sync.Once
	reading *Reading
}

func newReadings() *readings {
	return &readings{order: list.New(), byKey: map[xxh3.Uint128]*list.Element{}}
}

// of returns the texts prepared for questions.
func (c *readings) of(texts []string) *Reading {
	entry := c.entry(texts)
	entry.once.Do(func() { entry.reading = Read(texts...) })
	return entry.reading
}

func (c *readings) entry(texts []string) *cachedReading {
	hash := xxh3.New()
	size := 0
	for _, text := range texts {
		size += len(text)
		var length [8]byte
		for i := range length {
			length[i] = byte(len(text) >> (8 * i))
		}
		_, _ = hash.Write(length[:])
		_, _ = hash.WriteString(text)
	}
	key := hash.Sum128()
	c.mu.Lock()
	defer c.mu.Unlock()
	if at, ok := c.byKey[key]; ok {
		c.order.MoveToFront(at)
		return at.Value.(*cachedReading)
	}
	entry := &cachedReading{key: key, size: size}
	if size > cachedBytes {
		return entry
	}
	c.byKey[key] = c.order.PushFront(entry)
	c.bytes += size
	for c.order.Len() > cachedReadings || c.bytes > cachedBytes {
		last := c.order.Back()
		old := last.Value.(*cachedReading)
		c.order.Remove(last)
		delete(c.byKey, old.key)
		c.bytes -= old.size
	}
	return entry
}
