package review

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/doubletake-dev/doubletake/pairing"
	"github.com/doubletake-dev/doubletake/replay"
)

func TestNothingNamesAnArmBeforeTheVerdict(t *testing.T) {
	record, queue := night(t, 10)
	s := serve(t, record, queue, func(o *Options) {
		v := pairing.Verdict{By: "jon", Ruling: pairing.CandidateWorse, Severity: pairing.Major, Note: "the squeezed-arm-0815 lost it"}
		o.Remembered = map[string]pairing.Remembered{"pair-00003": {Run: "last", Verdict: v}}
		if _, err := o.Review.Decide(pairing.Verdict{By: "jon", Pair: "pair-00002", Ruling: pairing.CandidateWorse, Note: "I saw " + candidate}); err != nil {
			t.Fatal(err)
		}
	})
	// What somebody ruled, what a check found, and what was lost would lead, too.
	secrets := []string{baseline, candidate, "918273", "54321", "loss", "gain", "candidate", "absent", "tape", "reference", `"pass"`, `"fail"`, "satisf", `"answer"`, `"major"`, `["constraint"]`, "Edits a forbidden folder", "pair-0", "group-"}
	var answers []string
	var any map[string]any
	answers = append(answers, s.get("/api/queue", &any), s.get("/api/queue?cell=loss", &any), s.get("/api/next", &any))
	for _, e := range queue {
		answers = append(answers, s.get("/api/pair?pair="+e.ID, &any), s.get("/api/rows?from=0&count=9&pair="+e.ID, &any))
		for _, wrong := range []string{`"choice":"check_wrong","checks":["k9"]`, `"choice":"both_fine","severity":"dire"`, `"choice":"both_fine","settles":true`, `"corrects":true`, `"choice":"no"`} {
			status, refused := s.send(s.request("POST", "/api/decide", `{"pair":"`+e.ID+`",`+wrong+`}`))
			if status == http.StatusOK {
				t.Errorf("%s: taken", wrong)
			}
			answers = append(answers, refused)
		}
	}
	for _, answer := range answers {
		for _, secret := range secrets {
			if strings.Contains(answer, secret) {
				t.Errorf("%q stands in %s", secret, answer)
			}
		}
	}
	var opened pairAnswer
	answer := s.post("/api/decide", `{"pair":"pair-00000","choice":"left_worse","seconds":5}`, &opened)
	if !strings.Contains(answer, candidate) || opened.Sides == nil || opened.Sides.Cell != pairing.Loss {
		t.Errorf("after the verdict the sides are not named: %s", answer)
	}
}

func TestBlindSidesAreMappedBack(t *testing.T) {
	record, queue := night(t, 40)
	s := serve(t, record, queue, nil)
	lefts := 0
	for _, e := range queue {
		var p pairAnswer
		s.get("/api/pair?pair="+e.ID, &p)
		// The worse side is the one that edited the forbidden folder.
		onLeft, onRight := strings.Contains(p.Checks[0].Left.Evidence[0].Text, "/migrations/1.sql"), strings.Contains(p.Checks[0].Right.Evidence[0].Text, "/migrations/1.sql")
		if onLeft == onRight {
			t.Fatalf("%s: the sides did not differ: %+v", e.ID, p.Checks)
		}
		choice := rightWorse
		if onLeft {
			choice = leftWorse
			lefts++
		}
		var after pairAnswer
		s.post("/api/decide", fmt.Sprintf(`{"pair":%q,"choice":%q}`, e.ID, choice), &after)
	}
	if lefts < 8 || lefts > 32 {
		t.Errorf("the failed side stood on the left %d times of 40", lefts)
	}
	for i, v := range s.open.Verdicts {
		want := pairing.CandidateWorse
		if queue[i].Cell == pairing.Gain {
			want = pairing.CandidateBetter
		}
		if v.Ruling != want || !v.Blind || v.By != "maria" {
			t.Errorf("%s, a %s: %s, blind %t, by %s: want %s", v.Pair, queue[i].Cell, v.Ruling, v.Blind, v.By, want)
		}
	}
}

