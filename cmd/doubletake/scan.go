package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"
	"unicode/utf16"

	"github.com/urfave/cli/v2"

	"github.com/doubletake-dev/doubletake/analysis/report"
	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/fixtures/recording"
	"github.com/doubletake-dev/doubletake/fixtures/signals"
	"github.com/doubletake-dev/doubletake/replay/model"
	"github.com/doubletake-dev/doubletake/replay/offline"
)

func scanCommand() *cli.Command {
	return &cli.Command{
		Name:      "scan",
		Usage:     "look for signs in logs that compactions lost something",
		ArgsUsage: "LOG...",
		Description: fmt.Sprintf(`Reads files, folders and glob patterns of any format that import reads, and prints one
JSON line a session on stdout and a summary on stderr. The signs:

1. a tool call repeated with identical canonical arguments within %d turns after a
   compaction, where the earlier call stood before it (a repeated read can be right, a
   repeated write is not);
2. a user who restates an instruction from before a compaction: in the same words, in
   nearly the same (word pairs with a Jaccard index of at least %v), or, with
   --embed-model, in other words.

Beside them stand the base rates: the same counts where no compaction came between.

With --sample the sessions of one ISO week (UTC, by their first message) are drawn to be
annotated, reproducibly, none twice where --draws keeps the draws.

   doubletake scan ~/.claude/projects > sessions.jsonl
   doubletake scan --summary logs/
   doubletake scan logs/ --sample 20 --week 2026-W48 --seed 7 --draws draws.jsonl`, signals.Window, signals.NearThreshold),
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "format", Usage: "the `FORMAT`: auto, or one of " + strings.Join(recording.FormatNames(), ", "), Value: recording.Auto, EnvVars: twin("format")},
			concurrencyFlag("read `N` files at once", "one a processor"),
			&cli.BoolFlag{Name: "summary", Usage: "print the summary on stdout instead of the sessions", EnvVars: twin("summary")},
			&cli.BoolFlag{Name: "json", Usage: "print the summary on stdout as JSON instead of the sessions", EnvVars: twin("json")},
			&cli.IntFlag{Name: "sample", Usage: "draw `N` sessions of --week and print these alone", EnvVars: twin("sample")},
			stringFlag("week", "the ISO week to draw from, as 2026-W48"),
			stringFlag("seed", "the seed `S` of the draw"),
			stringFlag("draws", "the draw ledger `FILE`, JSON Lines: sessions that stand there are not drawn again, and the draw is added"),
			&cli.BoolFlag{Name: "enrich", Usage: "draw sessions with signs first; their sampling is adversarial and estimates no rate", EnvVars: twin("enrich")},
			stringFlag("embed-model", "also find paraphrases, with the embeddings of the model `NAME`; the user's instructions are sent to it"),
			&cli.Float64Flag{Name: "embed-threshold", Usage: "the least cosine `X` of a paraphrase; it depends on the model", Value: signals.DefaultCosine, EnvVars: twin("embed-threshold")},
			stringFlag("config", "read the limits for --embed-model from the config `FILE`; default: ./"+configFile+" if there is one", "c"),
			stringFlag("base-url", "the OpenAI-compatible endpoint of --embed-model, a `URL` that ends in /v1; default: OPENAI_BASE_URL, else the embedded offline provider"),
		},
		Action: runScan,
	}
}

