package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/doubletake-dev/doubletake/analysis/report"
	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
	"github.com/doubletake-dev/doubletake/replay/cluster"
	"github.com/doubletake-dev/doubletake/replay/model"
)

// clusterConfig says where the cluster is that plays a night.
type clusterConfig struct {
	URL    string `yaml:"url"`
	Prefix string `yaml:"prefix"`
	// Credentials is a NATS credentials file; CA, Cert and Key are PEM files.
	Credentials string `yaml:"credentials"`
	CA          string `yaml:"ca"`
	Cert        string `yaml:"cert"`
	Key         string `yaml:"key"`
	// Replicas is how many servers keep each stream.
	Replicas whole `yaml:"replicas"`
	// AckWait is how long a job may go without a sign of life.
	AckWait duration `yaml:"ack_wait"`
}

// validate says what is wrong with the section.
func (c *clusterConfig) validate() error {
	switch {
	case (c.Cert == "") != (c.Key == ""):
		return about(errors.New("cluster.cert and cluster.key go together"), "cluster", "cert")
	case c.Replicas < 0 || c.Replicas > 5 || c.Replicas%2 == 0 && c.Replicas != 0:
		return wrong([]string{"cluster", "replicas"}, "%d; want 1, 3 or 5", c.Replicas)
	case c.AckWait != 0 && time.Duration(c.AckWait) < leastAckWait:
		return wrong([]string{"cluster", "ack_wait"}, "%s; want at least %s", time.Duration(c.AckWait), leastAckWait)
	}
	if c.URL != "" {
		if err := cluster.CheckAddresses(c.URL); err != nil {
			return wrong([]string{"cluster", "url"}, "%w", err)
		}
	}
	if c.Prefix != "" {
		if err := cluster.CheckPrefix(c.Prefix); err != nil {
			return wrong([]string{"cluster", "prefix"}, "%w", err)
		}
	}
	return nil
}

// leastAckWait is the shortest cluster.ack_wait: a third of it is between signs of life.
const leastAckWait = time.Second

func clusterFlags() []cli.Flag {
	return []cli.Flag{
		stringFlag("cluster", "play on the workers of a NATS cluster with JetStream, at the `URL`, such as nats://host:4222, or several with commas between"),
		stringFlag("cluster-prefix", "what the cluster's subjects begin with, a `NAME`; default: "+cluster.DefaultPrefix),
		stringFlag("cluster-creds", "sign in to the cluster with the credentials `FILE`"),
		stringFlag("cluster-ca", "trust the cluster's certificate by the PEM `FILE`"),
		stringFlag("cluster-cert", "show the cluster the certificate in the PEM `FILE`"),
		stringFlag("cluster-key", "the key of --cluster-cert, a PEM `FILE`"),
	}
}

// joinCluster connects to the cluster that flags or config name; nil where they name none.
// Look makes nothing there, and what is not there is [cluster.ErrNothing].
func joinCluster(c *cli.Context, cfg *config, look bool) (*cluster.Cluster, error) {
	set := &cfg.Cluster
	options := cluster.Options{
		URL: cmp.Or(c.String("cluster"), set.URL), Prefix: cmp.Or(c.String("cluster-prefix"), set.Prefix),
		Credentials: cmp.Or(c.String("cluster-creds"), cfg.path(set.Credentials)),
		CA:          cmp.Or(c.String("cluster-ca"), cfg.path(set.CA)),
		Cert:        cmp.Or(c.String("cluster-cert"), cfg.path(set.Cert)),
		Key:         cmp.Or(c.String("cluster-key"), cfg.path(set.Key)),
		User:        os.Getenv("DOUBLETAKE_CLUSTER_USER"), Password: os.Getenv("DOUBLETAKE_CLUSTER_PASSWORD"),
		Replicas: int(set.Replicas), AckWait: time.Duration(set.AckWait), Look: look,
	}
	if options.URL == "" {
		return nil, nil
	}
	if (options.Cert == "") != (options.Key == "") {
		return nil, usageError("--cluster-cert and --cluster-key go together")
	}
	for _, named := range []struct{ flag, key, file string }{
		{"cluster-creds", "credentials", set.Credentials}, {"cluster-ca", "ca", set.CA}, {"cluster-cert", "cert", set.Cert}, {"cluster-key", "key", set.Key},
	} {
		if named.file == "" || c.String(named.flag) != "" {
			continue
		}
		if _, err := os.Stat(cfg.path(named.file)); err != nil {
			return nil, cfg.wrongSince(wrong([]string{"cluster", named.key}, "reading the file: %w", err))
		}
	}
	return cluster.Connect(c.Context, options)
}