func TestSidesDependOnPairReviewerAndRun(t *testing.T) {
	count := func(run, reviewer string) (picture string) {
		for i := range 64 {
			if pairing.Swapped(run, reviewer, fmt.Sprint("p", i)) {
				picture += "1"
			} else {
				picture += "0"
			}
		}
		return picture
	}
	first := count("a", "maria")
	if first != count("a", "maria") {
		t.Error("the same pair, reviewer and run gave other sides")
	}
	if first == count("a", "jon") || first == count("b", "maria") {
		t.Error("another reviewer or run gave the same sides")
	}
	if ones := strings.Count(first, "1"); ones < 16 || ones > 48 {
		t.Errorf("%d of 64 swapped", ones)
	}
}

func TestRulingsAndChoices(t *testing.T) {
	for _, swap := range []bool{false, true} {
		for _, r := range pairing.Rulings() {
			got, err := ruling(chosen(r, swap), swap)
			if err != nil || got != r {
				t.Errorf("%s, swapped %t: comes back as %s, %v", r, swap, got, err)
			}
		}
	}
	for _, blind := range []bool{false, true} {
		keys := map[string]bool{}
		for _, c := range choices(blind) {
			if keys[c.Key] || strings.Contains("sayundjkvVq?1234567", c.Key) {
				t.Errorf("the key %s has two meanings", c.Key)
			}
			keys[c.Key] = true
			if _, err := ruling(c.Value, false); err != nil {
				t.Error(err)
			}
		}
		if len(keys) != len(pairing.Rulings()) {
			t.Errorf("%d choices for %d rulings", len(keys), len(pairing.Rulings()))
		}
	}
}

func TestOpenNamesTheSides(t *testing.T) {
	record, queue := night(t, 5)
	s := serve(t, record, queue, func(o *Options) { o.Blind = false })
	for _, e := range queue {
		var p pairAnswer
		s.get("/api/pair?pair="+e.ID, &p)
		if p.Blind || p.Sides == nil || p.Sides.Left.Arm != baseline || p.Sides.Right.Arm != candidate || p.Sides.Candidate != right {
			t.Fatalf("%s: sides %+v", e.ID, p.Sides)
		}
		if p.Items[0].Fates[0].Right != replayAbsent || p.Items[0].Fates[0].Left != "" {
			t.Errorf("%s: fates %+v", e.ID, p.Items[0].Fates)
		}
	}
	var q queueAnswer
	s.get("/api/queue?cell=gain", &q)
	if q.Matching != 1 || q.Rows[0].ID != handle("pair-00004") {
		t.Errorf("gains: %+v", q.Rows)
	}
	var p pairAnswer
	s.post("/api/decide", `{"pair":"pair-00000","choice":"right_worse"}`, &p)
	if v := s.open.Verdicts[0]; v.Ruling != pairing.CandidateWorse || v.Blind {
		t.Errorf("%+v: want the candidate worse, and not blind", v)
	}
	if p.Mine.Choice != "candidate worse" {
		t.Errorf("my choice is shown as %q", p.Mine.Choice)
	}
}

const replayAbsent = "absent"

func TestEndingBlindnessIsRemembered(t *testing.T) {
	record, queue := night(t, 3)
	s := serve(t, record, queue, nil)
	var p pairAnswer
	s.post("/api/unblind", `{"pair":"pair-00001"}`, &p)
	if p.Blind || p.Sides == nil || p.Mine != nil || !p.Row.Open {
		t.Fatalf("after ending the blindness: %+v", p)
	}
	var c contextAnswer
	s.get("/api/context?pair=pair-00001&a=recorded&b="+string(p.Sides.Candidate), &c)
	if status, _ := s.send(s.request("POST", "/api/unblind", `{"pair":"pair-00001"}`)); status != http.StatusConflict {
		t.Errorf("a second time: status %d, want 409", status)
	}
	// Another server on the log, as after a restart.
	s.close()
	again := serve(t, record, queue, nil)
	again.post("/api/decide", `{"pair":"pair-00001","choice":"left_worse"}`, &p)
	again.post("/api/decide", `{"pair":"pair-00002","choice":"left_worse"}`, &p)
	if v := again.open.Verdicts; v[1].Blind || !v[2].Blind {
		t.Errorf("blind %t and %t: want false and true", v[1].Blind, v[2].Blind)
	}
	// A note added later, and a change of mind.
	again.post("/api/decide", `{"pair":"pair-00002","choice":"left_worse","note":"see step 7","severity":"major"}`, &p)
	again.post("/api/decide", `{"pair":"pair-00002","choice":"right_worse"}`, &p)
	if v := again.open.Verdicts; !v[3].Blind || v[3].Note != "see step 7" || v[4].Blind {
		t.Errorf("a note: blind %t, a change of mind: blind %t: want true and false", v[3].Blind, v[4].Blind)
	}
}

