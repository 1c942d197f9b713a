package model

import (
	"encoding/json"
	"errors"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/doubletake-dev/doubletake/fixtures"
)

func TestKnownQuirks(t *testing.T) {
	for _, c := range []struct{ model, host, want string }{
		{"gpt-4.1", "api.openai.com", ""},
		{"some-model", "127.0.0.1", ""},
		{"", "", ""},
		{"o3", "api.openai.com", "no temperature, max_completion_tokens for max_tokens"},
		{"openai/o3-mini", "openrouter.ai", "no temperature, max_completion_tokens for max_tokens"},
		{"o1-mini-2024-09-12", "x", "no temperature, max_completion_tokens for max_tokens, system messages as user"},
		{"gpt-5", "x", "no temperature, max_completion_tokens for max_tokens"},
		{"gpt-5.1", "x", "max_completion_tokens for max_tokens"},
		{"gpt-5-chat-latest", "x", "max_completion_tokens for max_tokens"},
		{"mistral-large", "api.mistral.ai", "no seed"},
		{"claude-sonnet-4-5", "api.anthropic.com", "no empty contents"},
	} {
		if got := knownQuirks(c.model, c.host).String(); got != c.want {
			t.Errorf("%s at %s: %q, want %q", c.model, c.host, got, c.want)
		}
	}
	for _, rule := range quirkTable() {
		if err := rule.quirks.Validate(); err != nil || rule.why == "" || rule.quirks == (Quirks{}) {
			t.Errorf("rule for %s at %s: %v", rule.model, rule.host, err)
		}
	}
}

func TestQuirksAreValidated(t *testing.T) {
	for _, q := range []Quirks{{Temperature: "0"}, {MaxTokens: "max"}, {SystemRole: "assistant"}} {
		if err := q.Validate(); err == nil || !strings.Contains(err.Error(), "want ") {
			t.Errorf("%+v: %v", q, err)
		}
		if _, err := NewClient(Endpoint{BaseURL: "http://x", Quirks: map[string]Quirks{"m": q}}); err == nil {
			t.Errorf("a client takes %+v", q)
		}
	}
}

// What the user says goes before what the table says, in each field of its own.
func TestQuirksOnTheWire(t *testing.T) {
	yes, no := true, false
	messages := []fixtures.Message{
		{Role: fixtures.RoleSystem, Content: "rules"},
		{Role: fixtures.RoleUser, Content: "hi"},
		{Role: fixtures.RoleAssistant, ToolCalls: []fixtures.ToolCall{{ID: "a", Name: "read"}}, Extra: map[string]json.RawMessage{reasoningField: json.RawMessage(`"hm"`)}},
		{Role: fixtures.RoleTool, ToolCallID: "a"},
	}
	for _, c := range []struct {
		name     string
		quirks   Quirks
		fields   map[string]string // as sent, empty for not at all
		messages []string
		sent     string
	}{
		{name: "none", fields: map[string]string{"temperature": "0", "seed": "7", "max_tokens": "9", "parallel_tool_calls": ""}},
		{name: "no temperature", quirks: Quirks{Temperature: Omit}, fields: map[string]string{"temperature": ""}, sent: "no temperature"},
		{name: "no seed, no format", quirks: Quirks{Seed: &no, JSONMode: &no}, fields: map[string]string{"seed": "", "response_format": "", "temperature": "0"}, sent: "no seed, no response_format"},
		{name: "the newer bound", quirks: Quirks{MaxTokens: MaxCompletionTokens}, fields: map[string]string{"max_tokens": "", "max_completion_tokens": "9"}, sent: "max_completion_tokens for max_tokens"},
		{name: "no bound", quirks: Quirks{MaxTokens: Omit}, fields: map[string]string{"max_tokens": "", "max_completion_tokens": ""}, sent: "no max_tokens"},
		{name: "one call at a time", quirks: Quirks{ParallelToolCalls: &no}, fields: map[string]string{"parallel_tool_calls": "false"}, sent: "parallel_tool_calls false"},
		{name: "developer", quirks: Quirks{SystemRole: RoleDeveloper}, messages: []string{`{"role":"developer","content":"rules"}`}, sent: "system messages as developer"},
		{name: "texts everywhere", quirks: Quirks{NonEmptyContent: &yes}, messages: []string{"", "", `"content":null`, `"content":"(empty)"`}, sent: "no empty contents"},
		{name: "reasoning", quirks: Quirks{ReturnReasoning: &yes}, messages: []string{"", "", `"reasoning_content":"hm"`, `"content":""`}, sent: "reasoning sent back"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := serve(t, answers(answer(200, goodAnswer)))
			client, _ := connect(t, Endpoint{BaseURL: p.URL, Quirks: map[string]Quirks{"m": c.quirks}})
			request := ask("m")
			request.Messages, request.Tools = messages, []fixtures.Tool{{Name: "read"}}
			request.Seed, request.MaxTokens, request.JSON = 7, 9, true
			reply, err := client.Complete(t.Context(), request)
			if err != nil {
				t.Fatal(err)
			}
			if reply.Sent != c.sent {
				t.Errorf("sent %q, want %q", reply.Sent, c.sent)
			}
			body := p.bodies[0]
			for field, want := range c.fields {
				if string(body[field]) != want {
					t.Errorf("%s is %s, want %s", field, body[field], want)
				}
			}
			var sent []json.RawMessage
			if err := json.Unmarshal(body["messages"], &sent); err != nil || len(sent) != len(messages) {
				t.Fatalf("messages %s: %v", body["messages"], err)
			}
			for i, want := range c.messages {
				if !strings.Contains(string(sent[i]), want) {
					t.Errorf("message %d is %s, want %s", i, sent[i], want)
				}
			}
			if thinks := strings.Contains(string(body["messages"]), reasoningField); thinks != isTrue(c.quirks.ReturnReasoning) {
				t.Errorf("the reasoning is sent back: %v", thinks)
			}
		})
	}
}

