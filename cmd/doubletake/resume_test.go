package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/doubletake-dev/doubletake/analysis"
	"github.com/doubletake-dev/doubletake/fixtures/adversarial"
	"github.com/doubletake-dev/doubletake/replay/offline"
)

// countingProvider is the offline provider with a count of how often each request
// was answered.
type countingProvider struct {
	handler http.Handler
	mu      sync.Mutex
	bodies  map[[32]byte]int
	total   int
	// at is called once, on the request with that number, before it is answered.
	at     int
	before func()
}

func newCountingProvider(t *testing.T) *countingProvider {
	t.Helper()
	files, err := adversarial.Files()
	if err != nil {
		t.Fatal(err)
	}
	library, err := offline.LoadLibrary(files)
	if err != nil {
		t.Fatal(err)
	}
	return &countingProvider{handler: offline.NewHandler(library), bodies: map[[32]byte]int{}}
}

func (p *countingProvider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client died
	}
	p.mu.Lock()
	p.total++
	p.bodies[sha256.Sum256(body)]++
	before := p.before
	if p.total != p.at {
		before = nil
	}
	p.mu.Unlock()
	if before != nil {
		before()
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	p.handler.ServeHTTP(w, r)
}

// asked is how many requests came.
func (p *countingProvider) asked() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.total
}

// times is how often each request came.
func (p *countingProvider) times() map[[32]byte]int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.bodies)
}

// doubletake is the command that runs the program in its own process.
func doubletake(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	path, err := exec.LookPath("doubletake") // the test binary under another name
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, args...)
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "OPENAI_API_KEY=", "OPENAI_BASE_URL=")
	return cmd
}

// TestKillAndGoOn kills a night with SIGKILL at several moments and runs it again:
// the report is that of a night left alone, and nothing that was answered before is
// asked for again but what was in flight.
func TestKillAndGoOn(t *testing.T) {
	const workers = 4
	fixtures := []string{"--fixture", "forbidden-directory", "--fixture", "quiet-afternoon", "--fixture", "too-long-migration"}
	args := func(url, dir, cache string) []string {
		return append([]string{"nightly", "--base-url", url + "/v1", "--model", "m", "--out", dir, "--cache-dir", cache, "-c", "night.yaml", "-j", fmt.Sprint(workers)}, fixtures...)
	}
	config := []byte("compactors: {a: {use: ledger}, b: {use: summarize}}\nnightly: {incumbent: a, candidate: b, control: false}\n")
	play := func(server *httptest.Server, dir string) error {
		cmd := doubletake(t, args(server.URL, dir, filepath.Join(dir, "cache"))...)
		if err := os.WriteFile(filepath.Join(cmd.Dir, "night.yaml"), config, 0o600); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		err := cmd.Run()
		if cmd.ProcessState.Exited() && cmd.ProcessState.ExitCode() != exitBlocked {
			t.Fatalf("exit code %d, want %d:\n%s", cmd.ProcessState.ExitCode(), exitBlocked, out.String())
		}
		return err
	}

	provider := newCountingProvider(t)
	server := httptest.NewServer(provider)
	defer server.Close()
	whole := t.TempDir()
	_ = play(server, whole)
	want := strippedReport(t, whole)
	asked := provider.asked()

	moments := []int{1, asked / 5, asked / 2, asked - asked/5, asked}
	if sampled() {
		moments = moments[2:3]
	}
	for _, at := range moments {
		t.Run(fmt.Sprintf("request %d of %d", at, asked), func(t *testing.T) {
			killed := newCountingProvider(t)
			killed.at = at
			process := make(chan *os.Process, 1)
			killed.before = func() {
				if err := (<-process).Kill(); err != nil {
					t.Error(err)
				}
			}
			server := httptest.NewServer(killed)
			defer server.Close()
			dir := t.TempDir()
			cmd := doubletake(t, args(server.URL, dir, filepath.Join(dir, "cache"))...)
			if err := os.WriteFile(filepath.Join(cmd.Dir, "night.yaml"), config, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			process <- cmd.Process
			if err := cmd.Wait(); err == nil || cmd.ProcessState.Exited() {
				t.Fatalf("the night was not killed: %v", err)
			}
			// Another server address would be another endpoint, so the same one goes on.
			_ = play(server, dir)
			if got := strippedReport(t, dir); !bytes.Equal(got, want) {
				t.Errorf("the report after a kill differs:\n%s\nwant:\n%s", got, want)
			}
			again, once := 0, provider.times()
			for body, n := range killed.times() {
				// A further play asks the same once more, killed or not.
				again += max(0, n-once[body])
			}
			if again > workers {
				t.Errorf("%d answers were asked for again; at most the %d in flight may be", again, workers)
			}
		})
	}
}

// strippedReport is report.json without what names this very run.
func strippedReport(t *testing.T, dir string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "report.json"))
	if err != nil {
		t.Fatal(err)
	}
	var report analysis.Report
	if err := json.Unmarshal(data, &report); err != nil {
		t.Fatal(err)
	}
	report.Run = ""
	report.Metrics.LatencyMS = nil
	report.Lineage.Endpoint, report.Lineage.JudgeEndpoint = "", ""
	out, err := json.MarshalIndent(report, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return out
}
