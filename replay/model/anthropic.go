package model

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
	"github.com/anthropics/anthropic-sdk-go/packages/param"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
)

// AnthropicBaseURL is where Anthropic serves the Messages API.
const AnthropicBaseURL = "https://api.anthropic.com"

// DefaultAnthropicTokens bounds an answer where nothing else does; the Messages API wants
// a bound with every request. Models that think count their thoughts towards it.
const DefaultAnthropicTokens = 8192

// compactionBeta is the header's value without which the API takes no block that its
// compaction on demand made.
const compactionBeta = "compact-2026-09-04"

// AnthropicOptions are what an [Anthropic] client may be told beside its endpoint.
type AnthropicOptions struct {
	// MaxTokens bounds the answers to requests without a bound of their own; 0 means
	// [DefaultAnthropicTokens].
	MaxTokens int
	// PromptCache lets the provider keep the beginning of the conversation for the next
	// request: the end of the system prompt and the end of the conversation are marked.
	// It changes what an answer costs, and not the answer.
	PromptCache bool
}

// Anthropic asks Anthropic's models through the Messages API. It is safe for concurrent
// use.
//
// Tools, system prompt and conversation go out as they are, in the form that the API has
// for them (system messages at the top, tool results in the user's turn). Temperature is
// 0 on the wire, but for models that refuse the parameter: by their name
// ([TakesTemperature]), by [Endpoint.Quirks], or as they say when they are first asked.
// The API knows no seed and names no fingerprint.
type Anthropic struct {
	endpoint Endpoint
	options  AnthropicOptions
	api      anthropic.Client
	wire     *wire
	// pause may change how long is waited before another try; tests don't wait.
	pause func(time.Duration) time.Duration

	mu      sync.Mutex
	refused map[string]bool // models that refused a temperature
}

// NewAnthropic returns a client of the endpoint, whose base URL may end in /v1 or not. It
// connects on the first call.
func NewAnthropic(endpoint Endpoint, options AnthropicOptions) (*Anthropic, error) {
	if endpoint.BaseURL == "" {
		endpoint.BaseURL = AnthropicBaseURL
	}
	endpoint.BaseURL = strings.TrimSuffix(trimSlash(endpoint.BaseURL), "/v1")
	endpoint, err := endpoint.withDefaults()
	if err != nil {
		return nil, err
	}
	if options.MaxTokens == 0 {
		options.MaxTokens = DefaultAnthropicTokens
	}
	settings := []option.RequestOption{
		option.WithoutEnvironmentDefaults(), option.WithoutOpenTelemetry(), option.WithMaxRetries(0),
		option.WithBaseURL(endpoint.BaseURL + "/"), option.WithRequestTimeout(endpoint.Timeout),
	}
	if endpoint.Key != "" {
		settings = append(settings, option.WithAPIKey(endpoint.Key))
	}
	return &Anthropic{
		endpoint: endpoint, options: options, api: anthropic.NewClient(settings...),
		wire:    newWire(endpoint),
		pause:   func(wait time.Duration) time.Duration { return wait },
		refused: map[string]bool{},
	}, nil
}

// Identity is what cache keys call the endpoint.
func (c *Anthropic) Identity() string { return c.endpoint.Identity }

// Dialect names what reaches the provider otherwise than the request says, for
// [Cached.Dialect]. As with [Client.Dialect], what was learnt meanwhile is no part of it.
func (c *Anthropic) Dialect(request *replay.Request) string {
	return fmt.Sprintf("anthropic messages 1, max_tokens %d, %s", c.maxTokens(request), c.endpoint.AnthropicSent(request.Model))
}

// AnthropicSent says in words what a model is sent otherwise than other models where the
// endpoint speaks the Messages API: no seed, and some no temperature.
func (e Endpoint) AnthropicSent(name string) string { return sentWithout(e.sendsTemperature(name)) }

func (e Endpoint) sendsTemperature(name string) bool {
	if said := e.Quirks[name].Temperature; said != "" {
		return said != Omit
	}
	return TakesTemperature(name)
}

func sentWithout(temperature bool) string {
	if temperature {
		return noSeed
	}
	return noSeed + ", " + noTemperature
}

// sendsTemperature goes by what was learnt, too.
func (c *Anthropic) sendsTemperature(name string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.refused[name] && c.endpoint.sendsTemperature(name)
}

// Learnt says in words which models refused a temperature, and were not sent one any more.
func (c *Anthropic) Learnt() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var list []string
	for _, name := range slices.Sorted(maps.Keys(c.refused)) {
		list = append(list, fmt.Sprintf("model %s refuses %s", name, parameterTemperature))
	}
	return list
}

func (c *Anthropic) maxTokens(request *replay.Request) int {
	if request.MaxTokens > 0 {
		return request.MaxTokens
	}
	return c.options.MaxTokens
}

