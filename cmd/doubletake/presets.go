package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/xrash/smetrics"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
	"github.com/doubletake-dev/doubletake/replay/compact"
)

// How the agent's model is asked.
const (
	apiChat      = "chat"
	apiResponses = "responses"
)

// validateAPI says what is wrong with how the agent is to be asked.
func (c *config) validateAPI() error {
	switch c.Agent.API {
	case "", apiChat:
	case apiResponses:
		if c.Agent.Model == "" {
			return wrong([]string{"agent", "api"}, "responses goes with agent.model; the embedded provider speaks Chat Completions alone")
		}
	default:
		return wrong([]string{"agent", "api"}, "%w", noneOf(c.Agent.API, apiChat, apiResponses))
	}
	return nil
}

// validateOptions says what is wrong with the options of a compactor, and with which.
func (c compactorConfig) validateOptions() (key string, err error) {
	if c.Preset != "" && !slices.Contains(compact.Presets(), c.Preset) {
		nearest := slices.MinFunc(compact.Presets(), func(a, b string) int {
			return smetrics.WagnerFischer(c.Preset, a, 1, 1, 1) - smetrics.WagnerFischer(c.Preset, b, 1, 1, 1)
		})
		return "preset", fmt.Errorf("preset: no preset is called %q; did you mean %q? They are %s", c.Preset, nearest, strings.Join(compact.Presets(), " and "))
	}
	for _, option := range []struct {
		name, goesWith string
		set, fits      bool
	}{
		{"base_url", "preset", c.BaseURL != "", c.Preset != ""},
		{"instructions", "preset", c.Instructions != "", c.Preset != ""},
		{"tool_uses", "use: " + compact.NameClearToolResults, c.ToolUses != 0, c.Use == compact.NameClearToolResults},
		{"clear_at_least", "use: " + compact.NameClearToolResults, c.ClearAtLeast != 0, c.Use == compact.NameClearToolResults},
		{"exclude_tools", "use: " + compact.NameClearToolResults, len(c.ExcludeTools) > 0, c.Use == compact.NameClearToolResults},
		{"clear_tool_inputs", "use: " + compact.NameClearToolResults, c.ClearToolInputs, c.Use == compact.NameClearToolResults},
	} {
		if option.set && !option.fits {
			return option.name, fmt.Errorf("has %s, which goes with %s", option.name, option.goesWith)
		}
	}
	for _, count := range []struct {
		name string
		n    whole
	}{{"tool_uses", c.ToolUses}, {"clear_at_least", c.ClearAtLeast}, {"keep", c.Keep}} {
		if count.n < 0 {
			return count.name, fmt.Errorf("%s: %d is negative", count.name, count.n)
		}
	}
	return "", nil
}

// presetAt is where a preset is asked: at its own address, else where the agent is, if that
// is at the same provider, else where the provider is.
func (n *night) presetAt(c compactorConfig) string {
	agent := ""
	if c.Preset == compact.PresetOpenAI && n.endpoint.Responses || c.Preset == compact.PresetAnthropic && n.endpoint.Anthropic != nil {
		agent = n.endpoint.BaseURL
	}
	return cmp.Or(c.BaseURL, agent, compact.PresetBase(c.Preset))
}

// preset makes the compactor that a provider runs.
func (n *night) preset(name string, c compactorConfig) (replay.Compactor, error) {
	options := compact.HostedOptions{
		BaseURL: n.presetAt(c), Model: c.Model, Instructions: c.Instructions, Keep: int(c.Keep), Timeout: time.Duration(c.Timeout),
		Tries: uint(n.config.Limits.Tries), Name: name, Counter: n.counter, Cost: n.cost, Answers: n.answers,
	}
	if c.Preset == compact.PresetOpenAI {
		if !n.endpoint.Responses {
			return nil, usageError("preset %s: what it makes only the provider can read, and the agent is asked by Chat Completions, which cannot carry it; name agent.model and set agent.api: %s", c.Preset, apiResponses)
		}
		options.Key, options.Native = os.Getenv("OPENAI_API_KEY"), true
		options.Model = cmp.Or(c.Model, n.settings.Model)
		return compact.NewOpenAICompact(options)
	}
	options.Key = os.Getenv("ANTHROPIC_API_KEY")
	if c.Model == "" && n.endpoint.Anthropic == nil {
		return nil, fmt.Errorf("preset %s: name the model that compacts, as in model: claude-sonnet-4-6", c.Preset)
	}
	return compact.NewAnthropicCompact(options)
}

// answers keeps what a provider's own compaction answered, and asks for no more once the
// budget is spent.
func (n *night) answers(ctx context.Context, request []byte, ask func(context.Context) ([]byte, error)) ([]byte, fixtures.Hash, bool, error) {
	return n.agent.Bytes(ctx, request, func(ctx context.Context) ([]byte, error) {
		if err := n.budget.Left(); err != nil {
			return nil, err
		}
		return ask(ctx)
	})
}

// cost is what an answer cost that did not come by the models' client, nil where the
// model's price is not known. It is taken from the budget, unless an earlier run paid.
func (n *night) cost(name string, usage replay.Usage, stored bool) *float64 {
	if !stored {
		n.budget.SpendTokens(usage.Total())
	}
	price, known := n.config.price(name)
	if !known {
		return nil
	}
	cost := price.Cost(usage)
	if !stored {
		n.budget.Spend(cost)
	}
	return &cost
}
