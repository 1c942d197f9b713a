package main

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
	"github.com/doubletake-dev/doubletake/replay/cluster"
	"github.com/doubletake-dev/doubletake/replay/cluster/clustertest"
)

// clusterNight is what the nights of a test have in common.
type clusterNight struct {
	url       string // of the servers
	prefix    string
	endpoint  string
	arguments []string
}

// clusterConfigText is the config of those nights.
const clusterConfigText = `compactors: {a: {use: ledger}, b: {use: summarize}}
nightly: {incumbent: a, candidate: b, control: %t}
cluster: {ack_wait: 5s, prefix: tests.of.%s}
`

// command makes a command that runs in a folder with the config.
func (n *clusterNight) command(t *testing.T, control bool, out *bytes.Buffer, args ...string) *exec.Cmd {
	t.Helper()
	cmd := doubletake(t, append(args, "-c", "night.yaml")...)
	if err := os.WriteFile(filepath.Join(cmd.Dir, "night.yaml"), fmt.Appendf(nil, clusterConfigText, control, cmp.Or(n.prefix, "doubletake")), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = out, out
	return cmd
}

// nightly is the command that plays into dir, on the cluster or for no url in one process.
func (n *clusterNight) nightly(t *testing.T, control bool, dir string, out *bytes.Buffer) *exec.Cmd {
	t.Helper()
	args := append([]string{"nightly", "--out", dir}, n.arguments...)
	if n.endpoint != "" {
		args = append(args, "--base-url", n.endpoint, "--model", "m")
	}
	if n.url == "" {
		return n.command(t, control, out, append(args, "--cache-dir", filepath.Join(dir, "cache"))...)
	}
	return n.command(t, control, out, append(args, "--cluster", n.url)...)
}

// clusterSlots is how many episodes a worker of the tests plays at once.
const clusterSlots = 4

// worker starts a worker, and ends it with the test unless it is killed.
func (n *clusterNight) worker(t *testing.T, name string) *exec.Cmd {
	t.Helper()
	var out bytes.Buffer
	args := []string{"worker", "--cluster", n.url, "--name", name, "-j", fmt.Sprint(clusterSlots)}
	if n.endpoint != "" {
		args = append(args, "--endpoint", n.endpoint)
	}
	cmd := n.command(t, false, &out, args...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil && cmd.ProcessState.Exited() {
			t.Errorf("worker %s: %v:\n%s", name, err, out.String())
		}
		if t.Failed() {
			t.Logf("worker %s:\n%s", name, out.String())
		}
	})
	return cmd
}

// status is what the cluster says of itself, which may be that nothing is there.
func (n *clusterNight) status(t *testing.T) string {
	t.Helper()
	var out bytes.Buffer
	cmd := n.command(t, true, &out, "worker", "--cluster", n.url, "--status")
	if err := cmd.Run(); err != nil && (cmd.ProcessState.ExitCode() != exitUsage || !strings.Contains(out.String(), cluster.ErrNothing.Error())) {
		t.Fatalf("%v\n%s", err, out.String())
	}
	return out.String()
}

// ready waits until the status says something: a night may be over before a worker has
// started.
func (n *clusterNight) ready(t *testing.T, want string) {
	t.Helper()
	const tries = 300
	var status string
	for range tries {
		if status = n.status(t); strings.Contains(status, want) {
			return
		}
	}
	t.Fatalf("the cluster did not come to say %q:\n%s", want, status)
}

// finished runs a night to its end.
func finished(t *testing.T, cmd *exec.Cmd, out *bytes.Buffer) {
	t.Helper()
	_ = cmd.Run()
	if code := cmd.ProcessState.ExitCode(); code != exitBlocked {
		t.Fatalf("exit code %d, want %d:\n%s", code, exitBlocked, out.String())
	}
}

