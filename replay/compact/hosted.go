package compact

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
)

// The presets: compactors that a provider runs.
const (
	PresetOpenAI    = "openai-compact"
	PresetAnthropic = "anthropic-compact"
)

// Presets lists the presets.
func Presets() []string { return []string{PresetOpenAI, PresetAnthropic} }

// PresetBase is the address of a preset's provider, which is asked where no other address
// is given; empty for what is no preset.
func PresetBase(preset string) string {
	switch preset {
	case PresetOpenAI:
		return openAIBase
	case PresetAnthropic:
		return anthropicBase
	}
	return ""
}

// HostedOptions say how a provider's own compaction is reached.
type HostedOptions struct {
	// BaseURL is the API's address, which ends in /v1 (at Anthropic it need not); empty is
	// the provider's own.
	BaseURL string
	// Key is the API's key. It stands in no file, digest or error. It is needed at the
	// provider's own address alone.
	Key string
	// Model compacts; empty is the agent's.
	Model string
	// Instructions go with the request; what they do is the provider's choice. At
	// Anthropic they take the place of its own prompt.
	Instructions string
	// Keep is how many of the newest turns stay as they are; 0 is none. Only Anthropic
	// leaves that to the caller.
	Keep int
	// Native says that the agent's model is asked in a way that carries the provider's
	// own items. Without it what nobody else can read is refused before it is asked for.
	Native bool
	// Timeout is how long one try may take; 0 is [DefaultTimeout].
	Timeout time.Duration
	// Tries is how often the provider is asked in all where it is busy or broken; 0 is
	// [DefaultTries].
	Tries uint
	// MaxWait bounds the pause before another try, whatever the provider asks for; 0 is
	// [DefaultMaxWait].
	MaxWait time.Duration
	// Cost says what an answer cost, in US dollars, and takes it from the budget unless an
	// earlier run paid for it; nil, and its nil, where that is not known.
	Cost func(model string, usage replay.Usage, stored bool) *float64
	// Answers keeps answers, so that none is paid twice; nil asks every time. The request
	// it gets holds all that determines the answer, and no key.
	Answers func(ctx context.Context, request []byte, ask func(context.Context) ([]byte, error)) (answer []byte, key fixtures.Hash, stored bool, err error)
	// Name is what to call the compactor; empty is the preset's name.
	Name string
	// Counter counts tokens; nil is [RoughCounter].
	Counter replay.Counter
}

// The defaults of [HostedOptions].
const (
	DefaultTries   = 4
	DefaultMaxWait = 30 * time.Second
)

// hosted asks a provider for a compaction.
type hosted struct {
	driver
	options HostedOptions
	preset  string
	address string
	headers http.Header
	client  *http.Client
}

