package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/doubletake-dev/doubletake/analysis"
	"github.com/doubletake-dev/doubletake/fixtures"
)

// TestJudgeThatCannotBeReliedOn plays a night whose agent and summariser are sound and
// whose judge is not: the report says so, nothing is counted on its word, exit code 3.
func TestJudgeThatCannotBeReliedOn(t *testing.T) {
	say := func(text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprintf(w, `{"id":"x","object":"chat.completion","model":"j","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":%q}}]}`, text)
		}
	}
	judges := map[string]http.HandlerFunc{
		"always supported": say(`{"answer":"yes","verdict":"supported"}`),
		"always absent":    say(`{"answer":"unknown","verdict":"absent"}`),
		"prose":            say("I believe that the statement still stands."),
		"never answers": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusGatewayTimeout)
		},
	}
	for name, answer := range judges {
		t.Run(name, func(t *testing.T) {
			if name != "never answers" {
				inFull(t)
			}
			sound := newCountingProvider(t)
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, err := io.ReadAll(r.Body)
				if err != nil {
					return
				}
				if bytes.Contains(body, []byte(`"model":"bad-judge"`)) {
					answer(w, r)
					return
				}
				r.Body = io.NopCloser(bytes.NewReader(body))
				sound.ServeHTTP(w, r)
			}))
			defer server.Close()
			dir := t.TempDir()
			cmd := doubletake(t, "nightly", "--base-url", server.URL+"/v1", "--model", "m", "--judge-model", "bad-judge", "-c", "c.yaml",
				"--fixture", "quiet-afternoon", "--fixture", "wrong-database", "--out", filepath.Join(dir, "night"), "--cache-dir", filepath.Join(dir, "cache"))
			config := "nightly: {control: false}\nlimits: {tries: 1}\n"
			if err := os.WriteFile(filepath.Join(cmd.Dir, "c.yaml"), []byte(config), 0o600); err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &out
			_ = cmd.Run()
			if code := cmd.ProcessState.ExitCode(); code != exitIncomplete {
				t.Errorf("exit code %d, want %d", code, exitIncomplete)
			}
			if !strings.Contains(out.String(), "NOT TRUSTED") || !strings.HasPrefix(out.String()[strings.Index(out.String(), "INCOMPLETE"):], "INCOMPLETE") {
				t.Errorf("the report does not say that the judge can't be relied on:\n%s", out.String())
			}
			data, err := os.ReadFile(filepath.Join(dir, "night", "report.json"))
			if err != nil {
				t.Fatal(err)
			}
			var r analysis.Report
			if err := json.Unmarshal(data, &r); err != nil {
				t.Fatal(err)
			}
			for _, class := range fixtures.Classes() {
				if c := r.Items[class]; c.Supported+c.Absent+c.Contradicted > 0 {
					t.Errorf("%s: %+v is counted on its word", class, c)
				}
			}
		})
	}
}
