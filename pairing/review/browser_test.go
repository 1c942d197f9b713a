package review

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	cdplog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/pairing"
)

// browser is a tab of a headless Chromium with the page of a night in it.
type browser struct {
	t   *testing.T
	ctx context.Context
	// faults are what the console had to complain about.
	faults chan string
}

// browse opens the page in Chromium, and skips the test where there is none.
func browse(t *testing.T, s *served) *browser {
	t.Helper()
	return browseAt(t, s.URL(), `document.querySelector("#rows a")`)
}

// browseAt opens an address, and waits until an expression holds there.
func browseAt(t *testing.T, address, ready string) *browser {
	t.Helper()
	path := chromiumPath(t)
	options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]), chromedp.ExecPath(path))
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewExecAllocator(ctx, options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	b := &browser{t, ctx, make(chan string, 100)}
	note := func(text string) {
		select {
		case b.faults <- text:
		default:
		}
	}
	b.do(chromedp.EmulateViewport(1280, 900))
	err := chromedp.Listen(ctx, func(ev any) {
		switch e := ev.(type) {
		case *runtime.EventExceptionThrown:
			note(e.ExceptionDetails.Text)
		case *cdplog.EventEntryAdded:
			note(e.Entry.Text)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	b.do(chromedp.Navigate(address))
	b.until(ready)
	return b
}

func chromiumPath(t *testing.T) string {
	t.Helper()
	names := []string{"chromium", "chromium-browser", "google-chrome"}
	if named := os.Getenv("DOUBLETAKE_CHROMIUM"); named != "" {
		names = []string{named}
	}
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skipf("no browser to test the page in: found none of %v; install Chromium, or name it in DOUBLETAKE_CHROMIUM", names)
	return ""
}

func (b *browser) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if err := chromedp.Do(b.ctx, steps...); err != nil {
		b.t.Fatal(err)
	}
}

// until waits in the page until an expression holds there.
func (b *browser) until(expression string) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, time.Minute)
	defer cancel()
	err := chromedp.Do(ctx, chromedp.Evaluate[chromedp.Void](`new Promise((done) => {
		const look = () => (`+expression+`) ? done() : requestAnimationFrame(look);
		look();
	})`, chromedp.EvalAwaitPromise))
	if err != nil {
		b.t.Fatalf("waiting for %s: %v; the page says %q", expression, err, eval[string](b, `document.body.innerText.slice(0, 2000)`))
	}
}

func eval[T any](b *browser, expression string) T {
	b.t.Helper()
	found, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		b.t.Fatalf("%s: %v", expression, err)
	}
	return found
}

// press types keys, as a reviewer does.
func (b *browser) press(keys string) {
	b.t.Helper()
	b.do(chromedp.KeyEvent(keys))
}

func (b *browser) theme(value string) {
	b.t.Helper()
	_, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: value}},
	})
	if err != nil {
		b.t.Fatal(err)
	}
}

// calm says whether the console complained.
func (b *browser) calm() {
	b.t.Helper()
	for {
		select {
		case text := <-b.faults:
			b.t.Errorf("the console says: %s", text)
		default:
			return
		}
	}
}

const saved = `document.querySelector(".told")?.textContent.startsWith("Saved")`

// title says whether a pair stands on the page; it is named there once that leads nobody.
func title(id string) string {
	return `state.pair?.row.id === "` + handle(id) + `" && !document.getElementById("pair").hidden`
}

