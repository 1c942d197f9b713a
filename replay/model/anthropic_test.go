package model

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
)

const goodMessage = `{"id":"msg_1","type":"message","role":"assistant","model":"claude-sonnet-4-6","content":[{"type":"text","text":"hello"}],"stop_reason":"end_turn","usage":{"input_tokens":11,"output_tokens":2,"cache_read_input_tokens":5,"cache_creation_input_tokens":3}}`

// connectAnthropic makes a client that does not wait between its tries.
func connectAnthropic(t *testing.T, endpoint Endpoint, options AnthropicOptions) (*Anthropic, *waited) {
	t.Helper()
	client, err := NewAnthropic(endpoint, options)
	if err != nil {
		t.Fatal(err)
	}
	var w waited
	client.pause = func(d time.Duration) time.Duration {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.list = append(w.list, d)
		return 0
	}
	return client, &w
}

func toolMessage(id, text string) fixtures.Message {
	return fixtures.Message{Role: fixtures.RoleTool, ToolCallID: id, Content: text}
}

func calls(list ...fixtures.ToolCall) fixtures.Message {
	return fixtures.Message{Role: fixtures.RoleAssistant, ToolCalls: list}
}

func toolCall(id, name, arguments string) fixtures.ToolCall {
	return fixtures.ToolCall{ID: id, Name: name, Arguments: json.RawMessage(arguments)}
}

func userMessage(text string) fixtures.Message {
	return fixtures.Message{Role: fixtures.RoleUser, Content: text}
}

// The whole request, byte for byte, as the API's reference describes it.
func TestWhatAnthropicIsSent(t *testing.T) {
	server := newMessagesServer(t)
	client, _ := connectAnthropic(t, Endpoint{BaseURL: server.URL + "/v1/", Key: testKey}, AnthropicOptions{MaxTokens: 4000})
	request := &replay.Request{
		Model: "claude-sonnet-4-6", Seed: 7, Replicate: 2,
		Messages: []fixtures.Message{
			{Role: fixtures.RoleSystem, Content: "Be brief."}, userMessage("read both"), userMessage("now"),
			calls(toolCall("call.1", "fs.read", `{"b":1,"a":"<x>"}`), toolCall("c2", "list", ``)),
			toolMessage("call.1", "text"), toolMessage("c2", " \n"), userMessage(" "), userMessage("go on"),
			{Role: fixtures.RoleSystem, Content: "Summary."},
		},
		Tools: []fixtures.Tool{
			{Name: "fs.read", Description: "reads", Parameters: json.RawMessage(`{"type":"object","properties":{"b":{"type":"integer"},"a":{"type":"string"}},"additionalProperties":false}`)},
			{Name: "list"},
		},
	}
	if _, err := client.Complete(t.Context(), request); err != nil {
		t.Fatal(err)
	}
	// The aliases: what is no letter, digit, _ or - becomes _, and the hash of the name follows.
	read := "fs_read-" + string(fixtures.HashBytes([]byte("fs.read")))
	first := "call_1-" + string(fixtures.HashBytes([]byte("call.1")))
	want := `{"max_tokens":4000,"messages":[` +
		`{"content":[{"text":"read both","type":"text"},{"text":"now","type":"text"}],"role":"user"},` +
		`{"content":[{"id":"` + first + `","input":{"b":1,"a":"<x>"},"name":"` + read + `","type":"tool_use"},{"id":"c2","input":{},"name":"list","type":"tool_use"}],"role":"assistant"},` +
		`{"content":[{"tool_use_id":"` + first + `","content":[{"text":"text","type":"text"}],"type":"tool_result"},{"tool_use_id":"c2","type":"tool_result"},{"text":"go on","type":"text"}],"role":"user"}],` +
		`"model":"claude-sonnet-4-6","temperature":0,"system":[{"text":"Be brief.","type":"text"},{"text":"Summary.","type":"text"}],` +
		`"tools":[{"input_schema":{"type":"object","properties":{"b":{"type":"integer"},"a":{"type":"string"}},"additionalProperties":false},"name":"` + read + `","description":"reads"},` +
		`{"input_schema":{"type":"object","properties":{}},"name":"list"}]}`
	if got := unescaped(server.bodies[0]); got != want {
		t.Errorf("sent\n%s\nwant\n%s", got, want)
	}
	header := server.headers[0]
	if server.paths[0] != "/v1/messages" || header.Get("X-Api-Key") != testKey || header.Get("Anthropic-Version") != "2023-06-01" || header.Get("Authorization") != "" {
		t.Errorf("path %s, headers %v", server.paths[0], header)
	}
}

