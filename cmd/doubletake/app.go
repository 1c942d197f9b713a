package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"

	"github.com/joho/godotenv"
	"github.com/urfave/cli/v2"
	"github.com/xrash/smetrics"

	"github.com/doubletake-dev/doubletake/analysis/report"
	"github.com/doubletake-dev/doubletake/replay"
)

// version is the program's; it is part of every lineage.
const version = "0.1.0"

// The exit codes.
const (
	exitOK           = 0
	exitBlocked      = 1
	exitUsage        = 2
	exitIncomplete   = 3
	exitInconclusive = 4
	exitInterrupted  = 130
)

// exitError ends the program with a code; its error, if there is one, is printed.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// run is the program as a function of its arguments and streams.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	stderr, flush := quietOnCI(stderr)
	defer func() { _ = flush() }() // there is nowhere to say that stderr is gone
	// Errors quote names and texts from files and flags; progress needs the terminal.
	raw := stderr
	stderr = report.Printable(stderr)
	if err := readDotEnv(); err != nil {
		fmt.Fprintf(stderr, "doubletake: %v\n", err)
		return exitUsage
	}
	app := newApp(stdout, raw)
	args, err := helpArguments(app, args)
	if err == nil {
		app.Metadata = map[string]any{argumentsKey: args}
		err = app.RunContext(ctx, args)
	}
	var exit *exitError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &exit):
		if exit.err != nil {
			fmt.Fprintf(stderr, "doubletake: %v\n", exit.err)
		}
		return exit.code
	case errors.Is(err, replay.ErrInterrupted), errors.Is(err, context.Canceled):
		fmt.Fprintf(stderr, "doubletake: interrupted\n")
		return exitInterrupted
	}
	fmt.Fprintf(stderr, "doubletake: %v\n", err)
	return exitUsage
}

// readDotEnv sets the variables of ./.env that the environment does not have.
func readDotEnv() error {
	if info, err := os.Stat(".env"); err != nil || !info.Mode().IsRegular() {
		return nil
	}
	vars, err := godotenv.Read()
	if err != nil {
		return fmt.Errorf("reading .env: %w", err)
	}
	for name, value := range vars {
		if _, ok := os.LookupEnv(name); ok {
			continue
		}
		if err := os.Setenv(name, value); err != nil {
			return fmt.Errorf("reading .env: %s: %w", name, err)
		}
	}
	return nil
}

func newApp(stdout, stderr io.Writer) *cli.App {
	app := &cli.App{
		Name:                 "doubletake",
		Usage:                "is this change to the context compactor safe to merge?",
		Version:              programVersion(),
		HideVersion:          true, // the library's flag is called -v, too
		EnableBashCompletion: true,
		Suggest:              true,
		Writer:               stdout,
		ErrWriter:            stderr,
		// The library would exit by itself; run maps errors to codes instead.
		ExitErrHandler: func(*cli.Context, error) {},
		OnUsageError:   usageOf("doubletake"),
		Description: `Replays recorded conversations twice from the same prefix, uncompacted and through
the compactor under test, compares what the agent does, checks what must survive,
and queues only the disagreements for a person.

Without a configuration every command works offline, on the set that ships with the
program:

   doubletake nightly

Exit codes: 0 nothing blocks; 1 the change is blocked, and nothing else gives 1;
2 wrong use, bad config or bad input; 3 incomplete: too much went unscored;
4 inconclusive, only under --strict; 130 interrupted, the same command goes on.`,
		Commands: []*cli.Command{
			nightlyCommand(), compareCommand(), mergeCommand(), reviewCommand(), reportCommand(), gateCommand(), testCommand(), evidenceCommand(), historyCommand(), diffCommand(), explainCommand(), judgeCommand(),
			importCommand(), scanCommand(), fixturesCommand(), powerCommand(), statsCommand(), cacheCommand(), providerCommand(),
			initCommand(), doctorCommand(), schemaCommand(), workerCommand(), completionCommand(),
		},
	}
	for _, command := range app.Commands {
		finish(command, "doubletake "+command.Name)
	}
	app.Flags = append([]cli.Flag{&cli.BoolFlag{Name: "version", Usage: "print the version, with its commit and date", DisableDefaultText: true}}, logFlags(false)...)
	app.Before = func(c *cli.Context) error {
		if c.Bool("version") {
			info, _ := debug.ReadBuildInfo() // nil where the build left none
			fmt.Fprint(c.App.Writer, buildText(info))
			return &exitError{code: exitOK}
		}
		return nil
	}
	app.Action = func(c *cli.Context) error {
		if c.Args().Present() {
			return unknownCommand(c.App.Commands, "doubletake", c.Args().First())
		}
		return cli.ShowAppHelp(c)
	}
	return app
}