// Complete asks once, and again where the provider was busy or broken. Its errors are
// the provider's faults (a [*ProviderError] where it answered at all), the request's own
// ([ErrConversation], or status 400 and the like), or the context's.
func (c *Anthropic) Complete(ctx context.Context, request *replay.Request) (*replay.Reply, error) {
	said, err := newDialogue(request)
	if err != nil {
		return nil, fmt.Errorf("asking model %s: %w", request.Model, err)
	}
	params, err := c.params(request, said)
	if err != nil {
		return nil, fmt.Errorf("asking model %s: %w: %w", request.Model, ErrConversation, err)
	}
	again := c.endpoint.retrying(c.pause)
	for {
		sends := c.sendsTemperature(request.Model)
		params.Temperature = param.Opt[float64]{}
		if sends {
			params.Temperature = anthropic.Float(0) // a true zero: the library sends what is set
		}
		reply, err := retried(ctx, again, func(ctx context.Context) (*replay.Reply, error) { return c.once(ctx, params, request, said) })
		var provider *ProviderError
		switch {
		case err == nil:
			reply.Sent = sentWithout(sends)
			return reply, nil
		case sends && errors.As(err, &provider) && provider.Parameter == parameterTemperature:
			c.mu.Lock()
			c.refused[request.Model] = true
			c.mu.Unlock()
		default:
			return nil, fmt.Errorf("asking model %s: %w", request.Model, explainAnthropic(err))
		}
	}
}

// explainAnthropic adds what to do to the errors that readers would else puzzle over.
func explainAnthropic(err error) error {
	var provider *ProviderError
	if !errors.As(err, &provider) {
		return err
	}
	switch {
	case provider.Status == http.StatusUnauthorized:
		return fmt.Errorf("%w; set ANTHROPIC_API_KEY to a key of this endpoint", err)
	case provider.Status == http.StatusNotFound:
		return fmt.Errorf("%w; check the model's name and the base URL, which goes without /messages", err)
	case provider.Status == http.StatusBadRequest && strings.Contains(provider.Message, "max_tokens"):
		return fmt.Errorf("%w; set max_tokens beside the model in the config", err)
	}
	return err
}

func (c *Anthropic) once(ctx context.Context, params anthropic.MessageNewParams, request *replay.Request, said *dialogue) (*replay.Reply, error) {
	late := errUnanswered{lateError(c.endpoint.Timeout)}
	ctx, cancel := context.WithTimeoutCause(ctx, c.endpoint.Timeout, late)
	defer cancel()
	began := time.Now()
	call := &messagesCall{wire: c.wire}
	settings := []option.RequestOption{option.WithHTTPClient(call)}
	if said.native {
		settings = append(settings, option.WithHeader("Anthropic-Beta", compactionBeta))
	}
	message, err := c.api.Messages.New(ctx, params, settings...)
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			return nil, cause
		}
		var fault *ProviderError
		var unanswered errUnanswered
		if call.received != nil && !errors.As(err, &fault) && !errors.As(err, &unanswered) {
			return nil, &ProviderError{Status: http.StatusOK, Message: "the answer is no message: " + c.wire.scrub(err.Error()), broken: true}
		}
		return nil, err
	}
	reply := &replay.Reply{
		Message:      fixtures.Message{Role: fixtures.RoleAssistant},
		FinishReason: finishReason(message.StopReason),
		Model:        string(message.Model),
		Raw:          &replay.Raw{Request: call.sent, Response: call.received},
	}
	written := plausible(int(message.Usage.CacheCreationInputTokens))
	read := plausible(int(message.Usage.CacheReadInputTokens))
	reply.Usage = replay.Usage{
		// The API counts what its cache took and gave apart from the rest.
		PromptTokens:     plausible(int(message.Usage.InputTokens)) + read + written,
		CachedTokens:     read,
		WrittenTokens:    written,
		CompletionTokens: plausible(int(message.Usage.OutputTokens)),
	}
	if !c.endpoint.Untimed {
		took := float64(time.Since(began).Microseconds()) / 1000
		reply.LatencyMS = &took
	}
	for i := range message.Content {
		part := &message.Content[i]
		switch part.Type {
		case "text":
			reply.Message.Content += part.Text
		case "thinking":
			reply.Reasoning += part.Thinking
		case "tool_use":
			id := part.ID
			if id == "" {
				id = fmt.Sprintf("call_%d", i+1)
			}
			reply.Message.ToolCalls = append(reply.Message.ToolCalls, fixtures.ToolCall{
				ID: c.wire.scrub(id), Name: c.wire.scrub(said.names.original(part.Name)), Arguments: arguments(c.wire.scrub(string(part.Input))),
			})
		}
	}
	// Once more, for JSON may spell the key otherwise.
	for _, text := range []*string{&reply.Message.Content, &reply.Reasoning, &reply.Model, &reply.FinishReason} {
		*text = c.wire.scrub(*text)
	}
	if request.JSON {
		reply.Message.Content = unfenced(reply.Message.Content)
	}
	return reply, nil
}