// unescaped undoes the spelling of <, > and & that JSON encoders may choose.
func unescaped(text string) string {
	return strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(text)
}

func TestTemperatureForAnthropic(t *testing.T) {
	// Which models refuse the parameter, as their users report the refusals.
	for name, takes := range map[string]bool{
		"claude-3-haiku-20240307": true, "claude-3-7-sonnet-latest": true, "claude-2.1": true, "claude-instant-1.2": true,
		"claude-sonnet-4-20250514": true, "claude-opus-4-0": true, "claude-opus-4-5-20251101": true, "claude-opus-4-6": true,
		"claude-sonnet-4-6": true, "claude-haiku-4-5-20251001": true, "us.anthropic.claude-sonnet-4-5-20250929-v1:0": true,
		"anthropic/claude-opus-4.6": true, "my-gateway-model": true,
		"claude-opus-4-7": false, "claude-opus-4-8": false, "claude-opus-5": false, "claude-opus-5-5": false, "claude-sonnet-5": false,
		"claude-sonnet-5-20270101": false, "claude-haiku-4-6": false, "claude-haiku-5-5": false, "claude-fable-5": false, "claude-mythos-preview": false,
		"global.anthropic.claude-opus-4-7-v1:0": false, "claude-opus-latest": false,
	} {
		if got := TakesTemperature(name); got != takes {
			t.Errorf("%s: takes temperature %v, want %v", name, got, takes)
		}
		server := newMessagesServer(t)
		client, _ := connectAnthropic(t, Endpoint{BaseURL: server.URL}, AnthropicOptions{})
		if _, err := client.Complete(t.Context(), ask(name)); err != nil {
			t.Fatal(err)
		}
		if sent := strings.Contains(server.bodies[0]+",", `"temperature":0}`); sent != takes || !takes && strings.Contains(server.bodies[0], "temperature") {
			t.Errorf("%s: sent %s", name, server.bodies[0])
		}
		if said := strings.Contains(client.Dialect(ask(name)), "no temperature"); said == takes {
			t.Errorf("%s: dialect %q", name, client.Dialect(ask(name)))
		}
	}
}

