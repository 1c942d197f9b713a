package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/doubletake-dev/doubletake/analysis/report"
	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
	"github.com/doubletake-dev/doubletake/replay/cluster"
	"github.com/doubletake-dev/doubletake/replay/compact"
	"github.com/doubletake-dev/doubletake/replay/judge"
	"github.com/doubletake-dev/doubletake/replay/model"
)

func doctorCommand() *cli.Command {
	return &cli.Command{
		Name:  "doctor",
		Usage: "look whether a night would come to its end: config, models, cache, disk, and what it will ask for",
		Description: `Explains the config back, asks the agent's model twice and the judge's once (short
questions, never from the cache), and says what a night will ask for in calls, tokens and
money. Two equal answers are a hint that temperature 0 is honoured, and no proof.

   doubletake doctor
   doubletake doctor --no-calls --json

Exit codes: 0 all is well, warnings too; 2 the config or the set is wrong; 3 something
can't be reached or written.`,
		Flags: append(clusterFlags(),
			stringFlag("config", "read the config `FILE`; default: ./"+configFile+" if there is one", "c"),
			setFlag(),
			baseURLFlag(),
			stringFlag("model", "the agent's model, by `NAME`"),
			stringFlag("judge-model", "the judge's model, by `NAME`; default: the agent's"),
			stringFlag("candidate", "the compactor under test, by `NAME`"),
			stringFlag("incumbent", "the compactor in use, by `NAME`"),
			stringFlag("out", "where the run is to be written, a `DIR`; default: runs"),
			stringFlag("cache", "answers: off, read, write or only (never ask the provider); `MODE`, default write"),
			stringFlag("cache-dir", "where answers are stored, a `DIR`; default: the user's cache folder"),
			listFlag("fixture", "look at the fixture `ID` alone (repeatable)"),
			&cli.IntFlag{Name: "replicates", Usage: "count on `N` plays of each episode", DefaultText: "1", EnvVars: twin("replicates")},
			modeFlag(), rubricFlag(), allowExecFlag(),
			&cli.BoolFlag{Name: "no-calls", Usage: "ask no model", EnvVars: twin("no-calls")},
			jsonFlag(),
		),
		Action: runDoctor,
	}
}

// healthStatus is how a check came out.
type healthStatus string

const (
	healthPass healthStatus = "PASS"
	healthWarn healthStatus = "WARN"
	healthFail healthStatus = "FAIL"
)

// health is one check with what to do next.
type health struct {
	Check  string       `json:"check"`
	Status healthStatus `json:"status"`
	Found  string       `json:"found"`
	Next   string       `json:"next,omitempty"`
}

// doctor looks a night over before it is played.
type doctor struct {
	*night
	Config   []string       `json:"config"`
	Checks   []health       `json:"checks"`
	Forecast *nightForecast `json:"forecast"`
	code     int
}

func runDoctor(c *cli.Context) error {
	if c.Args().Present() {
		return usageError("doctor takes no arguments, have %q (doubletake doctor --help)", c.Args().First())
	}
	d := &doctor{night: &night{command: "nightly", cli: c}, Config: []string{}}
	err := d.look()
	for i := len(d.close) - 1; i >= 0; i-- {
		err = errors.Join(err, d.close[i]())
	}
	if err != nil {
		return err
	}
	if c.Bool("json") {
		err = writeIndented(c.App.Writer, d)
	} else {
		err = d.print(c.App.Writer, terminalStyle(c))
	}
	if err == nil && d.code != exitOK {
		return &exitError{code: d.code}
	}
	return err
}

func (d *doctor) note(status healthStatus, check, found, next string) {
	d.Checks = append(d.Checks, health{check, status, found, next})
}

// fail notes what is wrong, and with which code the program ends. A wrong config goes
// over what can't be reached.
func (d *doctor) fail(code int, check string, err error, next string) {
	d.note(healthFail, check, err.Error(), next)
	if d.code == exitOK || code < d.code {
		d.code = code
	}
}

