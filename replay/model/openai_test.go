package model

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
)

func TestWhatStandsOnTheWire(t *testing.T) {
	p := serve(t, answers(answer(200, goodAnswer)))
	client, _ := connect(t, Endpoint{BaseURL: p.URL + "/v1/", Key: testKey})
	request := &replay.Request{
		Model: "gpt-4.1", JSON: true, MaxTokens: 55, Replicate: 3,
		Messages: []fixtures.Message{
			{Role: fixtures.RoleSystem, Content: "rules"},
			{Turn: 1, Role: fixtures.RoleUser, Content: "<go> & \"content\":", Time: "2026-03-20T00:00:00Z"},
			{Turn: 2, Role: fixtures.RoleAssistant, ToolCalls: []fixtures.ToolCall{
				{ID: "a", Name: "read", Arguments: json.RawMessage(`{ "content": "x", "n": 1 }`)},
				{ID: "b", Name: "read", Arguments: json.RawMessage(`"no json {"`)},
				{ID: "c", Name: "read"},
			}},
			{Turn: 2, Role: fixtures.RoleTool, ToolCallID: "a", Content: ""},
			{Turn: 2, Role: fixtures.RoleTool, ToolCallID: "b", Content: "text"},
		},
		Tools: []fixtures.Tool{{Name: "read", Description: "reads", Parameters: json.RawMessage(`{"type":"object"}`)}, {Name: "bare"}},
	}
	reply, err := client.Complete(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	want := &replay.Reply{
		Message:      fixtures.Message{Role: fixtures.RoleAssistant, Content: "hello"},
		FinishReason: "stop", Model: "m-2026", Fingerprint: "fp1",
		Usage: replay.Usage{PromptTokens: 11, CachedTokens: 5, CompletionTokens: 2},
	}
	if reply.LatencyMS == nil || *reply.LatencyMS < 0 {
		t.Error("the reply does not say how long it took")
	}
	if raw := reply.Raw; raw == nil || string(raw.Response) != goodAnswer || !json.Valid(raw.Request) || !strings.Contains(string(raw.Request), `"temperature":0`) {
		t.Errorf("the bytes of the exchange are %v", raw)
	}
	reply.LatencyMS, reply.Raw = nil, nil
	if !reflect.DeepEqual(reply, want) {
		t.Errorf("reply %+v, want %+v", reply, want)
	}
	body := p.bodies[0]
	for field, want := range map[string]string{
		"temperature": "0", "seed": "0", "model": `"gpt-4.1"`, "max_tokens": "55", "response_format": `{"type":"json_object"}`,
	} {
		if string(body[field]) != want {
			t.Errorf("%s is %s, want %s", field, body[field], want)
		}
	}
	for _, field := range []string{"replicate", "top_p", "n", "max_completion_tokens"} {
		if value, ok := body[field]; ok {
			t.Errorf("%s: %s was sent", field, value)
		}
	}
	var messages []map[string]any
	if err := json.Unmarshal(body["messages"], &messages); err != nil {
		t.Fatal(err)
	}
	function := func(id, arguments string) any {
		return map[string]any{"id": id, "type": "function", "function": map[string]any{"name": "read", "arguments": arguments}}
	}
	wantMessages := []map[string]any{
		{"role": "system", "content": "rules"},
		{"role": "user", "content": "<go> & \"content\":"},
		{"role": "assistant", "content": "", "tool_calls": []any{function("a", `{"content":"x","n":1}`), function("b", "no json {"), function("c", "{}")}},
		{"role": "tool", "content": "", "tool_call_id": "a"},
		{"role": "tool", "content": "text", "tool_call_id": "b"},
	}
	for i := range wantMessages {
		if !reflect.DeepEqual(messages[i], wantMessages[i]) {
			t.Errorf("message %d is %v\nwant %v", i, messages[i], wantMessages[i])
		}
	}
	var tools []struct {
		Function struct {
			Name       string         `json:"name"`
			Parameters map[string]any `json:"parameters"`
		} `json:"function"`
	}
	if err := json.Unmarshal(body["tools"], &tools); err != nil || len(tools) != 2 || tools[1].Function.Name != "bare" || tools[1].Function.Parameters["type"] != "object" {
		t.Errorf("tools %s: %v", body["tools"], err)
	}
	if p.paths[0] != "/v1/chat/completions" || p.headers[0].Get("Authorization") != "Bearer "+testKey {
		t.Errorf("path %s, headers %v", p.paths[0], p.headers[0])
	}
}

func TestTheSeedIsSent(t *testing.T) {
	p := serve(t, answers(answer(200, goodAnswer)))
	client, _ := connect(t, Endpoint{BaseURL: p.URL})
	request := ask("m")
	request.Seed = 7
	if _, err := client.Complete(t.Context(), request); err != nil {
		t.Fatal(err)
	}
	body := p.bodies[0]
	if string(body["seed"]) != "7" || string(body["temperature"]) != "0" {
		t.Errorf("body %s", body)
	}
	for _, field := range []string{"max_tokens", "response_format", "tools"} {
		if value, ok := body[field]; ok {
			t.Errorf("%s: %s was sent unasked", field, value)
		}
	}
	if _, ok := p.headers[0]["Authorization"]; ok {
		t.Error("a client without a key sends an Authorization header")
	}
}

// The library refuses max_tokens and temperatures for the names of reasoning models. They
// are sent the newer field, and a temperature unless they are known to refuse it.
func TestNamesOfReasoningModels(t *testing.T) {
	for _, name := range []string{"o1", "o1-mini", "o3", "o3-mini", "o4-mini", "gpt-5", "gpt-5-mini", "gpt-5.1", "gpt-5-chat-latest", "openai/o3", "gpt-6-sol"} {
		t.Run(name, func(t *testing.T) {
			p := serve(t, answers(answer(200, goodAnswer)))
			client, _ := connect(t, Endpoint{BaseURL: p.URL})
			request := ask(name)
			request.MaxTokens = 100
			request.Messages = append([]fixtures.Message{{Role: fixtures.RoleSystem, Content: "rules"}}, request.Messages...)
			if name != "gpt-6-sol" {
				request.Tools = []fixtures.Tool{{Name: "read"}}
			}
			if _, err := client.Complete(t.Context(), request); err != nil {
				t.Fatal(err)
			}
			body := p.bodies[0]
			temperature := "" // refused
			if name == "gpt-6-sol" || name == "gpt-5.1" || name == "gpt-5-chat-latest" {
				temperature = "0"
			}
			if string(body["max_completion_tokens"]) != "100" || body["max_tokens"] != nil || string(body["temperature"]) != temperature || string(body["model"]) != strconv.Quote(name) {
				t.Errorf("body %s", body)
			}
		})
	}
}

// What the library refuses before anything is sent is said at once.
func TestLocalRefusalsAreNotTriedAgain(t *testing.T) {
	p := serve(t, answers(answer(200, goodAnswer)))
	client, waits := connect(t, Endpoint{BaseURL: p.URL})
	request := ask("gpt-6-sol")
	request.Tools = []fixtures.Tool{{Name: "read"}}
	_, err := client.Complete(t.Context(), request)
	if err == nil || !strings.Contains(err.Error(), "gpt-6-sol") || !strings.Contains(err.Error(), "choose another model") {
		t.Errorf("error %v", err)
	}
	if p.asked() != 0 || len(waits.all()) != 0 {
		t.Errorf("asked %d times, waited %v", p.asked(), waits.all())
	}
}

func TestAnswersWithCalls(t *testing.T) {
	p := serve(t, answers(answer(200, `{"choices":[{"finish_reason":"tool_calls","message":{"role":"assistant","content":null,"tool_calls":[
		{"id":"x","type":"function","function":{"name":"read","arguments":"{\"a\": 1}"}},
		{"type":"function","function":{"name":"write","arguments":""}},
		{"id":"z","type":"function","function":{"name":"write","arguments":"{\"a\": "}}]}}]}`)))
	client, _ := connect(t, Endpoint{BaseURL: p.URL})
	reply, err := client.Complete(t.Context(), ask("m"))
	if err != nil {
		t.Fatal(err)
	}
	want := []fixtures.ToolCall{
		{ID: "x", Name: "read", Arguments: json.RawMessage(`{"a": 1}`)},
		{ID: "call_2", Name: "write", Arguments: json.RawMessage(`{}`)},
		{ID: "z", Name: "write", Arguments: json.RawMessage(`"{\"a\": "`)},
	}
	if !reflect.DeepEqual(reply.Message.ToolCalls, want) || reply.Message.Content != "" || reply.FinishReason != "tool_calls" {
		t.Errorf("reply %+v", reply)
	}
	for i, call := range want { // and they go out as they came in
		if text := argumentsText(call.Arguments); text != []string{`{"a":1}`, `{}`, `{"a": `}[i] {
			t.Errorf("arguments %d go out as %s", i, text)
		}
	}
}

func TestARefusalIsAnAnswer(t *testing.T) {
	p := serve(t, answers(answer(200, `{"choices":[{"finish_reason":"stop","message":{"role":"assistant","content":null,"refusal":"I can't"}}]}`)))
	client, _ := connect(t, Endpoint{BaseURL: p.URL})
	if reply, err := client.Complete(t.Context(), ask("m")); err != nil || reply.Message.Content != "I can't" {
		t.Errorf("%+v, %v", reply, err)
	}
}

// hang leaves the connection as it is after what write did with it.
func hang(write func(net.Conn)) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			panic(err)
		}
		write(conn)
		_ = conn.Close()
	}
}