func TestUndoAndNext(t *testing.T) {
	record, queue := night(t, 4)
	s := serve(t, record, queue, nil)
	next := func(after string) any {
		var answer map[string]any
		s.get("/api/next?after="+after, &answer)
		return answer["id"]
	}
	var p pairAnswer
	if got := next(""); got != handle("pair-00000") {
		t.Fatalf("the first is %v", got)
	}
	s.post("/api/decide", `{"pair":"pair-00001","choice":"both_fine"}`, &p)
	if p.Progress.Decided != 1 || p.Progress.Open != 3 {
		t.Errorf("progress %+v", p.Progress)
	}
	if got := next("pair-00000"); got != handle("pair-00002") {
		t.Errorf("after the first comes %v", got)
	}
	if got := next("pair-00003"); got != handle("pair-00000") {
		t.Errorf("after the last comes %v", got)
	}
	var moved map[string]any
	s.get("/api/next?any=1&after=pair-00000", &moved)
	if moved["id"] != handle("pair-00001") {
		t.Errorf("the one after, decided or not, is %v", moved["id"])
	}
	s.get("/api/next?any=1&back=1&after=pair-00000", &moved)
	if moved["id"] != handle("pair-00003") {
		t.Errorf("the one before the first is %v", moved["id"])
	}
	for _, id := range []string{"pair-00000", "pair-00002", "pair-00003"} {
		s.post("/api/decide", fmt.Sprintf(`{"pair":%q,"choice":"cannot_tell"}`, id), &p)
	}
	if got := next("pair-00000"); got != nil {
		t.Errorf("with all decided %v is next", got)
	}
	s.post("/api/undo", `{}`, &p)
	if p.Row.ID != handle("pair-00003") || p.Mine != nil || !p.Row.Open {
		t.Errorf("undo gave %+v", p.Row)
	}
	if got := next("pair-00000"); got != handle("pair-00003") {
		t.Errorf("after the undo %v is next", got)
	}
}

func TestMinutesComeFromEarlierVerdicts(t *testing.T) {
	record, queue := night(t, 4)
	s := serve(t, record, queue, nil)
	var q queueAnswer
	s.get("/api/queue", &q)
	if q.Progress.Time != (pairing.TimeLeft{Minutes: 8, Pairs: 4}) { // of 2 minutes each
		t.Errorf("%+v before any verdict: want 8 minutes", q.Progress.Time)
	}
	var p pairAnswer
	s.post("/api/decide", `{"pair":"pair-00000","choice":"both_fine","seconds":40}`, &p)
	if p.Progress.Time != (pairing.TimeLeft{Minutes: 2, Pairs: 3, Verdicts: 1}) { // of 40 seconds each
		t.Errorf("%+v: want 2 minutes from one verdict", p.Progress.Time)
	}
	// A note that is added later is no look at the pair.
	s.post("/api/decide", `{"pair":"pair-00000","corrects":true,"note":"see step 7"}`, &p)
	if p.Progress.Time.Verdicts != 1 {
		t.Errorf("%+v after a correction: want it from one verdict", p.Progress.Time)
	}
}

func TestFilters(t *testing.T) {
	record, queue := night(t, 250)
	for i := range queue {
		if i%2 == 0 {
			queue[i].Confirmed = &pairing.Confirmation{Plays: 3, Same: i % 4, Label: pairing.Stable}
		} else {
			queue[i].Confirmed = &pairing.Confirmation{Label: pairing.Flaky}
		}
	}
	s := serve(t, record, queue, func(o *Options) {
		o.Remembered = map[string]pairing.Remembered{"pair-00007": {Run: "last", Verdict: pairing.Verdict{Ruling: pairing.BothFine}}}
		o.Assigned = map[string][]string{"pair-00010": {"maria"}, "pair-00011": {"jon", "maria"}, "pair-00012": {"jon"}}
	})
	var p pairAnswer
	s.post("/api/decide", `{"pair":"pair-00004","choice":"both_wrong"}`, &p)
	for query, want := range map[string]int{
		"": 250, "state=undecided": 249, "state=decided": 1, "state=disputed": 0, "state=remembered": 1, "state=open": 2,
		"label=stable": 125, "label=flaky": 125, "class=constraint": 1, "class=reference": 0,
		"cell=gain": 1, "cell=loss": 0, "find=GROUP-2": 1, "find=group-12": 0, "find=pair-00004": 1, "find=PAIR+101": 1, "label=stable&find=pair+10&state=undecided": 5,
	} {
		var q queueAnswer
		s.get("/api/queue?"+query, &q)
		if q.Matching != want || len(q.Rows) != min(want, listed) {
			t.Errorf("%s: %d match, %d rows: want %d", query, q.Matching, len(q.Rows), want)
		}
	}
	var q queueAnswer
	s.get("/api/queue?from=200", &q)
	if len(q.Rows) != 50 || q.Rows[0].ID != handle("pair-00200") {
		t.Errorf("from 200: %d rows from %s", len(q.Rows), q.Rows[0].ID)
	}
}

