package offline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/zeebo/xxh3"
)

// maxBody is the largest request body that the provider reads.
const maxBody = 64 << 20

// grace is how long running requests have to end when the server closes.
const grace = 2 * time.Second

// epoch is where the invented times of answers begin.
const epoch = 1_700_000_000

// provider answers requests. It is safe for concurrent use.
type provider struct {
	library     *Library
	readings    *readings
	writer      *summariser
	fingerprint string
	flips       *flips // nil where every answer is the due one
}

// NewHandler returns the offline provider: POST /v1/chat/completions, POST
// /v1/embeddings, GET /v1/models and /v1/models/{id}. A nil library gives the
// generic behaviour.
func NewHandler(library *Library) http.Handler { return newProvider(library) }

func newProvider(library *Library) *provider {
	return &provider{
		library:     library,
		readings:    newReadings(),
		writer:      newSummariser(),
		fingerprint: "fp_" + string(library.Digest()),
	}
}

// ServeHTTP answers one request.
func (p *provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := r.URL.Path
	switch {
	case path == "/v1/chat/completions":
		p.post(w, r, p.chat)
	case path == "/v1/embeddings":
		p.post(w, r, func(w http.ResponseWriter, body []byte) {
			reply, err := embed(body)
			if err != nil {
				writeError(w, err)
				return
			}
			writeJSON(w, http.StatusOK, reply)
		})
	case path == "/v1/models" || strings.HasPrefix(path, "/v1/models/") && len(path) > len("/v1/models/"):
		if r.Method != http.MethodGet {
			wrongMethod(w, r, http.MethodGet)
			return
		}
		p.models(w, strings.TrimPrefix(strings.TrimPrefix(path, "/v1/models"), "/"))
	default:
		writeError(w, &apiError{
			Status:  http.StatusNotFound,
			Message: fmt.Sprintf("Unknown request URL: %s %s. Please check the URL for typos: the base URL of this provider ends in /v1.", r.Method, path),
			Type:    "invalid_request_error",
			Code:    "unknown_url",
		})
	}
}

// post reads the body of a POST and hands it on.
func (p *provider) post(w http.ResponseWriter, r *http.Request, answer func(http.ResponseWriter, []byte)) {
	if r.Method != http.MethodPost {
		wrongMethod(w, r, http.MethodPost)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		var tooLarge *http.MaxBytesError
		if errors.As(err, &tooLarge) {
			writeError(w, &apiError{
				Status:  http.StatusRequestEntityTooLarge,
				Message: fmt.Sprintf("The request body is larger than %d MB.", maxBody>>20),
				Type:    "invalid_request_error",
				Code:    "request_too_large",
			})
			return
		}
		writeError(w, invalid("", "", "The request body could not be read: %v.", err))
		return
	}
	answer(w, body)
}

// chat answers a chat request.
func (p *provider) chat(w http.ResponseWriter, body []byte) {
	req, refused := decodeChat(body)
	if refused != nil {
		writeError(w, refused)
		return
	}
	hash := xxh3.Hash(body)
	r := p.answer(req)
	for i := range r.calls {
		r.calls[i].id = fmt.Sprintf("call_%016x%02x", hash, i)
	}
	if limit := req.limit(); limit > 0 && len(r.calls) == 0 && CountTokens(r.text) > limit {
		r.text, r.finish = cutTokens(r.text, limit), "length"
	}
	c := &completion{
		ID:                fmt.Sprintf("chatcmpl-%016x", hash),
		Object:            "chat.completion",
		Created:           epoch + int64(hash%100_000_000),
		Model:             req.Model,
		SystemFingerprint: p.fingerprint,
	}
	n := 1
	if req.N != nil {
		n = *req.N
	}
	for i := range n {
		c.Choices = append(c.Choices, choice{Index: i, Message: r.wire(), FinishReason: r.finish})
	}
	c.Usage = usage{PromptTokens: req.promptTokens(), CompletionTokens: n * r.tokens()}
	c.Usage.TotalTokens = c.Usage.PromptTokens + c.Usage.CompletionTokens
	if req.Stream {
		stream(w, c, &r, req.StreamOptions != nil && req.StreamOptions.IncludeUsage)
		return
	}
	writeJSON(w, http.StatusOK, c)
}