// runParts is what a worker makes the arms and the models of a run of.
type runParts struct {
	// Program is the leader's: a worker is to be the same.
	Program programID  `json:"program"`
	Roles   []rolePart `json:"roles"`
	// Flags are those of the leader's that a result depends on, Config is its config.
	Flags  map[string]string `json:"flags"`
	Config string            `json:"config"`
	// Set is the name of the set and Files its files; none for the set that ships with the
	// program.
	Set   string                  `json:"set"`
	Files map[string]cluster.File `json:"files,omitempty"`
}

type rolePart struct {
	Role      string `json:"role"`
	Compactor string `json:"compactor"`
}

// resultFlags are the flags that a worker needs of the leader.
func resultFlags() []string {
	return []string{"model", "judge-model", "base-url", "seed", "mode", "inject"}
}

// join connects the night to its cluster, if it has one.
func (n *night) join() (err error) {
	if n.cli.Bool("dry-run") {
		return nil // nothing is asked, nothing is played
	}
	if n.cluster, err = joinCluster(n.cli, n.config, false); n.cluster == nil || err != nil {
		return err
	}
	n.close = append(n.close, n.cluster.Close)
	if n.shard != nil {
		return usageError("--shard does not go with --cluster: the cluster shares the work out by itself; leave one of them out")
	}
	for name, c := range n.config.Compactors {
		for _, entry := range c.Env {
			if variable, _, value := strings.Cut(entry, "="); value {
				return n.config.wrongSince(about(usageError("compactors.%s.env: %s=... would travel through the cluster; give the name %s alone, and set it where the workers run", name, variable, variable), "compactors", name, "env"))
			}
		}
	}
	return nil
}

// clusterCache says what is wrong with a cache mode on a cluster.
func (n *night) clusterCache(mode model.CacheMode) error {
	if n.cluster != nil && mode != model.CacheWrite {
		return usageError("--cache %s does not go with --cluster: the workers share the answers that the cluster stores", mode)
	}
	return nil
}

// openCached makes a model that stores answers: in the cluster, or in the folder dir.
func (n *night) openCached(paid replay.Model, identity, dir string, mode model.CacheMode) (*model.Cached, error) {
	if n.cluster != nil {
		return model.NewShared(paid, identity, n.cluster.Answers()), nil
	}
	cached, err := model.NewCached(paid, identity, dir, mode)
	if err != nil && n.config.Cache.Dir != "" && n.cli.String("cache-dir") == "" {
		err = n.config.wrongSince(wrong([]string{"cache", "dir"}, "%w", err))
	}
	return cached, err
}

// ahead is how many jobs a leader has published at once.
const ahead = 1024

// lead publishes the run to the cluster, if there is one, and has the engine play there.
// What it returns ends that.
func (n *night) lead(engine *replay.Engine, folder *replay.Folder) (func() error, error) {
	if n.cluster == nil {
		return func() error { return nil }, nil
	}
	ctx := n.cli.Context
	parts := runParts{Flags: map[string]string{}, Config: n.config.text, Set: n.set.Name}
	for _, r := range n.roles {
		parts.Roles = append(parts.Roles, rolePart{r.role, r.compactor})
	}
	for _, name := range resultFlags() {
		if n.cli.IsSet(name) {
			parts.Flags[name] = fmt.Sprint(n.cli.Value(name))
		}
	}
	if !n.offline {
		parts.Flags["base-url"] = n.endpoint.BaseURL
	}
	var err error
	if parts.Program, err = thisProgram(); err != nil {
		return nil, err
	}
	if cmp.Or(n.cli.String("set"), n.config.Set) != "" {
		if parts.Files, err = n.putSet(ctx); err != nil {
			return nil, err
		}
	}
	data, err := fixtures.MarshalPlain(parts)
	if err != nil {
		return nil, err
	}
	leader, err := n.cluster.Lead(ctx, cluster.Manifest{Run: folder.Run.ID, Plan: folder.Run.Plan, Parts: data}, folder.Contexts)
	if err != nil {
		return nil, err
	}
	leader.Drain, leader.Spent = n.drain, n.spentElsewhere()
	if over := n.budget.Left(); over != nil { // before the run went on
		leader.Stop(ctx, over)
	}
	engine.Executor, engine.Settings.Concurrency = leader, ahead
	watching, stop := context.WithCancel(ctx)
	var beside sync.WaitGroup
	beside.Go(func() { n.watchFleet(watching, folder.Run.ID) })
	if parts.Files != nil {
		beside.Go(func() { n.keepSet(watching, cluster.RenewEvery) })
	}
	return func() error {
		stop()
		beside.Wait()
		return leader.Close(ctx)
	}, nil
}

