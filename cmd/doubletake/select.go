package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"text/tabwriter"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/doubletake-dev/doubletake/analysis/report"
	"github.com/doubletake-dev/doubletake/fixtures"
)

func fixturesSelect() *cli.Command {
	return &cli.Command{
		Name:  "select",
		Usage: "choose the fixtures that can be hoped to show most",
		Description: `Scores each fixture by its compaction decisions (items at compactions), its length, its
constraints, incident reports, and signals of production logs, and takes greedily the best
that differs most from those taken: other shapes of failure, other sessions. Says of each
why, and how many decisions the choice holds against a random one. With --out the chosen
fixtures are copied into a set of their own, whose manifest keeps how they were drawn.

   doubletake fixtures select --from fixtures/mine --n 40
   doubletake fixtures select --from fixtures/mine --n 40 --signals scan.jsonl --out fixtures/nightly --bump 2026.48`,
		Flags: []cli.Flag{
			configFlag(),
			stringFlag("from", "choose from the fixtures in `DIR`; default: the config's set, else the one that ships with the program"),
			&cli.IntFlag{Name: "n", Usage: "take `N` fixtures", Value: 40, EnvVars: twin("n")},
			&cli.Uint64Flag{Name: "seed", Usage: "break ties by the seed `N`", EnvVars: twin("seed")},
			stringFlag("signals", "what scan found, a `FILE` of its JSON Lines"),
			stringFlag("out", "copy the chosen fixtures into the set `DIR`, which must not exist"),
			stringFlag("bump", "the `VERSION` of that set; default: one made of its content"),
			stringFlag("on", "the `DATE` of the draw, as in 2026-11-30; default: today"),
			jsonFlag(),
		},
		Action: selectFixtures,
	}
}

// selection is what the command prints.
type selection struct {
	Frame      string              `json:"frame"`
	FrameSize  int                 `json:"frame_size"`
	Seed       uint64              `json:"seed"`
	Chosen     []fixtures.Selected `json:"chosen"`
	Yields     []fixtures.Yield    `json:"yields"`
	RandomSize float64             `json:"random_size"`
}

func selectFixtures(c *cli.Context) error {
	if c.NArg() != 0 {
		return usageError("select takes no arguments, have %q (doubletake fixtures select --help)", c.Args().First())
	}
	n := c.Int("n")
	if n < 1 {
		return usageError("--n %d: want at least 1", n)
	}
	from := c.String("from")
	if from == "" {
		var err error
		if from, err = setFolder(c); err != nil {
			return err
		}
	}
	files, name, err := setFiles(from)
	if err != nil {
		return err
	}
	set, err := fixtures.LoadUnmanifested(files, name)
	if err != nil {
		return err
	}
	signals, err := readSignals(c.String("signals"))
	if err != nil {
		return err
	}
	s := selection{Frame: name, FrameSize: len(set.Fixtures), Seed: c.Uint64("seed")}
	s.Chosen = fixtures.Selection{Size: n, Seed: s.Seed, Signals: signals}.Select(set.Fixtures)
	s.Yields, s.RandomSize = fixtures.Yields(set.Fixtures, s.Chosen)
	if out := c.String("out"); out != "" {
		on := c.String("on")
		if on == "" {
			on = time.Now().Format(time.DateOnly)
		}
		if _, err := time.Parse(time.DateOnly, on); err != nil {
			return usageError("--on %q: want a date such as 2026-11-30", on)
		}
		draw := fixtures.Draw{
			Method: fixtures.Adversarial, Frame: path.Base(filepath.ToSlash(name)), FrameSize: s.FrameSize, FrameHash: set.Hash,
			Chosen: len(s.Chosen), Seed: s.Seed, On: on,
		}
		if err := copyChosen(files, s.Chosen, out, c.String("bump"), draw); err != nil {
			return err
		}
		fmt.Fprintf(c.App.ErrWriter, "%s in %s\n", report.Plural(len(s.Chosen), "fixture"), out)
	}
	if c.Bool("json") {
		return writeIndented(c.App.Writer, s)
	}
	return printSelection(c.App.Writer, s)
}

