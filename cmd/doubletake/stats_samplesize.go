package main

import (
	"github.com/urfave/cli/v2"

	"github.com/doubletake-dev/doubletake/analysis"
	"github.com/doubletake-dev/doubletake/analysis/stats"
)

func statsSampleSize() *cli.Command {
	return &cli.Command{
		Name:  "samplesize",
		Usage: "the pairs that find a difference: exactly, by Connor's formula and by Miettinen's",
		Description: `n_exact is for the exact test, the formulas are for the uncorrected chi-square test. They
are about a plan: never feed them with the rates of a run.

   doubletake stats samplesize --loss 0.05 --gain 0.01
   doubletake stats samplesize --loss 0.1 --gain 0.02 --sided 2 --power 0.9 --json`,
		Flags: append(rateFlags(), alphaFlag(), wantedFlag(), sidedFlag(), jsonFlag()),
		Action: func(c *cli.Context) error {
			if c.NArg() != 0 || !c.IsSet("loss") || !c.IsSet("gain") {
				return usageError("stats samplesize wants --loss and --gain, and no arguments (doubletake stats samplesize --help)")
			}
			var f figures
			loss, gain, alpha := c.Float64("loss"), c.Float64("gain"), c.Float64("alpha")
			f.add("p_loss", loss)
			f.add("p_gain", gain)
			f.add("alpha", alpha)
			if err := f.sampleSize(loss, gain, alpha, c.Float64("power"), stats.Sides(c.Int("sided"))); err != nil {
				return err
			}
			return f.print(c)
		},
	}
}

func rateFlags() []cli.Flag {
	return []cli.Flag{
		&cli.Float64Flag{Name: "loss", Usage: "probability of a loss, a `SHARE`", EnvVars: twin("loss")},
		&cli.Float64Flag{Name: "gain", Usage: "probability of a gain, a `SHARE`", EnvVars: twin("gain")},
	}
}

func wantedFlag() cli.Flag {
	return &cli.Float64Flag{Name: "power", Usage: "the wanted power of n_exact and the formulas, a `SHARE`", Value: 0.8, EnvVars: twin("power")}
}

func sidedFlag() cli.Flag {
	return &cli.IntFlag{Name: "sided", Usage: "1 or 2 sides for n_exact and the formulas, an `N`", Value: 1, EnvVars: twin("sided")}
}

// sampleSize adds the numbers of pairs.
func (f *figures) sampleSize(loss, gain, alpha, wanted float64, sides stats.Sides) error {
	f.add("sided", int(sides))
	f.add("power", wanted)
	if loss <= gain {
		for _, name := range []string{"n_connor", "n_miettinen", "n_exact"} {
			f.optional(name, nil, analysis.ReasonNotWorse)
		}
		var theta *float64
		if loss+gain > 0 {
			theta = new(float64)
			*theta = loss / (loss + gain)
		}
		f.optional("n_discordants_needed_theta", theta, stats.ReasonNoDiscordant)
		return nil
	}
	connor, err := stats.ConnorPairs(loss, gain, alpha, wanted, sides)
	if err != nil {
		return err
	}
	miettinen, err := stats.MiettinenPairs(loss, gain, alpha, wanted, sides)
	if err != nil {
		return err
	}
	exact, err := stats.PairsNeeded(loss, gain, alpha, wanted, sides)
	if err != nil {
		return err
	}
	f.add("n_connor", connor)
	f.add("n_miettinen", miettinen)
	if exact.Pairs == nil {
		f.optional("n_exact", nil, exact.Reason)
	} else {
		f.add("n_exact", *exact.Pairs)
	}
	f.add("n_discordants_needed_theta", loss/(loss+gain))
	return nil
}