func TestAModelWithoutTools(t *testing.T) {
	no := false
	p := serve(t, answers(answer(200, goodAnswer)))
	client, _ := connect(t, Endpoint{BaseURL: p.URL, Quirks: map[string]Quirks{"m": {Tools: &no}}})
	request := ask("m")
	if _, err := client.Complete(t.Context(), request); err != nil {
		t.Error(err)
	}
	request.Tools = []fixtures.Tool{{Name: "read"}}
	if _, err := client.Complete(t.Context(), request); !errors.Is(err, errNoTools) || p.asked() != 1 {
		t.Errorf("asked %d times, %v", p.asked(), err)
	}
}

func TestTheTablesQuirksCanBeOverruled(t *testing.T) {
	p := serve(t, answers(answer(200, goodAnswer)))
	client, _ := connect(t, Endpoint{BaseURL: p.URL, Quirks: map[string]Quirks{"o3": {Temperature: Zero}}})
	request := ask("o3")
	request.MaxTokens = 9
	if _, err := client.Complete(t.Context(), request); err != nil {
		t.Fatal(err)
	}
	if body := p.bodies[0]; string(body["temperature"]) != "0" || string(body["max_completion_tokens"]) != "9" {
		t.Errorf("body %s", body)
	}
}

// refusing answers like a model that takes no such parameters.
func refusing(fields map[string]string) func(http.ResponseWriter, *http.Request, int) {
	return func(w http.ResponseWriter, r *http.Request, _ int) {
		body := bodyOf(r)
		for field, refusal := range fields {
			if _, there := body[field]; there {
				answer(400, refusal)(w, r)
				return
			}
		}
		answer(200, goodAnswer)(w, r)
	}
}

func TestRefusedParametersAreLearnt(t *testing.T) {
	for _, c := range []struct {
		name    string
		refused map[string]string
		asked   int
		sent    string
		learnt  []string
	}{
		{"temperature", map[string]string{"temperature": `{"error":{"message":"Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) value is supported.","type":"invalid_request_error","param":"temperature","code":"unsupported_value"}}`},
			2, "no temperature", []string{"model m refuses temperature"}},
		{"max_tokens", map[string]string{"max_tokens": `{"error":{"message":"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."}}`},
			2, "max_completion_tokens for max_tokens", []string{"model m refuses max_tokens"}},
		{"seed, without a parameter named", map[string]string{"seed": `{"error":"Extra inputs are not permitted: body.seed"}`},
			2, "no seed", []string{"model m refuses seed"}},
		{"a text alone", map[string]string{"response_format": `unknown field "response_format"`},
			2, "no response_format", []string{"model m refuses response_format"}},
		{"two at once", map[string]string{"temperature": `{"error":"temperature is not supported"}`, "seed": `{"error":"seed is not supported"}`},
			3, "no temperature, no seed", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := serve(t, refusing(c.refused))
			client, waits := connect(t, Endpoint{BaseURL: p.URL, Tries: 1})
			request := ask("m")
			request.MaxTokens, request.JSON = 9, true
			for range 2 {
				reply, err := client.Complete(t.Context(), request)
				if err != nil {
					t.Fatal(err)
				}
				if reply.Sent != c.sent {
					t.Errorf("sent %q, want %q", reply.Sent, c.sent)
				}
			}
			if p.asked() != c.asked+1 || len(waits.all()) != 0 {
				t.Errorf("asked %d times, waited %v", p.asked(), waits.all())
			}
			if learnt := client.Learnt(); c.learnt != nil && !reflect.DeepEqual(learnt, c.learnt) {
				t.Errorf("learnt %q", learnt)
			}
			if dialect := client.Dialect(request); dialect != "" {
				t.Errorf("what is learnt is part of the key: %q", dialect)
			}
		})
	}
}