// look goes on as far as one check lets the next be made.
func (d *doctor) look() error {
	var err error
	if d.config, err = loadConfig(d.cli.String("config")); err != nil {
		d.fail(exitUsage, "config", err, "mend the file; doubletake schema config prints what it may hold")
		return nil
	}
	d.note(healthPass, "config", d.configName(), "")
	if err := d.load(); err != nil {
		d.fail(exitUsage, "set", err, "doubletake fixtures verify --set DIR says all that is wrong")
		return nil
	}
	part := fixtures.Set{Fixtures: d.fixtures}
	d.note(healthPass, "set", fmt.Sprintf("%s, version %s: %s, %s, %s", d.set.Name, d.set.Version, report.Plural(len(d.fixtures), "fixture"), report.Plural(part.Items(), "item"), report.Plural(part.Decisions(), "compaction decision")), "")
	if part.Items() == 0 {
		d.note(healthWarn, "items", unannotated, unannotatedNext)
	}
	if !d.storage() {
		return nil
	}
	if err := d.arrange(); err != nil {
		if c := d.cli.Context; c.Err() != nil {
			return c.Err()
		}
		d.fail(exitUsage, "arms", err, "")
		return nil
	}
	d.explain()
	d.note(healthPass, "arms", strings.Join(d.armNames(), ", "), "")
	if err := d.replay(); err != nil {
		return err
	}
	d.keys()
	if err := d.reach(); err != nil {
		return err
	}
	if d.Forecast, err = d.forecast(); err != nil {
		d.fail(exitUsage, "forecast", err, "doubletake fixtures verify --set DIR")
		return nil
	}
	d.window()
	d.prices()
	return d.clusterThere()
}

// clusterThere says whether the cluster can be reached, if there is one.
func (d *doctor) clusterThere() error {
	joined, err := joinCluster(d.cli, d.config, true)
	var exit *exitError
	switch {
	case d.cli.Context.Err() != nil:
		return d.cli.Context.Err()
	case errors.As(err, &exit):
		d.fail(exit.code, "cluster", err, "")
	case errors.Is(err, cluster.ErrNothing):
		d.note(healthPass, "cluster", "reached; no night and no worker was there yet under this prefix", "")
	case err != nil:
		d.fail(exitIncomplete, "cluster", err, "see cluster.url, the credentials, and whether JetStream is on")
	case joined == nil:
		d.note(healthPass, "cluster", "none: the episodes are played in this process", "")
	default:
		d.note(healthPass, "cluster", "reached; doubletake worker --status says who works there", "")
		d.close = append(d.close, joined.Close)
	}
	return nil
}

func (d *doctor) configName() string {
	if name := d.cli.String("config"); name != "" {
		return name
	}
	if _, err := os.Stat(configFile); err == nil {
		return configFile
	}
	return "none, so that the defaults hold (doubletake init writes one)"
}

// arrange prepares the models and the arms as a night does, without asking anything.
func (d *doctor) arrange() error {
	if err := d.connect(d.cli.Context); err != nil {
		return err
	}
	if err := d.afterFork(); err != nil {
		return err
	}
	var err error
	if d.roles, err = nightlyRoles(d.cli, d.config); err != nil {
		return err
	}
	return d.prepareArms(d.roles)
}

// replay says whether a night that asks nobody was played before.
func (d *doctor) replay() error {
	if d.cacheMode() != model.CacheOnly {
		return nil
	}
	plan, err := d.plan()
	if err != nil {
		return err
	}
	hash, err := fixtures.HashJSON(plan)
	if err != nil {
		return err
	}
	if run := d.agent.Replayed(hash); run != "" {
		d.note(healthPass, "replay", "run "+run+" would be played again", "")
		return nil
	}
	d.note(healthWarn, "replay", "no night with just these fixtures, arms, models and settings is stored, and in mode only nobody is asked: what no other night asked is unscored", "play it with cache: {mode: write} first")
	return nil
}

// keys says which key is not there, of those that no question would find out.
func (d *doctor) keys() {
	if d.cacheMode() == model.CacheOnly {
		return
	}
	missing := func(who, at string, anthropic bool) {
		name := keyName(anthropic)
		if os.Getenv(name) == "" {
			d.note(healthWarn, "key", fmt.Sprintf("%s is not set, and %s is asked at %s", name, who, at), "set it, unless that address wants none")
		}
	}
	for _, r := range d.roles {
		if c := d.config.Compactors[r.compactor]; c.Preset != "" {
			missing("the compactor "+r.compactor, d.presetAt(c), c.Preset == compact.PresetAnthropic)
		}
	}
	if d.offline || !d.cli.Bool("no-calls") {
		return
	}
	missing("the agent", d.lineage.Endpoint, d.endpoint.Anthropic != nil)
	if d.judgeAs != replay.CoverageJudge && d.lineage.JudgeEndpoint != d.lineage.Endpoint {
		missing("the judge", d.lineage.JudgeEndpoint, d.judgeAt.Anthropic != nil)
	}
}

