package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/doubletake-dev/doubletake/analysis/report"
	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
	"github.com/doubletake-dev/doubletake/replay/cluster"
	"github.com/doubletake-dev/doubletake/replay/model"
)

func workerCommand() *cli.Command {
	return &cli.Command{
		Name:  "worker",
		Usage: "take episodes from a cluster's queue and play them",
		Description: `Plays the episodes that doubletake nightly --cluster publishes, on any number of machines,
until it is interrupted: the first time what is in flight ends first, the second time at
once. Who leads the run sends the config, the set and the names of the compactors; keys
are read from this machine's environment, and files that compactors name from --dir. A
worker whose program, compactors or models differ from the run's does not play for it, and
says why. Programs are the same that are one executable, or that were built from one commit
without changes.

Nothing is asked at another address than --endpoint allows, and no program is run without
--allow-exec: who can publish in the cluster decides on the rest.

   doubletake worker --cluster nats://queue.internal:4222 --concurrency 16
   doubletake worker --cluster nats://queue.internal:4222 --endpoint https://api.openai.com/v1
   doubletake worker --cluster nats://queue.internal:4222 --status
   doubletake worker --cluster nats://queue.internal:4222 --drop 20260320T010000Z-1c03a368`,
		Flags: append([]cli.Flag{
			stringFlag("config", "read the section cluster of the config `FILE`; default: ./"+configFile+" if there is one", "c"),
			concurrencyFlag("play `N` episodes at once", "8"),
			stringFlag("name", "what this worker is called, a `NAME`; default: the machine's with the number of the process"),
			stringFlag("dir", "where the files lie that compactors name, a `DIR`; default: the current one"),
			listFlag("endpoint", "send requests, with the keys of this environment, to the `URL` if a run asks for it (repeatable)"),
			allowExecFlag(),
			&cli.BoolFlag{Name: "any-build", Usage: "play for a leader that may be another build of this version, too, such as one for another platform", EnvVars: twin("any-build")},
			&cli.BoolFlag{Name: "status", Usage: "print how the whole fleet is getting on, and end", EnvVars: twin("status")},
			stringFlag("drop", "end a run whose leader is gone: take the jobs and results of the `RUN` out of the cluster, and end"),
			jsonFlag(),
		}, clusterFlags()...),
		Action: runWorker,
	}
}

// fleetWorker is this process as a worker.
type fleetWorker struct {
	cli     *cli.Context
	cluster *cluster.Cluster
	// dir is where compactors' files lie, work where this worker's own go, its sets among
	// them.
	dir, work string
	sets      workerSets
	program   programID
}

func runWorker(c *cli.Context) (err error) {
	if c.Args().Present() {
		return usageError("worker takes no arguments, have %q (doubletake worker --help)", c.Args().First())
	}
	cfg, err := loadConfig(c.String("config"))
	if err != nil {
		return err
	}
	if c.Bool("status") && c.IsSet("drop") {
		return usageError("--status and --drop are two commands: leave one of them out")
	}
	joined, err := joinCluster(c, cfg, c.Bool("status") || c.IsSet("drop"))
	if err != nil {
		return err
	}
	if joined == nil {
		return usageError("no cluster: name it with --cluster or cluster.url in the config")
	}
	defer func() { err = errors.Join(err, joined.Close()) }()
	if c.Bool("status") {
		status, err := joined.Status(c.Context)
		if err != nil {
			return err
		}
		if c.Bool("json") {
			return writeIndented(c.App.Writer, status)
		}
		printStatus(c.App.Writer, status)
		return nil
	}
	if c.IsSet("drop") {
		return dropRun(c, joined, c.String("drop"))
	}
	w := &fleetWorker{cli: c, cluster: joined, dir: cmp.Or(c.String("dir"), ".")}
	if w.program, err = thisProgram(); err != nil {
		return err
	}
	work, removeWork, err := workerFolder(os.TempDir())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, removeWork()) }()
	w.work, w.sets = work, workerSets{cluster: joined, dir: work, sets: map[string]*workerSet{}}
	name := c.String("name")
	if name == "" {
		host, err := os.Hostname()
		if err != nil {
			return fmt.Errorf("naming the worker: %w; give it a --name", err)
		}
		name = fmt.Sprintf("%s-%d", host, os.Getpid())
	}
	slots := cmp.Or(c.Int("concurrency"), replay.DefaultConcurrency)
	out := report.Printable(c.App.ErrWriter)
	fmt.Fprintf(out, "worker %s: waiting for runs\n", name)
	return joined.Work(c.Context, cluster.Worker{
		Name: name, Slots: slots, Open: w.open, Drain: drained(c.Context),
		Say: func(text string) { fmt.Fprintf(out, "worker %s: %s\n", name, text) },
	})
}

