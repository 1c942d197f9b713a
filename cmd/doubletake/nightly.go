package main

import (
	"cmp"
	"github.com/urfave/cli/v2"

	"github.com/doubletake-dev/doubletake/analysis"
	"github.com/doubletake-dev/doubletake/replay/compact"
)

func nightlyCommand() *cli.Command {
	return &cli.Command{
		Name:  "nightly",
		Usage: "replay the set under the reference, the incumbent and the candidate, and say whether the change is safe",
		Description: `Verifies the set, replays every fixture uncompacted and through each compactor, judges
what survived, pairs, tests, writes the run directory and the review queue, and prints
the report. Without a config the incumbent is "ledger" and the candidate "summarize",
on the set that ships with the program and the embedded offline provider.

   doubletake nightly --out night
   doubletake nightly --candidate keep-ends
   doubletake nightly --mode step
   doubletake nightly --shard 2/8 --out shard-2
   doubletake nightly -c doubletake.yaml -o report.md --json > report.json`,
		Flags: append(nightFlags(),
			stringFlag("candidate", "the compactor under test: a `NAME` of the config, a built-in one, or a command; default without a config: summarize"),
			stringFlag("incumbent", "the compactor in use: a `NAME` of the config, a built-in one, or a command; default without a config: ledger"),
		),
		Action: func(c *cli.Context) error {
			if c.Args().Present() {
				return usageError("nightly takes no arguments, have %q (doubletake nightly --help)", c.Args().First())
			}
			return runNight(c, "nightly", func(cfg *config) ([]role, error) { return nightlyRoles(c, cfg) })
		},
	}
}

func nightlyRoles(c *cli.Context, cfg *config) ([]role, error) {
	candidate := cmp.Or(c.String("candidate"), cfg.Nightly.Candidate)
	incumbent := cmp.Or(c.String("incumbent"), cfg.Nightly.Incumbent)
	if candidate == "" && len(cfg.Compactors) > 0 {
		return nil, usageError("no candidate: name one of the config's compactors with --candidate or nightly.candidate")
	}
	if len(cfg.Compactors) == 0 {
		candidate, incumbent = cmp.Or(candidate, compact.NameSummarize), cmp.Or(incumbent, compact.NameLedger)
	}
	roles := []role{{analysis.RoleCandidate, candidate}}
	if incumbent != "" {
		roles = append([]role{{analysis.RoleIncumbent, incumbent}}, roles...)
	}
	return roles, nil
}
