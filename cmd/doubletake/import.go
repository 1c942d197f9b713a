package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/urfave/cli/v2"

	"github.com/doubletake-dev/doubletake/analysis/report"
	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/fixtures/recording"
	"github.com/doubletake-dev/doubletake/fixtures/redact"
	"github.com/doubletake-dev/doubletake/replay"
)

func importCommand() *cli.Command {
	return &cli.Command{
		Name:      "import",
		Usage:     "turn other tools' recordings into canonical ones",
		ArgsUsage: "FILE...",
		Description: `Reads files, folders and glob patterns, writes each conversation to DIR/<id>.jsonl, and
says what was read, skipped and why. Where a recording holds compactions (or with
--fixtures all) a fixture without items is drafted beside it, and the folder becomes a
set that can be played at once. Files may be longer than memory: a long conversation
goes through a temporary file in TMPDIR (else /var/tmp).

   doubletake import ~/.claude/projects/*/*.jsonl --out mine
   doubletake compare --set mine none recorded`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "out", Usage: "write the recordings to `DIR`", EnvVars: twin("out")},
			&cli.StringFlag{Name: "format", Usage: "the `FORMAT`: auto, or one of " + strings.Join(recording.FormatNames(), ", "), Value: recording.Auto, EnvVars: twin("import-format")},
			&cli.StringFlag{Name: "fixtures", Usage: "draft fixtures of `WHICH`: auto (for recordings with compactions), all or none", Value: "auto", EnvVars: twin("fixtures")},
			&cli.BoolFlag{Name: "no-redact", Usage: "leave credentials, e-mail addresses and home folders as they are", EnvVars: twin("no-redact")},
			&cli.BoolFlag{Name: "rules", Usage: "list what is taken out, and read nothing", EnvVars: twin("rules")},
			jsonFlag(),
		},
		Action: runImport,
	}
}

func runImport(c *cli.Context) error {
	redactor, err := redact.New()
	if err != nil {
		return err
	}
	if c.Bool("rules") {
		return printRules(c.App.Writer, redactor)
	}
	if !c.Args().Present() {
		return usageError("import wants files, folders or patterns (doubletake import --help)")
	}
	if c.String("out") == "" {
		return usageError("import wants --out DIR, the folder for the recordings")
	}
	if _, err := os.Stat(filepath.Join(c.String("out"), replay.RunFile)); err == nil {
		return usageError("--out %s holds a run: name another folder for the recordings", c.String("out"))
	}
	drafts := c.String("fixtures")
	if !slices.Contains(draftNames(), drafts) {
		return usageError("--fixtures %w", noneOf(drafts, draftNames()...))
	}
	change, learn := redactor.Record, redactor.Learn
	if c.Bool("no-redact") {
		fmt.Fprintln(c.App.ErrWriter, "warning: nothing is taken out: a recording that is shared may give away keys, addresses and names")
		change, learn = nil, nil
	}
	summary, err := recording.Import(c.Context, c.Args().Slice(), recording.Options{
		Format: c.String("format"), OutDir: c.String("out"), Redact: change, Learn: learn,
		Progress: func(p recording.Progress) {
			if p.Total > manyFiles && p.Done%(p.Total/100) != 0 && p.Done != p.Total {
				return // a line for every hundredth; what was skipped stands in the summary
			}
			fmt.Fprintf(c.App.ErrWriter, "[%d/%d] %s: %s\n", p.Done, p.Total, report.Clean(p.File.File), outcome(p.File))
		},
	})
	if err != nil {
		return err
	}
	if drafts != "none" {
		if err := draft(c.App.ErrWriter, c.String("out"), summary, drafts == "all"); err != nil {
			return err
		}
	}
	if c.Bool("json") {
		err = writeIndented(c.App.Writer, struct {
			recording.Summary
			Redacted map[redact.Kind]int `json:"redacted"`
		}{summary, redactor.Counts()})
	} else if err = printImport(c.App.Writer, summary); err == nil && change != nil {
		err = printRedacted(c.App.Writer, redactor.Counts())
	}
	if err == nil && summary.Recordings == 0 {
		why := ""
		if len(summary.Files) == 0 {
			why = ": no file lies in " + strings.Join(c.Args().Slice(), ", ")
		}
		err = usageError("nothing was imported%s", why)
	}
	return err
}

// printRedacted says what was taken out, by kind.
func printRedacted(out io.Writer, counts map[redact.Kind]int) error {
	if len(counts) == 0 {
		_, err := fmt.Fprintln(out, "redacted: nothing was found to take out (read what you share all the same)")
		return err
	}
	var parts []string
	for _, kind := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, fmt.Sprintf("%d %s", counts[kind], kind))
	}
	_, err := fmt.Fprintf(out, "redacted: %s (--no-redact leaves them)\n", strings.Join(parts, ", "))
	return err
}

