package main

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/doubletake-dev/doubletake/analysis/stats"
)

func statsPower() *cli.Command {
	return &cli.Command{
		Name:  "power",
		Usage: "the power of the tests by exact enumeration, and the pairs for a wanted one",
		Description: `   doubletake stats power --pairs 200 --loss 0.05 --gain 0.01
   doubletake stats power --pairs 40 --loss 0.2 --gain 0.05 --alpha 0.025 --json`,
		Flags: append([]cli.Flag{
			&cli.IntFlag{Name: "pairs", Usage: "the number `N` of pairs", EnvVars: twin("pairs")},
		}, append(rateFlags(), alphaFlag(), wantedFlag(), sidedFlag(), jsonFlag())...),
		Action: func(c *cli.Context) error {
			if c.NArg() != 0 || !c.IsSet("pairs") || !c.IsSet("loss") || !c.IsSet("gain") {
				return usageError("stats power wants --pairs, --loss and --gain, and no arguments (doubletake stats power --help)")
			}
			found, err := powerFigures(c.Int("pairs"), c.Float64("loss"), c.Float64("gain"), c.Float64("alpha"), c.Float64("power"), stats.Sides(c.Int("sided")))
			if err != nil {
				return err
			}
			return found.print(c)
		},
	}
}

func powerFigures(pairs int, loss, gain, alpha, wanted float64, sides stats.Sides) (figures, error) {
	power, err := stats.Power(pairs, loss, gain, alpha)
	if err != nil {
		return nil, err
	}
	var f figures
	f.add("N", pairs)
	f.add("p_loss", loss)
	f.add("p_gain", gain)
	f.add("alpha", alpha)
	f.add("pow_exact_worse", power.Worse)
	f.add("pow_exact_two", power.Two)
	f.add("pow_midp_worse", power.MidWorse)
	f.add("pow_midp_two", power.MidTwo)
	for _, margin := range []float64{0.02, 0.05, 0.10} {
		ni, err := stats.NonInferiorityPower(pairs, loss, gain, margin, alpha)
		if err != nil {
			return nil, err
		}
		suffix := fmt.Sprintf("_m%02.0f", 100*margin)
		f.add("ni_pow"+suffix, ni.Score)
		f.add("ni_pow_strict"+suffix, ni.Strict)
	}
	return f, f.sampleSize(loss, gain, alpha, wanted, sides)
}