func TestWhatCannotBeAdaptedIsSaid(t *testing.T) {
	for name, body := range map[string]string{
		"another parameter":       `{"error":{"message":"Unsupported parameter: 'tools'","param":"tools"}}`,
		"a bound that is too big": `{"error":{"message":"max_tokens is too large: 9. This model supports at most 4 completion tokens","param":"max_tokens"}}`,
		"always":                  `{"error":{"message":"max_tokens is not supported"}}`,
		"a tool's schema":         `{"error":{"message":"schema of tool set_temperature is not supported","param":"tools[0].function.parameters"}}`,
	} {
		t.Run(name, func(t *testing.T) {
			p := serve(t, answers(answer(400, body)))
			client, _ := connect(t, Endpoint{BaseURL: p.URL})
			request := ask("m")
			request.MaxTokens = 9
			if _, err := client.Complete(t.Context(), request); err == nil || p.asked() > 3 {
				t.Errorf("asked %d times, error %v", p.asked(), err)
			}
		})
	}
}

// Many requests that are refused at once learn together.
func TestManyLearnAtOnce(t *testing.T) {
	p := serve(t, refusing(map[string]string{"temperature": `{"error":"temperature is not supported"}`, "seed": `{"error":"seed is not supported"}`}))
	client, _ := connect(t, Endpoint{BaseURL: p.URL})
	var group sync.WaitGroup
	for range 16 {
		group.Go(func() {
			if _, err := client.Complete(t.Context(), ask("m")); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if got := client.Learnt(); len(got) != 2 {
		t.Errorf("learnt %q", got)
	}
}

func TestKindsOfErrors(t *testing.T) {
	for _, c := range []struct {
		name   string
		status int
		body   string
		want   error
	}{
		{"OpenAI's code", 400, `{"error":{"message":"This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.","code":"context_length_exceeded","param":"messages"}}`, ErrContextLength},
		{"llama.cpp", 400, `{"error":{"code":400,"message":"the request exceeds the available context size (4096 tokens)","type":"exceed_context_size_error"}}`, ErrContextLength},
		{"vLLM", 400, `{"object":"error","message":"This model's maximum context length is 4096 tokens","code":400}`, ErrContextLength},
		{"Anthropic", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}`, ErrContextLength},
		{"a router, in a 200", 200, `{"error":{"code":400,"message":"This endpoint's maximum context length is 8192 tokens"}}`, ErrContextLength},
		{"Azure's filter", 400, `{"error":{"message":"The response was filtered due to the prompt triggering Azure OpenAI's content management policy.","code":"content_filter"}}`, ErrContentFilter},
		{"a policy", 400, `{"error":{"message":"Your request was rejected.","code":"content_policy_violation"}}`, ErrContentFilter},
		{"a rate, not a size", 429, `{"error":{"message":"Request too large: reduce the length of the messages"}}`, nil},
		{"something else", 400, `{"error":{"message":"bad tool schema"}}`, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := serve(t, answers(answer(c.status, c.body)))
			client, _ := connect(t, Endpoint{BaseURL: p.URL})
			_, err := client.Complete(t.Context(), ask("m"))
			for _, kind := range []error{ErrContextLength, ErrContentFilter, ErrParameter} {
				if errors.Is(err, kind) != (kind == c.want) {
					t.Errorf("%v is %v: %v", err, kind, errors.Is(err, kind))
				}
			}
			if c.want != nil && (p.asked() != 1 || !strings.Contains(err.Error(), c.want.Error())) {
				t.Errorf("asked %d times, error %v", p.asked(), err)
			}
		})
	}
}

func TestReasoningIsKept(t *testing.T) {
	yes := true
	body := strings.Replace(goodAnswer, `"content":"hello"`, `"content":"hello","reasoning_content":"let me think"`, 1)
	p := serve(t, answers(answer(200, body)))
	client, _ := connect(t, Endpoint{BaseURL: p.URL})
	reply, err := client.Complete(t.Context(), ask("m"))
	if err != nil || reply.Reasoning != "let me think" || reply.Message.Extra != nil {
		t.Errorf("%+v, %v", reply, err)
	}
	returning, _ := connect(t, Endpoint{BaseURL: p.URL, Quirks: map[string]Quirks{"m": {ReturnReasoning: &yes}}})
	if reply, err = returning.Complete(t.Context(), ask("m")); err != nil || string(reply.Message.Extra[reasoningField]) != `"let me think"` {
		t.Errorf("%+v, %v", reply, err)
	}
	request := ask("m")
	before := returning.Dialect(request)
	request.Messages = append(request.Messages, reply.Message)
	if after := returning.Dialect(request); after == before || client.Dialect(request) != "" {
		t.Errorf("the key does not hold what is sent back: %q", after)
	}
}
