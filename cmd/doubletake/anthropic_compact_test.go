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
	"sync/atomic"
	"testing"

	"github.com/doubletake-dev/doubletake/replay"
)

// TestNightWithAnthropicCompaction plays a night through Anthropic's compaction on demand,
// on a server written from its documentation, with an agent of another provider: it goes
// on from the summary's text, and the next compaction gets the block unchanged.
func TestNightWithAnthropicCompaction(t *testing.T) {
	const block = `{"type":"compaction","content":"They worked on the milestone, and nothing is left to say.","signature":"c2ln"}`
	var asked, again atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, _ := io.ReadAll(r.Body)
		var body struct {
			Messages []struct {
				Role    string
				Content []json.RawMessage
			}
		}
		if err := json.Unmarshal(data, &body); err != nil || r.URL.Path != "/v1/messages" || r.Header.Get("X-Api-Key") != hostedKey || r.Header.Get("Anthropic-Beta") == "" {
			t.Errorf("%s with %v: %v", r.URL.Path, r.Header, err)
		}
		asked.Add(1)
		for i, m := range body.Messages {
			for k, raw := range m.Content {
				if strings.Contains(string(raw), `"type":"compaction"`) {
					if again.Add(1); i != 0 || k != 0 || m.Role != "assistant" || string(raw) != block {
						t.Errorf("the block comes back at %d, %d of the %s: %s", i, k, m.Role, raw)
					}
				}
			}
		}
		fmt.Fprintf(w, `{"type":"message","role":"assistant","content":[%s],"stop_reason":"compaction","usage":{"input_tokens":50,"output_tokens":10}}`, block)
	}))
	defer server.Close()
	dir := t.TempDir()
	path := filepath.Join(dir, "doubletake.yaml")
	config := fmt.Sprintf("compactors: { claude: { preset: anthropic-compact, model: claude-sonnet-4-6, base_url: %q } }\n"+
		"prices: { claude-sonnet-4-6: { input: 3, output: 15 } }\n", server.URL)
	if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	run := filepath.Join(dir, "run")
	cmd := doubletake(t, "compare", "keep-ends", "claude", "-c", path, "--fixture", "worktree-deleted-before-verify", "--out", run)
	cmd.Env = append(cmd.Environ(), "ANTHROPIC_API_KEY="+hostedKey)
	printed, _ := cmd.CombinedOutput() // the exit code says which arm is worse, and is not asked here
	record, err := replay.ReadRecord(run)
	if err != nil {
		t.Fatalf("%v\n%s", err, printed)
	}
	compactions, paid := 0, 0.0
	for _, e := range record.Episodes {
		if e.Arm != "claude" || e.Replicate > 0 {
			continue
		}
		if e.Status != replay.Played {
			t.Errorf("%s is %s: %s", e.ConversationID, e.Status, e.Reason)
		}
		compactions += len(e.Compactions)
		for _, x := range e.Exchanges {
			if x.For == "compactor" && x.CostUSD != nil {
				paid += *x.CostUSD
			}
		}
	}
	if compactions < 2 || int(asked.Load()) < compactions || again.Load() == 0 || paid == 0 {
		t.Errorf("%d compactions, %d requests, %d of them with the block, %g USD\n%s", compactions, asked.Load(), again.Load(), paid, printed)
	}
	for _, name := range []string{replay.RunFile, replay.EpisodesFile} {
		data, err := os.ReadFile(filepath.Join(run, name))
		if err != nil || bytes.Contains(data, []byte(hostedKey)) {
			t.Errorf("%s holds the key, or cannot be read: %v", name, err)
		}
	}
}
