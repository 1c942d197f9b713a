package outcomes

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"pgregory.net/rapid"

	"github.com/doubletake-dev/doubletake/analysis"
	"github.com/doubletake-dev/doubletake/analysis/report"
	"github.com/doubletake-dev/doubletake/fixtures"
)

// read reads a text as a file.
func read(text string, o Options) (*File, error) {
	return ReadFrom(strings.NewReader(text), int64(len(text)), "file", o)
}

// say lists rows as name=answer, with the reason of those without one.
func say(f *File) string {
	var out []string
	for _, r := range f.Rows {
		line := fmt.Sprintf("%s=%s", r.Name, r.Answer)
		if r.Reason != "" {
			line += " (" + r.Reason + ")"
		}
		out = append(out, line)
	}
	return strings.Join(out, "; ")
}

func limit(x float64) *float64 { return &x }

const promptfooDocument = `{"evalId":"e1","results":{"version":3,"prompts":[{"raw":"x"}],"results":[
 {"testIdx":0,"promptIdx":0,"provider":{"id":"p"},"prompt":{"label":"a"},"vars":{"n":1},"testCase":{"description":"one","vars":{"n":1},"metadata":{"topic":"t"}},"success":true,"score":1,"namedScores":{"tone":0.5},"failureReason":0,"gradingResult":{"pass":true},"response":{"output":NaN}},
 {"testIdx":1,"promptIdx":0,"provider":{"id":"p"},"prompt":{"label":"a"},"vars":{"n":2},"testCase":{"description":"two","vars":{"n":2},"metadata":{"topic":"t"}},"success":false,"score":0.25,"namedScores":{"tone":1},"failureReason":1,"error":"Expected output to contain ok","gradingResult":{"pass":false}},
 {"testIdx":2,"promptIdx":0,"provider":{"id":"p"},"prompt":{"label":"a"},"vars":{"n":3},"testCase":{"description":"three","vars":{"n":3},"metadata":{"topic":"u"}},"success":false,"score":0,"failureReason":2,"error":"API error: 503"}
],"stats":{"successes":1}},"config":{"tests":[{"results":[]}]}}`

// inspectLog holds a grade, a number, an epoch and an error.
const inspectLog = `{"version":2,"status":"success","eval":{"task":"t"},"samples":[
 {"id":"a","epoch":1,"input":"i","scores":{"match":{"value":"C","answer":"x"}},"metadata":{"topic":"t"}},
 {"id":"a","epoch":2,"input":"i","scores":{"match":{"value":"I"}},"metadata":{"topic":"t"}},
 {"id":7,"epoch":1,"input":"i","scores":{"match":{"value":1.0}},"metadata":{"topic":"u"}},
 {"id":8,"epoch":1,"input":"i","scores":{},"error":{"message":"backend down","traceback":"x"},"metadata":{"topic":"u"}},
 {"id":9,"epoch":1,"input":"i","scores":{"match":{"value":NaN}},"metadata":{"topic":"u"}}]}`

const lmEvalLines = `{"doc_id":0,"doc":{"q":"one","topic":"t"},"target":"1","resps":[["1"]],"filtered_resps":["1"],"filter":"strict-match","metrics":["exact_match"],"doc_hash":"h0","exact_match":1.0}
{"doc_id":0,"doc":{"q":"one","topic":"t"},"target":"1","resps":[["1"]],"filtered_resps":["1"],"filter":"flexible-extract","metrics":["exact_match"],"doc_hash":"h0","exact_match":1.0}
{"doc_id":1,"doc":{"q":"two","topic":"t"},"target":"2","resps":[["3"]],"filtered_resps":["3"],"filter":"strict-match","metrics":["exact_match"],"doc_hash":"h1","exact_match":0.0}
{"doc_id":1,"doc":{"q":"two","topic":"t"},"target":"2","resps":[["3"]],"filtered_resps":["3"],"filter":"flexible-extract","metrics":["exact_match"],"doc_hash":"h1","exact_match":0.0}
`

