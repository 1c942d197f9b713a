package offline

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// serve starts a provider for a test.
func serve(t *testing.T, library *Library) string {
	t.Helper()
	server := httptest.NewServer(NewHandler(library))
	t.Cleanup(server.Close)
	return server.URL + "/v1"
}

// post sends a body and returns status and answer.
func post(t *testing.T, url, body string) (int, string) {
	t.Helper()
	resp, err := http.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(data)
}

// ask sends a chat request that has to succeed.
func ask(t *testing.T, base string, request map[string]any) completion {
	t.Helper()
	if request["model"] == nil {
		request["model"] = "any-model"
	}
	data, err := json.Marshal(request)
	if err != nil {
		t.Fatal(err)
	}
	status, body := post(t, base+"/chat/completions", string(data))
	if status != http.StatusOK {
		t.Fatalf("status %d: %s", status, body)
	}
	var c completion
	if err := json.Unmarshal([]byte(body), &c); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	return c
}

func msg(role, content string) map[string]any {
	return map[string]any{"role": role, "content": content}
}

func textOf(c completion) string {
	if c.Choices[0].Message.Content == nil {
		return ""
	}
	return *c.Choices[0].Message.Content
}

func TestErrors(t *testing.T) {
	base := serve(t, nil)
	const ok = `{"role":"user","content":"hi"}`
	for _, c := range []struct {
		name, method, path, body string
		status                   int
		says                     string // in the message
		param, code              any
	}{
		{"bad JSON", "POST", "/chat/completions", `{"model": nope}`, 400, "invalid character", nil, nil},
		{"empty", "POST", "/chat/completions", "", 400, "empty", nil, nil},
		{"cut off", "POST", "/chat/completions", `{"model":"m","messages":[`, 400, "unexpected EOF", nil, nil},
		{"two values", "POST", "/chat/completions", `{"model":"m","messages":[` + ok + `]} {}`, 400, "more text", nil, nil},
		{"wrong type", "POST", "/chat/completions", `{"model":7}`, 400, "model", "model", "invalid_type"},
		{"no model", "POST", "/chat/completions", `{"messages":[` + ok + `]}`, 400, "model", "model", nil},
		{"no messages", "POST", "/chat/completions", `{"model":"m"}`, 400, "messages", "messages", "missing_required_parameter"},
		{"empty messages", "POST", "/chat/completions", `{"model":"m","messages":[]}`, 400, "messages", "messages", "empty_array"},
		{"unknown role", "POST", "/chat/completions", `{"model":"m","messages":[{"role":"robot","content":"x"}]}`, 400, "robot", "messages[0].role", "invalid_value"},
		{"no role", "POST", "/chat/completions", `{"model":"m","messages":[{"content":"x"}]}`, 400, "role", "messages[0].role", "missing_required_parameter"},
		{"no content", "POST", "/chat/completions", `{"model":"m","messages":[{"role":"user"}]}`, 400, "content", "messages[0].content", "missing_required_parameter"},
		{"bad content", "POST", "/chat/completions", `{"model":"m","messages":[{"role":"user","content":5}]}`, 400, "content", nil, nil},
		{"orphaned result", "POST", "/chat/completions", `{"model":"m","messages":[` + ok + `,{"role":"tool","tool_call_id":"c","content":"x"}]}`, 400, "must be a response", "messages[1].role", nil},
		{"orphaned call", "POST", "/chat/completions", `{"model":"m","messages":[` + ok + `,{"role":"assistant","tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}}]},` + ok + `]}`, 400, "c1", "messages[2].role", nil},
		{"one of two answered", "POST", "/chat/completions", `{"model":"m","messages":[` + ok + `,{"role":"assistant","tool_calls":[{"id":"c1","function":{"name":"f","arguments":"{}"}},{"id":"c2","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c1","content":""}]}`, 400, "c2", "messages[3].role", nil},
		{"no tokens", "POST", "/chat/completions", `{"model":"m","max_tokens":0,"messages":[` + ok + `]}`, 400, "max_tokens", "max_tokens", "integer_below_min_value"},
		{"hot", "POST", "/chat/completions", `{"model":"m","temperature":3,"messages":[` + ok + `]}`, 400, "temperature", "temperature", "decimal_out_of_range"},
		{"wrong method", "GET", "/chat/completions", "", 405, "POST", nil, "method_not_supported"},
		{"wrong method for models", "DELETE", "/models/x", "", 405, "GET", nil, "method_not_supported"},
		{"unknown route", "POST", "/completions", "{}", 404, "/v1/completions", nil, "unknown_url"},
		{"embeddings without input", "POST", "/embeddings", `{"model":"m"}`, 400, "input", "input", "missing_required_parameter"},
		{"embeddings of nothing", "POST", "/embeddings", `{"model":"m","input":[]}`, 400, "input", "input", "empty_array"},
		{"embeddings of an object", "POST", "/embeddings", `{"model":"m","input":{}}`, 400, "input", "input", "invalid_type"},
		{"embeddings in hex", "POST", "/embeddings", `{"model":"m","input":"x","encoding_format":"hex"}`, 400, "hex", "encoding_format", "invalid_value"},
	} {
		t.Run(c.name, func(t *testing.T) {
			req, err := http.NewRequest(c.method, base+c.path, strings.NewReader(c.body))
			if err != nil {
				t.Fatal(err)
			}
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			var answer struct {
				Error map[string]any `json:"error"`
			}
			if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
				t.Fatal(err)
			}
			message, _ := answer.Error["message"].(string)
			if resp.StatusCode != c.status || !strings.Contains(message, c.says) || answer.Error["param"] != c.param || answer.Error["code"] != c.code || answer.Error["type"] != "invalid_request_error" {
				t.Errorf("have %d %v", resp.StatusCode, answer.Error)
			}
			for _, field := range []string{"message", "type", "param", "code"} {
				if _, ok := answer.Error[field]; !ok {
					t.Errorf("no field %q in %v", field, answer.Error)
				}
			}
		})
	}
}

