package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// night is what a played night said.
type night struct {
	exit     int
	took     time.Duration
	text     string            // the report
	verdict  string            // of report.json
	outcomes map[string]string // pass, fail or another word, by conversation and arm
	items    map[string]string // the verdict by conversation, arm, compaction and item
	reason   string            // why the first unscored arm has no outcome
}

// play plays a night into dir/night with the config, and reads what it left.
func (s *settings) play(ctx context.Context, dir, config string) (*night, error) {
	path := filepath.Join(dir, "doubletake.yaml")
	if err := os.WriteFile(path, []byte(config), 0o644); err != nil {
		return nil, err
	}
	out := filepath.Join(dir, "night")
	cmd := exec.CommandContext(ctx, s.program, "nightly", "-c", path, "--out", out, "--cache", "off", "--fixture", strings.Join(s.fixtures, ","))
	cmd.Env = append(os.Environ(), "DOUBLETAKE_CONFIG=", "OPENAI_API_KEY=none", "OPENAI_BASE_URL=", "NO_COLOR=1")
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	var text, progress bytes.Buffer
	cmd.Stdout, cmd.Stderr = &text, io.MultiWriter(&progress, s.log)
	began := time.Now()
	err := cmd.Run()
	n := &night{took: time.Since(began), text: text.String()}
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		n.exit = exit.ExitCode()
	case err != nil:
		return nil, fmt.Errorf("playing a night: %w", err)
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if n.exit == 2 || n.exit < 0 || n.exit > 4 {
		return nil, fmt.Errorf("the night exited with %d: %s", n.exit, tail(progress.String(), 500))
	}
	return n, n.read(out)
}

func tail(text string, n int) string { return strings.TrimSpace(text[max(0, len(text)-n):]) }

// read takes the outcomes from the run directory.
func (n *night) read(dir string) error {
	data, err := os.ReadFile(filepath.Join(dir, "report.json"))
	if err != nil {
		return fmt.Errorf("the night left no report: %w", err)
	}
	var report struct{ Verdict string }
	if err := json.Unmarshal(data, &report); err != nil {
		return fmt.Errorf("reading the night's report.json: %w", err)
	}
	n.verdict = report.Verdict
	n.outcomes, n.items = map[string]string{}, map[string]string{}
	type arm struct {
		Arm     string
		Outcome struct{ Answer, Reason string }
	}
	err = eachLine(filepath.Join(dir, "pairs.jsonl"), func(line []byte) error {
		var pair struct {
			ID            string `json:"conversation_id"`
			First, Second arm
		}
		if err := json.Unmarshal(line, &pair); err != nil {
			return err
		}
		for _, a := range []arm{pair.First, pair.Second} {
			n.outcomes[pair.ID+" under "+a.Arm] = a.Outcome.Answer
			if n.reason == "" {
				n.reason = a.Outcome.Reason
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return eachLine(filepath.Join(dir, "judgements.jsonl"), func(line []byte) error {
		var j struct {
			ID, Arm, Item, Verdict string
			Conversation           string `json:"conversation_id"`
			Compaction             int
		}
		if err := json.Unmarshal(line, &j); err != nil {
			return err
		}
		n.items[fmt.Sprintf("%s under %s, compaction %d, item %s", j.Conversation, j.Arm, j.Compaction+1, j.Item)] = j.Verdict
		return nil
	})
}

// eachLine calls use with each line of a file.
func eachLine(path string, use func([]byte) error) (err error) {
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("the night left no %s: %w", filepath.Base(path), err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 64<<20)
	for at := 1; lines.Scan(); at++ {
		if err := use(lines.Bytes()); err != nil {
			return fmt.Errorf("%s, line %d: %w", path, at, err)
		}
	}
	return lines.Err()
}

// unscored is the answer of an arm or an item that has none.
const unscored = "unscored"

// scored counts the outcomes that there are.
func scored(answers map[string]string) int {
	n := 0
	for _, answer := range answers {
		if answer == "pass" || answer == "fail" {
			n++
		}
	}
	return n
}

// invented lists the outcomes and verdicts that a night under faults has and the same
// night without them has not: a fault may take an outcome away and never make one.
func (n *night) invented(healthy *night) []string {
	var found []string
	compare := func(have, want map[string]string) {
		for _, key := range slices.Sorted(maps.Keys(have)) {
			if have[key] != unscored && have[key] != want[key] {
				found = append(found, fmt.Sprintf("%s: %s, without faults %s", key, have[key], want[key]))
			}
		}
	}
	compare(n.outcomes, healthy.outcomes)
	compare(n.items, healthy.items)
	return found
}

// unnamed lists the conversations without an outcome that the report does not name.
func (n *night) unnamed() []string {
	var found []string
	for _, key := range slices.Sorted(maps.Keys(n.outcomes)) {
		id, _, _ := strings.Cut(key, " under ")
		if n.outcomes[key] == unscored && !strings.Contains(n.text, "unscored "+id) {
			found = append(found, id)
		}
	}
	return slices.Compact(found)
}
