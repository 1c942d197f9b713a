package compact

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
)

const (
	// anthropicBase is where Anthropic's API is.
	anthropicBase = "https://api.anthropic.com/v1"
	// compactBeta is the header's value that turns compaction on demand on; later
	// requests that carry its block need it, too.
	compactBeta      = "compact-2026-09-04"
	anthropicVersion = "2023-06-01"
)

// The bounds of a hosted summary in tokens, and what it may have where the context has
// no budget.
const (
	minHostedTokens     = 1024
	maxHostedTokens     = 8192
	defaultHostedTokens = 4096
)

// AnthropicCompact is compaction on demand of Anthropic's Messages API: an ordinary
// request with "compaction": {"type": "summarize"} is answered with one block that holds
// a summary, which can be read, and a signature. The block stands first in place of what
// it summarises; a model of Anthropic gets it unchanged, any other its text. The newest
// turns stay, as many as are asked for and at least what waits for an answer, and no call
// is cut from its result.
type AnthropicCompact struct{ *hosted }

// NewAnthropicCompact makes a compactor of the API. It asks nothing yet. Close gives its
// connections back.
func NewAnthropicCompact(options HostedOptions) (*AnthropicCompact, error) {
	if options.BaseURL != "" { // clients of this API take it with /v1 or without
		options.BaseURL = strings.TrimSuffix(strings.TrimRight(options.BaseURL, "/"), "/v1") + "/v1"
	}
	h, err := newHosted(PresetAnthropic, anthropicBase, "/messages", "ANTHROPIC_API_KEY", options)
	if err != nil {
		return nil, err
	}
	if options.Key != "" {
		h.headers.Set("X-Api-Key", options.Key)
	}
	h.headers.Set("Anthropic-Version", anthropicVersion)
	h.headers.Set("Anthropic-Beta", compactBeta)
	return &AnthropicCompact{h}, nil
}

type summarizeRequest struct {
	Model      string           `json:"model"`
	MaxTokens  int              `json:"max_tokens"`
	System     string           `json:"system,omitempty"`
	Tools      []anthropicTool  `json:"tools,omitempty"`
	Messages   []anthropicTurn  `json:"messages"`
	Compaction summarizeSetting `json:"compaction"`
}

type summarizeSetting struct {
	Type         string `json:"type"`
	Instructions string `json:"instructions,omitempty"`
}

// Compact asks the API once.
func (c *AnthropicCompact) Compact(ctx context.Context, req *replay.CompactRequest) (*replay.Compaction, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := replay.CheckPairs(replay.Texts(req.Messages)); err != nil {
		return c.refused(fmt.Sprintf("the provider refuses calls without results and results without calls, so it was not asked: %v", err)), nil
	}
	older, kept, reason := c.cut(req.Messages)
	if reason != "" {
		return &replay.Compaction{Status: replay.Unchanged, Reason: reason, Identity: c.identity()}, nil
	}
	body := summarizeRequest{
		Model: c.modelFor(req), MaxTokens: defaultHostedTokens, System: req.System,
		Tools: anthropicTools(req.Tools), Messages: anthropicTurns(replay.Texts(older)),
		Compaction: summarizeSetting{"summarize", c.options.Instructions},
	}
	if req.BudgetTokens > 0 {
		body.MaxTokens = min(max(req.BudgetTokens, minHostedTokens), maxHostedTokens)
	}
	answer, finding, err := c.post(ctx, req, body)
	if finding != nil || err != nil {
		return finding, err
	}
	out := &replay.Compaction{Status: replay.Compacted, Identity: c.identity(), SummariserInput: idsOf(older)}
	block, text, err := c.block(answer, req, out)
	switch {
	case err != nil:
		return c.broken("the provider answered with " + err.Error()), nil
	case out.Status != replay.Compacted:
		return c.finish(out, req), nil
	}
	summary := replay.CompactMessage{
		ID: newIDsFor(req).next(""), Kind: replay.KindSummary, SourceIDs: idsOf(older),
		Message: fixtures.Message{
			Role: fixtures.RoleAssistant, Content: summaryHeading + text,
			Extra: replay.NativeExtra(replay.NativeAnthropic, block),
		},
	}
	out.Messages = []replay.CompactMessage{summary}
	for _, m := range kept {
		out.Messages = append(out.Messages, asKept(m))
	}
	out.DroppedIDs = idsOf(older)
	return c.finish(out, req), nil
}

