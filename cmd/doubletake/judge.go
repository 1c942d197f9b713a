package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/doubletake-dev/doubletake/analysis/report"
	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
	"github.com/doubletake-dev/doubletake/replay/judge"
	"github.com/doubletake-dev/doubletake/replay/model"
	"github.com/doubletake-dev/doubletake/replay/offline"
)

func judgeCommand() *cli.Command {
	return &cli.Command{
		Name:      "judge",
		Usage:     "judge a finished run again with another judge, without playing it again",
		ArgsUsage: "RUN",
		Description: `What the judges before said stays in the journals; the report follows the last judge. The
judge "coverage" asks no model: it goes by the coverage of words, and sees no contradiction.
Where the embedded provider judged before, a real model goes with --base-url or --provider.
The limits, prices and cache of the config hold as in a night, and its judge's quirks where
--model is that judge. After an interrupt or a limit the same command goes on.

   doubletake judge night --model gpt-4.1-mini --base-url https://api.openai.com/v1
   doubletake judge night --model claude-sonnet-4-6 --provider anthropic
   doubletake judge night --model coverage`,
		Flags: []cli.Flag{
			stringFlag("config", "read the config `FILE`; default: ./"+configFile+" if there is one", "c"),
			stringFlag("model", "the judge's model, by `NAME`"),
			stringFlag("base-url", "the endpoint, a `URL`; default: the run's own"),
			stringFlag("provider", "openai, or anthropic for its Messages API; `NAME`, default: the run's own"),
			concurrencyFlag("ask `N` questions at once", "8"),
			&cli.IntFlag{Name: "controls", Usage: "plant `N` controls of each kind", DefaultText: strconv.Itoa(defaultControls), EnvVars: twin("controls")},
			stringFlag("cache", "answers: off, read, write or only; `MODE`, default write"),
			stringFlag("cache-dir", "where answers are stored, a `DIR`; default: the user's cache folder"),
			jsonFlag(),
		},
		Action: runJudge,
	}
}

func runJudge(c *cli.Context) (err error) {
	if c.NArg() != 1 || c.String("model") == "" {
		return usageError("judge wants one run directory and --model NAME (doubletake judge --help)")
	}
	dir := c.Args().First()
	record, err := replay.ReadRecord(dir)
	if err != nil {
		return err
	}
	n := &night{command: "judge", cli: c, judgeAs: c.String("model")}
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
	if err := n.openJudge(record); err != nil {
		return err
	}
	folder, err := replay.Reopen(dir, n.lineage)
	if err != nil {
		return err
	}
	n.judge.BeginRun(folder.Run.ID)
	controls := n.config.controls()
	if c.IsSet("controls") {
		controls = c.Int("controls")
	}
	progress := newProgress(progressOut(c, n.log), 0)
	examiner := &judge.Judge{
		Model: n.asks("judge", n.judge), Log: n.log, Name: n.judgeAs, Seed: record.Run.Plan.Settings.Seed,
		Concurrency: cmp.Or(c.Int("concurrency"), int(n.config.Limits.Concurrency), replay.DefaultConcurrency), Controls: controls, Progress: progress.decisions,
		Drain: drained(c.Context),
	}
	err = examiner.Run(c.Context, folder)
	progress.done()
	if err != nil {
		return errors.Join(judgingStopped(c, dir, err), folder.Close())
	}
	if err := folder.Close(); err != nil {
		return err
	}
	if spent := n.budget.Left(); spent != nil {
		fmt.Fprintf(report.Printable(c.App.ErrWriter), "%v: what was not asked is unscored, and the same command with a higher limit goes on from there\n", spent)
	}
	found, err := writeFindings(dir)
	if err != nil {
		return err
	}
	if c.Bool("json") {
		err = report.JSON(c.App.Writer, found.Report)
	} else {
		err = report.Text(c.App.Writer, found.Report, terminalStyle(c))
	}
	if err != nil {
		return err
	}
	return verdictExit(found.Report, false)
}

// judgingStopped says how to go on where not all was judged. The run is the new judge's
// from then on: what that one said is kept, and the rest is unscored.
func judgingStopped(c *cli.Context, dir string, cause error) error {
	code := exitIncomplete
	if errors.Is(cause, replay.ErrInterrupted) || errors.Is(cause, context.Canceled) {
		code = exitInterrupted
	}
	if c.Context.Err() == nil { // else at once
		if _, err := writeFindings(dir); err != nil {
			fmt.Fprintf(report.Printable(c.App.ErrWriter), "no report of what is judged: %v\n", err)
		}
	}
	return &exitError{code, fmt.Errorf("%w; what is judged is kept in %s, and the same command goes on from there", cause, dir)}
}

