package review

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/fixtures/annotate"
)

// AnnotationOptions are what the page of an annotation is served with.
type AnnotationOptions struct {
	// Session is the open annotation of a recording; the server is its only writer.
	Session *annotate.Session
	// Write writes the fixture as decided so far, and says where.
	Write func() (string, error)
	// Name is what the recording is called on the page, Annotator who decides.
	Name, Annotator string
	// Token is what a browser must show; see [NewToken]. Address is where the server listens,
	// as host:port.
	Token, Address string
}

// Annotation is the page on which a person confirms or rejects what seems to bind later
// turns of one recording. It is safe for concurrent use.
type Annotation struct {
	options AnnotationOptions
	gate    *gate
	handler http.Handler

	mu sync.Mutex
}

// NewAnnotation prepares the page. It is an error if the token or the address will not do.
func NewAnnotation(o AnnotationOptions) (*Annotation, error) {
	gate, err := newGate(o.Address, o.Token)
	if err != nil {
		return nil, fmt.Errorf("the annotation page: %w", err)
	}
	a := &Annotation{options: o, gate: gate}
	mux := http.NewServeMux()
	err = files(mux, "GET /annotate", "annotate", map[string]any{
		"Name": visible(o.Name), "Annotator": visible(o.Annotator), "Token": o.Token, "Classes": fixtures.Classes(),
	})
	if err != nil {
		return nil, fmt.Errorf("the annotation page: %w", err)
	}
	mux.Handle("GET /{$}", http.RedirectHandler("/annotate", http.StatusSeeOther))
	for pattern, answer := range map[string]func(*http.Request) (any, error){
		"GET /api/step":     a.getStep,
		"GET /api/messages": a.getMessages,
		"GET /api/text":     a.getText,
		"POST /api/confirm": a.postConfirm,
		"POST /api/reject":  a.postReject,
		"POST /api/add":     a.postAdd,
		"POST /api/undo":    a.postUndo,
		"POST /api/write":   a.postWrite,
	} {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) { reply(w, r, answer) })
	}
	a.handler = gate.guard(mux)
	return a, nil
}

// ServeHTTP answers a request, once it has passed the gate.
func (a *Annotation) ServeHTTP(w http.ResponseWriter, r *http.Request) { a.handler.ServeHTTP(w, r) }

// URL is where a browser opens the page, with the token.
func (a *Annotation) URL() string { return pageURL(a.options.Address, a.options.Token) }

// Serve answers requests on a listener until the context ends.
func (a *Annotation) Serve(ctx context.Context, listener net.Listener) error {
	return serveUntil(ctx, listener, a)
}

// stepAnswer is what is to be decided next, with how far the annotation is.
type stepAnswer struct {
	Step   *stepView       `json:"step"` // nil where all is decided
	Counts annotate.Counts `json:"counts"`
	// Wrote is where the fixture was written to.
	Wrote string `json:"wrote,omitempty"`
}

type stepView struct {
	// ID tells this step from every other, so that a decision meets what was seen.
	ID     string        `json:"id"`
	Number int           `json:"number"`
	Of     int           `json:"of"`
	Item   fixtures.Item `json:"item"`
	Why    string        `json:"why"`
	// Check is what a drafted check asks; empty where the item is to be decided.
	Check    string        `json:"check,omitempty"`
	Messages []messageView `json:"messages"`
}

type messageView struct {
	Turn int     `json:"turn"`
	Role string  `json:"role"`
	Text []piece `json:"text"`
}

func stepID(step *annotate.Step) string {
	id := step.Proposal.Key()
	if step.Check != nil {
		id += "\x00" + asked(step.Check)
	}
	return string(fixtures.HashBytes([]byte(id)))
}

func (a *Annotation) getStep(*http.Request) (any, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.step(), nil
}

func (a *Annotation) step() stepAnswer {
	answer := stepAnswer{Counts: a.options.Session.Counts()}
	step := a.options.Session.Next()
	if step == nil {
		return answer
	}
	item := step.Proposal.Item
	v := &stepView{ID: stepID(step), Number: step.Number, Of: step.Of, Item: item, Why: brief(step.Proposal.Why, longestLiteral)}
	if step.Check != nil {
		v.Check = brief(asked(step.Check), longestLiteral)
	}
	v.Messages = a.messages(item.Turn-1, item.Turn, item.Literal)
	answer.Step = v
	return answer
}