func printSelection(out io.Writer, s selection) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "\tfixture\tscore\twhy")
	for i, r := range s.Chosen {
		fmt.Fprintf(w, "%d\t%s\t%.2f\t%s\n", i+1, report.Clean(r.ID), r.Score, report.Clean(r.Why))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(out, "\ncompaction decisions held, of %s in %s\n", report.Plural(s.FrameSize, "fixture"), report.Clean(s.Frame))
	w = tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "size\tchosen\trandom, on average\tbest possible\t")
	for _, y := range s.Yields {
		fmt.Fprintf(w, "%d\t%d\t%.1f\t%d\t\n", y.Size, y.Chosen, y.Random, y.Best)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if len(s.Chosen) > 0 && s.RandomSize > 0 {
		fmt.Fprintf(out, "a random choice would need %.1f fixtures to hold as many as these %d\n", s.RandomSize, len(s.Chosen))
	}
	return nil
}

// readSignals counts what scan found after compactions, by conversation.
func readSignals(name string) (map[string]int, error) {
	if name == "" {
		return nil, nil
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("reading the signals: %w", err)
	}
	defer file.Close()
	counts := map[string]int{}
	lines := fixtures.NewLineReader(file)
	for {
		line, err := lines.Next()
		if errors.Is(err, io.EOF) {
			return counts, nil
		}
		if err != nil {
			return nil, fmt.Errorf("reading the signals: %s: %w", name, err)
		}
		var session struct {
			ID           string            `json:"id"`
			Repeats      []json.RawMessage `json:"repeats"`
			Restatements []struct {
				AfterTurn int `json:"after_turn"`
			} `json:"restatements"`
		}
		if err := json.Unmarshal(line, &session); err != nil {
			return nil, fmt.Errorf("reading the signals: %w; want the JSON Lines that scan prints", &fixtures.SyntaxError{File: name, Line: lines.Line(), Err: err})
		}
		counts[session.ID] += len(session.Repeats)
		for _, r := range session.Restatements {
			if r.AfterTurn > 0 {
				counts[session.ID]++
			}
		}
	}
}

// copyChosen copies fixtures with all that belongs to them into a new set, whole or not
// at all.
func copyChosen(from fs.FS, chosen []fixtures.Selected, out, version string, draw fixtures.Draw) (err error) {
	if _, err := os.Lstat(out); err == nil {
		return usageError("--out %s exists already: a selection is written into a folder of its own", out)
	}
	temp, err := os.MkdirTemp(filepath.Dir(filepath.Clean(out)), ".select-")
	if err != nil {
		return fmt.Errorf("writing the selection: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(temp))
		}
	}()
	if err := os.Chmod(temp, 0o755); err != nil {
		return fmt.Errorf("writing the selection: %w", err)
	}
	for _, r := range chosen {
		f := r.Fixture
		if f.Sampling == fixtures.Random {
			return fmt.Errorf("fixture %s was drawn at random: chosen by merit it would be random no more; set its sampling to adversarial first", f.ConversationID)
		}
		names := []string{f.Path, f.RecordingPath(from), "scripts/" + f.ConversationID + ".json"}
		if f.AcceptedTrace != nil {
			names = append(names, f.AcceptedTrace.File)
		}
		needed, err := f.ToolFiles(from)
		if err != nil {
			return fmt.Errorf("writing the selection: fixture %s: %w", f.ConversationID, err)
		}
		names = append(names, needed...)
		for i, name := range names {
			if err := copyInSet(from, temp, name); err != nil && (i != 2 || !errors.Is(err, fs.ErrNotExist)) {
				return fmt.Errorf("writing the selection: fixture %s: %w", f.ConversationID, err)
			}
		}
	}
	if _, _, err := fixtures.WriteManifest(temp, version, draw); err != nil {
		return err
	}
	if err := os.Rename(temp, out); err != nil {
		return fmt.Errorf("writing the selection: %w", err)
	}
	return nil
}

func copyInSet(from fs.FS, to, name string) error {
	in, err := from.Open(name)
	if err != nil {
		return err
	}
	defer in.Close()
	target := filepath.Join(to, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return err
	}
	return fixtures.WriteFileAtomic(target, func(out io.Writer) error {
		_, err := io.Copy(out, in)
		return err
	})
}
