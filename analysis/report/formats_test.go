package report

import (
	"bytes"
	"encoding/csv"
	"encoding/hex"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"pgregory.net/rapid"

	"github.com/doubletake-dev/doubletake/analysis"
	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/pairing"
	"github.com/doubletake-dev/doubletake/replay"
)

// started is the begin of the nights whose reports have times.
func started() time.Time { return time.Date(2026, 3, 11, 2, 0, 0, 0, time.UTC) }

// datedNight is nightOf with a begin and something in quarantine.
func datedNight(t testing.TB, n int, w words) *analysis.Night {
	t.Helper()
	found := nightOf(t, t.TempDir(), n, w)
	found.Record.Run.Started = started()
	found.Record.Run.Plan.Quarantined = []string{w.id + "-apart, until 2026-12-31: " + w.reason}
	for _, f := range found.Record.Fixtures {
		f.Path = f.ConversationID + ".json"
	}
	return found
}

func written(t testing.TB, write func(io.Writer) error) string {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// formats are all that are written from a night, by the name of their golden files.
func formats(found *analysis.Night) map[string]func(io.Writer) error {
	return map[string]func(io.Writer) error{
		"night.junit.xml": func(out io.Writer) error { return JUnit(out, found) },
		"night.pr.md":     func(out io.Writer) error { return PullRequest(out, found.Report) },
		"pairs.csv":       func(out io.Writer) error { return PairsCSV(out, found) },
		"items.csv":       func(out io.Writer) error { return ItemsCSV(out, found) },
		"night.om":        func(out io.Writer) error { return OpenMetrics(out, found.Report) },
		"night.otel.jsonl": func(out io.Writer) error {
			return OpenTelemetry(out, found)
		},
		"night.annotations": func(out io.Writer) error {
			return Annotations(out, found.Report, func(id string) string { return "evals/" + id + ".json" })
		},
	}
}

func TestFormatsGolden(t *testing.T) {
	for name, write := range formats(datedNight(t, 2, plainWords())) {
		got := written(t, write)
		path := filepath.Join("testdata", name)
		if *update {
			if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatalf("%v; write it with -update", err)
		}
		if got != string(want) {
			t.Errorf("%s differs; look at it, then write it with -update:\n%s", path, got)
		}
	}
}

func TestFormatsSameBytes(t *testing.T) {
	one, two := formats(datedNight(t, 3, hostileWords())), formats(datedNight(t, 3, hostileWords()))
	for name := range one {
		if a, b := written(t, one[name]), written(t, two[name]); a != b {
			t.Errorf("%s: the same night gives other bytes", name)
		}
	}
}

// TestCriticalLossesStandFirst holds that every format that lists the pairs says which loss
// is critical, and has it before the others, though it is not the first of the set.
func TestCriticalLossesStandFirst(t *testing.T) {
	found := datedNight(t, 3, plainWords())
	found.Record.Fixtures[1].Checks[0].Severity = fixtures.Catastrophic
	found, err := analysis.Analyse(found.Record)
	if err != nil {
		t.Fatal(err)
	}
	writers := formats(found)
	writers["report.txt"] = func(out io.Writer) error { return Text(out, found.Report, Style{}) }
	writers["report.md"] = func(out io.Writer) error { return Markdown(out, found.Report) }
	writers["report.html"] = func(out io.Writer) error {
		return HTML(out, Page{Report: found.Report, Record: found.Record, Queue: found.Queue})
	}
	for name, says := range map[string]string{
		"report.txt": "CRITICAL LOSS  harbour-1", "report.md": "| critical loss | harbour-1 |", "night.pr.md": "| critical loss | harbour-1 |",
		"report.html":       `<span class="tag bad">critical loss</span> <bdi>harbour-1</bdi>`,
		"night.junit.xml":   `<failure type="critical loss" message="critical loss at turn 5: constraint c1 of turn 1 absent">`,
		"night.otel.jsonl":  `{"key":"doubletake.cell","value":{"stringValue":"critical loss"}}`,
		"pairs.csv":         ",The draft is sent,true\n",
		"night.annotations": "critical loss in harbour-1",
	} {
		text := written(t, writers[name])
		if !strings.Contains(text, says) {
			t.Errorf("%s does not have %q:\n%s", name, says, text)
		}
		if first, other := strings.Index(text, "harbour-1"), strings.Index(text, "harbour-0"); first < 0 || first > other {
			t.Errorf("%s: the critical loss stands at %d, another one at %d", name, first, other)
		}
	}
	if text := written(t, writers["night.otel.jsonl"]); strings.Count(text, `"severityNumber":17`) != 1 {
		t.Errorf("want one event of severity ERROR:\n%s", text)
	}
}

// TestFormatsFail holds that no writer keeps an error to itself.
func TestFormatsFail(t *testing.T) {
	full := errors.New("the disk is full")
	for name, write := range formats(datedNight(t, 1, plainWords())) {
		if err := write(failing{full}); !errors.Is(err, full) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

// junitShape is what elements of JUnit XML may hold, as CI servers' schemas have it:
// attributes that must and that may be there, and elements inside.
func junitShape() map[string]struct{ must, may, inside []string } {
	note := struct{ must, may, inside []string }{nil, []string{"type", "message"}, nil}
	return map[string]struct{ must, may, inside []string }{
		"testsuites": {nil, []string{"name", "tests", "failures", "errors", "time"}, []string{"testsuite"}},
		"testsuite":  {[]string{"name", "tests", "failures", "errors"}, []string{"skipped", "timestamp", "time", "hostname", "id", "package"}, []string{"properties", "testcase", "system-out", "system-err"}},
		"properties": {nil, nil, []string{"property"}},
		"property":   {[]string{"name", "value"}, nil, nil},
		"testcase":   {[]string{"name"}, []string{"classname", "time"}, []string{"failure", "error", "skipped", "system-out", "system-err"}},
		"failure":    note, "error": note, "skipped": note, "system-out": {}, "system-err": {},
	}
}

// checkJUnit reads a report as strictly as a schema would, and counts its cases.
func checkJUnit(t *testing.T, text string) {
	t.Helper()
	shapes := junitShape()
	d := xml.NewDecoder(strings.NewReader(text))
	var open []string
	counts := []map[string]int{}
	stated := []map[string]int{}
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("no XML: %v", err)
		}
		switch x := token.(type) {
		case xml.StartElement:
			name := x.Name.Local
			shape, known := shapes[name]
			if !known {
				t.Fatalf("element %s", name)
			}
			if len(open) == 0 && name != "testsuites" {
				t.Fatalf("the root is %s", name)
			}
			if len(open) > 0 && !slices.Contains(shapes[open[len(open)-1]].inside, name) {
				t.Fatalf("%s inside %s", name, open[len(open)-1])
			}
			have := map[string]string{}
			for _, a := range x.Attr {
				have[a.Name.Local] = a.Value
				if !slices.Contains(shape.must, a.Name.Local) && !slices.Contains(shape.may, a.Name.Local) {
					t.Errorf("attribute %s of %s", a.Name.Local, name)
				}
			}
			for _, must := range shape.must {
				if _, ok := have[must]; !ok {
					t.Errorf("%s has no %s", name, must)
				}
			}
			if name == "testsuites" || name == "testsuite" {
				numbers := map[string]int{}
				for _, key := range []string{"tests", "failures", "errors", "skipped"} {
					if value, ok := have[key]; ok {
						if numbers[key], err = strconv.Atoi(value); err != nil {
							t.Errorf("%s of %s: %v", key, name, err)
						}
					}
				}
				stated = append(stated, numbers)
				counts = append(counts, map[string]int{})
			}
			for _, c := range counts {
				switch name {
				case "testcase":
					c["tests"]++
				case "failure":
					c["failures"]++
				case "error":
					c["errors"]++
				case "skipped":
					c["skipped"]++
				}
			}
			open = append(open, name)
		case xml.EndElement:
			if x.Name.Local == "testsuite" || x.Name.Local == "testsuites" {
				last := len(counts) - 1
				for key, want := range stated[last] {
					if counts[last][key] != want {
						t.Errorf("%s says %d %s and has %d", x.Name.Local, want, key, counts[last][key])
					}
				}
				counts, stated = counts[:last], stated[:last]
			}
			open = open[:len(open)-1]
		}
	}
}

func TestJUnit(t *testing.T) {
	for _, w := range []words{plainWords(), hostileWords()} {
		found := datedNight(t, 2, w)
		text := written(t, func(out io.Writer) error { return JUnit(out, found) })
		checkJUnit(t, text)
		for _, r := range text {
			if r < 0x20 && r != '\n' && r != '\t' || r == utf8.RuneError || r == 0x202e {
				t.Fatalf("the report has the character %U", r)
			}
		}
	}
	text := written(t, func(out io.Writer) error { return JUnit(out, datedNight(t, 2, plainWords())) })
	for _, want := range []string{
		`<failure type="loss" message="loss at turn 5: constraint c1 of turn 1 absent">`, // item and turn
		`<skipped type="void" message="brief: the provider is down">`,
		`<skipped type="quarantine" message="in quarantine: harbour-apart, until 2026-12-31: the provider is down">`,
		`name="items: constraint"`, `name="gates"`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the report does not have %s:\n%s", want, text)
		}
	}
}

