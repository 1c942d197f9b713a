package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"time"
)

// overhead puts the engine and a whole night beside a bare loop that asks the same.
func (b *bench) overhead(ctx context.Context) error {
	fixtures := 1000
	if b.small {
		fixtures = 250
	}
	b.heading("Overhead per model call, beside a bare loop over go-openai that asks the same",
		"transcript", "answer time", "program", "wall s", "CPU s", "CPU a call, ms", "peak MB", "CPU over the loop's")
	for _, spec := range []setSpec{
		{fixtures: fixtures, exchanges: 4, bytes: 800}, {fixtures: fixtures / 4, exchanges: 20, bytes: 64 << 10},
		// With many calls an episode, less of the time is that of loading and compacting.
		{fixtures: fixtures / 10, exchanges: 4, bytes: 800, asks: 20}, {fixtures: fixtures / 40, exchanges: 20, bytes: 64 << 10, asks: 20},
	} {
		for _, latency := range []time.Duration{0, 20 * time.Millisecond} {
			if err := b.overheadAt(ctx, spec, latency); err != nil {
				return err
			}
		}
	}
	return nil
}

func (b *bench) overheadAt(ctx context.Context, spec setSpec, latency time.Duration) (err error) {
	set, err := b.made(spec)
	if err != nil {
		return err
	}
	calls := spec.calls()
	requests := filepath.Join(b.dir, "requests.jsonl")
	if err := b.record(ctx, set, requests, 2*spec.fixtures); err != nil {
		return err
	}
	server, err := startMock(ctx, "--offline", "--latency", latency.String())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.close()) }()
	counted := func(run func() (usage, error)) func() (usage, error) {
		return func() (usage, error) {
			u, err := run()
			if err != nil {
				return u, err
			}
			seen, err := server.stats()
			if err == nil && seen.Requests != calls {
				err = fmt.Errorf("the server saw %d requests, want %d", seen.Requests, calls)
			}
			return u, err
		}
	}
	bare := filepath.Join(b.dir, "bare")
	if output, err := exec.CommandContext(ctx, "go", "test", "-c", "-o", bare, "./scripts/bench").CombinedOutput(); err != nil {
		return fmt.Errorf("building the bare loop (run this from the repository): %w\n%s", err, output)
	}
	own := func(program string, args ...string) func() (usage, error) {
		return counted(func() (usage, error) {
			u, _, err := command{args: append([]string{program}, args...)}.run(ctx)
			return u, err
		})
	}
	took, err := alternately(b.runs,
		own(bare, asBare, "--url", server.url(), "--requests", requests),
		own(b.self, asEngine, "--url", server.url(), "--set", set),
		counted(func() (usage, error) {
			return b.night.play(ctx, nightPlan{set: set, url: server.url(), concurrency: 32}, 2*spec.fixtures)
		}),
	)
	if err != nil {
		return err
	}
	for i, name := range []string{"bare loop", "engine", "whole night"} {
		u := took[i]
		b.row(spec.String(), latency.String(), name, seconds(u.wall), seconds(u.cpu),
			fmt.Sprintf("%.2f", 1000*u.cpu/float64(calls)), megabytes(u.rss), times(u.cpu, took[0].cpu))
	}
	ratio := took[1].cpu / took[0].cpu
	b.target(ratio <= 1.3, fmt.Sprintf("engine's CPU a call over the bare loop's, %s, %s", spec, latency), "at most 1.3", "%.2f", ratio)
	return nil
}

// record writes the requests that a set makes to a file.
func (b *bench) record(ctx context.Context, set, path string, episodes int) (err error) {
	server, err := startMock(ctx, "--record", path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.close()) }()
	_, err = b.night.play(ctx, nightPlan{set: set, url: server.url(), concurrency: 32}, episodes)
	return err
}
