package labelling

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/pairing"
	"github.com/doubletake-dev/doubletake/replay"
)

func TestEvidence(t *testing.T) {
	w := newWorld(t, t.TempDir())
	f := w.fixture("plain", "All is well.")
	w.compacting(f, candidate, "They want a report.", "I did it.")
	w.pair(f, "reference", candidate)

	g := w.fixture("vouched", "Sent it.")
	trace := w.record.Episodes[len(w.record.Episodes)-1]
	trace.Status, trace.Context, trace.Exchanges = replay.Accepted, "", nil
	w.compacting(g, candidate, "Nothing is known.", "I asked.")
	w.pair(g, "reference", candidate)

	h := w.fixture("two", "The whole way.")
	w.compacting(h, incumbent, "Short one.", "One.")
	w.compacting(h, candidate, "Short two.", "Two.")
	w.pair(h, incumbent, candidate)

	cases, key := w.export(Options{Seed: 3, Stage: Grounded})
	type text struct{ role, seen, holds string }
	tests := []struct {
		id, arm string
		want    []text
		status  CaptureStatus
	}{
		{"plain", "reference", []text{{"seen", "true", "ledger of PLAIN"}, {"seen", "true", "And now the report."}, {"conversation", "true", "ledger of PLAIN"}, {"compaction", "false", "They want a report."}}, Captured},
		{"plain", candidate, []text{{"seen", "true", "They want a report."}, {"seen", "true", "written"}, {"conversation", "false", "three rows"}}, Captured},
		// What was in front of who made the trace is not known.
		{"vouched", "reference", []text{{"seen", "true", "written"}, {"conversation", "null", "ledger of VOUCHED"}, {"compaction", "false", "Nothing is known."}}, CaptureUnknown},
		{"vouched", candidate, []text{{"seen", "true", "Nothing is known."}, {"seen", "true", "written"}, {"conversation", "false", "ledger of VOUCHED"}}, Captured},
		{"two", incumbent, []text{{"seen", "true", "Short one."}, {"seen", "true", "written"}, {"conversation", "false", "ledger of TWO"}, {"compaction", "false", "Short two."}, {"reference", "false", "The whole way."}}, Captured},
		{"two", candidate, []text{{"seen", "true", "Short two."}, {"seen", "true", "written"}, {"conversation", "false", "ledger of TWO"}, {"compaction", "false", "Short one."}, {"reference", "false", "The whole way."}}, Captured},
	}
	for _, tt := range tests {
		t.Run(tt.id+" "+tt.arm, func(t *testing.T) {
			c, s := caseOf(t, cases, key, tt.id, tt.arm)
			if s.Capture.Status != tt.status {
				t.Errorf("capture %s, want %s", s.Capture.Status, tt.status)
			}
			if len(c.Request.Evidence) != len(tt.want) {
				t.Fatalf("%d texts of evidence, want %d: %+v", len(c.Request.Evidence), len(tt.want), c.Request.Evidence)
			}
			for i, e := range c.Request.Evidence {
				seen, err := json.Marshal(e.SeenByProducer)
				if err != nil {
					t.Fatal(err)
				}
				if want := tt.want[i]; string(e.Role) != want.role || string(seen) != want.seen || !strings.Contains(e.Text, want.holds) {
					t.Errorf("evidence %d is %s, seen %s: %q; want %+v", i, e.Role, seen, e.Text, want)
				}
			}
			if tt.status == CaptureUnknown && (s.Provenance.Model != nil || s.Provenance.PromptDigest != nil || s.Provenance.CostUSD != nil) {
				t.Errorf("provenance of an accepted trace: %+v, want unknown", s.Provenance)
			}
			if tt.status == Captured && (s.Provenance.Model == nil || *s.Provenance.CostUSD != 0.25 || s.Provenance.TimeMS != nil) {
				t.Errorf("provenance %+v", s.Provenance)
			}
		})
	}
}

