package model

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
)

// testKey is a key that must stand in no error.
const testKey = "sk-secret/0123456789+abcdefghijklmnopqrstuvwxyz"

const goodAnswer = `{"id":"1","model":"m-2026","system_fingerprint":"fp1","choices":[{"finish_reason":"stop","message":{"role":"assistant","content":"hello"}}],"usage":{"prompt_tokens":11,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":5}}}`

// provider is a server that keeps what it was asked.
type provider struct {
	*httptest.Server
	mu      sync.Mutex
	bodies  []map[string]json.RawMessage
	headers []http.Header
	paths   []string
}

// serve starts a provider; handle gets the number of the request, from 1.
func serve(t *testing.T, handle func(w http.ResponseWriter, r *http.Request, n int)) *provider {
	t.Helper()
	p := &provider{}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body map[string]json.RawMessage
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			t.Errorf("the request is no JSON: %v", err)
		}
		p.mu.Lock()
		p.bodies, p.headers, p.paths = append(p.bodies, body), append(p.headers, r.Header.Clone()), append(p.paths, r.URL.Path)
		n := len(p.bodies)
		p.mu.Unlock()
		handle(w, r.WithContext(context.WithValue(r.Context(), bodyKey{}, body)), n)
	}))
	t.Cleanup(p.Close)
	return p
}

type bodyKey struct{}

// bodyOf is the body of the request that a handler is answering.
func bodyOf(r *http.Request) map[string]json.RawMessage {
	body, _ := r.Context().Value(bodyKey{}).(map[string]json.RawMessage)
	return body
}

func (p *provider) asked() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.bodies)
}

// answers are handlers, one a request; the last answers further ones.
func answers(list ...http.HandlerFunc) func(http.ResponseWriter, *http.Request, int) {
	return func(w http.ResponseWriter, r *http.Request, n int) { list[min(n, len(list))-1](w, r) }
}

// answer is a handler that answers with a status, a body and headers.
func answer(status int, body string, headers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}
}

// waited are the pauses that a client would have made.
type waited struct {
	mu   sync.Mutex
	list []time.Duration
}

func (w *waited) all() []time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.list
}

// connect makes a client that does not wait between its tries.
func connect(t *testing.T, endpoint Endpoint) (*Client, *waited) {
	t.Helper()
	client, err := NewClient(endpoint)
	if err != nil {
		t.Fatal(err)
	}
	var w waited
	client.pause = func(d time.Duration) time.Duration {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.list = append(w.list, d)
		return 0
	}
	return client, &w
}

func ask(name string) *replay.Request {
	return &replay.Request{Model: name, Messages: []fixtures.Message{{Role: fixtures.RoleUser, Content: "hi"}}}
}

// modelFunc is a model made of a function.
type modelFunc func(context.Context, *replay.Request) (*replay.Reply, error)

func (f modelFunc) Complete(ctx context.Context, r *replay.Request) (*replay.Reply, error) {
	return f(ctx, r)
}

func say(text string) *replay.Reply {
	return &replay.Reply{Message: fixtures.Message{Role: fixtures.RoleAssistant, Content: text}, FinishReason: "stop", Model: "m", Fingerprint: "fp", Usage: replay.Usage{PromptTokens: 3, CompletionTokens: 1}}
}

// streams runs a test as it is and with answers that are to be streamed.
func streams(t *testing.T, name string, run func(*testing.T, bool)) {
	t.Run(name, func(t *testing.T) { run(t, false) })
	t.Run(name+", streamed", func(t *testing.T) { run(t, true) })
}