func TestTenPairsByKeyboard(t *testing.T) {
	record, queue := night(t, 12)
	for i := range queue {
		queue[i].Confirmed = &pairing.Confirmation{Plays: 3, Same: 3, Label: pairing.Stable}
	}
	queue[5].Confirmed.Label = pairing.Flaky
	s := serve(t, record, queue, nil)
	b := browse(t, s)
	// Filter: by Tab to the third control, and by its keys.
	b.do(chromedp.Focus(chromedp.CSS(`#filters [name=label]`)))
	b.press(kb.ArrowDown + kb.ArrowDown) // flaky
	b.until(`document.querySelectorAll("#rows a").length === 1`)
	b.press(kb.ArrowUp) // stable
	b.until(`document.querySelectorAll("#rows a").length === 11`)
	eval[any](b, `document.activeElement.blur()`)
	b.press("j")
	b.press("j")
	if at := eval[string](b, `document.activeElement.querySelector(".name").firstChild.textContent`); at != "pair 2" {
		t.Fatalf("after two steps down %q has the focus", at)
	}
	b.press("\r")
	b.until(title("pair-00001"))
	if !eval[bool](b, `(() => { const r = document.getElementById("part").getBoundingClientRect(); return r.top >= 0 && r.top < innerHeight / 2; })()`) {
		t.Error("the divergence is not in view when a pair opens")
	}
	keys := []string{"l", "r", "f", "x", "i", "c", "t", "1", "2", "l"}
	for i, key := range keys {
		if i == 3 { // a severity and a note
			b.press("sss")
			// Without the character that a real browser holds back, and the driver does not.
			eval[any](b, `document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "a", bubbles: true }))`)
			b.until(`document.activeElement.id === "note"`)
			b.press("left, n and 7 are no keys here")
			b.press("\x1b")
		}
		before := eval[string](b, `state.pair.row.id`)
		b.press(key)
		b.until(saved)
		if i+1 < len(keys) {
			b.press("n")
			b.until(`state.pair.row.id !== "` + before + `"`)
		}
	}
	if n := len(s.open.Verdicts); n != 10 {
		t.Fatalf("%d verdicts in the log", n)
	}
	v := s.open.Verdicts[3]
	if v.Ruling != pairing.BothWrong || v.Severity != pairing.Critical || v.Note != "left, n and 7 are no keys here" || !v.Blind || !(v.Seconds > 0) {
		t.Errorf("the fourth verdict is %+v", v)
	}
	if v := s.open.Verdicts[5]; v.Ruling != pairing.CheckWrong || !slices.Equal(v.Checks, []string{"k1"}) {
		t.Errorf("the sixth verdict is %+v", v)
	}
	// All is there after a reload, and in the list.
	b.do(chromedp.Reload())
	b.until(saved)
	b.press("q")
	b.until(`!document.getElementById("list").hidden`)
	if n := eval[int](b, `document.querySelectorAll("#rows .mine").length`); n != 10 {
		t.Errorf("%d pairs of the list are shown as decided", n)
	}
	b.press("u")
	b.until(`document.querySelector(".told")?.textContent.startsWith("No verdict")`)
	if v := s.open.Verdicts[10]; v.Ruling != "" || v.Pair != s.open.Verdicts[9].Pair {
		t.Errorf("undo wrote %+v", v)
	}
	b.calm()
}

func TestTheBrowserIsBlind(t *testing.T) {
	record, queue := night(t, 6)
	s := serve(t, record, queue, nil)
	b := browse(t, s)
	lefts := 0
	for _, e := range queue {
		eval[any](b, `location.hash = "#pair=`+handle(e.ID)+`"`)
		b.until(title(e.ID))
		page := eval[string](b, `location.href + document.title + document.documentElement.outerHTML + JSON.stringify(state.pair)`)
		for _, secret := range []string{e.ID, e.Group, e.Title, baseline, candidate, "918,273", "54,321", "Cost and size"} {
			if strings.Contains(page, secret) {
				t.Errorf("%s: %q stands on the page before the verdict", e.ID, secret)
			}
		}
		// The side that edits the forbidden folder is the worse one.
		left := eval[bool](b, `document.querySelector("#part .cell").textContent.includes("/migrations/")`)
		key := "r"
		if left {
			key = "l"
			lefts++
		}
		b.press(key)
		b.until(saved)
		after := eval[string](b, `document.body.innerText`)
		for _, known := range []string{e.ID, candidate, "54,321", "Cost and size"} {
			if !strings.Contains(after, known) {
				t.Errorf("%s: %q is missing after the verdict", e.ID, known)
			}
		}
		b.until(`document.querySelector("#contexts mark.lost") && document.querySelector("#contexts .absent")`)
	}
	if lefts == 0 || lefts == len(queue) {
		t.Errorf("the failed side stood on the left %d times of %d", lefts, len(queue))
	}
	for i, v := range s.open.Verdicts {
		want := pairing.CandidateWorse
		if queue[i].Cell == pairing.Gain {
			want = pairing.CandidateBetter
		}
		if v.Ruling != want || !v.Blind {
			t.Errorf("%s: %s, blind %t: want %s", v.Pair, v.Ruling, v.Blind, want)
		}
	}
	b.calm()
}

