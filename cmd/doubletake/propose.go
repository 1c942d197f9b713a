package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/urfave/cli/v2"

	"github.com/doubletake-dev/doubletake/analysis/report"
	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/fixtures/annotate"
	"github.com/doubletake-dev/doubletake/fixtures/recording"
)

func fixturesPropose() *cli.Command {
	return &cli.Command{
		Name:      "propose",
		Usage:     "propose items from recordings, for a person to confirm or reject",
		ArgsUsage: "REC...",
		Description: `Reads recordings of any known format and prints what in them seems to bind later turns:
constraints, commitments, open questions and references, each with the turn, the words
that stand there, a drafted probe and the rule that found it. Nothing is changed.

With --measure it says how well the rules do: on the set that ships with the program, and
on the labelled sample of public recordings where they are in the folder --recordings.

   doubletake fixtures propose session.jsonl
   doubletake fixtures propose session.jsonl --class constraint --min-score 0.7
   doubletake fixtures propose --measure`,
		Flags: []cli.Flag{
			listFlag("class", "only this `CLASS`: constraint, commitment, open_question or reference (repeatable)"),
			&cli.Float64Flag{Name: "min-score", Usage: "only candidates with at least this `SCORE`, from 0 to 1", Value: annotate.DefaultMinScore, EnvVars: twin("min-score")},
			&cli.BoolFlag{Name: "tool-results", Usage: "also plain facts in results of tools, such as the branch that git is on", EnvVars: twin("tool-results")},
			&cli.BoolFlag{Name: "measure", Usage: "print precision and recall by class", EnvVars: twin("measure")},
			stringFlag("recordings", "with --measure: the folder `DIR` with the recordings of the labelled sample"),
			stringFlag("model", "let the model `NAME` look again at every turn; the turns are sent to it"),
			stringFlag("base-url", "the OpenAI-compatible endpoint of --model, a `URL` that ends in /v1; default: OPENAI_BASE_URL"),
			jsonFlag(),
		},
		Action: runPropose,
	}
}

func runPropose(c *cli.Context) error {
	opts := annotate.Options{MinScore: c.Float64("min-score"), ToolResults: c.Bool("tool-results")}
	if !(opts.MinScore >= 0 && opts.MinScore <= 1) {
		return usageError("--min-score %v: want a number from 0 to 1", opts.MinScore)
	}
	opts.MinScore = max(opts.MinScore, 0.001) // 0 would ask for the default
	for _, name := range list(c, "class") {
		if !slices.Contains(fixtures.Classes(), fixtures.Class(name)) {
			return usageError("--class %w", noneOf(name, texts(fixtures.Classes())...))
		}
		opts.Classes = append(opts.Classes, fixtures.Class(name))
	}
	if c.Bool("measure") {
		if c.Args().Present() {
			return usageError("--measure takes no recordings: it measures on the set that ships with the program and on the labelled sample")
		}
		return measureProposals(c.Context, c.App.Writer, c.App.ErrWriter, c.String("recordings"), c.Bool("json"), opts)
	}
	if c.String("recordings") != "" {
		return usageError("--recordings goes with --measure")
	}
	if !c.Args().Present() {
		return usageError("propose wants recordings (doubletake fixtures propose --help)")
	}
	second, err := secondPass(c)
	if err != nil {
		return err
	}
	opts.Second = second
	found := []proposal{}
	err = eachRecording(c.Context, c.App.ErrWriter, c.Args().Slice(), func(file string, rec *fixtures.Recording) error {
		candidates, err := annotate.Refine(c.Context, rec, opts)
		if err != nil {
			return err
		}
		p := proposal{Recording: rec.Header.ID, File: file, Candidates: candidates, Checks: []fixtures.Check{}}
		tools := annotate.ToolsOf(rec)
		for i := range p.Candidates {
			if check, ok := annotate.DraftCheck(&p.Candidates[i], tools); ok {
				p.Checks = append(p.Checks, check)
			}
		}
		found = append(found, p)
		return nil
	})
	if err != nil {
		return err
	}
	if len(found) == 0 {
		return usageError("no recording was read")
	}
	if c.Bool("json") {
		return writeIndented(c.App.Writer, found)
	}
	return printProposals(c.App.Writer, found)
}

// proposal is what was found in one recording.
type proposal struct {
	Recording  string               `json:"recording"`
	File       string               `json:"file"`
	Candidates []annotate.Candidate `json:"candidates"`
	// Checks are drafted for those candidates that give one away.
	Checks []fixtures.Check `json:"checks"`
}

