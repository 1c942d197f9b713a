package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/doubletake-dev/doubletake/analysis/report"
	"github.com/doubletake-dev/doubletake/cmd/doubletake/starter"
	"github.com/doubletake-dev/doubletake/fixtures"
)

func initCommand() *cli.Command {
	return &cli.Command{
		Name:      "init",
		Usage:     "write a suite into a folder: config, a first fixture, a compactor that works, a CI workflow",
		ArgsUsage: "[DIR]",
		Description: `Writes into DIR, or here, and overwrites nothing. The workflow goes to the root of the git
repository that DIR lies in: GitHub reads none elsewhere. With --from the fixture is cut from a
session file of your agent, of any format that import reads: what seems to bind later turns
is put before you, at most ten times, yes or no. --yes asks nothing and takes what scores
highest as proposals, which the fixture says; so does an input that ends before the first
answer, as in a script.

   doubletake init
   doubletake init --from ~/.claude/projects/app/0f3c.jsonl
   doubletake init --from session.jsonl --yes --model gpt-4.1`,
		Flags: []cli.Flag{
			stringFlag("from", "make the first fixture of the session `FILE`; default: an example"),
			&cli.BoolFlag{Name: "yes", Aliases: []string{"y"}, Usage: "ask nothing", EnvVars: twin("yes")},
			stringFlag("model", "the agent's model, by `NAME`; default: none, and the embedded offline provider answers"),
			stringFlag("base-url", "the OpenAI-compatible endpoint of --model, a `URL` that ends in /v1"),
			&cli.BoolFlag{Name: "no-redact", Usage: "leave credentials, e-mail addresses and home folders in the session as they are", EnvVars: twin("no-redact")},
		},
		Action: runInit,
	}
}

// What init writes, beside the set.
const (
	starterSet    = "fixtures/doubletake"
	schemaFile    = ".doubletake/config.schema.json"
	workflowFile  = ".github/workflows/doubletake.yml"
	gitignoreFile = ".gitignore"

	// lockSuffix ends the name of a log's lock, which lies beside it.
	lockSuffix = ".lock"
)

// suite is what init writes, and what it wrote so far.
type suite struct {
	cli  *cli.Context
	dir  string
	keys *keys
	made []string // files and folders, in the order in which they were made
	said []string // what there is to say about them
	kept []string // files that were there
	next []string // what to do before long, beside the next command
	// workflowAt is the workflow's file, and below where the suite lies below the root of
	// its repository, with slashes; empty where it is the root, or in no repository.
	workflowAt, below string
}

func runInit(c *cli.Context) error {
	if c.NArg() > 1 {
		return usageError("init wants one folder or none, have %d (doubletake init --help)", c.NArg())
	}
	if c.String("base-url") != "" && c.String("model") == "" {
		return usageError("--base-url goes with --model")
	}
	s := &suite{cli: c, dir: cmp.Or(c.Args().First(), "."), keys: newKeys(c.App.Reader, report.Printable(c.App.ErrWriter))}
	defer s.keys.close()
	if err := s.free(); err != nil {
		return err
	}
	if err := s.write(); err != nil {
		return errors.Join(err, s.undo(0))
	}
	return s.print()
}

// free says what stands in the way.
func (s *suite) free() error {
	if _, err := os.Lstat(filepath.Join(s.dir, configFile)); err == nil {
		return usageError("%s is there already, and nothing is overwritten; doubletake doctor explains it, doubletake import adds conversations", filepath.Join(s.dir, configFile))
	}
	set := filepath.Join(s.dir, filepath.FromSlash(starterSet))
	entries, err := os.ReadDir(set)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("looking for a place for the set: %w", err)
	}
	if len(entries) > 0 {
		return usageError("%s is there already, and nothing is overwritten: move it away, or write %s for it by hand", set, configFile)
	}
	return nil
}

// write writes everything, the config last: where it is there, all of it is.
func (s *suite) write() error {
	from := s.cli.String("from")
	if from == "" && !s.cli.Bool("yes") && s.keys.terminal >= 0 {
		line, err := s.keys.line("A session file of your agent to make the first fixture of (Enter: an example): ")
		if err != nil {
			return fmt.Errorf("reading the answer: %w; --yes asks nothing", err)
		}
		from = strings.TrimSpace(line)
	}
	makeSet := s.example
	if from != "" {
		makeSet = func() error { return s.session(from) }
	}
	if err := makeSet(); err != nil {
		return err
	}
	set := s.path(starterSet)
	if _, _, err := fixtures.WriteManifest(set, ""); err != nil {
		return fmt.Errorf("making the set %s: %w", set, err)
	}
	s.made = append(s.made, filepath.Join(set, fixtures.ManifestFile))
	schema, err := schemaText("config")
	if err != nil {
		return err
	}
	if err := s.file(schemaFile, schema, 0o644); err != nil {
		return err
	}
	for _, copied := range []struct {
		from, to string
		mode     fs.FileMode
	}{{"compact.py", "compact.py", 0o755}, {"compact.sh", "compact.sh", 0o755}, {"gitignore", gitignoreFile, 0o644}} {
		data, err := starter.Read(copied.from)
		if err == nil {
			err = s.file(copied.to, data, copied.mode)
		}
		if err != nil {
			return err
		}
	}
	if err := s.workflow(); err != nil {
		return err
	}
	config, err := s.config()
	if err != nil {
		return err
	}
	if err := s.file(configFile, config, 0o644); err != nil {
		return err
	}
	return s.verify()
}

