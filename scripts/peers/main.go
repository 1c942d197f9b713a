// Peers plays nights of doubletake against servers that others made, to see that it copes
// with more than the provider that it carries itself:
//
//	go run ./scripts/peers llmock   # the npm package @copilotkit/llmock, with its faults
//	go run ./scripts/peers model    # a small real model behind llama-cpp-python's server
//
// What it installs goes under --dir, never into the repository. It needs npm for the
// first and Python with a C compiler and CMake for the second.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

// settings are the flags of both commands.
type settings struct {
	dir      string   // where what is installed lies
	fixtures []string // ids of the shipped set
	port     int      // of the model's server
	threads  int
	program  string // the built doubletake
	log      io.Writer
}

func run(ctx context.Context, args []string, out, log io.Writer) (err error) {
	if len(args) == 0 || args[0] != "llmock" && args[0] != "model" {
		return errors.New("say which: llmock or model")
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	s := settings{log: log}
	flags := flag.NewFlagSet("peers "+args[0], flag.ContinueOnError)
	flags.StringVar(&s.dir, "dir", filepath.Join(cache, "doubletake-peers"), "the folder to install in")
	ids := flags.String("fixtures", "", "fixtures of the shipped set, with commas between; default: two short ones")
	flags.IntVar(&s.port, "port", 18301, "the port of the model's server; the address is part of a night, so one that was interrupted goes on at the same")
	flags.IntVar(&s.threads, "threads", 2, "threads of the model's server")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	if *ids != "" {
		s.fixtures = strings.Split(*ids, ",")
	}
	if s.dir, err = filepath.Abs(s.dir); err != nil {
		return fmt.Errorf("--dir %s: %w", s.dir, err)
	}
	temp, err := os.MkdirTemp("", "peers-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temp)) }()
	s.program = filepath.Join(temp, "doubletake")
	if output, err := exec.CommandContext(ctx, "go", "build", "-o", s.program, "./cmd/doubletake").CombinedOutput(); err != nil {
		return fmt.Errorf("building doubletake (run this from the repository): %w\n%s", err, output)
	}
	if args[0] == "llmock" {
		return s.llmock(ctx, temp, out)
	}
	return s.model(ctx, out)
}

// install runs a command that installs something, and shows what it said where it fails.
func install(ctx context.Context, dir, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("installing in %s by %s: %w\n%s", dir, cmd, err, output)
	}
	return nil
}