func writeIndented(out io.Writer, value any) error {
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(value)
}

func printProposals(out io.Writer, found []proposal) error {
	for _, p := range found {
		fmt.Fprintf(out, "%s: %s\n", report.Clean(p.Recording), report.Plural(len(p.Candidates), "candidate"))
		w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
		if len(p.Candidates) > 0 {
			fmt.Fprintln(w, "score\tid\tclass\tturn\tby\tstatus\twords\twhy")
		}
		for _, c := range p.Candidates {
			status := string(c.Status)
			if status == "" {
				status = string(fixtures.Active)
			}
			if c.SupersededBy != "" {
				status += " by " + c.SupersededBy
			}
			fmt.Fprintf(w, "%.2f\t%s\t%s\t%d\t%s\t%s\t%s\t%s\n", c.Score, c.ID, c.Class, c.Turn, report.Clean(c.Role), status, report.Shorten(c.Literal, 90), report.Shorten(c.Why, 70))
		}
		if err := w.Flush(); err != nil {
			return err
		}
		for _, check := range p.Checks {
			expression, kind := check.Never, "never"
			if expression == "" {
				expression, kind = check.Must, "must"
			}
			fmt.Fprintf(out, "check %s for %s, %s: %s\n", check.ID, check.Item, kind, report.Clean(expression))
		}
	}
	return nil
}

// eachRecording reads recordings of any known format, one after the other. What can't
// be read is said on errs and left out.
func eachRecording(ctx context.Context, errs io.Writer, paths []string, do func(file string, rec *fixtures.Recording) error) error {
	dir, err := os.MkdirTemp("", "doubletake-propose-")
	if err != nil {
		return fmt.Errorf("making a folder for recordings as they are read: %w", err)
	}
	defer os.RemoveAll(dir)
	summary, err := recording.Import(ctx, paths, recording.Options{OutDir: dir})
	if err != nil {
		return err
	}
	for _, file := range summary.Files {
		if file.Skipped != "" {
			fmt.Fprintf(errs, "%s: skipped: %s\n", report.Clean(file.File), report.Clean(file.Skipped))
		}
		if file.Error != "" {
			fmt.Fprintf(errs, "%s: read in part: %s\n", report.Clean(file.File), report.Clean(file.Error))
		}
		for _, written := range file.Recordings {
			rec, err := fixtures.ReadRecordingFile(written.File)
			if err != nil {
				return fmt.Errorf("reading %s as it was imported: %w", file.File, err)
			}
			if err := do(file.File, rec); err != nil {
				return err
			}
			if err := os.Remove(written.File); err != nil {
				return fmt.Errorf("clearing a recording that was read: %w", err)
			}
		}
	}
	return nil
}

// measurement is how the rules do on one body of labels.
type measurement struct {
	Name string `json:"name"`
	// Exhaustive says that every item was labelled, so that precision means something.
	Exhaustive bool                   `json:"exhaustive"`
	Recordings int                    `json:"recordings"`
	Stale      int                    `json:"stale_labels"`
	Classes    map[string]classReport `json:"classes"`
}

type classReport struct {
	Labels        int      `json:"labels"`
	Found         int      `json:"found"`
	FoundAnyClass int      `json:"found_any_class"`
	Candidates    int      `json:"candidates"`
	Right         int      `json:"right"`
	Recall        *float64 `json:"recall"`
	Precision     *float64 `json:"precision"` // null where not every item was labelled
}

func measureProposals(ctx context.Context, out, errs io.Writer, dir string, asJSON bool, opts annotate.Options) error {
	set, err := loadSet("")
	if err != nil {
		return err
	}
	shipped := annotate.Score{}
	for _, f := range set.Fixtures {
		rec, err := set.Recording(f)
		if err != nil {
			return err
		}
		shipped.Add(annotate.Measure(annotate.LabelledItems(f, rec), annotate.Propose(rec, opts)))
	}
	all := []measurement{newMeasurement("shipped set", shipped, false, len(set.Fixtures), 0)}
	if dir == "" {
		fmt.Fprintln(errs, "the labelled sample is left out: give the folder of its recordings with --recordings DIR")
	} else {
		halves, err := measureSample(ctx, errs, dir, opts)
		if err != nil {
			return err
		}
		all = append(all, halves...)
	}
	if asJSON {
		return writeIndented(out, all)
	}
	return printMeasurements(out, all)
}

