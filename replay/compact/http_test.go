package compact_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/doubletake-dev/doubletake/replay"
	"github.com/doubletake-dev/doubletake/replay/compact"
	"github.com/doubletake-dev/doubletake/replay/compact/compacttest"
)

// served makes a compactor of a handler.
func served(t *testing.T, handler http.HandlerFunc, options compact.HTTPOptions) *compact.HTTP {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	options.URL = server.URL + options.URL
	c, err := compact.NewHTTP(options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// saying is a handler that reads the request and answers with a text.
func saying(status int, text string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, text)
	}
}

func TestHTTPConformance(t *testing.T) {
	for what, text := range map[string]string{
		"summary":   `{"status":"compacted","messages":[{"role":"user","content":"All there was.","kind":"summary"}],"state":{"n":1},"usage":{"prompt_tokens":3}}`,
		"unchanged": `{"status":"unchanged"}`,
		"garbage":   `<html>`,
	} {
		t.Run(what, func(t *testing.T) {
			compacttest.TestCompactor(t, func(t *testing.T) replay.Compactor {
				return served(t, saying(http.StatusOK, text), compact.HTTPOptions{})
			})
		})
	}
}

func TestHTTPRequest(t *testing.T) {
	t.Setenv("MY_TOKEN", " Bearer sk-hidden-hidden\n")
	var method, path, query, kind, key, again string
	var body []byte
	c := served(t, func(w http.ResponseWriter, r *http.Request) {
		method, path, query = r.Method, r.URL.Path, r.URL.RawQuery
		kind, key, again = r.Header.Get("Content-Type"), r.Header.Get("Authorization"), r.Header.Get("Idempotency-Key")
		body, _ = io.ReadAll(r.Body)
		_, _ = io.WriteString(w, `{"status":"compacted","messages":[{"role":"user","content":"short"}],"compactor":{"name":"theirs","version":"2"}}`)
	}, compact.HTTPOptions{URL: "/compact?mode=fast", HeadersEnv: map[string]string{"Authorization": "MY_TOKEN"}})
	out, err := c.Compact(t.Context(), request(100, "u one", "a two"))
	if err != nil || out.Status != replay.Compacted || ids(out.Messages) != "s0-0" || out.Identity.Name != "theirs" {
		t.Fatalf("%+v, %v", out, err)
	}
	if method != "POST" || path != "/compact" || query != "mode=fast" || kind != "application/json" || key != "Bearer sk-hidden-hidden" || again != "" {
		t.Errorf("%s %s?%s, %s, %s, %s", method, path, query, kind, key, again)
	}
	if want := `{"version":1,"fixture":"f","compaction":0,`; !bytes.HasPrefix(body, []byte(want)) {
		t.Errorf("it sent %s", body)
	}
}

func TestHTTPFindings(t *testing.T) {
	t.Setenv("MY_TOKEN", "Bearer sk-hidden-hidden")
	const fine = `{"status":"refused","reason":"fine"}`
	for _, c := range []struct {
		what    string
		handler http.HandlerFunc
		status  replay.CompactionStatus
		want    string
	}{
		{"fine", saying(200, fine), replay.Refused, "fine"},
		{"not found", saying(404, "no such route"), replay.Failed, "answered with status 404 Not Found: no such route"},
		{"broken", saying(500, "\x1b[31mpanic"), replay.Failed, "answered with status 500 Internal Server Error: [31mpanic"},
		{"busy", saying(429, ""), replay.Failed, "answered with status 429 Too Many Requests"},
		{"created", saying(201, fine), replay.Failed, "answered with status 201 Created"},
		{"an unknown status", saying(599, ""), replay.Failed, "answered with status 599"},
		{"a key in an error", saying(401, "bad key sk-hidden-hidden, Bearer sk-hidden-hidden, query-secret"), replay.Failed, "bad key [secret], [secret], [secret]"},
		{"a key where an error is cut", saying(400, strings.Repeat("x", 490)+"sk-hidden-hidden"), replay.Failed, "[secret]"},
		{"a key in a reason", saying(200, `{"status":"refused","reason":"I saw sk-hidden-hidden"}`), replay.Refused, "I saw [secret]"},
		{"a redirect", func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/other" {
				t.Error("it followed a redirect")
			}
			http.Redirect(w, r, "/other", http.StatusTemporaryRedirect)
		}, replay.Failed, "status 307 Temporary Redirect: redirects are not followed"},
		{"nothing", saying(200, ""), replay.Failed, "answered with an empty body"},
		{"garbage", saying(200, "<html>"), replay.Failed, "answered with no JSON: "},
		{"more than one value", saying(200, fine+fine), replay.Failed, "answered with more than one JSON value: "},
		{"another shape", saying(200, `[]`), replay.Failed, "answered with JSON of another shape"},
		{"half a body", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, fine)
		}, replay.Failed, "answer broke off after 36 bytes: unexpected EOF"},
		{"no answer", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, replay.Failed, "gave no answer: EOF"},
		{"too much", func(w http.ResponseWriter, r *http.Request) {
			block := bytes.Repeat([]byte(" "), 1<<20)
			for range 66 {
				if _, err := w.Write(block); err != nil {
					return
				}
			}
		}, replay.Failed, "answered with more than 64 MiB"},
		{"too large headers", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("X-Long", strings.Repeat("x", 1<<20))
		}, replay.Failed, "gave no answer"},
	} {
		t.Run(c.what, func(t *testing.T) {
			compactor := served(t, c.handler, compact.HTTPOptions{URL: "/?key=query-secret", Name: "mine", HeadersEnv: map[string]string{"Authorization": "MY_TOKEN"}})
			req := request(0, "u one", "a two")
			out, err := compactor.Compact(t.Context(), req)
			if err != nil {
				t.Fatal(err)
			}
			if out.Status != c.status || !strings.Contains(out.Reason, c.want) || out.Identity.Name != "mine" {
				t.Errorf("%s by %s, %q; want %s, %q", out.Status, out.Identity.Name, out.Reason, c.status, c.want)
			}
			for _, never := range []string{"sk-hidden", "query-secret", "\x1b"} {
				if strings.Contains(out.Reason, never) {
					t.Errorf("the reason %q holds %q", out.Reason, never)
				}
			}
			if err := compacttest.Check(req, out); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestHTTPSlow is a compactor that is silent, and one that never ends its answer.
func TestHTTPSlow(t *testing.T) {
	for what, c := range map[string]struct{ start, want string }{
		"silent": {"", "gave no answer: the compactor did not finish within 1s"},
		"a drip": {`{"status":`, "broke off after 10 bytes: the compactor did not finish within 1s"},
	} {
		t.Run(what, func(t *testing.T) {
			compactor := served(t, func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body) // the server sees that the client left
				if c.start != "" {
					_, _ = io.WriteString(w, c.start)
					_ = http.NewResponseController(w).Flush()
				}
				<-r.Context().Done()
			}, compact.HTTPOptions{Timeout: time.Second})
			out, err := compactor.Compact(t.Context(), request(0, "u one"))
			if err != nil || out.Status != replay.Failed || !strings.Contains(out.Reason, c.want) {
				t.Errorf("%+v, %v", out, err)
			}
		})
	}
}

func TestHTTPCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	compactor := served(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		cancel()
		<-r.Context().Done()
	}, compact.HTTPOptions{})
	if out, err := compactor.Compact(ctx, request(0, "u one")); !errors.Is(err, context.Canceled) {
		t.Errorf("%+v, %v", out, err)
	}
}

