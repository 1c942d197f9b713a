package model

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"pgregory.net/rapid"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
)

// goodStream is goodAnswer as a stream.
const goodStream = `: hello
data: {"id":"1","model":"m-2026","system_fingerprint":"fp1","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}

data: {"id":"1","model":"m-2026","system_fingerprint":"fp1","choices":[{"index":0,"delta":{"content":"hel"},"finish_reason":null}]}

data: {"id":"1","model":"m-2026","system_fingerprint":"fp1","choices":[{"index":0,"delta":{"content":"lo"},"finish_reason":null}]}

data: {"id":"1","model":"m-2026","system_fingerprint":"fp1","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}

data: {"id":"1","model":"m-2026","system_fingerprint":"fp1","choices":[],"usage":{"prompt_tokens":11,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":5}}}

data: [DONE]

`

// events writes the data of events as a stream.
func stream(data ...string) string {
	var b strings.Builder
	for _, d := range data {
		fmt.Fprintf(&b, "data: %s\n\n", d)
	}
	return b.String()
}

// piece is an event with a delta and, where one is given, a finish reason.
func piece(delta, finish string) string {
	if finish == "" {
		return fmt.Sprintf(`{"choices":[{"index":0,"delta":%s}]}`, delta)
	}
	return fmt.Sprintf(`{"choices":[{"index":0,"delta":%s,"finish_reason":%q}]}`, delta, finish)
}

func TestAStreamIsTheSameAnswer(t *testing.T) {
	var replies []*replay.Reply
	for _, body := range []string{goodAnswer, goodStream} {
		p := serve(t, answers(answer(200, body, "Content-Type", "text/event-stream")))
		client, _ := connect(t, Endpoint{BaseURL: p.URL, Stream: true, Untimed: true})
		reply, err := client.Complete(t.Context(), ask("m"))
		if err != nil {
			t.Fatal(err)
		}
		if string(reply.Raw.Response) != strings.TrimSuffix(body, "\n") && string(reply.Raw.Response) != body {
			t.Errorf("the bytes that came are %s", reply.Raw.Response)
		}
		reply.Raw = nil
		replies = append(replies, reply)
		if got := p.bodies[0]; string(got["stream"]) != "true" || string(got["stream_options"]) != `{"include_usage":true}` || string(got["temperature"]) != "0" {
			t.Errorf("body %s", got)
		}
		if accept := p.headers[0].Get("Accept"); accept != "text/event-stream" {
			t.Errorf("Accept: %s", accept)
		}
	}
	if !reflect.DeepEqual(replies[0], replies[1]) || replies[0].Message.Content != "hello" {
		t.Errorf("%+v\n%+v", replies[0], replies[1])
	}
}