func TestFaultsOfTheProvider(t *testing.T) {
	ok := answer(200, goodAnswer)
	reset := hang(func(conn net.Conn) { _ = conn.(*net.TCPConn).SetLinger(0) })
	echo := func(status int, form string) http.HandlerFunc { return answer(status, fmt.Sprintf(form, testKey)) }
	for _, c := range []struct {
		name    string
		handle  func(http.ResponseWriter, *http.Request, int)
		asked   int    // in all, of four tries
		err     string // empty for success
		waits   []time.Duration
		message string
	}{
		{name: "429 with seconds", handle: answers(answer(429, `{"error":{"message":"slow down"}}`, "Retry-After", "7"), ok), asked: 2, waits: []time.Duration{7 * time.Second}},
		{name: "429 with part of a second", handle: answers(answer(429, ``, "Retry-After", "0.25"), ok), asked: 2, waits: []time.Duration{250 * time.Millisecond}},
		{name: "429 with more than the bound", handle: answers(answer(429, ``, "Retry-After", "99999999999999999999"), ok), asked: 2, waits: []time.Duration{DefaultMaxWait}},
		{name: "429 with a date long gone", handle: answers(answer(429, ``, "Retry-After", "Mon, 02 Jan 2006 15:04:05 GMT"), ok), asked: 2},
		{name: "429 with nonsense", handle: answers(answer(429, ``, "Retry-After", "soon"), ok), asked: 2},
		{name: "503 with seconds, twice", handle: answers(answer(503, ``, "Retry-After", "1"), answer(503, ``, "Retry-After", "2"), ok), asked: 3, waits: []time.Duration{time.Second, 2 * time.Second}},
		{name: "500s, then success", handle: answers(answer(500, ""), answer(502, "<html>"), answer(504, ""), ok), asked: 4},
		{name: "408 and 409", handle: answers(answer(408, ""), answer(409, ""), ok), asked: 3},
		{name: "500s without end", handle: answers(answer(500, `{"error":{"message":"overloaded"}}`)), asked: 4, err: "the provider answered 500 Internal Server Error: overloaded"},
		{name: "429 without end", handle: answers(answer(429, `{"error":{"message":"quota"}}`, "Retry-After", "1")), asked: 4, err: "429 Too Many Requests: quota"},
		{name: "429 of a spent account", handle: answers(answer(429, `{"error":{"message":"You exceeded your current quota","code":"insufficient_quota"}}`, "Retry-After", "1")), asked: 1, err: "exceeded your current quota"},
		{name: "200 without an end", handle: answers(answer(200, `{"choices":[{"message":{"role":"assistant","content":"hel"}}]}`)), asked: 4, err: "no finish_reason"},
		{name: "200 with a null end, then success", handle: answers(answer(200, `{"choices":[{"finish_reason":null,"message":{"role":"assistant","content":"hel"}}]}`), ok), asked: 2},
		{name: "HTML with 200", handle: answers(answer(200, "<html><body>Sign in</body></html>")), asked: 4, err: `: "<html><body>Sign in`},
		{name: "HTML, then success", handle: answers(answer(200, "<html>"), ok), asked: 2},
		{name: "an empty body with 200", handle: answers(answer(200, "")), asked: 4, err: "(an empty body)"},
		{name: "spaces with 200", handle: answers(answer(200, " \n")), asked: 4, err: "(an empty body)"},
		{name: "invalid JSON", handle: answers(answer(200, `{"choices":[{"message":`)), asked: 4, err: "the answer is no JSON"},
		{name: "two answers in one", handle: answers(answer(200, goodAnswer+goodAnswer)), asked: 4, err: "the answer is no JSON"},
		{name: "half a body", handle: answers(answer(200, goodAnswer, "Content-Length", "5000")), asked: 4, err: "the answer broke off"},
		{name: "half a body, then success", handle: answers(answer(200, goodAnswer, "Content-Length", "5000"), ok), asked: 2},
		{name: "a connection reset", handle: answers(reset), asked: 4, err: "reaching the provider"},
		{name: "a connection reset, then success", handle: answers(reset, ok), asked: 2},
		{name: "an error that is a text", handle: answers(answer(403, `{"error":"not for you"}`)), asked: 1, err: "403 Forbidden: not for you"},
		{name: "200 with an error object", handle: answers(answer(200, `{"error":{"message":"upstream died","code":502}}`)), asked: 4, err: "upstream died"},
		{name: "200 with an error text", handle: answers(answer(200, `{"error":"upstream died"}`)), asked: 4, err: "upstream died"},
		{name: "200 with an error and choices", handle: answers(answer(200, `{"error":{"message":"partly"},"choices":[{}]}`)), asked: 4, err: "partly"},
		{name: "200 with no error", handle: answers(answer(200, strings.Replace(goodAnswer, `{"id"`, `{"error":null,"id"`, 1))), asked: 1},
		{name: "200 without choices", handle: answers(answer(200, `{"choices":[]}`)), asked: 4, err: "the answer has no choices"},
		{name: "200 with null choices", handle: answers(answer(200, `{"choices":null}`)), asked: 4, err: "the answer has no choices"},
		{name: "200 with another shape", handle: answers(answer(200, `{"choices":[{"message":"hello"}]}`)), asked: 4, err: "the answer is no chat completion"},
		{name: "200 with another shape, then success", handle: answers(answer(200, `{"choices":[{}],"usage":"none"}`), ok), asked: 2},
		{name: "200 with a list", handle: answers(answer(200, `[]`)), asked: 4, err: "the answer is no JSON"},
		{name: "a huge body", handle: answers(answer(200, strings.Repeat(" ", 5000)+goodAnswer)), asked: 1, err: "larger than 4000 bytes"},
		{name: "400", handle: answers(answer(400, `{"error":{"message":"bad tool schema"}}`)), asked: 1, err: "400 Bad Request: bad tool schema"},
		{name: "404 in HTML", handle: answers(answer(404, "<html>nginx</html>")), asked: 1, err: `404 Not Found: "<html>nginx</html>"`},
		{name: "401 that repeats the key", handle: answers(echo(401, `{"error":{"message":"Incorrect API key provided: %s."}}`)), asked: 1, err: "Incorrect API key provided: [key]."},
		{name: "401 that repeats the key as JSON may", handle: answers(answer(401, `{"note":"`+strings.ReplaceAll(testKey, "/", `\/`)+`"}`)), asked: 1, err: "[key]"},
		{name: "a body that repeats the key", handle: answers(echo(400, "no JSON, Bearer %s")), asked: 1, err: "Bearer [key]"},
		{name: "a cut through the key", handle: answers(answer(400, strings.Repeat("x", 190)+testKey)), asked: 1, err: "xxx[key]"},
		{name: "no choices, and the key", handle: answers(echo(200, `{"your_key":%q}`)), asked: 4, err: "[key]"},
		{name: "an error text of a megabyte", handle: answers(answer(400, `{"error":"`+strings.Repeat("y", 3000)+`"}`)), asked: 1, err: "yyy..."},
		{name: "an error of broken characters", handle: answers(answer(400, "\xff\xfe<")), asked: 1, err: `"?<"`},
	} {
		streams(t, c.name, func(t *testing.T, stream bool) {
			p := serve(t, c.handle)
			client, waits := connect(t, Endpoint{BaseURL: p.URL, Key: testKey, Stream: stream})
			client.wire.limit = 4000
			reply, err := client.Complete(t.Context(), ask("some-model"))
			switch {
			case c.err == "" && (err != nil || reply.Message.Content != "hello"):
				t.Errorf("reply %+v, error %v", reply, err)
			case c.err != "" && err == nil:
				t.Errorf("reply %+v", reply)
			case c.err != "":
				if !strings.Contains(err.Error(), c.err) || !strings.Contains(err.Error(), "asking model some-model") {
					t.Errorf("error %v\nwant %s", err, c.err)
				}
				if len(err.Error()) > 1200 {
					t.Errorf("an error of %d bytes", len(err.Error()))
				}
				if all := fmt.Sprintf("%v %+v", err, err); strings.Contains(all, testKey) || strings.Contains(all, testKey[:12]) || strings.Contains(all, testKey[len(testKey)-12:]) {
					t.Errorf("the key stands in the error: %v", err)
				}
			}
			if p.asked() != c.asked {
				t.Errorf("asked %d times, want %d", p.asked(), c.asked)
			}
			got := waits.all()
			if c.waits != nil && !reflect.DeepEqual(got, c.waits) {
				t.Errorf("waited %v, want %v", got, c.waits)
			}
			if len(got) != c.asked-1 {
				t.Errorf("waited %d times between %d requests", len(got), c.asked)
			}
			for _, d := range got {
				if d < 0 || d > DefaultMaxWait {
					t.Errorf("waited %v", d)
				}
			}
		})
	}
}

