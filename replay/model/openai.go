package model

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"
	openai "github.com/sashabaranov/go-openai"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
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
	// Tries is how often a call is tried in all where the provider is busy or
	// broken; 0 means [DefaultTries].
	Tries uint
	// MaxWait bounds the pause before another try, whatever the provider asks for;
	// 0 means [DefaultMaxWait].
	MaxWait time.Duration
	// Untimed leaves answer times out of replies, for an endpoint whose times say
	// nothing.
	Untimed bool
}

// The defaults of an [Endpoint].
const (
	DefaultTimeout = 2 * time.Minute
	DefaultTries   = 4
	DefaultMaxWait = 30 * time.Second
)

// Client asks an OpenAI-compatible endpoint. It is safe for concurrent use.
type Client struct {
	endpoint Endpoint
	wire     *wire
	api      *openai.Client
	// pause may change how long is waited before another try; tests don't wait.
	pause func(time.Duration) time.Duration
}

// NewClient returns a client of the endpoint. It connects on the first call.
func NewClient(endpoint Endpoint) (*Client, error) {
	if endpoint.BaseURL == "" {
		return nil, errors.New("model endpoint: no base URL (--base-url, OPENAI_BASE_URL, or agent.base_url in the config)")
	}
	if err := checkURL(endpoint.BaseURL); err != nil {
		return nil, fmt.Errorf("model endpoint: %w", err)
	}
	if endpoint.Identity == "" {
		endpoint.Identity = strings.TrimSuffix(endpoint.BaseURL, "/")
	}
	if endpoint.Timeout == 0 {
		endpoint.Timeout = DefaultTimeout
	}
	if endpoint.Tries == 0 {
		endpoint.Tries = DefaultTries
	}
	if endpoint.MaxWait == 0 {
		endpoint.MaxWait = DefaultMaxWait
	}
	config := openai.DefaultConfig(endpoint.Key)
	config.BaseURL = strings.TrimSuffix(endpoint.BaseURL, "/")
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = 256 // every worker keeps its connection
	carrier := &wire{client: &http.Client{Transport: transport}, key: endpoint.Key, limit: maxBody}
	config.HTTPClient = carrier
	return &Client{
		endpoint: endpoint, wire: carrier, api: openai.NewClientWithConfig(config),
		pause: func(wait time.Duration) time.Duration { return wait },
	}, nil
}

// checkURL refuses what is no address, and one that holds a secret: the address stands
// in the run's files.
func checkURL(text string) error {
	address, err := url.Parse(text)
	switch {
	case err != nil:
		return errors.New("the base URL is no URL")
	case address.User != nil || address.RawQuery != "" || address.Fragment != "":
		return errors.New("the base URL has a user, a query or a fragment; keys go into OPENAI_API_KEY")
	case address.Scheme != "http" && address.Scheme != "https", address.Host == "":
		return fmt.Errorf("the base URL %q is no http or https address", text)
	}
	return nil
}

// Identity is what cache keys call the endpoint.
func (c *Client) Identity() string { return c.endpoint.Identity }

// Complete asks once, and again where the provider was busy or broken. Its errors
// are the provider's faults (a [*ProviderError] where it answered at all), the
// request's own (status 400 and the like), or the context's.
func (c *Client) Complete(ctx context.Context, request *replay.Request) (*replay.Reply, error) {
	waits := c.waits()
	reply, err := backoff.Retry(ctx, func() (*replay.Reply, error) {
		reply, err := c.once(ctx, request)
		if err == nil {
			return reply, nil
		}
		waits.asked = 0
		var provider *ProviderError
		if errors.As(err, &provider) {
			waits.asked = min(provider.RetryAfter, c.endpoint.MaxWait)
		}
		if ctx.Err() != nil || !temporary(err) {
			err = backoff.Permanent(err)
		}
		return nil, err
	}, backoff.WithBackOff(waits), backoff.WithMaxTries(c.endpoint.Tries), backoff.WithMaxElapsedTime(0))
	if err != nil {
		return nil, fmt.Errorf("asking model %s: %w", request.Model, explain(err))
	}
	return reply, nil
}

// waits says how long to wait before another try: as long as the provider asked, or
// a little more each time.
type waits struct {
	*backoff.ExponentialBackOff
	asked time.Duration
	pause func(time.Duration) time.Duration
}

func (c *Client) waits() *waits {
	grow := backoff.NewExponentialBackOff()
	grow.InitialInterval = min(250*time.Millisecond, c.endpoint.MaxWait)
	grow.MaxInterval = c.endpoint.MaxWait
	return &waits{ExponentialBackOff: grow, pause: c.pause}
}

// NextBackOff implements [backoff.BackOff].
func (w *waits) NextBackOff() time.Duration {
	next := w.ExponentialBackOff.NextBackOff()
	if w.asked > 0 {
		next = w.asked
	}
	return w.pause(next)
}

// errUnanswered is a call to which no answer came: the network's fault or the time's.
type errUnanswered struct{ error }

func (e errUnanswered) Unwrap() error { return e.error }

// temporary says whether another try may mend an error. What is neither the
// provider's nor the network's was refused before anything was sent.
func temporary(err error) bool {
	var provider *ProviderError
	if errors.As(err, &provider) {
		return provider.Temporary()
	}
	var unanswered errUnanswered
	return errors.As(err, &unanswered)
}

