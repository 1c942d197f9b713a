package model

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/doubletake-dev/doubletake/fixtures"
)

// maxBody bounds how much of an answer is read.
const maxBody = 64 << 20

// wire carries requests for the library and mends what it cannot say: a
// temperature of zero and an empty content are dropped by its JSON tags, and what a
// model wants otherwise it does not know. It also reads answers whole, so that whatever
// is no chat completion becomes a [*ProviderError] with status and an excerpt instead of
// a bare syntax error, and puts streamed answers together.
type wire struct {
	client *http.Client
	key    string
	keys   scrubber // of the key
	limit  int64    // of an answer's size
	idle   time.Duration
}

func newWire(e Endpoint) *wire {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = 256 // every worker keeps its connection
	idle := e.Idle
	if idle == 0 {
		idle = DefaultIdle
	}
	return &wire{
		client: &http.Client{Transport: transport, CheckRedirect: stayHere},
		key:    e.Key, keys: newScrubber(e.Key), limit: maxBody, idle: idle,
	}
}

// stayHere follows no redirect: the key and the conversation are for the endpoint that
// was named, and for no other.
func stayHere(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// exchange is one request and its answer as they stood on the wire. It travels in the
// context, beside what the library carries.
type exchange struct {
	quirks Quirks
	stream bool
	// messages are those of a chat request as they go onto the wire; nil for what is no
	// chat.
	messages []byte
	// request and response are the bytes, without the key.
	request, response []byte
}

type exchangeKey struct{}

// exchangeOf is the exchange that a context carries, or one of nothing special.
func exchangeOf(ctx context.Context) *exchange {
	if x, ok := ctx.Value(exchangeKey{}).(*exchange); ok {
		return x
	}
	return &exchange{}
}

// scrub takes the key out of a text. It comes before anything is cut, so that no half of
// a key stays.
func (w *wire) scrub(text string) string { return w.keys.text(text) }

// Do sends one chat request and returns an answer that is a chat completion.
func (w *wire) Do(request *http.Request) (*http.Response, error) {
	x := exchangeOf(request.Context())
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return nil, fmt.Errorf("composing the request: %w", err)
	}
	if body, err = x.compose(body); err != nil {
		return nil, err
	}
	x.messages = nil // they stand in the body now, and an answer may take its time
	request.Body = io.NopCloser(bytes.NewReader(body))
	request.ContentLength = int64(len(body))
	request.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	if w.key == "" {
		request.Header.Del("Authorization")
	}
	if x.stream {
		request.Header.Set("Accept", "text/event-stream")
	}
	x.request = w.keys.bytes(body)
	response, answer, err := w.send(request, x)
	if err != nil {
		return nil, err
	}
	if err := w.completion(response, answer); err != nil {
		return nil, err
	}
	response.Body = io.NopCloser(bytes.NewReader(answer))
	return response, nil
}

// send sends a request and reads the answer: whole, or put together from its pieces. An
// error is a [*ProviderError] where the provider answered, else the network's or the time's.
func (w *wire) send(request *http.Request, x *exchange) (*http.Response, []byte, error) {
	ctx, stop := context.WithCancelCause(request.Context())
	defer stop(nil)
	response, err := w.client.Do(request.WithContext(ctx))
	if err != nil {
		return nil, nil, errUnanswered{w.keys.err(fmt.Errorf("reaching the provider: %w", err))}
	}
	defer response.Body.Close()
	if response.StatusCode < http.StatusBadRequest { // a refusal says by Retry-After when to ask again
		ticketOf(ctx).answered(usedUp(response.Header, time.Now()))
	}
	silent := fmt.Errorf("no byte came for %s", w.idle)
	timer := time.AfterFunc(w.idle, func() { stop(silent) })
	defer timer.Stop()
	var kept bytes.Buffer
	body := &watched{io.LimitReader(response.Body, w.limit+1), timer, w.idle}
	var assembled []byte
	streamed := x.stream && response.StatusCode == http.StatusOK
	if streamed {
		assembled, err = assemble(io.TeeReader(body, &kept))
	} else {
		_, err = io.Copy(&kept, body)
	}
	if int64(kept.Len()) > w.limit {
		return nil, nil, &ProviderError{Status: response.StatusCode, Message: fmt.Sprintf("the answer is larger than %d bytes", w.limit)}
	}
	// A provider that repeats the key must not bring it into the run's files.
	x.response = w.keys.bytes(kept.Bytes())
	var fault *streamError
	switch {
	case err != nil && errors.Is(context.Cause(ctx), silent):
		return nil, nil, w.broken(response, "the answer broke off: "+silent.Error())
	case errors.As(err, &fault) && fault.object != nil:
		return nil, nil, w.fault(response, fault.object, fault.object)
	case errors.As(err, &fault):
		return nil, nil, w.broken(response, fault.text+": "+w.excerpt(kept.Bytes()))
	case err != nil:
		return nil, nil, w.broken(response, "the answer broke off: "+err.Error())
	}
	if streamed {
		// What comes after the end is read for a moment, so that the connection can be
		// used again.
		timer.Reset(afterEnd)
		_, _ = io.CopyN(io.Discard, response.Body, 1<<10)
		return response, w.keys.bytes(assembled), nil
	}
	return response, x.response, nil
}

// afterEnd is how long a provider may take to close a stream that came to its end.
const afterEnd = 250 * time.Millisecond

// watched puts the end of patience off with every piece of an answer.
type watched struct {
	from  io.Reader
	timer *time.Timer
	idle  time.Duration
}

func (r *watched) Read(p []byte) (int, error) {
	n, err := r.from.Read(p)
	if n > 0 {
		r.timer.Reset(r.idle)
	}
	return n, err
}

// completion says what is wrong with an answer, or returns nil for a chat completion.
func (w *wire) completion(response *http.Response, answer []byte) error {
	fields, ok := fixtures.SplitObject(answer)
	var choices []json.RawMessage
	if raw := fields["choices"]; raw != nil && json.Unmarshal(raw, &choices) != nil {
		ok = false
	}
	switch fault := fields["error"]; {
	case response.StatusCode != http.StatusOK:
		return w.fault(response, fault, answer)
	case !ok:
		return w.broken(response, "the answer is no JSON object of a chat completion: "+w.excerpt(answer))
	case fault != nil && string(fault) != "null":
		return w.fault(response, fault, answer)
	case len(choices) == 0:
		return w.broken(response, "the answer has no choices: "+w.excerpt(answer))
	case unended(choices[0]):
		return w.broken(response, "the answer does not say that it came to its end (no finish_reason): "+w.excerpt(answer))
	}
	return nil
}

// unended says that a choice is one, and does not say how it ended. What has another
// shape is the library's to refuse.
func unended(choice json.RawMessage) bool {
	fields, ok := fixtures.SplitObject(choice)
	if !ok || !bytes.HasPrefix(fields["message"], []byte("{")) {
		return false
	}
	switch string(fields["finish_reason"]) {
	case "", "null", `""`:
		return true
	}
	return false
}
