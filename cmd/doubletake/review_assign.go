package main

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/doubletake-dev/doubletake/analysis/report"
	"github.com/doubletake-dev/doubletake/pairing"
)

func reviewAssign() *cli.Command {
	return &cli.Command{
		Name:      "assign",
		Usage:     "share the queue out among reviewers, with some pairs going to two",
		ArgsUsage: "RUN NAME...",
		Description: `Each reviewer gets as many pairs as any other; a share of them goes to a second one, so
that agreement can be measured. The same names and seed give the same assignment. Where
the queue was shared out otherwise before, --force does it anew and says what changes.

   doubletake review assign night maria jon lee --overlap 0.2
   doubletake review list night --as maria`,
		Flags: []cli.Flag{
			&cli.Float64Flag{Name: "overlap", Usage: "the `SHARE` of pairs that two reviewers see", Value: 0.2, EnvVars: twin("overlap")},
			&cli.Uint64Flag{Name: "seed", Usage: "the seed `N` of who gets what", EnvVars: twin("seed")},
			&cli.BoolFlag{Name: "force", Usage: "share it out anew", EnvVars: twin("force")},
		},
		Action: func(c *cli.Context) error {
			if c.NArg() < 2 {
				return usageError("review assign wants a run directory and one name or more, have %s", report.Plural(c.NArg(), "argument"))
			}
			r, err := loadReview(c.Args().First())
			if err != nil {
				return err
			}
			r.warn(c)
			return r.assign(c, pairing.Assignment{Reviewers: c.Args().Slice()[1:], Overlap: c.Float64("overlap"), Seed: c.Uint64("seed")})
		},
	}
}

func (r *reviewed) assign(c *cli.Context, a pairing.Assignment) error {
	ids := r.pairs()
	of := a.Of(ids)
	out := report.Printable(c.App.Writer)
	old, err := pairing.ReadAssignment(r.dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	default:
		changed := changedHands(ids, old.Of(ids), of)
		if len(changed) > 0 && !c.Bool("force") {
			return usageError("the queue is shared out among %s already; %d of %s would change hands (%s): --force does it",
				strings.Join(old.Reviewers, ", "), len(changed), report.Plural(len(ids), "pair"), shortList(changed))
		}
		if len(changed) > 0 {
			fmt.Fprintf(out, "%d of %s change hands: %s\n", len(changed), report.Plural(len(ids), "pair"), shortList(changed))
		}
	}
	if err := pairing.WriteAssignment(r.dir, a); err != nil {
		return usageError("review assign: %w", err)
	}
	counts := map[string]int{}
	both := 0
	for _, names := range of {
		for _, name := range names {
			counts[name]++
		}
		if len(names) > 1 {
			both++
		}
	}
	for _, name := range a.Reviewers {
		fmt.Fprintf(out, "%s: %s\n", name, report.Plural(counts[name], "pair"))
	}
	fmt.Fprintf(out, "%d of %s go to two\n", both, report.Plural(len(ids), "pair"))
	return nil
}

// changedHands says of each pair that somebody else is to look at who was and who is.
func changedHands(pairs []string, before, after map[string][]string) []string {
	var list []string
	for _, pair := range pairs {
		if !slices.Equal(before[pair], after[pair]) {
			list = append(list, fmt.Sprintf("%s: %s -> %s", pair, strings.Join(before[pair], "+"), strings.Join(after[pair], "+")))
		}
	}
	return list
}
