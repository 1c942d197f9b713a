package review

import (
	"bytes"
	"context"
	"crypto/rand"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/pairing"
	"github.com/doubletake-dev/doubletake/replay"
)

//go:embed page
var page embed.FS

// Options are what a page is served with.
type Options struct {
	// Review is the open review of the run; the server is its only writer.
	Review *pairing.Review
	// Remembered are verdicts of earlier nights, by pair.
	Remembered map[string]pairing.Remembered
	// Assigned names the reviewers of each pair; nil where the queue was not shared out.
	Assigned map[string][]string
	// Reviewer is who decides.
	Reviewer string
	// Blind keeps from the reviewer which arm is which, until a pair is decided.
	Blind bool
	// Run is what the run is called on the page.
	Run string
	// Token is what a browser must show; see [NewToken].
	Token string
	// Address is where the server listens, as host:port.
	Address string
}

// Server is the page of one run for one reviewer. It is safe for concurrent use.
type Server struct {
	options Options
	gate    *gate
	handler http.Handler
	seed    uint64

	mu        sync.Mutex
	index     map[string]int               // of a pair in the queue
	verdicts  map[string][]pairing.Verdict // by pair, in their order
	standings []pairing.Standing           // as the queue
	contexts  contextCache

	judgements map[replay.DecisionKey]replay.Verdict
}

// NewToken draws a token that nobody guesses.
func NewToken() string { return rand.Text() }

// New prepares the page. It is an error if nobody is named as the reviewer, or if the
// token or the address will not do.
func New(o Options) (*Server, error) {
	if strings.TrimSpace(o.Reviewer) == "" {
		return nil, errors.New("the review page: nobody is named: say who decides (--as)")
	}
	gate, err := newGate(o.Token, o.Address)
	if err != nil {
		return nil, fmt.Errorf("the review page: %w", err)
	}
	s := &Server{options: o, gate: gate, index: map[string]int{}, verdicts: map[string][]pairing.Verdict{}}
	s.seed = seedOf(o.Review.Record.Run.ID)
	for i := range o.Review.Queue {
		s.index[o.Review.Queue[i].ID] = i
	}
	for _, v := range o.Review.Verdicts {
		s.verdicts[v.Pair] = append(s.verdicts[v.Pair], v)
	}
	s.judgements = map[replay.DecisionKey]replay.Verdict{}
	for _, j := range o.Review.Record.Judgements {
		s.judgements[j.Decision()] = j.Verdict
	}
	s.standings = pairing.Stand(o.Review.Record, o.Review.Queue, o.Review.Verdicts)
	if s.handler, err = s.routes(); err != nil {
		return nil, fmt.Errorf("the review page: %w", err)
	}
	return s, nil
}

// seedOf makes the shuffle of the sides another one in every run.
func seedOf(run string) uint64 {
	var seed uint64
	for _, digit := range []byte(fixtures.HashBytes([]byte(run))) {
		seed = seed<<4 | uint64(digit&0xf)
	}
	return seed
}

// ServeHTTP answers a request, once it has passed the gate.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

// URL is where a browser opens the page, with the token.
func (s *Server) URL() string { return "http://" + s.options.Address + "/?token=" + s.options.Token }

// Serve answers requests on a listener until the context ends. Requests that are being
// answered then are finished.
func (s *Server) Serve(ctx context.Context, listener net.Listener) error {
	return serveUntil(ctx, listener, s)
}

// serveUntil serves a page until the context ends.
func serveUntil(ctx context.Context, listener net.Listener, handler http.Handler) error {
	server := &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       time.Minute,
		IdleTimeout:       5 * time.Minute,
		MaxHeaderBytes:    64 << 10,
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	select {
	case err := <-ended:
		return fmt.Errorf("serving the page: %w", err)
	case <-ctx.Done():
	}
	const patience = 5 * time.Second
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	if err := server.Shutdown(last); err != nil {
		return errors.Join(fmt.Errorf("ending the page: %w", err), server.Close())
	}
	return nil
}

func (s *Server) routes() (http.Handler, error) {
	mux := http.NewServeMux()
	err := files(mux, "GET /{$}", "review", map[string]any{
		"Run": visible(s.options.Run), "Reviewer": visible(s.options.Reviewer),
		"Blind": s.options.Blind, "Token": s.options.Token, "Classes": fixtures.Classes(),
	})
	if err != nil {
		return nil, err
	}
	for pattern, answer := range map[string]func(*http.Request) (any, error){
		"GET /api/queue":    s.getQueue,
		"GET /api/next":     s.getNext,
		"GET /api/pair":     s.getPair,
		"GET /api/rows":     s.getRows,
		"GET /api/context":  s.getContext,
		"GET /api/text":     s.getText,
		"POST /api/decide":  s.postDecide,
		"POST /api/undo":    s.postUndo,
		"POST /api/unblind": s.postUnblind,
	} {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) { reply(w, r, answer) })
	}
	return s.gate.guard(mux), nil
}

// files serves a page, which holds no data but what is given here, and what it needs.
func files(mux *http.ServeMux, pattern, name string, data map[string]any) error {
	t, err := template.ParseFS(page, "page/"+name+".html.tmpl")
	if err != nil {
		return err
	}
	var shell bytes.Buffer
	if err := t.Execute(&shell, data); err != nil {
		return err
	}
	mux.HandleFunc(pattern, static("text/html; charset=utf-8", shell.Bytes()))
	for _, file := range []struct{ name, kind string }{
		{"review.css", "text/css; charset=utf-8"}, {"common.js", "text/javascript; charset=utf-8"}, {name + ".js", "text/javascript; charset=utf-8"},
	} {
		data, err := page.ReadFile("page/" + file.name)
		if err != nil {
			return err
		}
		mux.HandleFunc("GET /"+file.name, static(file.kind, data))
	}
	mux.HandleFunc("GET /favicon.ico", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	return nil
}

func static(kind string, data []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		_, _ = w.Write(data) // a browser that went away is no fault
	}
}