// What a model refuses it is not sent again; the user may say it before.
func TestAnthropicLearnsOfATemperature(t *testing.T) {
	refusal := answer(400, "{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"`temperature` is deprecated for this model.\"}}")
	server := newMessagesServer(t)
	server.answer = func(w http.ResponseWriter, r *http.Request, n int) {
		if n == 1 {
			refusal(w, r)
			return
		}
		answer(200, goodMessage)(w, r)
	}
	client, waited := connectAnthropic(t, Endpoint{BaseURL: server.URL}, AnthropicOptions{})
	dialect := client.Dialect(ask("m"))
	for range 2 {
		if reply, err := client.Complete(t.Context(), ask("m")); err != nil || reply.Sent != "no seed, no temperature" {
			t.Fatalf("%+v, %v", reply, err)
		}
	}
	for i, sent := range []bool{true, false, false} {
		if strings.Contains(server.bodies[i], "temperature") != sent {
			t.Errorf("request %d: %s", i+1, server.bodies[i])
		}
	}
	if learnt := client.Learnt(); len(server.bodies) != 3 || len(waited.all()) != 0 || len(learnt) != 1 || learnt[0] != "model m refuses temperature" || client.Dialect(ask("m")) != dialect {
		t.Errorf("%d requests, learnt %q", len(server.bodies), learnt)
	}
	server.answer = answers(refusal) // whatever is sent
	if _, err := client.Complete(t.Context(), ask("m")); err == nil || len(server.bodies) != 4 {
		t.Errorf("error %v after %d requests", err, len(server.bodies))
	}
	for said, sent := range map[string]bool{Zero: true, Omit: false} {
		at := Endpoint{BaseURL: server.URL, Quirks: map[string]Quirks{"claude-next": {Temperature: said}}}
		client, _ := connectAnthropic(t, at, AnthropicOptions{})
		server.answer = nil
		if _, err := client.Complete(t.Context(), ask("claude-next")); err != nil || strings.Contains(server.bodies[len(server.bodies)-1], "temperature") != sent {
			t.Errorf("%s: %v, %s", said, err, server.bodies[len(server.bodies)-1])
		}
	}
}

// A block that the provider made goes out unchanged and first, with the header that it needs.
func TestAnthropicsOwnBlocks(t *testing.T) {
	server := newMessagesServer(t)
	server.answer = answers(answer(200, goodMessage))
	own := json.RawMessage(`{"type":"compaction","content":"Summary.","signature":"<x>"}`)
	client, _ := connectAnthropic(t, Endpoint{BaseURL: server.URL}, AnthropicOptions{})
	said, err := newDialogue(&replay.Request{Messages: []fixtures.Message{
		{Role: fixtures.RoleAssistant, Content: "Summary.", Extra: replay.NativeExtra(replay.NativeAnthropic, own)}, userMessage("go on"),
	}})
	if err != nil {
		t.Fatal(err)
	}
	params, err := client.params(ask("m"), said)
	if err != nil {
		t.Fatal(err)
	}
	sent, err := json.Marshal(params.Messages)
	if want := `[{"content":[` + string(own) + `],"role":"assistant"},{"content":[{"text":"go on","type":"text"}],"role":"user"}]`; err != nil || unescaped(string(sent)) != want {
		t.Errorf("sent %s, %v\nwant %s", sent, err, want)
	}
	// The tests' server knows no such block and refuses it; the header is what matters here.
	if _, err := client.once(t.Context(), params, ask("m"), said); err == nil {
		t.Error("the server took a block that it does not know")
	}
	if got := server.headers[0].Get("Anthropic-Beta"); got != "compact-2026-09-04" {
		t.Errorf("beta %q", got)
	}
	if _, err := client.Complete(t.Context(), ask("m")); err != nil || server.headers[1].Get("Anthropic-Beta") != "" {
		t.Errorf("%v, beta %q", err, server.headers[1].Get("Anthropic-Beta"))
	}
}