// sameNights says where two run directories differ in what they found.
func sameNights(t *testing.T, got, want string) {
	t.Helper()
	if got, want := strippedReport(t, got), strippedReport(t, want); !bytes.Equal(got, want) {
		t.Errorf("the reports differ:\n%s\nwant:\n%s", got, want)
	}
	for _, name := range []string{replay.PairsFile, replay.QueueFile} {
		a, err := os.ReadFile(filepath.Join(got, name))
		if err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(filepath.Join(want, name))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(a, b) {
			t.Errorf("%s differs", name)
		}
	}
}

// episodesOnce says that a run's journal holds each episode once, and returns how many.
func episodesOnce(t *testing.T, dir string) int {
	t.Helper()
	episodes, damaged, err := replay.ReadJournal[*replay.Episode](filepath.Join(dir, replay.EpisodesFile))
	if err != nil || damaged > 0 {
		t.Fatal(err, damaged)
	}
	seen := map[replay.Key]bool{}
	for _, e := range episodes {
		if seen[e.Key] || !e.Finished() {
			t.Errorf("%s stands twice, or was cut short: %s", e.Key, e.Reason)
		}
		seen[e.Key] = true
	}
	return len(episodes)
}

func TestAClusterPlaysTheSameNight(t *testing.T) {
	few := []string{"--fixture", "forbidden-directory", "--fixture", "quiet-afternoon", "--fixture", "too-long-migration"}
	provider := newCountingProvider(t)
	server := httptest.NewServer(provider)
	defer server.Close()
	shipped, err := filepath.Abs(filepath.Join("..", "..", "fixtures", "adversarial"))
	if err != nil {
		t.Fatal(err)
	}
	servers := clustertest.Servers(t, 3)
	for name, n := range map[string]clusterNight{
		"a provider, with the control":   {endpoint: server.URL + "/v1", arguments: few},
		"the embedded provider":          {arguments: few},
		"a set of one's own, in batches": {arguments: append([]string{"--set", shipped, "--stop", "early", "--mode", "step"}, few...)},
	} {
		t.Run(name, func(t *testing.T) {
			if n.endpoint == "" {
				inFull(t)
			}
			before := provider.asked()
			here, there := t.TempDir(), t.TempDir()
			var out bytes.Buffer
			finished(t, n.nightly(t, true, here, &out), &out)
			asked := provider.asked() - before
			n.url, n.prefix = servers, string(fixtures.HashBytes([]byte(name))) // stored answers are none of another's
			n.worker(t, "one")
			n.worker(t, "two")
			n.ready(t, "workers: 2\n")
			out.Reset()
			finished(t, n.nightly(t, true, there, &out), &out)
			sameNights(t, there, here)
			if in := provider.asked() - before - asked; in != asked {
				t.Errorf("the cluster asked %d times, one process %d", in, asked)
			}
			status := n.status(t)
			for _, want := range []string{"workers: 2\n", "  one: ", "runs: 0\n", "dead letters: 0\n"} {
				if !strings.Contains(status, want) {
					t.Errorf("no %q in\n%s", want, status)
				}
			}
		})
	}
}