func TestMemory(t *testing.T) {
	record, queue := night(t, 2)
	s := serve(t, record, queue, func(o *Options) {
		o.Remembered = map[string]pairing.Remembered{"pair-00001": {Run: "last-night", Verdict: pairing.Verdict{By: "jon", Ruling: pairing.CandidateWorse, Severity: pairing.Major, Note: "as " + candidate}}}
	})
	var p pairAnswer
	s.get("/api/pair?pair=pair-00001", &p)
	if m := p.Remembered; m == nil || m.Run != "last-night" || !reflect.DeepEqual(*m, verdictView{Run: "last-night"}) {
		t.Fatalf("remembered %+v: want the run alone", m)
	}
	s.post("/api/decide", `{"pair":"pair-00001","remembered":true,"seconds":2}`, &p)
	v := s.open.Verdicts[0]
	if v.Ruling != pairing.CandidateWorse || v.From != "last-night" || v.Severity != pairing.Major || v.By != "maria" || v.Blind || v.Note != "as "+candidate {
		t.Errorf("taken over as %+v", v)
	}
	if p.Remembered.Choice == "" || p.Mine.Choice != p.Remembered.Choice {
		t.Errorf("taken over as %q of %q", p.Mine.Choice, p.Remembered.Choice)
	}
	// What the reviewer noted of their own is not thrown away for the earlier note.
	s.post("/api/decide", `{"pair":"pair-00001","remembered":true,"note":"looked again","severity":"minor"}`, &p)
	if v := s.open.Verdicts[1]; v.Note != "looked again" || v.Severity != pairing.Minor || v.Ruling != pairing.CandidateWorse {
		t.Errorf("taken over as %+v", v)
	}
	s.get("/api/pair?pair=pair-00000", &p)
	if p.Remembered != nil {
		t.Errorf("another disagreement is remembered: %+v", p.Remembered)
	}
}

func TestDisputesAreSettled(t *testing.T) {
	record, queue := night(t, 1)
	s := serve(t, record, queue, func(o *Options) {
		for by, r := range map[string]pairing.Ruling{"jon": pairing.CandidateWorse, "lee": pairing.BothFine} {
			if _, err := o.Review.Decide(pairing.Verdict{By: by, Pair: "pair-00000", Ruling: r}); err != nil {
				t.Fatal(err)
			}
		}
	})
	var p pairAnswer
	s.get("/api/pair?pair=pair-00000", &p)
	if !p.Disputed || len(p.Verdicts) != 0 || !p.Row.Open {
		t.Fatalf("disputed %t, %d verdicts shown while blind", p.Disputed, len(p.Verdicts))
	}
	s.post("/api/decide", `{"pair":"pair-00000","choice":"both_fine","settles":true}`, &p)
	if p.Disputed || p.Row.State != pairing.Decided || p.Row.Ruling != pairing.BothFine || len(p.Verdicts) != 3 {
		t.Errorf("after settling: %+v", p.Row)
	}
}