func TestMarksForAnthropicsCache(t *testing.T) {
	mark := `"cache_control":{"type":"ephemeral"}`
	tools := []fixtures.Tool{{Name: "list"}}
	system := fixtures.Message{Role: fixtures.RoleSystem, Content: "Be brief."}
	for name, c := range map[string]struct {
		request replay.Request
		marked  []string // beginnings of what holds the marks, in order
	}{
		"system and text": {replay.Request{Messages: []fixtures.Message{system, userMessage("hi")}}, []string{`{"text":"hi"`, `{"text":"Be brief."`}},
		"tools alone":     {replay.Request{Tools: tools, Messages: []fixtures.Message{userMessage("hi")}}, []string{`{"text":"hi"`, `{"input_schema":`}},
		"a result": {replay.Request{Tools: tools, Messages: []fixtures.Message{system, userMessage("hi"), calls(toolCall("a", "list", "{}")), toolMessage("a", "x")}},
			[]string{`{"tool_use_id":"a"`, `{"text":"Be brief."`}},
	} {
		t.Run(name, func(t *testing.T) {
			server := newMessagesServer(t)
			for _, on := range []bool{false, true} {
				client, _ := connectAnthropic(t, Endpoint{BaseURL: server.URL}, AnthropicOptions{PromptCache: on})
				c.request.Model = "claude-sonnet-4-6"
				if _, err := client.Complete(t.Context(), &c.request); err != nil {
					t.Fatal(err)
				}
			}
			if strings.Contains(server.bodies[0], "cache_control") {
				t.Errorf("marked without being told to: %s", server.bodies[0])
			}
			rest := server.bodies[1]
			if n := strings.Count(rest, mark); n != len(c.marked) {
				t.Fatalf("%d marks in %s", n, rest)
			}
			for _, want := range c.marked {
				_, after, ok := strings.Cut(rest, want)
				at := strings.Index(after, mark)
				if end := strings.Index(after, "}]"); !ok || at < 0 || end >= 0 && end < at && !strings.Contains(after[:at], `"content"`) {
					t.Errorf("no mark on %s in %s", want, rest)
				}
				rest = after[at:]
			}
		})
	}
}

func TestConversationsThatAnthropicCannotCarry(t *testing.T) {
	server := newMessagesServer(t)
	client, _ := connectAnthropic(t, Endpoint{BaseURL: server.URL}, AnthropicOptions{})
	for name, c := range map[string]struct {
		messages []fixtures.Message
		want     string
	}{
		"no result":          {[]fixtures.Message{userMessage("a"), calls(toolCall("x", "list", "{}")), userMessage("b")}, `message 3: the call "x" has no result`},
		"one of two":         {[]fixtures.Message{userMessage("a"), calls(toolCall("x", "list", "{}"), toolCall("y", "list", "{}")), toolMessage("x", "r"), userMessage("b")}, `the call "y" has no result`},
		"none at the end":    {[]fixtures.Message{userMessage("a"), calls(toolCall("x", "list", "{}"))}, `at its end: the call "x" has no result`},
		"no call":            {[]fixtures.Message{userMessage("a"), toolMessage("x", "r")}, `a result of "x"`},
		"a second result":    {[]fixtures.Message{userMessage("a"), calls(toolCall("x", "list", "{}")), toolMessage("x", "r"), toolMessage("x", "r")}, `message 4: a result of "x"`},
		"arguments":          {[]fixtures.Message{userMessage("a"), calls(toolCall("x", "list", `"ls"`)), toolMessage("x", "r")}, `no JSON object: "\"ls\""`},
		"a list":             {[]fixtures.Message{userMessage("a"), calls(toolCall("x", "list", `[1]`)), toolMessage("x", "r")}, `no JSON object`},
		"the assistant last": {[]fixtures.Message{userMessage("a"), {Role: fixtures.RoleAssistant, Content: "b"}}, `ends with the assistant`},
		"one id at once":     {[]fixtures.Message{userMessage("a"), calls(toolCall("x", "list", "{}"), toolCall("x", "list", "{}")), toolMessage("x", "r")}, `two calls with the id "x"`},
		"a user who calls":   {[]fixtures.Message{{Role: fixtures.RoleUser, ToolCalls: []fixtures.ToolCall{toolCall("x", "list", "{}")}}}, `the user calls the tool "list"`},
		"another role":       {[]fixtures.Message{{Role: "critic", Content: "a"}}, `unknown role "critic"`},
	} {
		_, err := client.Complete(t.Context(), &replay.Request{Model: "m", Messages: c.messages})
		if !errors.Is(err, ErrConversation) || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "asking model m") {
			t.Errorf("%s: error %v, want %s", name, err, c.want)
		}
	}
	_, err := client.Complete(t.Context(), &replay.Request{Model: "m", Messages: []fixtures.Message{userMessage("a")}, Tools: []fixtures.Tool{{Name: "list", Parameters: json.RawMessage("[]")}}})
	if !errors.Is(err, ErrConversation) || !strings.Contains(err.Error(), `tool "list"`) {
		t.Errorf("a schema that is none: %v", err)
	}
	if len(server.bodies) != 0 {
		t.Errorf("%d requests were sent all the same", len(server.bodies))
	}
}