// TestJUnitUnscored holds that a fault of the world is an error, and no failure.
func TestJUnitUnscored(t *testing.T) {
	found := datedNight(t, 1, plainWords())
	for i := range found.Pairs {
		found.Pairs[i].Cell, found.Pairs[i].Reason = pairing.Unscored, "brief: the budget is spent"
	}
	found.Queue = nil
	text := written(t, func(out io.Writer) error { return JUnit(out, found) })
	checkJUnit(t, text)
	if strings.Count(text, `<error type="unscored" message="brief: the budget is spent">`) != len(found.Pairs) {
		t.Errorf("unscored pairs are no errors:\n%s", text)
	}
}

// TestOpenMetrics reads the text with the parser of Prometheus, and holds what OpenMetrics
// asks for beyond that.
func TestOpenMetrics(t *testing.T) {
	for _, w := range []words{plainWords(), hostileWords()} {
		text := written(t, func(out io.Writer) error { return OpenMetrics(out, datedNight(t, 2, w).Report) })
		parser := expfmt.NewTextParser(model.LegacyValidation)
		families, err := parser.TextToMetricFamilies(strings.NewReader(text))
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		pairs := map[string]float64{}
		for _, m := range families["doubletake_pairs"].GetMetric() {
			for _, l := range m.GetLabel() {
				if l.GetName() == "cell" {
					pairs[l.GetValue()] = m.GetGauge().GetValue()
				}
			}
		}
		if pairs["loss"] != 2 || pairs["void"] != 1 || len(pairs) != 7 {
			t.Errorf("pairs %v", pairs)
		}
		checkOpenMetrics(t, text)
	}
}

