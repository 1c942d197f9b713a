package main

import (
	"github.com/urfave/cli/v2"

	"github.com/doubletake-dev/doubletake/analysis/stats"
)

func statsOddsRatio() *cli.Command {
	return &cli.Command{
		Name:      "oddsratio",
		Usage:     "how many losses there are for one gain, with the exact and the mid-p limits",
		ArgsUsage: "LOSSES GAINS",
		Description: `The exact limits (cp) agree with p_exact_two, the shorter mid-p ones with p_midp_two_doubled.
The limits named p are those of the share of losses among the discordant pairs.

   doubletake stats oddsratio 12 3
   doubletake stats oddsratio 5 0 --conf 0.9 --json`,
		Flags: []cli.Flag{confFlag(), jsonFlag()},
		Action: func(c *cli.Context) error {
			n, err := countArguments(c, "LOSSES", "GAINS")
			if err != nil {
				return err
			}
			var found figures
			found.add("losses", n[0])
			found.add("gains", n[1])
			found.add("n", n[0]+n[1])
			if err := found.oddsRatio(n[0], n[1], c.Float64("conf")); err != nil {
				return err
			}
			return found.print(c)
		},
	}
}

// oddsRatio adds the share of losses and the odds, with their limits.
func (f *figures) oddsRatio(losses, gains int, conf float64) error {
	odds, err := stats.ConditionalOddsRatio(losses, gains, conf)
	if err != nil {
		return err
	}
	f.add("conf", conf)
	f.optional("p_hat", ratio(losses, losses+gains), odds.Reason)
	f.optional("or_hat", odds.Ratio, unboundedOr(odds.Unbounded, odds.Reason))
	f.odds("cp", odds.Exact, odds.Reason)
	f.odds("midp", odds.MidP, odds.Reason)
	return nil
}

// unboundedOr is why a ratio has no number: it is infinite, or there is none.
func unboundedOr(unbounded bool, reason string) string {
	if unbounded {
		return reasonUnbounded
	}
	return reason
}

func ratio(x, n int) *float64 {
	if n == 0 {
		return nil
	}
	s := float64(x) / float64(n)
	return &s
}

// odds adds the limits for the share of losses and for the odds.
func (f *figures) odds(prefix string, interval *stats.OddsInterval, reason string) {
	if interval == nil {
		for _, name := range []string{"_p_lo", "_p_hi", "_or_lo", "_or_hi"} {
			f.optional(prefix+name, nil, reason)
		}
		return
	}
	f.add(prefix+"_p_lo", interval.Share.Low)
	f.add(prefix+"_p_hi", interval.Share.High)
	f.add(prefix+"_or_lo", interval.Low)
	f.optional(prefix+"_or_hi", interval.High, unboundedOr(interval.Unbounded, reason))
}