func TestRead(t *testing.T) {
	tests := []struct {
		name, text string
		o          Options
		format     Format
		want       string
	}{
		{"promptfoo", promptfooDocument, Options{}, Promptfoo, "test 1: one=pass; test 2: two=fail; test 3: three=unscored (API error: 503)"},
		{"promptfoo named score", promptfooDocument, Options{Metric: "tone", Threshold: limit(0.75)}, Promptfoo, "test 1: one=fail; test 2: two=pass; test 3: three=unscored (API error: 503)"},
		{"promptfoo score", promptfooDocument, Options{Metric: "score", Threshold: limit(0.2)}, Promptfoo, "test 1: one=pass; test 2: two=pass; test 3: three=unscored (API error: 503)"},
		{"promptfoo list of rows", `[{"testIdx":0,"vars":{"a":1},"success":true}]`, Options{}, Promptfoo, "test 1=pass"},
		{"promptfoo before version 3", `{"results":[{"testIdx":4,"vars":{"a":1},"success":false}]}`, Options{}, Promptfoo, "test 5=fail"},
		{"promptfoo lines", `{"testIdx":0,"vars":{"a":1},"success":true,"promptIdx":0,"provider":"p"}` + "\n" + `{"testIdx":1,"vars":{"a":2},"success":false,"promptIdx":0,"provider":"p"}`, Options{}, Promptfoo, "test 1=pass; test 2=fail"},
		{"promptfoo says nothing", `[{"testIdx":0,"vars":{}}]`, Options{}, Promptfoo, "test 1=unscored (it says neither success nor failure)"},
		{"inspect", inspectLog, Options{}, Inspect, "sample a=pass; sample a epoch 2=fail; sample 7=pass; sample 8=unscored (error: backend down); sample 9=unscored (no score match)"},
		{"inspect of 2024", `{"status":"success","eval":{},"samples":[{"id":1,"epoch":1,"score":{"value":"I"}}]}`, Options{}, Inspect, "sample 1=fail"},
		{"inspect partial", `{"eval":{},"samples":[{"id":1,"epoch":1,"scores":{"s":{"value":"P"}}}]}`, Options{Threshold: limit(0.5)}, Inspect, "sample 1=pass"},
		{"inspect several values", `{"eval":{},"samples":[{"id":1,"epoch":1,"scores":{"s":{"value":{"a":1,"b":0}}}}]}`, Options{Metric: "s.b"}, Inspect, "sample 1=fail"},
		{"lm-eval", lmEvalLines, Options{Filter: "strict-match"}, LMEval, "document 0 (h0)=pass; document 1 (h1)=fail"},
		{"lm-eval list without names", `[{"doc_id":0,"doc":{"q":1},"target":1,"acc":1.0},{"doc_id":1,"doc":{"q":2},"target":0,"acc":0.0}]`, Options{}, LMEval, ""},
		{"csv", "id,outcome,topic\na,pass,t\nb,FAIL,t\nc,,u\nd,1,u\n", Options{}, CSV, "a=pass; b=fail; c=unscored (no outcome:); d=pass"},
		{"csv with a mark, tabs and a score", "\ufeffKey\tscore\na\t0.8\nb\t0.2\n", Options{Threshold: limit(0.5)}, CSV, "a=pass; b=fail"},
		{"csv column", "id,outcome,other\na,pass,0\n", Options{Metric: "other"}, CSV, "a=fail"},
	}
	for _, test := range tests {
		f, err := read(test.text, test.o)
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		if f.Format != test.format {
			t.Errorf("%s: format %s", test.name, f.Format)
		}
		if got := say(f); test.want != "" && got != test.want {
			t.Errorf("%s:\n got %s\nwant %s", test.name, got, test.want)
		}
	}
}

