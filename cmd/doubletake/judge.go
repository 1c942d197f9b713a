package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

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

   doubletake judge night --model gpt-4.1-mini --base-url https://api.openai.com/v1
   doubletake judge night --model claude-sonnet-4-6 --provider anthropic
   doubletake judge night --model coverage`,
		Flags: []cli.Flag{
			stringFlag("model", "the judge's model, by `NAME`"),
			stringFlag("base-url", "the endpoint, a `URL`; default: the run's own"),
			stringFlag("provider", "openai, or anthropic for its Messages API; `NAME`, default: the run's own"),
			&cli.IntFlag{Name: "concurrency", Aliases: []string{"j"}, Usage: "ask `N` questions at once", DefaultText: "8", EnvVars: twin("concurrency")},
			&cli.IntFlag{Name: "controls", Usage: "plant `N` controls of each kind", Value: defaultControls, EnvVars: twin("controls")},
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
	endpoint, stop, err := judgeEndpoint(c, record)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	log, err := newLog(c)
	if err != nil {
		return err
	}
	endpoint.Log = log
	asker, identity, err := openJudge(c, endpoint)
	if err != nil {
		return err
	}
	lineage := replay.Lineage{JudgeModel: c.String("model"), JudgePrompt: judge.PromptSHA256(), JudgeEndpoint: identity}
	if endpoint.Anthropic != nil {
		lineage.JudgeAPI, lineage.JudgeSent = apiAnthropic, endpoint.AnthropicSent(lineage.JudgeModel)
	}
	folder, err := replay.Reopen(dir, lineage)
	if err != nil {
		return err
	}
	asker.BeginRun(folder.Run.ID)
	progress := newProgress(progressOut(c, log), 0)
	examiner := &judge.Judge{
		Model: (&night{log: log}).asks("judge", asker), Log: log, Name: c.String("model"), Seed: record.Run.Plan.Settings.Seed,
		Concurrency: cmp.Or(c.Int("concurrency"), replay.DefaultConcurrency), Controls: c.Int("controls"), Progress: progress.decisions,
	}
	err = examiner.Run(c.Context, folder)
	progress.done()
	if err = errors.Join(err, folder.Close()); err != nil {
		return err
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

// judgeEndpoint is where the judge is reached: as named, else as in the run, else the
// embedded provider with what the run's fixtures say.
func judgeEndpoint(c *cli.Context, record *replay.Record) (model.Endpoint, func() error, error) {
	lineage := record.Run.Plan.Lineage
	nothing := func() error { return nil }
	endpoint := model.Endpoint{BaseURL: c.String("base-url")}
	own := cmp.Or(lineage.JudgeAPI, providerOpenAI) // who provided the run's judge
	provider := cmp.Or(c.String("provider"), own)
	if provider != providerOpenAI && provider != providerAnthropic {
		return endpoint, nothing, usageError("--provider: %q; want %s or %s", provider, providerOpenAI, providerAnthropic)
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

func openJudge(c *cli.Context, endpoint model.Endpoint) (*model.Cached, string, error) {
	client, err := newModelClient(endpoint)
	if err != nil {
		return nil, "", err
	}
	mode, err := model.ParseCacheMode(cmp.Or(c.String("cache"), string(model.CacheWrite)))
	if err != nil {
		return nil, "", usageError("--cache: %w", err)
	}
	dir, err := cacheDir(c.String("cache-dir"), mode)
	if err != nil {
		return nil, "", err
	}
	cached, err := model.NewCached(client, client.Identity(), dir, mode)
	if err != nil {
		return nil, "", err
	}
	cached.Dialect = dialect(client)
	return cached, client.Identity(), nil
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