// dropRun ends a run that nobody leads any more.
func dropRun(c *cli.Context, joined *cluster.Cluster, run string) error {
	dropped, err := joined.Drop(c.Context, run)
	switch {
	case errors.Is(err, cluster.ErrUnknownRun):
		return usageError("--drop: %w; doubletake worker --status lists the runs", err)
	case errors.Is(err, cluster.ErrLed):
		return usageError("--drop: %w, and its jobs are taken back; one that was killed counts as there for a while (cluster.ack_wait)", err)
	case err != nil:
		return err
	case c.Bool("json"):
		return writeIndented(c.App.Writer, dropped)
	}
	fmt.Fprintf(report.Printable(c.App.Writer), "dropped run %s: %s, %s\n", run, report.Plural(dropped.Jobs, "job"), report.Plural(dropped.Results, "result"))
	return nil
}

// open makes the player of a run. Its errors say why this worker does not play for it.
func (w *fleetWorker) open(ctx context.Context, m *cluster.Manifest) (player *cluster.Player, err error) {
	parts, err := readParts(m)
	if err != nil {
		return nil, err
	}
	if err := w.sameProgram(parts); err != nil {
		return nil, err
	}
	n := &night{command: m.Plan.Command, cluster: w.cluster, player: true}
	if n.log, err = newLog(w.cli); err != nil {
		return nil, err
	}
	ended := func() error {
		var faults []error
		for i := len(n.close) - 1; i >= 0; i-- {
			faults = append(faults, n.close[i]())
		}
		return errors.Join(faults...)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, ended())
		}
	}()
	if n.cli, err = leaderFlags(ctx, parts.Flags, w.cli); err != nil {
		return nil, err
	}
	if n.config, err = parseConfig([]byte(parts.Config), "of the run", w.dir); err != nil {
		return nil, err
	}
	n.config.Tools.Exec = false // whether programs run is for this machine to say
	for _, r := range parts.Roles {
		n.roles = append(n.roles, role{r.Role, r.Compactor})
	}
	if err := w.mayRun(n); err != nil {
		return nil, err
	}
	if err := w.load(ctx, n, parts); err != nil {
		return nil, err
	}
	n.fixtures = n.set.Fixtures
	if err := n.permit(); err != nil {
		return nil, err
	}
	if err := n.connect(ctx); err != nil {
		return nil, err
	}
	if err := n.afterFork(); err != nil {
		return nil, err
	}
	if err := w.mayAsk(n); err != nil {
		return nil, err
	}
	if err := n.prepareArms(n.roles); err != nil {
		return nil, err
	}
	own := m.Plan
	own.Lineage, own.Settings, own.Arms = n.lineage, n.settings, n.infos
	if err := m.Plan.SameRun(own); err != nil {
		return nil, fmt.Errorf("this worker would play something else than the run: %w", err)
	}
	return w.player(n, m, ended)
}