// openJudge reaches the judge under the limits of the config, and as the config says that
// its own judge wants to be asked, if it is that one.
func (n *night) openJudge(record *replay.Record) error {
	endpoint, stop, err := judgeEndpoint(n.cli, record)
	n.close = append(n.close, stop)
	if err != nil {
		return err
	}
	limits := n.config.Limits
	endpoint.Timeout, endpoint.Tries, endpoint.Idle = time.Duration(limits.Timeout), uint(limits.Tries), time.Duration(limits.IdleTimeout)
	own := cmp.Or(n.config.Judge.Model, n.config.Agent.Model) == n.judgeAs && (n.config.judgeProvider() == providerAnthropic) == (endpoint.Anthropic != nil)
	maxTokens := 0
	if own {
		n.asking(new(model.Endpoint), &endpoint)
		maxTokens = int(n.config.Judge.MaxTokens)
	}
	if endpoint.Anthropic != nil && maxTokens > 0 {
		endpoint.Anthropic.MaxTokens = maxTokens
	}
	if n.judgeAs != replay.CoverageJudge { // which asks no model
		if err := n.pricesOf(n.judgeAs); err != nil {
			return err
		}
	}
	dir, mode, err := n.cacheOfNight()
	if err != nil {
		return err
	}
	open, err := n.opener(n.judgeAs, dir, mode)
	if err != nil {
		return err
	}
	if n.judge, err = open(endpoint); err != nil {
		return err
	}
	if endpoint.Anthropic == nil { // its client has a bound of its own
		n.judge.MaxTokens = maxTokens
	}
	n.lineage = replay.Lineage{
		JudgeModel: n.judgeAs, JudgePrompt: judge.PromptSHA256(), JudgeEndpoint: cmp.Or(endpoint.Identity, strings.TrimSuffix(endpoint.BaseURL, "/")), JudgeMaxTokens: maxTokens,
	}
	n.sentOtherwise(model.Endpoint{}, endpoint)
	return nil
}

// judgeEndpoint is where the judge is reached: as named, else as in the run, else the
// embedded provider with what the run's fixtures say.
func judgeEndpoint(c *cli.Context, record *replay.Record) (model.Endpoint, func() error, error) {
	lineage := record.Run.Plan.Lineage
	nothing := func() error { return nil }
	endpoint := model.Endpoint{BaseURL: c.String("base-url")}
	own := cmp.Or(lineage.JudgeAPI, providerOpenAI) // who provided the run's judge
	provider := cmp.Or(c.String("provider"), own)
	if provider != providerOpenAI && provider != providerAnthropic {
		return endpoint, nothing, usageError("--provider: %w", noneOf(provider, providerOpenAI, providerAnthropic))
	}
	if endpoint.BaseURL == "" && provider == own && !strings.HasPrefix(lineage.JudgeEndpoint, replay.OfflineIdentity) {
		endpoint.BaseURL = lineage.JudgeEndpoint
	}
	if endpoint.BaseURL != "" || c.IsSet("provider") {
		if endpoint = provided(endpoint, provider); endpoint.Anthropic != nil {
			endpoint.Anthropic.MaxTokens = defaultJudgeTokens
		}
		if mistaken(c.String("model"), endpoint) {
			return endpoint, nothing, usageError("the model %s would be asked through Chat Completions at %s; add --provider %s", c.String("model"), endpoint.BaseURL, providerAnthropic)
		}
		return endpoint, nothing, nil
	}
	if name := c.String("model"); !offlineName(name) {
		return endpoint, nothing, usageError("--model: %s, and the run was judged by the embedded provider, which would answer in its name; add --base-url URL or --provider NAME, or judge with --model %s or %s", name, offlineJudge, replay.CoverageJudge)
	}
	known := map[string]*fixtures.Fixture{}
	for _, f := range record.Fixtures {
		known[f.ConversationID] = f
	}
	library, err := offline.NewLibrary(nil, known)
	if err != nil {
		return endpoint, nothing, err
	}
	server, err := offline.Listen(c.Context, "127.0.0.1:0", offline.NewHandler(library))
	if err != nil {
		return endpoint, nothing, fmt.Errorf("starting the offline provider: %w", err)
	}
	endpoint = model.Endpoint{BaseURL: server.URL(), Identity: replay.OfflineIdentity + string(library.Digest()), Untimed: true}
	return endpoint, server.Close, nil
}

// cacheDir is the folder for stored answers.
func cacheDir(named string, mode model.CacheMode) (string, error) {
	if named != "" || mode == model.CacheOff {
		return named, nil
	}
	home, err := os.UserCacheDir()
	if err != nil {
		return "", usageError("no cache folder: %w; name one with --cache-dir, or use --cache off", err)
	}
	return filepath.Join(home, "doubletake", "answers"), nil
}