// keyName is the environment variable of a provider's key.
func keyName(anthropic bool) string {
	if anthropic {
		return "ANTHROPIC_API_KEY"
	}
	return "OPENAI_API_KEY"
}

func (d *doctor) armNames() []string {
	var names []string
	for _, info := range d.infos {
		name := info.Role
		if info.Compactor != "" {
			name += " " + info.Name
		}
		names = append(names, name)
	}
	return names
}

// The least space that a night should find, in bytes.
const (
	littleSpace = 1_000 * megabyte
	noSpace     = 50 * megabyte
)

// storage looks at the folders that a night writes to. It says whether to go on.
func (d *doctor) storage() bool {
	mode, err := model.ParseCacheMode(string(d.cacheMode()))
	if err != nil {
		d.fail(exitUsage, "cache", err, "")
		return false
	}
	ok := true
	if mode == model.CacheOff {
		d.note(healthWarn, "cache", "off: a second night pays for everything again", "leave it on, with cache: {mode: write}")
	} else if dir, err := cacheDir(cmp.Or(d.cli.String("cache-dir"), d.config.path(d.config.Cache.Dir)), mode); err != nil {
		d.fail(exitIncomplete, "cache", err, "")
		ok = false
	} else if err := writable(dir); err != nil {
		d.fail(exitIncomplete, "cache", fmt.Errorf("%s: %w", dir, err), "choose another with --cache-dir or cache.dir")
		ok = false
	} else if size, err := model.MeasureCache(dir); err != nil {
		d.fail(exitIncomplete, "cache", err, "choose another with --cache-dir or cache.dir")
		ok = false
	} else if mode == model.CacheOnly && size.Entries == 0 {
		d.fail(exitIncomplete, "cache", fmt.Errorf("%s: nothing is stored there, and in mode only nobody is asked: every pair would be unscored", dir), "play the night with cache: {mode: write} first, or choose the folder of one with --cache-dir or cache.dir")
		ok = false
	} else {
		d.note(healthPass, "cache", fmt.Sprintf("%s, mode %s: %s", dir, mode, sizeText(size)), "")
		d.space("cache", existing(dir))
	}
	out := cmp.Or(d.cli.String("out"), "runs")
	if err := writable(out); err != nil {
		d.fail(exitIncomplete, "disk", fmt.Errorf("%s: %w", out, err), "choose another run directory with --out")
		return ok
	}
	d.space("disk", existing(out))
	return ok
}

// existing is the nearest folder above a path, or the path itself, that there is.
func existing(path string) string {
	for {
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			return path
		}
		up := filepath.Dir(path)
		if up == path {
			return path
		}
		path = up
	}
}

// writable says why nothing can be written to a folder, or to the nearest one above it where
// it is not there yet. It makes none.
func writable(dir string) error {
	info, err := os.Stat(dir)
	switch up := filepath.Dir(dir); {
	case errors.Is(err, fs.ErrPermission), err != nil && up == dir:
		return err
	case err != nil:
		return writable(up)
	case !info.IsDir():
		return fmt.Errorf("%s is no folder", dir)
	}
	file, err := os.CreateTemp(dir, ".doctor-*")
	if err != nil {
		return err
	}
	return errors.Join(file.Close(), os.Remove(file.Name()))
}

// space says how much can be written where a folder lies.
func (d *doctor) space(check, dir string) {
	free, known := freeSpace(dir)
	if !known {
		return
	}
	found := fmt.Sprintf("%s: %s GB free", dir, megabytes(int64(min(free, 1<<62)/1000)))
	switch {
	case free < noSpace:
		d.fail(exitIncomplete, check, errors.New(found), "free some space")
	case free < littleSpace:
		d.note(healthWarn, check, found, "free some space: contexts and answers of a night can take more")
	default:
		d.note(healthPass, check, found, "")
	}
}

// patience is how long the doctor waits for an answer.
const patience = time.Minute

