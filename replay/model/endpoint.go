package model

import (
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"time"
)

// Endpoint is where a model is reached.
type Endpoint struct {
	// BaseURL ends in /v1, as other clients take it.
	BaseURL string
	// Key is sent as a bearer token and stands nowhere else, errors included.
	Key string
	// Identity names the endpoint in cache keys; empty means BaseURL. Endpoints
	// that answer alike may share one.
	Identity string
	// Timeout bounds one call; 0 means [DefaultTimeout].
	Timeout time.Duration
	// Idle bounds the time between two pieces of an answer, once it has begun; 0 means
	// [DefaultIdle].
	Idle time.Duration
	// Tries is how often a call is tried in all where the provider is busy or
	// broken; 0 means [DefaultTries].
	Tries uint
	// MaxWait bounds the pause before another try, whatever the provider asks for;
	// 0 means [DefaultMaxWait].
	MaxWait time.Duration
	// Responses says that the endpoint is asked through the Responses API (see
	// [NewResponses]), not Chat Completions.
	Responses bool
	// Anthropic says that the endpoint is asked through Anthropic's Messages API (see
	// [NewAnthropic]), and how; nil for the other APIs.
	Anthropic *AnthropicOptions
	// Untimed leaves answer times out of replies, for an endpoint whose times say
	// nothing.
	Untimed bool
	// Stream asks for answers piece by piece. The reply is the same; a provider that
	// falls silent in the middle is noticed after Idle.
	Stream bool
	// Quirks are what the user says of models, by name. They go before what is known of
	// a model.
	Quirks map[string]Quirks
	// Log hears of every further try of a call; nil for nobody.
	Log *slog.Logger
}

// retrying is how often a call to the endpoint is tried again.
func (e *Endpoint) retrying(pause func(time.Duration) time.Duration) retrying {
	r := retrying{tries: e.Tries, maxWait: e.MaxWait, pause: pause}
	if e.Log != nil {
		r.log = e.Log.With("endpoint", e.Identity)
	}
	return r
}

// The defaults of an [Endpoint].
const (
	DefaultTimeout = 2 * time.Minute
	DefaultIdle    = time.Minute
	DefaultTries   = 4
	DefaultMaxWait = 2 * time.Minute
)

// withDefaults checks an endpoint and fills in what it leaves out.
func (e Endpoint) withDefaults() (Endpoint, error) {
	if e.BaseURL == "" {
		return e, errors.New("model endpoint: no base URL (--base-url, OPENAI_BASE_URL, or agent.base_url in the config)")
	}
	if err := CheckBaseURL(e.BaseURL); err != nil {
		return e, fmt.Errorf("model endpoint: %w", err)
	}
	for name, quirks := range e.Quirks {
		if err := quirks.Validate(); err != nil {
			return e, fmt.Errorf("model endpoint: quirks of %s: %w", name, err)
		}
	}
	if e.Identity == "" {
		e.Identity = trimSlash(e.BaseURL)
	}
	if e.Timeout == 0 {
		e.Timeout = DefaultTimeout
	}
	if e.Idle == 0 {
		e.Idle = DefaultIdle
	}
	if e.Tries == 0 {
		e.Tries = DefaultTries
	}
	if e.MaxWait == 0 {
		e.MaxWait = DefaultMaxWait
	}
	return e, nil
}

// CheckBaseURL refuses what is no address, and one that holds a secret: the address stands
// in the run's files.
func CheckBaseURL(text string) error {
	address, err := url.Parse(text)
	switch {
	case err != nil:
		return errors.New("the base URL is no URL; want one such as http://127.0.0.1:8080/v1")
	case address.User != nil || address.RawQuery != "" || address.Fragment != "":
		return errors.New("the base URL has a user, a query or a fragment; keys go into OPENAI_API_KEY")
	case address.Scheme != "http" && address.Scheme != "https", address.Host == "":
		return fmt.Errorf("the base URL %q is no http or https address", text)
	}
	return nil
}

// host is the name of the machine that a base URL leads to; empty for no URL.
func host(baseURL string) string {
	address, err := url.Parse(baseURL)
	if err != nil {
		return ""
	}
	return address.Hostname()
}
