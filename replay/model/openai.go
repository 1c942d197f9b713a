package model

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	openai "github.com/sashabaranov/go-openai"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
)

// Client asks an OpenAI-compatible endpoint. It is safe for concurrent use.
type Client struct {
	endpoint Endpoint
	wire     *wire
	api      *openai.Client
	// pause may change how long is waited before another try; tests don't wait.
	pause func(time.Duration) time.Duration

	mu     sync.Mutex
	known  map[string]Quirks // by model, what is known beforehand
	learnt map[string]Quirks // by model
	heard  []string          // what was learnt, in words
}

// NewClient returns a client of the endpoint. It connects on the first call.
func NewClient(endpoint Endpoint) (*Client, error) {
	endpoint, err := endpoint.withDefaults()
	if err != nil {
		return nil, err
	}
	config := openai.DefaultConfig(endpoint.Key)
	config.BaseURL = trimSlash(endpoint.BaseURL)
	carrier := newWire(endpoint)
	config.HTTPClient = carrier
	return &Client{
		endpoint: endpoint, wire: carrier, api: openai.NewClientWithConfig(config),
		pause:  func(wait time.Duration) time.Duration { return wait },
		known:  map[string]Quirks{},
		learnt: map[string]Quirks{},
	}, nil
}

// Identity is what cache keys call the endpoint.
func (c *Client) Identity() string { return c.endpoint.Identity }

// Dialect names what reaches the provider otherwise than the request says, for
// [Cached.Dialect]. What was learnt meanwhile is no part of it, for it follows from the
// endpoint and the model, and another process begins without it: [replay.Reply.Sent] has it.
func (c *Client) Dialect(request *replay.Request) string {
	c.mu.Lock()
	quirks := c.knownQuirks(request.Model)
	c.mu.Unlock()
	dialect := quirks.String()
	if thoughts := c.reasoning(request, quirks); len(thoughts) > 0 {
		hash, err := fixtures.HashJSON(thoughts)
		if err != nil {
			return dialect // a list of texts is what JSON can hold
		}
		dialect += " " + string(hash)
	}
	return dialect
}

// Learnt says in words which parameters models refused, and were not sent any more.
func (c *Client) Learnt() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.heard)
}

// Complete asks once, and again where the provider was busy or broken. A parameter that
// the model refuses is adapted, for this request and all that follow. Its errors
// are the provider's faults (a [*ProviderError] where it answered at all), the
// request's own (status 400 and the like), or the context's.
func (c *Client) Complete(ctx context.Context, request *replay.Request) (*replay.Reply, error) {
	for adaptations := 0; ; adaptations++ {
		quirks := c.quirksNow(request.Model)
		reply, err := retried(ctx, c.retrying(), func(ctx context.Context) (*replay.Reply, error) {
			return c.once(ctx, request, quirks)
		})
		if err == nil {
			return reply, nil
		}
		if adaptations > len(adaptable) || !c.learn(request.Model, quirks, err) {
			return nil, fmt.Errorf("asking model %s: %w", request.Model, explain(err))
		}
	}
}

func (c *Client) retrying() retrying {
	return c.endpoint.retrying(c.pause)
}

// quirksNow are the quirks of a model with what was learnt.
func (c *Client) quirksNow(model string) Quirks {
	c.mu.Lock()
	defer c.mu.Unlock()
	if q, ok := c.learnt[model]; ok {
		return q
	}
	return c.knownQuirks(model)
}

// knownQuirks are the quirks of a model before anything was learnt. The lock is held.
func (c *Client) knownQuirks(model string) Quirks {
	q, ok := c.known[model]
	if !ok {
		q = c.endpoint.QuirksOf(model)
		c.known[model] = q
	}
	return q
}