func TestRetryAfterADate(t *testing.T) {
	now := time.Date(2026, 3, 20, 12, 0, 0, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"": 0, "0": 0, "3": 3 * time.Second, "-3": 0, "NaN": 0, "1.5": 1500 * time.Millisecond, "Inf": 24 * time.Hour,
		now.Add(90 * time.Second).Format(http.TimeFormat): 90 * time.Second,
		now.Add(-time.Second).Format(http.TimeFormat):     0,
		now.AddDate(1, 0, 0).Format(http.TimeFormat):      24 * time.Hour, // a clock has jumped
	} {
		header := http.Header{}
		header.Set("Retry-After", value)
		if got := retryAfter(header, now); got != want {
			t.Errorf("Retry-After %q is %v, want %v", value, got, want)
		}
	}
}

func TestTriesAreRespected(t *testing.T) {
	for _, tries := range []uint{1, 2, 9} {
		p := serve(t, answers(answer(500, "")))
		client, _ := connect(t, Endpoint{BaseURL: p.URL, Tries: tries})
		if _, err := client.Complete(t.Context(), ask("m")); err == nil || p.asked() != int(tries) {
			t.Errorf("%d tries: asked %d times, %v", tries, p.asked(), err)
		}
	}
}

func TestWaitsGrowUpToTheBound(t *testing.T) {
	p := serve(t, answers(answer(500, "")))
	client, waits := connect(t, Endpoint{BaseURL: p.URL, Tries: 12, MaxWait: time.Second})
	_, err := client.Complete(t.Context(), ask("m"))
	list := waits.all()
	if err == nil || len(list) != 11 {
		t.Fatalf("waited %v, %v", list, err)
	}
	for i, d := range list { // the library spreads them by half
		if d <= 0 || d > 1500*time.Millisecond || (i > 6 && d < 400*time.Millisecond) {
			t.Errorf("wait %d is %v of %v", i, d, list)
		}
	}
}

