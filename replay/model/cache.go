package model

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/cache"
	"golang.org/x/sync/singleflight"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
)

// CacheMode is how answers are stored and looked up.
type CacheMode string

// The cache modes.
const (
	CacheOff   CacheMode = "off"   // neither looked up nor stored
	CacheRead  CacheMode = "read"  // looked up, never stored
	CacheWrite CacheMode = "write" // looked up and stored
	CacheOnly  CacheMode = "only"  // looked up; the provider is never asked
)

// ParseCacheMode reads the name of a mode.
func ParseCacheMode(name string) (CacheMode, error) {
	modes := []CacheMode{CacheOff, CacheRead, CacheWrite, CacheOnly}
	if slices.Contains(modes, CacheMode(name)) {
		return CacheMode(name), nil
	}
	return "", fmt.Errorf("cache mode %q: want off, read, write or only", name)
}

// ErrNotStored says that a cache which may not ask the provider holds no answer.
var ErrNotStored = errors.New("no stored answer, and --cache only forbids asking for one")

// Cached is a model that stores answers by all that determines them, shares one
// answer among callers who ask at the same time, and never asks twice for what it
// holds. It may share its directory with other processes.
type Cached struct {
	model    replay.Model
	endpoint string
	mode     CacheMode
	run      string
	store    *cache.Cache
	flight   singleflight.Group
	warn     sync.Once
	// Warn hears once that answers cannot be stored; nil to leave it.
	Warn func(error)
}

// NewCached wraps a model. Endpoint is the identity of where it is reached.
func NewCached(model replay.Model, endpoint, dir string, mode CacheMode) (*Cached, error) {
	c := &Cached{model: model, endpoint: endpoint, mode: mode}
	if mode == CacheOff {
		return c, nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("opening the answer cache: %w; choose another with --cache-dir, or --cache off", err)
	}
	store, err := cache.Open(dir)
	if err != nil {
		return nil, fmt.Errorf("opening the answer cache: %w; choose another with --cache-dir, or --cache off", err)
	}
	c.store = store
	return c, nil
}

// BeginRun names the run that pays for the answers asked for from now on. It is to
// be called before the first of them.
func (c *Cached) BeginRun(run string) { c.run = run }

// entry is what stands in the store.
type entry struct {
	Run          string           `json:"run"` // who paid
	Message      fixtures.Message `json:"message"`
	FinishReason string           `json:"finish_reason"`
	Model        string           `json:"model"`
	Fingerprint  string           `json:"fingerprint"`
	Usage        replay.Usage     `json:"usage"`
	CostUSD      *float64         `json:"cost_usd,omitempty"`
	LatencyMS    *float64         `json:"latency_ms,omitempty"`
}

// Complete answers from the store where it may, else asks the model.
func (c *Cached) Complete(ctx context.Context, request *replay.Request) (*replay.Reply, error) {
	id, key, err := c.key(request)
	if err != nil {
		return nil, fmt.Errorf("asking model %s: %w", request.Model, err)
	}
	if c.mode == CacheOff || request.Fresh {
		if c.mode == CacheOnly {
			return nil, fmt.Errorf("asking model %s afresh: %w", request.Model, ErrNotStored)
		}
		return c.ask(ctx, request, key)
	}
	for {
		own := false // this caller is the one that asked
		waiting := c.flight.DoChan(string(id[:]), func() (any, error) {
			own = true
			return c.answer(ctx, request, id, key)
		})
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("asking model %s: %w", request.Model, context.Cause(ctx))
		case result := <-waiting:
			if result.Err == nil {
				shared := *result.Val.(*replay.Reply)
				return &shared, nil
			}
			// Where another caller asked and gave up, its context's end is not ours.
			if own || ctx.Err() != nil || !ended(result.Err) {
				return nil, result.Err
			}
		}
	}
}

// ended says that an error is the end of somebody's context.
func ended(err error) bool {
	var end endedError
	return errors.As(err, &end)
}

// endedError marks the failure of a caller whose own context ended meanwhile.
type endedError struct{ error }

func (e endedError) Unwrap() error { return e.error }