// reach asks both models. The error is that of the caller, who wants no more.
func (d *doctor) reach() error {
	if d.cacheMode() == model.CacheOnly {
		d.note(healthPass, "agent", "never asked, and neither is the judge: the cache mode is only", "")
		return nil
	}
	if d.cli.Bool("no-calls") {
		d.note(healthWarn, "agent", "not asked, and neither is the judge", "leave out --no-calls")
		return nil
	}
	if err := d.reachAgent(); err != nil {
		return err
	}
	client, err := hurried(d.judgeAt)
	if err != nil {
		d.fail(exitUsage, "judge", err, "")
		return nil
	}
	problem, err := judge.Check(d.cli.Context, client, d.judgeAs, d.settings.Seed)
	found := fmt.Sprintf("%s at %s", d.judgeAs, d.lineage.JudgeEndpoint)
	switch {
	case d.cli.Context.Err() != nil:
		return d.cli.Context.Err()
	case err != nil:
		d.fail(exitIncomplete, "judge", fmt.Errorf("%s: %w", found, err), keyHint(d.judgeAt))
	case problem != "":
		d.note(healthWarn, "judge", found+" answered, but "+problem, "take another judge: the planted controls of a night would find it out")
	default:
		d.note(healthPass, "judge", found+" answered, in the form asked for", "")
	}
	return nil
}

func (d *doctor) reachAgent() error {
	client, err := hurried(d.endpoint)
	if err != nil {
		d.fail(exitUsage, "agent", err, "")
		return nil
	}
	found := fmt.Sprintf("%s at %s", d.settings.Model, d.lineage.Endpoint)
	var texts [2]string
	sent := d.lineage.AgentSent
	for i := range texts {
		reply, err := client.Complete(d.cli.Context, &replay.Request{
			Model: d.settings.Model, Seed: d.settings.Seed, MaxTokens: 256,
			Messages: []fixtures.Message{{Role: fixtures.RoleUser, Content: "Think of any animal, and of any number from 1 to 100000. Reply with both on one line and nothing else."}},
		})
		if err != nil {
			if d.cli.Context.Err() != nil {
				return d.cli.Context.Err()
			}
			d.fail(exitIncomplete, "agent", fmt.Errorf("%s: %w", found, err), keyHint(d.endpoint))
			return nil
		}
		texts[i], sent = strings.TrimSpace(reply.Message.Content), cmp.Or(sent, reply.Sent)
	}
	d.note(healthPass, "agent", found+" answered", "")
	switch {
	case model.Varies(sent):
		d.note(healthWarn, "temperature", fmt.Sprintf("%s is asked with %s: answers vary", d.settings.Model, sent), "leave the control on (nightly.control): it says how much")
	case texts[0] == "":
		d.note(healthWarn, "temperature", "the answers were empty, so that nothing is known", "see whether the model thinks longer than 256 tokens allow")
	case texts[0] != texts[1]:
		d.note(healthWarn, "temperature", "two answers to the same question differ at temperature 0 and one seed", "leave the control on (nightly.control), and think of --replicates")
	default:
		d.note(healthPass, "temperature", "0, and two answers to the same question were alike: a hint, no proof", "")
	}
	return nil
}

// hurried is a client that gives up sooner than that of a night.
func hurried(at model.Endpoint) (modelClient, error) {
	at.Tries = 2
	if at.Timeout == 0 || at.Timeout > patience {
		at.Timeout = patience
	}
	return newModelClient(at)
}

// keyHint says what to look at where a model can't be reached.
func keyHint(at model.Endpoint) string {
	name := keyName(at.Anthropic != nil)
	if at.Key == "" {
		return name + " is not set; see also base_url"
	}
	return "see base_url, the model's name, and whether the key in " + name + " is good for both"
}

// window says whether the conversations fit.
func (d *doctor) window() {
	f := d.Forecast
	found := fmt.Sprintf("%s; the longest prefix has %d (%s)", report.Plural(d.settings.Window, "token"), f.LargestTokens, f.Largest)
	switch {
	case len(f.LeftOut) > 0:
		d.note(healthWarn, "window", fmt.Sprintf("%s; too long for it, and without an accepted trace: %s: %s", found, report.Plural(len(f.LeftOut), "fixture"), strings.Join(f.LeftOut, ", ")), "set agent.window if the model takes more, fork earlier, or accept a trace (doubletake review accept)")
	case d.config.Agent.Window == 0 && !d.offline:
		d.note(healthWarn, "window", found+"; agent.window is not set, and this is the default", "set agent.window to what "+d.settings.Model+" takes")
	default:
		d.note(healthPass, "window", found, "")
	}
}