// player plays a run that this worker is ready for.
func (w *fleetWorker) player(n *night, m *cluster.Manifest, ended func() error) (*cluster.Player, error) {
	n.agent.ResumeRun(m.Run)
	if n.user != nil {
		n.user.asked.ResumeRun(m.Run)
	}
	dir, err := os.MkdirTemp(w.work, "contexts-")
	if err != nil {
		return nil, err
	}
	contexts := replay.NewContexts(dir)
	n.close = append(n.close, func() error { return os.RemoveAll(dir) }, contexts.Close)
	if err := hasRoom(dir); err != nil {
		return nil, err
	}
	tools := n.tools()
	tools.Dir = w.work
	engine := replay.Engine{
		Settings: n.settings, Counter: n.counter, NewTools: tools.New, Recording: n.set.Recording,
		Contexts: contexts, User: n.simulated(), Log: n.log,
	}
	byHash := map[fixtures.Hash]*fixtures.Fixture{}
	for _, f := range n.fixtures {
		byHash[f.Hash] = f
	}
	play := func(ctx context.Context, key replay.Key) (*replay.Episode, error) {
		f := byHash[key.Fixture]
		i := slices.IndexFunc(n.arms, func(a replay.Arm) bool { return a.Name == key.Arm })
		if f == nil || i < 0 {
			return nil, fmt.Errorf("the run has no fixture %s or no arm %q", key.Fixture, key.Arm)
		}
		own := engine
		own.Model = n.asks("agent", n.agent.Series(key.String()))
		e, err := replay.InProcess{Engine: &own}.Play(ctx, replay.Job{Key: key, Fixture: f, Arm: n.arms[i]})
		if err == nil && !e.Finished() {
			err = hasRoom(dir) // else the fault is this worker's alone
		}
		return e, err
	}
	return &cluster.Player{Play: play, Contexts: engine.Contexts, Close: ended}, nil
}

// sameProgram says where the run's leader may be another program, unless that is allowed.
func (w *fleetWorker) sameProgram(parts *runParts) error {
	err := w.program.same(parts.Program)
	if err == nil {
		return nil
	}
	if !w.cli.Bool("any-build") {
		return fmt.Errorf("%w: give both one executable, or build both from one commit without changes; or start the worker with --any-build if they play alike", err)
	}
	fmt.Fprintf(report.Printable(w.cli.App.ErrWriter), "warning: %v; it plays all the same, for --any-build\n", err)
	return nil
}

// load loads the set of a run: the one that ships with the program, or the leader's,
// fetched into this worker's folder.
func (w *fleetWorker) load(ctx context.Context, n *night, parts *runParts) (err error) {
	if parts.Files == nil {
		n.set, err = loadSet("")
		return err
	}
	set, release, err := w.sets.open(ctx, parts)
	if err != nil {
		return err
	}
	n.set, n.close = set, append(n.close, release)
	return nil
}

// leaderFlags are the flags of a night with what the leader sets and nothing from this
// machine's environment but its permission to run programs.
func leaderFlags(ctx context.Context, flags map[string]string, own *cli.Context) (*cli.Context, error) {
	var night *cli.Context
	var known []cli.Flag
	for _, name := range resultFlags() {
		known = append(known, &cli.StringFlag{Name: name})
	}
	for i, f := range known {
		if f.Names()[0] == "seed" {
			known[i] = &cli.IntFlag{Name: "seed"}
		}
	}
	known = append(known, &cli.BoolFlag{Name: "allow-exec"})
	app := &cli.App{
		Name: "run", Flags: known, HideHelp: true, HideVersion: true, Writer: io.Discard, ErrWriter: own.App.ErrWriter,
		ExitErrHandler: func(*cli.Context, error) {},
		Action:         func(c *cli.Context) error { night = c; return nil },
	}
	args := []string{"run", fmt.Sprintf("--allow-exec=%t", own.Bool("allow-exec"))}
	for name, value := range flags {
		args = append(args, "--"+name+"="+value)
	}
	if err := app.RunContext(ctx, args); err != nil {
		return nil, fmt.Errorf("reading the flags of the run: %w", err)
	}
	return night, nil
}

// cacheOfNight is where a night stores answers.
func (n *night) cacheOfNight() (string, model.CacheMode, error) {
	if n.player {
		return "", model.CacheWrite, nil // in the cluster
	}
	mode, err := model.ParseCacheMode(cmp.Or(n.cli.String("cache"), n.config.Cache.Mode, string(model.CacheWrite)))
	if err != nil {
		return "", "", usageError("--cache: %w", noneOf(n.cli.String("cache"), cacheModes()...)) // the config's is checked
	}
	if err := n.clusterCache(mode); err != nil {
		return "", "", err
	}
	dir, err := cacheDir(cmp.Or(n.cli.String("cache-dir"), n.config.path(n.config.Cache.Dir)), mode)
	return dir, mode, err
}