// measureSample measures on the labelled sample, each half apart.
func measureSample(ctx context.Context, errs io.Writer, dir string, opts annotate.Options) ([]measurement, error) {
	spans, err := annotate.Sample()
	if err != nil {
		return nil, err
	}
	byFile := map[string][]annotate.Span{}
	var paths []string
	for _, s := range spans {
		path := filepath.Join(dir, filepath.FromSlash(s.File))
		if _, err := os.Stat(path); err != nil {
			continue
		}
		if byFile[path] == nil {
			paths = append(paths, path)
		}
		byFile[path] = append(byFile[path], s)
	}
	if len(paths) == 0 {
		fmt.Fprintf(errs, "the labelled sample is left out: %s has none of its recordings\n", report.Clean(dir))
		return nil, nil
	}
	scores := map[string]annotate.Score{annotate.Tuning: {}, annotate.HeldOut: {}}
	read, stale := map[string]map[string]bool{annotate.Tuning: {}, annotate.HeldOut: {}}, map[string]int{}
	measured := 0
	err = eachRecording(ctx, errs, paths, func(file string, rec *fixtures.Recording) error {
		for _, s := range byFile[file] {
			labels, old := s.Resolve(rec)
			if s.Recording != rec.Header.ID && (!oneRecording(byFile[file]) || len(labels) == 0) {
				continue
			}
			scores[s.Half].Add(annotate.Measure(labels, s.Within(annotate.Propose(rec, opts))))
			stale[s.Half] += len(old)
			read[s.Half][s.Recording] = true
			measured++
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if measured < len(spans) {
		fmt.Fprintf(errs, "left out: %d of %s: their recordings are not in %s\n", len(spans)-measured, report.Plural(len(spans), "labelled span"), report.Clean(dir))
	}
	return []measurement{
		newMeasurement("sample, tuned on", scores[annotate.Tuning], true, len(read[annotate.Tuning]), stale[annotate.Tuning]),
		newMeasurement("sample, held out", scores[annotate.HeldOut], true, len(read[annotate.HeldOut]), stale[annotate.HeldOut]),
	}, nil
}

// oneRecording says whether the spans of a file are all of one recording: then a reader
// that names it otherwise does no harm.
func oneRecording(spans []annotate.Span) bool {
	for _, s := range spans {
		if s.Recording != spans[0].Recording {
			return false
		}
	}
	return true
}

func newMeasurement(name string, score annotate.Score, exhaustive bool, recordings, stale int) measurement {
	m := measurement{Name: name, Exhaustive: exhaustive, Recordings: recordings, Stale: stale, Classes: map[string]classReport{}}
	for _, class := range fixtures.Classes() {
		s := score[class]
		row := classReport{Labels: s.Labels, Found: s.Found, FoundAnyClass: s.FoundAnyClass, Candidates: s.Candidates, Right: s.Right}
		if share, ok := s.Recall(); ok {
			row.Recall = &share
		}
		if share, ok := s.Precision(); ok && exhaustive {
			row.Precision = &share
		}
		m.Classes[string(class)] = row
	}
	return m
}

func printMeasurements(out io.Writer, all []measurement) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "labels\tclass\trecall\tin any class\tprecision")
	for _, m := range all {
		for _, class := range fixtures.Classes() {
			c := m.Classes[string(class)]
			fmt.Fprintf(w, "%s\t%s\t%s\t%d/%d\t%s\n", m.Name, class, share(c.Found, c.Labels, c.Recall), c.FoundAnyClass, c.Labels, share(c.Right, c.Candidates, c.Precision))
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	var b strings.Builder
	for _, m := range all {
		fmt.Fprintf(&b, "%s: %s", m.Name, report.Plural(m.Recordings, "recording"))
		if m.Stale > 0 {
			fmt.Fprintf(&b, "; left out, since they no longer stand in their recordings: %s", report.Plural(m.Stale, "label"))
		}
		if !m.Exhaustive {
			b.WriteString("; not every item is labelled, so that precision says nothing")
		}
		b.WriteByte('\n')
	}
	_, err := io.WriteString(out, b.String())
	return err
}

// share prints a share with the counts it is made of.
func share(part, whole int, value *float64) string {
	if value == nil {
		return "-"
	}
	return fmt.Sprintf("%.2f (%d/%d)", *value, part, whole)
}