func TestAHostileRecordingIsHarmless(t *testing.T) {
	texts := []string{
		`<script>window.pwned = 1</script><img src=x onerror="window.pwned = 1"><svg onload="window.pwned = 1">`,
		`</script></textarea></title><iframe srcdoc="<script>parent.pwned = 1</script>"></iframe> javascript:window.pwned=1 [x](javascript:window.pwned=1)`,
		"\x1b]0;owned\x07\x1b[2J\x1b[31m red \u202e gnitirw \u2066 isolated \u200b zero",
		strings.Repeat("W", 1<<20),
		strings.Repeat("\u202e", 5000) + strings.Repeat("a\u0301", 5000),
	}
	record, queue := night(t, 5, texts...)
	for i, e := range record.Episodes {
		e.Steps[2] = step(2, texts[0], fmt.Sprintf(`{%q:%q,"b":%q}`, texts[0], texts[1], strings.Repeat("V", 1<<20)), texts[i%5])
	}
	s := serve(t, record, queue, nil)
	b := browse(t, s)
	harmless := func(where string) {
		t.Helper()
		if eval[bool](b, `"pwned" in window`) {
			t.Fatalf("%s: a script of the recording ran", where)
		}
		if n := eval[int](b, `document.querySelectorAll("script:not([src='/review.js']):not([src='/common.js']), img, iframe, svg, object, embed, base, [onerror], [onload], a[href*='javascript'], form[action]").length`); n != 0 {
			t.Errorf("%s: %d elements of the recording's own", where, n)
		}
		if bad := eval[string](b, `(document.body.innerText.match(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u200b\u202a-\u202e\u2066-\u2069]/) || [""])[0]`); bad != "" {
			t.Errorf("%s: the character %q is on the page", where, bad)
		}
		if n := eval[int](b, `document.body.innerText.length`); n > 120_000 {
			t.Errorf("%s: %d characters on the page at once", where, n)
		}
	}
	fits := func(where string) {
		t.Helper()
		if over := eval[int](b, `document.documentElement.scrollWidth - document.documentElement.clientWidth`); over > 0 {
			t.Errorf("%s: the page is %d pixels wider than the window", where, over)
		}
	}
	harmless("the list")
	for _, e := range queue {
		eval[any](b, `location.hash = "#pair=`+e.ID+`"`)
		b.until(title(e.ID))
		harmless(e.ID)
		b.press("f")
		b.until(saved)
		b.until(`document.querySelector("#contexts .view")`)
		harmless(e.ID + " decided")
		// Open what is folded and what was cut.
		eval[any](b, `document.querySelectorAll(".fold button, .gap").forEach((button, i) => { if (i < 6) button.click(); })`)
		eval[any](b, `document.title = "waiting"; last.then(() => { document.title = "opened"; })`)
		b.until(`document.title === "opened"`)
		if n := eval[int](b, `document.querySelectorAll("script:not([src='/review.js']):not([src='/common.js']), img, iframe, svg").length`); n != 0 || eval[bool](b, `"pwned" in window`) {
			t.Errorf("%s unfolded: the recording got through", e.ID)
		}
		fits(e.ID)
		b.do(chromedp.EmulateViewport(360, 740))
		fits(e.ID + " on a phone")
		b.do(chromedp.EmulateViewport(1280, 900))
	}
	// 200 percent: of the text, and of the whole page.
	eval[any](b, `document.documentElement.style.fontSize = "200%"`)
	fits("text at 200 percent")
	eval[any](b, `document.documentElement.style.fontSize = ""`)
	b.do(chromedp.EmulateViewport(640, 450))
	fits("the page at 200 percent")
	b.press("q")
	b.until(`!document.getElementById("list").hidden`)
	fits("the list at 200 percent")
	b.calm()
}