// printRules lists what is taken out.
func printRules(out io.Writer, r *redact.Redactor) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, rule := range r.Rules() {
		fmt.Fprintf(w, "%s\t%s\n", rule.Kind, report.Clean(rule.Description))
	}
	return w.Flush()
}

func outcome(f recording.FileSummary) string {
	switch {
	case f.Error != "":
		return fmt.Sprintf("%s, then: %s", report.Plural(len(f.Recordings), "recording"), report.Clean(f.Error))
	case f.Skipped != "":
		return "skipped: " + report.Clean(f.Skipped)
	}
	return fmt.Sprintf("%s (%s)", report.Plural(len(f.Recordings), "recording"), f.Format)
}

// manyFiles is from where on progress is told of a hundredth at a time.
const manyFiles = 1000

// mostDrafted is the size of the largest recording of which a fixture is drafted unasked:
// a set is loaded into memory whole.
const mostDrafted = 64 << 20

// draft writes fixtures for the imported recordings, and a manifest.
func draft(out io.Writer, dir string, summary recording.Summary, all bool) error {
	made := 0
	for _, file := range summary.Files {
		for _, w := range file.Recordings {
			if w.Compactions == 0 && !all {
				continue
			}
			if info, err := os.Stat(w.File); err == nil && info.Size() > mostDrafted && !all {
				fmt.Fprintf(out, "%s has %d MB: more than a fixture can be played from, none drafted (--fixtures all drafts it all the same)\n", report.Clean(w.File), info.Size()>>20)
				continue
			}
			rec, err := fixtures.ReadRecordingFile(filepath.Join(dir, w.ID+".jsonl"))
			if err != nil {
				return err
			}
			wrote, err := fixtures.WriteNewFixture(dir, fixtures.Draft(w.ID, w.ID+".jsonl", rec))
			if err != nil {
				return err
			}
			if wrote {
				made++
			}
		}
	}
	if made == 0 {
		return nil
	}
	mine, err := fixtures.DraftManifest(dir)
	if err != nil {
		return err
	}
	if !mine {
		fmt.Fprintf(out, "%s drafted; %s has a manifest of yours: bump its version with doubletake fixtures hash --set %s --bump VERSION\n", report.Plural(made, "fixture"), dir, shellPath(dir))
		return nil
	}
	set, manifest, err := fixtures.WriteManifest(dir, "")
	if err != nil {
		return errors.Join(fmt.Errorf("drafting a set in %s", dir), err)
	}
	fmt.Fprintf(out, "%s drafted; %s is a set of %s now, version %s\n", report.Plural(made, "fixture"), dir, report.Plural(len(set.Fixtures), "fixture"), manifest.Version)
	return nil
}

func printImport(out io.Writer, s recording.Summary) error {
	var b strings.Builder
	for _, f := range s.Files {
		fmt.Fprintf(&b, "%s: %s\n", report.Clean(f.File), outcome(f))
		const most = 20
		for i, w := range f.Recordings {
			if i == most {
				fmt.Fprintf(&b, "  and %d more\n", len(f.Recordings)-most)
				break
			}
			fmt.Fprintf(&b, "  %s: %s, %s, %s (%d paired, %d unanswered), %s, %s\n",
				report.Clean(w.ID), report.Plural(w.Turns, "turn"), report.Plural(w.Messages, "message"), report.Plural(w.Calls, "call"), w.Paired, w.Unanswered, report.Plural(w.Orphans, "orphan result"), report.Plural(w.Compactions, "compaction"))
			for _, u := range w.UnansweredCalls {
				fmt.Fprintf(&b, "    unanswered call %s of turn %d: %s\n", report.Clean(u.ID), u.Turn, report.Clean(u.Reason))
			}
			for _, u := range w.OrphanResults {
				fmt.Fprintf(&b, "    orphan result %s, line %d: %s\n", report.Clean(u.ID), u.Line, report.Clean(u.Reason))
			}
		}
		for _, finding := range f.Findings {
			fmt.Fprintf(&b, "  %s: %d x %s (first in line %d)\n", finding.Kind, finding.Count, report.Clean(finding.Reason), finding.Line)
		}
	}
	t := s.Total
	fmt.Fprintf(&b, "%s, %s, %s skipped; %s, %s (%d paired, %d unanswered), %s, %s\n", report.Plural(len(s.Files), "file"), report.Plural(s.Recordings, "recording"), report.Plural(s.Skipped, "file"), report.Plural(t.Turns, "turn"), report.Plural(t.Calls, "call"), t.Paired, t.Unanswered, report.Plural(t.Orphans, "orphan result"), report.Plural(t.Compactions, "compaction"))
	_, err := io.WriteString(out, b.String())
	return err
}

// draftNames lists of which recordings fixtures can be drafted.
func draftNames() []string { return []string{"auto", "all", "none"} }
