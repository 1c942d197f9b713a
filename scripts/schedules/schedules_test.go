// Package schedules holds the commands of the schedules in this folder to what the program
// does: each is run by a shell, offline, as the schedule would run it.
package schedules

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

// machine is a folder with the program, in which commands are run.
type machine struct {
	dir, bin string
}

// TestCommands builds the program once and runs the commands of every schedule.
func TestCommands(t *testing.T) {
	if testing.Short() || runtime.GOOS == "windows" {
		t.Skip("builds the program and runs it by sh")
	}
	bin := t.TempDir()
	build := exec.Command("go", "build", "-o", filepath.Join(bin, "doubletake"), "../../cmd/doubletake")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building the program: %v\n%s", err, out)
	}
	for name, test := range map[string]func(*testing.T, *machine){
		"crontab": crontab, "systemd service": systemdService, "GitHub nightly": githubNightly, "GitHub matrix": githubMatrix,
		"Kubernetes CronJob": kubernetesCronJob, "Kubernetes Indexed Job": kubernetesIndexedJob,
	} {
		t.Run(name, func(t *testing.T) { test(t, &machine{dir: t.TempDir(), bin: bin}) })
	}
}

// sh runs a command and returns its exit code and what it printed.
func (m *machine) sh(t *testing.T, command string, env ...string) (code int, out string) {
	t.Helper()
	cmd := exec.Command("sh", "-c", command)
	cmd.Dir = m.dir
	cmd.Env = append(os.Environ(), "PATH="+m.bin+":"+os.Getenv("PATH"), "XDG_CACHE_HOME="+filepath.Join(m.dir, "cache"),
		"OPENAI_API_KEY=", "OPENAI_BASE_URL=", "DOUBLETAKE_FIXTURE=forbidden-directory,quiet-afternoon,superseded-path,wrong-database")
	cmd.Env = append(cmd.Env, env...)
	text, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		t.Fatalf("%s: %v", command, err)
	}
	return cmd.ProcessState.ExitCode(), string(text)
}

