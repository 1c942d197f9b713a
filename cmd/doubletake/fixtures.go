package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/urfave/cli/v2"

	"github.com/doubletake-dev/doubletake/analysis/report"
	"github.com/doubletake-dev/doubletake/fixtures"
)

func fixturesCommand() *cli.Command {
	return &cli.Command{
		Name:  "fixtures",
		Usage: "verify, hash and list the fixtures of a set",
		Description: `   doubletake fixtures verify --set fixtures/mine
   doubletake fixtures hash --set fixtures/mine --bump 2026.4`,
		Subcommands: []*cli.Command{fixturesVerify(), fixturesHash(), fixturesList(), fixturesSelect(), fixturesAnnotate(), fixturesPropose(), fixturesMutate()},
	}
}

func fixturesVerify() *cli.Command {
	return &cli.Command{
		Name:  "verify",
		Usage: "check every claim of a set: hashes, recordings, items, checks, accepted traces",
		Description: `   doubletake fixtures verify
   doubletake fixtures verify --set fixtures/mine`,
		Flags: []cli.Flag{configFlag(), setFlag()},
		Action: func(c *cli.Context) error {
			if err := noArguments(c); err != nil {
				return err
			}
			set, err := setOf(c)
			if err != nil {
				return err
			}
			fmt.Fprintf(c.App.Writer, "%s %s: %s, %s, %s; all that they claim holds\n",
				set.Name, set.Version, report.Plural(len(set.Fixtures), "fixture"), report.Plural(set.Items(), "item"), report.Plural(set.Decisions(), "compaction decision"))
			return nil
		},
	}
}

func fixturesHash() *cli.Command {
	return &cli.Command{
		Name:  "hash",
		Usage: "print the hashes of a set's files, or write its manifest",
		Description: `Without --bump it prints what a manifest would hold. With --bump it verifies the fixtures
and writes the manifest under the new version.

   doubletake fixtures hash
   doubletake fixtures hash --set fixtures/mine --bump 2026.4`,
		Flags: []cli.Flag{configFlag(), setFlag(), stringFlag("bump", "write the manifest under `VERSION`")},
		Action: func(c *cli.Context) error {
			if err := noArguments(c); err != nil {
				return err
			}
			dir, err := setFolder(c)
			if err != nil {
				return err
			}
			// An empty version is a mistake, an empty variable of the environment is none.
			_, inEnvironment := os.LookupEnv(twin("bump")[0])
			if c.String("bump") != "" || c.IsSet("bump") && !inEnvironment {
				return bumpManifest(c.App.Writer, dir, c.String("bump"))
			}
			files, _, err := setFiles(dir)
			if err != nil {
				return err
			}
			hashes, err := fixtures.HashFiles(files)
			if err != nil {
				return err
			}
			for _, name := range slices.Sorted(maps.Keys(hashes)) {
				fmt.Fprintf(c.App.Writer, "%s  %s\n", hashes[name], report.Clean(name))
			}
			return nil
		},
	}
}

func bumpManifest(out io.Writer, dir, version string) error {
	if report.Clean(version) != version || strings.TrimSpace(version) == "" {
		return usageError("--bump %.40q: a version is one line of plain text, such as 2026.4", version)
	}
	if dir == "" {
		return usageError("--bump needs --set, or set in the config: the set that ships with the program can't be changed from outside")
	}
	files, _, err := setFiles(dir)
	if err != nil {
		return err
	}
	if old, err := fixtures.ReadManifest(files); err == nil && old.Version == version && old.Check(files) != nil {
		return usageError("the set %s has changed and is already of version %s: choose another version", dir, version)
	} else if err != nil && !errors.Is(err, fixtures.ErrNoManifest) {
		fmt.Fprintf(out, "replacing a manifest that can't be read: %v\n", err)
	}
	set, manifest, err := fixtures.WriteManifest(dir, version)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%s %s: %s, %s, set hash %s\n", dir, version, report.Plural(len(set.Fixtures), "fixture"), report.Plural(len(manifest.Hashes), "file"), manifest.Hash())
	return nil
}

func fixturesList() *cli.Command {
	return &cli.Command{
		Name:        "list",
		Usage:       "list the fixtures of a set",
		Description: "   doubletake fixtures list --json",
		Flags:       []cli.Flag{configFlag(), setFlag(), jsonFlag()},
		Action: func(c *cli.Context) error {
			if err := noArguments(c); err != nil {
				return err
			}
			set, err := setOf(c)
			if err != nil {
				return err
			}
			if c.Bool("json") {
				return listJSON(c.App.Writer, set)
			}
			w := tabwriter.NewWriter(c.App.Writer, 0, 0, 2, ' ', 0)
			fmt.Fprintln(w, "fixture\tturns\tcompactions\titems\tchecks\taccepted\ttitle")
			for _, f := range set.Fixtures {
				accepted := ""
				if f.AcceptedTrace != nil {
					accepted = report.Clean(f.AcceptedTrace.By)
				}
				fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%s\t%s\n", f.ConversationID, f.Turns, f.CompactionsExpected, len(f.MustSurvive), len(f.Checks), accepted, report.Shorten(f.Title, 70))
			}
			return w.Flush()
		},
	}
}

func listJSON(out io.Writer, set *fixtures.Set) error {
	type row struct {
		ConversationID string        `json:"conversation_id"`
		Title          string        `json:"title"`
		Hash           fixtures.Hash `json:"hash"`
		Turns          int           `json:"turns"`
		Compactions    int           `json:"compactions_expected"`
		Items          int           `json:"items"`
		Checks         int           `json:"checks"`
		Accepted       bool          `json:"accepted_trace"`
		Group          string        `json:"group"`
	}
	rows := make([]row, len(set.Fixtures))
	for i, f := range set.Fixtures {
		rows[i] = row{f.ConversationID, f.Title, f.Hash, f.Turns, f.CompactionsExpected, len(f.MustSurvive), len(f.Checks), f.AcceptedTrace != nil, f.SessionGroup()}
	}
	return writeIndented(out, rows)
}
