package review

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/pairing"
	"github.com/doubletake-dev/doubletake/replay"
)

// settled waits until the page has done all that it was told to.
func (b *browser) settled() {
	b.t.Helper()
	eval[any](b, `window.settledNow = false; setTimeout(() => last.then(() => { window.settledNow = true; })); 0`)
	b.until(`window.settledNow`)
}

// write puts a text into the note, as somebody types it.
func (b *browser) write(text string) {
	b.t.Helper()
	b.do(chromedp.Focus(chromedp.CSS(`#note`)))
	b.press(text)
}

func (b *browser) open(pair string) {
	b.t.Helper()
	eval[any](b, `location.hash = "#pair=`+pair+`"`)
	b.until(title(pair))
	b.settled()
}

// Whatever way leads on from a decided pair, a note that was changed there is saved, and
// a second line of the log says so.
func TestANoteAfterTheVerdictIsSaved(t *testing.T) {
	ways := map[string]func(b *browser){
		"n":            func(b *browser) { eval[any](b, `document.getElementById("next").click()`) },
		"Escape":       func(b *browser) { b.press("\x1b") },
		"Tab":          func(b *browser) { b.press("\t") },
		"Escape, j":    func(b *browser) { b.press("\x1b"); b.press("j") },
		"to the list":  func(b *browser) { eval[any](b, `location.hash = "#"`) },
		"another pair": func(b *browser) { eval[any](b, `location.hash = "#pair=pair-00001"`) },
		"page hidden":  func(b *browser) { eval[any](b, `window.dispatchEvent(new Event("pagehide"))`) },
	}
	record, queue := night(t, 2*len(ways))
	s := serve(t, record, queue, nil)
	b := browse(t, s)
	at := 2
	for name, leave := range ways {
		id := fmt.Sprintf("pair-%05d", at)
		if at++; name == "another pair" {
			id = "pair-00000"
		}
		b.open(id)
		b.press("f")
		b.until(saved)
		before := len(s.open.Verdicts)
		b.write("1 left n y")
		if len(s.open.Verdicts) != before {
			t.Errorf("%s: a key acted while a note was written", name)
		}
		if told := eval[string](b, `document.querySelector(".told").textContent`); told == "" || !eval[bool](b, `document.querySelector(".told").textContent.includes("not saved yet")`) {
			t.Errorf("%s: while the note is unsaved the page says %q", name, told)
		}
		leave(b)
		b.settled()
		b.until(`!document.querySelector(".told")?.textContent.includes("not saved yet")`)
		if len(s.open.Verdicts) != before+1 {
			t.Fatalf("%s: %d lines more: want one", name, len(s.open.Verdicts)-before)
		}
		if v := s.open.Verdicts[before]; v.Note != "1 left n y" || v.Ruling != pairing.BothFine || !v.Blind || v.Pair != id {
			t.Errorf("%s: the line is %+v", name, v)
		}
	}
	b.calm()
}

// A severity that is changed by its key is saved with going on, and only once.
func TestASeverityAfterTheVerdictIsSaved(t *testing.T) {
	record, queue := night(t, 3)
	s := serve(t, record, queue, nil)
	b := browse(t, s)
	b.open("pair-00000")
	b.press("x")
	b.until(saved)
	b.press("sss")
	b.press("n")
	b.until(title("pair-00001"))
	if v := s.open.Verdicts; len(v) != 2 || v[1].Severity != pairing.Critical || v[1].Ruling != pairing.BothWrong || v[1].Pair != "pair-00000" {
		t.Errorf("the log is %+v", v)
	}
	// What is written on an undecided pair waits for its verdict.
	b.write("look at step 7")
	b.press("\x1b")
	b.press("n")
	b.until(title("pair-00002"))
	b.press("k")
	b.until(title("pair-00001"))
	if note := eval[string](b, `document.getElementById("note").value`); note != "look at step 7" {
		t.Errorf("after going away and back the note is %q", note)
	}
	b.press("t")
	b.until(saved)
	if v := s.open.Verdicts; len(v) != 3 || v[2].Note != "look at step 7" {
		t.Errorf("the log is %+v", v)
	}
	// With the verdict taken back its note is not lost either.
	b.press("u")
	b.until(`document.querySelector(".told")?.textContent.startsWith("No verdict")`)
	if note := eval[string](b, `document.getElementById("note").value`); note != "look at step 7" {
		t.Errorf("after undo the note is %q", note)
	}
	b.calm()
}