// prices says whether the money is known.
func (d *doctor) prices() {
	switch f := d.Forecast; {
	case d.offline:
		d.note(healthPass, "prices", "the embedded provider costs nothing", "")
	case f.Cost == nil:
		d.note(healthWarn, "prices", f.CostReason, "add it to prices, in US dollars a million tokens: what the night costs is unknown, and limits.max_cost_usd can't stop it")
	case d.config.Limits.MaxCostUSD > 0 && f.Cost.Expected > float64(d.config.Limits.MaxCostUSD):
		d.note(healthWarn, "prices", fmt.Sprintf("%.2f US dollars are expected, and limits.max_cost_usd is %.2f", f.Cost.Expected, d.config.Limits.MaxCostUSD), "raise it, or take fewer fixtures: the night would stop before its end")
	default:
		d.note(healthPass, "prices", d.moneyText(f), "")
	}
}

// explain says in words what the config and the flags come to.
func (d *doctor) explain() {
	s := d.settings
	say := func(format string, args ...any) { d.Config = append(d.Config, fmt.Sprintf(format, args...)) }
	say("agent: %s at %s, temperature 0, seed %d, window %s, at most %s an episode, %s", s.Model, d.lineage.Endpoint, s.Seed, report.Plural(s.Window, "token"), report.Plural(s.StepLimit, "tool call"), map[replay.Mode]string{replay.ClosedLoop: "going on from its own turns", replay.StepByStep: "asked once for each recorded turn"}[s.Mode])
	say("judge: %s at %s, %s of each kind, %.0f%% of which it must get right", d.judgeAs, d.lineage.JudgeEndpoint, report.Plural(d.config.controls(), "planted control"), 100*d.verdict.JudgeAccuracy)
	for _, info := range d.infos {
		if info.Compactor != "" {
			say("%s: %s, which is %s", info.Role, info.Name, d.compactorText(info.Compactor))
		}
	}
	say("compaction: where a fixture or its recording says, else at %.0f%% of the window", 100*s.Trigger)
	control := "the reference is not played against itself"
	if d.control {
		control = "the reference is played against itself, never from the cache"
	}
	say("plays: each episode %s; disagreements %s more; %s; stop %s", report.Plural(max(1, d.replicates), "time"), report.Plural(int(d.config.Nightly.Confirm), "time"), control, cmp.Or(string(d.verdict.Stop), "never"))
	say("test: alpha %v, margin %v, noise budget %v, at most %.0f%% unscored", d.verdict.Alpha, d.verdict.Margin, d.verdict.NoiseBudget, 100*d.verdict.MaxUnscored)
	l := d.config.Limits
	say("limits: %s at once, %s requests and %s tokens a minute, money %s", report.Plural(s.Concurrency, "episode"), orNone(int(l.RequestsPerMinute)), orNone(int(l.TokensPerMinute)), moneyLimit(float64(l.MaxCostUSD)))
}

func orNone(n int) string {
	if n == 0 {
		return "any number of"
	}
	return fmt.Sprint(n)
}

func moneyLimit(usd float64) string {
	if usd == 0 {
		return "without limit"
	}
	return fmt.Sprintf("up to %.2f US dollars", usd)
}

// compactorText says in words what a compactor is.
func (d *doctor) compactorText(name string) string {
	c, ok := d.config.Compactors[name]
	switch {
	case !ok && isBuiltIn(name):
		return "built in"
	case !ok:
		return "that command or address"
	case c.Use != "":
		return "the built-in " + c.Use
	case len(c.Exec) > 0:
		return "the command " + strings.Join(c.Exec, " ")
	case c.HTTP != "":
		return "at " + c.HTTP
	case c.File != "":
		return "saved in " + c.File
	}
	return "the preset " + c.Preset
}

func (d *doctor) print(out io.Writer, style report.Style) error {
	printable := report.Printable(out)
	for _, line := range d.Config {
		fmt.Fprintln(printable, line)
	}
	if len(d.Config) > 0 {
		fmt.Fprintln(printable)
	}
	for _, c := range d.Checks {
		fmt.Fprint(out, style.Status(string(c.Status)))
		fmt.Fprintf(printable, "  %-11s  %s\n", c.Check, c.Found)
		if c.Next != "" {
			fmt.Fprintf(printable, "%19s->%s\n", "", " "+c.Next)
		}
	}
	if d.Forecast != nil {
		fmt.Fprintln(printable, "\nA night would ask for:")
		if err := d.printForecast(out, d.Forecast); err != nil {
			return err
		}
	}
	count := func(status healthStatus) int {
		return len(slices.DeleteFunc(slices.Clone(d.Checks), func(c health) bool { return c.Status != status }))
	}
	_, err := fmt.Fprintf(printable, "\n%d pass, %d warn, %d fail\n", count(healthPass), count(healthWarn), count(healthFail))
	return err
}