// audit finds what keeps people from using a page: controls without a name, ids that
// stand twice, headings that skip a level, images of text, and text whose contrast is
// below 4.5 to 1 (3 to 1 where it is large), by the formula of WCAG 2.1.
const audit = `(() => {
	const faults = [];
	const shown = (e) => e.checkVisibility({ contentVisibilityAuto: false, opacityProperty: true, visibilityProperty: true });
	for (const e of document.querySelectorAll("button, select, input, textarea, a, progress, dialog")) {
		if (!shown(e)) continue;
		const label = e.getAttribute("aria-label") || (e.getAttribute("aria-labelledby") || "").split(" ").map((id) => id && document.getElementById(id)?.textContent).join("") ||
			[...(e.labels || [])].map((l) => l.textContent).join("") || (["BUTTON", "A"].includes(e.tagName) ? e.textContent : "");
		if (!label.trim()) faults.push("no name: " + e.outerHTML.slice(0, 200));
		const box = e.getBoundingClientRect();
		if (e.tagName === "BUTTON" && !e.classList.contains("gap") && (box.height < 24 || box.width < 24)) faults.push("small: " + e.outerHTML.slice(0, 100));
	}
	const ids = [...document.querySelectorAll("[id]")].map((e) => e.id);
	ids.filter((id, i) => ids.indexOf(id) !== i).forEach((id) => faults.push("twice: " + id));
	for (const e of document.querySelectorAll("[aria-labelledby], [aria-describedby]"))
		for (const id of ((e.getAttribute("aria-labelledby") || "") + " " + (e.getAttribute("aria-describedby") || "")).split(" ").filter(Boolean))
			if (!document.getElementById(id)) faults.push("names what is not there: " + id);
	let level = 0;
	for (const h of document.querySelectorAll("h1, h2, h3, h4")) {
		if (!shown(h)) continue;
		const n = Number(h.tagName[1]);
		if (n > level + 1) faults.push("heading skips a level: " + h.textContent);
		level = n;
	}
	if (document.querySelectorAll("main").length !== 1 || document.querySelectorAll("h1").length !== 1 || !document.documentElement.lang || !document.title) faults.push("no main, h1, language or title");
	for (const t of document.querySelectorAll("table")) {
		if (!t.caption) faults.push("a table without a caption");
		if (t.querySelector("th:not([scope])")) faults.push("a table head without scope");
	}
	const parse = (c) => { const m = c.match(/[\d.]+/g).map(Number); return { rgb: m.slice(0, 3), a: m.length > 3 ? m[3] : 1 }; };
	const light = (rgb) => { const [r, g, b] = rgb.map((v) => { v /= 255; return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; }); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
	const behind = (e) => { for (; e; e = e.parentElement) { const c = parse(getComputedStyle(e).backgroundColor); if (c.a === 1) return c.rgb; if (c.a > 0) faults.push("half seen through: " + e.outerHTML.slice(0, 80)); } return [255, 255, 255]; };
	const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
	const seen = new Set();
	while (walk.nextNode()) {
		const e = walk.currentNode.parentElement;
		if (!walk.currentNode.data.trim() || seen.has(e) || !shown(e) || e.closest(".unseen, .skip, option, noscript, :disabled")) continue;
		seen.add(e);
		const style = getComputedStyle(e);
		const [a, b] = [light(parse(style.color).rgb), light(behind(e))].sort((x, y) => y - x);
		const ratio = (a + 0.05) / (b + 0.05);
		const size = parseFloat(style.fontSize);
		const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
		if (ratio < (large ? 3 : 4.5)) faults.push("contrast " + ratio.toFixed(2) + ": " + e.tagName + "." + e.className + " " + walk.currentNode.data.trim().slice(0, 40));
	}
	return faults;
})()`

func TestTheAuditFindsFaults(t *testing.T) {
	record, queue := night(t, 1)
	b := browse(t, serve(t, record, queue, nil))
	eval[any](b, `(() => {
		const p = document.createElement("p"); p.textContent = "pale"; p.style.color = "#999"; p.id = "rows";
		document.getElementById("main").append(p, document.createElement("input"), document.createElement("h4"));
		return 0;
	})()`)
	faults := strings.Join(eval[[]string](b, audit), "\n")
	for _, want := range []string{"no name: <input", "twice: rows", "contrast 2."} {
		if !strings.Contains(faults, want) {
			t.Errorf("planted %q is not found in %s", want, faults)
		}
	}
}

