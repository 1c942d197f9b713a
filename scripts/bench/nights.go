package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// workload is requests that doubletake and promptfoo both ask.
type workload struct {
	requests int
	bytes    int // of a prompt, about
	latency  time.Duration
}

func (w workload) String() string {
	text := fmt.Sprintf("%d requests, %s", w.requests, w.latency)
	if w.bytes >= 1<<17 {
		text = fmt.Sprintf("%d requests of 128 KiB, %s", w.requests, w.latency)
	}
	return text
}

// spec is the set that makes the requests of a workload: half of them are the reference's,
// of the whole transcript, and half the compactor's.
func (w workload) spec() setSpec {
	return setSpec{fixtures: w.requests / 2, exchanges: 8, bytes: w.bytes}
}

func workloads() []workload {
	return []workload{
		{500, 800, 0}, {2000, 800, 0}, {500, 800, 200 * time.Millisecond}, {2000, 800, 200 * time.Millisecond}, {500, 128 << 10, 0},
	}
}

// nights measures whole nights, with scoring and durable results, against the targets.
func (b *bench) nights(ctx context.Context) error {
	b.heading("Whole nights: played, scored, journaled, reported; concurrency 32", "workload", "wall s", "CPU s", "peak MB")
	for _, w := range workloads() {
		u, err := b.nightOf(ctx, w, "")
		if err != nil {
			return err
		}
		b.row(w.String(), seconds(u.wall), seconds(u.cpu), megabytes(u.rss))
		switch {
		case w.bytes >= 1<<17:
			b.target(u.wall < 3 && u.rss < 150, w.String(), "under 3 s and 150 MB", "%.2f s, %.0f MB", u.wall, u.rss)
		case w.requests == 2000 && w.latency == 0:
			b.target(u.wall < 1 && u.rss < 80, w.String(), "under 1 s and 80 MB", "%.2f s, %.0f MB", u.wall, u.rss)
		case w.requests == 2000:
			b.target(u.wall <= 12.5*1.05, w.String(), "within 5% of 12.5 s", "%.2f s", u.wall)
		}
	}
	w := workload{2000, 800, 0}
	warm, err := b.nightOf(ctx, w, filepath.Join(b.dir, "warm-cache"))
	if err != nil {
		return err
	}
	b.row("the same again, from a warm cache", seconds(warm.wall), seconds(warm.cpu), megabytes(warm.rss))
	b.target(warm.wall < 0.5, "2000 requests from a warm cache", "under 0.5 s", "%.2f s", warm.wall)
	return b.killed(ctx)
}

// nightOf is the median of nights of a workload; with a cache, of those that find all their
// answers in it.
func (b *bench) nightOf(ctx context.Context, w workload, cache string) (u usage, err error) {
	set, err := b.made(w.spec())
	if err != nil {
		return u, err
	}
	server, err := startMock(ctx, "--latency", w.latency.String())
	if err != nil {
		return u, err
	}
	defer func() { err = errors.Join(err, server.close()) }()
	play := func() (usage, error) {
		return b.night.play(ctx, nightPlan{set: set, url: server.url(), concurrency: 32, cache: cache}, w.requests)
	}
	want := w.requests * b.runs
	if cache != "" {
		if _, err := play(); err != nil {
			return u, err
		}
		want = w.requests
	}
	took, err := alternately(b.runs, play)
	if err != nil {
		return u, err
	}
	seen, err := server.stats()
	if err == nil && seen.Requests != want {
		err = fmt.Errorf("the server saw %d requests, want %d", seen.Requests, want)
	}
	return took[0], err
}

// killed kills a night in the middle and goes on with it.
func (b *bench) killed(ctx context.Context) (err error) {
	w := workload{500, 800, 200 * time.Millisecond}
	set, err := b.made(w.spec())
	if err != nil {
		return err
	}
	server, err := startMock(ctx, "--latency", w.latency.String())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.close()) }()
	cmd, out, err := b.night.command(nightPlan{set: set, url: server.url(), concurrency: 32})
	if err != nil {
		return err
	}
	process := exec.CommandContext(ctx, cmd.args[0], cmd.args[1:]...)
	process.Env = cmd.env
	if err := process.Start(); err != nil {
		return err
	}
	before, err := server.until(ctx, w.requests/2)
	if err := errors.Join(err, process.Process.Kill()); err != nil {
		return err
	}
	_ = process.Wait() // it was killed
	begun := time.Now()
	if _, _, err := cmd.run(ctx); err != nil {
		return err
	}
	seen, err := server.stats()
	if err != nil {
		return err
	}
	if err := playedAll(out, w.requests); err != nil {
		return err
	}
	again := seen.Requests - w.requests
	fmt.Fprintf(b.out, "\nKilled (SIGKILL) after %d of %d requests and started again: done in %.2f s more, %d requests were asked twice (at most the 32 in flight), every episode is there once.\n",
		before, w.requests, time.Since(begun).Seconds(), again)
	b.target(again <= 32, "requests paid twice after a kill", "at most the 32 in flight", "%d", again)
	return os.RemoveAll(out)
}
