package review

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// In a small window both sides of where a pair parts are seen beside the verdict's keys.
func TestBothSidesAreSeenInSmallWindows(t *testing.T) {
	record, queue := night(t, 2)
	s := serve(t, record, queue, nil)
	b := browse(t, s)
	for _, size := range [][2]int64{{640, 450}, {360, 740}, {320, 568}} { // the first: 1280 by 900 at 200 percent
		b.do(chromedp.EmulateViewport(size[0], size[1]))
		b.open("pair-00001")
		b.open("pair-00000")
		// The first line of what either side did ends above the bar.
		boxes := eval[[]float64](b, `(() => {
			const bar = document.querySelector("#pair .verdict").getBoundingClientRect();
			return [bar.top, innerHeight, ...[...document.querySelectorAll("#part .cell")].map((cell) => cell.querySelector("dd").getBoundingClientRect().top + 20)];
		})()`)
		if len(boxes) != 4 || boxes[2] > boxes[0] || boxes[3] > boxes[0] {
			t.Errorf("%v: the bar begins at %.0f of %.0f, the sides' first lines end at %.0f", size, boxes[0], boxes[1], boxes[2:])
		}
		if rows := eval[int](b, `new Set([...document.querySelectorAll("#pair .verdict .choices > button")].map((e) => Math.round(e.getBoundingClientRect().top))).size`); rows != 1 {
			t.Errorf("%v: the keys stand in %d rows", size, rows)
		}
		for _, fault := range eval[[]string](b, audit) {
			t.Errorf("%v: %s", size, fault)
		}
		// All of it is there when it is opened, or when a key leads into it.
		eval[any](b, `document.querySelector(".menu").click()`)
		shown := func(what string) {
			t.Helper()
			if !eval[bool](b, `(() => { const r = document.querySelector("`+what+`").getBoundingClientRect(); return r.width > 60 && r.bottom <= innerHeight + 1 && r.top >= 0; })()`) {
				t.Errorf("%v: %s is not seen", size, what)
			}
		}
		shown("#note")
		eval[any](b, `document.querySelector(".menu").click()`)
		eval[any](b, `document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "a", bubbles: true }))`)
		b.until(`document.activeElement.id === "note"`)
		shown("#note")
		eval[any](b, `document.activeElement.blur()`)
	}
	b.calm()
}

// Undo takes the ruling back with a note that was added to it, and the note stays to be seen.
func TestUndoTakesTheVerdictAndLeavesTheNote(t *testing.T) {
	record, queue := night(t, 2)
	s := serve(t, record, queue, nil)
	b := browse(t, s)
	b.open("pair-00000")
	b.press("x")
	b.until(saved)
	b.write("nn")
	b.press("\x1b")
	b.settled()
	b.until(saved)
	b.press("u")
	b.until(`document.querySelector(".told")?.textContent.startsWith("No verdict")`)
	if note := eval[string](b, `document.getElementById("note").value`); note != "nn" {
		t.Errorf("after undo the note is %q", note)
	}
	b.press("f")
	b.until(saved)
	b.open("pair-00001")
	b.press("u") // from another pair
	b.until(title("pair-00000"))
	b.settled()
	if note := eval[string](b, `document.getElementById("note").value`); note != "nn" {
		t.Errorf("after undo from another pair the note is %q", note)
	}
	if lines := len(s.open.Verdicts); lines != 6 {
		t.Errorf("%d lines in the log: want x, its note, both taken back, f and it taken back", lines)
	}
	b.calm()
}

// An address that names no pair leaves none on the page that a key could decide.
func TestAnAddressOfNoPair(t *testing.T) {
	record, queue := night(t, 2)
	s := serve(t, record, queue, nil)
	b := browse(t, s)
	for _, hash := range []string{"#pair=nope", "#pair=%E0%A4%A"} {
		b.open("pair-00000")
		eval[any](b, `location.hash = "`+hash+`"`)
		b.until(`document.querySelector("#pair h2")?.textContent === "No such pair"`)
		b.press("x")
		b.settled()
		if said := eval[string](b, `document.getElementById("said").textContent`); !strings.Contains(said, "no such pair") {
			t.Errorf("%s: the page says %q", hash, said)
		}
		if n := len(s.open.Verdicts); n != 0 {
			t.Fatalf("%s: a key decided a pair that is not shown: %d lines", hash, n)
		}
	}
	b.press("q")
	b.until(`!document.getElementById("list").hidden`)
}

// With Caps Lock keys act as without.
func TestCapsLock(t *testing.T) {
	record, queue := night(t, 2)
	s := serve(t, record, queue, nil)
	b := browse(t, s)
	b.open("pair-00000")
	key := func(key string, shift bool) {
		eval[any](b, fmt.Sprintf(`document.body.dispatchEvent(new KeyboardEvent("keydown", { key: %q, shiftKey: %t, bubbles: true }))`, key, shift))
		b.settled()
	}
	key("F", false)
	b.until(saved)
	key("N", false)
	b.until(title("pair-00001"))
	key("V", false)
	if n := len(s.open.Verdicts); n != 1 {
		t.Fatalf("v with Caps Lock wrote a line: %d", n)
	}
	key("v", true) // Shift with Caps Lock
	b.until(`!state.pair.blind`)
	b.calm()
}

// Two pages of one reviewer: the older one shows what the newer one decided.
func TestTwoPagesOfOneReviewer(t *testing.T) {
	record, queue := night(t, 2)
	s := serve(t, record, queue, nil)
	b := browse(t, s)
	b.open("pair-00000")
	var other pairAnswer
	s.post("/api/decide", `{"pair":"pair-00000","choice":"both_fine"}`, &other)
	b.press("x")
	b.until(saved)
	told := eval[string](b, `document.querySelector(".told").textContent + document.getElementById("said").textContent`)
	if !strings.Contains(told, "Saved: both fine") || !strings.Contains(told, "another page of yours you said: both fine") || len(s.open.Verdicts) != 1 {
		t.Errorf("the page says %q, %d lines", told, len(s.open.Verdicts))
	}
	b.press("x")
	b.until(`document.querySelector(".told").textContent.startsWith("Saved: both wrong")`)
}
