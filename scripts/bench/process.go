package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"time"
)

// usage is what a process took.
type usage struct {
	wall, cpu float64 // seconds; cpu is user and system together
	rss       float64 // peak memory in MB
}

// command is a program with its arguments. Its exit code is not looked at where it may be
// any of those named.
type command struct {
	args []string
	dir  string
	env  []string // in place of this process's own; nil for that
	ok   []int    // exit codes besides 0 that are fine
}

// run runs the command to its end.
func (c command) run(ctx context.Context) (usage, []byte, error) {
	cmd := exec.CommandContext(ctx, c.args[0], c.args[1:]...)
	cmd.Dir, cmd.Env = c.dir, c.env
	var out, problems bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problems
	begun := time.Now()
	err := cmd.Run()
	u := usage{wall: time.Since(begun).Seconds()}
	var exit *exec.ExitError
	if errors.As(err, &exit) && slices.Contains(c.ok, exit.ExitCode()) {
		err = nil
	}
	if err != nil {
		return u, nil, fmt.Errorf("running %v: %w\n%s", c.args, err, tail(problems.Bytes()))
	}
	u.cpu = (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds()
	u.rss = peakMemory(cmd.ProcessState)
	return u, out.Bytes(), nil
}

// tail is the end of what a program said.
func tail(text []byte) []byte {
	const most = 2000
	return text[max(0, len(text)-most):]
}

// alternately runs contenders in turn, so that a change of the machine's speed meets all
// of them, and returns the median of each one's runs.
func alternately(runs int, contenders ...func() (usage, error)) ([]usage, error) {
	taken := make([][]usage, len(contenders))
	for range runs {
		for i, run := range contenders {
			u, err := run()
			if err != nil {
				return nil, err
			}
			taken[i] = append(taken[i], u)
		}
	}
	medians := make([]usage, len(contenders))
	for i, list := range taken {
		medians[i] = usage{
			wall: median(list, func(u usage) float64 { return u.wall }),
			cpu:  median(list, func(u usage) float64 { return u.cpu }),
			rss:  median(list, func(u usage) float64 { return u.rss }),
		}
	}
	return medians, nil
}

func median(list []usage, of func(usage) float64) float64 {
	values := make([]float64, len(list))
	for i, u := range list {
		values[i] = of(u)
	}
	slices.Sort(values)
	middle := len(values) / 2
	if len(values)%2 == 0 {
		return (values[middle-1] + values[middle]) / 2
	}
	return values[middle]
}
