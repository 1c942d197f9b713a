package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
	"golang.org/x/sync/errgroup"

	"github.com/doubletake-dev/doubletake/analysis"
	"github.com/doubletake-dev/doubletake/analysis/report"
	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
	"github.com/doubletake-dev/doubletake/replay/compact"
	"github.com/doubletake-dev/doubletake/replay/judge"
	"github.com/doubletake-dev/doubletake/replay/mutant"
)

func fixturesMutate() *cli.Command {
	return &cli.Command{
		Name:  "mutate",
		Usage: "ask whether the set would have caught a broken compactor",
		Description: `Takes a good compactor and breaks its output in one known way at a time: one mutant for
each fixture, kind, and item or place. Each is played and judged as a nightly would, and
counts as caught where a row or a pair is worse than under the good compactor. Harmless
rewrites of the same outputs are played beside them: what is noticed there is a false
alarm. Mutants that live name what nothing in the set would have noticed.

Kinds: ` + kindNames(mutant.Kinds()) + `.
Harmless rewrites: ` + kindNames(mutant.Rewrites()) + `.

   doubletake fixtures mutate
   doubletake fixtures mutate --set fixtures/mine --kind drop --kind turn --fixture ID
   doubletake fixtures mutate --sample 100 --seed 3 --out mutants --json > mutants.json
   doubletake fixtures mutate --report mutants`,
		Flags: []cli.Flag{
			configFlag(),
			setFlag(),
			stringFlag("compactor", "the good compactor: a `NAME` of the config, a built-in one, or a command; default: "+compact.NameLedger),
			listFlag("kind", "make only mutants or rewrites of the kind `K` (repeatable)"),
			listFlag("fixture", "only the fixture `ID` (repeatable)"),
			&cli.IntFlag{Name: "sample", Usage: "take `N` mutants and rewrites at random, by the seed", DefaultText: "all", EnvVars: twin("sample")},
			&cli.IntFlag{Name: "seed", Usage: "the seed `N` of the sample and of every request", DefaultText: "7", EnvVars: twin("seed")},
			stringFlag("out", "the run directory, a `DIR`; the same command goes on with what lies there; default: runs/<time>-<id>"),
			stringFlag("report", "print the run in `DIR` again, and play nothing"),
			baseURLFlag(),
			stringFlag("model", "the agent's model, by `NAME`"),
			stringFlag("judge-model", "the judge's model, by `NAME`; default: the agent's"),
			concurrencyFlag("play `N` episodes at once", "8"),
			stringFlag("cache", "answers: off, read, write or only (never ask the provider); `MODE`, default write"),
			stringFlag("cache-dir", "where answers are stored, a `DIR`; default: the user's cache folder"),
			allowExecFlag(),
			jsonFlag(),
		},
		Action: func(c *cli.Context) error {
			if c.Args().Present() {
				return usageError("fixtures mutate takes no arguments, have %q (doubletake fixtures mutate --help)", c.Args().First())
			}
			if dir := c.String("report"); dir != "" {
				return printMutation(c, dir)
			}
			return runMutation(c)
		},
	}
}

func kindNames(kinds []mutant.Kind) string {
	names := make([]string, len(kinds))
	for i, k := range kinds {
		names[i] = string(k)
	}
	return strings.Join(names, ", ")
}

// mutationKinds reads --kind.
func mutationKinds(names []string) ([]mutant.Kind, error) {
	all := slices.Concat(mutant.Kinds(), mutant.Rewrites())
	if len(names) == 0 {
		return all, nil
	}
	var kinds []mutant.Kind
	for _, name := range names {
		if !slices.Contains(all, mutant.Kind(name)) {
			return nil, usageError("--kind: no mutants of kind %q; there are %s", name, kindNames(all))
		}
	}
	for _, k := range all {
		if slices.Contains(names, string(k)) {
			kinds = append(kinds, k)
		}
	}
	return kinds, nil
}

func runMutation(c *cli.Context) (err error) {
	kinds, err := mutationKinds(list(c, "kind"))
	if err != nil {
		return err
	}
	if c.IsSet("sample") && c.Int("sample") < 1 {
		return usageError("--sample: %d; want a number from 1", c.Int("sample"))
	}
	n := &night{command: replay.MutateCommand, cli: c}
	if n.log, err = newLog(c); err != nil {
		return err
	}
	if n.config, err = loadConfig(c.String("config")); err != nil {
		return err
	}
	defer func() {
		for i := len(n.close) - 1; i >= 0; i-- {
			err = errors.Join(err, n.close[i]())
		}
	}()
	if err := n.load(); err != nil {
		return err
	}
	n.replicates = 1 // a mutant is caught or not; how often is no question here
	if err := n.connect(c.Context); err != nil {
		return err
	}
	n.settings.SecondPass = false // it says nothing of a mutant
	name := cmp.Or(c.String("compactor"), compact.NameLedger)
	good, trigger, err := n.compactor(name)
	if err != nil {
		return err
	}
	if trigger > 0 {
		n.settings.Trigger = trigger
	}
	base := mutant.NewBase(good)
	plan, err := n.makeMutants(base, mutant.Options{Kinds: kinds, Sample: c.Int("sample"), Seed: n.settings.Seed})
	if err != nil {
		return err
	}
	n.addArm(replay.Arm{Name: analysis.RoleReference, Kind: replay.ReferenceArm}, analysis.RoleReference, "", "")
	n.addArm(replay.Arm{Name: name, Kind: replay.CompactorArm, Compactor: base}, replay.RoleBase, name, compact.Digest(good))
	n.lineage.CompactorNames = []string{name}
	for _, arm := range plan.Arms(base) {
		n.addArm(arm, "mutant", name, "")
	}
	folder, err := n.open()
	if err != nil {
		return err
	}
	n.drain = drained(c.Context)
	if err := n.playMutants(folder, plan, kinds, name); err != nil {
		return errors.Join(n.stopped(folder, err), folder.Close())
	}
	if err := folder.Close(); err != nil {
		return err
	}
	return printMutation(c, folder.Dir)
}

