package main

import (
	"io"
	"log/slog"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/doubletake-dev/doubletake/analysis/report"
	"github.com/doubletake-dev/doubletake/replay"
	"github.com/doubletake-dev/doubletake/replay/model"
)

// The formats of the log.
const (
	logText = "text"
	logJSON = "json"
)

// logFlags are the flags of the log. They stand at every command, and before it, too;
// hidden leaves them out of the help of commands that have little to log.
func logFlags(hidden bool) []cli.Flag {
	const category = "Logging, on stderr"
	return []cli.Flag{
		&cli.BoolFlag{Name: "verbose", Aliases: []string{"v"}, Usage: "log what is asked of whom, retries, compactions, verdicts and what is journaled", EnvVars: twin("verbose"), Category: category, Hidden: hidden},
		&cli.StringFlag{Name: "log-format", Usage: "write the log as `FORMAT`, text or json", DefaultText: logText, EnvVars: twin("log-format"), Category: category, Hidden: hidden},
		&cli.StringFlag{Name: "log-level", Usage: "log from `LEVEL` on: debug, info, warn or error; of contents there are hashes and sizes alone, at debug", DefaultText: "info", EnvVars: twin("log-level"), Category: category, Hidden: hidden},
	}
}

// logged says what a flag of the log has, wherever on the command line it stands.
func logged(c *cli.Context, name string) string {
	for _, at := range c.Lineage() {
		if value := at.String(name); value != "" {
			return value
		}
	}
	return ""
}

// newLog is the log as the flags want it, nil for none: none of them is given.
func newLog(c *cli.Context) (*slog.Logger, error) {
	verbose := false
	for _, at := range c.Lineage() {
		verbose = verbose || at.Bool("verbose")
	}
	format, level := logged(c, "log-format"), logged(c, "log-level")
	if !verbose && format == "" && level == "" {
		return nil, nil
	}
	options := &slog.HandlerOptions{Level: slog.LevelInfo}
	if level != "" {
		var from slog.Level
		if err := from.UnmarshalText([]byte(strings.ToUpper(level))); err != nil {
			return nil, usageError("--log-level %w", noneOf(level, logLevels()...))
		}
		options.Level = from
	}
	out := report.Printable(c.App.ErrWriter)
	switch format {
	case "", logText:
		return slog.New(slog.NewTextHandler(out, options)), nil
	case logJSON:
		return slog.New(slog.NewJSONHandler(out, options)), nil
	}
	return nil, usageError("--log-format %w", noneOf(format, logText, logJSON))
}

// logLevels lists what --log-level takes.
func logLevels() []string { return []string{"debug", "info", "warn", "error"} }

// progressOut is where progress is told: by lines, not bars, where a log runs beside it.
func progressOut(c *cli.Context, log *slog.Logger) io.Writer {
	if log == nil {
		return c.App.ErrWriter
	}
	return report.Printable(c.App.ErrWriter)
}

// asks is a model that logs what it is asked for a purpose; the model itself where
// nothing is logged.
func (n *night) asks(purpose string, asked replay.Model) replay.Model {
	if n.log == nil {
		return asked
	}
	return &model.Logged{Model: asked, Log: n.log, Purpose: purpose}
}
