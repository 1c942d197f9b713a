package review

import (
	"net/http"
	"strings"
	"testing"
)

func TestRefusals(t *testing.T) {
	record, queue := night(t, 2)
	s := serve(t, record, queue, nil)
	decide := `{"pair":"pair-00000","choice":"left_worse"}`
	header := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(name, value) }
	}
	host := func(value string) func(*http.Request) { return func(r *http.Request) { r.Host = value } }
	address := s.options.Address
	port := address[strings.LastIndex(address, ":")+1:]
	tests := []struct {
		name         string
		method, path string
		body         string
		change       func(*http.Request)
		want         int
		says         string
	}{
		{"the page itself", "GET", "/", "", nil, 200, "doubletake review"},
		{"under localhost", "GET", "/", "", host("localhost:" + port), 200, ""},
		{"a foreign host", "GET", "/", "", host("evil.example:" + port), 403, "host"},
		{"a foreign host that resolves here", "GET", "/api/queue", "", host("127.0.0.1.nip.example:" + port), 403, "host"},
		{"another port", "GET", "/", "", host("127.0.0.1:1"), 403, "host"},
		{"no port", "GET", "/", "", host("127.0.0.1"), 403, "host"},
		{"an address of another machine", "GET", "/", "", host("10.0.0.7:" + port), 403, "host"},
		{"a foreign origin", "POST", "/api/decide", decide, header("Origin", "http://evil.example"), 403, "evil.example"},
		{"a foreign origin that reads", "GET", "/api/queue", "", header("Origin", "http://evil.example"), 403, "evil.example"},
		{"the null origin", "POST", "/api/decide", decide, header("Origin", "null"), 403, "null"},
		{"another port's origin", "POST", "/api/decide", decide, header("Origin", "http://127.0.0.1:1"), 403, ""},
		{"https in place of http", "POST", "/api/decide", decide, header("Origin", "https://"+address), 403, ""},
		{"fetched by another site", "GET", "/api/queue", "", header("Sec-Fetch-Site", "cross-site"), 403, "another site"},
		{"posted by another site", "POST", "/api/undo", "{}", func(r *http.Request) {
			r.Header.Set("Sec-Fetch-Site", "cross-site")
			r.Header.Set("Sec-Fetch-Mode", "navigate")
		}, 403, "another site"},
		{"no cookie", "GET", "/api/queue", "", func(r *http.Request) { r.Header.Del("Cookie") }, 401, "doubletake printed"},
		{"no cookie for the page", "GET", "/", "", func(r *http.Request) { r.Header.Del("Cookie") }, 401, ""},
		{"another cookie", "GET", "/api/queue", "", header("Cookie", s.gate.cookie+"=0123456789abcdefXYY"), 401, ""},
		{"a wrong token in the address", "GET", "/?token=0123456789abcdefXYY", "", func(r *http.Request) { r.Header.Del("Cookie") }, 401, ""},
		{"the token elsewhere", "GET", "/api/queue?token=" + testToken, "", func(r *http.Request) { r.Header.Del("Cookie") }, 401, ""},
		{"a change without the token", "POST", "/api/decide", decide, func(r *http.Request) { r.Header.Del(tokenHeader) }, 403, "token"},
		{"a change with a wrong token", "POST", "/api/undo", "{}", header(tokenHeader, "x"), 403, "token"},
		{"a change by GET", "GET", "/api/decide", "", nil, 405, ""},
		{"a deletion", "DELETE", "/api/decide", "", header(tokenHeader, testToken), 405, ""},
		{"a form", "POST", "/api/decide", "pair=pair-00000", header("Content-Type", "application/x-www-form-urlencoded"), 415, "application/json"},
		{"text", "POST", "/api/decide", decide, header("Content-Type", "text/plain"), 415, ""},
		{"no JSON", "POST", "/api/decide", "{", nil, 400, ""},
		{"too much", "POST", "/api/decide", `{"note":"` + strings.Repeat("x", largestBody) + `"}`, nil, 413, "bytes"},
		{"too long a note", "POST", "/api/decide", `{"pair":"pair-00000","choice":"both_fine","note":"` + strings.Repeat("x", 17<<10) + `"}`, nil, 400, "note"},
		{"no such pair", "POST", "/api/decide", `{"pair":"nosuch","choice":"left_worse"}`, nil, 404, "no such pair"},
		{"no such pair to read", "GET", "/api/pair?pair=nosuch", "", nil, 404, "no such pair"},
		{"a path for a pair", "GET", "/api/pair?pair=..%2F..%2Fetc%2Fpasswd", "", nil, 404, "no such pair"},
		{"a path up", "GET", "/..%2f..%2fetc/passwd", "", nil, 404, ""},
		{"a file of the run", "GET", "/run.json", "", nil, 404, ""},
		{"the template", "GET", "/review.html.tmpl", "", nil, 404, ""},
		{"a context of the run's folder", "GET", "/contexts/" + string(queue[0].First.Context) + ".json.zst", "", nil, 404, ""},
		{"no such choice", "POST", "/api/decide", `{"pair":"pair-00000","choice":"candidate_worse"}`, nil, 400, "choice"},
		{"no choice", "POST", "/api/decide", `{"pair":"pair-00000"}`, nil, 400, "choice"},
		{"no such severity", "POST", "/api/decide", `{"pair":"pair-00000","choice":"left_worse","severity":"dire"}`, nil, 400, "severity"},
		{"a check that does not differ", "POST", "/api/decide", `{"pair":"pair-00000","choice":"check_wrong","checks":["k2"]}`, nil, 400, "k2"},
		{"seconds before the pair was open", "POST", "/api/decide", `{"pair":"pair-00000","choice":"left_worse","seconds":-1}`, nil, 400, "seconds"},
		{"days on one pair", "POST", "/api/decide", `{"pair":"pair-00000","choice":"left_worse","seconds":1e9}`, nil, 400, "seconds"},
		{"nothing to undo", "POST", "/api/undo", "{}", nil, 400, "no verdict"},
		{"nothing remembered", "POST", "/api/decide", `{"pair":"pair-00000","remembered":true}`, nil, 400, "earlier night"},
		{"contexts while blind", "GET", "/api/context?pair=pair-00000&a=recorded&b=left", "", nil, 403, "blindness"},
		{"context text while blind", "GET", "/api/text?pair=pair-00000&of=context&side=left&n=0", "", nil, 403, "blindness"},
		{"context rows while blind", "GET", "/api/rows?pair=pair-00000&a=recorded&b=left", "", nil, 403, "blindness"},
		{"no such state", "GET", "/api/queue?state=odd", "", nil, 400, "odd"},
		{"no such cell", "GET", "/api/queue?cell=both_pass", "", nil, 400, ""},
		{"no such label", "GET", "/api/next?label=odd", "", nil, 400, ""},
		{"no such class", "GET", "/api/queue?class=odd", "", nil, 400, ""},
		{"a negative place", "GET", "/api/queue?from=-1", "", nil, 400, "from"},
		{"no such step", "GET", "/api/text?pair=pair-00000&of=step&side=left&n=99&part=text", "", nil, 404, ""},
		{"no such part", "GET", "/api/text?pair=pair-00000&of=step&side=left&n=0&part=odd", "", nil, 404, ""},
		{"no such side", "GET", "/api/text?pair=pair-00000&of=step&side=recorded&n=0&part=text", "", nil, 400, ""},
		{"behind the text", "GET", "/api/text?pair=pair-00000&of=step&side=left&n=0&part=text&at=99", "", nil, 400, "bytes"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := s.request(test.method, test.path, test.body)
			if test.change != nil {
				test.change(r)
			}
			status, body := s.send(r)
			if status != test.want || !strings.Contains(body, test.says) {
				t.Errorf("status %d, %s: want %d and %q", status, body, test.want, test.says)
			}
		})
	}
	if len(s.open.Verdicts) != 0 {
		t.Errorf("refused requests left %d lines in the log", len(s.open.Verdicts))
	}
}

