package compact

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
	"github.com/doubletake-dev/doubletake/replay/responses"
)

// openAIBase is where OpenAI's API is.
const openAIBase = "https://api.openai.com/v1"

// OpenAICompact is the compaction endpoint of OpenAI's Responses API, POST
// /responses/compact: the whole context goes out as input items, and what comes back
// are the messages of the user word for word and one item that stands for the rest,
// which nobody but the provider can read. That item is kept as it is and goes out
// unchanged with every later request: the next compaction's, and the agent's own.
type OpenAICompact struct{ *hosted }

// NewOpenAICompact makes a compactor of the endpoint. It asks nothing yet. Close gives
// its connections back.
func NewOpenAICompact(options HostedOptions) (*OpenAICompact, error) {
	if options.Keep > 0 {
		return nil, fmt.Errorf("%s: keep is %d, and the provider leaves no choice of what stays", PresetOpenAI, options.Keep)
	}
	h, err := newHosted(PresetOpenAI, openAIBase, "/responses/compact", "OPENAI_API_KEY", options)
	if err != nil {
		return nil, err
	}
	if options.Key != "" {
		h.headers.Set("Authorization", "Bearer "+options.Key)
	}
	return &OpenAICompact{h}, nil
}

type compactRequest struct {
	Model        string            `json:"model"`
	Input        []json.RawMessage `json:"input"`
	Instructions string            `json:"instructions,omitempty"`
}

// openAIState is what one compaction leaves to the next: the provider's items by the
// messages that they became.
type openAIState struct {
	Items []openAIStateItems `json:"items"`
}

type openAIStateItems struct {
	Message string            `json:"message"` // its id
	Items   []json.RawMessage `json:"items"`
}

// Compact asks the endpoint once.
func (c *OpenAICompact) Compact(ctx context.Context, req *replay.CompactRequest) (*replay.Compaction, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	switch {
	case len(req.Messages) == 0:
		return c.unchanged("there is nothing to compact"), nil
	case !c.options.Native:
		return c.refused("the compaction would be one that only the provider can read, and the agent is asked by Chat Completions, which cannot carry it: set agent.api: responses"), nil
	}
	if err := replay.CheckPairs(replay.Texts(req.Messages)); err != nil {
		return c.refused(fmt.Sprintf("the provider refuses calls without results and results without calls, so it was not asked: %v", err)), nil
	}
	input, err := c.input(req)
	if err != nil {
		return c.broken(err.Error()), nil
	}
	instructions := strings.TrimSpace(req.System + "\n\n" + c.options.Instructions)
	answer, finding, err := c.post(ctx, req, compactRequest{Model: c.modelFor(req), Input: input, Instructions: instructions})
	if finding != nil || err != nil {
		return finding, err
	}
	out, err := c.read(answer, req)
	if err != nil {
		return c.broken("the provider answered with " + err.Error()), nil
	}
	return out, nil
}

func (c *OpenAICompact) unchanged(reason string) *replay.Compaction {
	return &replay.Compaction{Status: replay.Unchanged, Reason: reason, Identity: c.identity()}
}

// input is the context as items: those that the provider made before as it made them.
func (c *OpenAICompact) input(req *replay.CompactRequest) ([]json.RawMessage, error) {
	var state openAIState
	if req.PriorState != nil && json.Unmarshal(req.PriorState, &state) != nil {
		return nil, errors.New("the state of the compaction before is not this compactor's")
	}
	made := map[string][]json.RawMessage{}
	for _, entry := range state.Items {
		made[entry.Message] = entry.Items
	}
	var input []json.RawMessage
	for i := range req.Messages {
		m := &req.Messages[i]
		if items := made[m.ID]; says(items, &m.Message) {
			for _, it := range items {
				input = append(input, responses.Portable(it))
			}
			continue
		}
		items, err := responses.Items([]fixtures.Message{m.Message})
		if err != nil {
			return nil, fmt.Errorf("message %s cannot be sent: %w", m.ID, err)
		}
		input = append(input, items...)
	}
	return input, nil
}

// says whether items are what a message says; the message may have changed since.
func says(items []json.RawMessage, m *fixtures.Message) bool {
	read, err := responses.ReadItems(items)
	return err == nil && len(read) == 1 && contentHash(&read[0].Message) == contentHash(m)
}

type compactAnswer struct {
	Object string             `json:"object"`
	Model  string             `json:"model"`
	Output *[]json.RawMessage `json:"output"`
	Error  json.RawMessage    `json:"error"`
	Usage  hostedUsage        `json:"usage"`
}

// hostedUsage is what both providers say of the tokens.
type hostedUsage struct {
	InputTokens   int `json:"input_tokens"`
	OutputTokens  int `json:"output_tokens"`
	CacheRead     int `json:"cache_read_input_tokens"`     // beside the input, at Anthropic
	CacheCreation int `json:"cache_creation_input_tokens"` // beside the input, at Anthropic
	InputDetails  struct {
		CachedTokens int `json:"cached_tokens"`
	} `json:"input_tokens_details"`
}

// usage is what the provider counted, as far as it can be.
func (u hostedUsage) usage() replay.Usage {
	count := func(n int) int { return min(max(n, 0), 1_000_000_000) }
	prompt := count(u.InputTokens) + count(u.CacheRead) + count(u.CacheCreation)
	return replay.Usage{
		PromptTokens: prompt, CachedTokens: min(prompt, count(u.CacheRead)+count(u.InputDetails.CachedTokens)), CompletionTokens: count(u.OutputTokens),
	}
}

// read makes a compaction of the answer. The error says what it holds, after "the
// provider answered with".
func (c *OpenAICompact) read(answer answered, req *replay.CompactRequest) (*replay.Compaction, error) {
	var got compactAnswer
	if err := decodeOne(answer.body, &got, c.from); err != nil {
		return nil, err
	}
	switch {
	case len(got.Error) > 0 && string(got.Error) != "null":
		return nil, fmt.Errorf("an error: %s", saidIn(answer.body))
	case got.Output == nil:
		return nil, errors.New(`an object without "output"`)
	case len(*got.Output) == 0:
		return nil, errors.New("no items: nothing would be left of the conversation")
	}
	read, err := responses.ReadItems(*got.Output)
	if err != nil {
		return nil, fmt.Errorf("items that cannot be read: %w", err)
	}
	printed := make([]replay.CompactMessage, len(read))
	compacted := false
	for i := range read {
		printed[i].Message = read[i].Message
		if read[i].Opaque {
			printed[i].Kind = replay.KindOpaque
		}
		for _, it := range read[i].Items {
			compacted = compacted || responses.IsCompaction(it)
		}
	}
	if !compacted {
		return nil, errors.New("items, none of which is a compaction")
	}
	out := &replay.Compaction{Status: replay.Compacted, Opaque: true, Identity: c.identity(), SummariserInput: idsOf(req.Messages)}
	out.Exchanges = c.exchange(req, got.Usage, answer)
	out.Messages, out.DroppedIDs = settle(req, printed)
	if err := replay.CheckPairs(replay.Texts(out.Messages)); err != nil {
		return nil, fmt.Errorf("calls and results that do not belong together: %w", err)
	}
	var state openAIState
	for i := range out.Messages {
		state.Items = append(state.Items, openAIStateItems{out.Messages[i].ID, read[i].Items})
	}
	if out.State, err = fixtures.MarshalPlain(state); err != nil {
		return nil, err
	}
	note(out, fmt.Sprintf("what only the provider can read counts as its marker; the provider says that it wrote %s", plural(out.Exchanges[0].Usage.CompletionTokens, "token")))
	return c.finish(out, req), nil
}
