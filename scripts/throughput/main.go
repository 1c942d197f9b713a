// Throughput measures how fast doubletake reads logs, beside jq and beside reading alone,
// on the same file and the same machine. It makes the log itself: sessions of a coding
// agent with calls, results and compactions, none of it anybody's.
//
//	go run ./scripts/throughput --size 1000
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "throughput:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) (err error) {
	flags := flag.NewFlagSet("throughput", flag.ContinueOnError)
	size := flags.Int("size", 1000, "size of the log in MB")
	runs := flags.Int("runs", 3, "how often each is run; the median counts")
	seed := flags.Uint64("seed", 1, "seed of the log")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *size < 1 || *runs < 1 {
		return errors.New("--size and --runs want at least 1")
	}
	dir, err := os.MkdirTemp("", "throughput-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	program := filepath.Join(dir, "doubletake")
	if output, err := exec.CommandContext(ctx, "go", "build", "-o", program, "./cmd/doubletake").CombinedOutput(); err != nil {
		return fmt.Errorf("building doubletake (run this from the repository): %w\n%s", err, output)
	}
	log := filepath.Join(dir, "log.jsonl")
	if err := writeLog(log, *size<<20, *seed); err != nil {
		return err
	}
	info, err := os.Stat(log)
	if err != nil {
		return err
	}
	mb := float64(info.Size()) / (1 << 20)
	fmt.Fprintf(out, "A log of %.0f MB in sessions of some 400 records, %d cores, median of %d runs. CPU is user and system together.\n\n", mb, runtime.NumCPU(), *runs)
	fmt.Fprintln(out, "| command | seconds | CPU s | MB/s | MB per CPU s | CPU over jq's |")
	fmt.Fprintln(out, "| --- | --- | --- | --- | --- | --- |")
	tasks := []task{
		{"cat", []string{"cat", log}},
		{"jq -c .", []string{"jq", "-c", ".", log}},
		{"doubletake scan", []string{program, "scan", log}},
		{"doubletake import", []string{program, "import", log, "--fixtures", "none", "--out"}},
		{"doubletake import --no-redact", []string{program, "import", log, "--fixtures", "none", "--no-redact", "--out"}},
	}
	var measured []timing
	jq := 0.0
	for _, t := range tasks {
		if _, err := exec.LookPath(t.command[0]); err != nil {
			fmt.Fprintf(out, "| %s | not installed | | | | |\n", t.name)
			continue
		}
		m, err := t.measure(ctx, dir, *runs)
		if err != nil {
			return err
		}
		if t.name == "jq -c ." {
			jq = m.cpu
		}
		measured = append(measured, m)
	}
	for _, m := range measured {
		ratio := "-"
		if jq > 0 {
			ratio = fmt.Sprintf("%.2f", m.cpu/jq)
		}
		fmt.Fprintf(out, "| %s | %.1f | %.1f | %.0f | %.0f | %s |\n", m.name, m.wall, m.cpu, mb/m.wall, mb/m.cpu, ratio)
	}
	return nil
}

// task is a command that reads the log.
type task struct {
	name    string
	command []string
}

// timing is the median of a task's runs, in seconds.
type timing struct {
	name      string
	wall, cpu float64
}

func (t task) measure(ctx context.Context, dir string, runs int) (timing, error) {
	var walls, cpus []float64
	for i := range runs {
		command := t.command
		if command[len(command)-1] == "--out" {
			command = append(slices.Clone(command), filepath.Join(dir, fmt.Sprint("out-", i)))
		}
		cmd := exec.CommandContext(ctx, command[0], command[1:]...)
		var problems strings.Builder
		cmd.Stderr = &problems
		start := time.Now()
		if err := cmd.Run(); err != nil {
			return timing{}, fmt.Errorf("%s: %w\n%s", t.name, err, problems.String())
		}
		walls = append(walls, time.Since(start).Seconds())
		cpus = append(cpus, (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds())
		if err := os.RemoveAll(filepath.Join(dir, fmt.Sprint("out-", i))); err != nil {
			return timing{}, err
		}
	}
	slices.Sort(walls)
	slices.Sort(cpus)
	return timing{t.name, walls[runs/2], cpus[runs/2]}, nil
}

// writeLog writes sessions in the form of Claude Code's logs until the size is reached.
func writeLog(path string, size int, seed uint64) (err error) {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	w := &logWriter{out: bufio.NewWriterSize(file, 1<<20), random: rand.New(rand.NewPCG(seed, 0))}
	for session := 0; w.written < size && w.err == nil; session++ {
		w.session(session)
	}
	return errors.Join(w.err, w.out.Flush())
}

type logWriter struct {
	out     *bufio.Writer
	random  *rand.Rand
	written int
	err     error
	parent  any
	id      string
	n       int
}

func (w *logWriter) record(fields map[string]any) {
	w.n++
	uuid := fmt.Sprintf("%s-%06d", w.id, w.n)
	fields["uuid"], fields["parentUuid"], fields["sessionId"] = uuid, w.parent, w.id
	fields["version"], fields["cwd"] = "2.1.0", "/srv/project"
	fields["timestamp"] = time.Date(2026, 11, 23, 8, 0, w.n, 0, time.UTC).Format(time.RFC3339)
	w.parent = uuid
	line, err := json.Marshal(fields)
	w.err = errors.Join(w.err, err)
	n, err := w.out.Write(append(line, '\n'))
	w.err = errors.Join(w.err, err)
	w.written += n
}

func (w *logWriter) words(n int) string {
	list := []string{"the", "table", "is", "locked", "by", "a", "job", "that", "runs", "every", "night", "and", "reads", "rows", "of", "last", "week", "first"}
	var b strings.Builder
	for range n {
		b.WriteString(list[w.random.IntN(len(list))])
		b.WriteByte(' ')
	}
	return b.String()
}

func (w *logWriter) session(number int) {
	w.id, w.n, w.parent = fmt.Sprintf("session-%05d", number), 0, nil
	for turn := range 100 {
		w.record(map[string]any{"type": "user", "message": map[string]any{"role": "user", "content": "Please look at step " + fmt.Sprint(turn) + ": " + w.words(30)}})
		call := fmt.Sprintf("toolu_%d_%d", number, turn)
		w.record(map[string]any{"type": "assistant", "message": map[string]any{"id": fmt.Sprintf("msg_%d_%d", number, turn), "role": "assistant", "content": []any{
			map[string]any{"type": "text", "text": w.words(20)},
			map[string]any{"type": "tool_use", "id": call, "name": "Read", "input": map[string]any{"file_path": fmt.Sprintf("/srv/project/pkg%d/file%d.go", w.random.IntN(40), w.random.IntN(40))}},
		}}})
		w.record(map[string]any{"type": "user", "message": map[string]any{"role": "user", "content": []any{
			map[string]any{"type": "tool_result", "tool_use_id": call, "content": w.words(400)},
		}}})
		w.record(map[string]any{"type": "assistant", "message": map[string]any{"id": fmt.Sprintf("msg_%d_%d_b", number, turn), "role": "assistant", "content": []any{map[string]any{"type": "text", "text": w.words(40)}}}})
		if turn == 60 {
			w.record(map[string]any{"type": "system", "subtype": "compact_boundary", "content": "Conversation compacted", "compactMetadata": map[string]any{"trigger": "auto", "preTokens": 150000}})
			w.record(map[string]any{"type": "user", "isCompactSummary": true, "isVisibleInTranscriptOnly": true, "message": map[string]any{"role": "user", "content": "This session is being continued from a previous conversation. " + w.words(200)}})
		}
	}
}