// What recordings hold, and the API would refuse as it is.
func TestConversationsThatAnthropicIsSentOtherwise(t *testing.T) {
	server := newMessagesServer(t)
	client, _ := connectAnthropic(t, Endpoint{BaseURL: server.URL}, AnthropicOptions{})
	opening := `"messages":[{"content":[{"text":"` + openingText + `","type":"text"}],"role":"user"}`
	for name, c := range map[string]struct {
		messages []fixtures.Message
		want     string
	}{
		"the assistant first": {[]fixtures.Message{{Role: fixtures.RoleAssistant, Content: "Summary."}, userMessage("go on")}, opening + `,{"content":[{"text":"Summary."`},
		"nobody":              {[]fixtures.Message{{Role: fixtures.RoleSystem, Content: "Speak."}}, opening + `]`},
		"an id twice": {[]fixtures.Message{
			userMessage("a"), calls(toolCall("call_1", "list", "{}")), toolMessage("call_1", "r"),
			calls(toolCall("call_1", "list", "{}")), toolMessage("call_1", "s"),
		}, `{"tool_use_id":"call_1_2-` + string(fixtures.HashBytes([]byte("call_1#2"))) + `","content":[{"text":"s"`},
		"calls at once in messages of their own": {[]fixtures.Message{
			userMessage("a"), calls(toolCall("x", "list", "{}")), calls(toolCall("y", "list", "{}")), toolMessage("y", "r"), toolMessage("x", "s"),
		}, `[{"id":"x","input":{},"name":"list","type":"tool_use"},{"id":"y"`},
		"no id":     {[]fixtures.Message{userMessage("a"), calls(toolCall("", "list", "{}")), toolMessage("", "r")}, `"tool_use_id":"-` + string(fixtures.HashBytes(nil)) + `"`},
		"null":      {[]fixtures.Message{userMessage("a"), calls(toolCall("x", "list", "null")), toolMessage("x", "r")}, `"input":{}`},
		"long name": {[]fixtures.Message{userMessage("a"), calls(toolCall("x", strings.Repeat("n", 90), "{}")), toolMessage("x", "r")}, `"name":"` + strings.Repeat("n", 47) + `-`},
	} {
		before := len(server.bodies)
		if _, err := client.Complete(t.Context(), &replay.Request{Model: "m", Messages: c.messages}); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if !strings.Contains(server.bodies[before], c.want) {
			t.Errorf("%s: sent %s\nwithout %s", name, server.bodies[before], c.want)
		}
	}
}

// Whatever a conversation holds, it goes out in a form that the API takes, or is refused
// before anything is sent.
func TestNoConversationIsRefusedByAnthropic(t *testing.T) {
	server := newMessagesServer(t)
	client, _ := connectAnthropic(t, Endpoint{BaseURL: server.URL, Tries: 1}, AnthropicOptions{PromptCache: true})
	text := rapid.SampledFrom([]string{"", " ", "a", "b\n"})
	id := rapid.SampledFrom([]string{"", "x", "y", "x.1", "x#2", "ü"})
	rapid.Check(t, func(rt *rapid.T) {
		request := &replay.Request{Model: "claude-sonnet-4-6", JSON: rapid.Bool().Draw(rt, "json")}
		for range rapid.IntRange(0, 8).Draw(rt, "messages") {
			m := fixtures.Message{Role: rapid.SampledFrom([]string{"system", "user", "assistant", "tool"}).Draw(rt, "role"), Content: text.Draw(rt, "text")}
			switch m.Role {
			case fixtures.RoleTool:
				m.ToolCallID = id.Draw(rt, "result of")
			case fixtures.RoleAssistant:
				for range rapid.IntRange(0, 2).Draw(rt, "calls") {
					m.ToolCalls = append(m.ToolCalls, toolCall(id.Draw(rt, "id"), id.Draw(rt, "name"), rapid.SampledFrom([]string{"", "{}", `{"a":1}`, "[]"}).Draw(rt, "arguments")))
				}
			}
			request.Messages = append(request.Messages, m)
		}
		if _, err := client.Complete(t.Context(), request); err != nil && !errors.Is(err, ErrConversation) {
			rt.Fatalf("%+v: %v", request.Messages, err)
		}
	})
}

