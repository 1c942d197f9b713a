package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestInvented(t *testing.T) {
	healthy := &night{
		outcomes: map[string]string{"a under reference": "pass", "a under careful": "fail"},
		items:    map[string]string{"a under careful, compaction 1, item c1": "absent"},
	}
	for _, c := range []struct {
		name            string
		outcomes, items map[string]string
		want            int
	}{
		{"the same", healthy.outcomes, healthy.items, 0},
		{"taken away", map[string]string{"a under reference": "unscored", "a under careful": "unscored"}, map[string]string{}, 0},
		{"turned", map[string]string{"a under reference": "fail", "a under careful": "fail"}, nil, 1},
		{"made up", map[string]string{"b under reference": "pass"}, nil, 1},
		{"an item turned", nil, map[string]string{"a under careful, compaction 1, item c1": "supported"}, 1},
		{"an item unscored", nil, map[string]string{"a under careful, compaction 1, item c1": "unscored"}, 0},
	} {
		n := &night{outcomes: c.outcomes, items: c.items}
		if got := n.invented(healthy); len(got) != c.want {
			t.Errorf("%s: %q, want %d", c.name, got, c.want)
		}
	}
}

func TestUnnamed(t *testing.T) {
	n := &night{text: "unscored a: reference: 429", outcomes: map[string]string{
		"a under reference": "unscored", "b under reference": "unscored", "b under careful": "unscored", "c under careful": "pass"}}
	if got := n.unnamed(); !slices.Equal(got, []string{"b"}) {
		t.Errorf("unnamed %q, want b", got)
	}
}

func TestFindings(t *testing.T) {
	healthy := &night{exit: 1, outcomes: map[string]string{"a under reference": "pass"}}
	gone := map[string]string{"a under reference": "unscored"}
	for _, c := range []struct {
		name string
		mode mode
		n    night
		want string // empty: nothing is wrong
	}{
		{"all is well", mode{}, *healthy, ""},
		{"incomplete", mode{wants: fewer}, night{exit: 3, outcomes: gone, text: "unscored a"}, ""},
		{"blocked without an outcome", mode{wants: none}, night{exit: 1, outcomes: gone, text: "unscored a"}, "exit code 1"},
		{"clear under faults", mode{wants: fewer}, night{exit: 0, outcomes: gone, text: "unscored a"}, "exit code 0"},
		{"a streamed night without outcomes", mode{wants: same}, night{exit: 3, outcomes: gone, text: "unscored a"}, "missing"},
		{"an outcome of nothing", mode{wants: none}, night{exit: 3, outcomes: healthy.outcomes}, "no answer came through"},
		{"a cut answer", mode{wants: fewer, extra: map[string]any{"truncateAfterChunks": 1}}, *healthy, "cut off counted"},
	} {
		got := strings.Join(c.mode.findings(&c.n, healthy), "; ")
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestRead(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"report.json":      `{"verdict":"incomplete"}`,
		"pairs.jsonl":      `{"conversation_id":"a","first":{"arm":"reference","outcome":{"answer":"pass"}},"second":{"arm":"careful","outcome":{"answer":"unscored","reason":"turn 3: 429"}}}` + "\n",
		"judgements.jsonl": `{"conversation_id":"a","arm":"careful","compaction":0,"item":"c1","verdict":"absent"}` + "\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var n night
	if err := n.read(dir); err != nil {
		t.Fatal(err)
	}
	if n.verdict != "incomplete" || n.reason != "turn 3: 429" || n.outcomes["a under careful"] != "unscored" || n.items["a under careful, compaction 1, item c1"] != "absent" {
		t.Errorf("read %+v", n)
	}
	if err := n.read(t.TempDir()); err == nil {
		t.Error("a folder without a report was read")
	}
}

func TestAgentScript(t *testing.T) {
	data, err := agentScript(map[string]any{"truncateAfterChunks": 1})
	if err != nil {
		t.Fatal(err)
	}
	var script struct {
		Fixtures []struct {
			Match               map[string]any
			Response            map[string]any
			TruncateAfterChunks int
		}
	}
	if err := json.Unmarshal(data, &script); err != nil {
		t.Fatal(err)
	}
	if len(script.Fixtures) != 2 {
		t.Fatalf("%d fixtures, want 2", len(script.Fixtures))
	}
	for i, f := range script.Fixtures {
		if f.TruncateAfterChunks != 1 || f.Match == nil || f.Response == nil {
			t.Errorf("fixture %d: %+v", i, f)
		}
	}
}
