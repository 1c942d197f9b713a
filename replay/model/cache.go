package model

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"

	jsonv1 "github.com/go-json-experiment/json/v1"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
	"github.com/doubletake-dev/doubletake/replay/pack"
)

// CacheMode is how answers are stored and looked up.
type CacheMode string

// The cache modes.
const (
	CacheOff   CacheMode = "off"   // neither looked up nor stored; a run still asks the same but once
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
//
// Where it stores nothing it keeps the answers in memory, so that two arms with the
// same context share their answers in every mode.
//
// An answer asked for afresh is stored apart, by how many were asked for afresh before
// it. It is read back by [CacheOnly], which plays a night again as it was, and by the
// run that paid for it where that goes on; never by another run that may ask.
type Cached struct {
	model    replay.Model
	endpoint string
	mode     CacheMode
	run      string
	resumed  bool
	store    *pack.Store
	shared   Shared // in place of store; nil where there is none
	flights  flights[*replay.Reply]
	byBytes  flights[bytesAnswer] // of [Cached.Bytes]
	warn     sync.Once
	// Warn hears once that answers cannot be stored; nil to leave it.
	Warn func(error)
	// Dialect names what else of a request reaches the provider, or does not, than
	// the request says; it is part of the key where it isn't empty. May be nil.
	Dialect func(*replay.Request) string
	// MaxTokens bounds the answers to requests that set no bound; 0 leaves them to the
	// provider.
	MaxTokens int

	mu     sync.Mutex
	memory map[pack.Key]*replay.Reply
	// memoryBytes is the memory of [Cached.Bytes].
	memoryBytes map[pack.Key][]byte
	afresh      map[fixtures.Hash]int // how many answers were asked for afresh, by key
}

// NewCached wraps a model. Endpoint is the identity of where it is reached.
func NewCached(model replay.Model, endpoint, dir string, mode CacheMode) (*Cached, error) {
	c := &Cached{model: model, endpoint: endpoint, mode: mode, memory: map[pack.Key]*replay.Reply{}, memoryBytes: map[pack.Key][]byte{}, afresh: map[fixtures.Hash]int{}}
	if mode == CacheOff {
		return c, nil
	}
	// Whether answers can be stored there is told before any is paid for.
	err := os.MkdirAll(dir, 0o700)
	var store *pack.Store
	if err == nil {
		store, err = pack.Open(dir, pack.Options{Private: true, Uses: true})
	}
	if err != nil {
		return nil, fmt.Errorf("opening the answer cache: %w; choose another with --cache-dir, or --cache off", err)
	}
	c.store = store
	return c, nil
}

// Close lets others store in the files that this one stored in. It is not to be used after.
func (c *Cached) Close() error {
	if c.store == nil {
		return nil
	}
	if err := c.store.Close(); err != nil {
		return fmt.Errorf("closing the answer cache: %w", err)
	}
	return nil
}

// BeginRun names the run that pays for the answers asked for from now on. It is to
// be called before the first of them.
func (c *Cached) BeginRun(run string) { c.run = run }

// ResumeRun is BeginRun for a run that goes on: what it asked for afresh before it was
// cut short it has paid for, and need not ask for again.
func (c *Cached) ResumeRun(run string) { c.run, c.resumed = run, true }

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
	Reasoning    string           `json:"reasoning,omitempty"`
	Sent         string           `json:"sent,omitempty"`
}

