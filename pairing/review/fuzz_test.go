package review

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

// Whatever is asked for, the answer is a refusal or what is there, never a fault of the
// server, and nothing is written.
func FuzzQueries(f *testing.F) {
	record, queue := night(f, 3)
	s := serve(f, record, queue, nil)
	for _, seed := range []string{
		"/api/text?pair=pair-00000&of=step&side=left&n=7&part=arg&key=path&at=1&bytes=9223372036854775807",
		"/api/rows?pair=pair-00001&from=9223372036854775807&count=9223372036854775807",
		"/api/rows?pair=pair-00001&from=2&count=-1",
		"/api/context?pair=pair-00002&a=recorded&b=right",
		"/api/queue?state=open&from=99&find=%00", "/api/next?after=x&back=1&any=1", "/api/pair?pair=../../run.json", "/../run.json", "/?token=x",
	} {
		f.Add(seed, "{}")
	}
	f.Add("/api/decide", `{"pair":"nosuch","choice":"left_worse","seconds":1e308}`)
	f.Add("/api/unblind", `{"pair":null}`)
	f.Fuzz(func(t *testing.T, target, body string) {
		at, err := url.ParseRequestURI(target)
		if err != nil || !strings.HasPrefix(target, "/") {
			return
		}
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			inner := *s
			inner.t = t
			r := inner.request(method, "/", body)
			r.URL, r.RequestURI, r.Host = at, target, s.options.Address
			if method == http.MethodPost && strings.Contains(body, "pair-0") {
				continue // that would be a verdict
			}
			w := httptest.NewRecorder()
			s.ServeHTTP(w, r)
			if w.Code >= http.StatusInternalServerError {
				t.Fatalf("%s %s: status %d: %s", method, target, w.Code, w.Body)
			}
		}
		if len(s.open.Verdicts) > 0 {
			t.Fatalf("%s wrote to the log", target)
		}
	})
}

// No Host header but one of this machine's own is taken for ours.
func FuzzHosts(f *testing.F) {
	f.Add("127.0.0.1:80")
	f.Add("[::1%eth0]:80")
	f.Add("localhost.evil.example:80")
	g, err := newGate("127.0.0.1:80", testToken)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, host string) {
		if !g.ours(host) {
			return
		}
		name, _, _ := strings.Cut(strings.TrimLeft(host, "["), "]")
		if !strings.EqualFold(strings.TrimSuffix(host, ":80"), "localhost") && !strings.HasPrefix(name, "127.") && !strings.Contains(name, "::") && !strings.Contains(name, "0:") {
			t.Fatalf("%q is taken for ours", host)
		}
	})
}