// finishReason is a stop reason by the name that the Chat Completions API has for it;
// what it has no name for keeps its own.
func finishReason(stop anthropic.StopReason) string {
	switch stop {
	case anthropic.StopReasonEndTurn, anthropic.StopReasonStopSequence:
		return "stop"
	case anthropic.StopReasonToolUse:
		return "tool_calls"
	case anthropic.StopReasonMaxTokens, anthropic.StopReasonModelContextWindowExceeded:
		return "length"
	case anthropic.StopReasonRefusal:
		return "content_filter"
	}
	return string(stop)
}

// unfenced is an answer without the code fence that models like to put around JSON.
func unfenced(text string) string {
	inner, ok := strings.CutPrefix(strings.TrimSpace(text), "```")
	if !ok {
		return text
	}
	if inner, ok = strings.CutSuffix(inner, "```"); !ok {
		return text
	}
	inner = strings.TrimSpace(strings.TrimPrefix(strings.TrimPrefix(inner, "json"), "JSON"))
	if !json.Valid([]byte(inner)) {
		return text
	}
	return inner
}

// params writes a dialogue in the library's types.
func (c *Anthropic) params(request *replay.Request, said *dialogue) (anthropic.MessageNewParams, error) {
	params := anthropic.MessageNewParams{
		Model: anthropic.Model(request.Model), MaxTokens: int64(c.maxTokens(request)),
		Messages: make([]anthropic.MessageParam, len(said.turns)),
	}
	for _, text := range said.system {
		params.System = append(params.System, anthropic.TextBlockParam{Text: text})
	}
	for i, turn := range said.turns {
		params.Messages[i].Role = anthropic.MessageParamRole(turn.role)
		for _, b := range turn.blocks {
			params.Messages[i].Content = append(params.Messages[i].Content, contentBlock(b))
		}
	}
	for _, tool := range request.Tools {
		name, err := said.names.alias(tool.Name)
		if err != nil {
			return params, err
		}
		schema, err := inputSchema(tool.Parameters)
		if err != nil {
			return params, fmt.Errorf("tool %.60q: %w", tool.Name, err)
		}
		out := &anthropic.ToolParam{Name: name, InputSchema: param.Override[anthropic.ToolInputSchemaParam](schema)}
		if tool.Description != "" {
			out.Description = anthropic.String(tool.Description)
		}
		params.Tools = append(params.Tools, anthropic.ToolUnionParam{OfTool: out})
	}
	if c.options.PromptCache {
		markCache(&params)
	}
	return params, nil
}

func contentBlock(b block) anthropic.ContentBlockParamUnion {
	switch b.kind {
	case nativeBlock:
		return param.Override[anthropic.ContentBlockParamUnion](b.native)
	case callBlock:
		return anthropic.ContentBlockParamUnion{OfToolUse: &anthropic.ToolUseBlockParam{ID: b.id, Name: b.name, Input: b.arguments}}
	case resultBlock:
		result := &anthropic.ToolResultBlockParam{ToolUseID: b.id}
		if b.text != "" {
			result.Content = []anthropic.ToolResultBlockParamContentUnion{{OfText: &anthropic.TextBlockParam{Text: b.text}}}
		}
		return anthropic.ContentBlockParamUnion{OfToolResult: result}
	}
	return anthropic.ContentBlockParamUnion{OfText: &anthropic.TextBlockParam{Text: b.text}}
}

// inputSchema is the schema of a tool's arguments as it was recorded; the API wants its
// type named.
func inputSchema(parameters json.RawMessage) (json.RawMessage, error) {
	if len(parameters) == 0 {
		return json.RawMessage(`{"type":"object","properties":{}}`), nil
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(parameters, &fields); err != nil || fields == nil {
		return nil, fmt.Errorf("its parameters are no JSON schema of an object: %.80q", parameters)
	}
	if _, typed := fields["type"]; typed {
		return parameters, nil
	}
	fields["type"] = json.RawMessage(`"object"`)
	return json.Marshal(fields)
}

// markCache marks the ends of what the next request will begin with as well: the system
// prompt, which comes after the tools, and the conversation.
func markCache(params *anthropic.MessageNewParams) {
	mark := anthropic.NewCacheControlEphemeralParam()
	if n := len(params.System); n > 0 {
		params.System[n-1].CacheControl = mark
	} else if n := len(params.Tools); n > 0 {
		params.Tools[n-1].OfTool.CacheControl = mark
	}
	content := params.Messages[len(params.Messages)-1].Content
	switch last := &content[len(content)-1]; {
	case last.OfText != nil:
		last.OfText.CacheControl = mark
	case last.OfToolResult != nil:
		last.OfToolResult.CacheControl = mark
	}
}
