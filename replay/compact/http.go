package compact

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
)

// HTTPOptions say where a compactor answers by HTTP.
type HTTPOptions struct {
	// URL is its http or https address. A query is sent and never shown.
	URL string
	// HeadersEnv names, for each header to send, the environment variable that
	// holds its value. The values are secrets.
	HeadersEnv map[string]string
	// Timeout is how long one compaction may take; 0 is [DefaultTimeout].
	Timeout time.Duration
	// Name is what to call the compactor where it does not name itself; empty is
	// the address without its query.
	Name string
	// Counter counts tokens; nil is [RoughCounter].
	Counter replay.Counter
}

// HTTP is a compactor that answers by HTTP: each compaction is one POST of the
// request as a JSON object, answered with status 200 and one JSON object. What goes
// wrong with it once it is reached is its [replay.Failed]; that it can't be reached
// is an error.
type HTTP struct {
	driver
	address string // to ask
	shown   string // without what may be secret
	headers http.Header
	timeout time.Duration
	client  *http.Client
}

// IsAddress says whether a compactor's name is the address of one.
func IsAddress(name string) bool {
	return strings.HasPrefix(name, "http://") || strings.HasPrefix(name, "https://")
}

// NewHTTP makes a compactor of an address. It reads the headers' variables and asks
// nothing yet. Close gives its connections back.
func NewHTTP(options HTTPOptions) (*HTTP, error) {
	address, err := url.Parse(options.URL)
	switch {
	case err != nil:
		return nil, errors.New("http compactor: its address is no URL") // the error holds it, and it may hold a key
	case address.User != nil:
		return nil, errors.New("http compactor: its address holds a user; a key goes into a variable that headers_env names")
	case address.Scheme != "http" && address.Scheme != "https", address.Hostname() == "":
		return nil, errors.New("http compactor: its address is no http or https one, such as https://compactor.example/compact")
	}
	shown := *address
	shown.RawQuery, shown.ForceQuery, shown.Fragment, shown.RawFragment = "", false, "", ""
	h := &HTTP{address: address.String(), shown: shown.String()}
	if h.timeout, err = timeoutOf(options.Timeout); err != nil {
		return nil, fmt.Errorf("http compactor %s: %w", h.shown, err)
	}
	h.driver = driver{
		name: options.Name, counter: counterOf(options.Counter),
		from: source{says: "the compactor answered with", empty: "an empty body"},
	}
	if h.name == "" {
		h.name = h.shown
	}
	if h.headers, err = headersFrom(options.HeadersEnv); err != nil {
		return nil, fmt.Errorf("http compactor %s: %w", h.shown, err)
	}
	h.secrets = secretsOf(address, h.headers)
	transport := &http.Transport{
		Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true,
		MaxIdleConnsPerHost: 256, // every worker keeps its connection
		IdleConnTimeout:     90 * time.Second, MaxResponseHeaderBytes: 64 << 10,
	}
	h.client = &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return h, nil
}

// headersFrom reads the headers' values from the environment.
func headersFrom(names map[string]string) (http.Header, error) {
	headers := http.Header{}
	for _, header := range slices.Sorted(maps.Keys(names)) {
		variable := names[header]
		if header == "" || strings.ContainsFunc(header, notInHeader) {
			return nil, fmt.Errorf("headers_env: %q is no header's name", header)
		}
		switch header = http.CanonicalHeaderKey(header); header {
		case "Host", "Content-Type", "Content-Length", "Transfer-Encoding", "Connection", "Trailer":
			return nil, fmt.Errorf("headers_env: the header %s is not yours to set", header)
		}
		value := strings.TrimSpace(os.Getenv(variable))
		if value == "" {
			return nil, fmt.Errorf("headers_env: the header %s is to hold the environment variable %q, which is not set", header, variable)
		}
		if strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			return nil, fmt.Errorf("headers_env: the environment variable %s holds a control character, and no header may", variable)
		}
		headers.Set(header, value)
	}
	return headers, nil
}

