package model

import (
	"errors"
	"fmt"
	"path"
	"reflect"
	"slices"
	"strings"
)

// Quirks are how a model or its server wants to be asked. What is left out is the
// ordinary way.
type Quirks struct {
	// Temperature is zero, or omit for models that refuse the parameter: their answers
	// vary.
	Temperature string `yaml:"temperature"`
	// MaxTokens is the name of the bound of an answer: max_tokens,
	// max_completion_tokens, or omit.
	MaxTokens string `yaml:"max_tokens"`
	// SystemRole is who says the system message: system, developer or user.
	SystemRole string `yaml:"system_role"`
	// ParallelToolCalls is sent as such where tools are; left out it is not sent.
	ParallelToolCalls *bool `yaml:"parallel_tool_calls"`
	// NonEmptyContent says that every message needs a text.
	NonEmptyContent *bool `yaml:"needs_nonempty_content"`
	// Seed, JSONMode, Tools and StreamUsage say whether the model takes a seed,
	// response_format, tools, and stream_options.
	Seed        *bool `yaml:"seed"`
	JSONMode    *bool `yaml:"json_mode"`
	Tools       *bool `yaml:"tools"`
	StreamUsage *bool `yaml:"stream_usage"`
	// ReturnReasoning sends the model what it thought in the turns before.
	ReturnReasoning *bool `yaml:"return_reasoning"`
}

// The values of the quirks that are names.
const (
	Zero                = "zero"
	Omit                = "omit"
	MaxTokens           = "max_tokens"
	MaxCompletionTokens = "max_completion_tokens"
	RoleDeveloper       = "developer"
)

// The parameters that can be adapted when a model refuses them.
const (
	parameterTemperature = "temperature"
	parameterSeed        = "seed"
	parameterParallel    = "parallel_tool_calls"
	parameterFormat      = "response_format"
	parameterUsage       = "stream_options"
	parameterRole        = "role"
)

// adaptable lists those that have a field of their own.
var adaptable = []string{parameterTemperature, MaxCompletionTokens, MaxTokens, parameterSeed, parameterParallel, parameterFormat, parameterUsage}

// Validate says which value is none.
func (q Quirks) Validate() error {
	for _, check := range []struct {
		name, value string
		want        []string
	}{
		{"temperature", q.Temperature, []string{Zero, Omit}},
		{"max_tokens", q.MaxTokens, []string{MaxTokens, MaxCompletionTokens, Omit}},
		{"system_role", q.SystemRole, []string{"system", RoleDeveloper, "user"}},
	} {
		if check.value != "" && !slices.Contains(check.want, check.value) {
			return fmt.Errorf("%s: %q; want %s", check.name, check.value, strings.Join(check.want, ", "))
		}
	}
	return nil
}

// over is q where it says something, else base.
func (q Quirks) over(base Quirks) Quirks {
	from, to := reflect.ValueOf(q), reflect.ValueOf(&base).Elem()
	for i := range from.NumField() {
		if !from.Field(i).IsZero() {
			to.Field(i).Set(from.Field(i))
		}
	}
	return base
}

// String says in words what is out of the ordinary; empty for nothing.
func (q Quirks) String() string {
	var list []string
	add := func(is bool, text string) {
		if is {
			list = append(list, text)
		}
	}
	add(q.Temperature == Omit, noTemperature)
	add(q.MaxTokens == MaxCompletionTokens, "max_completion_tokens for max_tokens")
	add(q.MaxTokens == Omit, "no max_tokens")
	add(q.SystemRole != "" && q.SystemRole != "system", "system messages as "+q.SystemRole)
	add(q.ParallelToolCalls != nil, fmt.Sprintf("parallel_tool_calls %t", isTrue(q.ParallelToolCalls)))
	add(isTrue(q.NonEmptyContent), "no empty contents")
	add(isFalse(q.Seed), noSeed)
	add(isFalse(q.JSONMode), "no response_format")
	add(isFalse(q.Tools), "no tools")
	add(isTrue(q.ReturnReasoning), "reasoning sent back")
	return strings.Join(list, ", ")
}

// What stands in the text of what was sent where a parameter was left out.
const (
	noTemperature = "no temperature"
	noSeed        = "no seed"
)

