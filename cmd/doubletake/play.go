package main

import (
	"errors"
	"fmt"
	"slices"

	"github.com/doubletake-dev/doubletake/analysis"
	"github.com/doubletake-dev/doubletake/analysis/report"
	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
	"github.com/doubletake-dev/doubletake/replay/judge"
)

// play plays the sessions in their order, plays again what must be confirmed, and has
// the items judged.
func (n *night) play(folder *replay.Folder) error {
	progress := newProgress(progressOut(n.cli, n.log), len(n.fixtures)*len(n.arms)*folder.Run.Plan.Planned())
	defer progress.done()
	engine := &replay.Engine{
		Settings: n.settings, Model: n.asks("agent", n.agent), Counter: n.counter, NewTools: n.tools().New,
		Recording: n.set.Recording, Contexts: folder.Contexts, Progress: progress.episode,
		User: n.simulated(), Drain: n.drain, Log: n.log,
	}
	n.progress = progress
	if len(n.fixtures) == 0 {
		return nil // a shard that no session fell to
	}
	if err := n.playEpisodes(engine, folder); err != nil {
		return err
	}
	examiner := &judge.Judge{
		Model: n.asks("judge", n.judge), Name: n.judgeAs, Seed: n.settings.Seed, Concurrency: n.settings.Concurrency, Controls: n.config.controls(), Progress: progress.decisions,
		Drain: n.drain, Whole: n.stated(engine), Log: n.log,
	}
	if n.endpoint.Responses {
		examiner.Insider, examiner.InsiderName = n.asks("judge", n.agent), n.settings.Model
	}
	if err := examiner.Run(n.cli.Context, folder); err != nil {
		return err
	}
	return n.rate(folder, progress)
}

// playEpisodes plays the sessions and what must be confirmed, here or in the cluster.
func (n *night) playEpisodes(engine *replay.Engine, folder *replay.Folder) error {
	done, err := n.lead(engine, folder)
	if err != nil {
		return err
	}
	err = n.playSessions(engine, folder)
	if err == nil {
		err = n.confirm(engine, folder)
	}
	return errors.Join(err, done())
}

// playSessions plays all sessions, or as many as it takes for harm to be certain. The
// rest of a run that stops early is not played when it is gone on with, either: where it
// stops follows from what was recorded.
func (n *night) playSessions(engine *replay.Engine, folder *replay.Folder) error {
	sessions := replay.Sessions(n.fixtures, n.settings.Seed)
	if n.verdict.Stop != analysis.StopEarly {
		return n.playAll(engine, folder, sessions)
	}
	for batch := range slices.Chunk(sessions, n.verdict.LookEvery) {
		if err := n.playAll(engine, folder, batch); err != nil {
			return err
		}
		if err := n.confirmCritical(engine, folder); err != nil {
			return err
		}
		record, err := replay.ReadRecord(folder.Dir)
		if err != nil {
			return err
		}
		look, err := analysis.Look(record)
		if err != nil {
			return err
		}
		if look.Certain {
			fmt.Fprintf(n.cli.App.ErrWriter, "stopped after %d of %s: harm is certain\n", look.Fixtures, report.Plural(look.Of, "fixture"))
			return nil
		}
	}
	return nil
}

func (n *night) playAll(engine *replay.Engine, folder *replay.Folder, sessions []replay.Session) error {
	var set []*fixtures.Fixture
	for _, s := range sessions {
		set = append(set, s.Fixtures...)
	}
	for replicate := range folder.Run.Plan.Planned() {
		if err := engine.PlayReplicate(n.cli.Context, folder, set, n.arms, replicate); err != nil {
			return err
		}
	}
	return nil
}

// confirm plays the discordant pairs of the main comparison again, as often as the
// config says, and those that block by themselves as often as it takes to tell. The test
// keeps the planned plays.
func (n *night) confirm(engine *replay.Engine, folder *replay.Folder) error {
	if err := n.confirmCritical(engine, folder); err != nil || n.config.Nightly.Confirm == 0 {
		return err
	}
	found, err := analysis.Load(folder.Dir)
	if err != nil {
		return err
	}
	var discordant []fixtures.Hash
	for _, entry := range found.Queue {
		discordant = append(discordant, entry.Fixture)
	}
	return n.again(engine, folder, discordant, int(n.config.Nightly.Confirm), found.Report.Baseline, found.Report.Candidate)
}

// confirmCritical plays again what would block by itself.
func (n *night) confirmCritical(engine *replay.Engine, folder *replay.Folder) error {
	if !analysis.MayBeCritical(n.fixtures) {
		return nil
	}
	record, err := replay.ReadRecord(folder.Dir)
	if err != nil {
		return err
	}
	found, err := analysis.AnalyseWith(record, analysis.Options{Deterministic: true})
	if err != nil {
		return err
	}
	plays := max(0, analysis.CriticalPlays-folder.Run.Plan.Planned())
	var arms []string // all but the control: what the incumbent does decides, too
	for _, arm := range n.arms {
		if arm.Kind != replay.ControlArm {
			arms = append(arms, arm.Name)
		}
	}
	return n.again(engine, folder, found.Critical(), plays, arms...)
}

// again plays fixtures under two arms some more times, beyond what was planned.
func (n *night) again(engine *replay.Engine, folder *replay.Folder, which []fixtures.Hash, times int, arms ...string) error {
	if len(which) == 0 {
		return nil
	}
	var set []*fixtures.Fixture
	for _, f := range n.fixtures {
		if slices.Contains(which, f.Hash) {
			set = append(set, f)
		}
	}
	var pair []replay.Arm
	for _, arm := range n.arms {
		if slices.Contains(arms, arm.Name) {
			pair = append(pair, arm)
		}
	}
	planned := folder.Run.Plan.Planned()
	record, err := replay.ReadRecord(folder.Dir)
	if err != nil {
		return err
	}
	missing := 0
	for _, f := range set {
		for _, arm := range pair {
			for i := range times {
				if record.Episode(replay.Key{Fixture: f.Hash, Arm: arm.Name, Replicate: planned + i}) == nil {
					missing++
				}
			}
		}
	}
	n.progress.more(missing)
	for i := range times {
		if err := engine.PlayReplicate(n.cli.Context, folder, set, pair, planned+i); err != nil {
			return err
		}
	}
	return nil
}