// cut splits the context into what is summarised and the newest turns, of which
// none is cut from the results of its calls. A reason says why there is nothing to
// summarise.
func (c *AnthropicCompact) cut(messages []replay.CompactMessage) (older, kept []replay.CompactMessage, reason string) {
	groups := groupsOf(messages)
	start, turns := len(messages), 0
	// What waits for an answer stays, too: after the block it is the user's turn to speak.
	waits := len(messages) > 0 && messages[len(messages)-1].Role != fixtures.RoleAssistant
	for g := len(groups) - 1; g >= 0 && (turns < c.options.Keep || waits && g == len(groups)-1); g-- {
		start = groups[g].start
		turns += turnsIn(messages[start:groups[g].end])
	}
	older, kept = messages[:start:start], messages[start:]
	switch {
	case len(messages) == 0:
		return nil, nil, "there is nothing to compact"
	case len(older) == 0:
		return nil, nil, fmt.Sprintf("the newest %s are all there is", plural(turns, "turn"))
	case len(older) == 1 && replay.Native(&older[0].Message, replay.NativeAnthropic) != nil:
		return nil, nil, "nothing was said since the last summary but the turns that stay"
	}
	return older, kept, ""
}

type summarizeAnswer struct {
	Type       string            `json:"type"`
	Content    []json.RawMessage `json:"content"`
	StopReason string            `json:"stop_reason"`
	Error      json.RawMessage   `json:"error"`
	Usage      hostedUsage       `json:"usage"`
}

// block takes the compaction block and its text out of an answer. What the API says
// instead of one goes into out's status; the error says what the answer holds, after
// "the provider answered with".
func (c *AnthropicCompact) block(answer answered, req *replay.CompactRequest, out *replay.Compaction) (block json.RawMessage, text string, err error) {
	var got summarizeAnswer
	if err := decodeOne(answer.body, &got, c.from); err != nil {
		return nil, "", err
	}
	if len(got.Error) > 0 && string(got.Error) != "null" {
		return nil, "", fmt.Errorf("an error: %s", saidIn(answer.body))
	}
	out.Exchanges = c.exchange(req, got.Usage, answer)
	out.Instructions = c.options.Instructions
	switch got.StopReason {
	case "compaction":
	case "refusal":
		out.Status, out.Reason = replay.Refused, "the model refused to write a summary"
		return nil, "", nil
	case "max_tokens", "model_context_window_exceeded":
		out.Status, out.Reason = replay.Failed, fmt.Sprintf("the summary was cut short (stop reason %s)", got.StopReason)
		return nil, "", nil
	default:
		return nil, "", fmt.Errorf("the stop reason %q, want compaction: does the model support compaction on demand?", excerpt(got.StopReason, 40))
	}
	if len(got.Content) != 1 {
		return nil, "", fmt.Errorf("%s, want one", plural(len(got.Content), "content block"))
	}
	var shape struct {
		Type    string  `json:"type"`
		Content *string `json:"content"`
	}
	switch err := json.Unmarshal(got.Content[0], &shape); {
	case err != nil:
		return nil, "", fmt.Errorf("a content block of another shape: %w", err)
	case shape.Type != "compaction":
		return nil, "", fmt.Errorf("a content block of the type %q, want compaction", excerpt(shape.Type, 40))
	case shape.Content == nil:
		return nil, "", errors.New("a compaction block without a summary, which is how it says that the compaction failed")
	case strings.TrimSpace(*shape.Content) == "":
		return nil, "", errors.New("an empty summary")
	}
	return got.Content[0], *shape.Content, nil
}