// messages are those of some turns, with a literal marked in the last of them.
func (a *Annotation) messages(from, to int, literal string) []messageView {
	const mostMessages = 60
	list := []messageView{}
	messages := a.options.Session.Recording.Messages
	for i := range messages {
		m := &messages[i]
		if m.Turn < max(1, from) || m.Turn > to {
			continue
		}
		var marks []mark
		if at := strings.Index(m.Content, literal); m.Turn == to && literal != "" && at >= 0 {
			marks = []mark{{at, at + len(literal), markKept}}
		}
		query := url.Values{"n": {strconv.Itoa(i)}}
		list = append(list, messageView{m.Turn, visible(m.Role), passage{messageText(m), marks, query.Encode()}.pieces()})
	}
	return list[max(0, len(list)-mostMessages):]
}

// getMessages gives more turns before a step's item.
func (a *Annotation) getMessages(r *http.Request) (any, error) {
	from, err := number(r.URL.Query(), "from")
	if err != nil {
		return nil, err
	}
	to, err := number(r.URL.Query(), "to")
	if err != nil {
		return nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	literal := ""
	if step := a.options.Session.Next(); step != nil && step.Proposal.Item.Turn == to {
		literal = step.Proposal.Item.Literal
	}
	return map[string]any{"messages": a.messages(from, to, literal)}, nil
}

func (a *Annotation) getText(r *http.Request) (any, error) {
	n, err := number(r.URL.Query(), "n")
	if err != nil {
		return nil, err
	}
	messages := a.options.Session.Recording.Messages
	if n >= len(messages) {
		return nil, fault(http.StatusNotFound, "no message %d", n)
	}
	return continued(messageText(&messages[n]), r.URL.Query())
}

// decision is what a person sends about a step.
type decision struct {
	ID   string        `json:"id"`
	Item fixtures.Item `json:"item"`
}

// seenStep reads a decision and finds the step that it is about, which must still be the
// next one.
func (a *Annotation) seenStep(r *http.Request) (*annotate.Step, *decision, error) {
	var d decision
	if err := receive(r, &d); err != nil {
		return nil, nil, err
	}
	step := a.options.Session.Next()
	if step == nil || stepID(step) != d.ID {
		return nil, nil, fault(http.StatusConflict, "this was decided already: reload the page")
	}
	return step, &d, nil
}

func (a *Annotation) postConfirm(r *http.Request) (any, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	step, d, err := a.seenStep(r)
	if err != nil {
		return nil, err
	}
	item := step.Proposal.Item // what the page does not show stays as it was proposed
	if step.Check == nil {
		item.Class, item.Literal, item.Probe, item.Expect = d.Item.Class, d.Item.Literal, d.Item.Probe, d.Item.Expect
	}
	return a.after(a.options.Session.Confirm(step, item))
}

func (a *Annotation) postReject(r *http.Request) (any, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	step, _, err := a.seenStep(r)
	if err != nil {
		return nil, err
	}
	return a.after(a.options.Session.Reject(step))
}

func (a *Annotation) postAdd(r *http.Request) (any, error) {
	var d decision
	if err := receive(r, &d); err != nil {
		return nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	item := fixtures.Item{Class: d.Item.Class, Turn: d.Item.Turn, Literal: d.Item.Literal, Probe: d.Item.Probe, Expect: d.Item.Expect}
	return a.after(a.options.Session.Add(item))
}

func (a *Annotation) postUndo(r *http.Request) (any, error) {
	if err := receive(r, &struct{}{}); err != nil {
		return nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.after(a.options.Session.Undo())
}

// after is the next step once a decision is on the disk.
func (a *Annotation) after(err error) (any, error) {
	if err != nil {
		return nil, decideFault(err)
	}
	return a.step(), nil
}

func (a *Annotation) postWrite(r *http.Request) (any, error) {
	if err := receive(r, &struct{}{}); err != nil {
		return nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.options.Write == nil {
		return nil, errors.New("there is nowhere to write to")
	}
	path, err := a.options.Write()
	if err != nil {
		return nil, decideFault(err)
	}
	answer := a.step()
	answer.Wrote = visible(path)
	return answer, nil
}
