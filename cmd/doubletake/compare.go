package main

import (
	"github.com/urfave/cli/v2"

	"github.com/doubletake-dev/doubletake/analysis"
)

func compareCommand() *cli.Command {
	return &cli.Command{
		Name:      "compare",
		Usage:     "replay the set under two compactors and the reference",
		ArgsUsage: "BASE CANDIDATE",
		Description: `The first compactor is the baseline: a loss is a conversation that passes under it and
fails under the second. Each is also compared with the uncompacted reference. A compactor
is a name of the config, a built-in one (none, truncate, clear-tool-results, keep-ends,
summarize, ledger, recorded), or a command or an http address that speaks the compactor
contract. A command's words are split as a shell splits them, quotes included; no shell
runs it.

   doubletake compare ledger summarize
   doubletake compare ledger "python3 compact.py"
   doubletake compare ledger http://127.0.0.1:8000/compact`,
		Flags: nightFlags(),
		Action: func(c *cli.Context) error {
			if c.NArg() != 2 {
				return usageError("compare wants two compactors, BASE and CANDIDATE, have %d (doubletake compare --help)", c.NArg())
			}
			return runNight(c, "compare", func(*config) ([]role, error) {
				return []role{{analysis.RoleA, c.Args().Get(0)}, {analysis.RoleB, c.Args().Get(1)}}, nil
			})
		},
	}
}
