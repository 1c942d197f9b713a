package main

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// llmockFiles are the pinned package and what it is to answer: agent.json scripts the
// agent of one conversation, with two calls in one message. All else is passed on to the
// provider that doubletake carries, through llmock and its faults.
//
//go:embed llmock
var llmockFiles embed.FS

// mode is a night against llmock.
type mode struct {
	name   string
	flags  []string       // of llmock
	extra  map[string]any // added to each of agent.json's answers
	stream bool           // answers are asked for as streams
	wants  want
}

// want is what a mode must come to.
type want int

const (
	same  want = iota // every outcome is that of the night without faults
	fewer             // those that there are, are
	none              // nothing has an outcome
)

func modes() []mode {
	always := func(fault string) []string { return []string{"--chaos-" + fault, "1"} }
	often := func(fault string) []string { return []string{"--chaos-" + fault, "0.2"} }
	return []mode{
		{name: "tools, two calls in a message"},
		{name: "the same, streamed", stream: true},
		{name: "a fifth is answered 429", flags: often("ratelimit"), wants: fewer},
		{name: "a fifth is no JSON", flags: often("malformed"), wants: fewer},
		{name: "a fifth is dropped, 500", flags: often("drop"), wants: fewer},
		{name: "a fifth is cut off", flags: often("disconnect"), wants: fewer},
		{name: "a fifth is cut off, streamed", flags: often("disconnect"), stream: true, wants: fewer},
		{name: "all are answered 429", flags: always("ratelimit"), wants: none},
		{name: "all are no JSON", flags: always("malformed"), wants: none},
		{name: "all are dropped, 500", flags: always("drop"), wants: none},
		{name: "all are cut off", flags: always("disconnect"), wants: none},
		{name: "llmock's streams end after a chunk", extra: map[string]any{"truncateAfterChunks": 1}, stream: true, wants: fewer},
		{name: "llmock's streams break off", extra: map[string]any{"disconnectAfterMs": 30}, flags: []string{"--latency", "20", "--chunk-size", "5"}, stream: true, wants: fewer},
	}
}

// llmock plays a night in each mode, and prints a table and what was wrong.
func (s *settings) llmock(ctx context.Context, temp string, out io.Writer) error {
	if s.fixtures == nil {
		s.fixtures = []string{"commit-open-changes-restarts-analysis", "last-command-run-twice"}
	}
	dir := filepath.Join(s.dir, "llmock-1.7.1")
	if err := installLLMock(ctx, dir); err != nil {
		return err
	}
	behind, err := serve(ctx, temp, 10*time.Second, s.program, "provider")
	if err != nil {
		return err
	}
	defer behind.stop()
	fmt.Fprintln(out, "| llmock | exit | verdict | outcomes | items with a verdict | seconds | the first reason |")
	fmt.Fprintln(out, "| --- | --- | --- | --- | --- | --- | --- |")
	var healthy *night
	var wrong []error
	for i, m := range modes() {
		n, err := s.playMode(ctx, filepath.Join(temp, fmt.Sprint(i)), dir, behind.url, m)
		if err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
		if healthy == nil {
			healthy = n
		}
		fmt.Fprintf(out, "| %s | %d | %s | %d of %d | %d of %d | %.1f | %s |\n", m.name, n.exit, n.verdict,
			scored(n.outcomes), len(healthy.outcomes), judged(n.items), len(healthy.items), n.took.Seconds(), strings.ReplaceAll(n.reason, "|", "/"))
		for _, finding := range m.findings(n, healthy) {
			wrong = append(wrong, fmt.Errorf("%s: %s", m.name, finding))
		}
	}
	fmt.Fprintf(out, "\n%d passed, %d failed\n", len(modes())-failed(wrong), failed(wrong))
	return errors.Join(wrong...)
}

// failed counts the modes that something is wrong with.
func failed(wrong []error) int {
	names := map[string]bool{}
	for _, err := range wrong {
		name, _, _ := strings.Cut(err.Error(), ": ")
		names[name] = true
	}
	return len(names)
}

