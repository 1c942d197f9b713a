package main

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
)

// startup measures what a person waits for.
func (b *bench) startup(ctx context.Context) error {
	out := filepath.Join(b.dir, "startup")
	if _, _, err := (command{args: []string{b.program, "nightly", "--out", out, "--cache", "off"}, ok: []int{1, 3}}).run(ctx); err != nil {
		return err
	}
	commands := [][]string{{"--help"}, {"report", out}}
	var contenders []func() (usage, error)
	for _, args := range commands {
		contenders = append(contenders, func() (usage, error) {
			u, _, err := command{args: append([]string{b.program}, args...), ok: []int{1, 3}}.run(ctx)
			return u, err
		})
	}
	took, err := alternately(max(5, b.runs), contenders...)
	if err != nil {
		return err
	}
	b.heading("Start-up", "command", "wall s", "CPU s", "peak MB")
	for i, name := range []string{"doubletake --help", "doubletake report RUN (the shipped set's)"} {
		b.row(name, fmt.Sprintf("%.3f", took[i].wall), fmt.Sprintf("%.3f", took[i].cpu), megabytes(took[i].rss))
	}
	return nil
}

// throughput measures reading logs beside jq; scripts/throughput does it.
func (b *bench) throughput(ctx context.Context) error {
	size := "1000"
	if b.small {
		size = "50"
	}
	fmt.Fprintf(b.out, "\n## Reading logs\n\n")
	_, printed, err := command{args: []string{"go", "run", "./scripts/throughput", "--size", size, "--runs", fmt.Sprint(b.runs)}}.run(ctx)
	if err != nil {
		return err
	}
	_, err = b.out.Write(printed)
	return err
}

// review measures the page with 10,000 pairs; its package's own benchmarks do it.
func (b *bench) review(ctx context.Context) error {
	fmt.Fprintf(b.out, "\n## The review page with 10,000 pairs\n\n```\n")
	cmd := exec.CommandContext(ctx, "go", "test", "-run", "^$", "-bench", "Start|Page", "-benchtime", "3x", "-benchmem", "./pairing/review")
	printed, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w\n%s", err, tail(printed))
	}
	for line := range strings.Lines(string(printed)) {
		if strings.HasPrefix(line, "Benchmark") {
			fmt.Fprint(b.out, line)
		}
	}
	fmt.Fprintln(b.out, "```")
	return nil
}