// spentElsewhere takes from the budget what the answers cost that workers asked for.
func (n *night) spentElsewhere() func(*replay.Episode) error {
	var mu sync.Mutex
	seen := map[fixtures.Hash]bool{} // paid for, by this run before it went on as well
	maps.Copy(seen, n.paid)
	return func(e *replay.Episode) error {
		mu.Lock()
		defer mu.Unlock()
		for _, x := range e.Exchanges {
			if x.Stored || seen[x.Key] {
				continue
			}
			seen[x.Key] = true
			if x.CostUSD != nil {
				n.budget.Spend(*x.CostUSD)
			}
			n.budget.SpendTokens(x.Usage.Total())
		}
		return n.budget.Left()
	}
}

// fleetEvery is how often the fleet is asked how it is getting on.
const fleetEvery = 5 * time.Second

// watchFleet tells of the workers of a run whenever they change.
func (n *night) watchFleet(ctx context.Context, run string) {
	told := ""
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		if status, err := n.cluster.Status(ctx); err == nil {
			if line := fleetLine(status, run); line != told {
				n.progress.line(line)
				told = line
			}
		}
		timer.Reset(fleetEvery)
	}
}

// fleetLine is the fleet as one run sees it.
func fleetLine(s *cluster.Status, run string) string {
	name := ""
	for _, r := range s.Runs {
		if r.Run == run {
			name = r.Name
		}
	}
	slots, refused, troubled := 0, []string{}, []string{}
	for _, w := range s.Workers {
		if why, no := w.Refused[name]; no {
			refused = append(refused, fmt.Sprintf("%s does not play: %s", w.Name, why))
			continue
		}
		slots += w.Slots
		if of, is := w.Unstored[name]; is {
			troubled = append(troubled, fmt.Sprintf("%s cannot store what it played: %s", w.Name, of.Why))
		}
	}
	line := fmt.Sprintf("fleet: %s, %s at once", report.Plural(len(s.Workers)-len(refused), "worker"), report.Plural(slots, "episode"))
	if slots == 0 {
		line += "; the jobs wait: start doubletake worker with the same --cluster"
	}
	dead := 0
	for _, d := range s.Dead {
		if d.Run == name {
			dead++
		}
	}
	if dead > 0 {
		line += fmt.Sprintf("; %s", report.Plural(int(dead), "dead letter"))
	}
	return strings.Join(slices.Concat([]string{line}, refused, troubled), "; ")
}

// line prints a line of its own, above the bars where there are some.
func (p *progress) line(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := p.out
	if p.bars != nil {
		out = p.bars
	}
	fmt.Fprintln(report.Printable(out), text)
}

// printStatus prints how the fleet is getting on.
func printStatus(out io.Writer, s *cluster.Status) {
	out = report.Printable(out)
	fmt.Fprintf(out, "workers: %d\n", len(s.Workers))
	for _, w := range s.Workers {
		fmt.Fprintf(out, "  %s: %d of %s running, %d done, %d failed, since %s\n", w.Name, w.Running, report.Plural(w.Slots, "episode"), w.Done, w.Failed, w.Since.Format(time.DateTime))
		for run, why := range w.Refused {
			fmt.Fprintf(out, "    does not play for run %s: %s\n", run, why)
		}
		for run, of := range w.Unstored {
			fmt.Fprintf(out, "    cannot store what it played of run %s: %s\n", run, of.Why)
		}
	}
	fmt.Fprintf(out, "runs: %d\n", len(s.Runs))
	for _, r := range s.Runs {
		fmt.Fprintf(out, "  %s (%s): %d queued, %d running, %d given to more than one worker\n", r.Run, r.Name, r.Queued, r.Running, r.Again)
		if !r.Led {
			fmt.Fprintf(out, "    no leader: its jobs wait until the same nightly goes on; doubletake worker --drop %s ends it\n", r.Run)
		}
	}
	fmt.Fprintf(out, "dead letters: %d\n", len(s.Dead))
	for _, d := range s.Dead {
		reason := ""
		if d.Reason != "" {
			reason = "; " + d.Reason
		}
		fmt.Fprintf(out, "  run %s, %s under %s, replicate %d: given to %s, none came to its end%s\n", d.Run, d.Conversation, d.Key.Arm, d.Key.Replicate, report.Plural(int(d.Deliveries), "worker"), reason)
	}
}

// readParts reads what a worker is to make of a run.
func readParts(m *cluster.Manifest) (*runParts, error) {
	var parts runParts
	if err := json.Unmarshal(m.Parts, &parts); err != nil {
		return nil, fmt.Errorf("reading the run: %w", err)
	}
	for name := range parts.Flags {
		if !slices.Contains(resultFlags(), name) {
			return nil, fmt.Errorf("reading the run: it brings the flag --%.40s, which is not the leader's to set", name)
		}
	}
	return &parts, nil
}
