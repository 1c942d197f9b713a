package server

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// newHTTP is the way to a server at an address. It follows no redirect, because the
// fixture names one address, and it asks once.
func newHTTP(address string) (mcp.Transport, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("%q is no http or https address", address)
	}
	return &mcp.StreamableClientTransport{
		Endpoint: address, MaxRetries: -1, MaxEventSize: maxMessage, DisableStandaloneSSE: true,
		HTTPClient: &http.Client{
			Transport:     bounded{http.DefaultTransport},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}, nil
}

// bounded is a round tripper whose answers are no longer than a session may need.
type bounded struct{ next http.RoundTripper }

var errLong = fmt.Errorf("the server answered more than %d MiB", maxMessage>>20)

// RoundTrip passes a request on.
func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := b.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	response.Body = &boundedBody{response.Body, maxMessage}
	return response, nil
}

type boundedBody struct {
	io.ReadCloser
	left int64
}

// Read fails once more was read than the bound.
func (b *boundedBody) Read(p []byte) (int, error) {
	if b.left < 0 {
		return 0, errLong
	}
	if int64(len(p)) > b.left+1 {
		p = p[:b.left+1] // one more than allowed tells that there is more
	}
	n, err := b.ReadCloser.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return n, errors.Join(errLong, err)
	}
	return n, err
}
