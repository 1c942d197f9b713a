package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/doubletake-dev/doubletake/analysis/report"
	"github.com/doubletake-dev/doubletake/pairing"
)

func reviewNext() *cli.Command {
	return &cli.Command{
		Name:      "next",
		Usage:     "show the next pair that you have still to decide",
		ArgsUsage: "[RUN]",
		Description: `Pairs that are assigned to you come first, then those that nobody has decided. RUN is a run
directory; without one it is the newest below runs/. Where nothing is left it says so.

   doubletake review next night
   doubletake review decide night 7 left_worse --severity major
   doubletake review next night --after 7
   doubletake review next night --only stable --json`,
		Flags: append(filterFlags(), byFlag(), openFlag(), fullFlag(), stringFlag("after", "the next one behind the `PAIR`, to pass over it"), jsonFlag()),
		Action: func(c *cli.Context) error {
			dir, err := reviewedRun(c)
			if err != nil {
				return err
			}
			r, err := loadReview(dir)
			if err != nil {
				return err
			}
			r.warn(c)
			return r.next(c)
		},
	}
}

func (r *reviewed) next(c *cli.Context) error {
	if err := blindFilters(c); err != nil {
		return err
	}
	reviewer, err := who(c, "by")
	if err != nil {
		return err
	}
	keep, err := r.filter(c, reviewer)
	if err != nil {
		return err
	}
	assigned, err := assignedPairs(r)
	if err != nil {
		return err
	}
	from, after := 0, c.String("after")
	if after != "" {
		at, err := r.find(after)
		if err != nil {
			return err
		}
		from = at + 1
	}
	i := pairing.Next(r.standings, assigned, reviewer, from, func(i int) bool { return i != from-1 && keep(i) })
	if i < 0 {
		fmt.Fprintf(c.App.ErrWriter, "nothing is left for %s to decide (doubletake review stats %s)\n", report.Clean(reviewer), report.Clean(shellPath(r.dir)))
		return nil
	}
	if names := assigned[r.queue[i].ID]; len(names) > 0 && !slices.ContainsFunc(names, func(name string) bool { return pairing.SameReviewer(name, reviewer) }) {
		fmt.Fprintf(c.App.ErrWriter, "nothing that is assigned to %s is left; this one is assigned to %s\n", report.Clean(reviewer), report.Clean(strings.Join(names, " and ")))
	}
	return r.show(c, i)
}
