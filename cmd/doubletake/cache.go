package main

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"
	"github.com/urfave/cli/v2"

	"github.com/doubletake-dev/doubletake/analysis/report"
	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay/model"
)

func cacheCommand() *cli.Command {
	flags := func(more ...cli.Flag) []cli.Flag {
		return append([]cli.Flag{
			configFlag(),
			stringFlag("cache-dir", "where answers are stored, a `DIR`; default: the user's cache folder"),
		}, more...)
	}
	return &cli.Command{
		Name:  "cache",
		Usage: "look at the stored answers, or trim them",
		Description: `Answers of models are stored by all that determines them, so that none is paid for
twice. A night that stores answers trims the store at its end where the config says
cache.max_age or cache.max_mb, and never what it stored itself.

   doubletake cache info
   doubletake cache trim --max-age 30d --max-mb 500
   doubletake cache show 0123456789abcdef`,
		Subcommands: []*cli.Command{{
			Name: "info", Usage: "print how many answers are stored, and how large they are", Flags: flags(jsonFlag()),
			Description: "   doubletake cache info --json",
			Action:      cacheInfo,
		}, {
			Name: "trim", Usage: "take out answers by age and size; those that were unused for longest go first",
			Description: `What the flags don't say is as in the config. Uses are noted to within an hour.

   doubletake cache trim --max-age 30d --max-mb 500`,
			Flags: flags(
				stringFlag("max-age", "take out what was unused for longer than `TIME`, such as 30d or 12h"),
				&cli.IntFlag{Name: "max-mb", Usage: "leave at most `N` megabytes (of a million bytes)", EnvVars: twin("max-mb")},
				jsonFlag(),
			),
			Action: cacheTrim,
		}, {
			Name: "path", Usage: "print the folder of the stored answers", Flags: flags(),
			Description: "   doubletake cache path",
			Action: func(c *cli.Context) error {
				_, dir, err := cacheOf(c)
				if err == nil {
					fmt.Fprintln(report.Printable(c.App.Writer), dir)
				}
				return err
			},
		}, {
			Name: "show", Usage: "print what stood on the wire for an answer", ArgsUsage: "KEY", Flags: flags(jsonFlag()),
			Description: `KEY is an answer's key, as the exchanges in episodes.jsonl and judgements.jsonl of a run
name it. With --json the request and the answer are strings of one object.

   doubletake cache show 0123456789abcdef`,
			Action: cacheShow,
		}},
	}
}

// cacheOf is the config with the folder of stored answers that it and the flags name.
func cacheOf(c *cli.Context) (*config, string, error) {
	cfg, err := loadConfig(c.String("config"))
	if err != nil {
		return nil, "", err
	}
	dir, err := cacheDir(cmp.Or(c.String("cache-dir"), cfg.path(cfg.Cache.Dir)), model.CacheWrite)
	return cfg, dir, err
}

func cacheInfo(c *cli.Context) error {
	_, dir, err := cacheOf(c)
	if err != nil {
		return err
	}
	size, err := model.MeasureCache(dir)
	if err != nil {
		return err
	}
	if c.Bool("json") {
		return writeIndented(c.App.Writer, size)
	}
	out := report.Printable(c.App.Writer)
	fmt.Fprintf(out, "%s: %s\n", size.Dir, sizeText(size))
	return nil
}

func sizeText(size model.CacheSize) string {
	text := fmt.Sprintf("%s, %s MB", report.Plural(size.Entries, "entry"), megabytes(size.Bytes))
	if size.Oldest != nil {
		text += fmt.Sprintf(", last used between %s and %s", size.Oldest.Format(time.DateOnly), size.Newest.Format(time.DateOnly))
	}
	return text
}

const megabyte = 1_000_000

func megabytes(bytes int64) string { return strconv.FormatFloat(float64(bytes)/megabyte, 'f', 1, 64) }