// TestWorkersRefuse: a worker plays for no run that asks an address, or runs a command,
// that it was not allowed, nor for one whose compactors it does not have.
// A night whose budget is spent asks for nothing more, however often it is begun again.
func TestASpentBudgetStaysSpentOnACluster(t *testing.T) {
	if testing.Short() {
		t.Skip("starts servers and processes")
	}
	n := &clusterNight{url: clustertest.Servers(t, 1), prefix: "spent"}
	n.worker(t, "one")
	n.ready(t, "workers: 1\n")
	dir := filepath.Join(t.TempDir(), "night")
	spent := func() (tokens, episodes int) {
		t.Helper()
		var out bytes.Buffer
		cmd := n.nightly(t, false, dir, &out)
		cmd.Args = append(cmd.Args, "--fixture", "forbidden-directory,wrong-database,quiet-afternoon,superseded-path")
		config := filepath.Join(cmd.Dir, "night.yaml")
		data, err := os.ReadFile(config)
		if err == nil {
			err = os.WriteFile(config, append(data, "limits: {max_tokens: 20000}\n"...), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		_ = cmd.Run()
		if code := cmd.ProcessState.ExitCode(); code != exitIncomplete || !strings.Contains(out.String(), "limits.max_tokens") {
			t.Fatalf("exit code %d, want %d, and word of limits.max_tokens:\n%s", code, exitIncomplete, out.String())
		}
		record, err := replay.ReadRecord(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range record.Episodes {
			if e.Finished() {
				episodes++
			}
		}
		return record.SpentTokens(), episodes
	}
	tokens, episodes := spent()
	for range 2 {
		if again, played := spent(); again != tokens || played != episodes {
			t.Errorf("begun again, the night has spent %d tokens on %d episodes, and %d on %d before", again, played, tokens, episodes)
		}
	}
}

func TestWorkersRefuse(t *testing.T) {
	servers := clustertest.Servers(t, 1)
	for want, n := range map[string]struct {
		night  []string
		worker []string
		other  bool   // the worker is another executable
		agent  string // of the config
	}{
		"the run asks https://api.anthropic.com/v1; start the worker with --endpoint": {night: []string{"--candidate", "p"}},
		"the run asks https://api.openai.com/v1; start the worker with --endpoint":    {night: []string{"--candidate", "q"}, agent: "agent: {model: gpt-5, api: responses}\n"},
		"may be another program than this worker":                                     {other: true, night: []string{"--candidate", "summarize"}},
		"start the worker with --endpoint http://127.0.0.1:9/v1":                      {night: []string{"--candidate", "a", "--base-url", "http://127.0.0.1:9/v1", "--model", "m"}},
		"start the worker with --allow-exec":                                          {night: []string{"--candidate", "cat contract.json"}},
		"compactor c has changed":                                                     {night: []string{"--candidate", "c"}, worker: []string{"--allow-exec"}},
	} {
		t.Run(want, func(t *testing.T) {
			prefix := "refuse." + string(fixtures.HashBytes([]byte(want)))
			common := []string{"--cluster", servers, "--cluster-prefix", prefix}
			night := doubletake(t, append(append([]string{"nightly", "--fixture", "quiet-afternoon", "--out", "night", "-c", "night.yaml"}, common...), n.night...)...)
			worker := doubletake(t, append(append([]string{"worker", "--name", "careful"}, common...), n.worker...)...)
			if n.other {
				worker.Path = otherExecutable(t, worker.Path)
			}
			for _, cmd := range []*exec.Cmd{night, worker} { // nobody is asked with them
				cmd.Env = append(cmd.Env, "ANTHROPIC_API_KEY=sk-none", "OPENAI_API_KEY=sk-none")
			}
			config := "compactors: {a: {use: ledger}, c: {exec: [sh, ./compact.sh]}, p: {preset: anthropic-compact, model: claude-x}}\nnightly: {incumbent: a}\n"
			if n.agent != "" {
				config = n.agent + strings.Replace(config, "}}\n", "}, q: {preset: openai-compact}}\n", 1)
			}
			for _, file := range []struct{ path, text string }{
				{filepath.Join(night.Dir, "night.yaml"), config}, {filepath.Join(night.Dir, "compact.sh"), "exit 1"}, {filepath.Join(worker.Dir, "compact.sh"), "exit 2"},
			} {
				if err := os.WriteFile(file.path, []byte(file.text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			var told, stderr bytes.Buffer
			pipe, err := worker.StderrPipe()
			if err != nil {
				t.Fatal(err)
			}
			night.Stderr = &told
			if err := errors.Join(worker.Start(), night.Start()); err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 1)
			go func() {
				ended <- night.Wait()
				_ = worker.Process.Signal(syscall.SIGTERM) // where the night ends too early nobody waits for it
			}()
			lines := bufio.NewScanner(io.TeeReader(pipe, &stderr))
			for lines.Scan() {
				if strings.Contains(lines.Text(), "not playing for run") {
					break
				}
			}
			if !strings.Contains(stderr.String(), want) {
				t.Errorf("the worker said:\n%s", stderr.String())
			}
			// Nobody plays, so the night waits until it is interrupted; its jobs are taken back.
			_ = night.Process.Signal(syscall.SIGTERM)
			<-ended
			_, _ = io.Copy(io.Discard, pipe)
			if err := worker.Wait(); err != nil {
				t.Errorf("the worker: %v\n%s", err, stderr.String())
			}
			if code := night.ProcessState.ExitCode(); code != exitInterrupted || !strings.Contains(told.String(), "this goes on from there") {
				t.Errorf("the night ended with %d:\n%s", code, told.String())
			}
		})
	}
}

// otherExecutable is a program that does the same and is another one.
func otherExecutable(t *testing.T, path string) string {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("a changed executable may not run here")
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(t.TempDir(), "doubletake")
	if err := os.WriteFile(other, append(data, 0), 0o700); err != nil {
		t.Fatal(err)
	}
	return other
}

// TestKilledClusterNight kills a leader and one of two workers with SIGKILL in the middle
// of a night on three servers, and goes on: every episode is there once, the report is that
// of a night in one process, and nothing that was answered before is asked for again but
// what was in flight. DOUBLETAKE_LONG=1 plays 2,000 episodes, else it is a hundred, and
// forty in a part.
func TestKilledClusterNight(t *testing.T) {
	arguments, least := []string{"--replicates", "3"}, 100
	if sampled() {
		arguments, least = nil, 40
	}
	for _, name := range strings.Split(dozen, ",") {
		arguments = append(arguments, "--fixture", name)
	}
	if os.Getenv("DOUBLETAKE_LONG") != "" {
		arguments, least = []string{"--replicates", "13"}, 2000
	}
	whole := newCountingProvider(t)
	server := httptest.NewServer(whole)
	defer server.Close()
	n := clusterNight{endpoint: server.URL + "/v1", arguments: arguments}
	here, there := t.TempDir(), t.TempDir()
	var out bytes.Buffer
	finished(t, n.nightly(t, false, here, &out), &out)

	killed := newCountingProvider(t)
	killed.at = whole.asked() / 3
	processes := make(chan []*exec.Cmd, 1)
	killed.before = func() {
		for _, cmd := range <-processes {
			if err := cmd.Process.Kill(); err != nil {
				t.Error(err)
			}
		}
	}
	again := httptest.NewServer(killed)
	defer again.Close()
	n.endpoint, n.url = again.URL+"/v1", clustertest.Servers(t, 3)
	out.Reset()
	leader := n.nightly(t, false, there, &out)
	worker := n.worker(t, "killed")
	n.worker(t, "left")
	if err := leader.Start(); err != nil {
		t.Fatal(err)
	}
	processes <- []*exec.Cmd{leader, worker}
	if err := leader.Wait(); err == nil || leader.ProcessState.Exited() {
		t.Fatalf("the leader was not killed: %v\n%s", err, out.String())
	}
	out.Reset()
	finished(t, n.nightly(t, false, there, &out), &out)

	sameNights(t, there, here)
	if have, want := episodesOnce(t, there), episodesOnce(t, here); have != want || have < least {
		t.Errorf("%d episodes, in one process %d; want at least %d", have, want, least)
	}
	more, once := 0, whole.times()
	for body, times := range killed.times() {
		more += max(0, times-once[body])
	}
	t.Logf("%d requests, %d in one process, %d again", killed.asked(), whole.asked(), more)
	if more > clusterSlots {
		t.Errorf("%d answers were asked for again; at most the %d in flight may be", more, clusterSlots)
	}
}
