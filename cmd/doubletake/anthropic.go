package main

import (
	"cmp"
	"errors"
	"net/url"
	"os"
	"strings"

	"github.com/doubletake-dev/doubletake/replay"
	"github.com/doubletake-dev/doubletake/replay/model"
)

// The providers: whose API an endpoint speaks.
const (
	providerOpenAI    = "openai" // and whatever is compatible
	providerAnthropic = "anthropic"
)

// apiAnthropic is what lineages call Anthropic's Messages API.
const apiAnthropic = "anthropic"

// openAIBase is where OpenAI's API is.
const openAIBase = "https://api.openai.com/v1"

// validateProviders says what is wrong with the providers and with what goes with them.
func (c *config) validateProviders() error {
	for _, asked := range []struct{ section, provider string }{{"agent", c.Agent.Provider}, {"judge", c.Judge.Provider}} {
		if name := asked.provider; name != "" && name != providerOpenAI && name != providerAnthropic {
			return wrong([]string{asked.section, "provider"}, "%w", noneOf(name, providerOpenAI, providerAnthropic))
		}
	}
	switch {
	case c.Agent.Provider != providerAnthropic && c.Agent.PromptCache:
		return about(errors.New("agent.prompt_cache goes with agent.provider: anthropic"), "agent", "prompt_cache")
	case c.Agent.Provider == providerAnthropic && c.Agent.API != "":
		return about(errors.New("agent.api goes with agent.provider: openai; Anthropic's has one API"), "agent", "api")
	}
	return nil
}

// judgeProvider is who provides the judge: the agent's where nothing is said.
func (c *config) judgeProvider() string { return cmp.Or(c.Judge.Provider, c.Agent.Provider) }

// defaultJudgeTokens bounds a judge's answer, which is a few words of JSON; models that
// think first need the rest.
const defaultJudgeTokens = 4096

// endpoints are the agent's and the judge's. The base has the agent's address as far as
// it is named, and what both share.
func (c *config) endpoints(base model.Endpoint) (agent, judge model.Endpoint) {
	agent = provided(base, c.Agent.Provider)
	if agent.Anthropic != nil {
		agent.Anthropic.MaxTokens, agent.Anthropic.PromptCache = int(c.Agent.MaxTokens), c.Agent.PromptCache
	}
	if c.Judge.BaseURL != "" || (c.judgeProvider() == providerAnthropic) != (c.Agent.Provider == providerAnthropic) {
		base.BaseURL = c.Judge.BaseURL // the agent's address speaks another API
	}
	judge = provided(base, c.judgeProvider())
	if judge.Anthropic != nil {
		judge.Anthropic.MaxTokens = cmp.Or(int(c.Judge.MaxTokens), defaultJudgeTokens)
	}
	return agent, judge
}

// provided completes an endpoint with its provider's key and address. The environment says
// where the address is, if nothing else does.
func provided(at model.Endpoint, provider string) model.Endpoint {
	if provider == providerAnthropic {
		at.Key, at.Anthropic = os.Getenv("ANTHROPIC_API_KEY"), &model.AnthropicOptions{}
		at.BaseURL = cmp.Or(at.BaseURL, os.Getenv("ANTHROPIC_BASE_URL"), model.AnthropicBaseURL)
		return at
	}
	at.Key = os.Getenv("OPENAI_API_KEY")
	at.BaseURL = cmp.Or(at.BaseURL, os.Getenv("OPENAI_BASE_URL"), openAIBase)
	return at
}

// rightProviders says where one of Anthropic's models would be asked through another
// provider's API, which drops parts of a conversation.
func (n *night) rightProviders(agent, judge model.Endpoint) error {
	for _, asked := range []struct {
		key, model, named string
		at                model.Endpoint
	}{{"agent", n.settings.Model, n.config.Agent.Model, agent}, {"judge", n.judgeAs, n.config.Judge.Model, judge}} {
		if mistaken(asked.model, asked.at) {
			err := usageError("%s: the model %s would be asked through Chat Completions at %s; set %s.provider: %s in the config", asked.key, asked.model, asked.at.BaseURL, asked.key, providerAnthropic)
			if asked.model != asked.named {
				return err // a flag names it
			}
			return n.config.wrongSince(about(err, asked.key, "model"))
		}
	}
	return nil
}

// mistaken says that a model of Anthropic's is asked at Anthropic's or OpenAI's own host
// through Chat Completions.
func mistaken(name string, at model.Endpoint) bool {
	address, err := url.Parse(at.BaseURL)
	if err != nil || at.Anthropic != nil || !strings.HasPrefix(name, "claude") {
		return false
	}
	return address.Hostname() == "api.anthropic.com" || address.Hostname() == "api.openai.com"
}

// dialect is what a client sends otherwise than requests say, for the keys of stored
// answers; nil for a client that has none.
func dialect(client modelClient) func(*replay.Request) string {
	if speaker, ok := client.(interface {
		Dialect(*replay.Request) string
	}); ok {
		return speaker.Dialect
	}
	return nil
}

// sentOtherwise notes in the lineage through which API the models are asked, and what they
// are sent otherwise than usual.
func (n *night) sentOtherwise(agent, judge model.Endpoint) {
	if agent.Anthropic != nil {
		n.lineage.AgentAPI, n.lineage.AgentSent = apiAnthropic, agent.AnthropicSent(n.settings.Model)
	} else if !agent.Responses {
		n.lineage.AgentSent = agent.QuirksOf(n.settings.Model).String()
	}
	if judge.Anthropic != nil {
		n.lineage.JudgeAPI, n.lineage.JudgeSent = apiAnthropic, judge.AnthropicSent(n.judgeAs)
	} else {
		n.lineage.JudgeSent = judge.QuirksOf(n.judgeAs).String()
	}
}

// beyondTemperature says that quirks have more than the one that matters to Anthropic's API.
func beyondTemperature(quirks *model.Quirks) bool {
	return quirks != nil && *quirks != (model.Quirks{Temperature: quirks.Temperature})
}
