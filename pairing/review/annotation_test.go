package review

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/fixtures/annotate"
)

// annotating is the page of an annotation under test.
type annotating struct {
	*Annotation
	t       *testing.T
	web     *httptest.Server
	session *annotate.Session
	shown   string // the session that its browser shows
	wrote   int
}

// annotateTest serves the annotation of a short talk with two proposals.
func annotateTest(t *testing.T) *annotating {
	t.Helper()
	rec := &fixtures.Recording{Header: fixtures.Header{Version: 1, ID: "talk"}}
	for turn, text := range []string{"", "Hello.", "Hello.", "Never touch main. <script>window.pwned = 1</script>\x1b[31m", "I won't.", "I'll be in room 14 until five.", "Noted."} {
		if turn > 0 {
			rec.Messages = append(rec.Messages, fixtures.Message{Turn: turn, Role: []string{"assistant", "user"}[turn%2], Content: text})
		}
	}
	item := func(class fixtures.Class, turn int, literal string) fixtures.Item {
		return fixtures.Item{ID: string(class[0]) + "1", Class: class, Turn: turn, Literal: literal, Probe: "Is it so?", Expect: "yes"}
	}
	proposals := []annotate.Proposal{
		{Item: item(fixtures.Constraint, 3, "Never touch main."), Why: "says never", Checks: []fixtures.Check{{ID: "k1", Never: "tool == 'push'"}}},
		{Item: item(fixtures.Reference, 5, "room 14"), Why: "a name"},
	}
	session, err := annotate.OpenSession(filepath.Join(t.TempDir(), "log.jsonl"), rec, proposals, "maria", time.Now)
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewUnstartedServer(nil)
	a := &annotating{t: t, web: w, session: session}
	o := AnnotationOptions{Session: session, Name: "talk.jsonl", Annotator: "maria", Token: testToken, Address: w.Listener.Addr().String(),
		Write: func() (string, error) { a.wrote++; return "mine/talk.json", nil }}
	if a.Annotation, err = NewAnnotation(o); err != nil {
		t.Fatal(err)
	}
	a.shown = a.gate.sessions.begin(0)
	w.Config.Handler = a.Annotation
	w.Start()
	t.Cleanup(func() {
		w.Close()
		if err := session.Close(); err != nil {
			t.Error(err)
		}
	})
	return a
}

// send posts, or gets where there is no body, and returns what came back.
func (a *annotating) send(path, body string) (status int, answer stepAnswer, text string) {
	a.t.Helper()
	method := http.MethodPost
	if body == "" {
		method = http.MethodGet
	}
	r, err := http.NewRequest(method, a.web.URL+path, strings.NewReader(body))
	if err != nil {
		a.t.Fatal(err)
	}
	r.AddCookie(&http.Cookie{Name: a.gate.cookie, Value: a.shown})
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set(tokenHeader, testToken)
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		a.t.Fatal(err)
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		a.t.Fatal(err)
	}
	if response.StatusCode == http.StatusOK && strings.HasPrefix(path, "/api/") {
		if err := json.Unmarshal(data, &answer); err != nil {
			a.t.Fatalf("%s: %v in %s", path, err, data)
		}
	}
	return response.StatusCode, answer, string(data)
}

