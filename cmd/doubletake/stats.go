package main

import (
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/doubletake-dev/doubletake/analysis/report"
)

func statsCommand() *cli.Command {
	return &cli.Command{
		Name:  "stats",
		Usage: "the statistics of the reports, on numbers of your own",
		Description: `A loss is a pair that the reference passed and the candidate failed, a gain the reverse.
Differences are losses minus gains: positive is worse. With --json every number has all
its digits.

   doubletake stats mcnemar 8 1
   doubletake stats diff 30 8 1 1 --conf 0.9
   doubletake stats kappa --matrix 20,5,10,15

In JSON what is undefined is null, with its reason under name_reason and the first reason
under reason; a ratio without an upper end is null with "upper_unbounded": true.`,
		Subcommands: []*cli.Command{
			statsMcNemar(), statsOddsRatio(), statsDiff(), statsNonInferior(), statsWilson(),
			statsKappa(), statsFleiss(), statsAlpha(), statsCluster(), statsEProcess(),
			statsPower(), statsSampleSize(), statsAdjust(),
		},
	}
}

func confFlag() cli.Flag {
	return &cli.Float64Flag{Name: "conf", Usage: "two-sided confidence of intervals, a `SHARE`", Value: 0.95, EnvVars: twin("conf")}
}

func alphaFlag() cli.Flag {
	return &cli.Float64Flag{Name: "alpha", Usage: "level of the tests, a `SHARE`", Value: 0.05, EnvVars: twin("alpha")}
}

// countArguments reads the arguments, one for each name.
func countArguments(c *cli.Context, names ...string) ([]int, error) {
	if c.NArg() != len(names) {
		return nil, usageError("%s wants %s, have %s (doubletake stats %[1]s --help)", c.Command.Name, strings.Join(names, " "), report.Plural(c.NArg(), "argument"))
	}
	var list []int
	for i, arg := range c.Args().Slice() {
		n, err := parseCount(arg)
		if err != nil {
			return nil, usageError("%s: %w", names[i], err)
		}
		list = append(list, n)
	}
	return list, nil
}
