package review

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/doubletake-dev/doubletake/pairing"
)

// person is somebody with a browser of their own at a server for several.
type person struct {
	s     *served
	token string
	web   *http.Client
}

func (s *served) person(number int) *person {
	s.t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		s.t.Fatal(err)
	}
	p := &person{s, s.Server.options.Reviewers[number].Token, &http.Client{Jar: jar}}
	p.open(number)
	return p
}

// open opens the address of a reviewer, and returns the page.
func (p *person) open(number int) string {
	p.s.t.Helper()
	response, err := p.web.Get(p.s.URLs()[number])
	if err != nil {
		p.s.t.Fatal(err)
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		p.s.t.Fatalf("opening the page of reviewer %d: status %d, %v", number, response.StatusCode, err)
	}
	return string(data)
}

func (p *person) send(method, path, body string) (int, string) {
	p.s.t.Helper()
	r, err := http.NewRequest(method, p.s.web.URL+path, strings.NewReader(body))
	if err != nil {
		p.s.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set(tokenHeader, p.token)
	response, err := p.web.Do(r)
	if err != nil {
		p.s.t.Fatal(err)
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		p.s.t.Fatal(err)
	}
	return response.StatusCode, string(data)
}

func three(o *Options) {
	o.Reviewers = nil
	for _, name := range []string{"ann", "ben", "dora"} {
		o.Reviewers = append(o.Reviewers, Reviewer{name, ReviewerToken(testToken, name)})
	}
}

func TestEachReviewerHasAPageOfTheirOwn(t *testing.T) {
	record, queue := night(t, 12)
	s := serve(t, record, queue, three)
	ann, ben := s.person(0), s.person(1)
	if page := ann.open(0); !strings.Contains(page, ">ann<") || strings.Contains(page, "ben") {
		t.Errorf("the page of ann does not name her alone: %s", page)
	}
	// Who decides is not taken from the request.
	if status, body := ann.send("POST", "/api/decide", `{"pair":"pair-00000","choice":"both_fine","by":"ben","reviewer":"ben"}`); status != http.StatusOK {
		t.Fatalf("status %d: %s", status, body)
	}
	if status, body := ben.send("POST", "/api/decide", `{"pair":"pair-00000","choice":"both_wrong"}`); status != http.StatusOK || !strings.Contains(body, `"disputed":true`) {
		t.Fatalf("status %d: %s", status, body)
	}
	if v := s.desk.options.Review.Verdicts; len(v) != 2 || v[0].By != "ann" || v[1].By != "ben" || v[1].Number != 2 {
		t.Errorf("the log is %+v", v)
	}
	// What one has seen the other has not, and one undoes what is their own.
	if status, body := ben.send("POST", "/api/unblind", `{"pair":"pair-00001"}`); status != http.StatusOK {
		t.Fatalf("status %d: %s", status, body)
	}
	if _, body := ann.send("GET", "/api/pair?pair=pair-00001", ""); strings.Contains(body, candidate) {
		t.Error("the sides that ben saw are named to ann")
	}
	if _, body := ben.send("GET", "/api/pair?pair=pair-00001", ""); !strings.Contains(body, candidate) {
		t.Error("the sides that ben saw are not named to him")
	}
	if status, body := ann.send("POST", "/api/undo", `{}`); status != http.StatusOK || !strings.Contains(body, `"id":"`+handle("pair-00000")+`"`) {
		t.Errorf("status %d: %s", status, body)
	}
	if status, _ := ann.send("POST", "/api/undo", `{}`); status != http.StatusBadRequest {
		t.Errorf("ann took back what was ben's: status %d", status)
	}
	// The shuffles are each one's own.
	differ := 0
	for i := range queue {
		if s.desks[0].swapped(&queue[i]) != s.desks[1].swapped(&queue[i]) {
			differ++
		}
	}
	if differ == 0 || differ == len(queue) {
		t.Errorf("the sides of ann and ben differ in %d pairs of %d", differ, len(queue))
	}
}

// One browser that was opened for two people acts as neither by mistake.
func TestNobodyActsAsSomebodyElse(t *testing.T) {
	record, queue := night(t, 2)
	s := serve(t, record, queue, three)
	p := s.person(0)
	p.open(1)
	for _, r := range [][3]string{
		{"GET", "/api/queue", ""}, {"POST", "/api/decide", `{"pair":"pair-00000","choice":"both_fine"}`}, {"POST", "/api/undo", "{}"},
	} {
		if status, body := p.send(r[0], r[1], r[2]); status != http.StatusConflict || !strings.Contains(body, "your own address") {
			t.Errorf("%s %s from the first page: status %d: %s", r[0], r[1], status, body)
		}
	}
	p.open(0)
	if status, body := p.send("GET", "/api/queue", ""); status != http.StatusOK {
		t.Errorf("opened again: status %d: %s", status, body)
	}
	if n := len(s.desk.options.Review.Verdicts); n != 0 {
		t.Errorf("%d lines in the log", n)
	}
}

func TestAssignedPairsComeFirst(t *testing.T) {
	record, queue := night(t, 6)
	s := serve(t, record, queue, func(o *Options) {
		three(o)
		o.Assigned = map[string][]string{"pair-00000": {"ben"}, "pair-00001": {"ben"}, "pair-00002": {"ben"}, "pair-00003": {"ann"}, "pair-00004": {"ben"}, "pair-00005": {"ann", "ben"}}
	})
	first := func(p *person) (ids []string) {
		_, body := p.send("GET", "/api/queue", "")
		for _, part := range strings.Split(body, `"id":"`)[1:] {
			handle, _, _ := strings.Cut(part, `"`)
			ids = append(ids, handle)
		}
		return ids
	}
	ann, dora := s.person(0), s.person(2)
	if got, want := first(ann), []string{handle("pair-00003"), handle("pair-00005"), handle("pair-00000"), handle("pair-00001"), handle("pair-00002"), handle("pair-00004")}; !slices.Equal(got, want) {
		t.Errorf("the list of ann is %v: want %v", got, want)
	}
	for _, step := range []struct{ after, want string }{{"", "pair-00003"}, {"pair-00003", "pair-00005"}, {"pair-00005", "pair-00003"}, {"pair-00000", "pair-00003"}} {
		if _, body := ann.send("GET", "/api/next?after="+step.after, ""); !strings.Contains(body, `"`+handle(step.want)+`"`) {
			t.Errorf("after %q comes %s: want %s", step.after, body, step.want)
		}
	}
	// Somebody to whom nothing is assigned helps with what is undecided.
	if _, body := dora.send("GET", "/api/next?after=pair-00000", ""); !strings.Contains(body, handle("pair-00001")) {
		t.Errorf("dora gets %s", body)
	}
}

func TestReviewerTokens(t *testing.T) {
	seen := map[string]bool{}
	for _, secret := range []string{"0123456789abcdef", "another-secret-of-ours"} {
		for _, name := range []string{"ann", "ben", "Ann", "ann ", "\x00", "名前"} {
			token := ReviewerToken(secret, name)
			if seen[token] || token != ReviewerToken(secret, name) {
				t.Errorf("the token of %q is another one's, or not the same twice", name)
			}
			seen[token] = true
			if _, err := newGate("127.0.0.1:1", token); err != nil {
				t.Errorf("%q: %v", name, err)
			}
		}
	}
	// HMAC-SHA-256 by OpenSSL 3: printf ann | openssl dgst -sha256 -hmac 0123456789abcdef -binary | head -c 20 | base32
	if got := ReviewerToken("0123456789abcdef", "ann"); got != "7M4FSFNAMI6AXY7HWCTRGTN3MIFCO4P2" {
		t.Errorf("the token of ann is %s: want %s", got, "7M4FSFNAMI6AXY7HWCTRGTN3MIFCO4P2")
	}
}

func TestSessionsEnd(t *testing.T) {
	var s sessions
	first := s.begin(3)
	if n, ok := s.reviewer(first); !ok || n != 3 {
		t.Errorf("the session is of %d, %t", n, ok)
	}
	if _, ok := s.reviewer(""); ok {
		t.Error("an empty number is a session")
	}
	for range mostSessions {
		s.begin(1)
	}
	if _, ok := s.reviewer(first); ok || len(s.list) != mostSessions {
		t.Errorf("%d sessions, the oldest one still among them: %t", len(s.list), ok)
	}
}

func TestAddressesThatABrowserOpens(t *testing.T) {
	addrs := func(list ...string) func() []netip.Addr {
		return func() (out []netip.Addr) {
			for _, a := range list {
				out = append(out, netip.MustParseAddr(a))
			}
			return out
		}
	}
	machine := addrs("127.0.0.1", "::1", "fe80::1", "169.254.3.4", "2001:db8::7", "192.0.2.9", "198.51.100.3")
	tests := []struct {
		host string
		own  func() []netip.Addr
		want string
	}{
		{"127.0.0.1", machine, "127.0.0.1"},
		{"review.example", machine, "review.example"},
		{"2001:db8::7", machine, "2001:db8::7"},
		{"0.0.0.0", machine, "192.0.2.9"},
		{"", machine, "192.0.2.9"},
		{"::", machine, "192.0.2.9"},
		{"::", addrs("::1", "2001:db8::7"), "2001:db8::7"},
		{"::", addrs("::1", "fe80::1"), "::1"},
		{"0.0.0.0", addrs("127.0.0.1"), "127.0.0.1"},
		{"0.0.0.0", addrs("::ffff:192.0.2.9"), "192.0.2.9"},
		{"0.0.0.0", addrs(), "127.0.0.1"},
	}
	for _, test := range tests {
		if got := openable(test.host, test.own); got != test.want {
			t.Errorf("listening on %q: opens %q, want %q", test.host, got, test.want)
		}
	}
	// Whatever is printed is an address, and is taken for ours when a browser comes by it.
	for _, listen := range []string{"127.0.0.1:8080", "0.0.0.0:8080", ":8080", "[::]:8080", "[::1]:8080", "[2001:db8::7]:8080", "[fe80::1%eth0]:8080", "localhost:8080", "review.example:8080", "[0:0:0:0:0:0:0:1]:8080"} {
		printed := pageURL(listen, testToken)
		u, err := url.Parse(printed)
		if err != nil || u.Port() != "8080" || u.Query().Get("token") != testToken || strings.ContainsAny(u.Host, " <>\"") {
			t.Errorf("listening on %s: printed %s: %v", listen, printed, err)
			continue
		}
		g, err := newGate(listen, testToken)
		if err != nil {
			t.Fatal(err)
		}
		host, _, _ := strings.Cut(u.Hostname(), "%") // browsers leave the zone out
		if strings.Contains(host, ":") {
			host = "[" + host + "]"
		}
		if !g.ours(host + ":8080") {
			t.Errorf("listening on %s: printed %s, and does not take %s for its own", listen, printed, host)
		}
	}
	if printed := pageURL(`a b<c>"d@e/f?g#h:80`, testToken); strings.ContainsAny(printed, ` <>"@#`) || strings.Count(printed, "?") != 1 {
		t.Errorf("printed %s", printed)
	}
}

// What somebody saw of the arms, by whatever way, makes their later verdict not blind.
func TestVerdictsAfterTheArmsWereSeen(t *testing.T) {
	record, queue := night(t, 5)
	s := serve(t, record, queue, func(o *Options) { o.Blind = false })
	var p pairAnswer
	s.get("/api/pair?pair=pair-00000", &p)
	s.get("/api/pair?pair=pair-00000", &p)
	s.close()
	lines, err := pairing.ReadUnblinded(record.Dir)
	if err != nil || len(lines) != 1 || lines[0].By != "maria" || lines[0].Pair != "pair-00000" || lines[0].How != pairing.UnblindedOnPage {
		t.Fatalf("recorded %+v, %v: want one line", lines, err)
	}
	blind := serve(t, record, queue, nil)
	blind.post("/api/decide", `{"pair":"pair-00000","choice":"left_worse"}`, &p)
	blind.post("/api/decide", `{"pair":"pair-00001","choice":"left_worse"}`, &p)
	// Another process names the arms while the server runs.
	for _, pair := range []string{"pair-00001", "pair-00002"} {
		if err := (pairing.Unblinded{At: time.Now(), By: "maria", Pair: pair, How: pairing.UnblindedByShow}).Record(record.Dir); err != nil {
			t.Fatal(err)
		}
	}
	if err := (pairing.Unblinded{At: time.Now(), By: "jon", Pair: "pair-00003", How: pairing.UnblindedByShow}).Record(record.Dir); err != nil {
		t.Fatal(err)
	}
	blind.get("/api/pair?pair=pair-00002", &p)
	if p.Blind || p.Sides == nil {
		t.Error("the page goes on as if the sides were not known")
	}
	blind.post("/api/decide", `{"pair":"pair-00001","corrects":true,"note":"n"}`, &p) // the ruling was blind
	blind.post("/api/decide", `{"pair":"pair-00001","choice":"right_worse"}`, &p)     // this one is not
	blind.post("/api/decide", `{"pair":"pair-00002","choice":"left_worse"}`, &p)
	blind.post("/api/decide", `{"pair":"pair-00003","choice":"left_worse"}`, &p) // jon saw it, not maria
	var got []string
	for _, v := range blind.desk.options.Review.Verdicts {
		got = append(got, fmt.Sprint(v.Pair, " ", v.Blind))
	}
	want := []string{"pair-00000 false", "pair-00001 true", "pair-00001 true", "pair-00001 false", "pair-00002 false", "pair-00003 true"}
	if !slices.Equal(got, want) {
		t.Errorf("blind: %v\nwant   %v", got, want)
	}
}

func TestCorrections(t *testing.T) {
	record, queue := night(t, 2)
	s := serve(t, record, queue, nil)
	if status, body := s.send(s.request("POST", "/api/decide", `{"pair":"pair-00000","corrects":true,"note":"x"}`)); status != http.StatusConflict {
		t.Errorf("without a verdict: status %d: %s", status, body)
	}
	var p pairAnswer
	s.post("/api/decide", `{"pair":"pair-00000","choice":"check_wrong","checks":["k1"],"seconds":9}`, &p)
	s.post("/api/decide", `{"pair":"pair-00000","corrects":true,"choice":"both_fine","note":"x","severity":"minor"}`, &p)
	v := s.desk.options.Review.Verdicts
	if len(v) != 2 || v[1].Ruling != pairing.CheckWrong || !slices.Equal(v[1].Checks, []string{"k1"}) || v[1].Note != "x" || v[1].Severity != pairing.Minor || !v[1].Blind || v[1].Seconds != 0 {
		t.Errorf("the log is %+v", v)
	}
	p = pairAnswer{}
	s.post("/api/undo", `{}`, &p)
	if p.Mine != nil || p.Undone == nil || p.Undone.Note != "x" || p.Undone.Severity != pairing.Minor || p.Undone.Ruling != pairing.CheckWrong {
		t.Errorf("the verdict stands with its note taken back: %+v, undone %+v", p.Mine, p.Undone)
	}
	// A ruling before another one stands again, with its own note.
	for _, body := range []string{`"choice":"both_fine","note":"y"`, `"choice":"both_wrong"`, `"corrects":true,"note":"z"`} {
		s.post("/api/decide", `{"pair":"pair-00000",`+body+`}`, &p)
	}
	p = pairAnswer{}
	s.post("/api/undo", `{}`, &p)
	if p.Mine == nil || p.Mine.Ruling != pairing.BothFine || p.Mine.Note != "y" || p.Undone == nil || p.Undone.Note != "z" {
		t.Errorf("after undo: %+v, undone %+v", p.Mine, p.Undone)
	}
}

// A page that shows an older verdict than the reviewer's last one replaces nothing.
func TestTheNewerVerdictOfTwoPagesIsShown(t *testing.T) {
	record, queue := night(t, 2)
	s := serve(t, record, queue, nil)
	var one, two pairAnswer
	s.get("/api/pair?pair=pair-00000", &one)
	s.get("/api/pair?pair=pair-00000", &two)
	s.post("/api/decide", fmt.Sprintf(`{"pair":"pair-00000","choice":"both_fine","note":"here","last":%d}`, one.Last), &one)
	if one.Last != 1 {
		t.Errorf("the last line is %d: want 1", one.Last)
	}
	for _, what := range []string{`"choice":"both_wrong"`, `"corrects":true,"note":"x"`, `"remembered":true`} {
		status, body := s.send(s.request("POST", "/api/decide", fmt.Sprintf(`{"pair":"pair-00000",%s,"last":%d}`, what, two.Last)))
		var answer struct {
			Error string
			Pair  *pairAnswer
		}
		if err := json.Unmarshal([]byte(body), &answer); err != nil {
			t.Fatal(err)
		}
		if status != http.StatusConflict || answer.Pair == nil || answer.Pair.Mine == nil || answer.Pair.Mine.Note != "here" || !strings.Contains(answer.Error, "you said: both fine") {
			t.Errorf("%s: status %d, %s", what, status, body)
		}
	}
	if n := len(s.open.Verdicts); n != 1 {
		t.Errorf("%d lines in the log: want 1", n)
	}
	s.post("/api/decide", fmt.Sprintf(`{"pair":"pair-00000","choice":"both_wrong","last":%d}`, one.Last), &one)
	if one.Mine.Ruling != pairing.BothWrong || one.Last != 2 {
		t.Errorf("with the newer verdict seen: %+v", one.Mine)
	}
}

func TestStaleVerdictsSayWhy(t *testing.T) {
	record, queue := night(t, 3)
	s := serve(t, record, queue, nil)
	var p pairAnswer
	s.post("/api/decide", `{"pair":"pair-00000","choice":"left_worse","note":"see 7"}`, &p)
	s.close()
	record.Episodes[1].Steps[0].Text = "Go on, then." // of the second arm
	for _, who := range []string{"maria", "jon"} {
		again := serve(t, record, queue, func(o *Options) { o.Reviewers[0].Name = who })
		answer := again.get("/api/pair?pair=pair-00000", &p)
		on := "right"
		if again.swapped(&queue[0]) {
			on = "left"
		}
		if len(p.Stale) != 1 || p.Stale[0].Why != "what the "+on+" side did is not what it was" || !p.Row.Stale || p.Mine != nil {
			t.Errorf("%s: stale %+v", who, p.Stale)
		}
		switch leads := strings.Contains(answer, "see 7") || strings.Contains(answer, `"choice":"left`); {
		case who == "maria" && (!leads || p.Blind):
			t.Error("maria is not told what she ruled")
		case who == "jon" && leads:
			t.Errorf("jon is told what maria ruled: %s", answer)
		}
		again.close()
	}
}