func TestReadErrors(t *testing.T) {
	tests := []struct {
		name, text string
		o          Options
		want       string
	}{
		{"empty", " \n", Options{}, "empty"},
		{"something else", `{"a":1}`, Options{}, "cannot tell what file is"},
		{"cut off", inspectLog[:200], Options{}, "cut off at byte"},
		{"promptfoo cut off", promptfooDocument[:700], Options{}, "cut off at byte"},
		{"broken", `{"eval":{},"samples":[{"id":1,]}`, Options{}, "at byte"},
		{"no rows", `{"results":{"results":[]}}`, Options{}, "no outcome in this promptfoo file"},
		{"several filters", lmEvalLines, Options{}, "several filters (flexible-extract, strict-match): name one with --filter"},
		{"no such filter", lmEvalLines, Options{Filter: "x"}, `no filter "x"`},
		{"several metrics", `{"doc_id":0,"doc_hash":"h","metrics":["acc","acc_norm"],"acc":1,"acc_norm":0}`, Options{}, "several metrics (acc, acc_norm): name one with --metric"},
		{"several scorers", `{"eval":{},"samples":[{"id":1,"epoch":1,"scores":{"a":{"value":1},"b":{"value":0}}}]}`, Options{}, "several scorers (a, b): name one with --metric"},
		{"between 0 and 1", "id,score\na,0.4\n", Options{}, "neither 0 nor 1: say from which score on a row passes with --threshold"},
		{"no columns", "name,value\na,b\n", Options{}, "no column id or key"},
		{"no outcome", "id,value\na,b\n", Options{}, "no column outcome or"},
		{"another word", "id,outcome\na,maybe\n", Options{}, `file:2: "maybe" is no outcome`},
		{"no id", "id,outcome\n,pass\n", Options{}, "file:2: no id in this row"},
		{"no field", "id,outcome\na,pass\n", Options{Cluster: "topic"}, `no column "topic"`},
		{"no field in inspect", inspectLog, Options{Cluster: "colour"}, "no colour to cluster by"},
		{"no such format", "x", Options{Format: "xml"}, `no format "xml"`},
		{"wrong format", "x", Options{Format: Run}, "a run was wanted"},
		{"no such provider", promptfooDocument, Options{Column: "q"}, "the providers are p"},
		{"broken archive", zipMagic + "x", Options{}, "broken or cut off"},
	}
	for _, test := range tests {
		f := &File{}
		var err error
		if test.o.Format == "xml" {
			path := filepath.Join(t.TempDir(), "x")
			if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err = Read(path, test.o)
		} else {
			f, err = read(test.text, test.o)
		}
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v (%v), want %q", test.name, err, f, test.want)
		}
	}
}