func TestBodyTooLarge(t *testing.T) {
	if testing.Short() {
		t.Skip("sends 64 MB")
	}
	recorder := httptest.NewRecorder()
	body := io.MultiReader(strings.NewReader(`{"model":"`), io.LimitReader(zeros{}, maxBody))
	NewHandler(nil).ServeHTTP(recorder, httptest.NewRequest("POST", "/v1/chat/completions", body))
	if recorder.Code != http.StatusRequestEntityTooLarge || !strings.Contains(recorder.Body.String(), "request_too_large") {
		t.Errorf("have %d %s", recorder.Code, recorder.Body)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = '0'
	}
	return len(p), nil
}

func TestModels(t *testing.T) {
	base := serve(t, nil)
	for path, want := range map[string]string{"/models": `"object":"list"`, "/models/gpt-4.1": `"id":"gpt-4.1"`, "/models/org/name": `"id":"org/name"`} {
		resp, err := http.Get(base + path)
		if err != nil {
			t.Fatal(err)
		}
		data, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != 200 || !strings.Contains(string(data), want) {
			t.Errorf("%s: %d %s", path, resp.StatusCode, data)
		}
	}
}

func TestSameBodySameBytes(t *testing.T) {
	const body = `{"model":"m","seed":7,"temperature":0,"messages":[{"role":"system","content":"Never push to main."},{"role":"user","content":"Where are we?"}]}`
	first := ""
	for i := range 3 {
		status, answer := post(t, serve(t, nil)+"/chat/completions", body)
		if status != 200 {
			t.Fatalf("%d %s", status, answer)
		}
		if i == 0 {
			first = answer
		} else if answer != first {
			t.Errorf("have\n%s\nthen\n%s", first, answer)
		}
	}
	var c completion
	if err := json.Unmarshal([]byte(first), &c); err != nil {
		t.Fatal(err)
	}
	if c.Created < epoch || !strings.HasPrefix(c.ID, "chatcmpl-") || !strings.HasPrefix(c.SystemFingerprint, "fp_") || c.Model != "m" ||
		c.Usage.PromptTokens == 0 || c.Usage.TotalTokens != c.Usage.PromptTokens+c.Usage.CompletionTokens {
		t.Errorf("have %+v", c)
	}
	if !strings.Contains(textOf(c), "Never push to main.") {
		t.Errorf("the agent forgot what it sees: %q", textOf(c))
	}
}

func TestStream(t *testing.T) {
	base := serve(t, nil)
	body := `{"model":"m","stream":%t,%s"messages":[{"role":"system","content":"Immer höflich bleiben – 不要删除. Never push to main, never email the customers, never deploy."},{"role":"user","content":"Where are we?"}]}`
	_, plain := post(t, base+"/chat/completions", fmt.Sprintf(body, false, ""))
	var c completion
	if err := json.Unmarshal([]byte(plain), &c); err != nil {
		t.Fatal(err)
	}
	for _, withUsage := range []bool{false, true} {
		options := ""
		if withUsage {
			options = `"stream_options":{"include_usage":true},`
		}
		status, events := post(t, base+"/chat/completions", fmt.Sprintf(body, true, options))
		if status != 200 {
			t.Fatalf("%d %s", status, events)
		}
		text, finish, done, used := "", "", false, 0
		lines := bufio.NewScanner(strings.NewReader(events))
		for lines.Scan() {
			data, ok := strings.CutPrefix(lines.Text(), "data: ")
			if !ok {
				if lines.Text() != "" {
					t.Errorf("line %q", lines.Text())
				}
				continue
			}
			if done {
				t.Error("an event after [DONE]")
			}
			if data == "[DONE]" {
				done = true
				continue
			}
			var e chunk
			if err := json.Unmarshal([]byte(data), &e); err != nil {
				t.Fatal(err)
			}
			if e.Usage != nil {
				used++
				if len(e.Choices) != 0 || e.Usage.CompletionTokens != c.Usage.CompletionTokens {
					t.Errorf("usage chunk %+v", e)
				}
				continue
			}
			if finish != "" {
				t.Error("a chunk after the finish reason")
			}
			if d := e.Choices[0].Delta.Content; d != nil {
				text += *d
			}
			if f := e.Choices[0].FinishReason; f != nil {
				finish = *f
			}
		}
		if text != textOf(c) || finish != "stop" || !done || (used == 1) != withUsage {
			t.Errorf("text %q, finish %q, done %t, usage chunks %d", text, finish, done, used)
		}
	}
}