func TestTheFocusGoesOn(t *testing.T) {
	record, queue := night(t, 2)
	s := serve(t, record, queue, nil)
	b := browse(t, s)
	focus := func() string { return eval[string](b, `document.activeElement.id || document.activeElement.tagName`) }
	b.open("pair-00000")
	b.do(chromedp.Click(chromedp.CSS(`[data-choice="both_fine"]`)))
	b.until(saved)
	b.settled()
	if at := focus(); at != "next" {
		t.Errorf("after a click the focus is on %s", at)
	}
	b.press("\r")
	b.until(title("pair-00001"))
	if at := focus(); at != "pair-title" {
		t.Errorf("on the next pair the focus is on %s", at)
	}
	b.press("V")
	b.until(`!document.querySelector("#pair .hint")`)
	if at := focus(); at != "verdict-title" {
		t.Errorf("after the sides were named the focus is on %s", at)
	}
	b.press("l")
	b.until(saved)
	b.press("u")
	b.until(`document.querySelector(".told")?.textContent.startsWith("No verdict")`)
	if at := focus(); at != "verdict-title" {
		t.Errorf("after undo the focus is on %s", at)
	}
	b.calm()
}

// twoDiffer makes a second check of a pair differ.
func twoDiffer(e *pairing.Entry) {
	a, b := &e.First.Outcome.Checks[1], &e.Second.Outcome.Checks[1]
	a.Answer, b.Answer = fixtures.Pass, fixtures.Fail
	e.Differ = append(e.Differ, pairing.DifferingCheck{Check: a.Check, First: *a, Second: *b})
}

func TestTheWrongCheckIsChosenByKeyboard(t *testing.T) {
	record, queue := night(t, 3)
	twoDiffer(&queue[1])
	s := serve(t, record, queue, nil)
	b := browse(t, s)
	b.open("pair-00000") // one differs, and needs no choice
	b.press("c")
	b.until(saved)
	b.open("pair-00001")
	b.press("c")
	b.until(`document.activeElement.name === "wrong-check"`)
	if n := eval[int](b, `document.querySelectorAll("[name=wrong-check]:checked").length`); n != 2 {
		t.Errorf("%d of the two checks are ticked at first", n)
	}
	b.press(" " + kb.Tab + " ") // neither
	b.press("\r")
	b.until(`document.getElementById("said").textContent.startsWith("Tick")`)
	b.press(" \r") // k2
	b.until(saved)
	if told := eval[string](b, `document.querySelector(".told").textContent`); !strings.Contains(told, "the pair stays a loss: check k1 fails as well") {
		t.Errorf("what the ruling did not do is not told: %q", told)
	}
	if v := s.open.Verdicts; len(v) != 2 || !slices.Equal(v[0].Checks, []string{"k1"}) || v[1].Ruling != pairing.CheckWrong || !slices.Equal(v[1].Checks, []string{"k2"}) {
		t.Errorf("the log is %+v", v)
	}
	// By mouse, where there may be no Enter.
	b.press("u")
	b.until(`document.querySelector(".told")?.textContent.startsWith("No verdict")`)
	eval[any](b, `document.getElementById("which").click()`)
	b.until(saved)
	if v := s.open.Verdicts[3]; !slices.Equal(v.Checks, []string{"k1", "k2"}) {
		t.Errorf("the last line is %+v", v)
	}
	b.calm()
}