func isTrue(b *bool) bool  { return b != nil && *b }
func isFalse(b *bool) bool { return b != nil && !*b }

// quirkRule is what is known of the models of a name at a host.
type quirkRule struct {
	model  string // a pattern as of path.Match
	host   string // the same, empty for any
	quirks Quirks
	why    string
}

// quirkTable is what is known beforehand. What is not, is learnt from the first refusal.
// A later rule goes before an earlier one.
func quirkTable() []quirkRule {
	no, yes := false, true
	reasoning := Quirks{MaxTokens: MaxCompletionTokens}
	fixed := Quirks{MaxTokens: MaxCompletionTokens, Temperature: Omit}
	first := Quirks{MaxTokens: MaxCompletionTokens, Temperature: Omit, SystemRole: "user"}
	const bounds = "reasoning models take max_completion_tokens alone"
	const sampling = "the temperature is fixed at 1, and any other is refused"
	var rules []quirkRule
	for _, family := range []string{"o1*", "o3*", "o4*", "gpt-5*", "gpt-6*"} {
		rules = append(rules, quirkRule{family, "", reasoning, bounds})
	}
	for _, name := range []string{
		"o1", "o1-20*", "o1-pro*", "o3", "o3-20*", "o3-mini*", "o3-pro*", "o4-mini*",
		"gpt-5", "gpt-5-20*", "gpt-5-mini*", "gpt-5-nano*", "gpt-5-pro*", "gpt-5-codex*",
	} {
		rules = append(rules, quirkRule{name, "", fixed, sampling})
	}
	for _, name := range []string{"o1-mini*", "o1-preview*"} {
		rules = append(rules, quirkRule{name, "", first, sampling + ", and no system message is taken"})
	}
	return append(rules,
		quirkRule{"*", "api.mistral.ai", Quirks{Seed: &no}, "the seed has another name there, and fields that aren't known are refused"},
		quirkRule{"*", "api.anthropic.com", Quirks{NonEmptyContent: &yes}, "a text block may not be empty"},
	)
}

// knownQuirks is what the table says of a model at a host.
func knownQuirks(model, host string) Quirks {
	var q Quirks
	model = model[strings.LastIndex(model, "/")+1:] // a router names the maker before the model
	for _, rule := range quirkTable() {
		if matches(rule.model, model) && (rule.host == "" || matches(rule.host, host)) {
			q = rule.quirks.over(q)
		}
	}
	return q
}

// QuirksOf is what is known of a model behind the endpoint before it is asked: by the
// table, and by what the user says.
func (e Endpoint) QuirksOf(model string) Quirks {
	return e.Quirks[model].over(knownQuirks(model, host(e.BaseURL)))
}

// Varies says of what a model is sent otherwise than usual, in words, that its answers to
// equal requests may differ more than at temperature 0 with a seed.
func Varies(sent string) bool {
	return strings.Contains(sent, noTemperature) || strings.Contains(sent, noSeed)
}

func matches(pattern, name string) bool {
	ok, err := path.Match(pattern, name)
	return ok && err == nil
}

// adapted is what to ask with after the model refused a parameter, and whether that is
// anything else than before.
func (q Quirks) adapted(parameter string) (Quirks, bool) {
	no := false
	was := q
	switch parameter {
	case parameterTemperature:
		q.Temperature = Omit
	case MaxTokens:
		if q.MaxTokens == "" || q.MaxTokens == MaxTokens {
			q.MaxTokens = MaxCompletionTokens
		}
	case MaxCompletionTokens:
		if q.MaxTokens == MaxCompletionTokens {
			q.MaxTokens = MaxTokens
		}
	case parameterSeed:
		q.Seed = &no
	case parameterParallel:
		q.ParallelToolCalls = nil
	case parameterFormat:
		q.JSONMode = &no
	case parameterUsage:
		q.StreamUsage = &no
	case parameterRole:
		if q.SystemRole == "" || q.SystemRole == "system" || q.SystemRole == RoleDeveloper {
			q.SystemRole = "user"
		}
	}
	return q, q.String() != was.String() || isFalse(q.StreamUsage) != isFalse(was.StreamUsage)
}

// errNoTools says that a model which takes no tools was to be asked with some.
var errNoTools = errors.New("the model takes no tools, as its quirks say, and the conversation has some; choose another model")