func TestStreamedCalls(t *testing.T) {
	base := serve(t, nil)
	_, events := post(t, base+"/chat/completions", `{"model":"m","stream":true,"tools":[{"type":"function","function":{"name":"read_file","parameters":{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}}}],"messages":[{"role":"user","content":"Look at internal/some/very/long/path/to/a/file/that/fills/more/than/one/piece.go."}]}`)
	var id, name, arguments, finish string
	for line := range strings.SplitSeq(events, "\n") {
		data, ok := strings.CutPrefix(line, "data: {")
		if !ok {
			continue
		}
		var e chunk
		if err := json.Unmarshal([]byte("{"+data), &e); err != nil {
			t.Fatal(err)
		}
		for _, c := range e.Choices[0].Delta.ToolCalls {
			if c.Index == nil || *c.Index != 0 {
				t.Errorf("index of %+v", c)
			}
			id += c.ID
			name += c.Function.Name
			arguments += c.Function.Arguments
		}
		if f := e.Choices[0].FinishReason; f != nil {
			finish = *f
		}
	}
	if !strings.HasPrefix(id, "call_") || name != "read_file" || finish != "tool_calls" ||
		arguments != `{"path":"internal/some/very/long/path/to/a/file/that/fills/more/than/one/piece.go"}` {
		t.Errorf("id %q name %q arguments %q finish %q", id, name, arguments, finish)
	}
}

func TestMaxTokensAndChoices(t *testing.T) {
	base := serve(t, nil)
	c := ask(t, base, map[string]any{"max_tokens": 3, "n": 2, "messages": []any{msg("system", "Never push to main."), msg("user", "Where are we now in this?")}})
	if len(c.Choices) != 2 || c.Choices[1].FinishReason != "length" || CountTokens(textOf(c)) > 3 || textOf(c) == "" {
		t.Errorf("have %+v", c)
	}
}

func TestEmbeddings(t *testing.T) {
	base := serve(t, nil)
	vectors := func(body string) []any {
		status, answer := post(t, base+"/embeddings", body)
		if status != 200 {
			t.Fatalf("%d %s", status, answer)
		}
		var r struct {
			Data []struct {
				Embedding any
				Index     int
			}
		}
		if err := json.Unmarshal([]byte(answer), &r); err != nil {
			t.Fatal(err)
		}
		var list []any
		for i, d := range r.Data {
			if d.Index != i {
				t.Errorf("index %d at %d", d.Index, i)
			}
			list = append(list, d.Embedding)
		}
		return list
	}
	floats := vectors(`{"model":"m","input":["deploy the gateway","gateway deployed","violin"]}`)
	numbers := func(v any) []float64 {
		var out []float64
		for _, x := range v.([]any) {
			out = append(out, x.(float64))
		}
		return out
	}
	dot := func(a, b []float64) (sum float64) {
		for i := range a {
			sum += a[i] * b[i]
		}
		return sum
	}
	a, b, c := numbers(floats[0]), numbers(floats[1]), numbers(floats[2])
	if len(a) != 32 || math.Abs(dot(a, a)-1) > 1e-5 {
		t.Errorf("length %d, norm %v", len(a), dot(a, a))
	}
	if dot(a, b) <= dot(a, c) {
		t.Errorf("alike %v, unlike %v", dot(a, b), dot(a, c))
	}
	packed, err := base64.StdEncoding.DecodeString(vectors(`{"model":"m","input":"deploy the gateway","encoding_format":"base64"}`)[0].(string))
	if err != nil || len(packed) != 4*32 {
		t.Fatalf("%v, %d bytes", err, len(packed))
	}
	for i := range a {
		if got := math.Float32frombits(binary.LittleEndian.Uint32(packed[4*i:])); math.Abs(float64(got)-a[i]) > 1e-6 {
			t.Errorf("component %d: %v, want %v", i, got, a[i])
		}
	}
	if n := len(vectors(`{"model":"m","input":[[1,2],[3]]}`)); n != 2 {
		t.Errorf("%d vectors of two lists of tokens", n)
	}
	if n := len(vectors(`{"model":"m","input":[1,2,3]}`)); n != 1 {
		t.Errorf("%d vectors of one list of tokens", n)
	}
	if n := len(vectors(`{"model":"m","input":"!","dimensions":8}`)[0].([]any)); n != 8 {
		t.Errorf("%d dimensions", n)
	}
}