func runScan(c *cli.Context) (err error) {
	if !c.Args().Present() {
		return usageError("scan wants files, folders or patterns (doubletake scan --help)")
	}
	draw, err := newDraw(c)
	if err != nil {
		return err
	}
	files, err := logFiles(c.Args().Slice())
	if err != nil {
		return usageError("%w", err)
	}
	embed, closeEmbed, err := embedder(c)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeEmbed()) }()
	workers := c.Int("concurrency")
	if workers == 0 {
		workers = runtime.NumCPU()
	}
	lines := sessionLines(c.App.Writer)
	listed := !c.Bool("summary") && !c.Bool("json") && draw == nil
	var totals signals.Totals
	skipped, failed := 0, 0
	reader := logReader{format: c.String("format"), options: signals.Options{Embed: embed, Cosine: c.Float64("embed-threshold")}}
	err = reader.read(c.Context, files, workers, func(log scannedLog) error {
		for i := range log.sessions {
			totals.Add(&log.sessions[i])
			if draw != nil {
				draw.add(log.sessions[i])
			}
			if listed {
				if err := lines.Encode(log.sessions[i]); err != nil {
					return err
				}
			}
		}
		if log.err != nil {
			reading := "skipped"
			if n := len(log.sessions); n > 0 {
				reading = fmt.Sprintf("%s, then", report.Plural(n, "session"))
			}
			fmt.Fprintf(c.App.ErrWriter, "%s: %s: %s\n", report.Clean(log.file), reading, report.Clean(log.err.Error()))
			skipped++
			if errors.Is(log.err, errEmbedding) {
				failed++
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	summary := scanSummary{Files: len(files), Skipped: skipped, Summary: totals.Summary()}
	switch {
	case draw != nil:
		err = draw.print(c, lines)
	case c.Bool("json"):
		err = writeIndented(c.App.Writer, summary)
	case c.Bool("summary"):
		err = summary.print(c.App.Writer)
	default:
		err = summary.print(c.App.ErrWriter)
	}
	switch {
	case err != nil:
		return err
	case failed > 0:
		return &exitError{exitIncomplete, fmt.Errorf("the embeddings of %d of %s could not be had; the same command again reads them", failed, report.Plural(len(files), "file"))}
	case summary.Sessions == 0:
		return usageError("no session was read")
	}
	return nil
}

// embedder is the hook for paraphrases where --embed-model is given, nil elsewhere.
func embedder(c *cli.Context) (signals.Embed, func() error, error) {
	nothing := func() error { return nil }
	name := c.String("embed-model")
	if name == "" {
		if c.IsSet("embed-threshold") {
			return nil, nothing, usageError("--embed-threshold is for --embed-model NAME, which is not given")
		}
		return nil, nothing, nil
	}
	if x := c.Float64("embed-threshold"); !(x > 0 && x <= 1) {
		return nil, nothing, usageError("--embed-threshold %v: want more than 0 and at most 1", x)
	}
	cfg, err := loadConfig(c.String("config"))
	if err != nil {
		return nil, nothing, err
	}
	endpoint := model.Endpoint{BaseURL: c.String("base-url"), Key: os.Getenv("OPENAI_API_KEY"), Timeout: time.Duration(cfg.Limits.Timeout), Tries: uint(cfg.Limits.Tries)}
	if endpoint.BaseURL == "" {
		endpoint.BaseURL = os.Getenv("OPENAI_BASE_URL")
	}
	closeServer := nothing
	if endpoint.BaseURL == "" {
		server, err := offline.Listen(c.Context, "127.0.0.1:0", offline.NewHandler(nil))
		if err != nil {
			return nil, nothing, fmt.Errorf("starting the offline provider: %w", err)
		}
		endpoint.BaseURL, endpoint.Key, closeServer = server.URL(), "", server.Close
	}
	client, err := model.NewClient(endpoint)
	if err != nil {
		return nil, nothing, errors.Join(usageError("%w", err), closeServer())
	}
	limit := model.NewLimiter(int(cfg.Limits.RequestsPerMinute), int(cfg.Limits.TokensPerMinute))
	limit.LimitInFlight(int(cfg.Limits.RequestsInFlight))
	counter, err := model.NewCounter(name)
	if err != nil {
		return nil, nothing, errors.Join(err, closeServer())
	}
	return func(ctx context.Context, texts []string) (vectors [][]float32, err error) {
		tokens := 0
		for _, text := range texts {
			tokens += counter.Count(fixtures.Message{Content: text})
		}
		err = limit.Do(ctx, tokens, func(ctx context.Context) (err error) {
			vectors, err = client.Embed(ctx, name, texts)
			return err
		})
		if err != nil && ctx.Err() == nil {
			err = errors.Join(errEmbedding, err)
		}
		return vectors, err
	}, closeServer, nil
}

// errEmbedding marks what the provider of embeddings is to blame for.
var errEmbedding = errors.New("no embeddings")

// scanSummary is the summary with what was read.
type scanSummary struct {
	Files   int `json:"files"`
	Skipped int `json:"skipped"` // files that could not be read, or not to their end
	signals.Summary
}

func (s *scanSummary) print(out io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s (%d skipped), %s, %d of them with %s; %d show a sign (%d no other than repeated reads)\n", report.Plural(s.Files, "file"), s.Skipped, report.Plural(s.Sessions, "session"), s.Compacted, report.Plural(s.Compactions, "compaction"), s.Signals, s.OnlyReads)
	table := tabwriter.NewWriter(&b, 0, 4, 2, ' ', 0)
	row := func(name string, cells ...signals.Rate) {
		fmt.Fprintf(table, "  %s", name)
		for _, cell := range cells {
			fmt.Fprintf(table, "\t%s", rateText(cell))
		}
		fmt.Fprintln(table)
	}
	fmt.Fprintf(table, "repeated calls\tafter a compaction\telsewhere\n")
	after, elsewhere := s.Repeats.After, s.Repeats.Elsewhere
	row("all", after.All, elsewhere.All)
	row("reads", after.Read, elsewhere.Read)
	row("writes", after.Write, elsewhere.Write)
	row("unknown", after.Unknown, elsewhere.Unknown)
	fmt.Fprintf(table, "restated instructions\tafter a compaction\tbefore any\tin sessions without one\n")
	row("messages", s.Restatements.After, s.Restatements.Before, s.Restatements.Without)
	row("of an instruction from before it", s.Restatements.Since)
	fmt.Fprintf(table, "sessions with a restatement\twith a compaction\twithout one\n")
	row("sessions", s.SessionsWith.Compacted, s.SessionsWith.Without)
	if err := table.Flush(); err != nil {
		return err
	}
	_, err := io.WriteString(out, b.String())
	return err
}

func rateText(r signals.Rate) string {
	if r.Share == nil {
		return "none to count"
	}
	return fmt.Sprintf("%d of %d (%.1f%%)", r.Count, r.Of, 100**r.Share)
}

// sessionDraw collects what a draw needs of the sessions read.
type sessionDraw struct {
	options signals.DrawOptions
	week    signals.Week
	ledger  string
	frame   []signals.Candidate
	inWeek  map[string][]signals.Session // by id
	undated []signals.Session
}

// newDraw reads the flags of a draw; nil where none is wanted.
func newDraw(c *cli.Context) (*sessionDraw, error) {
	if !c.IsSet("sample") {
		for _, name := range []string{"week", "seed", "draws", "enrich"} {
			if c.IsSet(name) {
				return nil, usageError("--%s is for --sample N, which is not given", name)
			}
		}
		return nil, nil
	}
	if c.Int("sample") < 1 {
		return nil, usageError("--sample %d: want at least 1", c.Int("sample"))
	}
	if c.String("week") == "" || c.String("seed") == "" {
		return nil, usageError("--sample wants --week, as 2026-W48, and --seed, so that the draw can be made again")
	}
	week, err := signals.ParseWeek(c.String("week"))
	if err != nil {
		return nil, usageError("--week: %w", err)
	}
	return &sessionDraw{
		options: signals.DrawOptions{
			Week: week.String(), Seed: c.String("seed"), Size: c.Int("sample"), Enrich: c.Bool("enrich"),
			Date: time.Now().UTC().Format(time.DateOnly),
		},
		week: week, ledger: c.String("draws"), inWeek: map[string][]signals.Session{},
	}, nil
}

func (d *sessionDraw) add(s signals.Session) {
	began, err := signals.ParseTime(s.Time)
	if err != nil {
		d.undated = append(d.undated, s)
		return
	}
	if signals.WeekOf(began) != d.week {
		return
	}
	// Within a file each session has an id of its own; another file may have it, too.
	d.frame = append(d.frame, signals.Candidate{ID: s.ID, File: s.File, Signals: s.Signals()})
	d.inWeek[s.ID] = append(d.inWeek[s.ID], s)
}

// shared counts the ids that several sessions of the week have.
func (d *sessionDraw) shared() (ids, sessions int) {
	for _, list := range d.inWeek {
		if len(list) > 1 {
			ids++
			sessions += len(list)
		}
	}
	return ids, sessions
}

// find is the session at a place in a draw, where these logs have it.
func (d *sessionDraw) find(draw *signals.Draw, i int) (signals.Session, bool) {
	one := signals.Draw{IDs: draw.IDs[i : i+1], Files: []string{draw.FileOf(i)}}
	list := d.inWeek[draw.IDs[i]]
	for _, s := range list {
		if s.File == draw.FileOf(i) {
			return s, true
		}
	}
	for _, s := range list {
		if one.Has(s.ID, s.File) {
			return s, true
		}
	}
	return signals.Session{}, false
}

// drawnSession is a line of a draw's output.
type drawnSession struct {
	Week     string `json:"week"`
	Sampling string `json:"sampling"`
	signals.Session
}

func (d *sessionDraw) print(c *cli.Context, lines *json.Encoder) (err error) {
	var earlier []signals.Draw
	keep := func(signals.Draw) error { return nil }
	if d.ledger != "" {
		ledger, openErr := signals.OpenLedger(d.ledger)
		if openErr != nil {
			return usageError("%w", openErr)
		}
		defer func() { err = errors.Join(err, ledger.Close()) }()
		earlier, keep = ledger.Draws, ledger.Append
	}
	draw, repeated, err := d.options.Draw(d.frame, earlier)
	if err != nil {
		return err
	}
	if !repeated && len(draw.IDs) > 0 {
		if err := keep(draw); err != nil {
			return err
		}
	}
	out := c.App.ErrWriter
	for _, s := range d.undated {
		fmt.Fprintf(out, "left out: %s of %s has no time that could be read (%q)\n", report.Clean(s.ID), report.Clean(s.File), report.Shorten(s.Time, 40))
	}
	if ids, sessions := d.shared(); ids > 0 {
		fmt.Fprintf(out, "%s in several files: the %d sessions are told apart by their files\n", report.Plural(ids, "id"), sessions)
	}
	for i, id := range draw.IDs {
		s, here := d.find(&draw, i)
		if !here {
			fmt.Fprintf(out, "drawn earlier, and not in these logs: %s\n", report.Clean(id))
			continue
		}
		if err := lines.Encode(drawnSession{draw.Week, draw.Sampling, s}); err != nil {
			return err
		}
	}
	if repeated {
		fmt.Fprintf(out, "this draw was made on %s; it stands in %s\n", report.Clean(draw.Date), report.Clean(d.ledger))
	}
	fmt.Fprintf(out, "%s: %d of %s drawn (%d of %d with signs), %d left out as drawn earlier, %d without a time; %s; sampling %s\n",
		draw.Week, len(draw.IDs), report.Plural(draw.Frame, "session"), draw.DrawnSignals, draw.FrameSignals, draw.Earlier, len(d.undated), report.Clean(draw.Method), report.Clean(draw.Sampling))
	if len(draw.IDs) == 0 {
		return usageError("no session of %s to draw", draw.Week)
	}
	return nil
}

// sessionLines writes JSON Lines in which characters that a terminal would act upon are
// escaped: ids and names of tools come from the recordings.
func sessionLines(out io.Writer) *json.Encoder {
	enc := json.NewEncoder(escapedJSON{out})
	enc.SetEscapeHTML(false)
	return enc
}

// escapedJSON writes characters of JSON strings that do not print as \u escapes.
type escapedJSON struct{ out io.Writer }

func (e escapedJSON) Write(data []byte) (int, error) {
	var b strings.Builder
	for _, r := range string(data) {
		if r == '\n' || !unicode.IsControl(r) && !unicode.Is(unicode.Cf, r) {
			b.WriteRune(r)
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(&b, `\u%04x`, unit)
		}
	}
	if _, err := io.WriteString(e.out, b.String()); err != nil {
		return 0, err
	}
	return len(data), nil
}
