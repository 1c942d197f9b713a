package main

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/doubletake-dev/doubletake/cmd/doubletake/schema"
	"github.com/doubletake-dev/doubletake/cmd/doubletake/starter"
	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/fixtures/adversarial"
)

// TestDescriptions holds the descriptions in the schemas to the doc comments of the types.
// UPDATE_DESCRIPTIONS=1 writes them anew.
func TestDescriptions(t *testing.T) {
	var types []reflect.Type
	for _, k := range schemaKinds() {
		types = append(types, k.types...)
	}
	want := map[string]string{}
	comments := map[string]map[string]string{} // by package
	for _, s := range schema.Structs(types...) {
		own, ours := strings.CutPrefix(s.PkgPath(), strings.TrimSuffix(module, "/"))
		if !ours || s.Name() == "" {
			continue
		}
		if comments[own] == nil {
			comments[own] = docComments(t, filepath.Join("..", "..", filepath.FromSlash(own)))
		}
		for name, text := range comments[own] {
			if name == s.Name() || strings.HasPrefix(name, s.Name()+".") {
				want[schema.TypeName(s)+strings.TrimPrefix(name, s.Name())] = text
			}
		}
	}
	data, err := json.MarshalIndent(want, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	data = append(data, '\n')
	if os.Getenv("UPDATE_DESCRIPTIONS") != "" {
		if err := os.WriteFile("descriptions.json", data, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if bytes.Equal(data, descriptions) {
		return
	}
	var have map[string]string
	if err := json.Unmarshal(descriptions, &have); err != nil {
		t.Fatal(err)
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if have[name] != want[name] {
			t.Errorf("%s is described as %q, its comment says %q", name, have[name], want[name])
		}
	}
	for name := range have {
		if _, ok := want[name]; !ok {
			t.Errorf("%s is described, and is no field with a comment", name)
		}
	}
	t.Log("write them anew: UPDATE_DESCRIPTIONS=1 go test ./cmd/doubletake -run TestDescriptions")
}

// docComments are the comments of a package's structs and their fields, as Type and
// Type.Field. A comment over several fields belongs to the first.
func docComments(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := token.NewFileSet()
	sources, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	note := func(name string, groups ...*ast.CommentGroup) {
		for _, g := range groups {
			if text := strings.Join(strings.Fields(g.Text()), " "); text != "" && found[name] == "" {
				found[name] = strings.NewReplacer("[", "", "]", "").Replace(text)
			}
		}
	}
	for _, source := range sources {
		if strings.HasSuffix(source, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(files, source, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range file.Decls {
			group, ok := decl.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, spec := range group.Specs {
				named, ok := spec.(*ast.TypeSpec)
				if !ok {
					continue
				}
				body, ok := named.Type.(*ast.StructType)
				if !ok {
					continue
				}
				note(named.Name.Name, named.Doc, group.Doc)
				for _, field := range body.Fields.List {
					for _, name := range field.Names {
						note(named.Name.Name+"."+name.Name, field.Doc, field.Comment)
						break
					}
				}
			}
		}
	}
	return found
}

// resolved is the schema of that name, as it is printed and read again.
func resolved(t *testing.T, name string) *jsonschema.Resolved {
	t.Helper()
	text, err := schemaText(name)
	if err != nil {
		t.Fatal(err)
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(text, &s); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	r, err := s.Resolve(nil)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return r
}

// fits says whether one JSON value fits a schema.
func fits(t *testing.T, r *jsonschema.Resolved, data []byte) error {
	t.Helper()
	var value any
	if err := json.Unmarshal(data, &value); err != nil {
		t.Fatal(err)
	}
	return r.Validate(value)
}

func fitLines(t *testing.T, r *jsonschema.Resolved, name string, data []byte) {
	t.Helper()
	lines := 0
	for line := range bytes.Lines(data) {
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		lines++
		if err := fits(t, r, line); err != nil {
			t.Errorf("%s, line %d: %v", name, lines, err)
			return
		}
	}
}

func TestSchemasFitTheShippedSets(t *testing.T) {
	shipped, err := adversarial.Files()
	if err != nil {
		t.Fatal(err)
	}
	started, err := starter.Set()
	if err != nil {
		t.Fatal(err)
	}
	fixture, manifest, recording := resolved(t, "fixture"), resolved(t, "manifest"), resolved(t, "recording")
	seen := 0
	for _, set := range []fs.FS{shipped, started} {
		err := fs.WalkDir(set, ".", func(name string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			data, err := fs.ReadFile(set, name)
			if err != nil {
				return err
			}
			switch {
			case name == fixtures.ManifestFile:
				err = fits(t, manifest, data)
			case filepath.Dir(name) == "." && filepath.Ext(name) == ".json":
				err = fits(t, fixture, data)
				seen++
			case strings.HasPrefix(name, "recordings/"), strings.HasPrefix(name, "traces/"):
				fitLines(t, recording, name, data)
			}
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if seen < 50 {
		t.Errorf("only %d fixtures looked at", seen)
	}
}

// TestSchemasFitARun holds the files of a night of today to their schemas, and what a
// compactor reads and answers.
func TestSchemasFitARun(t *testing.T) {
	dir := t.TempDir()
	night := filepath.Join(dir, "night")
	script := filepath.Join(dir, "compact.sh")
	source, err := starter.Read("compact.sh")
	if err != nil {
		t.Fatal(err)
	}
	// The compactor keeps what it read and what it answered.
	source = bytes.Replace(source, []byte("LC_ALL=C exec awk"), []byte("tee "+filepath.Join(dir, "request.json")+" | LC_ALL=C awk"), 1)
	source = append(bytes.TrimSpace(source), []byte(" | tee "+filepath.Join(dir, "answer.json")+"\n")...)
	if err := os.WriteFile(script, source, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := doubletake(t, "nightly", "--out", night, "--cache", "off", "--fixture", "quiet-afternoon", "--fixture", "wrong-database",
		"--rubric", "--incumbent", "ledger", "--candidate", "sh "+script, "-j", "1")
	_ = cmd.Run() // the verdict is none of this test's business
	decide := doubletake(t, "review", "decide", night, "wrong-database", "candidate_worse", "--by", "ann", "--open")
	if out, err := decide.CombinedOutput(); err != nil {
		t.Logf("no verdict to look at: %v: %s", err, out)
	}
	looked := map[string]bool{}
	for name, kind := range runSchemas() {
		data, err := os.ReadFile(filepath.Join(night, name))
		if os.IsNotExist(err) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		looked[kind] = true
		if filepath.Ext(name) == ".json" {
			if err := fits(t, resolved(t, kind), data); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		fitLines(t, resolved(t, kind), name, data)
	}
	for _, kind := range []string{"run", "run-fixture", "episode", "judgement", "control", "rating", "pair", "queue", "report"} {
		if !looked[kind] {
			t.Errorf("the run has no file for the schema %s", kind)
		}
	}
	for name, kind := range map[string]string{"request.json": "compact-request", "answer.json": "compact-answer"} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := fits(t, resolved(t, kind), data); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// runSchemas are the files of a run directory with their schemas.
func runSchemas() map[string]string {
	return map[string]string{
		"run.json": "run", "fixtures.jsonl": "run-fixture", "episodes.jsonl": "episode", "judgements.jsonl": "judgement", "controls.jsonl": "control",
		"ratings.jsonl": "rating", "pairs.jsonl": "pair", "queue.jsonl": "queue", "verdicts.jsonl": "verdict", "report.json": "report",
	}
}

func TestConfigSchema(t *testing.T) {
	r := resolved(t, "config")
	for name, sample := range map[string]struct {
		yaml string
		ok   bool
	}{
		"design": {`
set: fixtures/adversarial
agent:    { model: gpt-4.1, base_url: "http://127.0.0.1/v1", temperature: 0, seed: 7, window: 128000 }
judge:    { model: gpt-4.1-mini }
compactors:
  incumbent: { use: summarize, prompt: prompts/v1.txt, trigger: 0.8 }
  candidate: { exec: [python3, compact.py], trigger: 0.8, timeout: 60s }
nightly:  { incumbent: incumbent, candidate: candidate, control: true, confirm: 3 }
gates:    { constraint: 0.95, commitment: 0.95, open_question: 0.90, reference: 0.98, contradictions: 0 }
limits:   { concurrency: 32, requests_per_minute: 500, tokens_per_minute: 200000, max_cost_usd: 20 }
cache:    { max_age: 30d, mode: write }
prices:   { gpt-4.1: { input: 2.00, output: 8.00 } }
`, true},
		"empty":           {"{}", true},
		"misspelt key":    {"compactor: {}", false},
		"misspelt inside": {"agent: { modle: x }", false},
		"other version":   {"version: 2", false},
		"text for number": {"agent: { window: large }", false},
		"no duration":     {"limits: { timeout: soon }", false},
		"temperature":     {"agent: { temperature: 1 }", false},
		"unknown builtin": {"compactors: { a: { use: sumarize } }", false},
		"trigger":         {"compactors: { a: { use: none, trigger: 2 } }", false},
		"cache mode":      {"cache: { mode: always }", false},
		"price":           {"prices: { m: { inputs: 1 } }", false},
		"half a price":    {"prices: { m: { input: 1 } }", false},
		"a price of 0":    {"prices: { m: { input: 0, output: 0 } }", true},
	} {
		data, err := yaml.YAMLToJSON([]byte(sample.yaml))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if err := fits(t, r, data); (err == nil) != sample.ok {
			t.Errorf("%s: the schema says %v", name, err)
		}
		path := filepath.Join(t.TempDir(), configFile)
		if err := os.WriteFile(path, []byte(sample.yaml), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := loadConfig(path); (err == nil) != sample.ok {
			t.Errorf("%s: the program says %v", name, err)
		}
	}
}

func TestWrongSamplesDoNotFit(t *testing.T) {
	for name, samples := range map[string][]string{
		"recording":       {`{"type":"note"}`, `{"type":"message","role":"user"}`, `{"type":"message","turn":1,"role":"robot"}`, `{"type":"recording","version":"one","id":"a"}`},
		"fixture":         {`{}`, `{"conversation_id":"a","turns":3,"compactions_expected":0,"must_survive":[],"chekcs":[]}`, `{"conversation_id":"a","turns":3,"compactions_expected":0,"must_survive":[{"id":"a","class":"rule","turn":1,"literal":"x","probe":"y","expect":"no"}]}`},
		"manifest":        {`{"version":"1"}`, `{"version":1,"hashes":{}}`, `{"version":"1","hashes":{},"format":2}`},
		"run":             {`{"version":1}`, `{"version":9,"id":"a","started":"2026-01-01T00:00:00Z","plan":{}}`},
		"episode":         {`{"fixture":"a"}`},
		"report":          {`{}`, `[]`},
		"compact-request": {`{"version":1}`},
		"compact-answer":  {`{}`, `{"status":"done"}`, `{"status":"compacted","messages":[{"role":"robot"}]}`},
	} {
		r := resolved(t, name)
		for _, sample := range samples {
			if fits(t, r, []byte(sample)) == nil {
				t.Errorf("%s: %s fits", name, sample)
			}
		}
	}
}

// TestConfigSchemaHasEveryKey walks the schema beside what the reader of the config knows.
func TestConfigSchemaHasEveryKey(t *testing.T) {
	s, err := schemaOf("config")
	if err != nil {
		t.Fatal(err)
	}
	keys := map[string]bool{}
	for _, part := range append(slices.Collect(maps.Values(s.Defs)), s) {
		for name := range part.Properties {
			keys[name] = true
		}
	}
	for _, key := range knownKeys(reflect.TypeFor[config]()) {
		if !keys[key] {
			t.Errorf("the schema lacks the key %s", key)
		}
	}
}