// answer looks the answer up, or asks for it and stores it.
func (c *Cached) answer(ctx context.Context, request *replay.Request, id cache.ActionID, key fixtures.Hash) (*replay.Reply, error) {
	if reply := c.lookUp(id, key); reply != nil {
		return reply, nil
	}
	if c.mode == CacheOnly {
		return nil, fmt.Errorf("asking model %s: %w", request.Model, ErrNotStored)
	}
	reply, err := c.ask(ctx, request, key)
	if err != nil && ctx.Err() != nil {
		return nil, endedError{err}
	}
	if err != nil {
		return nil, err
	}
	if c.mode == CacheWrite && !blank(reply) {
		if err := c.put(id, reply); err != nil && c.Warn != nil {
			c.warn.Do(func() { c.Warn(err) }) // the answer is good all the same
		}
	}
	return reply, nil
}

func (c *Cached) ask(ctx context.Context, request *replay.Request, key fixtures.Hash) (*replay.Reply, error) {
	reply, err := c.model.Complete(ctx, request)
	if err != nil {
		return nil, err
	}
	reply.Key = key
	if request.Fresh {
		// An answer asked for afresh is another answer, paid again.
		reply.Key = fixtures.HashBytes([]byte(string(key) + " fresh"))
	}
	return reply, nil
}

// blank says that an answer holds nothing; such an answer is worth asking for again.
func blank(reply *replay.Reply) bool {
	return strings.TrimSpace(reply.Message.Content) == "" && len(reply.Message.ToolCalls) == 0
}

func (c *Cached) lookUp(id cache.ActionID, key fixtures.Hash) *replay.Reply {
	data, _, err := c.store.GetBytes(id)
	if err != nil {
		return nil
	}
	var e entry
	if json.Unmarshal(data, &e) != nil {
		return nil // a damaged entry is no entry
	}
	return &replay.Reply{
		Message: e.Message, FinishReason: e.FinishReason, Model: e.Model, Fingerprint: e.Fingerprint,
		Usage: e.Usage, Key: key, Stored: e.Run != c.run, CostUSD: e.CostUSD, LatencyMS: e.LatencyMS,
	}
}

func (c *Cached) put(id cache.ActionID, reply *replay.Reply) error {
	data, err := fixtures.MarshalPlain(entry{c.run, reply.Message, reply.FinishReason, reply.Model, reply.Fingerprint, reply.Usage, reply.CostUSD, reply.LatencyMS})
	if err != nil {
		return fmt.Errorf("storing an answer: %w", err)
	}
	if err := c.store.PutBytes(id, data); err != nil {
		return fmt.Errorf("storing an answer: %w; free some space, or use --cache off", err)
	}
	return nil
}

// keyVersion changes whenever what determines an answer is composed differently.
const keyVersion = "doubletake answer 1"

// key is the identity of an answer: everything that determines it, each part
// framed by JSON so that no two requests run together.
func (c *Cached) key(request *replay.Request) (cache.ActionID, fixtures.Hash, error) {
	parts := struct {
		Version, Endpoint, Model string
		Messages                 []fixtures.Message
		Tools                    []fixtures.Tool
		Temperature, Seed        int
		MaxTokens                int
		JSON                     bool
		Replicate                int
	}{keyVersion, c.endpoint, request.Model, wireMessages(request.Messages), wireTools(request.Tools), 0, request.Seed, request.MaxTokens, request.JSON, request.Replicate}
	data, err := fixtures.MarshalPlain(parts)
	if err != nil {
		return cache.ActionID{}, "", err
	}
	hash := cache.NewHash(strings.TrimSpace(keyVersion))
	if _, err := hash.Write(data); err != nil {
		return cache.ActionID{}, "", err
	}
	return hash.Sum(), fixtures.HashBytes(data), nil
}

// wireMessages keeps of each message what the provider sees, so that a turn number
// or a time that it never sees makes no second answer.
func wireMessages(messages []fixtures.Message) []fixtures.Message {
	out := make([]fixtures.Message, len(messages))
	for i, m := range messages {
		out[i] = fixtures.Message{Role: m.Role, Content: m.Content, ToolCallID: m.ToolCallID}
		for _, call := range m.ToolCalls {
			out[i].ToolCalls = append(out[i].ToolCalls, fixtures.ToolCall{ID: call.ID, Name: call.Name, Arguments: call.Arguments})
		}
	}
	return out
}

// wireTools does the same for tools.
func wireTools(tools []fixtures.Tool) []fixtures.Tool {
	out := make([]fixtures.Tool, len(tools))
	for i, t := range tools {
		out[i] = fixtures.Tool{Name: t.Name, Description: t.Description, Parameters: t.Parameters}
	}
	return out
}