// makeMutants compacts every fixture with the good compactor and breaks what came of it.
func (n *night) makeMutants(base *mutant.Base, options mutant.Options) (*mutant.Plan, error) {
	dir, err := tempContexts()
	if err != nil {
		return nil, err
	}
	n.close = append(n.close, dir.remove)
	engine := &replay.Engine{Settings: n.settings, Counter: n.counter, Recording: n.set.Recording, Contexts: replay.NewContexts(dir.path)}
	sites := make([][]*mutant.Site, len(n.fixtures))
	group, ctx := errgroup.WithContext(n.cli.Context)
	group.SetLimit(max(1, n.settings.Concurrency))
	for i, f := range n.fixtures {
		group.Go(func() (err error) {
			sites[i], err = base.Sites(ctx, engine, f)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		err = fmt.Errorf("compacting the fixtures with the good compactor: %w", err)
		if errors.Is(err, replay.ErrCutShort) {
			return nil, &exitError{exitIncomplete, err}
		}
		return nil, err
	}
	return mutant.Make(sites, options), nil
}

func (n *night) playMutants(folder *replay.Folder, plan *mutant.Plan, kinds []mutant.Kind, name string) error {
	mutants := &replay.Mutations{
		Version: replay.MutationsVersion, Compactor: name, Seed: n.settings.Seed, Sample: n.cli.Int("sample"), Candidates: plan.Candidates,
		Mutants: []replay.Mutant{}, NotMade: plan.NotMade,
	}
	for _, k := range kinds {
		mutants.Kinds = append(mutants.Kinds, replay.MutantKind{Kind: string(k), Means: k.Means(), Harmless: k.Harmless()})
	}
	type place struct {
		fixture fixtures.Hash
		arm     string
	}
	wanted := map[place]bool{}
	for _, f := range n.fixtures {
		for _, arm := range n.arms[:2] { // the reference and the good compactor
			wanted[place{f.Hash, arm.Name}] = true
		}
	}
	for i := range plan.Made {
		m := &plan.Made[i].Mutant
		mutants.Mutants = append(mutants.Mutants, *m)
		wanted[place{m.Fixture, m.Arm()}] = true
	}
	if err := mutants.Write(folder.Dir); err != nil {
		return err
	}
	progress := newProgress(progressOut(n.cli, n.log), len(wanted))
	defer progress.done()
	engine := &replay.Engine{
		Settings: n.settings, Model: n.asks("agent", n.agent), Counter: n.counter, NewTools: n.tools().New, Recording: n.set.Recording,
		Contexts: folder.Contexts, Progress: progress.episode, Drain: n.drain, Log: n.log,
		Wanted: func(f *fixtures.Fixture, arm string) bool { return wanted[place{f.Hash, arm}] },
	}
	if err := engine.Play(n.cli.Context, folder, n.fixtures, n.arms); err != nil {
		return err
	}
	record, err := replay.ReadRecord(folder.Dir)
	if err != nil {
		return err
	}
	examiner := &judge.Judge{
		Model: n.asks("judge", n.judge), Name: n.judgeAs, Seed: n.settings.Seed, Concurrency: n.settings.Concurrency, Controls: n.config.controls(), Progress: progress.decisions, Drain: n.drain, Log: n.log,
		Skip: func(e *replay.Episode, c *replay.CompactionRecord) bool {
			good := record.Episode(replay.Key{Fixture: e.Fixture, Arm: name})
			return e.Arm != name && good != nil && slices.ContainsFunc(good.Compactions, func(o replay.CompactionRecord) bool {
				return o.Index == c.Index && o.After == c.After
			})
		},
	}
	return examiner.Run(n.cli.Context, folder)
}

// printMutation prints what a run says, and asks for more where too much of it has no
// outcome.
func printMutation(c *cli.Context, dir string) error {
	found, err := analysis.LoadMutation(dir)
	if err != nil {
		return err
	}
	if c.Bool("json") {
		err = report.MutationJSON(c.App.Writer, found)
	} else {
		err = report.MutationText(c.App.Writer, found, terminalStyle(c))
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(c.App.ErrWriter, "\nrun directory: %s\n", dir)
	made, unknown := found.Mutants.Made+found.Rewrites.Made, found.Mutants.Unknown+found.Rewrites.Unknown
	if tolerance := analysis.DefaultSettings().MaxUnscored; float64(unknown) > tolerance*float64(made) {
		return &exitError{exitIncomplete, fmt.Errorf("%d of %d mutants and rewrites have no outcome, more than %.0f%%", unknown, made, 100*tolerance)}
	}
	return nil
}

// folderForNow is a folder that goes when the command ends.
type folderForNow struct{ path string }

func (f folderForNow) remove() error { return os.RemoveAll(f.path) }

func tempContexts() (folderForNow, error) {
	path, err := os.MkdirTemp("", "doubletake-")
	if err != nil {
		return folderForNow{}, fmt.Errorf("making a folder for the contexts of the good compactor: %w", err)
	}
	return folderForNow{path}, nil
}
