package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/doubletake-dev/doubletake/analysis"
	"github.com/doubletake-dev/doubletake/analysis/report"
	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/fixtures/adversarial"
	"github.com/doubletake-dev/doubletake/pairing"
	"github.com/doubletake-dev/doubletake/replay"
	"github.com/doubletake-dev/doubletake/replay/cluster"
	"github.com/doubletake-dev/doubletake/replay/compact"
	"github.com/doubletake-dev/doubletake/replay/judge"
	"github.com/doubletake-dev/doubletake/replay/model"
	"github.com/doubletake-dev/doubletake/replay/offline"
)

// shippedSet is what the embedded set is called.
const shippedSet = "adversarial"

// The model names of the embedded provider.
const (
	offlineAgent = "offline-agent"
	offlineJudge = "offline-judge"
)

// role is an arm that a command asks for, by the compactor's name.
type role struct {
	role      string
	compactor string
}

// night is one run being made.
type night struct {
	command  string
	cli      *cli.Context
	config   *config
	set      *fixtures.Set
	fixtures []*fixtures.Fixture
	settings replay.Settings
	// verdict is what the verdict is found by, replicates how often each episode is played.
	verdict    analysis.Settings
	replicates int
	// quarantined names the fixtures that are kept out, with why.
	quarantined []string
	counter     *model.Counter
	agent       *model.Cached
	judge       *model.Cached
	judgeAs     string
	budget      *model.Budget
	paid        map[fixtures.Hash]bool // answers that the run paid for before it went on
	lineage     replay.Lineage
	arms        []replay.Arm
	infos       []replay.ArmInfo
	control     bool
	progress    *progress
	offline     bool
	begun       time.Time // when the run began, or the one that goes on
	// endpoint is the agent's; openModel reaches another under the same limits.
	endpoint  model.Endpoint
	judgeAt   model.Endpoint // the judge's
	openModel func(model.Endpoint) (*model.Cached, error)
	user      *simulatedUser // nil where the recorded user speaks
	// drain is closed when the user wants nothing more to begin.
	drain <-chan struct{}
	close []func() error
	// injection is the failure that the built-in compactors' model is given; nil for none.
	injection *compact.Injection
	// injected names the compactors that it reaches.
	injected []string
	// shard is the part of the whole set that is played; nil where all of it is.
	shard *replay.Shard
	whole []*fixtures.Fixture
	// cluster is where episodes are played; nil for this process. A player plays for
	// another process's run.
	cluster *cluster.Cluster
	player  bool
	roles   []role
	// log is nil where nothing is logged.
	log *slog.Logger
}