func TestACallThatTakesTooLongIsTriedAgain(t *testing.T) {
	stop := make(chan struct{})
	p := serve(t, func(w http.ResponseWriter, r *http.Request, n int) {
		if n > 1 {
			answer(200, goodAnswer)(w, r)
			return
		}
		select {
		case <-r.Context().Done():
		case <-stop:
		}
	})
	defer close(stop)
	client, _ := connect(t, Endpoint{BaseURL: p.URL, Timeout: 200 * time.Millisecond})
	if reply, err := client.Complete(t.Context(), ask("m")); err != nil || reply.Message.Content != "hello" {
		t.Errorf("%+v, %v", reply, err)
	}
	never, _ := connect(t, Endpoint{BaseURL: p.URL, Timeout: time.Nanosecond, Tries: 2})
	if _, err := never.Complete(t.Context(), ask("m")); err == nil || !strings.Contains(err.Error(), "no answer within 1ns") {
		t.Errorf("error %v", err)
	}
}

func TestTheEndOfTheContextStopsWaiting(t *testing.T) {
	p := serve(t, answers(answer(500, "")))
	client, _ := connect(t, Endpoint{BaseURL: p.URL, Key: testKey})
	ctx, cancel := context.WithCancel(t.Context())
	client.pause = func(time.Duration) time.Duration {
		cancel()
		return time.Hour
	}
	_, err := client.Complete(ctx, ask("m"))
	if !errors.Is(err, context.Canceled) || p.asked() != 1 {
		t.Errorf("asked %d times, %v", p.asked(), err)
	}
}