func checkOpenMetrics(t *testing.T, text string) {
	t.Helper()
	if !utf8.ValidString(text) || !strings.HasSuffix(text, "\n# EOF\n") || strings.Count(text, "# EOF") != 1 {
		t.Error("it does not end as it must")
	}
	family, seen, samples := "", map[string]bool{}, map[string]bool{}
	for _, line := range strings.Split(strings.TrimSuffix(text, "# EOF\n"), "\n") {
		switch {
		case line == "":
		case strings.HasPrefix(line, "# TYPE "):
			family = strings.Fields(line)[2]
			if seen[family] {
				t.Errorf("the samples of %s do not stand together", family)
			}
			seen[family] = true
			if !strings.HasSuffix(line, " gauge") || !strings.HasPrefix(family, "doubletake_") {
				t.Errorf("%s", line)
			}
		case strings.HasPrefix(line, "# UNIT "):
			if unit := strings.Fields(line)[3]; !strings.HasSuffix(family, "_"+unit) {
				t.Errorf("%s does not end in its unit %s", family, unit)
			}
		case strings.HasPrefix(line, "# HELP "+family+" "):
		default:
			series, value, ok := strings.Cut(line, "} ")
			if !ok || !strings.HasPrefix(series, family+"{") {
				t.Errorf("%s stands in %s", line, family)
			}
			if _, err := strconv.ParseFloat(value, 64); err != nil {
				t.Errorf("%s has a time or no number: %v", line, err)
			}
			if samples[series] {
				t.Errorf("%s stands twice", series)
			}
			samples[series] = true
		}
	}
}