func TestWhatAnthropicAnswers(t *testing.T) {
	body := func(content, stop string) string {
		return `{"id":"m","type":"message","role":"assistant","model":"claude-x-2026","content":` + content + `,"stop_reason":"` + stop + `","usage":{"input_tokens":11,"output_tokens":2,"cache_read_input_tokens":5,"cache_creation_input_tokens":3}}`
	}
	alias := "fs_read-" + string(fixtures.HashBytes([]byte("fs.read")))
	for name, c := range map[string]struct {
		body, text, finish string
		calls              int
		json               bool
	}{
		"text":          {body: goodMessage, text: "hello", finish: "stop"},
		"two texts":     {body: body(`[{"type":"text","text":"a"},{"type":"text","text":"b"}]`, "stop_sequence"), text: "ab", finish: "stop"},
		"thinking":      {body: body(`[{"type":"thinking","thinking":"hm","signature":"s"},{"type":"text","text":"a"}]`, "end_turn"), text: "a", finish: "stop"},
		"a call":        {body: body(`[{"type":"text","text":"Reading."},{"type":"tool_use","id":"toolu_1","name":"`+alias+`","input":{"b":1,"a":"x"}}]`, "tool_use"), text: "Reading.", finish: "tool_calls", calls: 1},
		"too long":      {body: body(`[{"type":"text","text":"a"}]`, "max_tokens"), text: "a", finish: "length"},
		"the window":    {body: body(`[{"type":"text","text":"a"}]`, "model_context_window_exceeded"), text: "a", finish: "length"},
		"refusal":       {body: body(`[{"type":"text","text":"I won't."}]`, "refusal"), text: "I won't.", finish: "content_filter"},
		"pause":         {body: body(`[{"type":"text","text":"a"}]`, "pause_turn"), text: "a", finish: "pause_turn"},
		"nothing":       {body: body(`[]`, "end_turn"), finish: "stop"},
		"an odd block":  {body: body(`[{"type":"hologram","x":1},{"type":"text","text":"a"}]`, "end_turn"), text: "a", finish: "stop"},
		"JSON":          {body: body(`[{"type":"text","text":"{\"a\":1}"}]`, "end_turn"), text: `{"a":1}`, finish: "stop", json: true},
		"fenced JSON":   {body: body("[{\"type\":\"text\",\"text\":\"```json\\n{\\\"a\\\":1}\\n```\\n\"}]", "end_turn"), text: `{"a":1}`, finish: "stop", json: true},
		"fenced text":   {body: body("[{\"type\":\"text\",\"text\":\"```\\nno\\n```\"}]", "end_turn"), text: "```\nno\n```", finish: "stop", json: true},
		"not asked for": {body: body("[{\"type\":\"text\",\"text\":\"```json\\n{}\\n```\"}]", "end_turn"), text: "```json\n{}\n```", finish: "stop"},
	} {
		t.Run(name, func(t *testing.T) {
			server := newMessagesServer(t)
			server.answer = answers(answer(http.StatusOK, c.body))
			client, _ := connectAnthropic(t, Endpoint{BaseURL: server.URL}, AnthropicOptions{})
			request := ask("claude-x")
			request.JSON = c.json
			request.Tools = []fixtures.Tool{{Name: "fs.read"}}
			reply, err := client.Complete(t.Context(), request)
			if err != nil {
				t.Fatal(err)
			}
			// All of the prompt, as others count it: 11 new, 5 read from the cache, 3 written to it.
			if reply.Usage != (replay.Usage{PromptTokens: 19, CachedTokens: 5, WrittenTokens: 3, CompletionTokens: 2}) {
				t.Errorf("usage %+v", reply.Usage)
			}
			if reply.Message.Content != c.text || reply.FinishReason != c.finish || len(reply.Message.ToolCalls) != c.calls || reply.Fingerprint != "" || reply.LatencyMS == nil {
				t.Errorf("%+v", reply)
			}
			if c.calls > 0 {
				if call := reply.Message.ToolCalls[0]; call.ID != "toolu_1" || call.Name != "fs.read" || string(call.Arguments) != `{"b":1,"a":"x"}` {
					t.Errorf("call %+v", call)
				}
			}
		})
	}
}