func TestAccessibility(t *testing.T) {
	record, queue := night(t, 3)
	s := serve(t, record, queue, func(o *Options) {
		o.Remembered = map[string]pairing.Remembered{"pair-00001": {Run: "last", Verdict: pairing.Verdict{Ruling: pairing.BothFine}}}
	})
	b := browse(t, s)
	check := func(where string) {
		t.Helper()
		for _, theme := range []string{"light", "dark"} {
			b.theme(theme)
			for _, fault := range eval[[]string](b, audit) {
				t.Errorf("%s, %s: %s", where, theme, fault)
			}
		}
	}
	check("the list")
	eval[any](b, `location.hash = "#pair=pair-00001"`)
	b.until(title("pair-00001"))
	check("a blind pair")
	if memory := eval[string](b, `document.querySelector("#pair .memory").textContent`); !strings.Contains(memory, "earlier night (last)") || strings.Contains(memory, "fine") {
		t.Errorf("before the verdict the page says of an earlier one %q", memory)
	}
	b.press("y")
	b.until(saved)
	b.until(`document.querySelector("#contexts .absent")`)
	check("a decided pair")
	b.do(chromedp.EmulateViewport(390, 844))
	check("a decided pair on a phone")
	b.press("?")
	b.until(`document.getElementById("keys").open`)
	check("the keys")
	b.press("\x1b")
	// The focus is seen wherever Tab takes it, and comes to every control.
	b.do(chromedp.EmulateViewport(1280, 900))
	b.until(`!document.getElementById("keys").open`)
	reached := map[string]bool{}
	for range 60 {
		b.press("\t")
		at := eval[[]string](b, `(() => { const e = document.activeElement, s = getComputedStyle(e); return [e.id || e.textContent.trim().slice(0, 30), e === document.body || s.outlineStyle !== "none" ? "seen" : "unseen"]; })()`)
		if at[1] != "seen" {
			t.Errorf("the focus on %q is not seen", at[0])
		}
		reached[at[0]] = true
	}
	for _, control := range []string{"note", "severity", "l left is worse", "next", "context-view"} {
		if !reached[control] {
			t.Errorf("Tab does not come to %q: %v", control, reached)
		}
	}
	// Single keys can be turned off.
	b.press("?")
	b.until(`document.getElementById("keys").open`)
	eval[any](b, `document.getElementById("single").click()`)
	b.press("\x1b")
	b.until(`!document.getElementById("keys").open`)
	eval[any](b, `document.activeElement.blur()`)
	lines := len(s.open.Verdicts)
	b.press("u")
	eval[any](b, `document.title = "waiting"; last.then(() => { document.title = "done"; })`)
	b.until(`document.title === "done"`)
	if len(s.open.Verdicts) != lines {
		t.Error("a key acted though single keys are off")
	}
	b.calm()
}

func TestLargeNightsInTheBrowser(t *testing.T) {
	if testing.Short() {
		t.Skip("ten thousand pairs take a while to make")
	}
	record, queue := night(t, 10_000)
	// One transcript of five megabytes, and contexts of as much.
	var steps int
	long := strings.Repeat("some words of a result ", 100)
	for _, e := range record.Episodes[:2] {
		for n := 8; n < 2200; n++ {
			e.Steps = append(e.Steps, step(n, "read", fmt.Sprintf(`{"n":%d,"arm":%q}`, n, e.Arm), long))
		}
		steps = len(e.Steps)
	}
	messages := []fixtures.Message{{Role: "system", Content: "You help."}}
	for turn := 1; turn <= 2400; turn++ {
		messages = append(messages, fixtures.Message{Turn: turn, Role: []string{"assistant", "user"}[turn%2], Content: fmt.Sprint(turn, " ", long)})
	}
	messages[3].Content += " never modify anything under /migrations"
	hash, err := record.Contexts.Put(messages)
	if err != nil {
		t.Fatal(err)
	}
	record.Episodes[0].Context = hash
	b := browse(t, serve(t, record, queue, nil))
	if n := eval[int](b, `document.querySelectorAll("#rows li").length`); n != listed {
		t.Errorf("%d rows at once: want %d", n, listed)
	}
	eval[any](b, `document.getElementById("later").click()`)
	b.until(`document.querySelector("#rows .name").firstChild.textContent === "pair 101"`)
	eval[any](b, `location.hash = "#pair=pair-00000"`)
	b.until(title("pair-00000"))
	b.press("x")
	b.until(saved)
	b.until(`document.querySelector("#contexts .absent")`)
	if n := eval[int](b, `document.querySelectorAll("#transcript > .row").length`); n > mostRows+5 {
		t.Errorf("%d rows of %d at once", n, steps)
	}
	if n := eval[int](b, `document.querySelectorAll("*").length`); n > 15_000 {
		t.Errorf("%d elements on the page", n)
	}
	b.press("n")
	b.until(title("pair-00001"))
	b.calm()
}

// The page's own record of time in view goes with a verdict.
func TestWhatAVerdictRequestHolds(t *testing.T) {
	record, queue := night(t, 1)
	s := serve(t, record, queue, nil)
	b := browse(t, s)
	eval[any](b, `window.sent = []; const real = fetch; window.fetch = (path, options) => { if (options?.body) sent.push(options.body); return real(path, options); }; 0`)
	eval[any](b, `location.hash = "#pair=pair-00000"`)
	b.until(title("pair-00000"))
	b.press("t")
	b.until(saved)
	var q decideRequest
	if err := json.Unmarshal([]byte(eval[string](b, `sent[0]`)), &q); err != nil {
		t.Fatal(err)
	}
	if q.Pair != handle("pair-00000") || q.Last == nil || *q.Last != 0 || q.Choice != "cannot_tell" || !(q.Seconds > 0 && q.Seconds < 3600) {
		t.Errorf("sent %+v", q)
	}
}
