package main

import (
	"github.com/urfave/cli/v2"

	"github.com/doubletake-dev/doubletake/replay"
	"github.com/doubletake-dev/doubletake/replay/judge/rubric"
)

func rubricFlag() cli.Flag {
	return &cli.BoolFlag{Name: "rubric", Usage: "also ask the agent about what each compaction cut away and grade the answers; advisory, no gate looks at it", EnvVars: twin("rubric")}
}

// rate asks the rubric's probes, where it was asked for.
func (n *night) rate(folder *replay.Folder, progress *progress) error {
	if !n.cli.Bool("rubric") {
		return nil
	}
	rater := &rubric.Rater{
		Agent: n.asks("rubric answer", n.agent), Judge: n.asks("rubric grade", n.judge), AgentModel: n.settings.Model, JudgeModel: n.judgeAs,
		Seed: n.settings.Seed, Concurrency: n.settings.Concurrency, Progress: progress.probes, Drain: n.drain,
	}
	return rater.Run(n.cli.Context, folder)
}

// probes hears how many of the rubric's probes are rated.
func (p *progress) probes(done, total int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bars == nil {
		p.tell("probes rated", done, total)
		return
	}
	if p.rated == nil {
		if p.judged != nil {
			p.judged.SetTotal(-1, true)
		}
		p.rated = p.bar("probes", total)
	}
	p.rated.SetCurrent(int64(done))
}