// notInHeader says whether a header's name can't hold the character (RFC 9110, 5.6.2).
func notInHeader(r rune) bool {
	letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
	return !letter && !strings.ContainsRune("!#$%&'*+-.^_`|~", r)
}

// secretsOf lists what must not be seen of an address and its headers: each value,
// and each word of one, so that "Bearer" and a key hide the key alone, too.
func secretsOf(address *url.URL, headers http.Header) []string {
	var texts []string
	for _, values := range address.Query() {
		texts = append(texts, values...)
	}
	texts = append(texts, address.RawQuery)
	for _, values := range headers {
		texts = append(texts, values...)
	}
	const shortest = 6 // shorter words stand in texts by chance
	var secrets []string
	for _, text := range texts {
		for _, secret := range append(strings.Fields(text), text) {
			if len(secret) >= shortest && !strings.EqualFold(secret, "Bearer") {
				secrets = append(secrets, secret)
			}
		}
	}
	return longestFirst(secrets)
}

// Compact asks once.
func (h *HTTP) Compact(ctx context.Context, req *replay.CompactRequest) (*replay.Compaction, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	input, err := encodeInput(req, h.instructions)
	if err != nil {
		return nil, fmt.Errorf("http compactor %s: writing its input: %w", h.name, err)
	}
	limited, stop := context.WithTimeoutCause(ctx, h.timeout, lateError(h.timeout))
	defer stop()
	var reached atomic.Bool
	traced := httptrace.WithClientTrace(limited, &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) { reached.Store(true) },
	})
	request, err := http.NewRequestWithContext(traced, http.MethodPost, h.address, bytes.NewReader(input))
	if err != nil {
		return nil, fmt.Errorf("http compactor %s: its address cannot be asked", h.name)
	}
	request.Header = h.headers.Clone()
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json")
	// Present and empty it is not sent, and lets the client ask again where a kept
	// connection was closed before it heard anything.
	request.Header["Idempotency-Key"] = nil
	response, err := h.client.Do(request)
	if err == nil {
		defer response.Body.Close()
	}
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil && !reached.Load():
		return nil, fmt.Errorf("reaching the http compactor %s at %s (start it, or correct its address): %w", h.name, h.shown, h.plain(limited, err))
	case err != nil:
		return h.failed(fmt.Sprintf("the compactor gave no answer: %v", h.plain(limited, err))), nil
	}
	answer, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case response.StatusCode != http.StatusOK:
		return h.failed(statusReason(response.StatusCode, h.blank(answer))), nil
	case err != nil:
		return h.failed(fmt.Sprintf("the compactor's answer broke off after %s: %v", plural(len(answer), "byte"), h.plain(limited, err))), nil
	case len(answer) > maxAnswer:
		return h.failed(fmt.Sprintf("the compactor answered with more than %d MiB", maxAnswer>>20)), nil
	}
	out, err := h.read(answer, req)
	if err != nil {
		return h.failed(err.Error()), nil
	}
	return out, nil
}

// plain is a client's error without the address, which may hold a key, and with the
// time limit in our words.
func (h *HTTP) plain(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	return errors.New(h.clean(err.Error()))
}

// statusReason says what a status other than 200 means, with the start of the body.
func statusReason(status int, body []byte) string {
	reason := "the compactor answered with status " + strings.TrimSpace(strconv.Itoa(status)+" "+http.StatusText(status))
	if status >= 300 && status < 400 {
		return reason + ": redirects are not followed, name the address it answers at"
	}
	const most = 500
	if said := strings.TrimSpace(strings.ToValidUTF8(string(body[:min(len(body), most)]), "\ufffd")); said != "" {
		reason += ": " + said
	}
	return reason
}

// Close gives the idle connections back.
func (h *HTTP) Close() error {
	h.client.CloseIdleConnections()
	return nil
}

// Digest names what the output depends on: the address without what may be secret in
// it, and the version of the contract. What runs behind the address is not part of it.
func (h *HTTP) Digest() fixtures.Hash {
	return digestOf("http", strconv.Itoa(contractVersion), h.shown)
}