// learn adapts to a refused parameter, and says whether there is anything new to try
// after a request that was sent with the quirks used.
func (c *Client) learn(model string, used Quirks, err error) bool {
	var provider *ProviderError
	if !errors.As(err, &provider) || !errors.Is(err, ErrParameter) {
		return false
	}
	if _, ok := used.adapted(provider.Parameter); !ok {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	now, known := c.learnt[model]
	if !known {
		now = used
	}
	// Another request may have learnt it meanwhile, or something else.
	if adapted, news := now.adapted(provider.Parameter); news {
		c.learnt[model] = adapted
		said := fmt.Sprintf("model %s refuses %s", model, provider.Parameter)
		if !slices.Contains(c.heard, said) {
			c.heard = append(c.heard, said)
		}
	}
	return true
}

// explain adds what to do to the errors that readers would else puzzle over.
func explain(err error) error {
	var provider *ProviderError
	switch {
	case errors.Is(err, openai.ErrReasoningToolsRequireResponses):
		return fmt.Errorf("%w, and doubletake speaks the Chat Completions API; choose another model", err)
	case errors.As(err, &provider) && provider.Status == http.StatusUnauthorized:
		return fmt.Errorf("%w; set OPENAI_API_KEY to a key of this endpoint", err)
	case errors.As(err, &provider) && errors.Is(err, ErrParameter):
		return fmt.Errorf("%w; see quirks in the config, or choose another model", err)
	}
	return err
}

func (c *Client) once(ctx context.Context, request *replay.Request, quirks Quirks) (*replay.Reply, error) {
	x := &exchange{quirks: quirks, stream: c.endpoint.Stream, messages: composeMessages(request, quirks, c.reasoning(request, quirks))}
	ctx, cancel := c.deadline(context.WithValue(ctx, exchangeKey{}, x))
	defer cancel()
	began := time.Now()
	response, err := c.api.CreateChatCompletion(ctx, toWire(request, quirks))
	if err != nil {
		return nil, c.failed(ctx, err)
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
		Reasoning: choice.Message.ReasoningContent,
		Sent:      quirks.String(),
		Raw:       &replay.Raw{Request: x.request, Response: x.response},
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
			ID: id, Name: call.Function.Name, Arguments: arguments(c.wire.scrub(call.Function.Arguments)),
		})
	}
	c.clean(reply)
	if isTrue(quirks.ReturnReasoning) && reply.Reasoning != "" {
		text, err := fixtures.MarshalPlain(reply.Reasoning)
		if err != nil {
			return nil, fmt.Errorf("keeping the model's reasoning: %w", err)
		}
		reply.Message.Extra = map[string]json.RawMessage{reasoningField: text}
	}
	return reply, nil
}

// clean takes the key out of what a provider may spell otherwise in JSON.
func (c *Client) clean(reply *replay.Reply) {
	for _, text := range []*string{&reply.Message.Content, &reply.Model, &reply.Fingerprint, &reply.FinishReason, &reply.Reasoning} {
		*text = c.wire.scrub(*text)
	}
	for i := range reply.Message.ToolCalls {
		call := &reply.Message.ToolCalls[i]
		call.ID, call.Name = c.wire.scrub(call.ID), c.wire.scrub(call.Name)
	}
}

// reasoningField is the field of a message that holds what the model thought, for models
// that want it back.
const reasoningField = "reasoning_content"

// reasoning is what the model thought in the turns before, by message, where its quirks
// want it sent back.
func (c *Client) reasoning(request *replay.Request, quirks Quirks) map[int]string {
	if !isTrue(quirks.ReturnReasoning) {
		return nil
	}
	thoughts := map[int]string{}
	for i := range request.Messages {
		var text string
		if m := &request.Messages[i]; m.Role == fixtures.RoleAssistant && json.Unmarshal(m.Extra[reasoningField], &text) == nil && text != "" {
			thoughts[i] = text
		}
	}
	return thoughts
}

// deadline bounds one call.
func (c *Client) deadline(ctx context.Context) (context.Context, context.CancelFunc) {
	late := errUnanswered{lateError(c.endpoint.Timeout)}
	return context.WithTimeoutCause(ctx, c.endpoint.Timeout, late)
}

// failed is the error of a call, told apart by whose fault it is.
func (c *Client) failed(ctx context.Context, err error) error {
	var provider *ProviderError
	if cause := context.Cause(ctx); cause != nil && !errors.As(err, &provider) {
		return cause
	}
	var shape *json.UnmarshalTypeError
	if errors.As(err, &shape) {
		return &ProviderError{Status: http.StatusOK, Message: "the answer is no chat completion: " + cut(c.wire.scrub(err.Error()), 1000), broken: true}
	}
	return err
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

// toWire is a request without its messages, which the wire puts in.
func toWire(request *replay.Request, quirks Quirks) openai.ChatCompletionRequest {
	seed := request.Seed
	wire := openai.ChatCompletionRequest{
		Model: request.Model,
		Seed:  &seed,
	}
	if quirks.MaxTokens == MaxCompletionTokens || libraryKnows(request.Model) {
		wire.MaxCompletionTokens = request.MaxTokens
	} else {
		//lint:ignore SA1019 it is the name that most servers know
		wire.MaxTokens = request.MaxTokens
	}
	if request.JSON {
		wire.ResponseFormat = &openai.ChatCompletionResponseFormat{Type: openai.ChatCompletionResponseFormatTypeJSONObject}
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
	if len(raw) == 0 || json.Unmarshal(raw, &text) == nil {
		return cmp.Or(text, "{}") // a text of no JSON is what strict servers refuse
	}
	var compact bytes.Buffer
	if json.Compact(&compact, raw) != nil {
		return string(raw)
	}
	return compact.String()
}

// libraryKnows says whether the library refuses max_tokens for a model's name before
// anything is sent. What goes onto the wire is the quirks' business.
func libraryKnows(name string) bool {
	for _, family := range []string{"o1", "o3", "o4", "gpt-5", "gpt-6"} {
		if strings.HasPrefix(name, family) {
			return true
		}
	}
	return false
}