func TestCSV(t *testing.T) {
	w := hostileWords()
	w.id, w.literal, w.title = "=cmd|' /C calc'!A0", "+1+1", "@sum, \"a\"\r\nb"
	found := datedNight(t, 2, w)
	for name, rows := range map[string]int{"pairs.csv": 4, "items.csv": 3} {
		table, err := csv.NewReader(strings.NewReader(written(t, formats(found)[name]))).ReadAll()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if len(table) != rows {
			t.Errorf("%s has %d rows, want %d", name, len(table), rows)
		}
		for _, row := range table {
			for _, cell := range row {
				if _, err := strconv.ParseFloat(cell, 64); err != nil && cell != "" && strings.ContainsRune("=+-@\t\r", rune(cell[0])) {
					t.Errorf("%s: a spreadsheet would run %q", name, cell)
				}
			}
		}
	}
}

// TestOpenTelemetry holds what OTLP and the semantic conventions ask for.
func TestOpenTelemetry(t *testing.T) {
	found := datedNight(t, 2, hostileWords())
	text := written(t, func(out io.Writer) error { return OpenTelemetry(out, found) })
	spans := map[string]string{}
	events := map[string]int{}
	for _, line := range strings.Split(strings.TrimSpace(text), "\n") {
		var logs otlpLogs
		dec := json.NewDecoder(strings.NewReader(line))
		dec.DisallowUnknownFields()
		if err := dec.Decode(&logs); err != nil {
			t.Fatal(err)
		}
		for _, record := range logs.ResourceLogs[0].ScopeLogs[0].LogRecords {
			attributes := map[string]otlpValue{}
			for _, a := range record.Attributes {
				if _, twice := attributes[a.Key]; twice {
					t.Errorf("attribute %s twice", a.Key)
				}
				attributes[a.Key] = a.Value
			}
			text := func(key string) string {
				if v := attributes[key].String; v != nil {
					return *v
				}
				return ""
			}
			name, label := text("gen_ai.evaluation.name"), text("gen_ai.evaluation.score.label")
			if record.EventName != "gen_ai.evaluation.result" || name == "" || label == "" {
				t.Errorf("event %q, name %q, label %q", record.EventName, name, label)
			}
			value := attributes["gen_ai.evaluation.score.value"].Double
			if scored := text("error.type") == ""; scored != (value != nil) {
				t.Errorf("%s %s: a score and an error.type, or neither", name, label)
			}
			for id, size := range map[string]int{record.TraceID: 16, record.SpanID: 8} {
				if raw, err := hex.DecodeString(id); err != nil || len(raw) != size || strings.Trim(id, "0") == "" {
					t.Errorf("id %q", id)
				}
			}
			if record.Time != "1773194400000000000" { // 2026-03-11T02:00:00Z
				t.Errorf("time %s", record.Time)
			}
			episode := record.TraceID + text("doubletake.arm")
			if before, ok := spans[record.SpanID]; ok && before != episode {
				t.Errorf("span %s is of two episodes", record.SpanID)
			}
			spans[record.SpanID] = episode
			events[name+" "+label]++
		}
	}
	want := map[string]int{"doubletake.outcome pass": 3, "doubletake.outcome fail": 2, "doubletake.outcome unscored": 1, "doubletake.item.constraint absent": 2}
	if fmt.Sprint(events) != fmt.Sprint(want) {
		t.Errorf("events %v, want %v", events, want)
	}
}

func TestPullRequestFitsAComment(t *testing.T) {
	for _, n := range []int{0, 3, 400} {
		w := hostileWords()
		w.literal, w.reason = strings.Repeat(w.literal, 20), strings.Repeat(w.reason, 20)
		text := written(t, func(out io.Writer) error { return PullRequest(out, datedNight(t, n, w).Report) })
		if utf8.RuneCountInString(text) > 65_536 {
			t.Errorf("%d pairs: %d characters", n, utf8.RuneCountInString(text))
		}
		if before, _, folded := strings.Cut(text, "<details>"); folded && len(before) > 12_000 {
			t.Errorf("%d pairs: %d bytes stand above the fold", n, len(before))
		}
		if strings.Count(text, "<details>") != strings.Count(text, "</details>") {
			t.Errorf("%d pairs: a fold stays open", n)
		}
		if strings.Contains(text, "<script") || strings.Contains(text, "<img") {
			t.Errorf("%d pairs: text became HTML", n)
		}
	}
}

