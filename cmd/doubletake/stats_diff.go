package main

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/doubletake-dev/doubletake/analysis/stats"
)

func statsDiff() *cli.Command {
	return &cli.Command{
		Name:      "diff",
		Usage:     "the difference of the pass rates with its intervals, and non-inferiority at 2, 5 and 10 points",
		ArgsUsage: "BOTH LOSSES GAINS NEITHER",
		Description: `Tango's interval is the one to use; the others are there for comparison. ni_p_m05 is the
p value of "worse by less than 5 points"; it is for a margin fixed before the run.

   doubletake stats diff 197 3 0 0
   doubletake stats diff 59 6 16 80 --conf 0.9 --json`,
		Flags: []cli.Flag{confFlag(), jsonFlag()},
		Action: func(c *cli.Context) error {
			n, err := countArguments(c, "BOTH", "LOSSES", "GAINS", "NEITHER")
			if err != nil {
				return err
			}
			found, err := differenceFigures(stats.ClusterTable{BothPass: n[0], Losses: n[1], Gains: n[2], BothFail: n[3]}, c.Float64("conf"))
			if err != nil {
				return err
			}
			return found.print(c)
		},
	}
}

func differenceFigures(t stats.ClusterTable, conf float64) (figures, error) {
	phi, err := stats.Correlation(t.BothPass, t.Losses, t.Gains, t.BothFail)
	if err != nil {
		return nil, err
	}
	n := t.BothPass + t.Losses + t.Gains + t.BothFail
	simple := func(method func(losses, gains, n int, conf float64) (stats.Estimate, error)) func() (stats.Estimate, error) {
		return func() (stats.Estimate, error) { return method(t.Losses, t.Gains, n, conf) }
	}
	whole := func(method func(bothPass, losses, gains, bothFail int, conf float64) (stats.Estimate, error)) func() (stats.Estimate, error) {
		return func() (stats.Estimate, error) {
			return method(t.BothPass, t.Losses, t.Gains, t.BothFail, conf)
		}
	}
	var f figures
	f.add("both_pass", t.BothPass)
	f.add("losses", t.Losses)
	f.add("gains", t.Gains)
	f.add("both_fail", t.BothFail)
	f.add("n", n)
	f.add("conf", conf)
	for i, method := range []struct {
		name string
		make func() (stats.Estimate, error)
	}{
		{"wald", simple(stats.WaldInterval)},
		{"agresti_min", simple(stats.AgrestiMinInterval)},
		{"bonett_price", simple(stats.BonettPriceInterval)},
		{"newcombe8", whole(stats.NewcombeUncorrectedInterval)},
		{"newcombe10", whole(stats.NewcombeInterval)},
		{"tango", simple(stats.TangoInterval)},
	} {
		estimate, err := method.make()
		if err != nil {
			return nil, err
		}
		if i == 0 {
			f.optional("delta", estimate.Value, estimate.Reason)
		}
		f.interval(method.name, estimate)
	}
	f.add("phi10", phi)
	for _, margin := range []float64{0.02, 0.05, 0.10} {
		test, err := stats.NonInferiority(t.Losses, t.Gains, n, margin, 0.05)
		if err != nil {
			return nil, err
		}
		suffix := fmt.Sprintf("_m%02.0f", 100*margin)
		f.optional("ni_z"+suffix, test.Z, test.Reason)
		f.optional("ni_p"+suffix, test.P, test.Reason)
	}
	return f, nil
}