// However small the window is, the verdict can be given, and what it is about is seen.
func TestTheVerdictBarStaysInView(t *testing.T) {
	record, queue := night(t, 2)
	twoDiffer(&queue[0])
	s := serve(t, record, queue, func(o *Options) {
		o.Remembered = map[string]pairing.Remembered{"pair-00000": {Run: "last", Verdict: pairing.Verdict{Ruling: pairing.BothFine}}}
	})
	b := browse(t, s)
	bar := func(where string) {
		t.Helper()
		for _, scroll := range []string{"0", "document.body.scrollHeight / 3", "document.body.scrollHeight"} {
			eval[any](b, `window.scrollTo(0, `+scroll+`)`)
			box := eval[[]float64](b, `(() => { const r = document.querySelector("#pair .verdict").getBoundingClientRect(); return [r.top, r.bottom, innerHeight]; })()`)
			if high := (box[1] - box[0]) / box[2]; box[0] < 0 || box[1] > box[2]+1 || high > 0.41 || high < 0.04 {
				t.Errorf("%s, scrolled to %s: the bar goes from %.0f to %.0f of %.0f", where, scroll, box[0], box[1], box[2])
			}
		}
		// The choices are in it, and Tab does not lose itself under it.
		for range 12 {
			b.press("\t")
			if hidden := eval[string](b, `(() => {
				const e = document.activeElement, r = e.getBoundingClientRect(), bar = document.querySelector("#pair .verdict");
				if (e === document.body) return "";
				const b = bar.getBoundingClientRect();
				return bar.contains(e) ? (r.top < b.bottom && r.bottom > b.top ? "" : "in the bar, out of sight: " + e.outerHTML.slice(0, 60)) : r.bottom > b.top + 2 && r.height < innerHeight / 2 ? "under the bar: " + e.outerHTML.slice(0, 60) : "";
			})()`); hidden != "" {
				t.Errorf("%s: %s", where, hidden)
			}
		}
	}
	for _, size := range [][2]int64{{1280, 900}, {640, 450}, {360, 740}, {360, 560}} {
		b.do(chromedp.EmulateViewport(size[0], size[1]))
		b.open("pair-00000")
		bar(fmt.Sprint(size, " blind"))
	}
	eval[any](b, `document.querySelector('[data-choice="both_fine"]').click()`)
	b.until(saved)
	bar("decided")
	b.calm()
}

// A verdict that no longer counts is told to be stale, with what has changed, in the list
// and on the pair.
func TestAStaleVerdictIsSeen(t *testing.T) {
	record, queue := night(t, 2)
	s := serve(t, record, queue, nil)
	var p pairAnswer
	s.post("/api/decide", `{"pair":"pair-00000","choice":"both_fine","note":"see 7"}`, &p)
	s.close()
	record.Fixtures[0].Hash = "changed" // as of a run that was played again with another fixture
	for _, e := range record.Episodes[:2] {
		e.Fixture = "changed"
	}
	queue[0].Fixture = "changed"
	again := &replay.Record{Dir: record.Dir, Run: record.Run, Fixtures: record.Fixtures, Episodes: record.Episodes, Judgements: record.Judgements, Contexts: record.Contexts}
	b := browse(t, serve(t, again, queue, nil))
	if tag := eval[string](b, `document.querySelector("#rows .tag.stale").textContent`); !strings.Contains(tag, "stale") {
		t.Errorf("the list says %q", tag)
	}
	eval[any](b, `location.hash = "#pair=pair-00000"`)
	b.until(`document.querySelector("#pair .memory.stale")`)
	told := eval[string](b, `document.querySelector("#pair .memory.stale").textContent`)
	for _, want := range []string{"Stale", "your verdict (both fine: “see 7”, 2026-03-20)", "because the fixture and "} {
		if !strings.Contains(told, want) {
			t.Errorf("the pair says %q: want %q in it", told, want)
		}
	}
	b.theme("dark")
	for _, fault := range eval[[]string](b, audit) {
		t.Error(fault)
	}
	b.calm()
}
