package main

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestModelThatRefusesTemperature plays a night whose model turns out to refuse the
// parameter: it is left out from then on, the report says so, and without a control there
// is no verdict.
func TestModelThatRefusesTemperature(t *testing.T) {
	sound := newCountingProvider(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		if bytes.Contains(body, []byte(`"temperature":`)) {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"error":{"message":"Unsupported value: 'temperature' does not support 0 with this model.","param":"temperature","code":"unsupported_value"}}`)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		sound.ServeHTTP(w, r)
	}))
	defer server.Close()
	for control, want := range map[string]string{
		"false": "the agent's model refused temperature 0, so that its answers vary, and there was no control",
		"true":  "answers asked for the agent with no temperature",
	} {
		t.Run("control "+control, func(t *testing.T) {
			cmd := doubletake(t, "nightly", "--base-url", server.URL+"/v1", "--model", "m", "-c", "c.yaml", "--fixture", "quiet-afternoon",
				"--out", filepath.Join(t.TempDir(), "night"), "--cache", "off")
			config := "compactors: {a: {use: ledger}}\nnightly: {candidate: a, control: " + control + "}\n"
			if err := os.WriteFile(filepath.Join(cmd.Dir, "c.yaml"), []byte(config), 0o600); err != nil {
				t.Fatal(err)
			}
			var stdout, stderr bytes.Buffer
			cmd.Stdout, cmd.Stderr = &stdout, &stderr
			_ = cmd.Run()
			if code := cmd.ProcessState.ExitCode(); (code == exitIncomplete) != (control == "false") {
				t.Errorf("exit code %d", code)
			}
			if text := strings.Join(strings.Fields(stdout.String()), " "); !strings.Contains(text, want) {
				t.Errorf("no %q in\n%s", want, stdout.String())
			}
			if !strings.Contains(stderr.String(), "model m refuses temperature") {
				t.Errorf("nothing is said of the refusal:\n%s", stderr.String())
			}
		})
	}
}