func TestStreams(t *testing.T) {
	call := func(arguments string) json.RawMessage { return json.RawMessage(arguments) }
	for _, c := range []struct {
		name    string
		body    string
		content string
		calls   []fixtures.ToolCall
		finish  string
		thought string
		usage   int // prompt tokens
		err     string
	}{
		{name: "as it should be", body: goodStream, content: "hello", finish: "stop", usage: 11},
		{name: "without [DONE]", body: strings.Replace(goodStream, "data: [DONE]\n\n", "", 1), content: "hello", finish: "stop", usage: 11},
		{name: "with carriage returns", body: strings.ReplaceAll(goodStream, "\n", "\r\n"), content: "hello", finish: "stop", usage: 11},
		{name: "with carriage returns alone", body: strings.ReplaceAll(goodStream, "\n", "\r"), content: "hello", finish: "stop", usage: 11},
		{name: "without empty lines", body: strings.ReplaceAll(goodStream, "\n\n", "\n"), content: "hello", finish: "stop", usage: 11},
		{name: "with a byte order mark", body: "\ufeff" + goodStream, content: "hello", finish: "stop", usage: 11},
		{name: "with names of events", body: strings.ReplaceAll(goodStream, "data: ", "event: message\nid: 3\nretry: 5\ndata:"), content: "hello", finish: "stop", usage: 11},
		{name: "an event over several lines", body: "data: {\"choices\":\ndata: [{\"delta\":{\"content\":\"x\"},\ndata: \"finish_reason\":\"stop\"}]}\n\n", content: "x", finish: "stop"},
		{name: "the last line without an end", body: strings.TrimSuffix(stream(piece(`{"content":"x"}`, "stop")), "\n\n"), content: "x", finish: "stop"},
		{name: "text after [DONE]", body: goodStream + stream(piece(`{"content":"more"}`, "")), content: "hello", finish: "stop", usage: 11},
		{name: "calls", body: stream(
			piece(`{"content":null,"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"read","arguments":""}}]}`, ""),
			piece(`{"tool_calls":[{"index":0,"function":{"arguments":"{\"p\":"}}]}`, ""),
			piece(`{"tool_calls":[{"index":1,"id":"b","function":{"name":"write","arguments":"{}"}}]}`, ""),
			piece(`{"tool_calls":[{"index":0,"function":{"arguments":"1}"}}]}`, "tool_calls")),
			calls: []fixtures.ToolCall{{ID: "a", Name: "read", Arguments: call(`{"p":1}`)}, {ID: "b", Name: "write", Arguments: call(`{}`)}}, finish: "tool_calls"},
		{name: "calls of one index", body: stream(
			piece(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"read","arguments":"{\"p\":1}"}}]}`, ""),
			piece(`{"tool_calls":[{"index":0,"id":"b","function":{"name":"read","arguments":"{\"p\":2}"}}]}`, "tool_calls")),
			calls: []fixtures.ToolCall{{ID: "a", Name: "read", Arguments: call(`{"p":1}`)}, {ID: "b", Name: "read", Arguments: call(`{"p":2}`)}}, finish: "tool_calls"},
		{name: "calls without index and a repeated name", body: stream(
			piece(`{"tool_calls":[{"id":"a","function":{"name":"read","arguments":"{\"p\":"}}]}`, ""),
			piece(`{"tool_calls":[{"id":"a","function":{"name":"read","arguments":"1}"}}]}`, "tool_calls")),
			calls: []fixtures.ToolCall{{ID: "a", Name: "read", Arguments: call(`{"p":1}`)}}, finish: "tool_calls"},
		{name: "a refusal", body: stream(piece(`{"refusal":"I "}`, ""), piece(`{"refusal":"can't"}`, "stop")), content: "I can't", finish: "stop"},
		{name: "reasoning", body: stream(piece(`{"reasoning_content":"let "}`, ""), piece(`{"reasoning":"me"}`, ""), piece(`{"content":"x"}`, "stop")), content: "x", thought: "let me", finish: "stop"},
		{name: "usage with every event", body: stream(`{"choices":[{"delta":{"content":"x"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1}}`, `{"choices":[],"usage":{"prompt_tokens":7}}`, `{"choices":[],"usage":null}`), content: "x", finish: "stop", usage: 7},
		{name: "another choice", body: stream(`{"choices":[{"index":1,"delta":{"content":"no"},"finish_reason":"stop"},{"index":0,"delta":{"content":"x"},"finish_reason":"length"}]}`), content: "x", finish: "length"},

		{name: "no finish reason", body: stream(piece(`{"content":"half"}`, ""), "[DONE]"), err: "broke off before its finish_reason"},
		{name: "no choices", body: stream(`{"choices":[]}`, "[DONE]"), err: "the stream has no choices"},
		{name: "nothing but [DONE]", body: stream("[DONE]"), err: "the stream has no choices"},
		{name: "comments alone", body: ": ping\n\n: ping\n\n", err: "the stream has no choices"},
		{name: "nothing", body: "", err: "the stream is empty"},
		{name: "HTML", body: "<!doctype html><title>Sign in</title>", err: "no JSON and no stream"},
		{name: "text", body: "upstream connect error", err: "the stream has no choices"},
		{name: "an event that is no JSON", body: stream(piece(`{"content":"x"}`, "stop"), "{"), err: "is no part of a chat completion"},
		{name: "an event of another shape", body: stream(`{"choices":"none"}`), err: "is no part of a chat completion"},
		{name: "an error in the middle", body: stream(piece(`{"content":"x"}`, ""), `{"error":{"message":"upstream died","code":502}}`), err: "502 Bad Gateway: inside an answer of 200: upstream died"},
		{name: "an error that is a text", body: stream(`{"error":"upstream died"}`), err: "200 OK: upstream died"},
		{name: "plain JSON that is no answer", body: `{"hello":1}`, err: "the answer has no choices"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := serve(t, answers(answer(200, c.body)))
			client, _ := connect(t, Endpoint{BaseURL: p.URL, Stream: true, Tries: 2})
			reply, err := client.Complete(t.Context(), ask("m"))
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) || p.asked() != 2 {
					t.Errorf("asked %d times, reply %+v, error %v", p.asked(), reply, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if reply.Message.Content != c.content || !reflect.DeepEqual(reply.Message.ToolCalls, c.calls) || reply.FinishReason != c.finish || reply.Reasoning != c.thought || reply.Usage.PromptTokens != c.usage {
				t.Errorf("reply %+v", reply)
			}
		})
	}
}

func TestAStreamThatIsCutOff(t *testing.T) {
	cut := func(w http.ResponseWriter, r *http.Request, n int) {
		if n > 1 {
			answer(200, goodStream)(w, r)
			return
		}
		hang(func(conn net.Conn) {
			half := goodStream[:len(goodStream)/2]
			fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n", len(half), half)
			_ = conn.(*net.TCPConn).SetLinger(0)
		})(w, r)
	}
	p := serve(t, cut)
	client, waits := connect(t, Endpoint{BaseURL: p.URL, Stream: true})
	reply, err := client.Complete(t.Context(), ask("m"))
	if err != nil || reply.Message.Content != "hello" || p.asked() != 2 || len(waits.all()) != 1 {
		t.Errorf("asked %d times: %+v, %v", p.asked(), reply, err)
	}
	never, _ := connect(t, Endpoint{BaseURL: serve(t, func(w http.ResponseWriter, r *http.Request, _ int) { cut(w, r, 1) }).URL, Stream: true, Tries: 1})
	if _, err := never.Complete(t.Context(), ask("m")); err == nil || !strings.Contains(err.Error(), "the answer broke off") {
		t.Errorf("error %v", err)
	}
}

// A provider that falls silent in the middle of an answer is not waited for until the
// call's own time is over.
func TestSilence(t *testing.T) {
	streams(t, "silence", func(t *testing.T, stream bool) {
		stop := make(chan struct{})
		defer close(stop)
		p := serve(t, func(w http.ResponseWriter, r *http.Request, n int) {
			if n > 1 {
				answer(200, goodAnswer)(w, r)
				return
			}
			_, _ = io.WriteString(w, `data: {"choices":`)
			w.(http.Flusher).Flush()
			select {
			case <-stop:
			case <-r.Context().Done():
			}
		})
		client, _ := connect(t, Endpoint{BaseURL: p.URL, Stream: stream, Idle: 400 * time.Millisecond})
		if reply, err := client.Complete(t.Context(), ask("m")); err != nil || reply.Message.Content != "hello" || p.asked() != 2 {
			t.Errorf("asked %d times: %v", p.asked(), err)
		}
	})
}

func TestSilenceIsNamed(t *testing.T) {
	p := serve(t, func(w http.ResponseWriter, r *http.Request, _ int) {
		_, _ = io.WriteString(w, `{"choices":`)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	client, _ := connect(t, Endpoint{BaseURL: p.URL, Idle: 20 * time.Millisecond, Tries: 1})
	if _, err := client.Complete(t.Context(), ask("m")); err == nil || !strings.Contains(err.Error(), "no byte came for 20ms") {
		t.Errorf("error %v", err)
	}
}

// pieces reads a text in pieces of the given sizes, one after the other.
type pieces struct {
	text  string
	sizes []int
	n     int
}

func (p *pieces) Read(b []byte) (int, error) {
	if p.text == "" {
		return 0, io.EOF
	}
	n := min(p.sizes[p.n%len(p.sizes)], len(b), len(p.text))
	p.n++
	copy(b, p.text[:n])
	p.text = p.text[n:]
	return n, nil
}

// However the network cuts a stream, it is the same answer.
func TestAnySplitOfAStreamIsTheSameAnswer(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		quoted, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		body := goodStream + "x"
		if rapid.Bool().Draw(t, "own text") {
			body = stream(piece(`{"content":`+string(quoted)+`}`, ""), piece(`{"content":"\u00fc界"}`, "stop"))
		}
		end := rapid.SampledFrom([]string{"\n", "\r\n", "\r"}).Draw(t, "line end")
		body = strings.ReplaceAll(body, "\n", end)
		want, wantErr := assemble(strings.NewReader(body))
		sizes := rapid.SliceOfN(rapid.IntRange(1, 40), 1, 20).Draw(t, "sizes")
		got, err := assemble(&pieces{text: body, sizes: sizes})
		if !bytes.Equal(got, want) || fmt.Sprint(err) != fmt.Sprint(wantErr) {
			t.Fatalf("%s, %v\nwant %s, %v", got, err, want, wantErr)
		}
		if got, err := assemble(iotest.OneByteReader(strings.NewReader(body))); !bytes.Equal(got, want) || fmt.Sprint(err) != fmt.Sprint(wantErr) {
			t.Fatalf("byte by byte: %s, %v\nwant %s, %v", got, err, want, wantErr)
		}
	})
}

func FuzzAssemble(f *testing.F) {
	for _, seed := range []string{goodStream, goodAnswer, "data: [DONE]\n\n", "<html>", "data:\ndata\r\r", stream(piece(`{"tool_calls":[{"index":-1,"id":"x"}]}`, "stop"))} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		got, err := assemble(bytes.NewReader(body))
		if (got == nil) == (err == nil) {
			t.Fatalf("%s, %v", got, err)
		}
		if begin := bytes.TrimLeft(body, " \t\r\n"); err == nil && begin[0] != '{' {
			var answer struct {
				Choices []struct {
					Finish string `json:"finish_reason"`
				} `json:"choices"`
			}
			if json.Unmarshal(got, &answer) != nil || len(answer.Choices) != 1 || answer.Choices[0].Finish == "" {
				t.Fatalf("%q became %s", body, got)
			}
		}
	})
}

// roundTrip is a network made of a function.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// Whatever a provider answers with: a reply or an error, and never the key.
func FuzzAnswer(f *testing.F) {
	for _, seed := range []string{goodAnswer, goodStream, `{"error":"x"}`, `{"error":{"message":3,"code":"429"}}`, `{"choices":[{}]}`, `{"choices":[null]}`, "", "[]", `{"choices":[{"message":{"content":"` + testKey + `","tool_calls":[{"function":null}]}}]}`} {
		f.Add(200, []byte(seed), false)
		f.Add(400, []byte(seed), true)
	}
	f.Fuzz(func(t *testing.T, status int, body []byte, stream bool) {
		client, _ := NewClient(Endpoint{BaseURL: "http://x/v1", Key: testKey, Tries: 1, Stream: stream})
		client.wire.client.Transport = roundTrip(func(r *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 100 + (status%500+500)%500, Header: http.Header{}, Body: io.NopCloser(bytes.NewReader(body)), Request: r}, nil
		})
		reply, err := client.Complete(t.Context(), ask("m"))
		if (reply == nil) == (err == nil) {
			t.Fatalf("%+v, %v", reply, err)
		}
		if reply != nil && (reply.Usage.PromptTokens < 0 || reply.Message.Role != fixtures.RoleAssistant) {
			t.Fatalf("%+v", reply)
		}
		if all := fmt.Sprintf("%+v %v", reply, err); strings.Contains(all, testKey) {
			t.Fatalf("the key stands in %s", all)
		}
	})
}

// A streamed answer leaves its connection to the next one.
func TestStreamsShareAConnection(t *testing.T) {
	var mu sync.Mutex
	from := map[string]bool{}
	p := serve(t, func(w http.ResponseWriter, r *http.Request, _ int) {
		mu.Lock()
		from[r.RemoteAddr] = true
		mu.Unlock()
		answer(200, goodStream)(w, r)
	})
	client, _ := connect(t, Endpoint{BaseURL: p.URL, Stream: true})
	for range 5 {
		if _, err := client.Complete(t.Context(), ask("m")); err != nil {
			t.Fatal(err)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if len(from) > 1 {
		t.Errorf("%d connections for five answers", len(from))
	}
}