// explain adds what to do to the errors that readers would else puzzle over.
func explain(err error) error {
	var provider *ProviderError
	switch {
	case errors.Is(err, openai.ErrReasoningToolsRequireResponses):
		return fmt.Errorf("%w, and doubletake speaks the Chat Completions API; choose another model", err)
	case errors.As(err, &provider) && provider.Status == http.StatusBadRequest && strings.Contains(provider.Message, "temperature"):
		return fmt.Errorf("%w (doubletake always sends temperature 0, so that both arms are asked alike; choose a model that takes it)", err)
	}
	return err
}

func (c *Client) once(ctx context.Context, request *replay.Request) (*replay.Reply, error) {
	late := errUnanswered{fmt.Errorf("no answer within %s", c.endpoint.Timeout)}
	ctx, cancel := context.WithTimeoutCause(ctx, c.endpoint.Timeout, late)
	defer cancel()
	began := time.Now()
	response, err := c.api.CreateChatCompletion(ctx, toWire(request))
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			return nil, cause
		}
		var shape *json.UnmarshalTypeError
		if errors.As(err, &shape) {
			return nil, &ProviderError{Status: http.StatusOK, Message: "the answer is no chat completion: " + err.Error(), broken: true}
		}
		return nil, err
	}
	choice := response.Choices[0]
	reply := &replay.Reply{
		Message:      fixtures.Message{Role: fixtures.RoleAssistant, Content: choice.Message.Content},
		FinishReason: string(choice.FinishReason),
		Model:        response.Model,
		Fingerprint:  response.SystemFingerprint,
		Usage: replay.Usage{
			PromptTokens:     plausible(response.Usage.PromptTokens),
			CompletionTokens: plausible(response.Usage.CompletionTokens),
		},
	}
	if !c.endpoint.Untimed {
		took := float64(time.Since(began).Microseconds()) / 1000
		reply.LatencyMS = &took
	}
	if reply.Message.Content == "" && choice.Message.Refusal != "" {
		reply.Message.Content = choice.Message.Refusal
	}
	if details := response.Usage.PromptTokensDetails; details != nil {
		reply.Usage.CachedTokens = min(plausible(details.CachedTokens), reply.Usage.PromptTokens)
	}
	for i, call := range choice.Message.ToolCalls {
		id := call.ID
		if id == "" {
			id = fmt.Sprintf("call_%d", i+1)
		}
		reply.Message.ToolCalls = append(reply.Message.ToolCalls, fixtures.ToolCall{
			ID: id, Name: call.Function.Name, Arguments: arguments(call.Function.Arguments),
		})
	}
	return reply, nil
}

// plausible is a token count, or 0 for one that cannot be.
func plausible(tokens int) int {
	const most = 1_000_000_000
	if tokens < 0 || tokens > most {
		return 0
	}
	return tokens
}

// arguments keeps what a model wrote as arguments: JSON as it is, anything else as
// a JSON string.
func arguments(text string) json.RawMessage {
	if strings.TrimSpace(text) == "" {
		return json.RawMessage("{}")
	}
	if json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	quoted, err := fixtures.MarshalPlain(text)
	if err != nil {
		return json.RawMessage("{}")
	}
	return quoted
}

func toWire(request *replay.Request) openai.ChatCompletionRequest {
	seed := request.Seed
	wire := openai.ChatCompletionRequest{
		Model:    request.Model,
		Messages: make([]openai.ChatCompletionMessage, len(request.Messages)),
		Seed:     &seed,
	}
	if reasons(request.Model) {
		wire.MaxCompletionTokens = request.MaxTokens
	} else {
		//lint:ignore SA1019 it is the name that most servers know
		wire.MaxTokens = request.MaxTokens
	}
	if request.JSON {
		wire.ResponseFormat = &openai.ChatCompletionResponseFormat{Type: openai.ChatCompletionResponseFormatTypeJSONObject}
	}
	for i, m := range request.Messages {
		out := openai.ChatCompletionMessage{Role: m.Role, Content: m.Content, ToolCallID: m.ToolCallID}
		for _, call := range m.ToolCalls {
			out.ToolCalls = append(out.ToolCalls, openai.ToolCall{
				ID: call.ID, Type: openai.ToolTypeFunction,
				Function: openai.FunctionCall{Name: call.Name, Arguments: argumentsText(call.Arguments)},
			})
		}
		wire.Messages[i] = out
	}
	for _, tool := range request.Tools {
		parameters := tool.Parameters
		if len(parameters) == 0 {
			parameters = json.RawMessage(`{"type":"object","properties":{}}`)
		}
		wire.Tools = append(wire.Tools, openai.Tool{
			Type:     openai.ToolTypeFunction,
			Function: &openai.FunctionDefinition{Name: tool.Name, Description: tool.Description, Parameters: parameters},
		})
	}
	return wire
}

// argumentsText is the text form that the protocol wants; what was kept as a JSON
// string because it was no JSON goes out as it came in.
func argumentsText(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var compact bytes.Buffer
	if json.Compact(&compact, raw) != nil {
		return string(raw)
	}
	return compact.String()
}

// reasons says whether a model is one of those that know the bound of an answer as
// max_completion_tokens alone; the others, and most servers, know it as max_tokens.
func reasons(name string) bool {
	for _, family := range []string{"o1", "o3", "o4", "gpt-5", "gpt-6"} {
		if strings.HasPrefix(name, family) {
			return true
		}
	}
	return false
}