// usageOf makes errors about flags wrong use, with where to read on.
func usageOf(command string, flags ...cli.Flag) cli.OnUsageErrorFunc {
	return func(_ *cli.Context, err error, _ bool) error {
		hint := ""
		if name, unknown := strings.CutPrefix(err.Error(), "flag provided but not defined: -"); unknown {
			if _, err := strconv.ParseFloat(name, 64); err == nil {
				return usageError("-%s is negative: no count, share or size is (%s --help)", name, command)
			}
			var names []string
			for _, f := range flags {
				// Nobody mistypes a name of one letter as a longer one.
				names = append(names, slices.DeleteFunc(slices.Clone(f.Names()), func(n string) bool { return len(n) < 2 })...)
			}
			if nearest := nearest(strings.TrimLeft(name, "-"), names); nearest != "" {
				hint = fmt.Sprintf("; did you mean --%s?", nearest)
			}
			if _, err := os.Lstat("-" + name); err == nil {
				hint = fmt.Sprintf("; the file -%s goes behind two dashes, as in -- -%[1]s", name)
			}
		}
		return usageError("%w%s (%s --help)", err, hint, command)
	}
}

// nearest is the name most like another, or empty where none is much like it.
func nearest(name string, names []string) string {
	best, like := "", 0.75
	for _, n := range names {
		score := smetrics.JaroWinkler(name, n, 0.7, 4)
		if score < 1 && inOrder(name) == inOrder(n) {
			score = 0.99 // letters in the wrong order, which the measure overlooks in short words
		} else if 2*smetrics.WagnerFischer(name, n, 1, 1, 1) > max(len(name), len(n)) {
			continue // few letters that happen to stand in some order
		}
		if score > like {
			best, like = n, score
		}
	}
	return best
}

// inOrder is the letters of a word in their order.
func inOrder(word string) string {
	list := []rune(word)
	slices.Sort(list)
	return string(list)
}

// finish gives every command at the end of a path its arguments as they are (the
// library would take the first for the name of a help topic), lets flags stand after
// arguments, and makes the errors of all of them wrong use.
func finish(command *cli.Command, path string) {
	playing := slices.ContainsFunc(command.Flags, func(f cli.Flag) bool { return f.Names()[0] == "base-url" })
	command.Flags = append(command.Flags, logFlags(!playing)...)
	command.OnUsageError = usageOf(path, command.Flags...)
	command.BashComplete = completeValues(command, path)
	if len(command.Subcommands) == 0 {
		command.HideHelpCommand = true
		interspersed(command)
		return
	}
	if command.Action != nil {
		interspersed(command) // it does something by itself, too
	} else {
		command.Action = func(c *cli.Context) error {
			if c.Args().Present() {
				return unknownCommand(command.Subcommands, path, c.Args().First())
			}
			return cli.ShowSubcommandHelp(c)
		}
	}
	for _, sub := range command.Subcommands {
		finish(sub, path+" "+sub.Name)
	}
}

// unknownCommand names the nearest command.
func unknownCommand(commands []*cli.Command, path, name string) error {
	var names []string
	for _, c := range commands {
		names = append(names, c.Name)
	}
	hint := ""
	if nearest := nearest(name, names); nearest != "" {
		hint = fmt.Sprintf("; did you mean %q?", nearest)
	}
	return usageError("%s has no command %q%s (%s --help lists them)", path, name, hint, path)
}

// programVersion is the version with the commit that it was built from, if known.
func programVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return version
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && len(s.Value) >= 12 {
			return version + "+" + s.Value[:12]
		}
	}
	return version
}

// usageError is wrong use: exit code 2.
func usageError(format string, args ...any) error {
	return &exitError{exitUsage, fmt.Errorf(format, args...)}
}