// TestHTTPUnreached is a compactor that nobody started: no finding about it.
func TestHTTPUnreached(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	listener.Close()
	compactor, err := compact.NewHTTP(compact.HTTPOptions{URL: "http://" + address + "/compact?key=query-secret"})
	if err != nil {
		t.Fatal(err)
	}
	out, err := compactor.Compact(t.Context(), request(0, "u one"))
	if err == nil || !strings.Contains(err.Error(), "at http://"+address+"/compact (start it") || strings.Contains(err.Error(), "query-secret") {
		t.Errorf("%+v, %v", out, err)
	}
}

func TestNewHTTP(t *testing.T) {
	t.Setenv("SPLIT", "hidden\nhidden")
	t.Setenv("EMPTY", "")
	headers := func(header, variable string) map[string]string { return map[string]string{header: variable} }
	for _, c := range []struct {
		options compact.HTTPOptions
		want    string
	}{
		{compact.HTTPOptions{}, "no http or https"},
		{compact.HTTPOptions{URL: "ftp://hidden"}, "no http or https"},
		{compact.HTTPOptions{URL: "http://:80/"}, "no http or https"},
		{compact.HTTPOptions{URL: "http://user:hidden@host/"}, "holds a user"},
		{compact.HTTPOptions{URL: "http://host/%zz?hidden"}, "is no URL"},
		{compact.HTTPOptions{URL: "http://host/", Timeout: -1}, "timeout"},
		{compact.HTTPOptions{URL: "http://host/", HeadersEnv: headers("A b", "X")}, `"A b" is no header`},
		{compact.HTTPOptions{URL: "http://host/", HeadersEnv: headers("content-type", "X")}, "Content-Type is not yours"},
		{compact.HTTPOptions{URL: "http://host/", HeadersEnv: headers("X-Key", "EMPTY")}, `"EMPTY", which is not set`},
		{compact.HTTPOptions{URL: "http://host/", HeadersEnv: headers("X-Key", "SPLIT")}, "SPLIT holds a control character"},
	} {
		if _, err := compact.NewHTTP(c.options); err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "hidden") {
			t.Errorf("%+v: error %v, want one with %q", c.options, err, c.want)
		}
	}
}

func TestHTTPDigest(t *testing.T) {
	t.Setenv("KEY_A", "sk-aaaaaa")
	t.Setenv("KEY_B", "sk-bbbbbb")
	digest := func(address, variable string) string {
		t.Helper()
		c, err := compact.NewHTTP(compact.HTTPOptions{URL: address, HeadersEnv: map[string]string{"X-Key": variable}})
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(c.Digest())
	}
	first := digest("https://host/compact?key=1", "KEY_A")
	if first != digest("https://host/compact?key=2#x", "KEY_B") {
		t.Error("a secret is part of the digest")
	}
	if first == digest("https://host/other", "KEY_A") || first == digest("http://host/compact", "KEY_A") {
		t.Error("another address, the same digest")
	}
}