func TestTheTokenBecomesACookie(t *testing.T) {
	record, queue := night(t, 1)
	s := serve(t, record, queue, nil)
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	response, err := client.Get(s.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	cookies := response.Cookies()
	if response.StatusCode != http.StatusSeeOther || response.Header.Get("Location") != "/" || len(cookies) != 1 {
		t.Fatalf("status %d, location %q, %d cookies: want 303 to / with one", response.StatusCode, response.Header.Get("Location"), len(cookies))
	}
	if c := cookies[0]; !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || strings.Contains(c.String(), testToken) || len(c.Value) < ShortestToken {
		t.Errorf("cookie %v: want it HttpOnly and strict, and without the token", c)
	}
	// A session is worth nothing where it was not begun.
	record, queue = night(t, 1)
	other := serve(t, record, queue, nil)
	r := other.request(http.MethodGet, "/api/queue", "")
	r.Header.Set("Cookie", other.gate.cookie+"="+cookies[0].Value)
	if status, _ := other.send(r); status != http.StatusUnauthorized {
		t.Errorf("another server's session: status %d", status)
	}
}

func TestHeaders(t *testing.T) {
	record, queue := night(t, 1)
	s := serve(t, record, queue, nil)
	for _, path := range []string{"/", "/review.js", "/review.css", "/api/queue", "/nosuch"} {
		response, err := http.DefaultClient.Do(s.request(http.MethodGet, path, ""))
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		policy := response.Header.Get("Content-Security-Policy")
		for _, part := range []string{"default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'none'", "require-trusted-types-for 'script'"} {
			if !strings.Contains(policy, part) {
				t.Errorf("%s: policy %q lacks %s", path, policy, part)
			}
		}
		if strings.Contains(policy, "unsafe") {
			t.Errorf("%s: policy %q", path, policy)
		}
		for name, want := range map[string]string{"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cache-Control": "no-store"} {
			if got := response.Header.Get(name); got != want {
				t.Errorf("%s: %s is %q: want %q", path, name, got, want)
			}
		}
	}
}

func TestLoopback(t *testing.T) {
	for address, want := range map[string]bool{
		"127.0.0.1:0": true, "127.9.9.9:80": true, "[::1]:0": true, "localhost:8080": true,
		"0.0.0.0:0": false, ":8080": false, "[::]:0": false, "10.0.0.7:1": false, "review.example:80": false,
		"localhost.example:80": false,
	} {
		if got, err := Loopback(address); err != nil || got != want {
			t.Errorf("%s: %t, %v: want %t", address, got, err, want)
		}
	}
	for _, bad := range []string{"", "127.0.0.1", "::1"} {
		if _, err := Loopback(bad); err == nil {
			t.Errorf("%q: want an error", bad)
		}
	}
}

func TestHostsThatAreOurs(t *testing.T) {
	tests := []struct {
		listen, host string
		want         bool
	}{
		{"127.0.0.1:80", "127.0.0.1:80", true},
		{"127.0.0.1:80", "localhost:80", true},
		{"127.0.0.1:80", "[::1]:80", true},
		{"127.0.0.1:80", "127.0.0.1", true}, // browsers leave out the port 80
		{"127.0.0.1:8080", "127.0.0.1", false},
		{"127.0.0.1:80", "10.0.0.1:80", false},
		{"127.0.0.1:80", "", false},
		{"0.0.0.0:80", "10.0.0.1:80", true},
		{"0.0.0.0:80", "localhost:80", true},
		{"0.0.0.0:80", "evil.example:80", false},
		{":80", "192.168.1.5:80", true},
		{":80", ":80", false},
		{"review.example:80", "REVIEW.example:80", true},
		{"review.example:80", "127.0.0.1:80", false},
		{"review.example:80", "evil.example:80", false},
	}
	for _, test := range tests {
		g, err := newGate(test.listen, testToken)
		if err != nil {
			t.Fatal(err)
		}
		if got := g.ours(test.host); got != test.want {
			t.Errorf("listening on %s, host %q: %t, want %t", test.listen, test.host, got, test.want)
		}
	}
}

func TestTokensThatWillNotDo(t *testing.T) {
	for _, token := range []string{"", "short", "has a space in it!", "0123456789abcde", "0123456789abcdef;"} {
		if _, err := newGate("127.0.0.1:1", token); err == nil {
			t.Errorf("%q: want it refused", token)
		}
	}
	if _, err := newGate("127.0.0.1:1", NewToken()); err != nil {
		t.Errorf("a drawn token: %v", err)
	}
}