func TestAnthropicsFaults(t *testing.T) {
	fault := func(kind, message string) string {
		return `{"type":"error","error":{"type":"` + kind + `","message":"` + message + `"},"request_id":"r"}`
	}
	soon := time.Now().Add(100 * time.Second).UTC().Format(time.RFC3339)
	for name, c := range map[string]struct {
		first http.HandlerFunc
		want  string        // in the error, where no other try mends it
		wait  time.Duration // that the provider asked for; where it names a time, some of it has gone by
	}{
		"overloaded":        {first: answer(529, fault("overloaded_error", "Overloaded"))},
		"busy":              {first: answer(429, fault("rate_limit_error", "slow down"), "Retry-After", "3"), wait: 3 * time.Second},
		"used up":           {first: answer(429, fault("rate_limit_error", "slow down"), "Anthropic-Ratelimit-Input-Tokens-Remaining", "0", "Anthropic-Ratelimit-Input-Tokens-Reset", soon), wait: 100 * time.Second},
		"not used up":       {first: answer(500, fault("api_error", "x"), "Anthropic-Ratelimit-Requests-Remaining", "9", "Anthropic-Ratelimit-Requests-Reset", soon)},
		"no JSON":           {first: answer(200, "<html>")},
		"an error with 200": {first: answer(200, fault("overloaded_error", "Overloaded"))},
		"half a message":    {first: answer(200, `{"type":"message","content":[{"type":"text","text":"a"}],"stop_reason":null}`)},
		"no content":        {first: answer(200, `{"type":"message","stop_reason":"end_turn"}`)},
		"wrong types":       {first: answer(200, `{"type":"message","stop_reason":"end_turn","content":[1]}`)},
		"a broken answer": {first: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			_, _ = w.Write([]byte("{"))
		}},
		"a bad request": {first: answer(400, fault("invalid_request_error", "messages: odd")), want: "answered 400 Bad Request: invalid_request_error: messages: odd"},
		"a bad key":     {first: answer(401, fault("authentication_error", "invalid x-api-key")), want: "set ANTHROPIC_API_KEY"},
		"no such model": {first: answer(404, fault("not_found_error", "model: m")), want: "check the model's name"},
		"tokens":        {first: answer(400, fault("invalid_request_error", "max_tokens: 8192 > 4096")), want: "set max_tokens"},
		"the key back":  {first: answer(400, fault("invalid_request_error", "bad "+testKey)), want: "bad [key]"},
		"text":          {first: answer(413, "too large"), want: `413 Request Entity Too Large: "too large"`},
	} {
		t.Run(name, func(t *testing.T) {
			server := newMessagesServer(t)
			server.answer = answers(c.first, answer(200, goodMessage))
			client, waited := connectAnthropic(t, Endpoint{BaseURL: server.URL, Key: testKey}, AnthropicOptions{})
			reply, err := client.Complete(t.Context(), ask("m"))
			if c.want == "" {
				if err != nil || reply.Message.Content != "hello" || len(waited.all()) != 1 {
					t.Fatalf("%+v, %v after waiting %v", reply, err, waited.all())
				}
				if got := waited.all()[0]; c.wait > 0 && (got > c.wait || got < c.wait/2) {
					t.Errorf("waited %v, want %v", got, c.wait)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), testKey) || len(server.bodies) != 1 {
				t.Errorf("error %v after %d requests", err, len(server.bodies))
			}
		})
	}
}

