package main

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A model looks again at every turn: what it adds is taken where it stands in the turn,
// what it invents is dropped, and a bad answer takes nothing away from the rules.
func TestProposeWithAModel(t *testing.T) {
	answers := map[string]string{
		"never touch":  `{"items":[{"class":"constraint","literal":"never touch db/","probe":"May it touch db/?","expect":"no","why":"forbids"},{"class":"reference","literal":"port 5433","probe":"Which port?","expect":"5433","why":"a port"}]}`,
		"said nothing": `{"items":[{"class":"constraint","literal":"an invented rule","probe":"?","expect":"yes","why":"x"}]}`,
		"Must I wait":  `no JSON at all`,
	}
	var asked int
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		var body struct {
			Temperature *float64 `json:"temperature"`
			Messages    []struct{ Content string }
		}
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil || body.Temperature == nil || *body.Temperature != 0 {
			t.Errorf("request %d: %v, temperature %v", asked, err, body.Temperature)
		}
		text := `{"items":[]}`
		for part, answer := range answers {
			if strings.Contains(body.Messages[len(body.Messages)-1].Content, part) {
				text = answer
			}
		}
		json.NewEncoder(w).Encode(map[string]any{"choices": []any{map[string]any{"message": map[string]any{"role": "assistant", "content": text}, "finish_reason": "stop"}}})
	}))
	defer server.Close()
	path := filepath.Join(t.TempDir(), "r.jsonl")
	lines := []string{
		`{"type":"recording","version":1,"id":"r"}`,
		`{"type":"message","turn":1,"role":"user","content":"Please never touch db/ on port 5433."}`,
		`{"type":"message","turn":2,"role":"assistant","content":"I have said nothing that binds."}`,
		`{"type":"message","turn":3,"role":"user","content":"Good. Must I wait for the release of 4.2.1, or shall we go?"}`,
	}
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var out, problems bytes.Buffer
	code := run(context.Background(), []string{"doubletake", "fixtures", "propose", path, "--json", "--model", "m", "--base-url", server.URL + "/v1"}, &out, &problems)
	if code != 0 || asked != 3 {
		t.Fatalf("exit %d after %d questions\n%s", code, asked, problems.String())
	}
	for _, want := range []string{`"literal": "Please never touch db/ on port 5433"`, `"literal": "port 5433"`, `"why": "found by the model"`} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %s in\n%s", want, out.String())
		}
	}
	if strings.Contains(out.String(), "invented") {
		t.Errorf("an invented rule was taken:\n%s", out.String())
	}
	for _, want := range []string{"dropped from the model's answer: \"an invented rule\"", "the rules' proposals stand"} {
		if !strings.Contains(problems.String(), want) {
			t.Errorf("not said: %s\n%s", want, problems.String())
		}
	}
}