// judged counts the items with a verdict.
func judged(items map[string]string) int {
	n := 0
	for _, verdict := range items {
		if verdict != unscored {
			n++
		}
	}
	return n
}

// findings says what is wrong with a night of the mode.
func (m *mode) findings(n, healthy *night) []string {
	found := n.invented(healthy)
	for _, id := range n.unnamed() {
		found = append(found, id+" has no outcome and the report does not say so")
	}
	const incomplete = 3
	switch {
	case m.wants == none && n.exit != incomplete:
		found = append(found, fmt.Sprintf("exit code %d where nothing has an outcome, want %d", n.exit, incomplete))
	case n.exit != healthy.exit && n.exit != incomplete:
		found = append(found, fmt.Sprintf("exit code %d, want %d as without faults or %d", n.exit, healthy.exit, incomplete))
	}
	switch {
	case m.wants == none && scored(n.outcomes) > 0:
		found = append(found, "outcomes where no answer came through")
	case m.wants == same && (!maps.Equal(n.outcomes, healthy.outcomes) || !maps.Equal(n.items, healthy.items) || n.exit != healthy.exit):
		found = append(found, "outcomes are missing")
	case m.extra != nil && scored(n.outcomes) == scored(healthy.outcomes):
		found = append(found, "an answer that was cut off counted")
	}
	if healthy == n && scored(n.outcomes) == 0 {
		found = append(found, "no outcome without any fault")
	}
	return found
}

// playMode plays one night in dir.
func (s *settings) playMode(ctx context.Context, dir, installed, behind string, m mode) (*night, error) {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return nil, err
	}
	script, err := agentScript(m.extra)
	if err != nil {
		return nil, err
	}
	prompt, err := llmockFiles.ReadFile("llmock/prompt.txt")
	if err != nil {
		return nil, err
	}
	for name, data := range map[string][]byte{"agent.json": script, "prompt.txt": prompt} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			return nil, err
		}
	}
	args := append([]string{filepath.Join(installed, "node_modules", "@copilotkit", "aimock", "dist", "cli.js"),
		"--port", "0", "--fixtures", "agent.json", "--validate-on-load", "--proxy-only", "--provider-openai", behind}, m.flags...)
	peer, err := serve(ctx, dir, 30*time.Second, "node", args...)
	if err != nil {
		return nil, err
	}
	defer peer.stop()
	stream := ""
	if m.stream {
		stream = ", stream: true"
	}
	return s.play(ctx, dir, fmt.Sprintf(`agent: { model: offline-agent, base_url: %[1]s/v1%[2]s }
judge: { model: offline-judge, base_url: %[1]s/v1%[2]s }
compactors:
  careful: { use: summarize, prompt: prompt.txt }
nightly: { incumbent: ledger, candidate: careful, control: true, confirm: 0 }
limits: { tries: 4 }
`, peer.url, stream))
}

// agentScript is agent.json with more in each of its answers.
func agentScript(extra map[string]any) ([]byte, error) {
	data, err := llmockFiles.ReadFile("llmock/agent.json")
	if err != nil {
		return nil, err
	}
	var script struct {
		Fixtures []map[string]any `json:"fixtures"`
	}
	if err := json.Unmarshal(data, &script); err != nil {
		return nil, fmt.Errorf("reading agent.json: %w", err)
	}
	for _, fixture := range script.Fixtures {
		maps.Copy(fixture, extra)
	}
	return json.MarshalIndent(script, "", "  ")
}

// installLLMock installs the pinned package where it is not there yet.
func installLLMock(ctx context.Context, dir string) error {
	if _, err := os.Stat(filepath.Join(dir, "node_modules", "@copilotkit", "aimock", "dist", "cli.js")); err == nil {
		return nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, name := range []string{"package.json", "package-lock.json"} {
		data, err := llmockFiles.ReadFile("llmock/" + name)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			return err
		}
	}
	return install(ctx, dir, "npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts")
}