// The conversation comes back whole from an episode that was compacted twice and then ran
// on, where no episode stood on all of it.
func TestConversationFromCompactions(t *testing.T) {
	w := newWorld(t, t.TempDir())
	f := w.fixture("long", "Sent.")
	trace := w.record.Episodes[0]
	trace.Status, trace.Context = replay.Accepted, ""
	e := w.episode(f, candidate, "Done.")
	all := conversationOf("long")
	short := []fixtures.Message{all[0], say(0, "user", "so far")}
	shorter := []fixtures.Message{all[0], say(0, "user", "so far, again")}
	e.Compactions = []replay.CompactionRecord{
		{Index: 0, AfterTurn: 1, Status: replay.Compacted, Before: w.put(all[:2]...), After: w.put(short...)},
		{Index: 1, AfterTurn: 3, Status: replay.Compacted, Before: w.put(append(short[:2:2], all[2:5]...)...), After: w.put(shorter...)},
		{Index: 2, AfterTurn: 9, Status: replay.Compacted, Before: "0000000000000000", After: "0000000000000000"}, // after the fork
	}
	e.Context = w.put(append(shorter[:2:2], all[5:]...)...)
	w.pair(f, "reference", candidate)
	cases, key := w.export(Options{})
	for _, arm := range []string{"reference", candidate} {
		c, _ := caseOf(t, cases, key, "long", arm)
		found := ""
		for _, x := range c.Request.Evidence {
			if x.Role == Conversation {
				found = x.Text
			}
		}
		if want := renderContext(all); found != want {
			t.Errorf("%s: the conversation is %q, want %q", arm, found, want)
		}
	}
}

func TestCaptures(t *testing.T) {
	tests := []struct {
		name   string
		change func(*world, *replay.Episode)
		want   CaptureStatus
		says   string
	}{
		{"played", func(*world, *replay.Episode) {}, Captured, ""},
		{"a provider's fault", func(_ *world, e *replay.Episode) { e.Status, e.Reason = replay.Faulted, "429" }, CaptureFailed, "429"},
		{"no compaction", func(_ *world, e *replay.Episode) { e.Status, e.Steps = replay.Void, nil }, CaptureFailed, "void"},
		{"silence", func(_ *world, e *replay.Episode) { e.Steps = e.Steps[:1] }, CaptureFailed, "nothing was said"},
		{"a status of a later version", func(_ *world, e *replay.Episode) { e.Status = "dreamt" }, CaptureUnknown, ""},
		{"the limit of steps", func(_ *world, e *replay.Episode) { e.End = replay.StepLimit }, Captured, "limit of steps"},
		{"a miss of the tape", func(_ *world, e *replay.Episode) { e.Steps[1].Source = replay.Miss }, Captured, "1 calls had no recorded result"},
		{"a context that is gone", func(_ *world, e *replay.Episode) { e.Context = "0123456789abcdef" }, CaptureFailed, "cannot be read"},
		{"another prefix", func(_ *world, e *replay.Episode) { e.PrefixHash = "0123456789abcdef" }, Captured, "cannot be put together"},
		{"a name in the text", func(_ *world, e *replay.Episode) { e.Steps[2].Text = "By " + candidate + "." }, Captured, candidate},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := demo(t, t.TempDir(), 1)
			tt.change(w, w.record.Episodes[1])
			cases, key := w.export(Options{})
			c, s := caseOf(t, cases, key, "talk-a", candidate)
			if s.Capture.Status != tt.want || !strings.Contains(strings.Join(s.Capture.Limitations, "\n"), tt.says) {
				t.Errorf("capture %+v, want %s with %q", s.Capture, tt.want, tt.says)
			}
			if failed := tt.want == CaptureFailed; failed != (c == nil) || failed != (s.CaseSHA256 == "") {
				t.Errorf("case %v, digest %q", c != nil, s.CaseSHA256)
			}
		})
	}
}

// Every digest and span is right by a calculation of its own, and the digest of the case
// covers nothing but the request.
func TestDigests(t *testing.T) {
	w := demo(t, t.TempDir(), 2)
	cases, key := w.export(Options{Seed: 9})
	grounded, _ := w.export(Options{Seed: 9, Stage: Grounded})
	for i, s := range key.Samples {
		if cases[i].CaseSHA256 != s.CaseSHA256 || grounded[i].CaseSHA256 != s.GroundingSHA256 || s.CaseSHA256 == s.GroundingSHA256 {
			t.Errorf("sample %s: digests %s and %s in the key", s.SampleID, s.CaseSHA256, s.GroundingSHA256)
		}
	}
	cases = append(cases, grounded...)
	hash := func(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text))) }
	for _, c := range cases {
		list := "doubletake case 1 " + string(c.Request.Stage) + "\noutput " + hash(c.Request.Output.Text) + "\n"
		for _, x := range c.Request.Claims {
			if c.Request.Output.Text[x.Start:x.End] != x.Text || hash(x.Text) != x.SHA256 {
				t.Errorf("claim %+v is not a span of %q", x, c.Request.Output.Text)
			}
			list += fmt.Sprintf("claim %s %d %d %s\n", x.ID, x.Start, x.End, x.SHA256)
		}
		for _, e := range c.Request.Evidence {
			if hash(e.Text) != e.SHA256 {
				t.Errorf("evidence %s: digest %s", e.ID, e.SHA256)
			}
			seen, err := json.Marshal(e.SeenByProducer)
			if err != nil {
				t.Fatal(err)
			}
			list += fmt.Sprintf("evidence %s %s %s %s\n", e.ID, e.Role, seen, e.SHA256)
		}
		if hash(list) != c.CaseSHA256 || hash(c.Request.Output.Text) != c.Request.Output.SHA256 {
			t.Errorf("case digest %s, want %s", c.CaseSHA256, hash(list))
		}
	}
}

