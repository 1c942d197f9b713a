package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/doubletake-dev/doubletake/replay"
)

// night runs nights of the program over made sets.
type night struct {
	program string
	dir     string // a folder for everything that is made
	n       int
}

// nightPlan is one night.
type nightPlan struct {
	set, url    string
	concurrency int
	incumbent   bool // play a second compactor, too
	// cache is the folder of stored answers; empty for one of the night's own.
	cache string
	out   string // the run directory; empty for a new one
}

// command makes the command of a night, and says where its run directory is.
func (r *night) command(p nightPlan) (command, string, error) {
	r.n++
	place := filepath.Join(r.dir, fmt.Sprintf("night-%04d", r.n))
	if p.cache == "" {
		p.cache = place + "-cache"
	}
	if p.out == "" {
		p.out = place
	}
	incumbent := ""
	if p.incumbent {
		incumbent = ", incumbent: ends"
	}
	// The checks are the program's own; no item asks the judge anything.
	config := fmt.Sprintf(`agent: { model: mock-model, window: 10000000 }
judge: { model: coverage }
compactors:
  short: { use: truncate }
  ends: { use: keep-ends }
nightly: { candidate: short%s, control: false, confirm: 0, second_pass: false }
limits: { concurrency: %d }
`, incumbent, p.concurrency)
	file := place + ".yaml"
	if err := os.WriteFile(file, []byte(config), 0o644); err != nil {
		return command{}, "", err
	}
	return command{
		args: []string{r.program, "nightly", "--config", file, "--base-url", p.url, "--set", p.set, "--out", p.out, "--cache-dir", p.cache},
		env:  append(os.Environ(), "OPENAI_API_KEY=none", "CI=1"),
		ok:   []int{1}, // a blocked change is a finding, not a failure
	}, p.out, nil
}

// play runs a night, and checks that the expected number of episodes has an outcome.
func (r *night) play(ctx context.Context, p nightPlan, episodes int) (usage, error) {
	cmd, out, err := r.command(p)
	if err != nil {
		return usage{}, err
	}
	u, _, err := cmd.run(ctx)
	if err != nil {
		return u, err
	}
	if err := playedAll(out, episodes); err != nil {
		return u, err
	}
	return u, errors.Join(os.RemoveAll(out), os.RemoveAll(out+"-cache"))
}

// playedAll checks that a run directory holds that many finished episodes.
func playedAll(dir string, want int) error {
	episodes, damaged, err := replay.ReadJournal[*replay.Episode](filepath.Join(dir, replay.EpisodesFile))
	if err != nil {
		return err
	}
	episodes = slices.DeleteFunc(episodes, func(e *replay.Episode) bool { return e.Status != replay.Played })
	if len(episodes) != want || damaged > 0 {
		return fmt.Errorf("%s holds %d played episodes, want %d; %d lines are damaged", dir, len(episodes), want, damaged)
	}
	return nil
}

// paid is what a night asked its provider for.
type paid struct {
	Requests     int `json:"requests"`
	Cached       int `json:"cached"`
	PromptTokens int `json:"prompt_tokens"`
}

// reportedUsage reads what a run's report says of it.
func reportedUsage(dir string) (paid, error) {
	var report struct {
		Usage paid `json:"usage"`
	}
	data, err := os.ReadFile(filepath.Join(dir, "report.json"))
	if err == nil {
		err = json.Unmarshal(data, &report)
	}
	if err != nil {
		return paid{}, errors.Join(fmt.Errorf("reading the report of %s", dir), err)
	}
	return report.Usage, nil
}