// TestArchive reads an .eval file as Inspect writes it, packed with deflate and with zstd,
// with a sample that a later one replaces, and one without a header.
func TestArchive(t *testing.T) {
	members := [][2]string{
		{"_journal/start.json", `{"version":2}`},
		{"samples/a_epoch_1.json", `{"id":"a","epoch":1,"scores":{"m":{"value":"I"}}}`},
		{"samples/a_epoch_1.json", `{"id":"a","epoch":1,"scores":{"m":{"value":"C"}}}`},
		{"samples/b_epoch_1.json", `{"id":"b","epoch":1,"scores":{"m":{"value":"I"}}}`},
		{"summaries.json", `[{"id":"z","epoch":1}]`},
	}
	for _, method := range []uint16{zip.Deflate, zstd.ZipMethodWinZip} {
		for _, header := range []string{"", `{"status":"success","eval":{}}`} {
			var b bytes.Buffer
			w := zip.NewWriter(&b)
			w.RegisterCompressor(zstd.ZipMethodWinZip, zstd.ZipCompressor())
			list := members
			if header != "" {
				list = append(slices.Clone(members), [2]string{"header.json", header})
			}
			for _, m := range list {
				file, err := w.CreateHeader(&zip.FileHeader{Name: m[0], Method: method})
				if err != nil {
					t.Fatal(err)
				}
				if _, err := file.Write([]byte(m[1])); err != nil {
					t.Fatal(err)
				}
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			f, err := read(b.String(), Options{})
			if err != nil {
				t.Fatal(err)
			}
			if got := say(f); got != "sample a=pass; sample b=fail" {
				t.Errorf("method %d: %s", method, got)
			}
			if noted := len(f.Notes) == 1 && strings.Contains(f.Notes[0], "its status is started"); noted != (header == "") {
				t.Errorf("header %q: notes %v", header, f.Notes)
			}
		}
	}
}

// TestRepeats holds that repeats of one sample are several rows of one group, whatever
// their order in the file, and that true duplicates are named and left out.
func TestRepeats(t *testing.T) {
	row := func(test int, n int, ok bool) string {
		return fmt.Sprintf(`{"testIdx":%d,"promptIdx":0,"vars":{"n":%d},"success":%t}`, test, n, ok)
	}
	one, err := read(strings.Join([]string{row(0, 1, true), row(1, 2, true), row(2, 1, false)}, "\n"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	two, err := read(strings.Join([]string{row(5, 1, false), row(4, 2, true), row(3, 1, true)}, "\n"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	c, err := Compare(one, two, analysis.DefaultSettings())
	if err != nil {
		t.Fatal(err)
	}
	if c.Pairs.BothPass != 2 || c.Pairs.BothFail != 1 || c.Test.Groups != 2 {
		t.Errorf("pairs %+v in %d groups", c.Pairs.Table, c.Test.Groups)
	}
	double, err := read(strings.Join([]string{row(0, 1, true), row(0, 1, false), row(1, 2, true)}, "\n"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(double.Duplicates) != 1 || double.Duplicates[0] != "test 1" || say(double) != "test 2=pass" {
		t.Errorf("rows %s, duplicates %v", say(double), double.Duplicates)
	}
	table, err := read("id,outcome\na,pass\na,fail\nb,pass\n", Options{})
	if err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(table.Duplicates) != "[a]" || say(table) != "b=pass" {
		t.Errorf("rows %s, duplicates %v", say(table), table.Duplicates)
	}
	if fmt.Sprint(double.DuplicateRows) != "[{test 1 [row 1 row 2]}]" || fmt.Sprint(table.DuplicateRows) != "[{a [line 2 line 3]}]" {
		t.Errorf("they stand at %v and %v", double.DuplicateRows, table.DuplicateRows)
	}
}

// TestDuplicatesCountOnce: a key on several rows of one file says nothing, once, and its
// partner in the other is not called without one.
func TestDuplicatesCountOnce(t *testing.T) {
	one := must(read("id,outcome\na,pass\nb,pass\nc,pass\nc,pass\n", Options{}))
	two := must(read("id,outcome\na,pass\nb,pass\nb,fail\nc,pass\n", Options{}))
	c := must(Compare(one, two, analysis.DefaultSettings()))
	if missing, total := c.Missing(); missing != 2 || total != 3 || len(c.OnlyBaseline)+len(c.OnlyCandidate) != 0 {
		t.Errorf("%d of %d missing, alone %v and %v", missing, total, c.OnlyBaseline, c.OnlyCandidate)
	}
	var b bytes.Buffer
	if err := Text(&b, c, report.Style{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"  b: line 3, line 4\n", "  c: line 4, line 5\n", "rows of file with the same id are left out"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
	_, err := Compare(must(read("id,outcome\na,pass\na,pass\n", Options{})), two, analysis.DefaultSettings())
	if !errors.Is(err, ErrNothingPairs) || !strings.Contains(err.Error(), "rows of file have the same id and are not paired: a: line 2, line 3; leave one") {
		t.Errorf("%v", err)
	}
}

// TestColumns pairs files with several providers by provider, not by place.
func TestColumns(t *testing.T) {
	row := func(test, prompt int, provider string, ok bool) string {
		return fmt.Sprintf(`{"testIdx":%d,"promptIdx":%d,"provider":{"id":%q},"vars":{"n":%d},"success":%t}`, test, prompt, provider, test, ok)
	}
	one := must(read(strings.Join([]string{row(0, 0, "p", true), row(0, 1, "q", false)}, "\n"), Options{}))
	two := must(read(strings.Join([]string{row(0, 0, "q", false), row(0, 1, "p", true)}, "\n"), Options{}))
	c := must(Compare(one, two, analysis.DefaultSettings()))
	if c.Pairs.BothPass != 1 || c.Pairs.BothFail != 1 || len(c.OnlyBaseline)+len(c.OnlyCandidate) > 0 {
		t.Errorf("pairs %+v, apart %v %v", c.Pairs.Table, c.OnlyBaseline, c.OnlyCandidate)
	}
	if c.Test.Groups != 1 {
		t.Errorf("the columns of one test are %d groups", c.Test.Groups)
	}
	alone := must(read(strings.Join([]string{row(0, 0, "p", true), row(0, 1, "q", false)}, "\n"), Options{Column: "q"}))
	if say(alone) != "test 1=fail" {
		t.Errorf("column q: %s", say(alone))
	}
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// csvOf is a table of outcomes.
func csvOf(prefix string, answers []string) string {
	var b strings.Builder
	b.WriteString("id,outcome\n")
	for i, a := range answers {
		fmt.Fprintf(&b, "%s%d,%s\n", prefix, i, a)
	}
	return b.String()
}

// TestCompare goes through the verdicts. The p values are McNemar's exact one-sided: the
// tail of a fair coin, 2^-5 for five losses and no gain, (1+10+45)/2^10 for eight of ten.
func TestCompare(t *testing.T) {
	passes := func(n int) []string { return slices.Repeat([]string{"pass"}, n) }
	fails := func(n int) []string { return slices.Repeat([]string{"fail"}, n) }
	tests := []struct {
		name      string
		base, new []string
		verdict   analysis.Verdict
		p         float64
	}{
		{"five losses", passes(20), append(fails(5), passes(15)...), analysis.Regressed, 1.0 / 32},
		{"four losses", passes(20), append(fails(4), passes(16)...), analysis.Inconclusive, 1.0 / 16},
		{"eight losses, two gains", append(passes(8), fails(2)...), append(fails(8), passes(2)...), analysis.Inconclusive, 56.0 / 1024},
		{"the same", passes(80), passes(80), analysis.Clear, 1},
		{"too few", passes(5), passes(5), analysis.Inconclusive, 1},
		{"unscored", passes(10), append(passes(8), "error", "error"), analysis.Incomplete, 1},
		{"half a file", passes(40), passes(20), analysis.Incomplete, 1},
		{"half a file, and worse", passes(40), fails(20), analysis.Regressed, math.Ldexp(1, -20)},
	}
	for _, test := range tests {
		c, err := Compare(must(read(csvOf("k", test.base), Options{})), must(read(csvOf("k", test.new), Options{})), analysis.DefaultSettings())
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		if c.Verdict != test.verdict || math.Abs(c.Test.PWorse-test.p) > 1e-12 || math.Abs(c.Test.PCluster-test.p) > 1e-12 {
			t.Errorf("%s: %s with p %v and %v, want %s with %v", test.name, c.Verdict, c.Test.PWorse, c.Test.PCluster, test.verdict, test.p)
		}
	}
	_, err := Compare(must(read(csvOf("a", passes(3)), Options{})), must(read(csvOf("b", passes(3)), Options{})), analysis.DefaultSettings())
	if !errors.Is(err, ErrNothingPairs) || !strings.Contains(err.Error(), `"a0" stands in the first alone, "b0" in the second`) {
		t.Errorf("files of other keys: %v", err)
	}
}

// TestCluster holds that rows of one group are one coin: six losses in two groups are two
// flips, p = 1/4.
func TestCluster(t *testing.T) {
	base, cand := "id,outcome,topic\n", "id,outcome,topic\n"
	for i := range 6 {
		base += fmt.Sprintf("k%d,pass,t%d\n", i, i%2)
		cand += fmt.Sprintf("k%d,fail,t%d\n", i, i%2)
	}
	o := Options{Cluster: "topic"}
	c := must(Compare(must(read(base, o)), must(read(cand, o)), analysis.DefaultSettings()))
	if c.Test.PCluster != 0.25 || c.Test.PWorse != 1.0/64 || c.Verdict != analysis.Inconclusive {
		t.Errorf("p %v by group, %v by pair, %s", c.Test.PCluster, c.Test.PWorse, c.Verdict)
	}
}

// TestCompareLaws: the order of rows changes nothing, and swapping the files turns losses
// into gains.
func TestCompareLaws(t *testing.T) {
	answers := []string{"pass", "fail", ""}
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 30).Draw(t, "n")
		var rows [2][]string
		for side := range rows {
			for i := range n {
				if rapid.IntRange(0, 9).Draw(t, "there") > 0 {
					rows[side] = append(rows[side], fmt.Sprintf("k%d,%s", i, rapid.SampledFrom(answers).Draw(t, "answer")))
				}
			}
			rows[side] = append(rows[side], "both,pass")
		}
		file := func(lines []string) *File {
			return must(read("id,outcome\n"+strings.Join(lines, "\n")+"\n", Options{}))
		}
		compare := func(a, b []string) *Comparison {
			return must(Compare(file(a), file(b), analysis.DefaultSettings()))
		}
		straight, swapped := compare(rows[0], rows[1]), compare(rows[1], rows[0])
		if straight.Test.Losses != swapped.Test.Gains || straight.Test.PBetter != swapped.Test.PWorse || len(straight.OnlyBaseline) != len(swapped.OnlyCandidate) {
			t.Fatalf("straight %+v, swapped %+v", straight.Test, swapped.Test)
		}
		shuffled := compare(rapid.Permutation(rows[0]).Draw(t, "first"), rapid.Permutation(rows[1]).Draw(t, "second"))
		if shuffled.Pairs.Table != straight.Pairs.Table || shuffled.Test.PCluster != straight.Test.PCluster || shuffled.Verdict != straight.Verdict {
			t.Fatalf("another order gives %+v, not %+v", shuffled.Pairs, straight.Pairs)
		}
		missing, total := straight.Missing()
		if straight.Pairs.Scored()+missing != total {
			t.Fatalf("%d scored and %d missing are not %d", straight.Pairs.Scored(), missing, total)
		}
	})
}

// TestManyRows reads and tests as many rows as a large benchmark has.
func TestManyRows(t *testing.T) {
	base, cand := slices.Repeat([]string{"pass"}, 20_000), slices.Repeat([]string{"pass"}, 20_000)
	for i := range 300 {
		cand[i*7] = "fail"
		base[i*11+1] = "fail"
	}
	c, err := Compare(must(read(csvOf("k", base), Options{})), must(read(csvOf("k", cand), Options{})), analysis.DefaultSettings())
	if err != nil {
		t.Fatal(err)
	}
	if c.Verdict != analysis.Clear {
		t.Errorf("%s %v", c.Verdict, c.Why)
	}
}

func TestTextIsClean(t *testing.T) {
	evil := "\x1b[31m\u202ea"
	c := must(Compare(must(read("id,outcome\n"+evil+",pass\nb,pass\n", Options{})), must(read("id,outcome\n"+evil+",fail\nb,pass\nc"+evil+",pass\n", Options{})), analysis.DefaultSettings()))
	var b bytes.Buffer
	if err := Text(&b, c, report.Style{}); err != nil {
		t.Fatal(err)
	}
	if strings.ContainsAny(b.String(), "\x1b\u202e") {
		t.Errorf("the text acts on a terminal: %q", b.String())
	}
	for _, want := range []string{"INCOMPLETE file (outcome) against file (outcome)", "Losses (the baseline passed, the candidate failed): 1", "Only in file: 1"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, seed := range []string{promptfooDocument, inspectLog, lmEvalLines, "id,outcome\na,pass\n", "\ufeffid\tscore\na\t1\n", `[{"testIdx":0,"vars":{}}]`, zipMagic, `{"results":NaN}`, `{"eval":-Infinity,"samples":[]}`} {
		for i := range Formats() {
			f.Add([]byte(seed), i)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte, format int) {
		list := Formats()
		o := Options{Format: list[((format%len(list))+len(list))%len(list)], Threshold: limit(0.5)}
		file, err := ReadFrom(bytes.NewReader(data), int64(len(data)), "file", o)
		if err != nil {
			return
		}
		keys := map[string]bool{}
		for _, r := range file.Rows {
			if keys[r.Key] {
				t.Fatalf("key %q twice", r.Key)
			}
			keys[r.Key] = true
			if (r.Answer == fixtures.Unscored) != (r.Score == nil) {
				t.Fatalf("row %+v", r)
			}
			if r.Group == "" || r.Key == "" {
				t.Fatalf("row %+v has no key or group", r)
			}
		}
		if len(file.Rows) == 0 {
			return
		}
		// A file against itself has no discordant pair and no row apart.
		c, err := Compare(file, file, analysis.DefaultSettings())
		if err != nil {
			t.Fatal(err)
		}
		if c.Pairs.Losses+c.Pairs.Gains+len(c.OnlyBaseline)+len(c.OnlyCandidate) > 0 {
			t.Fatalf("against itself: %+v", c)
		}
		if err := Text(&bytes.Buffer{}, c, report.Style{}); err != nil {
			t.Fatal(err)
		}
	})
}

// FuzzPlainNumbers holds that JSON stays as it is, and texts in any case.
func FuzzPlainNumbers(f *testing.F) {
	for _, seed := range []string{`{"a":NaN,"b":"NaN","c":-Infinity}`, `"a\"NaN"`, `[-1,-Infinity,Infinity]`, "Na"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var b bytes.Buffer
		if _, err := b.ReadFrom(newPlainNumbers(bytes.NewReader(data))); err != nil {
			t.Fatal(err)
		}
		if !bytes.Contains(data, []byte("NaN")) && !bytes.Contains(data, []byte("Infinity")) && !bytes.Equal(b.Bytes(), data) {
			t.Fatalf("%q became %q", data, b.Bytes())
		}
	})
}