func TestConcurrentRequests(t *testing.T) {
	base := serve(t, nil)
	bodies := make([]string, 8)
	for i := range bodies {
		bodies[i] = fmt.Sprintf(`{"model":"m","messages":[{"role":"user","content":"<context-0123456789abcdef>Never deploy rev %d to production.</context-0123456789abcdef><statement-0123456789abcdef>never deploy rev 3 to production</statement-0123456789abcdef><question-0123456789abcdef>Is it forbidden?</question-0123456789abcdef>"}]}`, i)
	}
	want := make([]string, len(bodies))
	for i, body := range bodies {
		_, want[i] = post(t, base+"/chat/completions", body)
	}
	var group sync.WaitGroup
	for worker := range 8 {
		group.Go(func() {
			for i := range 40 {
				n := (worker + i) % len(bodies)
				resp, err := http.Post(base+"/chat/completions", "application/json", strings.NewReader(bodies[n]))
				if err != nil {
					t.Error(err)
					return
				}
				data, _ := io.ReadAll(resp.Body)
				resp.Body.Close()
				if string(data) != want[n] {
					t.Errorf("body %d: have %s", n, data)
				}
			}
		})
	}
	group.Wait()
}

func TestListen(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	server, err := Listen(ctx, "", NewHandler(nil))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(server.URL(), "http://127.0.0.1:") || !strings.HasSuffix(server.URL(), "/v1") {
		t.Errorf("URL %s", server.URL())
	}
	if resp, err := http.Get(server.URL() + "/models"); err != nil || resp.StatusCode != 200 {
		t.Errorf("%v %v", resp, err)
	}
	if _, err := Listen(ctx, strings.TrimSuffix(strings.TrimPrefix(server.URL(), "http://"), "/v1"), nil); err == nil {
		t.Error("two servers on one address")
	}
	cancel()
	<-server.done // it ends with the context
	if err := server.Close(); err != nil {
		t.Error(err)
	}
	if err := server.Close(); err != nil {
		t.Error(err)
	}
}

func TestReadingsAreBounded(t *testing.T) {
	c := newReadings()
	for i := range 3 * cachedReadings {
		c.of([]string{fmt.Sprint("text ", i)})
	}
	if len(c.byKey) != cachedReadings || c.order.Len() != cachedReadings {
		t.Errorf("%d readings kept", len(c.byKey))
	}
	a, b := c.of([]string{"ab", "c"}), c.of([]string{"a", "bc"})
	if a == b {
		t.Error("two contexts share a key")
	}
	if c.of([]string{"ab", "c"}) != a {
		t.Error("a reading was prepared twice")
	}
}

func FuzzDecodeChat(f *testing.F) {
	f.Add([]byte(`{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"x"}]}],"tools":[{"function":{"name":"read"}}]}`))
	f.Add([]byte(`{"model":"m","messages":[{"role":"assistant","tool_calls":[{"id":"a","function":{"name":"f"}}]},{"role":"tool","tool_call_id":"a","content":""}]}`))
	f.Add([]byte(`{"model":"m","messages":[{"role":"user","content":"<conversation-0000000000000000>\n[turn 1 user] x\n</conversation-0000000000000000>"}],"max_tokens":5}`))
	f.Add([]byte(`[`))
	handler := NewHandler(nil)
	f.Fuzz(func(t *testing.T, body []byte) {
		req, refused := decodeChat(body)
		if (req == nil) == (refused == nil) {
			t.Fatal("want a request or an error")
		}
		first, second := httptest.NewRecorder(), httptest.NewRecorder()
		handler.ServeHTTP(first, httptest.NewRequest("POST", "/v1/chat/completions", bytes.NewReader(body)))
		handler.ServeHTTP(second, httptest.NewRequest("POST", "/v1/chat/completions", bytes.NewReader(body)))
		if first.Body.String() != second.Body.String() {
			t.Fatal("two answers to one body")
		}
		if want := http.StatusOK; refused == nil && first.Code != want || refused != nil && first.Code != refused.Status {
			t.Fatalf("status %d", first.Code)
		}
	})
}