func (s *suite) path(name string) string { return filepath.Join(s.dir, filepath.FromSlash(name)) }

// file writes a file of the suite, unless there is one.
func (s *suite) file(name string, data []byte, mode fs.FileMode) error {
	return s.fileAt(s.path(name), data, mode)
}

// fileAt writes a file, unless there is one.
func (s *suite) fileAt(path string, data []byte, mode fs.FileMode) error {
	if err := s.folder(filepath.Dir(path)); err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if errors.Is(err, fs.ErrExist) {
		s.kept = append(s.kept, path)
		return nil
	}
	if err != nil {
		return fmt.Errorf("writing the suite: %w", err)
	}
	s.made = append(s.made, path)
	_, err = file.Write(data)
	if err := errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("writing the suite: %s: %w", path, err)
	}
	return nil
}

// folder makes a folder and those above it that are missing, and notes which it made.
func (s *suite) folder(path string) error {
	if _, err := os.Stat(path); err == nil || path == filepath.Dir(path) {
		return nil
	}
	if err := s.folder(filepath.Dir(path)); err != nil {
		return err
	}
	if err := os.Mkdir(path, 0o755); err != nil {
		return fmt.Errorf("writing the suite: %w", err)
	}
	s.made = append(s.made, path)
	return nil
}

// undo takes away what was made after the first so many files and folders: all of it with
// 0, so that the same command can be given again.
func (s *suite) undo(from int) error {
	var faults []error
	for i := len(s.made) - 1; i >= from; i-- {
		if err := os.Remove(s.made[i]); err != nil && !errors.Is(err, fs.ErrNotExist) {
			faults = append(faults, fmt.Errorf("taking away what was begun: %w", err))
		}
	}
	s.made = s.made[:from]
	return errors.Join(faults...)
}

// example writes the example set.
func (s *suite) example() error {
	set, err := starter.Set()
	if err != nil {
		return err
	}
	s.said = append(s.said, "the fixture is an example of our own; --from FILE makes one of a session of yours")
	return fs.WalkDir(set, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := fs.ReadFile(set, name)
		if err != nil {
			return fmt.Errorf("reading the example set: %w", err)
		}
		return s.file(starterSet+"/"+name, data, 0o644)
	})
}

// config is the text of the config.
func (s *suite) config() ([]byte, error) {
	text, err := starter.Read(configFile)
	if err != nil {
		return nil, err
	}
	command := "python3, compact.py"
	if _, err := exec.LookPath("python3"); err != nil {
		command = "sh, compact.sh"
	}
	agent, money := "# agent: { model: gpt-4.1, window: 1000000, seed: 7 }", ""
	if name := s.cli.String("model"); name != "" {
		agent = "agent: { model: " + strconv.Quote(name)
		if url := s.cli.String("base-url"); url != "" {
			agent += ", base_url: " + strconv.Quote(url)
		}
		agent += ", seed: 7 }   # window: what the model takes, in tokens"
		money = ", max_tokens: 5000000"
	}
	text = bytes.ReplaceAll(text, []byte("@AGENT@"), []byte(agent))
	text = bytes.ReplaceAll(text, []byte("@COMMAND@"), []byte(command))
	return bytes.ReplaceAll(text, []byte("@MONEY@"), []byte(money)), nil
}

// verify loads what was written as a night does.
func (s *suite) verify() error {
	cfg, err := loadConfig(s.path(configFile))
	if err != nil {
		return fmt.Errorf("looking over what was written: %w", err)
	}
	if _, err := loadSet(cfg.path(cfg.Set)); err != nil {
		return fmt.Errorf("looking over what was written: %w", err)
	}
	return nil
}

// print says what was done, and the next command to type.
func (s *suite) print() error {
	out := report.Printable(s.cli.App.Writer)
	for _, path := range s.made {
		if info, err := os.Stat(path); err == nil && !info.IsDir() && !strings.HasSuffix(path, lockSuffix) {
			fmt.Fprintf(out, "wrote %s\n", path)
		}
	}
	for _, path := range s.kept {
		fmt.Fprintf(out, "kept  %s, which was there", path)
		if filepath.Base(path) == gitignoreFile {
			fmt.Fprint(out, "; it should have the lines /runs/, /.doubletake/cache/ and .env, and a line for each folder that --out names")
		}
		if path == s.workflowAt && s.below != "" {
			fmt.Fprintf(out, "; for this suite it needs a job with working-directory: %s", s.below)
		}
		fmt.Fprintln(out)
	}
	for _, text := range s.said {
		fmt.Fprintln(out, text)
	}
	for _, text := range s.next {
		fmt.Fprintf(out, "then: %s\n", text)
	}
	into := ""
	if s.dir != "." {
		into = "cd " + shellPath(s.dir) + " && "
	}
	_, err := fmt.Fprintf(out, "next: %sdoubletake nightly\n", into)
	return err
}