// Every answered request of many at once is a whole line of the log, and none is lost.
func TestDecidingAtTheSameTime(t *testing.T) {
	record, queue := night(t, 40)
	s := serve(t, record, queue, nil)
	var wait sync.WaitGroup
	for _, e := range queue {
		wait.Go(func() {
			r := s.request("POST", "/api/decide", fmt.Sprintf(`{"pair":%q,"choice":"right_worse","seconds":3}`, e.ID))
			if status, body := s.send(r); status != http.StatusOK {
				t.Errorf("status %d: %s", status, body)
			}
			if status, _ := s.send(s.request("GET", "/api/queue", "")); status != http.StatusOK {
				t.Errorf("status %d of the list", status)
			}
		})
	}
	wait.Wait()
	file, err := os.Open(filepath.Join(record.Dir, pairing.VerdictsFile))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	seen := map[string]bool{}
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var v pairing.Verdict
		if err := json.Unmarshal(lines.Bytes(), &v); err != nil {
			t.Fatal(err)
		}
		seen[v.Pair] = true
		if v.Number != len(seen) {
			t.Errorf("line %d has the number %d", len(seen), v.Number)
		}
	}
	if len(seen) != 40 {
		t.Errorf("%d pairs in the log: want 40", len(seen))
	}
}

func TestTheSecondReviewIsRefused(t *testing.T) {
	record, queue := night(t, 1)
	serve(t, record, queue, nil)
	_, err := pairing.OpenReview(record.Dir, record, queue, time.Now)
	if err == nil || !strings.Contains(err.Error(), "in use by another doubletake") {
		t.Errorf("a second review opened: %v", err)
	}
}

func TestContexts(t *testing.T) {
	record, queue := night(t, 1)
	s := serve(t, record, queue, func(o *Options) { o.Blind = false })
	var c contextAnswer
	s.get("/api/context?pair=pair-00000&a=recorded&b=right", &c)
	if c.Left.Messages != 21 || c.Right.Messages != 4 || c.Items[0].Left != "stands there" || c.Items[0].Right != replayAbsent {
		t.Fatalf("columns %+v, %+v, items %+v", c.Left, c.Right, c.Items)
	}
	var marked, missing, written bool
	rows := 0
	for _, seg := range c.Segments {
		if seg.Fold != nil {
			rows += seg.Fold.Count
			continue
		}
		rows++
		r := seg.Row
		if r.Left != nil && r.Left.Turn == 3 {
			for _, p := range r.Left.Text {
				marked = marked || p.Mark == markLost && p.Text == "never modify anything under /migrations"
			}
			missing = r.Right != nil && len(r.Right.Lost) == 1 && r.Right.Lost[0].Literal == "never modify anything under /migrations"
		}
		written = written || r.Right != nil && r.Right.Who == "summary" && r.Left == nil
	}
	if !marked || !missing || !written {
		t.Errorf("the lost literal is marked: %t; its absence is: %t; the summary is there: %t", marked, missing, written)
	}
	if rows != 22 { // 21 recorded messages and the summary
		t.Errorf("%d rows: want 22", rows)
	}
	s.get("/api/context?pair=pair-00000&a=left&b=right", &c)
	if c.Left.Messages != 21 {
		t.Errorf("left has %d messages", c.Left.Messages)
	}
}

// Without an arm that kept everything, the conversation is put together from what stood
// before each compaction.
func TestTheRecordingIsPutTogether(t *testing.T) {
	record, queue := night(t, 1)
	record.Episodes[0].Context = "" // as with an accepted trace
	s := serve(t, record, queue, func(o *Options) { o.Blind = false })
	got, err := s.recorded(&queue[0])
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 21 || got[0].Role != "system" {
		t.Fatalf("%d messages: want 21", len(got))
	}
	for i, m := range got {
		if m.Turn != i {
			t.Errorf("message %d has the turn %d", i, m.Turn)
		}
	}
	var c contextAnswer
	s.get("/api/context?pair=pair-00000&a=left&b=right", &c)
	if c.Left.Missing == "" || c.Items[0].Left != "not known" {
		t.Errorf("a side without a context: %+v, %+v", c.Left, c.Items)
	}
}

// A text that was cut comes back whole, piece by piece.
func TestLongTextsCanBeReadWhole(t *testing.T) {
	long := strings.Repeat("wörd ", 30_000) + "the end"
	record, queue := night(t, 1, long)
	s := serve(t, record, queue, func(o *Options) { o.Blind = false })
	var p pairAnswer
	answer := s.get("/api/pair?pair=pair-00000", &p)
	if len(answer) > 100_000 {
		t.Errorf("the pair comes with %d bytes", len(answer))
	}
	var text string
	for _, seg := range p.Transcript {
		if seg.Row != nil && seg.Row.Left.Who == "agent" {
			text = s.whole(seg.Row.Left.Text)
		}
	}
	if text != long {
		t.Errorf("%d bytes came back: want %d", len(text), len(long))
	}
}

