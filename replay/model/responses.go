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

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
	"github.com/doubletake-dev/doubletake/replay/responses"
)

// Responses asks an endpoint through OpenAI's Responses API, POST /responses. It is safe
// for concurrent use.
//
// It is for what Chat Completions cannot carry: a message with a native item, such as
// what the API's own compaction made, goes out as that item, unchanged. Nothing is stored
// at the provider, and reasoning is not sent back. Temperature is 0 on the wire, but for
// models that refuse the parameter ([Quirks]); the API knows no seed and names no
// fingerprint.
type Responses struct {
	endpoint Endpoint
	wire     *wire
	// pause may change how long is waited before another try; tests don't wait.
	pause func(time.Duration) time.Duration
}

// NewResponses returns a client of the endpoint. It connects on the first call.
func NewResponses(endpoint Endpoint) (*Responses, error) {
	endpoint, err := endpoint.withDefaults()
	if err != nil {
		return nil, err
	}
	endpoint.BaseURL = trimSlash(endpoint.BaseURL)
	return &Responses{
		endpoint: endpoint, wire: newWire(endpoint),
		pause: func(wait time.Duration) time.Duration { return wait },
	}, nil
}

// Identity is what cache keys call the endpoint.
func (c *Responses) Identity() string { return c.endpoint.Identity + " (responses)" }

// Dialect names what reaches the provider otherwise than the request says, for
// [Cached.Dialect].
func (c *Responses) Dialect(request *replay.Request) string {
	return c.endpoint.ResponsesSent(request.Model)
}

// ResponsesSent is what a model is sent otherwise than usual through the Responses API.
func (e Endpoint) ResponsesSent(model string) string { return e.responsesQuirks(model).String() }

// responsesQuirks are what holds of a model in this API: how it takes its temperature,
// and that there is no seed.
func (e Endpoint) responsesQuirks(model string) Quirks {
	no := false
	return Quirks{Temperature: e.QuirksOf(model).Temperature, Seed: &no}
}

// Complete asks once, and again where the provider was busy or broken. Its errors are the
// provider's faults (a [*ProviderError] where it answered at all), the request's own
// (status 400 and the like), or the context's.
func (c *Responses) Complete(ctx context.Context, request *replay.Request) (*replay.Reply, error) {
	quirks := c.endpoint.responsesQuirks(request.Model)
	body, err := responsesBody(request, quirks)
	if err != nil {
		return nil, fmt.Errorf("asking model %s: %w", request.Model, err)
	}
	again := c.endpoint.retrying(c.pause)
	reply, err := retried(ctx, again, func(ctx context.Context) (*replay.Reply, error) { return c.once(ctx, body) })
	if err != nil {
		return nil, fmt.Errorf("asking model %s: %w", request.Model, explain(err))
	}
	reply.Sent = quirks.String()
	return reply, nil
}

// responsesRequest is a request as the API wants it.
type responsesRequest struct {
	Model           string            `json:"model"`
	Input           []json.RawMessage `json:"input"`
	Tools           []responsesTool   `json:"tools,omitempty"`
	ParallelCalls   bool              `json:"parallel_tool_calls,omitempty"`
	Temperature     *float64          `json:"temperature,omitempty"`
	MaxOutputTokens int               `json:"max_output_tokens,omitempty"`
	Text            *responsesText    `json:"text,omitempty"`
	Store           bool              `json:"store"`
}

type responsesTool struct {
	Type        string          `json:"type"`
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters"`
	// Strict is off, as in Chat Completions: recorded schemas need not be strict ones.
	Strict bool `json:"strict"`
}

type responsesText struct {
	Format responsesFormat `json:"format"`
}

type responsesFormat struct {
	Type string `json:"type"`
}

func responsesBody(request *replay.Request, quirks Quirks) ([]byte, error) {
	out := responsesRequest{Model: request.Model, MaxOutputTokens: request.MaxTokens, ParallelCalls: len(request.Tools) > 0}
	if quirks.Temperature != Omit {
		out.Temperature = new(float64) // a true zero
	}
	var err error
	if out.Input, err = responses.Items(request.Messages); err != nil {
		return nil, fmt.Errorf("composing the request: %w", err)
	}
	for _, tool := range request.Tools {
		parameters := tool.Parameters
		if len(parameters) == 0 {
			parameters = json.RawMessage(`{"type":"object","properties":{}}`)
		}
		out.Tools = append(out.Tools, responsesTool{Type: "function", Name: tool.Name, Description: tool.Description, Parameters: parameters})
	}
	if request.JSON {
		out.Text = &responsesText{responsesFormat{"json_object"}}
	}
	body, err := fixtures.MarshalPlain(out)
	if err != nil {
		return nil, fmt.Errorf("composing the request: %w", err)
	}
	return body, nil
}