func TestClaims(t *testing.T) {
	tests := []struct {
		text string
		most int
		want []string
		as   Coverage
	}{
		{"", 0, nil, Exhaustive},
		{"One. Two!  Three?", 0, []string{"One.", "Two!", "Three?"}, Exhaustive},
		{"A list:\n- first\n- second\n\n---\n", 0, []string{"A list:", "- first", "- second"}, Exhaustive},
		{"It costs 3.5 dollars. Zürich zahlt.", 0, []string{"It costs 3.5 dollars.", "Zürich zahlt."}, Exhaustive},
		{"One. Two. Three.", 2, []string{"One.", "Two."}, Selected},
		{"One. Two.\n---", 2, []string{"One.", "Two."}, Exhaustive},
	}
	for _, tt := range tests {
		output := "[turn 1] says:\n" + tt.text
		claims, as := claimsOf(output, span{len(output) - len(tt.text), len(output)}, tt.most)
		var got []string
		for _, c := range claims {
			got = append(got, output[c.Start:c.End])
		}
		if !reflect.DeepEqual(got, tt.want) || as != tt.as {
			t.Errorf("%q: %q, %s; want %q, %s", tt.text, got, as, tt.want, tt.as)
		}
	}
}

func FuzzClaims(f *testing.F) {
	f.Add("One. Two.", 0)
	f.Add("a\xffb. \u2028 c", 1)
	f.Fuzz(func(t *testing.T, said string, most int) {
		text, final := renderOutput([]replay.Step{{Kind: replay.StepText, Turn: 1, Text: said}})
		claims, _ := claimsOf(text, final, most)
		end := final.start
		for _, c := range claims {
			if err := checkSpan(text, c.Start, c.End); err != nil || text[c.Start:c.End] != c.Text || c.Start < end || c.End > final.end {
				t.Fatalf("claim %+v of %q: %v", c, text, err)
			}
			end = c.End
		}
	})
}

func written(t tester, cases []Case) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := WriteCases(&out, cases); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// The same export gives the same bytes, whatever the order of its pairs, and whichever
// side of a pair an arm is on.
func TestExportIsStable(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		w := demo(rt, filepath.Join(dir, "run"), rapid.IntRange(1, 8).Draw(rt, "pairs"))
		seed := rapid.Uint64().Draw(rt, "seed")
		cases, key := w.export(Options{Seed: seed})
		w.pairs = rapid.Permutation(w.pairs).Draw(rt, "order")
		for i := range w.pairs {
			if p := &w.pairs[i]; rapid.Bool().Draw(rt, "swap") {
				p.First, p.Second = p.Second, p.First
			}
		}
		again, _ := w.export(Options{Seed: seed})
		if !bytes.Equal(written(rt, cases), written(rt, again)) {
			rt.Fatal("swapping sides or pairs changed the cases")
		}
		pairs := map[string]string{}
		for _, s := range key.Samples {
			pairs[s.SampleID] = s.Pair
		}
		for i := 1; i < len(cases) && len(w.pairs) > 1; i++ {
			if pairs[cases[i].SampleID] == pairs[cases[i-1].SampleID] {
				rt.Fatal("the sides of a pair follow each other")
			}
		}
	})
}

func TestBlind(t *testing.T) {
	w := demo(t, t.TempDir(), 3)
	cases, key := w.export(Options{Seed: 4})
	var prompts bytes.Buffer
	if err := WritePrompts(&prompts, cases); err != nil {
		t.Fatal(err)
	}
	run := &w.record.Run
	secrets := []string{run.ID, w.record.Dir, agent, run.Plan.Lineage.JudgeModel, incumbent, candidate, "squeezer", `"arm"`, "fingerprint", "split", "held_out", "verdict", "loss", "rationale", "i1"}
	for _, f := range w.record.Fixtures {
		secrets = append(secrets, f.ConversationID, string(f.Hash))
	}
	for name, data := range map[string]string{"cases": string(written(t, cases)), "prompts": prompts.String()} {
		for _, secret := range secrets {
			if strings.Contains(data, secret) {
				t.Errorf("%s hold %q", name, secret)
			}
		}
	}
	// Evidence of the role is another matter than the arm of the name: these pairs have none.
	if strings.Contains(string(written(t, cases)), "reference") {
		t.Error("cases name the reference")
	}
	other, _ := w.export(Options{Seed: 5})
	for i := range other {
		for k := range cases {
			if other[i].SampleID == cases[k].SampleID || other[i].Group == cases[k].Group {
				t.Errorf("sample %s has the same names under another seed", other[i].SampleID)
			}
		}
	}
	if len(key.Samples) != 6 {
		t.Errorf("%d samples, want 6", len(key.Samples))
	}
}

