package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"

	"github.com/joho/godotenv"
	"github.com/urfave/cli/v2"

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
	if err := readDotEnv(); err != nil {
		fmt.Fprintf(stderr, "doubletake: %v\n", err)
		return exitUsage
	}
	err := newApp(stdout, stderr).RunContext(ctx, args)
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
	vars, err := godotenv.Read()
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
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
		EnableBashCompletion: true,
		Suggest:              true,
		Writer:               stdout,
		ErrWriter:            stderr,
		// The library would exit by itself; run maps errors to codes instead.
		ExitErrHandler: func(*cli.Context, error) {},
		OnUsageError: func(_ *cli.Context, err error, _ bool) error {
			return &exitError{exitUsage, fmt.Errorf("%w (doubletake --help)", err)}
		},
		CommandNotFound: func(c *cli.Context, name string) {
			fmt.Fprintf(stderr, "doubletake: no command %q%s\n", name, nearestCommand(c, name))
		},
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
			nightlyCommand(), compareCommand(), reviewCommand(), reportCommand(),
			fixturesCommand(), providerCommand(),
		},
	}
	app.Action = func(c *cli.Context) error {
		if c.Args().Present() {
			return &exitError{code: exitUsage}
		}
		return cli.ShowAppHelp(c)
	}
	return app
}

func nearestCommand(c *cli.Context, name string) string {
	if suggestion := cli.SuggestCommand(c.App.Commands, name); suggestion != "" {
		return "; did you mean " + strings.TrimSpace(strings.TrimPrefix(suggestion, "Did you mean")) + " (doubletake --help lists them)"
	}
	return " (doubletake --help lists them)"
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