// answer finds out which role the request is for, by its structure alone.
func (p *provider) answer(req *chatRequest) reply {
	last := lastUser(req.Messages)
	if last >= 0 {
		text := req.Messages[last].text
		if intent, ok := recordedIntent(text); ok {
			return reply{text: intent, finish: "stop"} // what was recorded fits an agent that does as recorded
		}
		if q, ok := gradeQuestion(text); ok {
			return p.grade(q)
		}
		if q, ok := probeQuestion(text); ok {
			return p.probe(req, last, q)
		}
		if q, ok := judgeQuestion(text); ok {
			return p.judge(q)
		}
		if t, ok := p.writer.transcript(req, last); ok {
			return p.writer.reply(t, req.limit())
		}
		if script, turn := p.library.turn(text); turn != nil {
			due := p.follow(req, last, script, turn)
			if rng := p.flips.next(); rng != nil {
				return p.misfollow(rng, req, last, script, turn, due)
			}
			return due
		}
	}
	if t, ok := p.writer.foreign(req, last); ok {
		return p.writer.reply(t, req.limit())
	}
	due := p.generic(req, last)
	if rng := p.flips.next(); rng != nil {
		return p.misread(rng, req, last, due)
	}
	return due
}

// lastUser is the index of the last user message, or -1.
func lastUser(messages []message) int {
	for i := len(messages) - 1; i >= 0; i-- {
		if messages[i].role == "user" {
			return i
		}
	}
	return -1
}

// model describes a model, whatever its name.
type model struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Created int64  `json:"created"`
	OwnedBy string `json:"owned_by"`
}

func (p *provider) models(w http.ResponseWriter, id string) {
	if id != "" {
		writeJSON(w, http.StatusOK, model{id, "model", epoch, "doubletake"})
		return
	}
	writeJSON(w, http.StatusOK, struct {
		Object string  `json:"object"`
		Data   []model `json:"data"`
	}{"list", []model{{"offline", "model", epoch, "doubletake"}}})
}

func wrongMethod(w http.ResponseWriter, r *http.Request, want string) {
	w.Header().Set("Allow", want)
	writeError(w, &apiError{
		Status:  http.StatusMethodNotAllowed,
		Message: fmt.Sprintf("Not allowed to %s on %s (want %s).", r.Method, r.URL.Path, want),
		Type:    "invalid_request_error",
		Code:    "method_not_supported",
	})
}

func writeError(w http.ResponseWriter, e *apiError) {
	writeJSON(w, e.Status, struct {
		Error *apiError `json:"error"`
	}{e})
}

func writeJSON(w http.ResponseWriter, status int, value any) {
	data, err := fixtures.MarshalPlain(value)
	if err != nil {
		http.Error(w, `{"error":{"message":"the answer could not be written","type":"server_error","param":null,"code":null}}`, http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(data, '\n')) // a client that went away is not our error
}

// Server is a provider that listens.
type Server struct {
	listener net.Listener
	http     *http.Server
	done     chan struct{}
	unused   unusedConns
	stop     func() bool // stops waiting for the end of the context
	once     sync.Once
	err      error
}

// Listen serves handler on addr until ctx ends or the server is closed. An empty
// addr takes a free port; an address without a host is on loopback.
func Listen(ctx context.Context, addr string, handler http.Handler) (*Server, error) {
	if addr == "" {
		addr = ":0"
	}
	if strings.HasPrefix(addr, ":") {
		addr = "127.0.0.1" + addr
	}
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("starting the offline provider on %s: %w; choose another address, or none for a free port", addr, err)
	}
	s := &Server{
		listener: listener,
		http:     &http.Server{Handler: handler, ReadHeaderTimeout: 30 * time.Second},
		done:     make(chan struct{}),
	}
	s.http.ConnState = s.unused.note
	go func() {
		defer close(s.done)
		_ = s.http.Serve(listener) // always ErrServerClosed, or the listener's own end
	}()
	s.stop = context.AfterFunc(ctx, s.shutdown)
	return s, nil
}

// unusedConns are the connections that clients opened and asked nothing on yet. Shutting
// down waits for those, though nothing will come.
type unusedConns struct {
	mu    sync.Mutex
	conns map[net.Conn]bool
}

func (u *unusedConns) note(conn net.Conn, state http.ConnState) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.conns == nil {
		u.conns = map[net.Conn]bool{}
	}
	if state == http.StateNew {
		u.conns[conn] = true
	} else {
		delete(u.conns, conn)
	}
}

func (u *unusedConns) close() {
	u.mu.Lock()
	defer u.mu.Unlock()
	for conn := range u.conns {
		_ = conn.Close()
	}
}

// URL is the base URL of the provider; it ends in /v1.
func (s *Server) URL() string { return "http://" + s.listener.Addr().String() + "/v1" }

// Close lets running requests end for a short while, then stops the server. It
// may be called more than once.
func (s *Server) Close() error {
	s.stop()
	s.shutdown()
	return s.err
}

func (s *Server) shutdown() {
	s.once.Do(func() {
		s.unused.close()
		ctx, cancel := context.WithTimeout(context.Background(), grace)
		defer cancel()
		if err := s.http.Shutdown(ctx); err != nil {
			s.err = s.http.Close()
		}
		<-s.done
	})
}