// shapeOf is all of a case but its texts, names and numbers: what tells arms apart without
// reading them. Evidence keeps its roles and what is said of who saw it.
func shapeOf(t *testing.T, line []byte) string {
	t.Helper()
	var value any
	if err := json.Unmarshal(line, &value); err != nil {
		t.Fatal(err)
	}
	var blank func(any, string) any
	blank = func(v any, name string) any {
		switch v := v.(type) {
		case map[string]any:
			for key := range v {
				v[key] = blank(v[key], key)
			}
			return v
		case []any:
			for i := range v {
				v[i] = blank(v[i], "")
			}
			return v
		case string:
			if name != "role" && name != "stage" && name != "id" {
				return "text"
			}
		case float64:
			return "number"
		}
		return v
	}
	shape, err := json.Marshal(blank(value, ""))
	if err != nil {
		t.Fatal(err)
	}
	return string(shape)
}

// In the blind stage the cases of a pair have one shape: the same keys, roles, flags and
// lengths of lists, and no order that says which is which. In the grounding stage they
// do not, and say which stage it is.
func TestBlindStageTellsNothing(t *testing.T) {
	w := newWorld(t, t.TempDir())
	worlds := []func(*fixtures.Fixture){
		func(f *fixtures.Fixture) {
			w.compacting(f, candidate, "They want a report.", "All is lost. Two rows.")
			w.pair(f, "reference", candidate)
		},
		func(f *fixtures.Fixture) { // the one side was vouched for
			trace := w.record.Episodes[len(w.record.Episodes)-1]
			trace.Status, trace.Context, trace.Exchanges = replay.Accepted, "", nil
			w.compacting(f, candidate, "They want a report.", "All is lost. Two rows.")
			w.pair(f, "reference", candidate)
		},
		func(f *fixtures.Fixture) { // one side called nothing, and nobody spoke to it
			e := w.compacting(f, candidate, "They want a report.", "All is lost. Two rows.")
			e.Steps = e.Steps[2:]
			w.pair(f, candidate, "reference")
		},
		func(f *fixtures.Fixture) { // both were compacted
			w.compacting(f, incumbent, "Short.", "All is well. Two rows.")
			w.compacting(f, candidate, "Shorter.", "All is lost. Two rows.")
			w.pair(f, incumbent, candidate)
		},
		func(f *fixtures.Fixture) { // they did not start from the same turns
			w.compacting(f, candidate, "They want a report.", "All is lost. Two rows.").PrefixHash = "0123456789abcdef"
			w.pair(f, "reference", candidate)
		},
	}
	for i, add := range worlds {
		add(w.fixture(fmt.Sprintf("talk-%c", 'a'+i), "All is well. Two rows."))
	}
	first, seeds := 0, 200
	for seed := range seeds {
		cases, key := w.export(Options{Seed: uint64(seed)})
		shapes, at := map[string]string{}, map[string]int{}
		lines := bytes.Split(written(t, cases), []byte("\n"))
		for i, s := range key.Samples {
			shape := shapeOf(t, lines[i])
			if other, ok := shapes[s.Pair]; ok && other != shape {
				t.Fatalf("pair %s:\n%s\n%s", s.Pair, other, shape)
			}
			shapes[s.Pair] = shape
			if strings.Contains(shape, string(Compaction)) || !strings.Contains(shape, `"stage":"blind"`) {
				t.Fatalf("blind case %s", shape)
			}
			if s.Pair == "talk-a" {
				at[s.Arm] = i
			}
		}
		if at[candidate] < at["reference"] {
			first++
		}
	}
	// 200 throws of a fair coin are outside of 70 to 130 once in 40,000 times.
	if first < 70 || first > 130 {
		t.Errorf("the compacted side comes first under %d of %d seeds", first, seeds)
	}
	grounded, key := w.export(Options{Seed: 1, Stage: Grounded})
	blind, _ := w.export(Options{Seed: 1})
	for i, c := range grounded {
		if c.Request.Stage != Grounded || c.SampleID != blind[i].SampleID || c.CaseSHA256 == blind[i].CaseSHA256 {
			t.Errorf("case %d: stage %s, digest %s", i, c.Request.Stage, c.CaseSHA256)
		}
	}
	c, _ := caseOf(t, grounded, key, "talk-a", "reference")
	if !slices.ContainsFunc(c.Request.Evidence, func(e Evidence) bool { return e.Role == Compaction }) {
		t.Error("the grounding stage lacks the other side's context")
	}
}