// newHosted makes the client of a preset. The variable is where the key belongs.
func newHosted(preset, own, path, variable string, options HostedOptions) (*hosted, error) {
	base := strings.TrimSuffix(cmp.Or(options.BaseURL, own), "/")
	address, err := url.Parse(base)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: its base URL is no URL", preset) // the error holds it, and it may hold a key
	case address.User != nil || address.RawQuery != "" || address.Fragment != "":
		return nil, fmt.Errorf("%s: its base URL has a user, a query or a fragment; the key goes into %s", preset, variable)
	case address.Scheme != "http" && address.Scheme != "https", address.Hostname() == "":
		return nil, fmt.Errorf("%s: the base URL %q is no http or https address, such as %s", preset, base, own)
	case options.Key == "" && base == own:
		return nil, fmt.Errorf("%s: %s is not set, and %s answers nobody without a key", preset, variable, own)
	case strings.ContainsFunc(options.Key, func(r rune) bool { return r <= ' ' || r >= 0x7f }):
		return nil, fmt.Errorf("%s: %s holds a character that no header may", preset, variable)
	case options.Keep < 0:
		return nil, fmt.Errorf("%s: keep is %d, want a number of turns from 0", preset, options.Keep)
	}
	if options.Timeout, err = timeoutOf(options.Timeout); err != nil {
		return nil, fmt.Errorf("%s: %w", preset, err)
	}
	options.Tries, options.MaxWait = cmp.Or(options.Tries, DefaultTries), cmp.Or(options.MaxWait, DefaultMaxWait)
	h := &hosted{
		options: options, preset: preset, address: base + path, headers: http.Header{},
		driver: driver{
			name: cmp.Or(options.Name, preset), counter: counterOf(options.Counter), instructions: options.Instructions,
			from: source{says: "the provider answered with", empty: "an empty body"},
		},
		client: &http.Client{
			Transport: &http.Transport{
				Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true,
				MaxIdleConnsPerHost: 256, IdleConnTimeout: 90 * time.Second, MaxResponseHeaderBytes: 64 << 10,
			},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
	if options.Key != "" {
		h.secrets = []string{options.Key}
	}
	return h, nil
}

// Close gives the idle connections back.
func (h *hosted) Close() error {
	h.client.CloseIdleConnections()
	return nil
}

// Digest names what the output depends on: the preset, its address, model and options.
// Which version of the model answers is the provider's to know.
func (h *hosted) Digest() fixtures.Hash {
	return digestOf(h.preset, version, h.address, h.options.Model, sha256Hex(h.options.Instructions), strconv.Itoa(h.options.Keep), strconv.FormatBool(h.options.Native))
}

func (h *hosted) identity() replay.CompactorIdentity {
	id := replay.CompactorIdentity{Name: h.name, Version: version}
	if h.options.Instructions != "" {
		id.PromptSHA256 = sha256Hex(h.options.Instructions)
	}
	return id
}

// answered is an answer with where it came from.
type answered struct {
	body   []byte
	key    fixtures.Hash
	stored bool // an earlier run paid for it
}

// exchange is the record of an answer to a request.
func (h *hosted) exchange(req *replay.CompactRequest, usage hostedUsage, a answered) []replay.Exchange {
	x := replay.Exchange{For: "compactor", Key: a.key, Stored: a.stored, Usage: usage.usage()}
	if h.options.Cost != nil {
		x.CostUSD = h.options.Cost(h.modelFor(req), x.Usage, a.stored)
	}
	return []replay.Exchange{x}
}

// modelFor is the model that compacts a request.
func (h *hosted) modelFor(req *replay.CompactRequest) string {
	return cmp.Or(h.options.Model, req.Model)
}

func (h *hosted) refused(reason string) *replay.Compaction {
	return &replay.Compaction{Status: replay.Refused, Reason: h.clean(reason), Identity: h.identity()}
}

func (h *hosted) broken(reason string) *replay.Compaction {
	return &replay.Compaction{Status: replay.Failed, Reason: h.clean(reason), Identity: h.identity()}
}

// hostedError is an answer with a status other than 200.
type hostedError struct {
	status int
	wait   time.Duration // that the provider asks for
	said   string
}

func (e *hostedError) Error() string {
	return fmt.Sprintf("the provider answered %d %s: %s", e.status, http.StatusText(e.status), e.said)
}

// temporary says whether another try may help.
func (e *hostedError) temporary() bool {
	switch e.status {
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusTooManyRequests:
		return true
	}
	return e.status >= 500
}

// refuses says whether the provider understood the request and will not do it.
func (e *hostedError) refuses() bool {
	switch e.status {
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity:
		return true
	}
	return false
}

// outcome is what is kept of asking: an answer, or the words in which the provider
// refused or broke.
type outcome struct {
	Answer  []byte `json:"answer,omitempty"`
	Refused string `json:"refused,omitempty"`
	Broken  string `json:"broken,omitempty"`
}

// post asks for what is not kept yet. What the provider refuses is a finding; an error
// is the world's fault.
func (h *hosted) post(ctx context.Context, req *replay.CompactRequest, body any) (answered, *replay.Compaction, error) {
	data, err := fixtures.MarshalPlain(body)
	if err != nil {
		return answered{}, nil, fmt.Errorf("compactor %s: composing the request: %w", h.name, err)
	}
	ask := func(ctx context.Context) ([]byte, error) {
		got, err := h.ask(ctx, data)
		if err != nil {
			return nil, err
		}
		return fixtures.MarshalPlain(got)
	}
	// The replicate is no part of what the provider sees, and has an answer of its own.
	whole, err := fixtures.MarshalPlain([]any{h.preset, h.address, req.Replicate, json.RawMessage(data)})
	if err != nil {
		return answered{}, nil, fmt.Errorf("compactor %s: composing the request: %w", h.name, err)
	}
	a := answered{key: fixtures.HashBytes(whole)}
	var kept []byte
	if h.options.Answers != nil {
		kept, a.key, a.stored, err = h.options.Answers(ctx, whole, ask)
	} else {
		kept, err = ask(ctx)
	}
	var got outcome
	if err == nil {
		err = json.Unmarshal(kept, &got)
	}
	switch {
	case ctx.Err() != nil:
		return a, nil, ctx.Err()
	case err != nil:
		return a, nil, fmt.Errorf("compactor %s: asking %s: %s", h.name, h.address, h.clean(err.Error()))
	case got.Refused != "":
		return a, h.refused(got.Refused), nil
	case got.Broken != "":
		return a, h.broken(got.Broken), nil
	}
	a.body = got.Answer
	return a, nil, nil
}

// ask asks, and again where the provider is busy or broken. An error is the world's
// fault.
func (h *hosted) ask(ctx context.Context, data []byte) (outcome, error) {
	waits := &hostedWaits{grow: backoff.NewExponentialBackOff()}
	waits.grow.InitialInterval = min(250*time.Millisecond, h.options.MaxWait)
	waits.grow.MaxInterval = h.options.MaxWait
	answer, err := backoff.Retry(ctx, func() ([]byte, error) {
		answer, err := h.once(ctx, data)
		waits.asked = 0
		var status *hostedError
		if errors.As(err, &status) {
			waits.asked = min(status.wait, h.options.MaxWait)
		}
		if err != nil && (ctx.Err() != nil || status != nil && !status.temporary() || errors.Is(err, errTooMuch)) {
			err = backoff.Permanent(err)
		}
		return answer, err
	}, backoff.WithBackOff(waits), backoff.WithMaxTries(h.options.Tries), backoff.WithMaxElapsedTime(0))
	var status *hostedError
	switch {
	case err == nil:
		return outcome{Answer: answer}, nil
	case ctx.Err() != nil:
		return outcome{}, ctx.Err()
	case errors.Is(err, errTooMuch):
		return outcome{Broken: fmt.Sprintf("the provider answered with more than %d MiB", maxAnswer>>20)}, nil
	case errors.As(err, &status) && status.refuses():
		return outcome{Refused: status.Error()}, nil
	}
	return outcome{}, err
}

// hostedWaits says how long to wait before another try: as long as the provider asked,
// or a little more each time.
type hostedWaits struct {
	grow  *backoff.ExponentialBackOff
	asked time.Duration
}

// NextBackOff implements [backoff.BackOff].
func (w *hostedWaits) NextBackOff() time.Duration {
	next := w.grow.NextBackOff()
	if w.asked > 0 {
		return w.asked
	}
	return next
}

// Reset implements [backoff.BackOff].
func (w *hostedWaits) Reset() { w.grow.Reset() }

func (h *hosted) once(ctx context.Context, body []byte) ([]byte, error) {
	limited, stop := context.WithTimeoutCause(ctx, h.options.Timeout, fmt.Errorf("no answer within %v", h.options.Timeout))
	defer stop()
	request, err := http.NewRequestWithContext(limited, http.MethodPost, h.address, bytes.NewReader(body))
	if err != nil {
		return nil, errors.New("its address cannot be asked")
	}
	request.Header = h.headers.Clone()
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json")
	response, err := h.client.Do(request)
	if err != nil {
		return nil, plainError(limited, err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	answer = h.blank(answer)
	switch {
	case response.StatusCode != http.StatusOK:
		return nil, &hostedError{response.StatusCode, retryAfter(response.Header), saidIn(answer)}
	case err != nil:
		return nil, fmt.Errorf("the answer broke off after %s: %w", plural(len(answer), "byte"), plainError(limited, err))
	case len(answer) > maxAnswer:
		return nil, errTooMuch
	}
	return answer, nil
}

// plainError is a client's error without the address, and with the time limit in our
// words.
func plainError(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		return wrapped.Err
	}
	return err
}

// retryAfter reads the Retry-After header, in seconds or as a date.
func retryAfter(header http.Header) time.Duration {
	value := header.Get("Retry-After")
	const day = 24 * 60 * 60 // nobody waits longer, and a duration cannot hold everything
	if seconds, err := strconv.ParseFloat(value, 64); err == nil && seconds > 0 {
		return time.Duration(min(seconds, day) * float64(time.Second))
	}
	if date, err := http.ParseTime(value); err == nil {
		return max(0, time.Until(date))
	}
	return 0
}

// saidIn is what an error's body says, or its beginning.
func saidIn(body []byte) string {
	var shape struct {
		Error json.RawMessage `json:"error"`
	}
	if json.Unmarshal(body, &shape) == nil {
		if text := errorText(shape.Error); text != "" {
			return excerpt(text, 1000)
		}
	}
	const most = 500
	if said := bytes.TrimSpace(body); len(said) > 0 {
		return strings.ToValidUTF8(string(said[:min(len(said), most)]), "\ufffd")
	}
	return "(an empty body)"
}
