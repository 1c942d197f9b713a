package history

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/doubletake-dev/doubletake/analysis"
	"github.com/doubletake-dev/doubletake/replay"
)

// stored is a run directory with a run and its report, and nothing that would let the
// verdict be found anew.
type stored struct {
	run    replay.Run
	report map[string]any
}

func newStored(id string, day int) stored {
	run := replay.Run{Version: replay.RunVersion, ID: id, Started: time.Date(2026, 3, day, 2, 0, 0, 0, time.UTC)}
	run.Plan = replay.Plan{
		Command: "nightly", Fixtures: 3,
		Lineage: replay.Lineage{Program: "1", AgentModel: "agent", JudgeModel: "judge", SetName: "set", SetVersion: "1"},
		Arms: []replay.ArmInfo{
			{Name: "reference", Role: analysis.RoleReference, Kind: replay.ReferenceArm},
			{Name: "mine", Role: analysis.RoleCandidate, Kind: replay.CompactorArm, Digest: "aaaaaaaaaaaaaaaa"},
		},
	}
	return stored{run, map[string]any{
		"version": analysis.ReportVersion, "run": id, "command": "nightly", "verdict": "regressed", "baseline": "reference", "candidate": "mine",
		"pairs": map[string]any{"total": 3, "losses": 1, "gains": 0}, "contradictions": 2,
		"disagreements": []any{map[string]any{"id": "one", "cell": "loss"}},
		"not_paired":    []any{},
		"gates":         []any{map[string]any{"name": "constraint", "value": 0.5, "floor": 0.95, "status": "REGRESSED"}},
		"control":       map[string]any{"discordant_share": 0.125},
		"usage":         map[string]any{"requests": 10, "cached": 4, "cost_usd": 0.25},
	}}
}