// runNight plays the roles over the set and reports. It is what nightly and compare share.
func runNight(c *cli.Context, command string, roles func(*config) ([]role, error)) (err error) {
	n := &night{command: command, cli: c}
	if n.log, err = newLog(c); err != nil {
		return err
	}
	if err := checkOutputs(c, c.String("out")); err != nil {
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
	if err := n.join(); err != nil {
		return err
	}
	if err := n.connect(c.Context); err != nil {
		return err
	}
	if err := n.afterFork(); err != nil {
		return err
	}
	wanted, err := roles(n.config)
	if err != nil {
		return err
	}
	n.roles = wanted
	if err := n.prepareArms(wanted); err != nil {
		return err
	}
	if c.Bool("dry-run") {
		return n.dryRun()
	}
	folder, err := n.open()
	if err != nil {
		return err
	}
	n.drain = drained(c.Context)
	if err := n.play(folder); err != nil {
		return n.stop(folder, err)
	}
	if n.shard != nil {
		now := time.Now().UTC().Truncate(time.Second)
		return unwritten(c, folder.Dir, errors.Join(folder.SetEnded(&now), folder.Close(), n.finishShard(folder.Dir)))
	}
	if err := folder.Close(); err != nil {
		return unwritten(c, folder.Dir, err)
	}
	return unwritten(c, folder.Dir, n.finish(folder.Dir))
}

// loadSet loads the set in dir, or the shipped one for no dir.
func loadSet(dir string) (*fixtures.Set, error) {
	files, name, err := setFiles(dir)
	if err != nil {
		return nil, err
	}
	return fixtures.LoadSet(files, name)
}

func setFiles(dir string) (fs.FS, string, error) {
	if dir == "" {
		files, err := adversarial.Files()
		return files, shippedSet, err
	}
	info, err := os.Stat(dir)
	if err != nil {
		return nil, "", fmt.Errorf("opening the set: %w", err)
	}
	if !info.IsDir() {
		return nil, "", fmt.Errorf("opening the set: %s is no folder", dir)
	}
	return os.DirFS(dir), dir, nil
}

func (n *night) load() (err error) {
	// The vocabulary for token counts is unpacked meanwhile, once for the whole program; what
	// goes wrong is told where it is used.
	go func() { _, _ = model.NewCounter(cmp.Or(n.cli.String("model"), n.config.Agent.Model)) }()
	dir := n.cli.String("set")
	if dir == "" {
		if dir, err = n.config.setFolder(); err != nil {
			return err
		}
	}
	if n.set, err = loadSet(dir); err != nil {
		return err
	}
	if n.fixtures, err = n.set.Select(list(n.cli, "fixture")); err != nil {
		return err
	}
	if n.quarantine(); len(n.fixtures) == 0 {
		return usageError("every fixture is in quarantine: %s", strings.Join(n.quarantined, "; "))
	}
	if err := n.permit(); err != nil {
		return err
	}
	part := fixtures.Set{Fixtures: n.fixtures}
	sayUnannotated(n.cli, part.Items())
	n.verdict = n.config.analysis()
	if n.cli.IsSet("stop") {
		if n.verdict.Stop, err = analysis.ParseStop(n.cli.String("stop")); err != nil {
			return usageError("--stop: %w", noneOf(n.cli.String("stop"), string(analysis.StopEarly), string(analysis.StopNever)))
		}
	}
	n.replicates = int(n.config.Nightly.Replicates)
	if n.cli.IsSet("replicates") {
		if n.replicates = n.cli.Int("replicates"); n.replicates < 1 || n.replicates > maxConfirm {
			return usageError("--replicates: %d; want 1 to %d", n.replicates, maxConfirm)
		}
	}
	return n.takeShard()
}

// quarantine takes out the fixtures that are kept out today, and those whose time is over
// it names: they play again.
func (n *night) quarantine() {
	today := time.Now()
	var playing []*fixtures.Fixture
	for _, f := range n.fixtures {
		switch {
		case f.Quarantined(today):
			n.quarantined = append(n.quarantined, fmt.Sprintf("%s, until %s: %s", f.ConversationID, f.Quarantine.Until, f.Quarantine.Reason))
			continue
		case f.Quarantine != nil:
			fmt.Fprintf(report.Printable(n.cli.App.ErrWriter), "the quarantine of %s ended on %s: it plays again\n", f.ConversationID, f.Quarantine.Until)
		}
		playing = append(playing, f)
	}
	n.fixtures = playing
}

// connect finds the models: an endpoint, or the embedded provider where none is named.
func (n *night) connect(ctx context.Context) error {
	c, cfg := n.cli, n.config
	n.settings = replay.Settings{
		Model: cmp.Or(c.String("model"), cfg.Agent.Model), Seed: replay.DefaultSeed,
		Window:      cmp.Or(int(cfg.Agent.Window), replay.DefaultWindow),
		Trigger:     replay.DefaultTrigger,
		StepLimit:   cmp.Or(int(cfg.Agent.StepLimit), replay.DefaultStepLimit),
		SecondPass:  cfg.Nightly.SecondPass == nil || *cfg.Nightly.SecondPass,
		Concurrency: cmp.Or(c.Int("concurrency"), int(cfg.Limits.Concurrency), replay.DefaultConcurrency),

		EpisodeTimeout: time.Duration(cfg.Limits.EpisodeTimeout),
	}
	if cfg.Agent.Seed != nil {
		n.settings.Seed = int(*cfg.Agent.Seed)
	}
	if c.IsSet("seed") {
		n.settings.Seed = c.Int("seed")
	}
	endpoint := model.Endpoint{
		BaseURL: cmp.Or(c.String("base-url"), cfg.Agent.BaseURL),
		Key:     os.Getenv("OPENAI_API_KEY"), Timeout: time.Duration(cfg.Limits.Timeout), Tries: uint(cfg.Limits.Tries),
	}
	n.judgeAs = cmp.Or(c.String("judge-model"), cfg.Judge.Model)
	if n.offline = endpoint.BaseURL == "" && n.settings.Model == ""; n.offline {
		if cfg.Agent.Provider != "" || cfg.Judge.Provider != "" {
			section := "agent"
			if cfg.Agent.Provider == "" {
				section = "judge"
			}
			return cfg.wrongSince(about(usageError("a provider is set and no agent's model: name agent.model, too, or leave both to the embedded provider"), section, "provider"))
		}
		if cfg.Judge.BaseURL != "" {
			return cfg.wrongSince(about(usageError("judge.base_url is set and no agent's model: name agent.model, too, or leave both to the embedded provider"), "judge", "base_url"))
		}
		server, library, err := startOffline(ctx, n.set.Files(), "127.0.0.1:0")
		if err != nil {
			return err
		}
		n.close = append(n.close, server.Close)
		// A base URL in the environment alone does not turn the offline default into a
		// paid one; with a model named it says where.
		if os.Getenv("OPENAI_BASE_URL") != "" && !n.player {
			fmt.Fprintf(c.App.ErrWriter, "OPENAI_BASE_URL is set and no model is named: the embedded offline provider answers; --model NAME, or agent.model in %s, asks there\n", configFile)
		}
		endpoint = model.Endpoint{BaseURL: server.URL(), Identity: replay.OfflineIdentity + string(library.Digest()), Untimed: true}
		n.settings.Model = offlineAgent
		n.judgeAs = cmp.Or(n.judgeAs, offlineJudge)
		if err := n.offlineNames(); err != nil {
			return err
		}
	}
	if n.settings.Model == "" {
		return usageError("no model: name the agent's with --model or agent.model in the config")
	}
	n.judgeAs = cmp.Or(n.judgeAs, n.settings.Model)
	agentEndpoint, judgeEndpoint := endpoint, endpoint
	if !n.offline {
		agentEndpoint, judgeEndpoint = cfg.endpoints(endpoint)
	}
	agentEndpoint.Responses = cfg.Agent.API == apiResponses && !n.offline
	if err := n.rightProviders(agentEndpoint, judgeEndpoint); err != nil {
		return err
	}
	n.asking(&agentEndpoint, &judgeEndpoint)
	return n.models(agentEndpoint, judgeEndpoint)
}

func (n *night) models(agent, judgeAt model.Endpoint) (err error) {
	dir, mode, err := n.cacheOfNight()
	if err != nil {
		return err
	}
	open, err := n.opener(n.settings.Model, dir, mode)
	if err != nil {
		return err
	}
	n.endpoint, n.judgeAt, n.openModel = agent, judgeAt, open
	n.trimAtTheEnd(dir, mode)
	if n.agent, err = open(agent); err != nil {
		return err
	}
	if n.judge, err = open(judgeAt); err != nil {
		return err
	}
	if agent.Anthropic == nil { // its client has a bound of its own
		n.agent.MaxTokens = int(n.config.Agent.MaxTokens)
	}
	if judgeAt.Anthropic == nil {
		n.judge.MaxTokens = int(n.config.Judge.MaxTokens)
	}
	if err := n.priced(); err != nil {
		return err
	}
	identity := func(e model.Endpoint) string { return cmp.Or(e.Identity, strings.TrimSuffix(e.BaseURL, "/")) }
	n.lineage = replay.Lineage{
		Program: programVersion(), AgentModel: n.settings.Model, JudgeModel: n.judgeAs, JudgePrompt: judge.PromptSHA256(),
		Endpoint: identity(agent), JudgeEndpoint: identity(judgeAt), Seed: n.settings.Seed,
		SetName: filepath.Base(n.set.Name), SetVersion: n.set.Version, SetHash: n.set.Hash,
		Vocabulary: n.counter.Vocabulary, VocabularyOwn: n.counter.Exact || n.offline,
		AgentMaxTokens: int(n.config.Agent.MaxTokens), JudgeMaxTokens: int(n.config.Judge.MaxTokens),
	}
	n.sentOtherwise(agent, judgeAt)
	return nil
}

// opener opens models that are asked under the config's limits and its budget, and whose
// answers are stored in dir. Tokens are counted as the named model counts them.
func (n *night) opener(counted, dir string, mode model.CacheMode) (func(model.Endpoint) (*model.Cached, error), error) {
	limit := n.limiters()
	var err error
	if n.counter, err = model.NewCounter(counted); err != nil {
		return nil, err
	}
	n.budget = model.NewBudget(float64(n.config.Limits.MaxCostUSD))
	n.budget.LimitTokens(int(n.config.Limits.MaxTokens))
	return func(at model.Endpoint) (*model.Cached, error) {
		at.Log = n.log
		client, err := newModelClient(at)
		if err != nil {
			return nil, err
		}
		n.sayLearnt(client)
		paid := model.NewBudgeted(model.NewLimited(client, limit(at), n.counter), n.budget, n.config.prices())
		paid.Free = strings.HasPrefix(at.Identity, replay.OfflineIdentity)
		cached, err := n.openCached(paid, client.Identity(), dir, mode)
		if err != nil {
			return nil, err
		}
		n.close = append(n.close, cached.Close)
		cached.Dialect = dialect(client)
		cached.Warn = func(err error) {
			fmt.Fprintf(report.Printable(n.cli.App.ErrWriter), "warning: %v; answers are not stored any more\n", err)
		}
		return cached, nil
	}, nil
}

// priced says which model lacks a price where the money is limited.
func (n *night) priced() error {
	names := []string{n.settings.Model, n.judgeAs}
	if n.config.User.Model != "" {
		names = append(names, n.config.User.Model)
	}
	for _, c := range n.config.Compactors {
		if c.Model != "" {
			names = append(names, c.Model)
		}
	}
	return n.pricesOf(names...)
}

// pricesOf says which of the named models lacks a price where the money is limited.
func (n *night) pricesOf(names ...string) error {
	if n.config.Limits.MaxCostUSD == 0 {
		return nil
	}
	for _, name := range names {
		if _, known := n.config.price(name); !known {
			return n.config.wrongSince(about(usageError("limits.max_cost_usd is set, and prices has no entry for the model %s; add prices: {%s: {input: USD, output: USD}}, per million tokens", name, name), "limits", "max_cost_usd"))
		}
	}
	return nil
}

// startOffline starts the embedded provider with the scripts of a set.
func startOffline(ctx context.Context, files fs.FS, addr string) (*offline.Server, *offline.Library, error) {
	library, err := offline.LoadLibrary(files)
	if err != nil {
		return nil, nil, fmt.Errorf("starting the offline provider: %w", err)
	}
	server, err := offline.Listen(ctx, addr, offline.NewHandler(library))
	if err != nil {
		return nil, nil, fmt.Errorf("starting the offline provider: %w", err)
	}
	return server, library, nil
}

// addArms makes the reference, the control where it is wanted, and the roles' arms.
func (n *night) addArms(roles []role) error {
	n.addArm(replay.Arm{Name: analysis.RoleReference, Kind: replay.ReferenceArm}, analysis.RoleReference, "", "")
	n.control = !n.offline
	if wanted := n.config.Nightly.Control; wanted != nil {
		n.control = *wanted
	}
	if n.control {
		n.addArm(replay.Arm{Name: analysis.RoleControl, Kind: replay.ControlArm}, analysis.RoleControl, "", "")
	}
	if model.Varies(n.lineage.AgentSent) && !n.control {
		return n.config.wrongSince(about(usageError("nightly.control: false, and the model %s is asked with %s: how much it differs from itself must be known; leave the control on", n.settings.Model, n.lineage.AgentSent), "nightly", "control"))
	}
	used := map[string]int{analysis.RoleReference: 1, analysis.RoleControl: 1}
	trigger := 0.0
	for _, r := range roles {
		compactor, own, err := n.compactor(r.compactor)
		if err != nil {
			return n.config.wrongSince(n.namedFor(r, err))
		}
		if own > 0 && trigger > 0 && own != trigger {
			return n.config.wrongSince(about(usageError("the compactors have triggers %v and %v; the arms of a pair must be compacted at the same turns, so give them one", trigger, own), "compactors", r.compactor, "trigger"))
		}
		trigger = max(trigger, own)
		arm := replay.Arm{Name: r.compactor, Kind: replay.CompactorArm, Compactor: compactor}
		if used[arm.Name]++; used[arm.Name] > 1 {
			arm.Name = fmt.Sprintf("%s (%d)", arm.Name, used[arm.Name])
		}
		if _, none := compactor.(compact.None); none {
			arm.Kind = replay.ReferenceArm // nothing is compacted, and nothing was expected to be
		}
		n.addArm(arm, r.role, r.compactor, compact.Digest(compactor))
		n.lineage.CompactorNames = append(n.lineage.CompactorNames, r.compactor)
	}
	if trigger > 0 {
		n.settings.Trigger = trigger
	}
	return nil
}

func (n *night) addArm(arm replay.Arm, role, compactor string, digest fixtures.Hash) {
	n.arms = append(n.arms, arm)
	n.infos = append(n.infos, replay.ArmInfo{Name: arm.Name, Role: role, Kind: arm.Kind, Compactor: compactor, Digest: digest})
}

// namedFor says that an error is about the name of a role's compactor, where the config
// gives it and the error is about no other key.
func (n *night) namedFor(r role, err error) error {
	var key *keyError
	if _, own := n.config.Compactors[r.compactor]; own || errors.As(err, &key) {
		return err
	}
	for _, named := range []struct{ role, key, by string }{
		{analysis.RoleCandidate, "candidate", n.config.Nightly.Candidate}, {analysis.RoleIncumbent, "incumbent", n.config.Nightly.Incumbent},
	} {
		if r.role == named.role && named.by == r.compactor && !n.cli.IsSet(named.key) {
			return about(fmt.Errorf("nightly.%s: %w", named.key, err), "nightly", named.key)
		}
	}
	return err
}

// compactor makes the compactor of that name, as makeCompactor does, and closes it at
// the night's end where it holds a process or connections.
func (n *night) compactor(name string) (replay.Compactor, float64, error) {
	made, trigger, err := n.makeCompactor(name)
	if err != nil {
		return nil, 0, err
	}
	if closer, ok := made.(io.Closer); ok {
		n.close = append(n.close, closer.Close)
	}
	return made, trigger, nil
}

// makeCompactor makes the compactor of that name: one of the config, else the one at
// an address, else a command where the name has a slash or more words than one, else a
// built-in one.
func (n *night) makeCompactor(name string) (replay.Compactor, float64, error) {
	options := compact.Options{Model: n.asks("compactor", n.agent), ModelName: n.settings.Model, Counter: n.counter}
	c, ok := n.config.Compactors[name]
	if !ok {
		if compact.IsAddress(name) {
			if strings.ContainsAny(name, "@?#") {
				return nil, 0, usageError("a compactor's address on the command line may hold no user, query or fragment: it stands in the run's files; give it a name in the config, with its key in headers_env")
			}
			made, err := compact.NewHTTP(compact.HTTPOptions{URL: name, Counter: n.counter})
			if err != nil {
				return nil, 0, err
			}
			return made, 0, nil
		}
		if isCommand(name) {
			command, err := commandWords(name)
			if err != nil {
				return nil, 0, err
			}
			made, err := compact.NewExec(compact.ExecOptions{Command: command, Counter: n.counter})
			return made, 0, err
		}
		made, err := n.builtIn(name, name, options)
		return made, 0, err
	}
	if c.Use == "" {
		made, err := n.foreign(name, c)
		if err != nil {
			return nil, 0, about(fmt.Errorf("compactors.%s: %w", name, err), "compactors", name, c.kind())
		}
		return made, c.Trigger, nil
	}
	if n.offline && c.Model != "" && !offlineName(c.Model) {
		return nil, 0, about(usageError("compactors.%s.model: %s, and no agent's model; %s", name, c.Model, offlineInstead), "compactors", name, "model")
	}
	options.Keep, options.ModelName = int(c.Keep), cmp.Or(c.Model, n.settings.Model)
	options.ToolUses, options.ClearAtLeast = int(c.ToolUses), int(c.ClearAtLeast)
	options.ExcludeTools, options.ClearToolInputs = c.ExcludeTools, c.ClearToolInputs
	if c.Prompt != "" {
		prompt, err := compact.ReadPrompt(n.config.path(c.Prompt))
		if err != nil {
			return nil, 0, about(fmt.Errorf("compactors.%s: %w", name, err), "compactors", name, "prompt")
		}
		options.Prompt = prompt
	}
	made, err := n.builtIn(name, c.Use, options)
	if err != nil {
		return nil, 0, about(fmt.Errorf("compactors.%s: %w", name, err), "compactors", name, "use")
	}
	return made, c.Trigger, nil
}

// kind is the key that says what kind of compactor it is, where it is no built-in one.
func (c compactorConfig) kind() string {
	switch {
	case c.Preset != "":
		return "preset"
	case c.HTTP != "":
		return "http"
	case c.File != "":
		return "file"
	}
	return "exec"
}

// foreign makes the compactor of the config that isn't a built-in one.
func (n *night) foreign(name string, c compactorConfig) (replay.Compactor, error) {
	timeout := time.Duration(c.Timeout)
	switch {
	case c.Preset != "":
		return n.preset(name, c)
	case c.HTTP != "":
		return compact.NewHTTP(compact.HTTPOptions{URL: c.HTTP, HeadersEnv: c.HeadersEnv, Timeout: timeout, Name: name, Counter: n.counter})
	case c.File != "":
		return compact.NewSaved(compact.SavedOptions{Dir: n.config.path(c.File), Name: name, Counter: n.counter})
	}
	options := compact.ExecOptions{Command: c.Exec, Dir: n.config.dir, Timeout: timeout, Env: c.Env, Name: name, Counter: n.counter}
	if c.KeepAlive {
		return compact.NewProcess(options)
	}
	return compact.NewExec(options)
}

// recall has a night that may not ask be the one that it plays again, so that its report
// is that one's, byte for byte; a night that asks is remembered for that.
func (n *night) recall(folder *replay.Folder, plan replay.Plan) error {
	if folder.Resumed {
		return nil
	}
	hash, err := fixtures.HashJSON(plan)
	if err != nil {
		return err
	}
	if run := n.agent.Replayed(hash); run != "" {
		fmt.Fprintf(n.cli.App.ErrWriter, "run %s is played again from its stored answers; nobody is asked, and the report says what the answers cost then\n", report.Clean(run))
		return folder.PlayAgain(run)
	}
	if err := n.agent.KeepRun(hash, folder.Run.ID); err != nil {
		fmt.Fprintf(report.Printable(n.cli.App.ErrWriter), "warning: %v\n", err)
	}
	return nil
}

// plan is what is to be played, and by what it is judged.
func (n *night) plan() (replay.Plan, error) {
	settings, err := json.Marshal(n.verdict)
	if err != nil {
		return replay.Plan{}, err
	}
	part := fixtures.Set{Fixtures: n.fixtures}
	return replay.Plan{
		Command: n.command, Lineage: n.lineage, Settings: n.settings, Arms: n.infos,
		Fixtures: len(n.fixtures), Items: part.Items(), Decisions: part.Decisions(), Analysis: settings,
		Replicates: n.replicates, Quarantined: n.quarantined, Shard: n.shard,
	}, nil
}

// open makes or reopens the run directory.
func (n *night) open() (*replay.Folder, error) {
	plan, err := n.plan()
	if err != nil {
		return nil, err
	}
	now := time.Now()
	dir := n.cli.String("out")
	if dir == "" {
		dir = filepath.Join("runs", replay.RunID(now))
	}
	folder, err := replay.OpenFolder(dir, plan, n.fixtures, now)
	if err != nil {
		return nil, unwritten(n.cli, dir, err)
	}
	if folder.Run.Ended != nil {
		if err := folder.SetEnded(nil); err != nil { // it goes on
			return nil, errors.Join(err, folder.Close())
		}
	}
	if err := n.recall(folder, plan); err != nil {
		return nil, errors.Join(err, folder.Close())
	}
	n.begun = folder.Run.Started
	if n.log != nil {
		n.log.Info("run directory is open", "dir", dir, "run", folder.Run.ID, "resumed", folder.Resumed, "fixtures", len(n.fixtures), "arms", len(n.arms))
	}
	asked := []*model.Cached{n.agent, n.judge}
	if n.user != nil {
		asked = append(asked, n.user.asked)
	}
	for _, cached := range asked {
		if folder.Resumed {
			cached.ResumeRun(folder.Run.ID)
		} else {
			cached.BeginRun(folder.Run.ID)
		}
	}
	if folder.Resumed {
		record, err := replay.ReadRecord(dir)
		if err != nil {
			return nil, errors.Join(err, folder.Close())
		}
		n.budget.Spend(record.SpentUSD())
		n.budget.SpendTokens(record.SpentTokens())
		n.paid = map[fixtures.Hash]bool{}
		for _, x := range record.Paid() {
			n.paid[x.Key] = n.paid[x.Key] || !x.Stored
		}
	}
	return folder, nil
}

// stop ends a run that did not come to its end. Where the user let what was in flight
// end, what is finished is reported.
func (n *night) stop(folder *replay.Folder, cause error) error {
	err := errors.Join(n.stopped(folder, cause), folder.Close())
	if errors.Is(cause, replay.ErrInterrupted) && n.cli.Context.Err() == nil && n.shard == nil {
		if _, err := n.report(folder.Dir); err != nil {
			fmt.Fprintf(report.Printable(n.cli.App.ErrWriter), "no report of what is finished: %v\n", err)
		}
	}
	return err
}

// stopped says how to go on with a run that did not come to its end.
func (n *night) stopped(folder *replay.Folder, cause error) error {
	if diskFull(cause) {
		return unwritten(n.cli, folder.Dir, cause)
	}
	code := exitIncomplete
	if errors.Is(cause, replay.ErrInterrupted) || errors.Is(cause, context.Canceled) {
		code = exitInterrupted
	}
	return &exitError{code, fmt.Errorf("%w; what is finished is kept in %s, and this goes on from there:\n  %s", cause, folder.Dir, goOn(n.cli, folder.Dir))}
}

// finish reports, and ends with the exit code of the verdict.
func (n *night) finish(dir string) error {
	found, err := n.report(dir)
	if err != nil {
		return err
	}
	return verdictExit(found.Report, n.cli.Bool("strict"))
}

// report pairs, analyses, writes the run's files and prints the report.
func (n *night) report(dir string) (*analysis.Night, error) {
	found, err := writeFindings(dir)
	if err != nil {
		return nil, err
	}
	if err := writeOutputs(n.cli, found, nil); err != nil {
		return nil, err
	}
	sayUnmeasured(n.cli, found.Report.Unmeasured(found.Report.Gates))
	addSummary(n.cli, found)
	if n.cli.Bool("json") {
		err = report.JSON(n.cli.App.Writer, found.Report)
	} else {
		err = printOnCI(n.cli, found, func(out io.Writer) error { return report.Text(out, found.Report, terminalStyle(n.cli)) })
		fmt.Fprintf(n.cli.App.ErrWriter, "\nrun directory: %s\n", dir)
		if n.offline && !found.Report.Judge.Trusted && found.Report.Judge.Accuracy != nil {
			fmt.Fprintf(n.cli.App.ErrWriter, "the embedded judge goes by words alone and cannot read these conversations well enough: name a model (agent.model and judge.model in %s)\n", configFile)
		}
		next := "review list" // whose verdicts are awaited
		if len(found.Queue) == 0 {
			next = "report" // nothing is to be decided
		}
		fmt.Fprintf(n.cli.App.ErrWriter, "next: doubletake %s %s\n", next, shellPath(dir))
	}
	return found, err
}

// writeFindings finds the verdict of a run and writes what follows from it.
func writeFindings(dir string) (*analysis.Night, error) {
	found, err := analysis.Load(dir)
	if err != nil {
		return nil, err
	}
	// Each only reads what was found, and most of the time is the page's plots.
	var group sync.WaitGroup
	var faults [6]error
	for i, write := range [len(faults)]func() error{
		func() error { return pairing.WriteLines(filepath.Join(dir, replay.PairsFile), found.Pairs) },
		func() error { return pairing.WriteQueue(dir, found.Queue) },
		func() error { return writeReport(filepath.Join(dir, "report.json"), found) },
		func() error { return writeReport(filepath.Join(dir, "report.md"), found) },
		func() error { return writeReport(filepath.Join(dir, "report.html"), found) },
		func() error { return writeReport(filepath.Join(dir, "junit.xml"), found) },
	} {
		group.Go(func() { faults[i] = write() })
	}
	group.Wait()
	return found, errors.Join(faults[:]...)
}

// verdictExit is the exit code of a verdict. Strictly it is not clear where a floor has
// nothing to hold it against, either.
func verdictExit(r *analysis.Report, strict bool) error {
	switch r.Verdict {
	case analysis.Regressed:
		return &exitError{code: exitBlocked}
	case analysis.Incomplete, analysis.InvalidNoise:
		return &exitError{code: exitIncomplete}
	}
	if strict && (r.Verdict == analysis.Inconclusive || len(r.Unmeasured(r.Gates)) > 0) {
		return &exitError{code: exitInconclusive}
	}
	return nil
}
