package main

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/doubletake-dev/doubletake/analysis"
	"github.com/doubletake-dev/doubletake/analysis/report"
	"github.com/doubletake-dev/doubletake/replay"
	"github.com/doubletake-dev/doubletake/replay/judge"
)

func shardFlag() cli.Flag {
	return stringFlag("shard", "play only shard `I/N` of the set, such as 2/8, within an N-th of the limits; merge puts the shards together. In a Kubernetes Indexed Job: --shard $((JOB_COMPLETION_INDEX+1))/8")
}

// takeShard leaves of the set the shard that was asked for, and of the limits its share.
func (n *night) takeShard() error {
	text := n.cli.String("shard")
	if text == "" {
		return nil
	}
	index, of, err := replay.ParseShard(text)
	switch {
	case err != nil:
		return usageError("--shard: %w", err)
	case n.verdict.Stop == analysis.StopEarly:
		return usageError("--shard does not go with stop: early: a shard sees its own part of the evidence, and harm is certain only over all of it; leave one of them out")
	case len(list(n.cli, "output")) > 0:
		return usageError("--shard does not go with --output: a shard has no report; give merge the --output")
	}
	n.shard = replay.NewShard(index, of, n.fixtures)
	n.shard.Controls, n.shard.Confirm, n.shard.Rubric = n.config.controls(), int(n.config.Nightly.Confirm), n.cli.Bool("rubric")
	n.whole, n.fixtures = n.fixtures, n.shard.Part(n.fixtures)
	n.config.Limits = n.config.Limits.shared(of)
	return nil
}

// shared is the share of a shard in limits that hold for all of them together: rounded
// down, so that together they keep within them, but at least 1 where there is a limit.
func (l limitsConfig) shared(of int) limitsConfig {
	for _, limit := range []*whole{&l.RequestsPerMinute, &l.TokensPerMinute, &l.RequestsInFlight, &l.MaxTokens} {
		if *limit > 0 {
			*limit = max(1, *limit/whole(of))
		}
	}
	l.MaxCostUSD /= dollars(of)
	return l
}

// stated lists, for the judge's controls, the fixtures of the whole set that this run is
// a shard of; nil where it is none.
func (n *night) stated(engine *replay.Engine) func() ([]judge.Stated, error) {
	if n.shard == nil {
		return nil
	}
	return func() ([]judge.Stated, error) {
		var list []judge.Stated
		for _, arm := range n.arms {
			if arm.Kind != replay.CompactorArm {
				continue
			}
			for _, f := range n.whole {
				turn, err := engine.FirstCompaction(f)
				if err != nil {
					return nil, err
				}
				if turn > 0 {
					list = append(list, judge.Stated{Fixture: f, AfterTurn: turn})
				}
			}
			return list, nil
		}
		return nil, nil // nothing is compacted
	}
}

// shardResult is what a shard says at its end.
type shardResult struct {
	Shard    int    `json:"shard"`
	Of       int    `json:"of"`
	Run      string `json:"run"`
	Fixtures int    `json:"fixtures"`
	Played   int    `json:"played"` // fixtures of which no episode was cut short
	// CutShort counts the episodes that a fault of the world cut short, Reason is the
	// first one's.
	CutShort int    `json:"cut_short"`
	Reason   string `json:"reason,omitempty"`
	Unscored int    `json:"unscored_decisions"`
}

// finishShard says how far a shard came. It has no verdict: that is found once, over all
// of them.
func (n *night) finishShard(dir string) error {
	record, err := replay.ReadRecord(dir)
	if err != nil {
		return err
	}
	result := shardResult{Shard: n.shard.Index, Of: n.shard.Of, Run: record.Run.ID, Fixtures: len(n.fixtures)}
	short := map[string]bool{}
	for _, e := range record.Episodes {
		if !e.Finished() {
			short[e.ConversationID] = true
			if result.CutShort++; result.Reason == "" {
				result.Reason = e.ConversationID + " under " + e.Arm + ": " + e.Reason
			}
		}
	}
	for _, j := range record.Judgements {
		if j.Verdict == replay.Unjudged {
			result.Unscored++
		}
	}
	result.Played = result.Fixtures - len(short)
	if n.cli.Bool("json") {
		err = writeIndented(n.cli.App.Writer, result)
	} else {
		_, err = fmt.Fprintln(report.Printable(n.cli.App.Writer), result.String())
	}
	fmt.Fprintf(n.cli.App.ErrWriter, "\nrun directory: %s\nnext, with all shards: doubletake merge RUN... --out DIR\n", dir)
	if err == nil && result.CutShort > 0 {
		return &exitError{exitIncomplete, fmt.Errorf("%s; this plays what was cut short again, and merge takes it as unscored:\n  %s", n.shard, goOn(n.cli, dir))}
	}
	return err
}

// String says it in a line.
func (r *shardResult) String() string {
	line := fmt.Sprintf("shard %d of %d: %d of %s played; run doubletake merge", r.Shard, r.Of, r.Played, report.Plural(r.Fixtures, "fixture"))
	if r.CutShort > 0 {
		line += fmt.Sprintf("\nepisodes cut short: %d (the first: %s)", r.CutShort, r.Reason)
	}
	if r.Unscored > 0 {
		line += fmt.Sprintf("\ncompaction decisions unscored: %d", r.Unscored)
	}
	return line
}