func cacheTrim(c *cli.Context) error {
	cfg, dir, err := cacheOf(c)
	if err != nil {
		return err
	}
	limits := cfg.Cache.limits()
	if text := c.String("max-age"); text != "" {
		if limits.MaxAge, err = parseAge(text); err != nil {
			return usageError("--max-age: %w", err)
		}
	}
	if c.IsSet("max-mb") {
		if limits.MaxBytes = int64(c.Int("max-mb")) * megabyte; limits.MaxBytes <= 0 {
			return usageError("--max-mb: %d; want a whole number above 0", c.Int("max-mb"))
		}
	}
	if limits == (model.TrimLimits{}) {
		return usageError("nothing says what to take out: give --max-age or --max-mb, or cache.max_age or cache.max_mb in the config")
	}
	trimmed, err := model.TrimCache(dir, limits, time.Now())
	if err != nil {
		return err
	}
	if c.Bool("json") {
		return writeIndented(c.App.Writer, trimmed)
	}
	fmt.Fprintf(report.Printable(c.App.Writer), "took out %s, %s MB; left in %s: %s\n", report.Plural(trimmed.Removed, "entry"), megabytes(trimmed.RemovedBytes), dir, sizeText(trimmed.Left))
	if trimmed.Held > 0 {
		fmt.Fprintf(report.Printable(c.App.ErrWriter), "%d more had to go and stay: a night stores beside them, or the folder can't be written; trim again later\n", trimmed.Held)
	}
	return nil
}

func cacheShow(c *cli.Context) error {
	if c.NArg() != 1 {
		return usageError("cache show wants the key of one answer (doubletake cache show --help)")
	}
	_, dir, err := cacheOf(c)
	if err != nil {
		return err
	}
	raw, err := model.ReadRaw(dir, fixtures.Hash(c.Args().First()))
	if err != nil {
		return err
	}
	if c.Bool("json") {
		return writeIndented(c.App.Writer, map[string]string{"request": string(raw.Request), "response": string(raw.Response)})
	}
	fmt.Fprintf(report.Printable(c.App.Writer), "%s\n\n%s\n", raw.Request, raw.Response)
	return nil
}

// limits are how much of the cache may stay.
func (c *cacheConfig) limits() model.TrimLimits {
	return model.TrimLimits{MaxAge: time.Duration(c.MaxAge), MaxBytes: int64(c.MaxMB) * megabyte}
}

// trimAtTheEnd has the answer cache trimmed once the night is over, where the config
// limits it. What the night stored stays.
func (n *night) trimAtTheEnd(dir string, mode model.CacheMode) {
	limits := n.config.Cache.limits()
	if n.cluster != nil || mode != model.CacheWrite || limits == (model.TrimLimits{}) {
		return
	}
	n.close = append(n.close, func() error {
		if n.begun.IsZero() {
			return nil // nothing was asked for
		}
		const coarse = 2 * time.Second // what the times of some file systems are off by
		limits.Keep = n.begun.Add(-coarse)
		errOut := report.Printable(n.cli.App.ErrWriter)
		trimmed, err := model.TrimCache(dir, limits, time.Now())
		switch {
		case err != nil:
			fmt.Fprintf(errOut, "warning: %v\n", err)
		case trimmed.Removed > 0:
			fmt.Fprintf(errOut, "answer cache: took out %s, %s MB (cache.max_age, cache.max_mb)\n", report.Plural(trimmed.Removed, "entry"), megabytes(trimmed.RemovedBytes))
		}
		return nil
	})
}

// age is a time.Duration that may be written in days, as in 30d.
type age time.Duration

// UnmarshalYAML reads an age.
func (a *age) UnmarshalYAML(node ast.Node) error {
	value, err := parseAge(scalar(node))
	if err != nil {
		return misplaced(node, "%w", err)
	}
	*a = age(value)
	return nil
}

// parseAge reads a number of days or a duration.
func parseAge(text string) (time.Duration, error) {
	wrong := fmt.Errorf("%.40q is no time above zero, such as 30d or 12h", text)
	value, err := time.ParseDuration(text)
	if days, ok := strings.CutSuffix(text, "d"); ok {
		const most = 100_000 // a duration holds no more
		n, numberErr := strconv.ParseFloat(days, 64)
		if !(n > 0 && n < most) {
			numberErr = errors.Join(numberErr, wrong)
		}
		value, err = time.Duration(n*float64(24*time.Hour)), numberErr
	}
	if err != nil || value <= 0 {
		return 0, wrong
	}
	return value, nil
}