func TestAnnotationByRequests(t *testing.T) {
	a := annotateTest(t)
	decide := func(path string, s *stepView, literal string) stepAnswer {
		t.Helper()
		body, err := json.Marshal(map[string]any{"id": s.ID, "item": map[string]any{"class": s.Item.Class, "literal": literal, "probe": s.Item.Probe, "expect": s.Item.Expect}})
		if err != nil {
			t.Fatal(err)
		}
		status, answer, text := a.send(path, string(body))
		if status != http.StatusOK {
			t.Fatalf("%s: status %d: %s", path, status, text)
		}
		return answer
	}
	_, first, _ := a.send("/api/step", "")
	if first.Step == nil || first.Step.Item.Turn != 3 || len(first.Step.Messages) != 2 || first.Step.Messages[1].Text[0].Mark != markKept {
		t.Fatalf("the first step is %+v", first.Step)
	}
	second := decide("/api/confirm", first.Step, "touch main")
	if second.Step.Check != "never: tool == 'push'" || second.Counts.Confirmed != 1 {
		t.Fatalf("after the item comes %+v", second.Step)
	}
	if status, _, text := a.send("/api/reject", `{"id":"`+first.Step.ID+`"}`); status != http.StatusConflict {
		t.Errorf("the first step once more: status %d, %s", status, text)
	}
	third := decide("/api/confirm", second.Step, "")
	last := decide("/api/reject", third.Step, "")
	if last.Step != nil || last.Counts.Rejected != 1 || last.Counts.Checks != 1 {
		t.Fatalf("at the end: %+v", last)
	}
	if status, added, text := a.send("/api/add", `{"item":{"class":"commitment","turn":4,"literal":"I won't.","probe":"Will it?","expect":"no"}}`); status != http.StatusOK || added.Counts.Added != 1 {
		t.Errorf("adding: status %d: %s", status, text)
	}
	if status, _, text := a.send("/api/add", `{"item":{"class":"commitment","turn":4,"literal":"never said","probe":"?","expect":"no"}}`); status != http.StatusBadRequest {
		t.Errorf("adding what was not said: status %d: %s", status, text)
	}
	if _, undone, _ := a.send("/api/undo", "{}"); undone.Counts.Added != 0 {
		t.Errorf("after undo: %+v", undone.Counts)
	}
	if _, wrote, _ := a.send("/api/write", "{}"); wrote.Wrote != "mine/talk.json" || a.wrote != 1 {
		t.Errorf("writing: %+v", wrote)
	}
	f := a.session.Fixture(fixtures.Fixture{})
	if len(f.MustSurvive) != 1 || f.MustSurvive[0].Literal != "touch main" || len(f.Checks) != 1 {
		t.Errorf("the fixture has %+v and %+v", f.MustSurvive, f.Checks)
	}
}

func TestAnnotationRefusals(t *testing.T) {
	a := annotateTest(t)
	for _, test := range []struct {
		path, body string
		want       int
	}{
		{"/api/confirm", "{}", http.StatusConflict},
		{"/api/confirm", "no JSON", http.StatusBadRequest},
		{"/api/undo", "{}", http.StatusBadRequest},
		{"/api/text?n=99", "", http.StatusNotFound},
		{"/api/text?n=-1", "", http.StatusBadRequest},
		{"/api/text?n=0&at=99", "", http.StatusBadRequest},
		{"/api/messages?from=x", "", http.StatusBadRequest},
		{"/api/nosuch", "", http.StatusNotFound},
		{"/annotate", "", http.StatusOK},
	} {
		if status, _, text := a.send(test.path, test.body); status != test.want {
			t.Errorf("%s: status %d, %s: want %d", test.path, status, text, test.want)
		}
	}
	response, err := http.Get(a.web.URL + "/annotate")
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != http.StatusUnauthorized {
		t.Errorf("without the token: status %d", response.StatusCode)
	}
}

func TestAnnotationByKeyboard(t *testing.T) {
	a := annotateTest(t)
	b := browseAt(t, a.URL(), `document.getElementById("title").textContent.includes("constraint of turn 3")`)
	audited := func(where string) {
		t.Helper()
		for _, theme := range []string{"light", "dark"} {
			b.theme(theme)
			for _, fault := range eval[[]string](b, audit) {
				t.Errorf("%s, %s: %s", where, theme, fault)
			}
		}
	}
	audited("an item")
	if eval[bool](b, `"pwned" in window`) {
		t.Error("a script of the recording ran")
	}
	b.press("y")
	b.until(`document.getElementById("check").textContent === "never: tool == 'push'"`)
	audited("a check")
	b.press("y")
	b.until(`document.getElementById("title").textContent.includes("reference of turn 5")`)
	b.press("c")
	b.until(`document.querySelectorAll("#messages .row").length === 5`)
	b.press("n")
	b.until(`document.getElementById("title").textContent === "All is decided"`)
	b.press("u")
	b.until(`document.getElementById("title").textContent.includes("reference of turn 5")`)
	b.do(chromedp.SetValue(chromedp.CSS(`#item [name=literal]`), "in room 14"))
	b.press("y")
	b.until(`document.getElementById("title").textContent === "All is decided"`)
	b.press("w")
	b.until(`document.getElementById("told").textContent === "Written to mine/talk.json"`)
	f := a.session.Fixture(fixtures.Fixture{})
	if len(f.MustSurvive) != 2 || f.MustSurvive[1].Literal != "in room 14" || len(f.Checks) != 1 {
		t.Errorf("the fixture has %+v and %+v", f.MustSurvive, f.Checks)
	}
	b.do(chromedp.EmulateViewport(360, 740))
	if over := eval[int](b, `document.documentElement.scrollWidth - document.documentElement.clientWidth`); over > 0 {
		t.Errorf("on a phone the page is %d pixels wider than the window", over)
	}
	b.calm()
}