// whole follows the gaps of a text.
func (s *served) whole(list []piece) string {
	s.t.Helper()
	var b strings.Builder
	for _, p := range list {
		if p.Gap == nil {
			b.WriteString(p.Text)
			continue
		}
		var more struct{ Pieces []piece }
		s.get(fmt.Sprintf("/api/text?%s&at=%d&bytes=%d", p.Gap.Query, p.Gap.At, p.Gap.Bytes), &more)
		b.WriteString(s.whole(more.Pieces))
	}
	return b.String()
}

func TestManyPairsStayQuickToAsk(t *testing.T) {
	record, queue := night(t, 2_500)
	s := serve(t, record, queue, nil)
	var q queueAnswer
	if answer := s.get("/api/queue", &q); q.Matching != 2_500 || len(answer) > 60_000 {
		t.Errorf("%d pairs in %d bytes: want one page of them", q.Matching, len(answer))
	}
	s.get("/api/queue?from=2450", &q)
	if len(q.Rows) != 50 {
		t.Errorf("%d rows on the last page", len(q.Rows))
	}
	var p pairAnswer
	s.post("/api/decide", `{"pair":"pair-02499","choice":"both_fine"}`, &p)
	if p.Progress.Open != 2_499 {
		t.Errorf("progress %+v", p.Progress)
	}
}

func TestFoldsOpenPieceByPiece(t *testing.T) {
	record, queue := night(t, 1)
	for _, e := range record.Episodes {
		steps := e.Steps[:1:1]
		for n := 1; n <= 300; n++ {
			steps = append(steps, step(n, "read", fmt.Sprintf(`{"n":%d}`, n), "ok"))
		}
		e.Steps = append(steps, e.Steps[7:]...)
	}
	s := serve(t, record, queue, nil)
	var p pairAnswer
	s.get("/api/pair?pair=pair-00000", &p)
	var f *fold
	for _, seg := range p.Transcript {
		if seg.Fold != nil {
			f = seg.Fold
		}
	}
	if f == nil || f.Kinds[rowEqual] != f.Count || f.Count < 250 {
		t.Fatalf("fold %+v of %d segments", f, len(p.Transcript))
	}
	want := f.Count
	got := 0
	for f != nil {
		var more struct{ Segments []segment[rowView] }
		s.get(fmt.Sprintf("/api/rows?%s&from=%d&count=%d", url.Values{"pair": {"pair-00000"}}.Encode(), f.From, f.Count), &more)
		f = nil
		for _, seg := range more.Segments {
			if seg.Fold != nil {
				f = seg.Fold
			} else {
				got++
			}
		}
	}
	if got != want {
		t.Errorf("%d rows came out of a fold of %d", got, want)
	}
}

func TestNewRefuses(t *testing.T) {
	record, queue := night(t, 1)
	open, err := pairing.OpenReview(record.Dir, record, queue, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	for name, o := range map[string]Options{
		"nobody":        {Review: open, Reviewers: []Reviewer{{"  ", testToken}}, Address: "127.0.0.1:1"},
		"no reviewers":  {Review: open, Address: "127.0.0.1:1"},
		"a name twice":  {Review: open, Reviewers: []Reviewer{{"maria", testToken}, {"maria", NewToken()}}, Address: "127.0.0.1:1"},
		"a token twice": {Review: open, Reviewers: []Reviewer{{"maria", testToken}, {"jon", testToken}}, Address: "127.0.0.1:1"},
		"no token":      {Review: open, Reviewers: []Reviewer{{"maria", ""}}, Address: "127.0.0.1:1"},
		"no address":    {Review: open, Reviewers: []Reviewer{{"maria", testToken}}},
	} {
		if _, err := New(o); err == nil {
			t.Errorf("%s: want an error", name)
		}
	}
}

// A pair whose episodes are not there any more is shown as far as the queue knows it.
func TestAPairWithoutItsEpisodes(t *testing.T) {
	record, queue := night(t, 1)
	gone := &replay.Record{Dir: record.Dir, Run: record.Run, Fixtures: record.Fixtures, Contexts: record.Contexts}
	s := serve(t, gone, queue, nil)
	var p pairAnswer
	if answer := s.get("/api/pair?pair=pair-00000", &p); strings.Contains(answer, `"transcript":null`) || len(p.Checks) == 0 {
		t.Errorf("the pair is %s", answer)
	}
}