// The key travels in a header that redirects would take along.
func TestAnthropicFollowsNoRedirect(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("another host was asked with the key %q", r.Header.Get("X-Api-Key"))
	}))
	defer other.Close()
	server := newMessagesServer(t)
	server.answer = answers(answer(http.StatusTemporaryRedirect, "", "Location", other.URL))
	client, _ := connectAnthropic(t, Endpoint{BaseURL: server.URL, Key: testKey}, AnthropicOptions{})
	if _, err := client.Complete(t.Context(), ask("m")); err == nil || !strings.Contains(err.Error(), "307") {
		t.Errorf("error %v", err)
	}
}

func TestAnthropicIsLate(t *testing.T) {
	server := newMessagesServer(t)
	server.answer = func(_ http.ResponseWriter, r *http.Request, _ int) { <-r.Context().Done() }
	client, _ := connectAnthropic(t, Endpoint{BaseURL: server.URL, Timeout: time.Millisecond, Tries: 2}, AnthropicOptions{})
	if _, err := client.Complete(t.Context(), ask("m")); err == nil || !strings.Contains(err.Error(), "no answer within 1ms") {
		t.Errorf("error %v", err)
	}
	cause := errors.New("the user had enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	server = newMessagesServer(t) // the other may still be answering
	client, _ = connectAnthropic(t, Endpoint{BaseURL: server.URL}, AnthropicOptions{})
	server.answer = func(_ http.ResponseWriter, r *http.Request, _ int) { cancel(cause); <-r.Context().Done() }
	if _, err := client.Complete(ctx, ask("m")); !errors.Is(err, cause) {
		t.Errorf("error %v", err)
	}
}

// What the environment says is for the command line to read, and nobody else.
func TestAnthropicReadsNoEnvironment(t *testing.T) {
	server := newMessagesServer(t)
	t.Setenv("ANTHROPIC_API_KEY", "sk-from-the-environment")
	t.Setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:1")
	t.Setenv("ANTHROPIC_CUSTOM_HEADERS", "X-Odd: yes")
	client, _ := connectAnthropic(t, Endpoint{BaseURL: server.URL}, AnthropicOptions{})
	if _, err := client.Complete(t.Context(), ask("m")); err != nil {
		t.Fatal(err)
	}
	if h := server.headers[0]; h.Get("X-Api-Key") != "" || h.Get("X-Odd") != "" {
		t.Errorf("headers %v", h)
	}
}

func TestAnthropicEndpoints(t *testing.T) {
	for base, identity := range map[string]string{
		"": "https://api.anthropic.com", "https://api.anthropic.com/v1": "https://api.anthropic.com",
		"https://api.anthropic.com/": "https://api.anthropic.com", "http://x/anthropic": "http://x/anthropic",
	} {
		client, err := NewAnthropic(Endpoint{BaseURL: base}, AnthropicOptions{})
		if err != nil || client.Identity() != identity {
			t.Errorf("%q: %v, %v", base, client, err)
		}
	}
	for _, bad := range []string{"http://user:pw@x", "x", "https://x?key=1"} {
		if _, err := NewAnthropic(Endpoint{BaseURL: bad}, AnthropicOptions{}); err == nil {
			t.Errorf("%s was taken", bad)
		}
	}
}
