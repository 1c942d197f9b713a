package main

import (
	"context"
	"errors"
	"flag"
	"os"
	"time"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
	"github.com/doubletake-dev/doubletake/replay/compact"
	"github.com/doubletake-dev/doubletake/replay/model"
	"github.com/doubletake-dev/doubletake/replay/tools"
)

// playEngine plays a set with the engine alone: every arm, journaled durably, and no
// report.
func playEngine(ctx context.Context, args []string) (err error) {
	flags := flag.NewFlagSet("engine", flag.ContinueOnError)
	url := flags.String("url", "", "the endpoint")
	dir := flags.String("set", "", "the set")
	concurrency := flags.Int("concurrency", 32, "episodes at once")
	if err := flags.Parse(args); err != nil {
		return err
	}
	out, err := os.MkdirTemp("", "bench-engine-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(out)) }()
	set, err := fixtures.LoadSet(os.DirFS(*dir), *dir)
	if err != nil {
		return err
	}
	counter, err := model.NewCounter("mock-model")
	if err != nil {
		return err
	}
	client, err := model.NewClient(model.Endpoint{BaseURL: *url, Key: "none"})
	if err != nil {
		return err
	}
	asked, err := model.NewCached(model.NewLimited(client, model.NewLimiter(0, 0), counter), client.Identity(), "", model.CacheOff)
	if err != nil {
		return err
	}
	short, err := compact.New(compact.NameTruncate, compact.Options{Model: asked, ModelName: "mock-model", Counter: counter})
	if err != nil {
		return err
	}
	arms := []replay.Arm{
		{Name: "reference", Kind: replay.ReferenceArm},
		{Name: "short", Kind: replay.CompactorArm, Compactor: short},
	}
	settings := replay.Settings{Model: "mock-model", Window: 10_000_000, Trigger: replay.DefaultTrigger, StepLimit: replay.DefaultStepLimit, Concurrency: *concurrency}
	plan := replay.Plan{Command: "nightly", Settings: settings, Fixtures: len(set.Fixtures)}
	for _, arm := range arms {
		plan.Arms = append(plan.Arms, replay.ArmInfo{Name: arm.Name, Kind: arm.Kind})
	}
	folder, err := replay.OpenFolder(out, plan, set.Fixtures, time.Now())
	if err != nil {
		return err
	}
	engine := &replay.Engine{
		Settings: settings, Model: asked, Counter: counter, NewTools: (&tools.Maker{Files: set.Files()}).New,
		Recording: set.Recording, Contexts: folder.Contexts,
	}
	return errors.Join(engine.Play(ctx, folder, set.Fixtures, arms), folder.Close())
}