func (c *Responses) once(ctx context.Context, body []byte) (*replay.Reply, error) {
	late := errUnanswered{lateError(c.endpoint.Timeout)}
	ctx, cancel := context.WithTimeoutCause(ctx, c.endpoint.Timeout, late)
	defer cancel()
	began := time.Now()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.endpoint.BaseURL+"/responses", bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("composing the request: %w", err)
	}
	request.Header.Set("Content-Type", "application/json")
	if c.endpoint.Key != "" {
		request.Header.Set("Authorization", "Bearer "+c.endpoint.Key)
	}
	x := new(exchange)
	response, answer, err := c.wire.send(request, x)
	var provider *ProviderError
	if cause := context.Cause(ctx); err != nil && cause != nil && !errors.As(err, &provider) {
		return nil, cause
	}
	if err != nil {
		return nil, err
	}
	reply, err := c.read(response, answer)
	if err != nil {
		return nil, err
	}
	reply.Raw = &replay.Raw{Request: c.wire.keys.bytes(body), Response: x.response}
	if !c.endpoint.Untimed {
		took := float64(time.Since(began).Microseconds()) / 1000
		reply.LatencyMS = &took
	}
	return reply, nil
}

// responsesAnswer is what is read of an answer.
type responsesAnswer struct {
	Model      string             `json:"model"`
	Status     string             `json:"status"`
	Error      json.RawMessage    `json:"error"`
	Output     *[]json.RawMessage `json:"output"`
	Incomplete struct {
		Reason string `json:"reason"`
	} `json:"incomplete_details"`
	Usage struct {
		InputTokens  int `json:"input_tokens"`
		OutputTokens int `json:"output_tokens"`
		InputDetails struct {
			CachedTokens int `json:"cached_tokens"`
		} `json:"input_tokens_details"`
	} `json:"usage"`
}

// read makes a reply of an answer, or says what is wrong with it.
func (c *Responses) read(response *http.Response, answer []byte) (*replay.Reply, error) {
	var got responsesAnswer
	err := json.Unmarshal(answer, &got)
	broken := func(message string) (*replay.Reply, error) {
		return nil, c.wire.broken(response, message)
	}
	switch {
	case response.StatusCode != http.StatusOK:
		return nil, c.wire.fault(response, got.Error, answer)
	case err != nil:
		return broken("the answer is no response: " + c.wire.excerpt(answer))
	case len(got.Error) > 0 && string(got.Error) != "null":
		return nil, c.wire.fault(response, got.Error, answer)
	case got.Output == nil:
		return broken("the answer has no output: " + c.wire.excerpt(answer))
	}
	reply := &replay.Reply{
		Message: fixtures.Message{Role: fixtures.RoleAssistant}, Model: got.Model,
		Usage: replay.Usage{PromptTokens: plausible(got.Usage.InputTokens), CompletionTokens: plausible(got.Usage.OutputTokens)},
	}
	reply.Usage.CachedTokens = min(plausible(got.Usage.InputDetails.CachedTokens), reply.Usage.PromptTokens)
	items, err := responses.ReadItems(*got.Output)
	if err != nil {
		return broken("the answer cannot be read: " + err.Error())
	}
	var texts []string
	for i := range items {
		m := &items[i].Message
		if items[i].Opaque || m.Role != fixtures.RoleAssistant {
			continue // reasoning, and what else is no part of the conversation
		}
		if m.Content != "" {
			texts = append(texts, m.Content)
		}
		for _, call := range m.ToolCalls {
			if call.ID == "" {
				call.ID = fmt.Sprintf("call_%d", len(reply.Message.ToolCalls)+1)
			}
			reply.Message.ToolCalls = append(reply.Message.ToolCalls, call)
		}
	}
	reply.Message.Content = strings.Join(texts, "\n")
	switch {
	case got.Status == "failed", got.Status == "cancelled":
		return broken("the response is " + got.Status)
	case got.Status == "incomplete" && got.Incomplete.Reason == "content_filter":
		reply.FinishReason = "content_filter"
	case got.Status == "incomplete":
		reply.FinishReason = "length"
	case len(reply.Message.ToolCalls) > 0:
		reply.FinishReason = "tool_calls"
	default:
		reply.FinishReason = "stop"
	}
	return reply, nil
}