func TestAnnotations(t *testing.T) {
	found := nightOf(t, t.TempDir(), 1, plainWords())
	r := *found.Report
	r.Gates = []analysis.Gate{{Name: "constraint", Status: analysis.GateRegressed, Reason: "100% gone\r\n::error::x"}}
	file := func(string) string { return "evals/a,b:c%.json" }
	r.Verdict = analysis.Regressed
	text := written(t, func(out io.Writer) error { return Annotations(out, &r, file) })
	want := "::error title=doubletake%3A regressed::constraint: 100%25 gone ::error::x\n" +
		"::error file=evals/a%2Cb%3Ac%25.json,title=doubletake%3A loss in harbour-0::"
	if !strings.HasPrefix(text, want) {
		t.Errorf("annotations\n%s\nwant them to begin\n%s", text, want)
	}
	if !strings.Contains(text, "c1 of turn 1 absent") {
		t.Errorf("no item and turn in\n%s", text)
	}
	r.Verdict = analysis.Inconclusive
	text = written(t, func(out io.Writer) error { return Annotations(out, &r, file) })
	if !strings.HasPrefix(text, "::warning file=") || strings.Contains(text, "::error ") {
		t.Errorf("a run that does not block has\n%s", text)
	}
	// GitHub shows ten of a kind.
	for i := range 30 {
		r.Disagreements = append(r.Disagreements, analysis.Disagreement{ID: fmt.Sprint(i), Cell: pairing.Loss})
	}
	text = written(t, func(out io.Writer) error { return Annotations(out, &r, file) })
	if n := strings.Count(text, "\n"); n != 10 || !strings.HasSuffix(text, "::and 22 more: see the summary of the job, or review the run\n") {
		t.Errorf("%d annotations:\n%s", n, text)
	}
}

// TestUncommanded holds that no text gets to be a command, however it is cut, and that
// text without the signs of one stays as it is.
func TestUncommanded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOf(rapid.SampledFrom([]string{"::", ":", "error", " ", "\n", "\t", "##[", "##", "[", "\u00a0", "x", "\r"})).Draw(t, "parts")
		text := strings.Join(parts, "")
		var b bytes.Buffer
		out := Uncommanded(&b)
		for rest := text; rest != ""; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "cut")
			if _, err := out.Write([]byte(rest[:n])); err != nil {
				t.Fatal(err)
			}
			rest = rest[n:]
		}
		if err := out.Flush(); err != nil {
			t.Fatal(err)
		}
		for _, line := range strings.Split(b.String(), "\n") {
			if strings.HasPrefix(strings.TrimSpace(line), "::") || strings.Contains(line, "##[") {
				t.Fatalf("%q became %q", text, b.String())
			}
		}
		plain := !strings.Contains(text, "##[")
		for _, line := range strings.Split(text, "\n") {
			plain = plain && !strings.HasPrefix(strings.TrimSpace(line), "::")
		}
		if plain && b.String() != text {
			t.Fatalf("%q became %q", text, b.String())
		}
	})
}

// TestDecisionsWithoutIncumbent holds that everything lost is new where nothing was before.
func TestDecisionsWithoutIncumbent(t *testing.T) {
	found := datedNight(t, 2, plainWords())
	decisions := found.Decisions()
	if len(decisions) != 2 {
		t.Fatalf("%d decisions", len(decisions))
	}
	for _, d := range decisions {
		if !d.NewlyLost || d.Verdict != replay.Absent || d.Class != fixtures.Constraint || d.Turn != 1 || d.AfterTurn != 2 {
			t.Errorf("decision %+v", d)
		}
	}
	if list := found.Comparisons(); len(list) != 1 || list[0].Candidate != "brief" || len(list[0].Pairs) != 3 {
		t.Errorf("comparisons %+v", list)
	}
}