func TestTheEndOfTheContextStopsACall(t *testing.T) {
	cause := errors.New("interrupted")
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := make(chan struct{})
	p := serve(t, func(_ http.ResponseWriter, r *http.Request, _ int) {
		cancel(cause)
		select {
		case <-r.Context().Done():
		case <-stop:
		}
	})
	defer close(stop)
	client, waits := connect(t, Endpoint{BaseURL: p.URL})
	_, err := client.Complete(ctx, ask("m"))
	if !errors.Is(err, cause) || p.asked() != 1 || len(waits.all()) != 0 {
		t.Errorf("asked %d times, waited %v, %v", p.asked(), waits.all(), err)
	}
}

func TestAKeyThatIsNoHeaderStandsInNoError(t *testing.T) {
	p := serve(t, answers(answer(200, goodAnswer)))
	client, _ := connect(t, Endpoint{BaseURL: p.URL, Key: testKey + "\n", Tries: 2})
	_, err := client.Complete(t.Context(), ask("m"))
	if err == nil || strings.Contains(err.Error(), testKey) || p.asked() != 0 {
		t.Errorf("asked %d times, %v", p.asked(), err)
	}
}

func TestAnEndpointNobodyListensOn(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	client, waits := connect(t, Endpoint{BaseURL: "http://" + address, Key: testKey})
	_, err = client.Complete(t.Context(), ask("m"))
	if err == nil || !strings.Contains(err.Error(), address) || len(waits.all()) != 3 {
		t.Errorf("waited %v, %v", waits.all(), err)
	}
}

func TestEndpointDefaults(t *testing.T) {
	if _, err := NewClient(Endpoint{}); err == nil || !strings.Contains(err.Error(), "--base-url") {
		t.Errorf("no base URL: %v", err)
	}
	a, _ := connect(t, Endpoint{BaseURL: "http://x/v1/"})
	b, _ := connect(t, Endpoint{BaseURL: "http://x/v1"})
	c, _ := connect(t, Endpoint{BaseURL: "http://x/v1", Identity: "x"})
	if a.Identity() != b.Identity() || c.Identity() != "x" {
		t.Errorf("identities %s, %s, %s", a.Identity(), b.Identity(), c.Identity())
	}
}

func TestComposingLeavesOtherRequestsAlone(t *testing.T) {
	for _, body := range []string{`{"input":"text"}`, `{}`} {
		if got, err := new(exchange).compose([]byte(body)); err != nil || string(got) != body {
			t.Errorf("%s became %s: %v", body, got, err)
		}
	}
	for _, body := range []string{``, `[]`} {
		if got, err := (&exchange{messages: []byte("[]")}).compose([]byte(body)); err == nil {
			t.Errorf("%s became %s", body, got)
		}
	}
}