func TestIdenticalOutputsHaveTheirOwnSample(t *testing.T) {
	w := newWorld(t, t.TempDir())
	f := w.fixture("twins", "Whole.")
	w.compacting(f, incumbent, "Same.", "Same.")
	w.compacting(f, candidate, "Same.", "Same.")
	w.pair(f, incumbent, candidate)
	cases, _ := w.export(Options{})
	if len(cases) != 2 || cases[0].CaseSHA256 != cases[1].CaseSHA256 || cases[0].SampleID == cases[1].SampleID || cases[0].Group != cases[1].Group {
		t.Errorf("%+v", cases)
	}
}

func TestExportRefuses(t *testing.T) {
	tests := []struct {
		name   string
		change func(*world)
		want   string
	}{
		{"an episode that is not there", func(w *world) { w.pairs[0].Second.Arm = "nobody" }, "no episode"},
		{"a fixture that is not there", func(w *world) { w.pairs[0].Fixture = "nothing" }, "no fixture"},
		{"an episode in two pairs", func(w *world) { w.pairs = append(w.pairs, w.pairs[0]) }, "two pairs"},
	}
	for _, tt := range tests {
		w := demo(t, t.TempDir(), 1)
		tt.change(w)
		if _, _, err := Export(w.record, w.pairs, Options{}); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
}

func TestLiterals(t *testing.T) {
	cases, key := demo(t, t.TempDir(), 1).export(Options{})
	_, s := caseOf(t, cases, key, "talk-a", candidate)
	want := []LiteralCheck{
		{"i1", OutputText, "", LiteralAbstain}, {"i1", "e1", Seen, LiteralAbstain},
		{"i1", "e2", Seen, LiteralAbstain}, {"i1", "e3", Conversation, LiteralPresent},
	}
	if !reflect.DeepEqual(s.Literals, want) {
		t.Errorf("%+v, want %+v", s.Literals, want)
	}
}

func TestKeyFile(t *testing.T) {
	w := demo(t, t.TempDir(), 2)
	if _, err := ReadKey(w.record.Dir); err == nil || !strings.Contains(err.Error(), "nothing was exported") {
		t.Errorf("without a key: %v", err)
	}
	_, key := w.export(Options{Seed: 1, Frame: AllPairs})
	for range 2 { // the same export again is no fault
		if err := WriteKey(w.record.Dir, key); err != nil {
			t.Fatal(err)
		}
	}
	got, err := ReadKey(w.record.Dir)
	if err != nil || !reflect.DeepEqual(got, key) {
		t.Errorf("%+v, %v; want %+v", got, err, key)
	}
	_, other := w.export(Options{Seed: 2})
	if err := WriteKey(w.record.Dir, other); err == nil || !strings.Contains(err.Error(), "exported otherwise") {
		t.Errorf("another export: %v", err)
	}
	path := filepath.Join(w.record.Dir, Dir, KeyFile)
	for _, broken := range []string{"", "{\n"} {
		if err := os.WriteFile(path, []byte(broken), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadKey(w.record.Dir); err == nil || !strings.Contains(err.Error(), KeyFile) {
			t.Errorf("%q: %v", broken, err)
		}
	}
}

func TestReadPairs(t *testing.T) {
	w := demo(t, t.TempDir(), 2)
	queue := []pairing.Entry{{Pair: w.pairs[0]}}
	if err := pairing.WriteQueue(w.record.Dir, queue); err != nil {
		t.Fatal(err)
	}
	if err := pairing.WriteLines(filepath.Join(w.record.Dir, replay.PairsFile), w.pairs); err != nil {
		t.Fatal(err)
	}
	for frame, want := range map[Frame]int{Discordant: 1, AllPairs: 2} {
		pairs, err := ReadPairs(w.record.Dir, frame)
		if err != nil || len(pairs) != want {
			t.Errorf("%s: %d pairs, %v; want %d", frame, len(pairs), err, want)
		}
	}
	if _, err := ReadPairs(w.record.Dir, "some"); err == nil {
		t.Error("a frame that is none was read")
	}
}
