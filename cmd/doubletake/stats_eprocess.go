package main

import (
	"math"
	"math/big"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/doubletake-dev/doubletake/analysis/stats"
)

func statsEProcess() *cli.Command {
	return &cli.Command{
		Name:      "eprocess",
		Usage:     "evidence that may be looked at after every discordant pair",
		ArgsUsage: "SEQUENCE",
		Description: `The sequence is an L for a loss and a G for a gain, in the order in which they came.
One may stop at any step, and reject at level alpha once anytime_p_worse is at most alpha.
It bets on pairs that are independent of each other; the report's evidence bets on whole
sessions, and differs.
e_num and e_den are e_two_sided as a fraction, for the first 2000 steps.

   doubletake stats eprocess LGLLGLLLL`,
		Flags: []cli.Flag{jsonFlag()},
		Action: func(c *cli.Context) error {
			if c.NArg() != 1 {
				return usageError("stats eprocess wants one sequence of L and G, have %d (doubletake stats eprocess --help)", c.NArg())
			}
			steps, err := evidenceFigures(c.Args().First())
			if err != nil {
				return err
			}
			return printFigureTable(c, "steps", steps, "step", "arrival", "losses", "gains", "e_two_sided", "e_worse_one_sided", "anytime_p_two", "anytime_p_worse")
		},
	}
}

func evidenceFigures(sequence string) ([]figures, error) {
	steps := []figures{}
	var process stats.EProcess
	// The fraction has about as many bits as there are steps.
	const maxExactSteps = 2000
	exact := big.NewRat(1, 1)
	for i, arrival := range []rune(strings.ToUpper(sequence)) {
		before := 0
		switch arrival {
		case 'L':
			before = process.Losses
			process = process.Loss()
		case 'G':
			before = process.Gains
			process = process.Gain()
		default:
			return nil, usageError("step %d: %q is neither L (a loss) nor G (a gain)", i+1, arrival)
		}
		var f figures
		f.add("step", i+1)
		f.add("arrival", string(arrival))
		f.add("losses", process.Losses)
		f.add("gains", process.Gains)
		num, den := "", ""
		if i < maxExactSteps {
			exact.Mul(exact, big.NewRat(int64(2*before+1), int64(i+1)))
			num, den = exact.Num().String(), exact.Denom().String()
		}
		f.fraction("e_num", num, "more_than_2000_steps")
		f.fraction("e_den", den, "more_than_2000_steps")
		f.exp("e_two_sided", process.LogTwo)
		f.add("log_e_two_sided", process.LogTwo)
		f.exp("e_worse_one_sided", process.LogWorse)
		f.add("log_e_worse_one_sided", process.LogWorse)
		f.exp("running_max_two", process.MaxLogTwo)
		f.add("anytime_p_two", process.PTwo())
		f.exp("running_max_worse", process.MaxLogWorse)
		f.add("anytime_p_worse", process.PWorse())
		f.add("log10_anytime_p_worse", -process.MaxLogWorse/math.Ln10)
		steps = append(steps, f)
	}
	return steps, nil
}
