package review

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"net"
	"net/http"
	"slices"
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
	// Standings are how the pairs of the queue stand, as [pairing.Stand] says; nil has it
	// asked.
	Standings []pairing.Standing
	// Remembered are verdicts of earlier nights, by pair.
	Remembered map[string]pairing.Remembered
	// Assigned names the reviewers of each pair; nil where the queue was not shared out.
	// A reviewer sees first what is theirs.
	Assigned map[string][]string
	// Reviewers are who decides, each on a page of their own.
	Reviewers []Reviewer
	// Blind keeps from the reviewer which arm is which, until a pair is decided.
	Blind bool
	// Run is what the run is called on the page.
	Run string
	// Address is where the server listens, as host:port.
	Address string
}

// Reviewer is somebody who decides.
type Reviewer struct {
	Name string
	// Token is what their browser must show; whoever shows it decides under this name. See
	// [NewToken] and [ReviewerToken].
	Token string
}

// Server is the page of one run, for one reviewer or more. It is safe for concurrent use.
type Server struct {
	options Options
	gate    *gate
	handler http.Handler
	desks   []*desk // as the reviewers

	mu        sync.Mutex
	index     map[string]int               // of a pair in the queue, by its name
	handles   []string                     // as the queue; what a page calls the pairs
	called    map[string]int               // of a pair in the queue, by its handle
	verdicts  map[string][]pairing.Verdict // by pair, in their order
	standings []pairing.Standing           // as the queue
	contexts  contextCache

	judgements map[replay.DecisionKey]replay.Verdict
}

// New prepares the page. It is an error if nobody is named as a reviewer or somebody
// twice, or if a token or the address will not do.
func New(o Options) (*Server, error) {
	if len(o.Reviewers) == 0 {
		return nil, errors.New("the review page: nobody is named: say who decides (--as)")
	}
	var names, tokens []string
	for _, r := range o.Reviewers {
		switch {
		case strings.TrimSpace(r.Name) == "":
			return nil, errors.New("the review page: nobody is named: say who decides (--as)")
		case slices.ContainsFunc(names, func(other string) bool { return pairing.SameReviewer(other, r.Name) }):
			return nil, fmt.Errorf("the review page: %q is named twice", visible(r.Name))
		}
		names, tokens = append(names, r.Name), append(tokens, r.Token)
	}
	gate, err := newGate(o.Address, tokens...)
	if err != nil {
		return nil, fmt.Errorf("the review page: %w", err)
	}
	s := &Server{options: o, gate: gate, index: map[string]int{}, called: map[string]int{}, verdicts: map[string][]pairing.Verdict{}}
	for i := range o.Review.Queue {
		handle := pairing.Handle(o.Review.Record.Run.ID, &o.Review.Queue[i])
		s.index[o.Review.Queue[i].ID], s.called[handle] = i, i
		s.handles = append(s.handles, handle)
	}
	for _, v := range o.Review.Verdicts {
		s.verdicts[v.Pair] = append(s.verdicts[v.Pair], v)
	}
	s.judgements = map[replay.DecisionKey]replay.Verdict{}
	for _, j := range o.Review.Record.Judgements {
		s.judgements[j.Decision()] = j.Verdict
	}
	if s.standings = slices.Clone(o.Standings); s.standings == nil {
		s.standings = pairing.Stand(o.Review.Record, o.Review.Queue, o.Review.Verdicts)
	}
	if len(s.standings) != len(o.Review.Queue) {
		return nil, fmt.Errorf("the review page: %d standings for %d pairs", len(s.standings), len(o.Review.Queue))
	}
	for _, r := range o.Reviewers {
		name, err := pairing.ReviewerName(r.Name)
		if err != nil {
			return nil, fmt.Errorf("the review page: %w", err)
		}
		s.desks = append(s.desks, newDesk(s, name))
	}
	if s.handler, err = s.routes(); err != nil {
		return nil, fmt.Errorf("the review page: %w", err)
	}
	return s, nil
}

// ServeHTTP answers a request, once it has passed the gate.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

// URL is where a browser opens the first reviewer's page, with the token.
func (s *Server) URL() string { return s.URLs()[0] }

// URLs are where a browser opens the page of each reviewer, with their token, in the order
// of the reviewers. Where the server listens on every address of the machine they hold one
// by which other machines reach it.
func (s *Server) URLs() []string {
	list := make([]string, len(s.options.Reviewers))
	for i, r := range s.options.Reviewers {
		list[i] = pageURL(s.options.Address, r.Token)
	}
	return list
}

// Serve answers requests on a listener until the context ends. Requests that are being
// answered then are finished, unless they take longer than a few seconds.
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
	const patience = 3 * time.Second // an answer takes far less, but for requests that never end
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	err := server.Shutdown(last)
	if errors.Is(err, context.DeadlineExceeded) {
		err = server.Close()
	}
	if err != nil {
		return fmt.Errorf("ending the page: %w", err)
	}
	return nil
}

func (s *Server) routes() (http.Handler, error) {
	mux := http.NewServeMux()
	var shells []map[string]any
	for _, r := range s.options.Reviewers {
		shells = append(shells, map[string]any{
			"Run": visible(s.options.Run), "Reviewer": visible(r.Name),
			"Blind": s.options.Blind, "Token": r.Token, "Classes": fixtures.Classes(),
		})
	}
	if err := files(mux, "GET /{$}", "review", shells...); err != nil {
		return nil, err
	}
	for pattern, answer := range map[string]func(*desk, *http.Request) (any, error){
		"GET /api/queue":    (*desk).getQueue,
		"GET /api/next":     (*desk).getNext,
		"GET /api/pair":     (*desk).getPair,
		"GET /api/rows":     (*desk).getRows,
		"GET /api/context":  (*desk).getContext,
		"GET /api/text":     (*desk).getText,
		"POST /api/decide":  (*desk).postDecide,
		"POST /api/undo":    (*desk).postUndo,
		"POST /api/unblind": (*desk).postUnblind,
	} {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			reply(w, r, func(r *http.Request) (any, error) { return answer(s.desks[reviewerOf(r)], r) })
		})
	}
	return s.gate.guard(mux), nil
}

// files serves a page, which holds no data but what is given here for each person by
// their number, and what it needs.
func files(mux *http.ServeMux, pattern, name string, data ...map[string]any) error {
	t, err := template.ParseFS(page, "page/"+name+".html.tmpl")
	if err != nil {
		return err
	}
	shells := make([][]byte, len(data))
	for i := range data {
		var shell bytes.Buffer
		if err := t.Execute(&shell, data[i]); err != nil {
			return err
		}
		shells[i] = shell.Bytes()
	}
	mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		static("text/html; charset=utf-8", shells[reviewerOf(r)])(w, r)
	})
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