func (s stored) write(t *testing.T, dir string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if s.report["lineage"] == nil {
		s.report["lineage"] = s.run.Plan.Lineage
	}
	if s.report["arms"] == nil {
		s.report["arms"] = s.run.Plan.Arms
	}
	if err := errors.Join(replay.WriteJSON(filepath.Join(dir, replay.RunFile), s.run), replay.WriteJSON(filepath.Join(dir, "report.json"), s.report)); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, dir string, options Options) *History {
	t.Helper()
	h, err := Read(dir, options)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func TestReadGathersByLineage(t *testing.T) {
	dir := t.TempDir()
	first := newStored("n1", 1)
	second := newStored("n2", 2)
	second.run.Plan.Arms[1].Digest = "bbbbbbbbbbbbbbbb"
	second.run.Plan.Quarantined = []string{"three, until 2026-12-31: flaky"}
	second.report["disagreements"] = []any{map[string]any{"id": "two", "cell": "gain"}}
	third := newStored("n3", 3)
	third.report["disagreements"] = []any{}
	third.report["not_paired"] = []any{map[string]any{"id": "two"}}
	other := newStored("n4", 4)
	other.run.Plan.Lineage.AgentModel = "another"
	for name, s := range map[string]stored{"c": first, "b": second, filepath.Join("deep", "below", "a"): third, "d": other, "copy": first} {
		s.write(t, filepath.Join(dir, name))
	}
	if err := os.MkdirAll(filepath.Join(dir, "bad"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "bad", replay.RunFile), []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}

	h := read(t, dir, Options{})
	if len(h.Lineages) != 2 || len(h.Lineages[0].Nights) != 3 || len(h.Lineages[1].Nights) != 1 {
		t.Fatalf("lineages %+v", h.Lineages)
	}
	if want := []string{"agent model: agent there, another here"}; !reflect.DeepEqual(h.Lineages[1].Differences, want) {
		t.Errorf("differences %q, want %q", h.Lineages[1].Differences, want)
	}
	n := h.Lineages[0].Nights
	if n[0].Run != "n1" || n[1].Run != "n2" || n[2].Run != "n3" {
		t.Errorf("order %s %s %s", n[0].Run, n[1].Run, n[2].Run)
	}
	if n[0].New != nil || n[0].Vanished != nil {
		t.Errorf("the first night has new %v and vanished %v", n[0].New, n[0].Vanished)
	}
	if want := []Disagreement{{"two", "gain"}}; !reflect.DeepEqual(n[1].New, want) {
		t.Errorf("new %v, want %v", n[1].New, want)
	}
	if want := []Disagreement{{"one", "loss"}}; !reflect.DeepEqual(n[1].Vanished, want) {
		t.Errorf("vanished %v, want %v", n[1].Vanished, want)
	}
	// A pair without an outcome has not vanished: nothing is known of it.
	if want := []Disagreement{{"two", "gain"}}; !reflect.DeepEqual(n[2].Unknown, want) || len(n[2].Vanished) != 0 {
		t.Errorf("unknown %v, vanished %v", n[2].Unknown, n[2].Vanished)
	}
	if want := []string{"candidate: mine has changed (digest aaaaaaaa there, bbbbbbbb here)"}; !reflect.DeepEqual(n[1].Changed, want) {
		t.Errorf("changed %q, want %q", n[1].Changed, want)
	}
	if n[0].NoiseFloor == nil || *n[0].NoiseFloor != 0.125 || n[0].Requests != 10 || *n[0].CostUSD != 0.25 || n[0].Losses != 1 || n[0].Contradictions != 2 {
		t.Errorf("night %+v", n[0])
	}
	if len(h.Skipped) != 2 || !strings.HasSuffix(h.Skipped[0].Dir, "bad") || !strings.Contains(h.Skipped[1].Reason, "copy of the run") {
		t.Errorf("skipped %+v", h.Skipped)
	}
	if last := read(t, dir, Options{Last: 1}); len(last.Lineages[0].Nights) != 1 || len(last.Lineages[0].Nights[0].Unknown) != 1 {
		t.Errorf("the last night alone: %+v", last.Lineages[0].Nights)
	}
}

// A report that is not of the run as it lies there is not believed. Here nothing else lies
// there, so that such a run is left out, with a reason.
func TestReportIsNotBelieved(t *testing.T) {
	for name, change := range map[string]func(*stored){
		"another run":     func(s *stored) { s.report["run"] = "n9" },
		"other arms":      func(s *stored) { s.report["arms"] = s.run.Plan.Arms[:1]; delete(s.report, "run") },
		"another lineage": func(s *stored) { s.report["lineage"] = replay.Lineage{JudgeModel: "before"} },
		"another version": func(s *stored) { s.report["version"] = 99 },
		"unfinished":      func(s *stored) { s.report["unfinished"] = map[string]any{"episodes": 1} },
		"stopped early": func(s *stored) {
			s.report["stopping"] = map[string]any{"certain": true, "fixtures": 1, "of_fixtures": 3}
		},
	} {
		dir := t.TempDir()
		s := newStored("n1", 1)
		change(&s)
		s.write(t, filepath.Join(dir, "run"))
		if h := read(t, dir, Options{}); len(h.Skipped) != 1 || len(h.Lineages) != 0 {
			t.Errorf("%s: %+v", name, h)
		}
	}
	dir := t.TempDir()
	now := newStored("n1", 1) // reports of now do not hold the run's id
	delete(now.report, "run")
	now.write(t, dir)
	if h := read(t, dir, Options{}); len(h.Lineages) != 1 {
		t.Errorf("a run directory itself: %+v", h)
	}
	if h := read(t, dir, Options{Recompute: true}); len(h.Skipped) != 1 {
		t.Errorf("recomputing read report.json: %+v", h)
	}
}

func TestReadNothing(t *testing.T) {
	if _, err := Read(t.TempDir(), Options{}); !errors.Is(err, ErrNoRun) {
		t.Errorf("an empty folder: %v", err)
	}
	if _, err := Read(filepath.Join(t.TempDir(), "none"), Options{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no folder: %v", err)
	}
}

func TestText(t *testing.T) {
	dir := t.TempDir()
	first, second := newStored("n1", 1), newStored("n2", 2)
	second.report["disagreements"] = []any{}
	second.report["pairs"] = map[string]any{"total": 3, "losses": 0, "gains": 0}
	first.write(t, filepath.Join(dir, "a"))
	second.write(t, filepath.Join(dir, "b"))
	h := read(t, dir, Options{})
	for i, name := range []string{"a", "b"} {
		h.Lineages[0].Nights[i].Dir = "runs/" + name
	}
	var out bytes.Buffer
	if err := Text(&out, h, Style{Gates: true}); err != nil {
		t.Fatal(err)
	}
	golden(t, "history.txt", out.String())
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("the text is not that of %s:\n%s", path, got)
	}
}

// Texts of runs are data: nothing of them acts in a page or at a terminal.
func TestHostileNames(t *testing.T) {
	dir := t.TempDir()
	for i, id := range []string{"n1", "n2"} {
		s := newStored(id, i+1)
		s.run.Plan.Lineage.AgentModel = "<script>alert(1)</script>\x1b[31m"
		s.report["disagreements"] = []any{map[string]any{"id": id + "<img src=x onerror=alert(1)>\u202e\x1b]0;x\x07", "cell": "loss"}}
		s.write(t, filepath.Join(dir, id))
	}
	h := read(t, dir, Options{})
	var page, text bytes.Buffer
	if err := errors.Join(HTML(&page, h), Text(&text, h, Style{})); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"<script", "<img src=x", "\x1b", "\u202e", "\x07"} {
		if strings.Contains(page.String(), bad) {
			t.Errorf("the page holds %q", bad)
		}
	}
	if strings.ContainsAny(text.String(), "\x1b\u202e\x07") {
		t.Errorf("the text holds control characters: %q", text.String())
	}
	for _, want := range []string{"Content-Security-Policy", "default-src &#39;none&#39;", "prefers-color-scheme: dark", "data:image/svg&#43;xml;base64,"} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("the page has no %q", want)
		}
	}
	if again := new(bytes.Buffer); HTML(again, h) != nil || !bytes.Equal(again.Bytes(), page.Bytes()) {
		t.Error("the same history gives another page")
	}
}

