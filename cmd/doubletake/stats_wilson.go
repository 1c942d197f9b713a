package main

import (
	"github.com/urfave/cli/v2"

	"github.com/doubletake-dev/doubletake/analysis/stats"
)

func statsWilson() *cli.Command {
	return &cli.Command{
		Name:      "wilson",
		Usage:     "a rate with Wilson's interval, plain and corrected for continuity, and the exact one",
		ArgsUsage: "X N",
		Description: `   doubletake stats wilson 0 40
   doubletake stats wilson 3 200 --conf 0.9`,
		Flags: []cli.Flag{confFlag(), jsonFlag()},
		Action: func(c *cli.Context) error {
			n, err := countArguments(c, "X", "N")
			if err != nil {
				return err
			}
			var f figures
			f.add("x", n[0])
			f.add("n", n[1])
			f.add("conf", c.Float64("conf"))
			for i, method := range []struct {
				name string
				make func(x, n int, conf float64) (stats.Estimate, error)
			}{
				{"wilson", stats.WilsonInterval},
				{"wilson_cc", stats.WilsonCorrectedInterval},
				{"cp", stats.ClopperPearsonInterval},
			} {
				estimate, err := method.make(n[0], n[1], c.Float64("conf"))
				if err != nil {
					return err
				}
				if i == 0 {
					f.optional("estimate", estimate.Value, estimate.Reason)
				}
				f.interval(method.name, estimate)
			}
			return f.print(c)
		},
	}
}
