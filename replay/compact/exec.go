package compact

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
	"github.com/doubletake-dev/doubletake/replay/command"
)

// ExecOptions say how to run a compactor that is a command.
type ExecOptions struct {
	// Command is the program and its arguments. A program without a slash is
	// looked up in PATH.
	Command []string
	// Dir is the working directory; empty is the current one.
	Dir string
	// Timeout is how long one compaction may take; 0 is [DefaultTimeout].
	Timeout time.Duration
	// Env adds to the environment: NAME=value sets a variable and NAME passes one
	// on that would not be. Passed on are all variables but those whose name ends
	// like a secret's, such as OPENAI_API_KEY or GITHUB_TOKEN.
	Env []string
	// Instructions go to the command as they are.
	Instructions string
	// Name is what to call the compactor where it does not name itself; empty is
	// the program's file name.
	Name string
	// Counter counts tokens; nil is [RoughCounter].
	Counter replay.Counter
}

const (
	maxStderr = 64 << 10
	// stderrInReason is how much of stderr's end a reason quotes.
	stderrInReason = 2 << 10
	// pipeDelay is how long a process that outlives the command may hold its pipes.
	pipeDelay = 2 * time.Second
)

// Exec is a compactor that is a command: at every compaction it runs, reads the
// request as one JSON object on stdin and prints its answer as one JSON object.
// What goes wrong with it, from a bad exit status to a hang, is its [replay.Failed]. What it
// started and left running is killed with it, on Linux also what left its process group; how much
// memory it takes is not bounded.
type Exec struct {
	driver
	options ExecOptions
	env     []string
}

// NewExec makes a compactor of a command. It looks the program up, so that a
// misspelt one is found before the night begins.
func NewExec(options ExecOptions) (*Exec, error) {
	for _, text := range slices.Concat(options.Command, options.Env) {
		if strings.ContainsRune(text, 0) {
			return nil, errors.New("exec compactor: a NUL character in its command or its environment")
		}
	}
	if len(options.Command) == 0 || options.Command[0] == "" {
		return nil, errors.New("an exec compactor needs a command: the program and its arguments")
	}
	var err error
	if options.Timeout, err = timeoutOf(options.Timeout); err != nil {
		return nil, fmt.Errorf("exec compactor %s: %w", options.Command[0], err)
	}
	if options.Dir != "" {
		if info, err := os.Stat(options.Dir); err != nil {
			return nil, fmt.Errorf("exec compactor %s: its working directory: %w", options.Command[0], err)
		} else if !info.IsDir() {
			return nil, fmt.Errorf("exec compactor %s: its working directory %s is no directory", options.Command[0], options.Dir)
		}
	}
	program := options.Command[0]
	if strings.ContainsRune(program, filepath.Separator) {
		program = inDir(options.Dir, program)
	}
	if _, err := exec.LookPath(program); err != nil {
		return nil, fmt.Errorf("exec compactor: %w", err)
	}
	options.Command = slices.Clone(options.Command)
	options.Counter = counterOf(options.Counter)
	if options.Name == "" {
		options.Name = filepath.Base(options.Command[0])
	}
	env, secrets := environment(os.Environ(), options.Env)
	return &Exec{
		driver: driver{
			name: options.Name, instructions: options.Instructions, counter: options.Counter, secrets: secrets,
			from: source{says: "the compactor printed", empty: "nothing on stdout", hint: " (logs belong on stderr)"},
		},
		options: options, env: env,
	}, nil
}

// inDir is path as seen from a working directory.
func inDir(dir, path string) string {
	if dir == "" || filepath.IsAbs(path) {
		return path
	}
	joined := filepath.Join(dir, path)
	if !strings.ContainsRune(joined, filepath.Separator) {
		// Without a separator it would be looked up in PATH.
		joined = "." + string(filepath.Separator) + joined
	}
	return joined
}

// secretName says whether a variable's name ends like a secret's.
func secretName(name string) bool {
	name = strings.ToUpper(name)
	for _, ending := range []string{"API_KEY", "APIKEY", "TOKEN", "SECRET", "SECRET_KEY", "ACCESS_KEY", "PASSWORD"} {
		if name == ending || strings.HasSuffix(name, "_"+ending) {
			return true
		}
	}
	return false
}