// reports are the report.json under a folder of the machine.
func (m *machine) reports(t *testing.T, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(m.dir, pattern, "report.json"))
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func read(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// crontab runs the crontab's line. The default candidate is worse than the incumbent,
// so that the report is printed, and mailed.
func crontab(t *testing.T, m *machine) {
	if _, err := exec.LookPath("flock"); err != nil {
		t.Skip("no flock here")
	}
	lines := 0
	// What a night that runs has written so far, when the next one is to begin.
	const begun = "the report of the night that runs"
	for line := range strings.Lines(read(t, "crontab")) {
		fields := strings.SplitN(strings.TrimSpace(line), " ", 6)
		if len(fields) < 6 || strings.HasPrefix(line, "#") {
			continue
		}
		lines++
		command := strings.ReplaceAll(strings.ReplaceAll(fields[5], `\%`, "%"), "/srv/agent-evals", m.dir)
		if code, out := m.sh(t, command); code != 0 || !strings.Contains(out, "REGRESSED  summarize") {
			t.Errorf("%s: exit code %d\n%s", command, code, out)
		}
		m.sh(t, "echo '"+begun+"' >night.txt")
		code, out := m.sh(t, "flock .night sh -c '"+strings.ReplaceAll(command, "'", `'\''`)+"'")
		if left, err := os.ReadFile(filepath.Join(m.dir, "night.txt")); code != 0 || !strings.HasPrefix(out, "No night began") || err != nil || string(left) != begun+"\n" {
			t.Errorf("while another runs: exit code %d\n%s\nits report is now %q, error %v", code, out, left, err)
		}
	}
	if lines != 1 || len(m.reports(t, "runs/20??-??-??")) != 1 {
		t.Errorf("%d lines, reports %v", lines, m.reports(t, "runs/*"))
	}
}

// systemdService runs what the service starts, as systemd unescapes it.
func systemdService(t *testing.T, m *machine) {
	_, start, ok := strings.Cut(read(t, "systemd/doubletake.service"), "\nExecStart=")
	if !ok {
		t.Fatal("the service starts nothing")
	}
	start, _, _ = strings.Cut(start, "\n")
	start = strings.NewReplacer("$$", "$", "%%", "%").Replace(start)
	if code, out := m.sh(t, start); code != 1 || !strings.Contains(out, "REGRESSED  summarize") {
		t.Errorf("%s: exit code %d\n%s", start, code, out)
	}
	if got := m.reports(t, "runs/20??-??-??"); len(got) != 1 {
		t.Errorf("reports %v", got)
	}
}

// workflow is what the test needs of a workflow.
type workflow struct {
	Jobs map[string]struct {
		Strategy struct {
			Matrix struct {
				Shard []int `yaml:"shard"`
			} `yaml:"matrix"`
		} `yaml:"strategy"`
		Steps []struct {
			Name string            `yaml:"name"`
			Run  string            `yaml:"run"`
			Env  map[string]string `yaml:"env"`
		} `yaml:"steps"`
	} `yaml:"jobs"`
}

func readYAML(t *testing.T, name string, into any) {
	t.Helper()
	if err := yaml.Unmarshal([]byte(read(t, name)), into); err != nil {
		t.Fatalf("%s: %s", name, yaml.FormatError(err, false, true))
	}
}

// run is the command of a job's step.
func (w *workflow) run(t *testing.T, job, step string) string {
	t.Helper()
	for _, s := range w.Jobs[job].Steps {
		if s.Name == step && s.Run != "" {
			return s.Run
		}
	}
	t.Fatalf("job %s has no step %s that runs something", job, step)
	return ""
}

func githubNightly(t *testing.T, m *machine) {
	var w workflow
	readYAML(t, "github-actions/nightly.yml", &w)
	summary := filepath.Join(m.dir, "summary")
	if code, out := m.sh(t, w.run(t, "night", "Play"), "GITHUB_ACTIONS=true", "GITHUB_STEP_SUMMARY="+summary); code != 1 || read(t, summary) == "" {
		t.Errorf("exit code %d\n%s", code, out)
	}
}

// githubMatrix plays each shard of the matrix in a folder of its own, puts the run
// directories where the artifacts are downloaded to, and merges.
func githubMatrix(t *testing.T, m *machine) {
	var w workflow
	readYAML(t, "github-actions/matrix.yml", &w)
	shards := w.Jobs["shard"].Strategy.Matrix.Shard
	play := w.run(t, "shard", "Play")
	for i, shard := range shards {
		if shard != i+1 {
			t.Fatalf("shards %v: want 1 to %d", shards, len(shards))
		}
		env := fmt.Sprintf("SHARD=%d/%d", shard, len(shards))
		place := fmt.Sprintf("mkdir -p shards && mv run shards/shard-%d && rm -rf answers", shard)
		if code, out := m.sh(t, play, env); code != 0 {
			t.Fatalf("%s: exit code %d\n%s", env, code, out)
		}
		if code, out := m.sh(t, place); code != 0 {
			t.Fatalf("%s: exit code %d\n%s", place, code, out)
		}
	}
	summary := filepath.Join(m.dir, "summary")
	code, out := m.sh(t, w.run(t, "merge", "Merge"), "GITHUB_ACTIONS=true", "GITHUB_STEP_SUMMARY="+summary)
	if code != 1 || read(t, summary) == "" || !strings.Contains(out, "REGRESSED  summarize") || !strings.Contains(out, fmt.Sprintf("%d shards put together: 4 fixtures", len(shards))) {
		t.Errorf("exit code %d\n%s", code, out)
	}
	if code, out := m.sh(t, "rm -rf night shards/shard-1; "+w.run(t, "merge", "Merge")); code != 3 || !strings.Contains(out, fmt.Sprintf("shard 1 of %d is missing", len(shards))) {
		t.Errorf("without a shard: exit code %d\n%s", code, out)
	}
}

// job is what the test needs of a Job.
type job struct {
	Spec struct {
		Completions int `yaml:"completions"`
		Template    struct {
			Spec struct {
				Containers []struct {
					Command []string `yaml:"command"`
					Args    []string `yaml:"args"`
					Env     []struct {
						Name  string `yaml:"name"`
						Value string `yaml:"value"`
					} `yaml:"env"`
				} `yaml:"containers"`
			} `yaml:"spec"`
		} `yaml:"template"`
	} `yaml:"spec"`
}

// command is what the job's container has its shell run, with the environment that the
// manifest gives it.
func (j *job) command(t *testing.T) (command string, env []string) {
	t.Helper()
	c := j.Spec.Template.Spec.Containers[0]
	if strings.Join(c.Command, " ") != "/bin/sh -c" || len(c.Args) != 1 {
		t.Fatalf("command %q %q: want a shell with one text", c.Command, c.Args)
	}
	for _, e := range c.Env {
		env = append(env, e.Name+"="+e.Value)
	}
	return c.Args[0], env
}

func kubernetesCronJob(t *testing.T, m *machine) {
	var cron struct {
		Spec struct {
			JobTemplate job `yaml:"jobTemplate"`
		} `yaml:"spec"`
	}
	readYAML(t, "kubernetes/cronjob.yaml", &cron)
	command, env := cron.Spec.JobTemplate.command(t)
	if code, out := m.sh(t, command, append(env, "RUNS="+m.dir, "JOB=doubletake-nightly-1")...); code != 1 {
		t.Errorf("exit code %d\n%s", code, out)
	}
	if got := m.reports(t, "doubletake-nightly-1"); len(got) != 1 {
		t.Errorf("reports %v", got)
	}
}

// kubernetesIndexedJob runs every pod of the indexed job, and the job that merges. The
// report is that of one machine.
func kubernetesIndexedJob(t *testing.T, m *machine) {
	var shards, merge job
	readYAML(t, "kubernetes/indexed-job.yaml", &shards)
	readYAML(t, "kubernetes/merge-job.yaml", &merge)
	command, env := shards.command(t)
	here := []string{"RUNS=" + m.dir, "JOB=doubletake-shards-x"}
	if !strings.Contains(strings.Join(env, " "), fmt.Sprintf("SHARDS=%d", shards.Spec.Completions)) {
		t.Fatalf("%d completions, and the environment is %q", shards.Spec.Completions, env)
	}
	for index := range shards.Spec.Completions {
		if code, out := m.sh(t, command, append(append(env, here...), fmt.Sprintf("JOB_COMPLETION_INDEX=%d", index))...); code != 0 {
			t.Fatalf("index %d: exit code %d\n%s", index, code, out)
		}
	}
	command, env = merge.command(t)
	if code, out := m.sh(t, command, append(env, here...)...); code != 1 {
		t.Errorf("exit code %d\n%s", code, out)
	}
	if code, out := m.sh(t, "doubletake nightly --out one --cache off"); code != 1 {
		t.Errorf("exit code %d\n%s", code, out)
	}
	name := regexp.MustCompile(`"run": "[^"]*"`)
	one := name.ReplaceAll([]byte(read(t, filepath.Join(m.dir, "one", "report.json"))), nil)
	night := name.ReplaceAll([]byte(read(t, filepath.Join(m.dir, "doubletake-shards-x", "night", "report.json"))), nil)
	if cut := regexp.MustCompile(`(?s)"usage": \{.*?\}`); !bytes.Equal(cut.ReplaceAll(one, nil), cut.ReplaceAll(night, nil)) {
		t.Error("the shards' report is not that of one machine")
	}
}

// TestRunFillsInTheJobOfTheShards: the script and the manifest mean the same word.
func TestRunFillsInTheJobOfTheShards(t *testing.T) {
	if strings.Count(read(t, "kubernetes/merge-job.yaml"), "value: SHARDS-JOB") != 1 || !strings.Contains(read(t, "kubernetes/run"), "s|SHARDS-JOB|") {
		t.Error("run does not fill in SHARDS-JOB, or the manifest does not have it")
	}
}