// Complete answers from the store where it may, else asks the model.
func (c *Cached) Complete(ctx context.Context, request *replay.Request) (*replay.Reply, error) {
	if request.MaxTokens == 0 && c.MaxTokens > 0 {
		bounded := *request
		bounded.MaxTokens = c.MaxTokens
		request = &bounded
	}
	id, key, err := c.key(request)
	if err != nil {
		return nil, fmt.Errorf("asking model %s: %w", request.Model, err)
	}
	if request.Fresh {
		return c.fresh(ctx, request, key)
	}
	for {
		reply, own, err := c.flights.do(ctx, string(id[:]), func() (*replay.Reply, error) { return c.answer(ctx, request, id, key) })
		switch {
		case err == nil:
			shared := *reply
			return &shared, nil
		case !own && ctx.Err() != nil:
			return nil, fmt.Errorf("asking model %s: %w", request.Model, context.Cause(ctx))
		case own || !ended(err): // where another caller asked and gave up, its context's end is not ours
			return nil, err
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

// answer looks the answer up, or asks for it and keeps it.
func (c *Cached) answer(ctx context.Context, request *replay.Request, id pack.Key, key fixtures.Hash) (*replay.Reply, error) {
	if reply, err := c.lookUp(ctx, id, key); reply != nil || err != nil {
		return reply, err
	}
	if reply := c.remembered(id); reply != nil {
		return reply, nil
	}
	if c.mode == CacheOnly {
		return nil, fmt.Errorf("asking model %s: %w", request.Model, ErrNotStored)
	}
	if c.shared != nil {
		return c.claimed(ctx, request, id, key)
	}
	reply, err := c.ask(ctx, request, key)
	if err != nil && ctx.Err() != nil {
		return nil, endedError{err}
	}
	if err != nil {
		return nil, err
	}
	c.keep(ctx, id, reply)
	return reply, nil
}

// fresh asks for an answer of its own, unless it may be read back.
func (c *Cached) fresh(ctx context.Context, request *replay.Request, key fixtures.Hash) (*replay.Reply, error) {
	c.mu.Lock()
	c.afresh[key]++
	n := c.afresh[key]
	c.mu.Unlock()
	reply, err := c.freshNumber(ctx, request, key, "", n)
	if err != nil {
		c.mu.Lock()
		if c.afresh[key] == n {
			c.afresh[key]-- // the next takes its place
		}
		c.mu.Unlock()
	}
	return reply, err
}

// freshNumber asks for the n-th answer afresh; those of another series are others.
func (c *Cached) freshNumber(ctx context.Context, request *replay.Request, key fixtures.Hash, series string, n int) (*replay.Reply, error) {
	name := string(key) + " fresh" + series // another answer than the stored one, paid again
	if n > 1 {
		name += fmt.Sprintf(" %d", n)
	}
	key = fixtures.HashBytes([]byte(name))
	id := pack.KeyOf(keyVersion, []byte(name))
	if c.mode == CacheOnly || c.mode == CacheWrite && c.resumed {
		reply, err := c.lookUp(ctx, id, key)
		if err != nil {
			return nil, err
		}
		if reply != nil && (c.mode == CacheOnly || !reply.Stored) {
			reply.Fresh = true
			return reply, nil
		}
	}
	if c.mode == CacheOnly {
		return nil, fmt.Errorf("asking model %s afresh: %w", request.Model, ErrNotStored)
	}
	reply, err := c.ask(ctx, request, key)
	if err != nil {
		return nil, err
	}
	reply.Fresh = true
	if c.mode == CacheWrite {
		c.keep(ctx, id, reply)
	}
	return reply, nil
}

func (c *Cached) ask(ctx context.Context, request *replay.Request, key fixtures.Hash) (*replay.Reply, error) {
	reply, err := c.model.Complete(ctx, request)
	if err != nil {
		return nil, err
	}
	reply.Key = key
	return reply, nil
}

// keep stores an answer, or remembers it where nothing is stored.
func (c *Cached) keep(ctx context.Context, id pack.Key, reply *replay.Reply) {
	if blank(reply) {
		return
	}
	if c.shared != nil {
		_ = c.share(ctx, id, reply)
		return
	}
	if c.mode != CacheWrite {
		own := *reply
		own.Raw = nil // for the store alone, and large
		c.mu.Lock()
		c.memory[id] = &own
		c.mu.Unlock()
		return
	}
	if err := c.put(id, reply); err != nil && c.Warn != nil {
		c.warn.Do(func() { c.Warn(err) }) // the answer is good all the same
	}
}

func (c *Cached) remembered(id pack.Key) *replay.Reply {
	c.mu.Lock()
	defer c.mu.Unlock()
	reply := c.memory[id]
	if reply == nil {
		return nil
	}
	own := *reply
	return &own
}

// blank says that an answer holds nothing; such an answer is worth asking for again.
func blank(reply *replay.Reply) bool {
	return strings.TrimSpace(reply.Message.Content) == "" && len(reply.Message.ToolCalls) == 0
}

func (c *Cached) lookUp(ctx context.Context, id pack.Key, key fixtures.Hash) (*replay.Reply, error) {
	if c.mode == CacheOff {
		return nil, nil
	}
	data, err := c.stored(ctx, id)
	if data == nil || err != nil {
		return nil, err
	}
	var e entry
	if jsonv1.Unmarshal(data, &e) != nil {
		return nil, nil // a damaged entry is no entry
	}
	return &replay.Reply{
		Message: e.Message, FinishReason: e.FinishReason, Model: e.Model, Fingerprint: e.Fingerprint,
		Usage: e.Usage, Key: key, Stored: e.Run != c.run, CostUSD: e.CostUSD, LatencyMS: e.LatencyMS,
		Reasoning: e.Reasoning, Sent: e.Sent,
	}, nil
}

// stored is what stands in the store, nil for nothing. What cannot be read from a folder
// is as good as nothing; what a shared store cannot tell is not, as somebody else may have
// paid for it.
func (c *Cached) stored(ctx context.Context, id pack.Key) ([]byte, error) {
	if c.shared != nil {
		data, err := c.shared.Get(ctx, sharedID(id))
		if err != nil {
			return nil, fmt.Errorf("looking an answer up: %w", err)
		}
		return data, nil
	}
	data, err := c.store.Get(id)
	if err != nil {
		return nil, nil
	}
	return data, nil
}

// marshal is what is stored of an answer.
func (c *Cached) marshal(reply *replay.Reply) ([]byte, error) {
	return fixtures.MarshalPlain(entry{
		c.run, reply.Message, reply.FinishReason, reply.Model, reply.Fingerprint, reply.Usage, reply.CostUSD, reply.LatencyMS,
		reply.Reasoning, reply.Sent,
	})
}

func (c *Cached) put(id pack.Key, reply *replay.Reply) error {
	data, err := c.marshal(reply)
	if err != nil {
		return fmt.Errorf("storing an answer: %w", err)
	}
	err = c.store.Put(id, data)
	if err == nil && reply.Raw != nil {
		err = c.putRaw(reply.Key, reply.Raw)
	}
	if err != nil {
		return fmt.Errorf("storing an answer: %w; free some space, or use --cache read or off", err)
	}
	return nil
}

// keyVersion changes whenever what determines an answer is composed differently.
const keyVersion = "doubletake answer 1"

// key is the identity of an answer: everything that determines it, each part
// framed by JSON so that no two requests run together.
func (c *Cached) key(request *replay.Request) (pack.Key, fixtures.Hash, error) {
	parts := struct {
		Version, Endpoint, Model string
		Messages                 []fixtures.Message
		Tools                    []fixtures.Tool
		Temperature, Seed        int
		MaxTokens                int
		JSON                     bool
		Replicate                int
		Dialect                  string `json:",omitempty"`
	}{keyVersion, c.endpoint, request.Model, nil, wireTools(request.Tools), 0, request.Seed, request.MaxTokens, request.JSON, request.Replicate, ""}
	if c.Dialect != nil {
		parts.Dialect = c.Dialect(request)
	}
	data, err := fixtures.MarshalPlain(parts)
	if err != nil {
		return pack.Key{}, "", err
	}
	messages, err := fixtures.MarshalMessages(wireMessages(request.Messages))
	if err != nil {
		return pack.Key{}, "", err
	}
	// The messages are put into their place, which no text can look like: the quotes of
	// a text are escaped.
	const name, nothing = `"Messages":`, "null"
	at := bytes.Index(data, []byte(name+nothing)) + len(name)
	data = slices.Replace(data, at, at+len(nothing), messages...)
	return pack.KeyOf(keyVersion, data), fixtures.HashBytes(data), nil
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
		if native := messages[i].Extra[replay.NativeField]; native != nil { // two of them may share a marker
			out[i].Extra = map[string]json.RawMessage{replay.NativeField: native}
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