// environment is what a command gets of the variables, and the secrets in it.
func environment(variables, listed []string) (env, secrets []string) {
	passed := map[string]bool{}
	for _, entry := range listed {
		if name, _, set := strings.Cut(entry, "="); !set {
			passed[name] = true
		}
	}
	note := func(variable string) string {
		name, value, _ := strings.Cut(variable, "=")
		const shortest = 6 // shorter values stand in texts by chance
		if secretName(name) && len(value) >= shortest {
			secrets = append(secrets, value) // a command can find those that it isn't given, too
		}
		return name
	}
	for _, variable := range variables {
		if name := note(variable); !secretName(name) || passed[name] {
			env = append(env, variable)
		}
	}
	for _, entry := range listed {
		if strings.Contains(entry, "=") {
			note(entry)
			env = append(env, entry)
		}
	}
	return env, longestFirst(secrets)
}

var errTooMuch = fmt.Errorf("the compactor printed more than %d MiB", maxAnswer>>20)

// Compact runs the command once.
func (e *Exec) Compact(ctx context.Context, req *replay.CompactRequest) (*replay.Compaction, error) {
	input, err := encodeInput(req, e.instructions)
	if err != nil {
		return nil, fmt.Errorf("exec compactor %s: writing its input: %w", e.options.Name, err)
	}
	limited, stop := context.WithTimeoutCause(ctx, e.options.Timeout, lateError(e.options.Timeout))
	defer stop()
	running, kill := context.WithCancelCause(limited)
	defer kill(nil)

	stdout := command.NewCapped(maxAnswer, errTooMuch, func() { kill(errTooMuch) })
	stderr := command.NewTail(maxStderr)
	cmd := exec.CommandContext(running, e.options.Command[0], e.options.Command[1:]...)
	cmd.Dir, cmd.Env = e.options.Dir, e.env
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(input), stdout, stderr
	cmd.WaitDelay = pipeDelay
	command.OwnGroup(cmd)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if command.WorldsFault(err) {
			return nil, fmt.Errorf("starting the compactor %s: %w", e.options.Name, err)
		}
		return e.failed(fmt.Sprintf("the compactor could not be started: %v", err), stderr), nil
	}
	err = cmd.Wait()
	_ = command.KillGroup(cmd) // what it started and left behind; mostly there is nothing
	if errors.Is(err, exec.ErrWaitDelay) {
		err = nil // something that it started held its pipes
	}
	switch cause := context.Cause(running); {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case cause != nil:
		return e.failed(cause.Error(), stderr), nil
	}
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		return e.failed(fmt.Sprintf("the compactor ended with %v", exit), stderr), nil
	case err != nil:
		return nil, fmt.Errorf("running the compactor %s: %w", e.options.Name, err)
	}
	out, err := e.read(stdout.Bytes(), req)
	if err != nil {
		return e.failed(err.Error(), stderr), nil
	}
	return out, nil
}

// failed is a finding about the command, with the end of what it said on stderr.
func (e *Exec) failed(reason string, stderr *command.Tail) *replay.Compaction {
	// Before it is cut, so that no part of a secret is left.
	said := bytes.TrimSpace(e.blank(stderr.All()))
	if len(said) > 0 {
		reason += "; stderr: " + strings.ToValidUTF8(string(tail(said, stderrInReason)), "\ufffd")
	}
	return e.driver.failed(reason)
}

// Digest names what the output depends on: the command line, its settings, and
// the content of the files that the command line names. Those are read at every
// call. The program itself counts only where it is given as a path: which python3
// a machine has is not part of it.
func (e *Exec) Digest() fixtures.Hash {
	parts := []string{"exec", version, e.options.Instructions, e.options.Timeout.String()}
	parts = append(parts, e.options.Command...)
	for i, argument := range e.options.Command {
		if i == 0 && !strings.ContainsRune(argument, filepath.Separator) {
			continue
		}
		parts = append(parts, "file", fileDigest(inDir(e.options.Dir, argument)))
		if _, value, ok := strings.Cut(argument, "="); ok { // --config=FILE
			parts = append(parts, "file", fileDigest(inDir(e.options.Dir, value)))
		}
	}
	for _, entry := range e.options.Env {
		name, _, _ := strings.Cut(entry, "=")
		if secretName(name) {
			entry = name
		}
		parts = append(parts, "env", entry)
	}
	return digestOf(parts...)
}

// fileDigest is the SHA-256 of a regular file, or "" where there is none.
func fileDigest(path string) string {
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	file, err := os.Open(path)
	if err != nil {
		return "unreadable"
	}
	defer file.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return "unreadable"
	}
	return hex.EncodeToString(sum.Sum(nil))
}