func TestGatesOfTwoRuns(t *testing.T) {
	half, whole := 0.5, 1.0
	d := &Diff{}
	d.gates([]analysis.Gate{{Name: "same", Value: &half, Status: analysis.GatePass}, {Name: "only a", Value: &half, Status: analysis.GatePass}},
		[]analysis.Gate{{Name: "same", Value: &half, Status: analysis.GatePass}, {Name: "only b", Value: &whole, Status: analysis.GateRegressed}})
	want := []GateMove{
		{Name: "same", A: &half, B: &half, StatusA: analysis.GatePass, StatusB: analysis.GatePass},
		{Name: "only a", A: &half, StatusA: analysis.GatePass, Moved: true},
		{Name: "only b", B: &whole, StatusB: analysis.GateRegressed, Moved: true},
	}
	if !reflect.DeepEqual(d.Gates, want) {
		got, _ := json.Marshal(d.Gates)
		t.Errorf("gates %s", got)
	}
}

func TestOrderOfMoves(t *testing.T) {
	for _, test := range []struct {
		from, to replay.Verdict
		worse    bool
		order    int
	}{
		{replay.Verbatim, replay.Absent, true, 0},
		{replay.Absent, replay.Contradicted, true, 0},
		{replay.Retired, replay.Stale, true, 0},
		{replay.Absent, replay.Supported, false, 1},
		{replay.Supported, replay.Unjudged, false, 2},
		{replay.Unjudged, replay.Absent, false, 2},
	} {
		worse := rank(test.from) >= 0 && rank(test.from) < rank(test.to)
		if m := (DecisionMove{From: test.from, To: test.to, Worse: worse}); worse != test.worse || order(m) != test.order {
			t.Errorf("%s to %s: worse %v, order %d", test.from, test.to, worse, order(m))
		}
	}
}

// What was not played, or has no outcome, counts as unknown: it neither vanished nor is it
// new once it is played again.
func TestUnknownIsNoChange(t *testing.T) {
	loss := func(pair string) Disagreement { return Disagreement{pair, "loss"} }
	night := func(scored string, lost ...string) *Night {
		n := &Night{Disagreements: []Disagreement{}, Unknown: []Disagreement{}, scored: map[string]bool{}}
		for _, pair := range strings.Fields(scored) {
			n.scored[pair] = true
		}
		for _, pair := range lost {
			n.Disagreements = append(n.Disagreements, loss(pair))
		}
		return n
	}
	nights := []*Night{
		night("a b c", "a", "b"),
		night("c", "c"),            // stopped after one pair
		night("a b c d", "a", "d"), // played whole, b mended; d had no outcome before
		night("b c d", "b", "c"),   // a has no outcome
		night("a b c d", "b", "d"), // a is mended, as its last outcome was a loss
	}
	h := &History{}
	for i, n := range nights {
		n.Run, n.Started = string(rune('1'+i)), time.Date(2026, 3, i+1, 2, 0, 0, 0, time.UTC)
	}
	h.gather(nights)
	for i, want := range []struct{ fresh, vanished, first, unknown string }{
		{},
		{fresh: "c", unknown: "a b"},
		{vanished: "b c", first: "d"},
		{fresh: "b c", vanished: "d", unknown: "a"},
		{fresh: "d", vanished: "a c"},
	} {
		names := func(list []Disagreement) string {
			var pairs []string
			for _, d := range list {
				pairs = append(pairs, d.Pair)
			}
			return strings.Join(pairs, " ")
		}
		n := nights[i]
		if got := [4]string{names(n.New), names(n.Vanished), names(n.First), names(n.Unknown)}; got != [4]string{want.fresh, want.vanished, want.first, want.unknown} {
			t.Errorf("night %d: new, vanished, first, unknown %q, want %+v", i+1, got, want)
		}
	}
}
