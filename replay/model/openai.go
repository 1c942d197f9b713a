package model

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
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
	api      *openai.Client
}

// NewClient returns a client of the endpoint. It connects on the first call.
func NewClient(endpoint Endpoint) (*Client, error) {
	if endpoint.BaseURL == "" {
		return nil, errors.New("model endpoint: no base URL (--base-url, OPENAI_BASE_URL, or agent.base_url in the config)")
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
	config.HTTPClient = &wire{client: &http.Client{Transport: transport}, key: endpoint.Key}
	return &Client{endpoint: endpoint, api: openai.NewClientWithConfig(config)}, nil
}

// Identity is what cache keys call the endpoint.
func (c *Client) Identity() string { return c.endpoint.Identity }

// Complete asks once, and again where the provider was busy or broken. Its errors
// are the provider's faults (a [*ProviderError] where it answered at all), the
// request's own (status 400 and the like), or the context's.
func (c *Client) Complete(ctx context.Context, request *replay.Request) (*replay.Reply, error) {
	wait := backoff.NewExponentialBackOff()
	wait.InitialInterval = 250 * time.Millisecond
	wait.MaxInterval = c.endpoint.MaxWait
	reply, err := backoff.Retry(ctx, func() (*replay.Reply, error) {
		reply, err := c.once(ctx, request)
		return reply, c.retryable(ctx, err)
	}, backoff.WithBackOff(wait), backoff.WithMaxTries(c.endpoint.Tries))
	if err != nil {
		err = unwrapWire(err)
		return nil, fmt.Errorf("asking model %s: %w", request.Model, err)
	}
	return reply, nil
}

// retryable marks the errors that another try cannot mend.
func (c *Client) retryable(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return backoff.Permanent(ctx.Err())
	}
	var provider *ProviderError
	if errors.As(err, &provider) {
		if !provider.Temporary() {
			return backoff.Permanent(error(provider))
		}
		if wait := min(provider.RetryAfter, c.endpoint.MaxWait); wait > 0 {
			return errors.Join(provider, backoff.RetryAfter(int(wait.Round(time.Second).Seconds())))
		}
	}
	return err
}

func (c *Client) once(ctx context.Context, request *replay.Request) (*replay.Reply, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, c.endpoint.Timeout, fmt.Errorf("no answer within %s", c.endpoint.Timeout))
	defer cancel()
	response, err := c.api.CreateChatCompletion(ctx, toWire(request))
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			return nil, cause
		}
		return nil, unwrapWire(err)
	}
	choice := response.Choices[0]
	reply := &replay.Reply{
		Message:      fixtures.Message{Role: fixtures.RoleAssistant, Content: choice.Message.Content},
		FinishReason: string(choice.FinishReason),
		Model:        response.Model,
		Fingerprint:  response.SystemFingerprint,
		Usage: replay.Usage{
			PromptTokens:     response.Usage.PromptTokens,
			CompletionTokens: response.Usage.CompletionTokens,
		},
	}
	if reply.Message.Content == "" && choice.Message.Refusal != "" {
		reply.Message.Content = choice.Message.Refusal
	}
	if details := response.Usage.PromptTokensDetails; details != nil {
		reply.Usage.CachedTokens = details.CachedTokens
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
		Model:     request.Model,
		Messages:  make([]openai.ChatCompletionMessage, len(request.Messages)),
		Seed:      &seed,
		MaxTokens: request.MaxTokens,
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

// unwrapWire finds our own error inside what the library made of it.
func unwrapWire(err error) error {
	var provider *ProviderError
	if errors.As(err, &provider) {
		return provider
	}
	return err
}
